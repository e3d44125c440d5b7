"""A private record of queries, written when `capture_queries` is on.

It lies beside the store as JSON Lines, one line for each recall. It never delays or fails a recall:
a line that cannot be written is logged and dropped.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
    """One recall: its text, its time, and the memories of its answer."""

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
        """Write a query; a failure is logged, without the text."""
        at = asked_at.isoformat()
        row = {"text": text, "asked_at": at, "hits": [*hits], "user": self._user}
        try:
            size = self._write(json.dumps(row).encode() + b"\n")
            if size > self._most_bytes:  # a line that is written meanwhile may be lost
                content = self.path.read_bytes()
                begin = content.find(b"\n", len(content) // 2) + 1
                self._replace(content[begin:] if begin else b"")
        except OSError as exc:
            _log.warning("the query was not captured in %s: %s", self.path, exc.strerror)

    def read(self) -> Iterator[CapturedQuery]:
        """The queries of this user, oldest first; lines that cannot be read are skipped."""
        try:
            with self.path.open("rb") as lines:
                for line in lines:
                    query = self._parsed(line)
                    if query:
                        yield query
        except FileNotFoundError:
            return
        except OSError as exc:
            raise InvalidInput(
                f"{str(self.path)!r} cannot be read: {exc.strerror}",
                hint="Check its permissions, or remove it: it holds captured queries only.",
            ) from exc

    def forget(self) -> None:
        """Remove the queries of this user; a line written meanwhile may be lost."""
        with suppress(FileNotFoundError):
            lines = self.path.read_bytes().splitlines(keepends=True)
            self._replace(b"".join(line for line in lines if not self._parsed(line)))

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

    def _replace(self, content: bytes) -> None:
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(content)
            part.replace(self.path)
        finally:
            part.unlink(missing_ok=True)

    def _parsed(self, line: bytes) -> CapturedQuery | None:
        try:
            row: Any = json.loads(line)
            if row["user"] != self._user or not isinstance(row["text"], str):
                return None
            asked_at = datetime.fromisoformat(row["asked_at"])
            hits = tuple(map(str, row["hits"]))
        except (ValueError, KeyError, TypeError):  # cut short, or not a line of this log
            return None
        zoned = asked_at if asked_at.tzinfo else asked_at.replace(tzinfo=UTC)
        return CapturedQuery(text=row["text"], asked_at=zoned, hits=hits)
