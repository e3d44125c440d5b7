"""Reads tables: CSV with a header, separated by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator

from bearinmind.errors import InvalidRecord
from bearinmind.importers import model
from bearinmind.importers.files import Source
from bearinmind.importers.model import Malformed, Place, Record, Row, moment, optional, words
from bearinmind.types import Provenance, Trust

_SEPARATORS = ",;\t"
_CONTENTS = ("content", "text", "memory", "note", "fact", "observation")
_CREATED = ("created_at", "created", "date", "timestamp")
_UPDATED = ("updated_at", "updated", "modified")
_AUTHORS = ("agent", "author")


def recognise(source: Source) -> bool:
    """Whether its first line is a header that names the content."""
    line = source.head.decode("utf-8-sig", errors="replace").split("\n", 1)[0]
    return not source.is_sqlite and _separator(line) is not None


def _separator(line: str) -> str | None:
    """The separator of a header; None when the line is none."""
    for each in _SEPARATORS:
        names = {name.strip().strip('"').casefold() for name in line.split(each)}
        if len(names) > 1 and names & {*_CONTENTS}:
            return each
    return "," if line.strip().strip('"').casefold() in _CONTENTS else None


def records(source: Source) -> Iterator[Record]:
    """A record for each row; one with too many or too few fields is named."""
    separator = _separator(source.text.split("\n", 1)[0]) or ","
    reader = csv.reader(io.StringIO(source.text, newline=""), delimiter=separator)
    header = [name.strip().casefold() for name in next(reader, [])]
    while True:
        begin = reader.line_num + 1
        place = Place(source.name, begin)
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as exc:
            yield Malformed(place, f"the row cannot be read: {exc}")
            continue
        if not cells:
            continue
        if len(cells) != len(header):
            yield Malformed(place, f"the row has {len(cells)} fields, the header {len(header)}")
            continue
        yield from model.each_readable([(place, dict(zip(header, cells, strict=True)))], _row)


def _row(place: Place, cells: Row) -> Iterator[Record]:
    row = dict(cells)
    content = _first(row, _CONTENTS)
    if not content:
        yield model.Skipped(place, "the row has no content")
        return
    importance = row.pop("importance", "").strip()
    id_ = optional(row.pop("id", None))
    given = optional(row.pop("source", None))
    trust = row.pop("trust", "").strip() or Trust.AGENT
    if trust not in {*Trust}:
        raise InvalidRecord(f"{trust!r} is not a trust: use {', '.join(Trust)}")
    tags, keywords = (words(row.pop(name, None)) for name in ("tags", "keywords"))
    created, updated = moment(_first(row, _CREATED)), moment(_first(row, _UPDATED))
    valid_to = moment(row.pop("valid_to", None))
    agent = optional(_first(row, _AUTHORS))
    category, session, project = (
        optional(row.pop(name, None)) for name in ("category", "session", "project")
    )
    yield model.Entry(
        key=f"csv:{id_ or hashlib.sha256(content.encode()).hexdigest()[:16]}",
        place=place,
        content=content,
        category=category or "",
        tags=tags,
        keywords=keywords,
        importance=_number(importance),
        created_at=created,
        updated_at=updated,
        valid_to=valid_to,
        provenance=Provenance(
            agent=agent,
            session=session,
            project=project,
            source=given or (f"{place.file}:{id_}" if id_ else place.file),
            trust=Trust(trust),
        ),
        more=row.items(),
    )


def _first(row: dict[str, str], names: tuple[str, ...]) -> str:
    """The first of some columns that the table has; the others stay."""
    name = next((name for name in names if name in row), None)
    return row.pop(name) if name else ""


def _number(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        raise InvalidRecord(f"importance {text!r} is not a number") from None


FORMAT = model.Format(name="csv", title="CSV with a header", recognise=recognise, records=records)
