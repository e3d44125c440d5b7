"""Changes the files of agents: shown before, written whole, undone byte for byte."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bearinmind.errors import InvalidAgentFile
from bearinmind.surfaces.hooks.clients import AgentFile
from bearinmind.surfaces.hooks.commands import SCRIPT
from bearinmind.surfaces.hooks.entries import added, removed

_LARGEST = 10_000_000  # bytes
_PRIVATE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a file says, and what it is to say; None is no file."""

    path: Path
    before: bytes | None
    after: bytes | None
    original: bytes | None = None  #: what it says without anything of ours
    note: str = ""  #: what else is to be said about it

    @property
    def changes(self) -> bool:
        """Whether anything is different."""
        return self.before != self.after

    def diff(self) -> str:
        """The difference, as people read it."""
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
    """What was changed, and how the files were before: kept in the folder of the hooks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "backups"
        self._file = folder / "installed.json"

    def install(self, file: AgentFile, within: Path) -> Change:
        """What a file becomes that is to have our entries.

        Raises:
            InvalidAgentFile: it is not what it should be.
        """
        path = checked(file.path, within)
        before = _read(path)
        return Change(
            path=path,
            before=before,
            after=added(before, path, file.entries),
            original=None if before is None else removed(before, path, file.entries),
        )

    def uninstall(self, file: AgentFile, within: Path) -> Change:
        """What a file becomes that is to be as it was.

        Raises:
            InvalidAgentFile: it is not what it should be.
        """
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
            after=removed(before, path, file.entries),
            note="it was changed since; only what Bear in Mind added goes" if known else "",
        )

    def apply(self, change: Change, *, installing: bool) -> Path | None:
        """Write a change. Where what stood there before is kept, if anything stood there."""
        backup = None if change.before is None else self._kept(change.path, change.before)
        known = self._known()
        if installing and change.after is not None:
            known[str(change.path)] = self._entry(change, known.get(str(change.path)))
        else:
            known.pop(str(change.path), None)
        # Written down first: whoever dies in between can still be undone.
        _write(self._file, json.dumps(known, indent=1).encode())
        if change.after is None:
            change.path.unlink()
        else:
            _write(change.path, change.after)
        return backup

    def files(self) -> list[Path]:
        """Every file that has our entries, as far as is known."""
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
        """Where a copy of a file is, byte for byte."""
        copy = self._folder / f"{path.name}.{_digest(content)[:16]}"
        _write(copy, content, mode=_PRIVATE)
        return copy

    def _known(self) -> dict[str, dict[str, str]]:
        try:
            found = json.loads(self._file.read_bytes())
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}


def checked(path: Path, within: Path) -> Path:
    """The file that a path means.

    Raises:
        InvalidAgentFile: it is none that may be changed.
    """
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
    """A file in place of another, whole or not at all; who may read it stays as it was."""
    if mode is None:
        mode = path.stat().st_mode & 0o777 if path.exists() else _PRIVATE
    path.parent.mkdir(parents=True, exist_ok=True)
    number, new = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(new).chmod(mode)
        Path(new).replace(path)
    except OSError as exc:
        Path(new).unlink(missing_ok=True)
        raise InvalidAgentFile(f"{str(path)!r} cannot be written: {exc.strerror}") from exc


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode("utf-8", "replace").splitlines(keepends=True)
