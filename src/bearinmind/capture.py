"""A private record of what was asked, for whoever turned `capture_queries` on.

It lies beside the store as JSON Lines, one line for each recall. Capturing never stands in the way
of a recall: what cannot be written is logged and forgotten.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from bearinmind.errors import InvalidInput
from bearinmind.types import UserId

MOST_BYTES = 10_000_000  # about 50,000 recalls; then the oldest half goes
_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapturedQuery:
    """What was asked once, when, and which memories were given back."""

    text: str
    asked_at: datetime
    hits: tuple[str, ...]


class QueryLog:
    """The queries of one user, in a file that several users and processes may share."""

    def __init__(self, path: Path, user: str, *, most_bytes: int = MOST_BYTES) -> None:
        self.path = path
        self._user = UserId(user)
        self._most_bytes = most_bytes

    @classmethod
    def beside(cls, store: Path, user: str) -> Self:
        """The record that belongs to a store."""
        return cls(store.with_name(f"{store.name}.queries.jsonl"), user)

    def append(self, text: str, asked_at: datetime, hits: Iterable[str]) -> None:
        """Keep a query; a failure is logged, without the text."""
        row = {
            "text": text,
            "asked_at": asked_at.isoformat(),
            "hits": [*hits],
            "user": self._user,
        }
        try:
            size = self._write(json.dumps(row).encode() + b"\n")
            if size > self._most_bytes:
                self._forget_the_oldest_half()
        except OSError as exc:
            _log.warning("the query was not captured in %s: %s", self.path, exc.strerror)

    def read(self) -> Iterator[CapturedQuery]:
        """The queries of this user, oldest first; lines that make no sense are passed over.

        Raises:
            InvalidInput: there is a file and it cannot be read.
        """
        try:
            with self.path.open("rb") as lines:
                for line in lines:
                    query = self._understood(line)
                    if query:
                        yield query
        except FileNotFoundError:
            return
        except OSError as exc:
            raise InvalidInput(
                f"{str(self.path)!r} cannot be read: {exc.strerror}",
                hint="Check its permissions, or remove it: it holds captured queries only.",
            ) from exc

    def _write(self, line: bytes) -> int:
        """Add a line in one write, so that no other process can write into its middle."""
        self.path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, _PRIVATE)
        try:
            end = os.lseek(file, 0, os.SEEK_END)
            if end:
                os.lseek(file, end - 1, os.SEEK_SET)
                if os.read(file, 1) != b"\n":
                    line = b"\n" + line  # the line before was cut short: it must stay alone
            return end + os.write(file, line)
        finally:
            os.close(file)

    def _forget_the_oldest_half(self) -> None:
        """Begin a new file with the newer half; a line written meanwhile may be lost."""
        content = self.path.read_bytes()
        begin = content.find(b"\n", len(content) // 2) + 1
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(content[begin:] if begin else b"")
            part.replace(self.path)
        finally:
            part.unlink(missing_ok=True)

    def _understood(self, line: bytes) -> CapturedQuery | None:
        try:
            row: Any = json.loads(line)
            if row["user"] != self._user or not isinstance(row["text"], str):
                return None
            asked_at = datetime.fromisoformat(row["asked_at"])
            hits = tuple(map(str, row["hits"]))
        except (ValueError, KeyError, TypeError):  # cut short, or something else altogether
            return None
        zoned = asked_at if asked_at.tzinfo else asked_at.replace(tzinfo=UTC)
        return CapturedQuery(text=row["text"], asked_at=zoned, hits=hits)
