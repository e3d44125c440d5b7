"""The part of a long text that is about something. Pure.

A model that reads two texts together was trained with short ones: of a long text it is given the
sentences in a row that share most words with what is asked.
"""

from __future__ import annotations

import re

from bearinmind.text import analysis

LONGEST = 450  #: characters of a passage: about what the model that reads was trained with
_SENTENCE = re.compile(r"(?<=[.!?;\n])\s+|(?<=\u3002)")


def passage(text: str, about: str) -> str:
    """The part of a text that shares most words with another; the whole text if it is short."""
    if len(text) <= LONGEST:
        return text
    asked = {*analysis.index(about).terms}
    sentences = _SENTENCE.split(text)  # long ones are cut
    parts = [each[at : at + LONGEST] for each in sentences for at in range(0, len(each), LONGEST)]
    shared = [asked.intersection(analysis.index(part).terms) for part in parts]
    ends = [_end(parts, begin) for begin in range(len(parts))]
    found = [len(set[str]().union(*shared[begin:end])) for begin, end in enumerate(ends)]
    best = [begin for begin, words in enumerate(found) if words == max(found)]
    begin = best[len(best) // 2]  # what is said of it stands before and behind it
    return " ".join(parts[begin : ends[begin]])


def _end(parts: list[str], begin: int) -> int:
    """Up to where the parts from here on make a passage."""
    end, length = begin + 1, len(parts[begin])
    while end < len(parts) and length + 1 + len(parts[end]) <= LONGEST:
        length += 1 + len(parts[end])
        end += 1
    return end
