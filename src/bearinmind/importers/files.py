"""Files of other programs: text, JSON with line numbers, archives, and SQLite read-only."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cached_property
from importlib.resources import files
from pathlib import Path

from bearinmind.errors import FileMissing, InvalidInput, InvalidRecord, InvalidText
from bearinmind.text.sql_statements import statements_of

_SQLITE = b"SQLite format 3\0"
_ZIP = b"PK\x03\x04"
_GZIP = b"\x1f\x8b"
_HEAD = 65_536  # bytes by which a file is recognised
_MARK = b"\xef\xbb\xbf"  # some editors begin UTF-8 files with it
_LISTS = ("results", "memories")  # the keys under which programs put their records
_CONVERSATIONS = "conversations.json"  # in the archive of a chat export
_SQL = statements_of(files("bearinmind.importers").joinpath("foreign.sql").read_text("utf-8"))


class Source:
    """A file or folder to import from."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name or str(path)  #: in messages
        self.is_folder = path.is_dir()
        if not path.exists():
            raise FileMissing(f"there is no file {str(path)!r}", hint=FileMissing.or_standard)

    @cached_property
    def head(self) -> bytes:
        """The beginning of the file, unpacked; nothing of a folder or of what is damaged."""
        try:
            return b"" if self.is_folder else self._bytes(_HEAD).removeprefix(_MARK)
        except InvalidInput:
            return b""

    @cached_property
    def text(self) -> str:
        """The whole text, unpacked; of an archive, its conversations."""
        try:
            return self._bytes(-1).decode("utf-8-sig")
        except UnicodeDecodeError as exc:
            raise InvalidText(
                f"{str(self.path)!r} is not UTF-8: {exc.reason} at byte {exc.start}"
            ) from None

    @cached_property
    def first_item(self) -> object:
        """The first object of the list that a JSON document holds; None of any other file.

        The list may be the document itself. JSON Lines are no document, and are not read here.
        """
        if self.is_sqlite or not self.head.lstrip().startswith((b"{", b"[")):
            return None
        if isinstance(line := self.first_line, dict) and not {*_LISTS} & line.keys():
            return None
        try:
            return next(json_items(self.text))[1]
        except (StopIteration, InvalidText):
            return None

    @cached_property
    def first_line(self) -> object:
        """The first line that is not empty, as JSON; None when it is none."""
        try:
            return json.loads(self.head.lstrip().split(b"\n", 1)[0])
        except (ValueError, RecursionError):
            return None

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a database of SQLite."""
        return self.head.startswith(_SQLITE)

    @cached_property
    def columns(self) -> Mapping[str, Sequence[str]]:
        """The columns of each table of a database; nothing of another file."""
        if not self.is_sqlite:
            return {}
        tables: dict[str, list[str]] = {}
        for table, column in self.rows("columns"):
            tables.setdefault(str(table), []).append(str(column))
        return tables

    def rows(self, statement: str) -> Sequence[sqlite3.Row]:
        """The rows of a named statement, in order. The file is only read."""
        with self._database() as database:
            return database.execute(_SQL[statement]).fetchall()

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        try:
            uri = f"{self.path.resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as database:
                database.row_factory = sqlite3.Row
                # One damaged text costs no other row.
                database.text_factory = lambda text: text.decode("utf-8", errors="replace")
                yield database
        except sqlite3.Error as exc:
            raise InvalidInput(
                f"{str(self.path)!r} cannot be read as a database: {exc}",
                hint="Check what --from says. If a program uses the file, end it or take a copy.",
            ) from exc

    def _bytes(self, count: int) -> bytes:
        try:
            with self.path.open("rb") as raw:
                begin = raw.read(len(_ZIP))
                raw.seek(0)
                if begin.startswith(_GZIP):
                    with gzip.GzipFile(fileobj=raw) as packed:
                        return packed.read(count)
                if begin.startswith(_ZIP):
                    return _in_archive(self.path, count)
                return raw.read(count)
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as exc:
            raise InvalidInput(
                f"{str(self.path)!r} cannot be read: {exc}",
                hint="Check the path, its permissions and whether the file is whole.",
            ) from exc


def _in_archive(path: Path, count: int) -> bytes:
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if Path(name).name == _CONVERSATIONS]
        if not names:
            return b""
        with archive.open(names[0]) as member:
            return member.read(count)


def json_items(text: str) -> Iterator[tuple[int, object]]:
    """The objects of a list in a JSON document, each with its line.

    Where the document is damaged an `InvalidRecord` comes last: what stands before it is read.
    """
    begin = _list_begin(text)
    if begin is None:
        yield 1, InvalidRecord("the file holds no list of records")
        return
    decoder = json.JSONDecoder()
    at, line, counted = begin + 1, text.count("\n", 0, begin) + 1, begin
    while True:
        at = _skip(text, at)
        line, counted = line + text.count("\n", counted, at), at
        if text[at : at + 1] == "]":
            return
        try:
            item, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as exc:
            place = getattr(exc, "lineno", line)
            yield place, InvalidRecord(f"the file is damaged from here on: {exc}")
            return
        yield line, item


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at


def _list_begin(text: str) -> int | None:
    """Where the list of records begins: at the top, or under a key that programs use for it."""
    start = _skip(text, 0)
    if text[start : start + 1] == "[":
        return start
    for key in map('"{}"'.format, _LISTS):
        at = text.find(key)
        if at >= 0:
            begin = text.find("[", at)
            if begin >= 0 and text[at + len(key) : begin].strip() == ":":
                return begin
    return None
