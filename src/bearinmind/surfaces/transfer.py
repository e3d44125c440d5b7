"""Moves memories between a store and JSON Lines, one page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pydantic_core

from bearinmind.app import Mind
from bearinmind.errors import (
    Conflict,
    DuplicateLink,
    InvalidInput,
    InvalidRecord,
    MemoryNotFound,
    MindError,
    NotFound,
)
from bearinmind.protocols import History, Sealed
from bearinmind.remember.secrets import masked
from bearinmind.surfaces import records
from bearinmind.surfaces.records import (
    FORMAT,
    HeaderRecord,
    LinkRecord,
    MemoryRecord,
    SecretRecord,
)
from bearinmind.types import AlreadyKnown, Link, Memory, MemoryId, State, Stored, Whose

BATCH = 500  # memories of one transaction, and of one page

Advance = Callable[[int], None]


# ---- export ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Exported:
    """How much an export wrote."""

    memories: int = 0
    links: int = 0
    shared: int = 0  #: memories of others that the user can see; these are left out


def export(app: Mind, write: Callable[[bytes], object], version: str, advance: Advance) -> Exported:
    """Write everything that a scope holds, in every state, with its past; nothing of others."""
    counts = app.stats()
    done = Exported(shared=counts.shared)
    header = HeaderRecord(
        format=FORMAT,
        version=version,
        exported_at=datetime.now(UTC),
        memories=counts.held,
        shared=counts.shared,
    )
    write(_line(header))
    for page in _pages(app):
        for memory in page:
            earlier = app.versions(memory.id)[:-1] if memory.version > 1 else ()
            if any(version.sensitive for version in (*earlier, memory)):
                for sealed in app.secrets.sealed(memory.id):
                    write(_line(SecretRecord.of(sealed)))
            write(_line(MemoryRecord.of(memory, earlier)))
        done.memories += len(page)
        advance(len(page))
    for link in app.transfer.links():
        write(_line(LinkRecord.of(link)))
        done.links += 1
    return done


def count(app: Mind) -> int:
    """How many memories an export will write."""
    return app.stats().held


def _pages(app: Mind) -> Iterator[Sequence[Memory]]:
    after: str | None = None
    while page := app.list(
        limit=BATCH, after=after, newest_first=False, states=[*State], owner=Whose.ME
    ):
        yield page
        after = page[-1].id


def _line(record: records.Record) -> bytes:
    return record.model_dump_json().encode() + b"\n"


# ---- import ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line that was not imported, and why."""

    line: int
    code: str
    message: str


@dataclass(slots=True)
class Imported:
    """How much an import added."""

    stored: int = 0
    sensitive: int = 0  #: of those stored, how many are encrypted
    known: int = 0  #: the same content or the same id was there before
    links_stored: int = 0
    links_known: int = 0
    bad: int = 0
    problems: list[Problem] = field(default_factory=list)  #: the first of the bad lines


class Import:
    """Adds the memories and links of some lines to a store; what is there already is left alone.

    A memory that says the same as one of the store is taken for that one, and so are its links;
    but two memories of one export that say the same were two there, and are two here.
    """

    def __init__(self, app: Mind, *, most_problems: int | None, advance: Advance) -> None:
        self.result = Imported()
        self._app = app
        self._most_problems = most_problems
        self._advance = advance
        self._now = datetime.now(UTC)
        self._batch: list[History] = []
        self._siblings: set[MemoryId] = set()
        self._same: dict[MemoryId, MemoryId] = {}  # the id in the file -> the id in the store
        self._held: list[tuple[int, Link]] = []
        self._sealed: dict[MemoryId, list[Sealed]] = {}  # secrets that wait for their memories

    def __call__(self, lines: Iterable[tuple[int, bytes | MindError]]) -> Imported:
        """Import numbered lines.

        Raises:
            InvalidRecord: the lines were written by a newer release.
        """
        for number, line in lines:
            try:
                record = _read(line)
                if not isinstance(record, HeaderRecord):
                    self._take(number, record)
                    continue
            except (InvalidInput, NotFound, Conflict) as exc:
                self._refuse(number, exc)
                continue
            _check_format(record)
        self._flush()
        self._retake_links()
        self.result.problems.sort(key=lambda problem: problem.line)
        return self.result

    def _refuse(self, line: int, error: MindError) -> None:
        self.result.bad += 1
        if self._most_problems is None or len(self.result.problems) < self._most_problems:
            said = masked(error.message)  # some messages quote what they refuse
            self.result.problems.append(Problem(line=line, code=error.code, message=said))

    def _take(self, number: int, record: LinkRecord | SecretRecord | MemoryRecord) -> None:
        if isinstance(record, LinkRecord):
            self._flush()
            self._take_link(number, record.link())
            self._advance(1)
            return
        if isinstance(record, SecretRecord):
            secret = record.sealed()
            self._sealed.setdefault(secret.id, []).append(secret)
            return
        category = self._app.settings.categories[0]
        versions = record.versions(category, self._now)
        sealed = self._sealed.pop(versions[-1].id, [])
        history = self._app.transfer.admit(versions, sealed, made_id=record.is_from_elsewhere)
        self._batch.append(history)
        if history.versions[-1].id == record.id:  # it comes from a store like this one
            self._siblings.add(history.versions[-1].id)
        if len(self._batch) >= BATCH:
            self._flush()

    # ---- memories ------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Store the memories that have gathered, in one transaction."""
        batch, self._batch = self._batch, []
        if not batch:
            return
        ids = [history.versions[-1].id for history in batch]
        outcomes = self._app.transfer.add(batch, self._siblings)
        for id_, outcome in zip(ids, outcomes, strict=True):
            match outcome:
                case Stored(memory=memory):
                    self.result.stored += 1
                    self.result.sensitive += memory.sensitive
                case AlreadyKnown(memory=memory):
                    self.result.known += 1
                    self._same[id_] = memory.id
                case None:
                    self.result.known += 1
        self._advance(len(batch))

    # ---- links ---------------------------------------------------------------------------------

    def _take_link(self, number: int, link: Link) -> None:
        """Add a link if both its memories are there; else hold it until the end."""
        link = _renamed(link, self._same)
        if link.source == link.target:  # its two memories turned out to be one
            self.result.links_known += 1
            return
        try:
            self._app.transfer.add_link(link)
        except MemoryNotFound:
            self._held.append((number, link))
        except DuplicateLink:
            self.result.links_known += 1
        else:
            self.result.links_stored += 1

    def _retake_links(self) -> None:
        """Add the links that came before their memories."""
        held, self._held = self._held, []
        for number, link in held:
            try:
                self._take_link(number, link)
            except (InvalidInput, NotFound, Conflict) as exc:
                self._refuse(number, exc)
        for number, link in self._held:
            words = f"{link.source} {link.kind} {link.target}"
            self._refuse(number, MemoryNotFound(f"{words}: one of the two memories is not here"))


def _read(
    line: bytes | MindError,
) -> HeaderRecord | LinkRecord | SecretRecord | MemoryRecord:
    if isinstance(line, MindError):
        raise line
    try:
        value = pydantic_core.from_json(line)
    except ValueError as exc:
        raise InvalidRecord(f"the line is not JSON: {exc}") from exc
    return records.read(value)


def _check_format(header: HeaderRecord) -> None:
    if header.format > FORMAT:
        raise InvalidRecord(
            f"the export has format {header.format}; this version reads up to {FORMAT}",
            hint="Upgrade Bear in Mind (`pip install --upgrade bearinmind`).",
        )


def _renamed(link: Link, names: Mapping[MemoryId, MemoryId]) -> Link:
    return replace(
        link,
        source=names.get(link.source, link.source),
        target=names.get(link.target, link.target),
    )
