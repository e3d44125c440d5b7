"""Names that a text says are the same: "Continuous Integration (CI)", "also known as"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bearinmind.analysis import FUNCTION_WORDS, fold
from bearinmind.concepts import Alias, Kind, Mention, Role, name_of
from bearinmind.graph.marking import MARK, mark

LONGEST_SHORT = 6  # letters of an abbreviation

_BEFORE = re.compile(
    rf"((?:[^\W_][\w&'\u2019-]*[ -]){{1,{LONGEST_SHORT + 2}}}[^\W_][\w'\u2019-]*) "
    rf"\(([A-Z][A-Za-z0-9]{{1,{LONGEST_SHORT - 1}}})\)"
)
_AFTER = re.compile(
    rf"\b([A-Z][A-Za-z0-9]{{1,{LONGEST_SHORT - 1}}}) (?:\(|is short for |stands for |short for )"
    r"((?:[^\W_][\w&'\u2019-]*[ -])+[^\W_][\w'\u2019-]*)"
)
_KNOWN_AS = re.compile(
    rf"({MARK}),? (?:\(?(?:also|better|formerly)? ?known as|\(?a\.?k\.?a\.?|alias) ({MARK})"
)


class Stated(NamedTuple):
    """What a text says is the same, and the names of it that nobody has mentioned otherwise."""

    aliases: tuple[Alias, ...] = ()
    mentions: tuple[Mention, ...] = ()


def stated_aliases(content: str, mentions: Sequence[Mention]) -> Stated:
    """The names that a text says are the same. It says so itself: nothing is guessed."""
    known = {mention.name for mention in mentions}
    aliases: dict[Alias, None] = {}
    added: dict[str, Mention] = {}
    for short, long in _abbreviations(content):
        alias = Alias(name_of(short), name_of(long), "its abbreviation, as a memory says")
        aliases[alias] = None
        for label, kind in ((short, Kind.NAME), (long, Kind.TOPIC)):
            name = name_of(label)
            if name not in known:
                added[name] = Mention(name, Role.NAME, kind, label)
    marked = mark(content, None, mentions)
    for found in _KNOWN_AS.finditer(marked.text):
        of, name = (marked.mentions[int(group[1:-1])].name for group in found.groups())
        if name != of:
            aliases[Alias(name, of, "also known as, as a memory says")] = None
    return Stated((*aliases,), (*added.values(),))


def _abbreviations(content: str) -> Iterator[tuple[str, str]]:
    """Short and long, where the letters of one are the initials of the other."""
    for found in _BEFORE.finditer(content):
        long = _ending_that_fits(found[1], found[2])
        if long:
            yield found[2], long
    for found in _AFTER.finditer(content):
        long = _beginning_that_fits(found[2], found[1])
        if long:
            yield found[1], long


def _ending_that_fits(text: str, short: str) -> str:
    """The last words of a text whose initials are these letters, the fewest of them."""
    starts = [found.start() for found in re.finditer(r"[^\W_]+(?:['\u2019][^\W_]+)?", text)]
    for start in reversed(starts):
        if _fits(text[start:], short):
            return text[start:]
    return ""


def _beginning_that_fits(text: str, short: str) -> str:
    ends = [found.end() for found in re.finditer(r"[^\W_]+(?:['\u2019][^\W_]+)?", text)]
    return next((text[:end] for end in ends if _fits(text[:end], short)), "")


def _fits(text: str, short: str) -> bool:
    words = [fold(word) for word in re.findall(r"[^\W_]+", text)]
    if len(words) < 2 or words[0] in FUNCTION_WORDS:  # noqa: PLR2004
        return False
    if fold(short) in FUNCTION_WORDS:  # WHO, IT and US are on every other line
        return False
    told = [word for word in words if word not in FUNCTION_WORDS]
    return fold(short) in {"".join(word[0] for word in some) for some in (words, told)}
