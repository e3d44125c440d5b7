"""What tells two names apart however alike they look: numbers, numerals, opposites."""

from __future__ import annotations

import re

from bearinmind.concepts import name_of

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NUMERAL = re.compile(r"\b[IVX]{1,5}\b")
_BRACKET = re.compile(r"\(([^)]*)\)\s*$")
_PART = re.compile(r"[^\W_]+")
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


def are_numbered_apart(one: str, other: str) -> bool:
    """Whether a number says that these are two things."""
    return _numbers(one) != _numbers(other)


def are_marked_apart(one: str, other: str) -> bool:
    """Whether a number, a numeral, a bracket or a form of address says so."""
    return (
        are_numbered_apart(one, other)
        or _numerals(one) != _numerals(other)
        or _contradict(_words(one, _ADDRESSES), _words(other, _ADDRESSES))
        or _contradict(_bracketed(one), _bracketed(other))
    )


def tells_apart(one: str, other: str) -> bool:
    """Whether any of these says so, or a word that is half of a pair of opposites."""
    return (
        are_marked_apart(one, other)
        or _words(one, _TELLING) != _words(other, _TELLING)
        or _LETTER_NAMED.findall(one) != _LETTER_NAMED.findall(other)
    )


def _numbers(label: str) -> list[str]:
    # The year in "Dune (1984 film)" counts only against another bracket.
    return sorted(_NUMBER.findall(_BRACKET.sub("", label)))


def _numerals(label: str) -> list[str]:
    return sorted(_NUMERAL.findall(_BRACKET.sub("", label)))


def _words(label: str, vocabulary: frozenset[str]) -> list[str]:
    parts = _PART.findall(name_of(_BRACKET.sub("", label)))
    return sorted(part for part in parts if part in vocabulary)


def _bracketed(label: str) -> list[str]:
    return [name_of(text) for text in _BRACKET.findall(label)]


def _contradict(one: list[str], other: list[str]) -> bool:
    """Both say something, and not the same."""
    return bool(one and other) and one != other
