"""Whose words a question uses: one that repeats its memory measures copying, not recall."""

from __future__ import annotations

import re

from bearinmind import analysis
from bearinmind.types import Memory

MOST_SHARED = (
    0.5  # of a question's words that its memory may have too, when both were written apart
)
LONGEST_RUN = 3  # words in a row that both may have
MOST_NAMES = 3  # a question about people and things has to name them, and not much more

_WORD = re.compile(r"[^\W_](?:[\w'\u2019./\\:@#+-]*[\w+#])?")
_NEW_SENTENCE = re.compile(r"(?:^|[.!?:;\n\"'\u201c(\[-])\s*$")
# Digits and signs, camelCase, a path, a file or a host; not "and/or".
_IDENTIFIER = re.compile(r"[\d_@#+]|[a-z][A-Z]|[/\\:].*[/\\:.]|[a-z]\.[a-z]")


def stems(*texts: str) -> frozenset[str]:
    """The stems of the words that say something; grammar is left out."""
    return frozenset(term for text in texts for term in analysis.index(text).terms)


def of_memory(memory: Memory) -> frozenset[str]:
    """The stems under which a memory is found, apart from its keywords."""
    return stems(memory.content, *memory.tags, memory.category)


def shared(question: str, memory: Memory) -> frozenset[str]:
    """The stems that a question has in common with a memory."""
    return stems(question) & of_memory(memory)


def copies(question: str, memory: Memory) -> bool:
    """Whether a text written apart from a memory still says it in the same words."""
    asked = analysis.index(question).terms
    if not asked:
        return True
    return len(shared(question, memory)) > MOST_SHARED * len({*asked}) or bool(
        _runs(asked) & _runs(analysis.index(memory.content).terms)
    )


def gives_away(question: str, memory: Memory) -> frozenset[str]:
    """The stems of a made-up question that come from its memory and are not names."""
    common = shared(question, memory)
    names = _names(question, memory.content)
    return common - names if len(common & names) <= MOST_NAMES else common


def _runs(terms: list[str]) -> set[tuple[str, ...]]:
    """Every stretch that is one word longer than may be shared."""
    length = LONGEST_RUN + 1
    return {tuple(terms[i : i + length]) for i in range(len(terms) - length + 1)}


def _names(question: str, content: str) -> frozenset[str]:
    """The stems of names and identifiers that both texts use.

    An identifier shows by its signs. A name has a capital wherever it stands, in at least one place
    where no sentence begins.
    """
    lower: set[str] = set()
    inner: set[str] = set()
    identifiers: set[str] = set()
    for text in (question, content):
        for match in _WORD.finditer(text):
            word = match[0].removesuffix("'s").removesuffix("\u2019s")
            if _IDENTIFIER.search(word):
                identifiers |= stems(word)
            elif word[0].isupper():
                if not _NEW_SENTENCE.search(text[: match.start()]):
                    inner |= stems(word)
            else:
                lower |= stems(word)
    return frozenset((identifiers | inner) - lower)
