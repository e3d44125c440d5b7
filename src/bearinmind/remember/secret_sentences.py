"""Secrets that a text states: "the wifi password is ...", `PASSWORD=...`, "login: admin / ...".

A word for a secret is found first, then what joins it to a value, and then whether the value can be
a secret or only goes on with the sentence. A password may be almost any value. "Key" and "token"
name many harmless things too, so their values must look random.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from bearinmind.remember.secret_values import (
    LONGEST,
    Kind,
    Spot,
    is_chosen_password,
    is_phrase,
    is_random_run,
    looks_like_password,
    looks_random,
)

_REACH = 48  # characters behind a word in which a random run counts as its value
_FAR = 60  # characters behind a word for a password in which it may be told
_LEAD = 24  # characters before a word that say what kind of key or code it is


#: Gives the secret of a text behind the span of a word for it.
_Reader = Callable[[str, int, int], Spot | None]


class _Word(NamedTuple):
    """A word for a secret."""

    sign: str  #: letters that are looked for first, which is cheap
    whole: re.Pattern[str]  #: the word, from these letters on
    before: re.Pattern[str] | None  #: what must stand before them
    read: _Reader


class _Stated(NamedTuple):
    """A value that a text states, and its position."""

    value: str
    start: int
    quoted: bool
    ends: bool  #: whether the clause ends with it

    def spot(self, kind: Kind) -> Spot:
        return Spot(kind, self.start, self.start + len(self.value))


# ---- what joins a word to its value ------------------------------------------------------------

# What it is for ("for the NAS"), and then what joins it ("is", "="). Every stretch is bounded, so
# that no text takes long.
_JOINT = re.compile(
    r"""
    ["'`\])]{0,3}
    (?: \s{1,3} (?:for|to|of|on|at|in|from|behind|f\u00fcr|von|pour|para|del?) \s{1,3} (?=\S)
        [^.:;=\n?!]{1,60}? (?: \.\w [^.:;=\n?!]{0,40}? ){0,3}
      | \s{0,3} \( [^)\n]{1,40} \)
      | \s{1,3} (?:here|there|today|again)
    )?
    \s{0,3}
    (?: :=|=>|==?(?!=)|:(?!:)|->|\u2192|\uff1a
      | \b (?: is|was|are|ist|lautet|est|es|\u00e8|\u00e9|\u00e4r
             | (?:was\s)?(?:changed|set|reset)\sto|becomes|equals ) \b
        (?: \s{1,3} (?:now|currently|still|just|simply|always|temporarily|set\sto|changed\sto
                      |called|as\sfollows|the\sfollowing) \b )?
        \s{0,3} :?
      | [\u662f\u306f]
    )
    \s{0,3}
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OPEN, _CLOSE = "\"'`\u201c\u2018\u00ab\u300c", "\"'`\u201d\u2019\u00bb\u300d"
_QUOTED = re.compile(rf"[{_OPEN}]([^{_OPEN}{_CLOSE}\n]{{3,200}})[{_CLOSE}]")
_BARE = re.compile(rf"[^\s,;<>(){_OPEN}{_CLOSE}]{{1,{LONGEST}}}")
_GAP = re.compile(r"\s{1,3}")
_LINE = re.compile(rf"[^\n.;,]{{1,{LONGEST}}}")
_ENDS = re.compile(
    r"[\"'`)\]]{0,3}\s{0,3}(?:$|[\n.,;!?)(]|(?:and|but|for|on|und|et|y)\b|[-\u2013\u2014])"
)


def _stated(text: str, position: int) -> _Stated | None:
    """The value that is stated behind a word, if there is one."""
    joint = _JOINT.match(text, position)
    return _value(text, joint.end()) if joint else None


def _value(text: str, position: int) -> _Stated | None:
    quoted = _QUOTED.match(text, position)
    if quoted:
        return _Stated(quoted[1], quoted.start(1), quoted=True, ends=True)
    bare = _BARE.match(text, position)
    if bare is None or text.startswith("(", bare.end()):  # a call is no value
        return None
    value = bare[0].rstrip(".:!?")
    end = position + len(value)
    return _Stated(value, position, quoted=False, ends=bool(_ENDS.match(text, end)))


# ---- what each word is followed by -------------------------------------------------------------

_NAMED = re.compile(
    r"\b(?:login|user(?:name)?|account)\b[\"'`]?\s{0,3}(?:is|[:=])?\s{0,3}[\"'`]?\S{1,64}[\"'`]?"
    r"\s{0,3}(?:,|and|with|/)?\s{0,3}(?:the\s{1,3})?$",
    re.IGNORECASE,
)
_ASCII_RUN = re.compile(r"[!-~]{6,}")
_CODE = re.compile(r"[\dA-Za-z]{4,}(?:-[\dA-Za-z]{3,})+|\d{6,}")
_PIN = re.compile(r"[\"'`]?(\d{4,8})(?![\d.,:/-]*\d)")
_OWN = re.compile(r"\b(?:card|sim|bank|debit|credit|visa|phone|my|his|her|their)\W+(?:\w+\W+)?$")
_RUN = re.compile(r"[A-Za-z0-9+/_=~.-]{20,}")
_PAIR = re.compile(
    r"[\"'`)]{0,3}(?:\s{1,3}(?:for|to|of|on)\s{1,3}[^.:;=\n?!]{1,40}?)?"
    r"\s{0,3}(?:(?:is|are|were|:|=)\s{0,3}){1,2}"
    r"[\"'`]?[\w.@+-]{2,64}[\"'`]?\s{0,3}[/:|]\s{0,3}"
    rf"[\"'`]?([^\s\"'`,;]{{4,{LONGEST}}})"
)
# Keys and tokens that are public, or no secrets at all.
_HARMLESS = re.compile(
    r"(?:public|primary|foreign|partition|cache|sort|shard|idempotency|dedup\w*|composite|unique"
    r"|natural|hot|short\s?cut|project|issue|publishable|site|host|csrf|xsrf|page|next|continuation"
    r"|cursor|max|special|stop|pad|mask|cls|sep|eos|bos|input|output|prompt|completion|total|num\w*"
    r"|count|of|per)[\])]?[ _-]*$"
)


def _password(text: str, start: int, end: int) -> Spot | None:
    stated = _stated(text, end)
    if stated and stated.quoted and is_phrase(stated.value):
        return stated.spot(Kind.PASSWORD)
    if stated:
        fits = looks_like_password(stated.value, said_outright=stated.ends)
        return stated.spot(Kind.PASSWORD) if fits else None
    # A value that follows the word at once: behind a user's name, in quotes, or random.
    gap = _GAP.match(text, end)
    stated = _value(text, gap.end()) if gap else None
    if stated is None:
        return None
    if _NAMED.search(text, max(0, start - 100), start):
        fits = looks_like_password(stated.value, said_outright=stated.ends)
    else:
        fits = looks_like_password(stated.value, said_outright=False) and (
            stated.quoted or looks_random(stated.value, said_outright=True)
        )
    return stated.spot(Kind.PASSWORD) if fits else None


def _told(text: str, start: int, end: int) -> Spot | None:
    """A password that is told in a sentence of any language: close behind the word, and no word.

    Grammars join a word and its value in too many ways to know them all. What is told must have
    digits among its letters instead.
    """
    spot = _password(text, start, end)
    if spot is not None:
        return spot
    line_end = text.find("\n", end)
    reach = min(end + _FAR, len(text) if line_end < 0 else line_end)
    for run in _ASCII_RUN.finditer(text, end, reach):
        if is_chosen_password(run[0]):
            return Spot(Kind.PASSWORD, *run.span())
    return None


def _passphrase(text: str, start: int, end: int) -> Spot | None:
    stated = _stated(text, end)
    if stated and not stated.quoted:
        line = _LINE.match(text, stated.start)
        if line and is_phrase(line[0].strip()):
            return Spot(Kind.PASSPHRASE, *line.span())
    spot = _password(text, start, end)
    return spot._replace(kind=Kind.PASSPHRASE) if spot else None


def _codes(text: str, start: int, end: int) -> Spot | None:  # noqa: ARG001  as all readers
    stated = _stated(text, end)
    return stated.spot(Kind.PASSWORD) if stated and _CODE.match(stated.value) else None


def _pin(text: str, start: int, end: int) -> Spot | None:
    joint = _JOINT.match(text, end)
    if joint is None and not _OWN.search(text[max(0, start - 40) : start].lower()):
        return None
    digits = _PIN.match(text, joint.end() if joint else end + 1)
    if digits is None or "post" in text[end : digits.start()].lower():  # India's postal codes
        return None
    return Spot(Kind.PIN, *digits.span(1))


def _random(text: str, start: int, end: int, kind: Kind) -> Spot | None:
    """A random value, stated behind the word or close to it."""
    before = text[max(0, start - _LEAD) : start].lower()
    if _HARMLESS.search(before):
        return None
    stated = _stated(text, end)
    lone = kind is Kind.ACCESS_TOKEN and not before.rstrip(" _-")[-1:].isalpha()
    if stated and looks_random(stated.value, said_outright=not lone):
        return stated.spot(kind)
    line_end = text.find("\n", end)
    reach = min(end + _REACH, len(text) if line_end < 0 else line_end)
    run = _RUN.search(text, end, reach + _REACH)
    if run and run.start() <= reach and is_random_run(run[0].rstrip(".")):
        return Spot(kind, *run.span())
    return None


def _login(text: str, start: int, end: int) -> Spot | None:  # noqa: ARG001  as all readers
    pair = _PAIR.match(text, end)
    value = pair[1].rstrip(".!?") if pair else ""
    if pair and looks_like_password(value, said_outright=not value.isalpha()):
        return Spot(Kind.CREDENTIALS, pair.start(1), pair.start(1) + len(value))
    return None


_HEBREW = "\u0590"  # from here on words have no endings that would stand between
_ENDING = "[a-z\u00e0-\u017f\u0430-\u0457\u03ac-\u03ce]*"  # Latin, Cyrillic, Greek
#: Words for a password by which one is told in other languages than English.
TOLD = (
    "mot de passe",
    "contrase(?:n|\u00f1)a",
    "clave",  # Spanish
    "senha",  # Portuguese
    "palavra-passe",
    "parola",  # Italian, Romanian, Turkish
    "passwort",
    "kennwort",
    "zugangscode",
    "wachtwoord",  # Dutch
    "senord",  # Swedish
    "adgangskode",  # Danish
    "kodeord",
    "passord",  # Norwegian
    "salasana",  # Finnish
    "has\u0142",  # Polish
    "heslo",  # Czech, Slovak
    "jelsz",  # Hungarian
    "parol",  # Romanian, Estonian, Latvian
    "geslo",  # Slovene
    "lozinka",  # Croatian, Serbian
    "\u043f\u0430\u0440\u043e\u043b",  # Russian, Ukrainian, Bulgarian
    "\u041f\u0430\u0440\u043e\u043b",
    "\u03ba\u03c9\u03b4\u03b9\u03ba",  # Greek
    "\u015fifre",  # Turkish
    "\u5bc6(?:\u7801|\u78bc)",  # Chinese
    "\u53e3\u4ee4",
    "\u30d1\u30b9\u30ef\u30fc\u30c9",  # Japanese
    "\u6697\u8a3c\u756a\u53f7",
    "\ube44\ubc00\ubc88\ud638",  # Korean
    "\uc554\ud638",
    "\u0645\u0631\u0648\u0631",  # Arabic
    "\u0627\u0644\u0633\u0631",
    "\u05e1\u05d9\u05e1\u05de",  # Hebrew
    "\u092a\u093e\u0938\u0935\u0930\u094d\u0921",  # Hindi
    "m\u1eadt kh\u1ea9u",  # Vietnamese
    "kata sandi",  # Indonesian
    "kata laluan",  # Malay
    "\u0e23\u0e2b\u0e31\u0e2a\u0e1c\u0e48\u0e32\u0e19",  # Thai
    "\u0631\u0645\u0632 \u0639\u0628\u0648\u0631",  # Persian
)

# ---- the words ---------------------------------------------------------------------------------

_key = partial(_random, kind=Kind.API_KEY)
_token = partial(_random, kind=Kind.ACCESS_TOKEN)

_ALONE = re.compile(r"(?:^|[^a-z])$")
_KINDS_OF_KEYS = re.compile(
    r"(?:api|app|application|secret|access|account|auth|encryption|signing|service|subscription"
    r"|storage|shared|master|integration|license|deploy|admin|webhook|hmac|jwt|session|rest"
    r"|wpa[23]?|wi-?fi|network)[ _-]?$"
)
_KINDS_OF_CODES = re.compile(r"(?:recovery|backup|unlock|security|one[ -]time|2fa|mfa)[ _-]$")
_KINDS_OF_PHRASES = re.compile(r"(?:recovery|seed)[ _-]?$")


def _word(pattern: str, read: _Reader, before: re.Pattern[str] | None = None) -> _Word:
    """A word by its pattern, whose first letters up to the first mark are its sign."""
    sign = re.split(r"[(\[\\?]", pattern, maxsplit=1)[0]
    return _Word(sign, re.compile(pattern), before, read)


_WORDS = (
    _word(r"pass(?:[ _-]?(?:word|wd|code|wort)s?)(?![ -]?(?:manager|policy|reset))", _password),
    _word(r"pass(?=[\"']?\s*[:=])", _password, _ALONE),
    _word(r"pass[ _-]?phrase", _passphrase),
    _word(r"phrase", _passphrase, _KINDS_OF_PHRASES),
    _word(r"pwd(?![a-z])", _password, _ALONE),
    _word(r"pw(?![a-z])", _password, _ALONE),
    _word(r"pin(?:[ _-]?(?:code|number))?(?![a-z])", _pin, _ALONE),
    _word(r"code(?:s)?(?![a-z])", _codes, _KINDS_OF_CODES),
    _word(r"key(?:s|_base)?(?![a-z])", _key, _KINDS_OF_KEYS),
    _word(r"token(?:s)?(?![a-z])", _token),
    _word(r"secret(?![a-z]|[ _-]?key)", _token),
    _word(r"credential(?:s)?(?![a-z])", _login),
    _word(r"creds(?![a-z])", _login, _ALONE),
    _word(r"login(?![a-z])", _login, _ALONE),
    _word(r"kennwort", _password),
    *(_word(f"{word}{_ENDING if word[0] < _HEBREW else ''}", _told) for word in TOLD),
)


def read(text: str) -> Iterator[Spot]:
    """The secrets that the text states."""
    lowered = text.encode(errors="replace").lower().decode()  # of ASCII alone: no letter moves
    for sign, whole, before, reader in _WORDS:
        place = lowered.find(sign)
        while place >= 0:
            word = whole.match(lowered, place)
            if word and (before is None or before.search(lowered, max(0, place - _LEAD), place)):
                spot = reader(text, *word.span())
                if spot:
                    yield spot
            place = lowered.find(sign, place + len(sign))
