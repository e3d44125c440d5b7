"""The kinds of secrets, and whether a value is a secret, a placeholder for one, or neither."""

from __future__ import annotations

import math
import re
from collections import Counter
from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    """What kind of secret something is: a closed set, so that its name can give nothing away."""

    PRIVATE_KEY = "private key"
    AWS_KEY = "AWS key"
    GOOGLE_KEY = "Google key"
    AZURE_KEY = "Azure key"
    GITHUB_TOKEN = "GitHub token"  # noqa: S105  the names of secrets, not secrets
    GITLAB_TOKEN = "GitLab token"  # noqa: S105
    SLACK_TOKEN = "Slack token"  # noqa: S105
    STRIPE_KEY = "Stripe key"
    PACKAGE_TOKEN = "package registry token"  # noqa: S105
    MODEL_KEY = "model API key"
    JSON_WEB_TOKEN = "JSON web token"  # noqa: S105
    ACCESS_TOKEN = "access token"  # noqa: S105
    API_KEY = "API key"
    CONNECTION = "connection password"
    AUTHORIZATION = "authorization header"
    PASSWORD = "password"  # noqa: S105
    PASSPHRASE = "passphrase"  # noqa: S105
    PIN = "PIN"
    CREDENTIALS = "credentials"


class Spot(NamedTuple):
    """The kind of a secret and its position in a text; nothing of the secret itself."""

    kind: Kind
    start: int
    end: int


LONGEST = 1_400  # characters that are looked at of a value, so that no text takes long
LEAST_PASSWORD = 4  # characters
LEAST_RANDOM = 16  # of a token or key behind a word for it
LEAST_STATED = 8  # the same where the text says outright "the API key is ..."
LEAST_ENTROPY = 3.0  # bits per character; English words have less than 2.5 in runs this long
LEAST_WORDS = 4  # of a passphrase
LEAST_CHOSEN = 6  # of a password in a sentence of any language
LEAST_BESIDE = 20  # of a random run somewhere beside such a word

# A variable, a template, a hole, a call, an address of a secret: none of them is the secret.
_STAND_IN = re.compile(
    r"""^(?:
        [$%@#]?\{ | \$[A-Za-z_(] | <[^>]*>?$ | \[[^\]]*\]?$ | %[A-Z_]+%$ | \(.*
        | (?:os\.|process\.env|env[.(\[:]|getenv|settings\.|config\.|self\.|secrets?\.|vars?\.)
        | (?:vault|op|keychain|keyring|ssm|arn|secretsmanager|file|env|https?|ssh|git|s3|pass):
        | \.{0,2}~?/[\w.@-]+(?:/|$)
        | ![a-z]+$
        | [*.\u2022\u2026_xX?#-]+$
        | (.)\1+$
        | (?:your|my|the|some|any|a|an|new|old|insert|enter|put|todo|tbd|fixme|example|sample|dummy
            |fake|placeholder|redacted|masked|hidden|removed|omitted|secret|replace
            |change[-_ ]?(?:me|it|this))
          (?:[-_. ]|$)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_CALL = re.compile(r"^[A-Za-z_][\w.]*\(.*\)?$|^[\w.]+\[[^\]]*\]$")
_IDENTIFIER = re.compile(
    r"^(?:[a-z]+[A-Z][A-Za-z]*|[A-Z]+[a-z]+[A-Z][A-Za-z]*|[A-Za-z]+(?:_[A-Za-z]+)+)$"
)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]+", re.IGNORECASE)
_NUMBER = re.compile(r"[\d.,:/+%-]+[a-zA-Z]{0,3}")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_ENDING = re.compile(r"(?:ed|ing|ly|able|ible|ful|less|ised|ized|ive|ory|ary)$")
# An address, a path, a version, an option.
_PLACE = re.compile(r"^[a-z]+:|^/|\w@\w[\w-]*\.|\.(?:\w{2,4})$|^v?\d+\.|^--?[a-z]|[=()\[\]{}<>]")
_NUMBERED = re.compile(r"^[a-z]+-\d{1,4}$", re.IGNORECASE)
_TECHNICAL = re.compile(
    r"^(?:\d*password|sha-?\d+|md5|argon2\w*|b?scrypt|pbkdf2\w*|[a-z]*auth-?\d?|\d?[a-z]?fa|base\d+"
    r"|utf-?\d+|ldap\w*|keepass\w*|aes-?\d*\S*|rsa-?\d+|ed25519|v?\d+(?:\.\d+)*|hs256|rs256|es256"
    r"|k8s|s3|ec2|ipv[46]|http/?\d*|tls-?\d*\S*|\d+(?:st|nd|rd|th))$",
    re.IGNORECASE,
)

#: By convention these are written where a password will be.
DUMMIES = frozenset(  # as a text, so that it can be read
    """
    changeme change-me change_me password passwort passwd pass pwd pw secret secrets example
    dummy placeholder redacted masked hidden yourpassword mypassword user username foo bar baz
    foobar none null nil undefined true false yes no str string text varchar bytes int bool
    boolean number optional required any object secretstr todo tbd n/a na empty blank
    """.split()  # noqa: SIM905
)

#: Words that go on with a sentence about passwords instead of telling one.
ORDINARY = frozenset(  # as a text, so that it can be read
    """
    a about above accepted across actually after again all allowed already also always an and
    any anything are as ask at available back bad be because been before being below best better
    between blank both but by can cannot case changed checked clear common compromised correct
    could cracked currently dead default different difficult disabled do does doubled down due
    each easier easy either else empty enabled encrypted enough entered even every everything
    exactly expired exposed fine for forgotten free fresh from full generated gone good great
    guessable half hard has hashed have held here hidden how identical if important in incorrect
    insecure inside into invalid irrelevant it its just kept known later leaked least left less
    let like likely local locked long longer lost made mandatory many masked may me mentioned
    min minimum missing month monthly more most much must my near necessary needed never new
    next no none nor not nothing now null obsolete obvious of off often ok okay old on once one
    only open optional or other our ours out outdated over own part per plain pointless policy
    possible present private probably protected public put quite random rather rate read ready
    really recorded refused rejected required reset resets retired right rotated rubbish safe
    salted same saved secret secure see sent set several shared short should shown simple since
    so some somebody someone something somewhere soon still stolen stored strong such taken ten
    terrible that the their them then there these they this those three through to together too
    top transmitted true twelve two typed under unique unknown unset until up upper used usually
    valid very via visible wanted was weak we well what when where whether which while who
    whoever why will with within without word work works would written wrong yearly yes yet you
    your zero use rotate check check-in manager authentication authenticator prompt field
    case-sensitive letters characters digits
    """.split()  # noqa: SIM905
)


def is_stand_in(value: str) -> bool:
    """Whether a value is a placeholder for a secret."""
    bare = value.strip("\"'`\u201c\u201d\u2018\u2019")
    return (
        not bare
        or "EXAMPLE" in bare  # as documentation marks its samples
        or bare.casefold().strip(".,;:!?") in DUMMIES
        or bool(_STAND_IN.match(bare) or _CALL.match(bare) or _IDENTIFIER.match(bare))
    )


def looks_like_password(value: str, *, said_outright: bool) -> bool:
    """Whether a value can be a password; ordinary words only where it is said outright."""
    if len(value) < LEAST_PASSWORD or is_stand_in(value):
        return False
    if _WORD.fullmatch(value):
        mixed = not (value.islower() or value.isupper() or value.istitle()) and "-" not in value
        plain = value.casefold() in ORDINARY or bool(_ENDING.search(value.casefold()))
        return mixed or (said_outright and not plain)
    if _NUMBER.fullmatch(value):
        return said_outright and value.isdigit()
    if _TECHNICAL.match(value) or _UUID.fullmatch(value):
        return False
    if not said_outright and _NUMBERED.match(value):
        return False
    return any(map(str.isalnum, value))


def looks_random(value: str, *, said_outright: bool) -> bool:
    """Whether a value looks like a key or token that a machine made."""
    if len(value) < (LEAST_STATED if said_outright else LEAST_RANDOM) or is_stand_in(value):
        return False
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if not (has_digit and has_letter) or _TECHNICAL.match(value):
        return False
    return entropy(value) >= (LEAST_ENTROPY if len(value) >= LEAST_RANDOM else LEAST_ENTROPY - 0.5)


def is_chosen_password(value: str) -> bool:
    """Whether a value can hardly be a word of any language: it has letters and digits."""
    value = value.rstrip(".,;:!?)\u3002\uff0c")
    if len(value) < LEAST_CHOSEN or is_stand_in(value) or _TECHNICAL.match(value):
        return False
    if _UUID.fullmatch(value) or _NUMBER.fullmatch(value) or _NUMBERED.match(value):
        return False
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    is_place = bool(_PLACE.search(value))
    return has_digit and has_letter and not is_place and value.isascii()


def is_random_run(value: str) -> bool:
    """Whether a run of characters is random by itself: no word, no hash, no id of a known form."""
    if len(value) < LEAST_BESIDE or _UUID.fullmatch(value) or _HEX.fullmatch(value):
        return False
    if is_stand_in(value):
        return False
    classes = (str.isdigit, str.islower, str.isupper)
    return all(any(map(test, value)) for test in classes) and entropy(value) >= LEAST_ENTROPY + 0.5


def is_phrase(value: str) -> bool:
    """Whether a text is some words, as passphrases and wallets have them."""
    words = value.split()
    plain = all(word.isalpha() and word.casefold() not in ORDINARY for word in words)
    return plain and len({*words}) >= LEAST_WORDS


def entropy(text: str) -> float:
    """Shannon's entropy of the characters, in bits."""
    size = len(text)
    return -math.fsum(n / size * math.log2(n / size) for n in Counter(text).values())
