"""Changes JSON as text, so that all else in it stays as it is: order, spaces, comments.

Comments, and commas before a closing bracket, are allowed: editors write both into their files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:\s|\ufeff|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_ATOM = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_DEEPEST = 100
_UNIT = "  "


class NotJson(ValueError):
    """A text is not JSON: what is wrong, and in which line."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(slots=True, kw_only=True)
class Node:
    """A value, and its position in the text."""

    value: Any
    start: int
    end: int = 0
    parts: list[Part] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Part:
    """A member of an object, or an item of an array."""

    name: str | None
    start: int
    node: Node
    comma: int | None = None  #: the position of the comma after it


def parse(text: str) -> Node:
    """The whole text as a value."""
    parser = _Parser(text)
    node = parser.value(0, 0)
    if parser.space(node.end) != len(text):
        raise parser.wrong(parser.space(node.end), "the end of the file")
    return node


def find(node: Node, *path: str | int) -> Node | None:
    """The value at a path of names in objects and numbers in arrays; None if there is none."""
    for step in path:
        if isinstance(step, int):
            parts = [part for part in node.parts[step : step + 1] if part.name is None]
        else:
            parts = [part for part in node.parts if part.name == step]
        if not parts:
            return None
        node = parts[-1].node
    return node


def with_member(text: str, path: tuple[str, ...], name: str, value: object) -> str:
    """A text whose object at a path has a member; missing objects on the path are added."""
    for depth, step in enumerate(path):
        if find(parse(text), *path[: depth + 1]) is None:
            text = with_member(text, path[:depth], step, {})
    node = _object(text, path)
    known = find(node, name)
    if known is not None:
        new = _shown(text, value, _indent(text, known.start))
        return text[: known.start] + new + text[known.end :]
    key = json.dumps(name, ensure_ascii=False)
    return _added(text, node, lambda indent: f"{key}: {_shown(text, value, indent)}")


def with_item(text: str, path: tuple[str, ...], value: object) -> str:
    """A text whose array at a path has one more item."""
    node = find(parse(text), *path)
    if node is None:
        text = with_member(text, path[:-1], path[-1], [])
        node = find(parse(text), *path)
    if node is None or not isinstance(node.value, list):
        raise NotJson(f"{'.'.join(path)!r} is not a list", _line(text, node.start if node else 0))
    return _added(text, node, lambda indent: _shown(text, value, indent))


def without(text: str, path: tuple[str | int, ...], unwanted: Callable[[Part], bool]) -> str:
    """A text whose object or array at a path lacks some of its parts."""
    node = find(parse(text), *path)
    for number, part in reversed([*enumerate(node.parts)] if node else []):
        if unwanted(part):
            text = without_part(text, path, number)
    return text


def without_part(text: str, path: tuple[str | int, ...], number: int) -> str:
    """A text whose object or array at a path lacks the part with a number."""
    node = find(parse(text), *path)
    if node is None:
        return text
    return _cut(text, node.parts[number], node.parts[number - 1] if number else None)


def _cut(text: str, part: Part, before: Part | None) -> str:
    """A text without a part, a comma that belongs to it, and the line that it leaves empty."""
    end = part.node.end
    if part.comma is not None:
        text = text[: part.comma] + text[part.comma + 1 :]
    start = part.start
    first = text.rfind("\n", 0, start)
    if not text[first + 1 : start].strip():
        start = max(first, 0)
        if start and text[start - 1] == "\r":
            start -= 1
    text = text[:start] + text[end:]
    if part.comma is None and before is not None and before.comma is not None:
        text = text[: before.comma] + text[before.comma + 1 :]
    return text


def _added(text: str, node: Node, shown: Callable[[str], str]) -> str:
    """A text with one more part at the end of an object or array."""
    inside = text[node.start + 1 : node.end - 1]
    last = node.start + 1 + len(inside.rstrip())
    head, tail = text[:last], text[last:]
    comma = ""
    for part in node.parts[-1:]:
        if part.comma is None:
            head = f"{head[: part.node.end]},{head[part.node.end :]}"
        else:
            comma = ","  # this file has one after its last part
    outer = _indent(text, node.start)
    indent = _indent(text, node.parts[0].start) if node.parts else outer + _unit(text)
    if node.parts and "\n" not in inside:
        return f"{head} {shown(indent)}{comma}{tail}"
    newline = _newline(text)
    if "\n" not in text[last : node.end - 1]:
        tail = newline + outer + text[node.end - 1 :]
    return f"{head}{newline}{indent}{shown(indent)}{comma}{tail}"


def _shown(text: str, value: object, indent: str) -> str:
    """A value, indented like the text around it."""
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return (_newline(text) + indent).join(lines)


def _unit(text: str) -> str:
    """By how much the text is indented."""
    match = re.search(r'^([ \t]+)"', text, re.MULTILINE)
    return match[1] if match else _UNIT


def _indent(text: str, at: int) -> str:
    """The white space at the beginning of a line."""
    line = text.rfind("\n", 0, at) + 1
    return text[line : len(text) - len(text[line:].lstrip(" \t"))]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _object(text: str, path: tuple[str, ...]) -> Node:
    node = find(parse(text), *path)
    if node is None or not isinstance(node.value, dict):
        what = ".".join(path) or "the file"
        raise NotJson(f"{what!r} is not an object", _line(text, node.start if node else 0))
    return node


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


class _Parser:
    """Parses the values of a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def space(self, at: int) -> int:
        """The position of what comes after spaces and comments."""
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int) -> Node:
        at = self.space(at)
        if depth > _DEEPEST:
            raise self.wrong(at, f"at most {_DEEPEST} brackets within each other")
        opening = self._text[at : at + 1]
        if opening == "{":
            return self._parts(at, depth, "}", {})
        if opening == "[":
            return self._parts(at, depth, "]", [])
        match = (_STRING if opening == '"' else _ATOM).match(self._text, at)
        if match is None:
            raise self.wrong(at, "a value")
        try:
            return Node(value=json.loads(match[0]), start=at, end=match.end())
        except ValueError:
            raise self.wrong(at, "a value") from None

    def _parts(self, start: int, depth: int, closing: str, value: Any) -> Node:  # noqa: ANN401
        node = Node(value=value, start=start)
        at = self.space(start + 1)
        while self._text[at : at + 1] != closing:
            if node.parts and node.parts[-1].comma is None:
                raise self.wrong(at, f"a comma or {closing}")
            part = self._part(at, depth, named=closing == "}")
            node.parts.append(part)
            at = self.space(part.node.end)
            if self._text[at : at + 1] == ",":
                part.comma = at
                at = self.space(at + 1)
        for part in node.parts:
            if part.name is None:
                value.append(part.node.value)
            else:
                value[part.name] = part.node.value
        node.end = at + 1
        return node

    def _part(self, at: int, depth: int, *, named: bool) -> Part:
        if not named:
            node = self.value(at, depth + 1)
            return Part(name=None, start=node.start, node=node)
        name = _STRING.match(self._text, at)
        colon = self.space(name.end()) if name else at
        if name is None or self._text[colon : colon + 1] != ":":
            raise self.wrong(at if name is None else colon, "a name in quotes and a colon")
        return Part(name=json.loads(name[0]), start=at, node=self.value(colon + 1, depth + 1))

    def wrong(self, at: int, expected: str) -> NotJson:
        character = self._text[at : at + 1]
        actual = repr(character) if character else "the end of the file"
        return NotJson(f"expected {expected}, found {actual}", _line(self._text, at))
