"""Our entries in the files of agents: put in and taken out, and nothing else touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError
from tomlkit.items import Table

from bearinmind.errors import InvalidAgentFile
from bearinmind.surfaces.hooks import jsontext
from bearinmind.surfaces.hooks.clients import Entry, is_hook, same
from bearinmind.surfaces.hooks.jsontext import NotJson


def added(before: bytes | None, path: Path, entries: Sequence[Entry]) -> bytes:
    """What a file says with our entries in it; what stood there of ours before goes.

    Raises:
        InvalidAgentFile: it cannot be read.
    """
    text = _text(before, path)
    if path.suffix == ".toml":
        return _toml_with(text, path, entries).encode()
    try:
        return _json_with(text if text.strip() else "{}\n", entries).encode()
    except NotJson as exc:
        raise _not_json(path, exc) from exc


def removed(before: bytes, path: Path, entries: Sequence[Entry]) -> bytes:
    """What a file says without our entries.

    Raises:
        InvalidAgentFile: it cannot be read.
    """
    text = _text(before, path)
    if path.suffix == ".toml":
        return _toml_without(text, path, entries).encode()
    try:
        return _json_without(text, entries).encode()
    except NotJson as exc:
        raise _not_json(path, exc) from exc


def present(before: bytes, path: Path, entries: Sequence[Entry]) -> bool:
    """Whether a file has all our entries, as they are to be."""
    return added(before, path, entries) == before


# ---- JSON --------------------------------------------------------------------------------------


def _json_with(text: str, entries: Sequence[Entry]) -> str:
    for entry in entries:
        if entry.name is not None:
            known = jsontext.find(jsontext.parse(text), *entry.path, entry.name)
            if known is None or not same(known.value, entry.value):
                text = jsontext.with_member(text, entry.path, entry.name, entry.value)
        elif not _has_item(text, entry):
            text = jsontext.with_item(_without_hooks(text, entry.path), entry.path, entry.value)
    return text


def _json_without(text: str, entries: Sequence[Entry]) -> str:
    for entry in entries:
        named = entry.name is not None
        less = _without_member(text, entry) if named else _without_hooks(text, entry.path)
        if less != text:
            text = _without_empty(less, entry.path)
    return text


def _without_empty(text: str, path: tuple[str, ...]) -> str:
    """A text without what our entry was alone in."""
    for depth in range(len(path), 0, -1):
        node = jsontext.find(jsontext.parse(text), *path[:depth])
        if node is None or node.value:
            break
        text = _without_name(text, path[: depth - 1], path[depth - 1])
    return text


def _without_name(text: str, path: tuple[str, ...], name: str | None) -> str:
    return jsontext.without(text, path, lambda part: part.name == name)


def _has_item(text: str, entry: Entry) -> bool:
    """Whether the list has the item, and none of ours beside it."""
    node = jsontext.find(jsontext.parse(text), *entry.path)
    items = node.value if node is not None and isinstance(node.value, list) else []
    ours = [item for item in items if any(map(is_hook, _hooks(item)))]
    return len(ours) == 1 and same(ours[0], entry.value)


def _without_hooks(text: str, path: tuple[str, ...]) -> str:
    """A text without our hooks for an event; others in the same group stay."""
    node = jsontext.find(jsontext.parse(text), *path)
    groups = node.value if node is not None and isinstance(node.value, list) else []
    for number in reversed(range(len(groups))):
        hooks = _hooks(groups[number])
        if hooks and all(map(is_hook, hooks)):
            text = jsontext.without_place(text, path, number)
        elif any(map(is_hook, hooks)):
            inside: tuple[str | int, ...] = (*path, number, "hooks")
            text = jsontext.without(text, inside, lambda part: is_hook(part.node.value))
    return text


def _without_member(text: str, entry: Entry) -> str:
    node = jsontext.find(jsontext.parse(text), *entry.path, str(entry.name))
    ours = node is not None and _is_server(node.value)
    return _without_name(text, entry.path, entry.name) if ours else text


def _hooks(group: object) -> list[Any]:
    found = group.get("hooks") if isinstance(group, dict) else None
    return found if isinstance(found, list) else []


def _is_server(value: object) -> bool:
    """Whether something starts our MCP server."""
    arguments = value.get("args") if hasattr(value, "get") else None
    return isinstance(arguments, list) and "bearinmind" in arguments and "mcp" in arguments


# ---- TOML --------------------------------------------------------------------------------------


def _toml_with(text: str, path: Path, entries: Sequence[Entry]) -> str:
    document = _toml(text, path)
    for entry in entries:
        (key,) = entry.path
        if key not in document:
            document[key] = tomlkit.table(is_super_table=True)
        servers = document[key]
        if not isinstance(servers, Table):
            raise InvalidAgentFile(f"{str(path)!r}: {key!r} is not a table")
        name = str(entry.name)
        if name not in servers or not same(servers[name].unwrap(), entry.value):
            servers[name] = entry.value
    return tomlkit.dumps(document)


def _toml_without(text: str, path: Path, entries: Sequence[Entry]) -> str:
    document = _toml(text, path)
    for entry in entries:
        (key,) = entry.path
        servers = document.get(key)
        if isinstance(servers, Table) and _is_server(servers.get(str(entry.name))):
            del servers[str(entry.name)]
            if not servers:
                del document[key]
    return tomlkit.dumps(document)


def _toml(text: str, path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(text)
    except ParseError as exc:
        raise InvalidAgentFile(f"{str(path)!r}, line {exc.line}: this is not TOML") from exc
    except TOMLKitError as exc:
        raise InvalidAgentFile(f"{str(path)!r} is not TOML: {exc}") from exc


# ---- both --------------------------------------------------------------------------------------


def _text(before: bytes | None, path: Path) -> str:
    try:
        return (before or b"").decode()
    except UnicodeDecodeError as exc:
        line = (before or b"").count(b"\n", 0, exc.start) + 1
        raise InvalidAgentFile(f"{str(path)!r}, line {line}: this is not UTF-8") from exc


def _not_json(path: Path, exc: NotJson) -> InvalidAgentFile:
    return InvalidAgentFile(f"{str(path)!r}, line {exc.line}: this is not JSON: {exc}")
