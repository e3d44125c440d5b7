"""Whether two names are spellings of one: rules alone, and what each is worth.

`judge` says how sure it is that two labels name one concept. `variants` are the names under which a
concept with such a label might be known already, so that a store is asked for a handful of names
however many it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from bearinmind.concepts import ConceptName, Kind
from bearinmind.text.analysis import FUNCTION_WORDS, fold
from bearinmind.text.names import name_of

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NUMERAL = re.compile(r"\b[IVX]{1,5}\b")
_BRACKETED_PART = re.compile(r"\(([^)]*)\)\s*$")
_NAME_PART = re.compile(r"[^\W_]+")
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth one two three four five"
)
#: A name with one of these is not the name without it, nor the one with another of them.
_TELLING = frozenset(
    f"""
    {_ORDINALS} north south east west northern southern eastern western upper lower old new ancient
    junior senior jr sr pere fils part men women man woman boys girls male female king queen father
    mother son daughter brother sister prod production staging dev development test testing
    primary secondary master replica slave client server frontend backend read write load save
    input output public private internal external left right in out min max minimum maximum
    high low hot cold hard soft before after start end open closed request response encode decode
    upload download import export add delete remove create destroy enable disable ui api app db web
    """.split()
)
_ADDRESSES = frozenset({"mr", "mrs", "ms", "miss", "sir", "dame", "lord", "lady"})
_LETTER_NAMED = re.compile(
    r"\b(?:Building|Block|Gate|Room|Plan|Team|Group|Class|Type|Wing) [A-Z]\b"
)


#: What is this sure is applied; what is less sure is proposed to the user.
CERTAIN = 0.95
SHORTEST_PLURAL = 4  # letters; `bus` and `bu` are nothing to each other
LONGEST_INITIALISM = 6  # letters
SHORTEST_COUNTED = 8  # letters of a word that is written like k8s

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PART = re.compile(r"[^\W_]+|\+\+|#")
_APOSTROPHE = re.compile(r"['\u2019]")
_AND = re.compile(r"\s*&\s*|\s+and\s+")
_SPELLED_INITIALS = re.compile(r"\b(?:[A-Z]\. ?){2,}|\b[A-Z]{2,4}\b")
_BRACKET = re.compile(r"\s*\([^)]*\)\s*$")
_QUOTED = re.compile(r"\s[\"\u201c][^\"\u201d]+[\"\u201d](?=\s)")
_IDENTIFIER = re.compile(r"[-_./]|\d|[a-z][A-Z]")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9]*[a-z]?(?:\.[A-Z])*\.?")
_MIDDLE_INITIAL = re.compile(r"([^\W\d_]{2,}) [A-Z]\. ([^\W\d_]{2,})")
_NUMERONYM = re.compile(r"([a-z])(\d{1,2})([a-z])")
_HONORIFICS = frozenset(
    {"mr", "mrs", "ms", "miss", "dr", "prof", "professor", "sir", "dame", "rev", "reverend"}
)
_COMPANY = frozenset(
    {"inc", "incorporated", "ltd", "limited", "llc", "gmbh", "corp", "corporation", "plc"}
)
#: At the beginning of a name, and in front of another word.
_SHORTENED = {"st": "saint", "mt": "mount", "ft": "fort", "univ": "university", "ms": "microsoft"}
#: Written out for letters that `fold` leaves alone, or that have a second spelling.
_TRANSCRIBED = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "ø": "oe", "å": "aa", "æ": "ae"}
_PLAIN = str.maketrans({"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "æ": "ae"})
#: Names that nobody takes for two things.
_KNOWN_AS = {
    "postgres": "postgresql",
    "mongo": "mongodb",
    "golang": "go",
    "js": "javascript",
    "ts": "typescript",
    "vs code": "visual studio code",
    "vscode": "visual studio code",
    "repo": "repository",
    "repos": "repositories",
    "docs": "documentation",
    "config": "configuration",
    "env var": "environment variable",
}
_BRITISH = (
    ("isations", "izations"),
    ("isation", "ization"),
    ("ise", "ize"),
    ("ised", "ized"),
    ("ising", "izing"),
    ("our", "or"),
    ("ours", "ors"),
    ("yse", "yze"),
    ("tre", "ter"),
)


class Verdict(NamedTuple):
    """How sure it is that two labels name one concept, and why."""

    score: float
    reason: str


class Named(NamedTuple):
    """A concept by what it is called and what it is."""

    label: str
    kind: Kind = Kind.NAME


def judge(one: Named, other: Named) -> Verdict | None:
    """Whether two labels name one concept, by rules alone; None when no rule says so."""
    shortened = _as_numeronym(one.label, other.label)
    if shortened or _matches(_NUMBER, one.label) != _matches(_NUMBER, other.label):
        return shortened
    same = _as_spelling(one, other)
    if same or differ_in_marking(one.label, other.label):
        return same
    return (
        _as_known(one.label, other.label)
        or _as_bare(one, other)
        or _as_plural(one, other)
        or _as_initials(one.label, other.label)
        or _as_middle_name(one.label, other.label)
    )


def variants(label: str) -> set[ConceptName]:
    """Names under which the concept of this label might be known already; not its own."""
    names: set[str] = set()
    for text in {label, *_without_trimmings(label)}:
        parts = parts_of(text)
        for spelled in {parts, *_in_other_number(parts)}:
            names |= {mark.join(spelled) for mark in (" ", "-", "_", "")}
        names |= {name_of(text), name_of(_transcribed(text)), "the " + name_of(text)}
        names |= {name_of(" ".join(form)) for form in _in_other_number(tuple(text.split(" ")))}
        names |= {*_synonyms(name_of(text)), " ".join(map(_american, parts))}
    names |= {*_initials(label), *_without_middle_initial(label), *_numeronyms(label)}
    names |= {name_of(text) for text in (*_respelled(label), *_as_companies(label))}
    return {ConceptName(name) for name in names if name} - {name_of(label)}


def differ_in_marking(one: str, other: str) -> bool:
    """Whether a number, a numeral, a bracket or a form of address tells two labels apart."""
    return (
        _matches(_NUMBER, one) != _matches(_NUMBER, other)
        or _matches(_NUMERAL, one) != _matches(_NUMERAL, other)
        or _contradict(_words(one, _ADDRESSES), _words(other, _ADDRESSES))
        or _contradict(*([name_of(x) for x in _BRACKETED_PART.findall(y)] for y in (one, other)))
    )


def are_distinct(one: str, other: str) -> bool:
    """Whether such a mark, or half of a pair of opposites, tells two labels apart."""
    return (
        differ_in_marking(one, other)
        or _words(one, _TELLING) != _words(other, _TELLING)
        or _LETTER_NAMED.findall(one) != _LETTER_NAMED.findall(other)
    )


def _matches(pattern: re.Pattern[str], label: str) -> list[str]:
    # The year in "Dune (1984 film)" counts only against another bracket.
    return sorted(pattern.findall(_BRACKETED_PART.sub("", label)))


def _words(label: str, vocabulary: frozenset[str]) -> list[str]:
    parts = _NAME_PART.findall(name_of(_BRACKETED_PART.sub("", label)))
    return sorted(part for part in parts if part in vocabulary)


def _contradict(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether both have something, and not the same."""
    return bool(one and other) and one != other


@lru_cache(maxsize=4096)
def parts_of(label: str) -> tuple[str, ...]:
    """The words of a label as they sound: camelCase, hyphens and initials make no difference."""
    plain = _APOSTROPHE.sub("", _CAMEL.sub(" ", label.translate(_PLAIN)))
    parts = [fold(part) for part in _PART.findall(plain.replace("&", " and "))]
    if len(parts) > 1:
        parts[0] = _SHORTENED.get(parts[0], parts[0])
    return tuple(_initials_joined(parts))


def _initials_joined(parts: list[str]) -> Iterator[str]:
    """`j r r tolkien` as `jrr tolkien`."""
    run = ""
    for part in parts:
        if len(part) == 1 and part.isalpha():
            run += part
            continue
        if run:
            yield run
            run = ""
        yield part
    if run:
        yield run


def _as_spelling(one: Named, other: Named) -> Verdict | None:
    """The same letters, or the same but for how a language writes them."""
    mine, theirs = parts_of(one.label), parts_of(other.label)
    if mine == theirs:
        return Verdict(1.0, "another spelling")
    if "".join(mine) == "".join(theirs):
        marked = any(_IDENTIFIER.search(label) for label in (one.label, other.label))
        return Verdict(0.97 if marked else 0.8, "the same letters, put together otherwise")
    transcribed = parts_of(_transcribed(one.label)), parts_of(_transcribed(other.label))
    if transcribed[0] in (theirs, transcribed[1]) or transcribed[1] == mine:
        return Verdict(0.97, "another transcription")
    if [*map(_american, mine)] == [*map(_american, theirs)]:
        return Verdict(0.97, "British and American spelling")
    return None


def _american(word: str) -> str:
    for british, american in _BRITISH:
        if word.endswith(british) and len(word) > len(british) + 1:
            return word.removesuffix(british) + american
    return word


def _transcribed(label: str) -> str:
    return "".join(
        _TRANSCRIBED.get(letter.lower(), letter) if not letter.isascii() else letter
        for letter in label
    )


def _respelled(label: str) -> Iterator[str]:
    """A label with other apostrophes, another "and", its initials with and without dots."""
    for mark in ("'", "\u2019", ""):
        yield _APOSTROPHE.sub(mark, label)
    for joint in ("&", " & ", " and "):
        yield _AND.sub(joint, label)
    for end, between in (("", ""), (".", " "), (".", "")):
        yield _SPELLED_INITIALS.sub(partial(_initials_written, end=end, between=between), label)


def _initials_written(match: re.Match[str], *, end: str, between: str) -> str:
    letters = [letter + end for letter in re.findall(r"[A-Z]", match[0])]
    return between.join(letters) + (" " if match[0].endswith(" ") else "")


def _as_companies(label: str) -> Iterator[str]:
    lead, _, last = label.rpartition(" ")
    if lead and fold(last).rstrip(".") in _COMPANY:
        yield from (f"{lead.rstrip(',')} {form}" for form in _COMPANY)


def _numeronyms(label: str) -> Iterator[str]:
    word = fold(label)
    if word.isalpha() and len(word) >= SHORTEST_COUNTED:
        yield f"{word[0]}{len(word) - 2}{word[-1]}"


def _as_known(one: str, other: str) -> Verdict | None:
    is_synonym = name_of(other) in _synonyms(name_of(one))
    return Verdict(0.97, "known by both names") if is_synonym else None


def _synonyms(name: str) -> Iterator[str]:
    for short, long in _KNOWN_AS.items():
        if name == short:
            yield long
        elif name == long:
            yield short
        elif name.startswith(f"{short} "):
            yield long + name.removeprefix(short)
        elif name.startswith(f"{long} "):
            yield short + name.removeprefix(long)


def _as_bare(one: Named, other: Named) -> Verdict | None:
    """The same but for an article, a title, the form of a company, or what stands in brackets."""
    for long, short in ((one, other), (other, one)):
        for text, certain, reason in _trimmed(long.label):
            if parts_of(text) == parts_of(short.label):
                alone = " " not in text.strip() and short.kind is Kind.TOPIC
                return Verdict(0.96 if certain and not alone else 0.8, reason)
    mine, theirs = ([*_without_trimmings(each.label)] for each in (one, other))
    if {parts_of(text) for text in mine} & {parts_of(text) for text in theirs}:
        return Verdict(0.8, "the same without what stands beside the name")
    return None


def _trimmed(label: str) -> Iterator[tuple[str, bool, str]]:
    """What is left of a label, whether that is as good as the whole, and what is gone."""
    words = label.split()
    if len(words) > 1:
        first, last = fold(words[0]).rstrip("."), fold(words[-1]).rstrip(".")
        rest, lead = " ".join(words[1:]), " ".join(words[:-1]).rstrip(",")
        if first == "the" and fold(rest) not in FUNCTION_WORDS:
            yield rest, len(words) > 2, "without its article"  # noqa: PLR2004
        if first in _HONORIFICS:
            yield rest, len(words) > 2, "without the form of address"  # noqa: PLR2004
        if last in _COMPANY:
            yield lead, True, "without the form of the company"
    if _BRACKET.search(label):
        yield _BRACKET.sub("", label), False, "without its brackets"
    if _QUOTED.search(label):
        yield _QUOTED.sub("", label), False, "without the nickname"


def _without_trimmings(label: str) -> Iterator[str]:
    return (text for text, _, _ in _trimmed(label))


def _as_plural(one: Named, other: Named) -> Verdict | None:
    """One thing and several of it. Of a proper name that is another one: Adam, Adams."""
    mine, theirs = parts_of(one.label), parts_of(other.label)
    if mine[:-1] != theirs[:-1] or not mine or not theirs:
        return None
    if theirs[-1] in _plurals(mine[-1]) or mine[-1] in _plurals(theirs[-1]):
        common = one.label.islower() + other.label.islower()
        score = (None, 0.6, 0.96)[common]
        return Verdict(score, "one and several of it") if score else None
    return None


def _plurals(word: str) -> Iterator[str]:
    if len(word) < SHORTEST_PLURAL or not word.isalpha() or word.endswith("ss"):
        return
    yield word + "s"
    if word.endswith(("s", "x", "z", "ch", "sh")):
        yield word + "es"
    if word.endswith("y"):
        yield word[:-1] + "ies"


def _singulars(word: str) -> Iterator[str]:
    for ending, instead in (("ies", "y"), ("es", ""), ("s", "")):
        if word.endswith(ending) and word in {*_plurals(word.removesuffix(ending) + instead)}:
            yield word.removesuffix(ending) + instead


def _in_other_number(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Some words with the last one in the other number."""
    for last in words[-1:]:
        for form in (*_plurals(last), *_singulars(last)):
            yield (*words[:-1], form)


def _as_initials(one: str, other: str) -> Verdict | None:
    """`CI` for Continuous Integration: right more often than not, and no more."""
    for short, long in ((one, other), (other, one)):
        letters = fold(short.replace(".", ""))
        if _CAPITALS.fullmatch(short) and len(letters) > 1 and letters in {*_initials(long)}:
            return Verdict(0.85, "its initials")
    return None


def _initials(label: str) -> Iterator[str]:
    words = [fold(part) for part in _PART.findall(_BRACKET.sub("", label))]
    content_words = [word for word in words if word not in FUNCTION_WORDS]
    for spelled in (words, content_words):
        if 1 < len(spelled) <= LONGEST_INITIALISM:
            yield "".join(word[0] for word in spelled)


def _as_middle_name(one: str, other: str) -> Verdict | None:
    """`John F. Kennedy` for John Kennedy, unless that is somebody else."""
    for long, short in ((one, other), (other, one)):
        if name_of(short) in {*_without_middle_initial(long)}:
            return Verdict(0.6, "without the middle initial")
    return None


def _without_middle_initial(label: str) -> Iterator[str]:
    match = _MIDDLE_INITIAL.fullmatch(label)
    if match:
        yield name_of(f"{match[1]} {match[2]}")


def _as_numeronym(one: str, other: str) -> Verdict | None:
    """`k8s` for kubernetes: its first letter, how many follow, and its last one."""
    for short, long in ((fold(one), fold(other)), (fold(other), fold(one))):
        match = _NUMERONYM.fullmatch(short)
        if match is None or not long.isalpha():
            continue
        if (long[0], len(long) - 2, long[-1]) == (match[1], int(match[2]), match[3]):
            return Verdict(0.97, "its first and last letter, and how many stand between")
    return None
