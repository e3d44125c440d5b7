"""The nouns of importing: what a file of another program holds, before it is a memory here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from bearinmind.errors import InvalidRecord
from bearinmind.importers.files import Source, json_items
from bearinmind.learn.model import Message
from bearinmind.types import LinkKind, Provenance

_LONGEST_KEYWORD = 64  # characters: a value that needs more is named as dropped


class Place(NamedTuple):
    """Where a record stands."""

    file: str
    line: int  #: of a text; of a table, the number of the row


class ForeignLink(NamedTuple):
    """A link to a record by its key, or to a note by one of its names."""

    kind: LinkKind
    target: str
    reverse: bool = False  #: whether it begins at the other record


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """What a record said before it was changed or deleted."""

    content: str
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A record that becomes a memory, or several when it is too long for one."""

    key: str  #: the same in every import of the record, and of no other record
    place: Place
    content: str
    category: str = ""
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    importance: float | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    provenance: Provenance = field(default_factory=Provenance)
    earlier: tuple[Version, ...] = ()
    links: tuple[ForeignLink, ...] = ()
    names: tuple[str, ...] = ()  #: by which other records may link to it, beside its key
    has_lines: bool = False  #: whether the lines of its content are those of the file
    by_section: bool = False  #: whether every section of it is a memory, however short
    more: Iterable[tuple[str, object]] = ()  #: fields without a place of their own: see `kept`


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What was said; it is learned from as from a turn."""

    place: Place
    agent: str
    session: str
    messages: tuple[Message, ...]
    project: str | None = None
    said_at: datetime | None = None


class Skipped(NamedTuple):
    """Something that is no memory, and why."""

    place: Place
    reason: str


class Malformed(NamedTuple):
    """A record that cannot be read, and why."""

    place: Place
    reason: str


Record = Entry | Conversation | Skipped | Malformed
Row = Mapping[str, Any]  #: a row or an object, as its program wrote it
Rows = Iterable[tuple[Place, Row]]
Reader = Callable[[Place, Row], Iterable[Record]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A form in which another program keeps what it knows."""

    name: str  #: as `--from` takes it
    title: str
    recognise: Callable[[Source], bool]
    records: Callable[[Source], Iterator[Record]]


# ---- values as other programs write them -------------------------------------------------------


def moment(value: object) -> datetime | None:
    """A time as text in ISO 8601 or in seconds or milliseconds since 1970; None for none."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, datetime):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value > _MILLISECONDS else value
            return datetime.fromtimestamp(seconds, UTC)
        return datetime.fromisoformat(str(value).strip())
    except (ValueError, OverflowError, OSError):
        raise InvalidRecord(f"{value!r} is not a time in ISO 8601, such as 2026-11-15") from None


_MILLISECONDS = 100_000_000_000  # a number of seconds beyond the year 5000


def words(value: object) -> tuple[str, ...]:
    """Words from a list, or from a text that holds a list or separates them by commas."""
    if isinstance(value, str):
        value = _list_in(value) if value.startswith("[") else value.split(",")
    if not isinstance(value, list | tuple):
        return () if value is None else (str(value),)
    return tuple(word for each in value if each is not None and (word := str(each).strip()))


def _list_in(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text.split(",")


def mapping(value: object, what: str) -> Row:
    """An object of JSON, as it is or as text; empty for none."""
    if value is None or value == "":
        return {}
    try:
        data = json.loads(value) if isinstance(value, str) else value
    except ValueError as exc:
        raise InvalidRecord(f"{what} is not JSON: {exc}") from None
    if not isinstance(data, dict):
        raise InvalidRecord(f"{what} is not a JSON object")
    return data


def kept(entry: Entry) -> tuple[list[str], list[str]]:
    """All keywords of a record, and the fields that have a value and no place in a memory.

    What has no place of its own is a keyword, `name: value`, unless it is too long for one.
    """
    keywords, dropped = [*entry.keywords], []
    for name, value in entry.more:
        if value is None or value in ("", [], {}):
            continue
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        keyword = " ".join(f"{name}: {text}".split())
        if len(keyword) <= _LONGEST_KEYWORD:
            keywords.append(keyword)
        else:
            dropped.append(name)
    return keywords, dropped


def text_of(value: object, what: str) -> str:
    """A text that has to be there."""
    if not isinstance(value, str):
        raise InvalidRecord(f"{what} is {'missing' if value is None else 'not text'}")
    return value


def optional(value: object) -> str | None:
    """A value as text; None when it is missing or empty."""
    return None if value is None or value == "" else str(value)


def table_rows(source: Source, table: str, statement: str) -> Rows:
    """The rows of a table, each with its place."""
    for row in source.rows(statement):
        yield Place(f"{source.name}: {table}", int(row["row_number"])), dict(row)


def json_records(source: Source, read: Reader) -> Iterator[Record]:
    """The records that a reader makes of the objects in a JSON document."""
    for line, item in json_items(source.text):
        place = Place(source.name, line)
        if isinstance(item, InvalidRecord):
            yield Malformed(place, item.message)
        elif isinstance(item, dict):
            yield from each_readable([(place, item)], read)
        else:
            yield Malformed(place, "the record is not a JSON object")


def each_readable(places: Rows, read: Reader) -> Iterator[Record]:
    """The records that a reader makes of some rows; a row that it cannot read is named."""
    for place, row in places:
        try:
            yield from [*read(place, row)]
        except InvalidRecord as exc:
            yield Malformed(place, exc.message)
