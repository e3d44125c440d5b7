"""Names marked in a text: a number between two marks stands where a name was."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bearinmind.concepts import ConceptName, Kind, Mention, Role
from bearinmind.text.analysis import FUNCTION_WORDS
from bearinmind.text.names import Word, folded, words

OPEN, CLOSE = "\ue000", "\ue001"
MARK = rf"{OPEN}\d+{CLOSE}"

#: Nouns that say what a name is, beside it: "the host db-03", "the Raft protocol".
DESCRIBING = frozenset(
    """
    album app application architect author band bank book brand building city club cluster college
    company component composer country county daemon database department director district domain
    engineer film firm foundation framework game group host instance institute island king language
    library machine magazine manager minister module movie museum network node novel opera package
    painter philosopher play plugin poem poet president producer programme project protocol province
    publisher queen region repo repository river school script series server service singer site
    song stack startup state story studio system team tool town university village volcano writer
    """.split()  # noqa: SIM905
)
_DATES = frozenset(
    """
    january february march april may june july august september october november december monday
    tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
    saturdays sundays
    """.split()  # noqa: SIM905
)
#: Words that begin a sentence in capitals and are taken for names now and then.
_NO_NAMES = FUNCTION_WORDS | {"everyone", "neither", "nobody", "originally", "somebody", "someone"}
_NO_MARKS = str.maketrans({OPEN: " ", CLOSE: " "})
_GOES_ON = re.compile(r"\. ?[A-Z]")


class Marked(NamedTuple):
    """A text with marks, and the mention that each number stands for."""

    text: str
    mentions: list[Mention]


def mark(content: str, subject: Mention | None, mentions: Sequence[Mention]) -> Marked:
    """Put a mark in the place of each name, the longest at each place."""
    content = content.translate(_NO_MARKS)  # an author who writes them means something else
    known = _by_first_word(_by_name(subject, mentions))
    spelled = words(content)
    parts: list[str] = []
    marked: list[Mention] = []
    at = end = 0
    while at < len(spelled):
        mention, count = _longest(spelled, at, known)
        last = spelled[at + count - 1]
        # A name may go on: `Charles B` of "Charles B. Griffith".
        is_cut = len(last.surface) == 1 and bool(_GOES_ON.match(content, last.end))
        if mention is not None and not is_cut:
            parts += [content[end : spelled[at].start], f"{OPEN}{len(marked)}{CLOSE}"]
            marked.append(mention)
            end = last.start + len(last.surface.removesuffix("'s").removesuffix("\u2019s"))
        at += count
    return Marked("".join([*parts, content[end:]]), marked)


#: By their first words: the names that begin so, the longest first, as words.
_Names = Mapping[str, Sequence[tuple[list[str], Mention]]]


def _longest(spelled: Sequence[Word], at: int, known: _Names) -> tuple[Mention | None, int]:
    for parts, mention in known.get(folded(spelled[at].surface), ()):
        run = spelled[at : at + len(parts)]
        if [folded(word.surface) for word in run] == parts:
            return mention, len(parts)
    return None, 1


def _by_first_word(known: Mapping[ConceptName, Mention]) -> _Names:
    by_word: dict[str, list[tuple[list[str], Mention]]] = {}
    for name in sorted(known, key=len, reverse=True):
        parts = name.split(" ")
        by_word.setdefault(parts[0], []).append((parts, known[name]))
    return by_word


def _by_name(subject: Mention | None, mentions: Sequence[Mention]) -> dict[ConceptName, Mention]:
    """The names to look for: not dates, and no word that only says what a name is."""
    known: dict[ConceptName, Mention] = {}
    for mention in [*([subject] if subject else []), *mentions]:
        parts = mention.name.split()
        is_date = all(part in _DATES or part.isdigit() for part in parts)
        merely = mention.name in DESCRIBING or mention.name in _NO_NAMES
        if parts and not is_date and not merely and len(mention.name) > 1:
            known.setdefault(mention.name, mention)
    if subject and subject.role is Role.SUBJECT and subject.kind in {Kind.NAME, Kind.PERSON}:
        # `Navrat` means Ilse Navrat in a memory about her, unless it is a name of its own.
        parts = subject.name.split()
        if len(parts) in {2, 3} and parts[-1] not in FUNCTION_WORDS:
            known.setdefault(ConceptName(parts[-1]), subject)
    return known
