"""Changes the files of agents. A change is shown first, written whole, and undone byte for byte."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError
from tomlkit.items import Table

from bearinmind.errors import InvalidAgentFile
from bearinmind.surfaces.hooks import json_edit
from bearinmind.surfaces.hooks.agents import SCRIPT, AgentFile, Entry, is_hook, same
from bearinmind.surfaces.hooks.json_edit import NotJson

_LARGEST = 10_000_000  # bytes
_PRIVATE = 0o600


def with_entries(before: bytes | None, path: Path, entries: Sequence[Entry]) -> bytes:
    """The content of a file with our entries; older ones of ours are replaced."""
    text = _text(before, path)
    if path.suffix == ".toml":
        return _toml_with(text, path, entries).encode()
    with _naming(path):
        return _json_with(text if text.strip() else "{}\n", entries).encode()


def without_entries(before: bytes, path: Path, entries: Sequence[Entry]) -> bytes:
    """The content of a file without our entries."""
    text = _text(before, path)
    if path.suffix == ".toml":
        return _toml_without(text, path, entries).encode()
    with _naming(path):
        return _json_without(text, entries).encode()


def _text(before: bytes | None, path: Path) -> str:
    try:
        return (before or b"").decode()
    except UnicodeDecodeError as exc:
        line = exc.object.count(b"\n", 0, exc.start) + 1
        raise InvalidAgentFile(f"{str(path)!r}, line {line}: this is not UTF-8") from exc


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in an error."""
    try:
        yield
    except NotJson as exc:
        raise InvalidAgentFile(f"{str(path)!r}, line {exc.line}: this is not JSON: {exc}") from exc


# ---- JSON --------------------------------------------------------------------------------------


def _json_with(text: str, entries: Sequence[Entry]) -> str:
    for entry in entries:
        if entry.name is not None:
            known = json_edit.find(json_edit.parse(text), *entry.path, entry.name)
            if known is None or not same(known.value, entry.value):
                text = json_edit.with_member(text, entry.path, entry.name, entry.value)
            continue
        ours = [item for item in _items(text, entry.path) if any(map(is_hook, _hooks(item)))]
        if len(ours) != 1 or not same(ours[0], entry.value):  # the item is to be the only one
            text = json_edit.with_item(_without_hooks(text, entry.path), entry.path, entry.value)
    return text


def _json_without(text: str, entries: Sequence[Entry]) -> str:
    for entry in entries:
        path, name = entry.path, entry.name
        if name is None:
            less = _without_hooks(text, path)
        else:
            node = json_edit.find(json_edit.parse(text), *path, name)
            is_ours = node is not None and _is_server(node.value)
            less = _without_name(text, path, name) if is_ours else text
        if less != text:
            text = _without_empty(less, path)
    return text


def _without_empty(text: str, path: tuple[str, ...]) -> str:
    """A text without objects and lists that held only our entry."""
    for depth in range(len(path), 0, -1):
        node = json_edit.find(json_edit.parse(text), *path[:depth])
        if node is None or node.value:
            break
        text = _without_name(text, path[: depth - 1], path[depth - 1])
    return text


def _without_name(text: str, path: tuple[str, ...], name: str) -> str:
    return json_edit.without(text, path, lambda part: part.name == name)


def _without_hooks(text: str, path: tuple[str, ...]) -> str:
    """A text without our hooks for an event; others in the same group stay."""
    for number, group in reversed([*enumerate(_items(text, path))]):
        hooks = _hooks(group)
        if hooks and all(map(is_hook, hooks)):
            text = json_edit.without_part(text, path, number)
        elif any(map(is_hook, hooks)):
            inside: tuple[str | int, ...] = (*path, number, "hooks")
            text = json_edit.without(text, inside, lambda part: is_hook(part.node.value))
    return text


def _items(text: str, path: tuple[str, ...]) -> list[Any]:
    """The items of the list at a path, if there is a list."""
    node = json_edit.find(json_edit.parse(text), *path)
    return node.value if node is not None and isinstance(node.value, list) else []


def _hooks(group: object) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


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


# ---- changes, and how they are undone -----------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The content of a file before and after a change; None stands for no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    original: bytes | None = None  #: its content without anything of ours
    note: str = ""  #: a remark for the user

    @property
    def changes(self) -> bool:
        """Whether the content is different."""
        return self.before != self.after

    def diff(self) -> str:
        """The change as a unified diff."""
        return "".join(
            line if line.endswith("\n") else f"{line}\n"
            for line in difflib.unified_diff(
                _lines(self.before),
                _lines(self.after),
                str(self.path) if self.before is not None else os.devnull,
                str(self.path) if self.after is not None else os.devnull,
            )
        )


class Record:
    """What was changed, and copies of the files before: kept in the folder of the hooks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "backups"
        self._file = folder / "installed.json"

    def install(self, file: AgentFile, within: Path) -> Change:
        """The change that adds our entries to a file."""
        path = checked(file.path, within)
        before = _read(path)
        return Change(
            path=path,
            before=before,
            after=with_entries(before, path, file.entries),
            original=None if before is None else without_entries(before, path, file.entries),
        )

    def uninstall(self, file: AgentFile, within: Path) -> Change:
        """The change that removes our entries, and restores the file if nobody else changed it."""
        path = checked(file.path, within)
        before, known = _read(path), self._known().get(str(path))
        if before is None:
            return Change(path=path, before=None, after=None)
        if known and known["after"] == _digest(before):
            original = self._folder / known["before"] if known["before"] else None
            if original is None or original.exists():
                as_it_was = original.read_bytes() if original else None
                return Change(path=path, before=before, after=as_it_was)
        return Change(
            path=path,
            before=before,
            after=without_entries(before, path, file.entries),
            note="it was changed since; only what Bear in Mind added goes" if known else "",
        )

    def apply(self, change: Change, *, installing: bool) -> Path | None:
        """Write a change; the path of the copy of the file before, if there was a file."""
        backup = None if change.before is None else self._kept(change.path, change.before)
        known = self._known()
        if installing and change.after is not None:
            known[str(change.path)] = self._entry(change, known.get(str(change.path)))
        else:
            known.pop(str(change.path), None)
        # The record comes first: a change that is interrupted can still be undone.
        _write(self._file, json.dumps(known, indent=1).encode())
        if change.after is None:
            change.path.unlink()
        else:
            _write(change.path, change.after)
        return backup

    def files(self) -> list[Path]:
        """Every file that our entries were added to."""
        return [Path(path) for path in self._known()]

    def _entry(self, change: Change, known: dict[str, str] | None) -> dict[str, str]:
        """How a file was before we first changed it, and how it is now."""
        after = _digest(change.after or b"")
        if known and change.before is not None and known["after"] == _digest(change.before):
            return {"before": known["before"], "after": after}  # nobody else has touched it
        original = change.original
        return {
            "before": "" if original is None else self._kept(change.path, original).name,
            "after": after,
        }

    def _kept(self, path: Path, content: bytes) -> Path:
        """Keep a copy of a file, byte for byte; its path."""
        copy = self._folder / f"{path.name}.{_digest(content)[:16]}"
        _write(copy, content, mode=_PRIVATE)
        return copy

    def _known(self) -> dict[str, dict[str, str]]:
        return json_object(self._file)


def checked(path: Path, within: Path) -> Path:
    """The file that a path leads to, if it may be changed."""
    real = path.resolve()
    if real != path.absolute() and not real.is_relative_to(within.resolve()):
        raise InvalidAgentFile(
            f"{str(path)!r} leads to {str(real)!r}, outside {str(within)!r}",
            hint="Change that file by hand, or replace the link by a file.",
        )
    if real.exists() and not real.is_file():
        raise InvalidAgentFile(f"{str(path)!r} is not a file")
    above = next(folder for folder in (real, *real.parents) if folder.exists())
    if not os.access(above, os.W_OK):
        raise InvalidAgentFile(f"{str(above)!r} may not be written", hint="Check whose it is.")
    return real


def has_hooks(path: Path) -> bool:
    """Whether a file has any of our hooks."""
    try:
        return SCRIPT.encode() in (_read(path) or b"")
    except InvalidAgentFile:
        return False


def write_private(path: Path, text: str) -> None:
    """Write a file that only its user may read."""
    _write(path, text.encode(), mode=_PRIVATE)


def json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file of ours; empty where there is none."""
    try:
        known = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _read(path: Path) -> bytes | None:
    if not path.exists():
        return None
    try:
        size = path.stat().st_size
        if size > _LARGEST:
            raise InvalidAgentFile(f"{str(path)!r} has {size:,} bytes, more than {_LARGEST:,}")
        return path.read_bytes()
    except OSError as exc:
        raise InvalidAgentFile(f"{str(path)!r} cannot be read: {exc.strerror}") from exc


def _write(path: Path, content: bytes, mode: int | None = None) -> None:
    """Replace a file, whole or not at all; its mode stays as it was."""
    if mode is None:
        mode = path.stat().st_mode & 0o777 if path.exists() else _PRIVATE
    new = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, new = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(new).chmod(mode)
        Path(new).replace(path)
    except OSError as exc:
        if new:
            Path(new).unlink(missing_ok=True)
        raise InvalidAgentFile(f"{str(path)!r} cannot be written: {exc.strerror}") from exc


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
