"""Splits a text that is too long for one memory: at headings, then at paragraphs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_HEADING = re.compile(r"(#{1,6})\s+\S")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+\S")  # of a list, at its outer level


class Part(NamedTuple):
    """A part of a text. Its headings are repeated, so that it can be read by itself."""

    text: str
    line: int  #: of the text at which it begins
    fits: bool = True


class _Line(NamedTuple):
    number: int
    text: str
    level: int = 0  #: of a heading; 0 of any other line


def split(text: str, limit: int, *, by_section: bool = False) -> list[Part]:
    """The parts of a text, none longer than the limit unless it is one paragraph.

    A text that fits is one part; with `by_section` every section is a part of its own.
    """
    if len(text.strip()) <= limit and not by_section:
        return [Part(text.strip(), 1)]
    parts = _sections([*_lines(text)], (), limit, by_section=by_section)
    return [part for part in parts if part.text]


def _lines(text: str) -> Iterator[_Line]:
    """The lines, headings marked; a code block has none."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= bool(_FENCE.match(line))
        heading = None if is_code else _HEADING.match(line)
        yield _Line(number, line, len(heading[1]) if heading else 0)


def _sections(
    lines: Sequence[_Line], above: tuple[str, ...], limit: int, *, by_section: bool
) -> Iterator[Part]:
    """The parts of a section, whose headings above it are given."""
    levels = [line.level for line in lines[1:] if line.level]
    whole = _joined(above, lines)
    if len(whole) <= limit and not (by_section and levels):
        if any(line.text.strip() and not line.level for line in lines):
            yield Part(whole, _first(lines))
        return
    own = lines[0].level if lines and lines[0].level else 0
    level = min((line.level for line in lines if line.level > own), default=0)
    if not level:
        yield from _paragraphs(lines, above, limit)
        return
    heads = (*above, lines[0].text) if own else above
    starts = [at for at, line in enumerate(lines) if line.level == level]
    before = lines[: starts[0]]
    if any(line.text.strip() and not line.level for line in before):
        yield from _sections(before, above, limit, by_section=by_section)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield from _sections(lines[start:end], heads, limit, by_section=by_section)


def _paragraphs(lines: Sequence[_Line], above: tuple[str, ...], limit: int) -> Iterator[Part]:
    """As many paragraphs to a part as fit."""
    if lines[0].level:
        above, lines = (*above, lines[0].text), lines[1:]
    gathered: list[_Line] = []
    for block in _blocks(lines):
        if gathered and len(_joined(above, [*gathered, *block])) > limit:
            yield _part(above, gathered, limit)
            gathered = []
        gathered += block
    if gathered:
        yield _part(above, gathered, limit)


def _part(above: tuple[str, ...], lines: Sequence[_Line], limit: int) -> Part:
    text = _joined(above, lines)
    return Part(text, _first(lines), len(text) <= limit)


def _blocks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Paragraphs, items of a list and code blocks, each with the empty lines behind it."""
    block: list[_Line] = []
    is_code = ends = False
    for line in lines:
        is_item = bool(_ITEM.match(line.text)) and not is_code
        if block and not is_code and ((ends and line.text.strip()) or is_item):
            yield block
            block = []
        is_code ^= bool(_FENCE.match(line.text))
        ends = not line.text.strip() and not is_code
        block.append(line)
    if block:
        yield block


def _joined(above: tuple[str, ...], lines: Sequence[_Line]) -> str:
    body = "\n".join(line.text for line in lines).strip("\n").rstrip()
    return "\n\n".join([*above, body] if body else above)


def _first(lines: Sequence[_Line]) -> int:
    return next((line.number for line in lines if line.text.strip()), 1)
