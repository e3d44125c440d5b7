"""Exports memories as JSON Lines and imports them, one page at a time.

A line is a noun as the codec writes it, with the kind of line under `record`. A line that Bear in
Mind wrote has every field. One from elsewhere needs only `content`; what is missing or null takes
its default, and keys with no meaning here are ignored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeVar

import pydantic_core

from bearinmind import codec, errors
from bearinmind.app import Mind
from bearinmind.protocols import History, Sealed
from bearinmind.recall.history import Whose
from bearinmind.remember.admit import check_moment
from bearinmind.remember.secrets import masked, named_kinds
from bearinmind.text import ids
from bearinmind.types import (
    AlreadyKnown,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    State,
    Stored,
    is_id,
)

FORMAT = 1  # raised when an older release could no longer read what is written
BATCH = 500  # memories of one transaction, and of one page

_HEADER = "bearinmind-export"
_HINT = 'A record is one JSON object on one line with at least {"content": "..."}.'
_LARGEST_VERSION = 2**31 - 1  # a number that every store can hold
#: What a version from elsewhere may leave out.
_DEFAULTS: Mapping[str, Any] = {
    "owner": "",  # the user who imports it becomes its owner
    "tags": (),
    "keywords": (),
    "importance": 0.5,
    "sensitive": False,
    "deleted_at": None,
    "valid_from": None,
    "valid_to": None,
    "version": 1,
}
_WORDS = ("tags", "keywords")
_ORIGIN = tuple(each.name for each in fields(Provenance))

Advance = Callable[[int], None]
Noun = TypeVar("Noun")


# ---- lines -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line of an export."""

    format: int
    version: str = ""  #: of Bear in Mind
    exported_at: datetime | None = None
    memories: int = 0
    shared: int = 0  #: memories of others that the user can see, which are not in it


class ForeignMemory(NamedTuple):
    """A memory as a line has it, before defaults are filled in."""

    data: Mapping[str, Any]

    @property
    def id(self) -> MemoryId:
        """The id of the line if it is one of ours; else one made from the line.

        The same line gives the same id, so that importing a file again adds nothing, not even
        what was deleted or changed since.
        """
        if self.has_own_id:
            return MemoryId(self.data["id"])
        key = json.dumps([self.data.get("id"), self.data.get("content")]).encode()
        return ids.derived(hashlib.blake2b(key, digest_size=8).digest())

    @property
    def has_own_id(self) -> bool:
        """Whether its id is one of ours; another program's ids may be of any type."""
        id_ = self.data.get("id")
        return isinstance(id_, str) and is_id(id_)

    def versions(self, category: str, now: datetime) -> list[Memory]:
        """Every version, the present one last, under the id that the memory will have here."""
        earlier = self.data.get("earlier") or ()
        if not isinstance(earlier, list | tuple):
            raise errors.InvalidRecord("earlier is not a list", hint=_HINT)
        present = {name: value for name, value in self.data.items() if name != "earlier"}
        return [_version(each, self.id, category, now) for each in (*earlier, present)]


def line_of(record: str, noun: object, **more: object) -> bytes:
    """A noun as a line of an export."""
    data = codec.to_data(noun)
    if isinstance(noun, Memory):
        del data["owner"]
    return pydantic_core.to_json({"record": record, **data, **more}) + b"\n"


def read_line(line: bytes) -> Header | Link | Sealed | ForeignMemory:
    """What a line holds."""
    try:
        data = pydantic_core.from_json(line)
    except ValueError as exc:
        raise errors.InvalidRecord(f"the line is not JSON: {exc}") from exc
    if not isinstance(data, dict):
        raise errors.InvalidRecord("the line is not a JSON object", hint=_HINT)
    data = _without_nulls(data)
    match data.get("record"):
        case "bearinmind-export":
            return _read(Header, data)
        case "link":
            link = _read(Link, data)
            _check_ids(link.source, link.target)
            if link.source == link.target:
                raise errors.SelfLink(f"memory {link.source} cannot be linked to itself")
            return link
        case "secret":
            sealed = _read(Sealed, data)
            _check_ids(sealed.id)
            _check_version(sealed.version)
            return sealed
    return ForeignMemory(data)


def _version(data: object, id_: MemoryId, category: str, now: datetime) -> Memory:
    if not isinstance(data, dict):
        raise errors.InvalidRecord("an earlier version is not a JSON object", hint=_HINT)
    given = _without_nulls(data)
    given.setdefault("keywords", given.get("expanded_keywords", ()))
    for name in _WORDS:
        if isinstance(words := given.get(name), str):
            given[name] = [word for part in words.split(",") if (word := part.strip())]
    origin = given.get("provenance")
    if not isinstance(origin, dict):  # another program has no such object
        origin = {name: given[name] for name in _ORIGIN if name in given}
    given |= {"id": id_, "provenance": _without_nulls(origin)}
    made = given.get("created_at") or now.isoformat()
    filled = {**_DEFAULTS, "category": category, "created_at": made, "updated_at": made, **given}
    memory = _read(Memory, filled)
    _check_version(memory.version)
    return memory


def _without_nulls(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if value is not None}


def _read(noun: type[Noun], data: Mapping[str, Any]) -> Noun:
    """A noun; its times are as people write them, in UTC where no zone is given."""
    moments = {name: _moment(name, data[name]) for name in _MOMENTS if data.get(name) is not None}
    try:
        return codec.from_data(noun, {**data, **moments})
    except errors.InvalidJson as exc:
        raise errors.InvalidRecord(exc.message, hint=_HINT) from exc


_MOMENTS = tuple(x.name for noun in (Memory, Link, Header) for x in fields(noun) if "_at" in x.name)
_MOMENTS += ("valid_from", "valid_to")


def _moment(name: str, value: object) -> datetime:
    if not isinstance(value, str):
        raise errors.InvalidRecord(f"{name} is {value!r}, which is not a time as text", hint=_HINT)
    return check_moment(value, "the time")


def _check_ids(*texts: str) -> None:
    for text in texts:
        if not is_id(text):
            raise errors.InvalidRecord(f"{text!r} is not the id of a memory")


def _check_version(version: int) -> None:
    if not 1 <= version <= _LARGEST_VERSION:
        raise errors.InvalidRecord(f"a memory cannot have the version {version}")


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
    header = Header(
        format=FORMAT,
        version=version,
        exported_at=datetime.now(UTC),
        memories=counts.held,
        shared=counts.shared,
    )
    write(line_of(_HEADER, header))
    for page in _pages(app):
        for memory in page:
            earlier = app.versions(memory.id)[:-1] if memory.version > 1 else ()
            if any(version.sensitive for version in (*earlier, memory)):
                for sealed in app.secrets.sealed(memory.id):
                    write(line_of("secret", sealed))
            write(line_of("memory", memory, earlier=[*map(_earlier, earlier)]))
        done.memories += len(page)
        advance(len(page))
    for link in app.transfer.links():
        write(line_of("link", link))
        done.links += 1
    return done


def _earlier(memory: Memory) -> dict[str, Any]:
    """An earlier version; its id and owner are those of the memory."""
    data: dict[str, Any] = codec.to_data(memory)
    return {name: value for name, value in data.items() if name not in {"id", "owner"}}


def _pages(app: Mind) -> Iterator[Sequence[Memory]]:
    after: str | None = None
    while page := app.list(
        limit=BATCH, after=after, newest_first=False, states=[*State], owner=Whose.ME
    ):
        yield page
        after = page[-1].id


# ---- import ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A line or a record that was not imported, and why."""

    line: int
    code: str
    message: str
    file: str = ""


@dataclass(slots=True)
class Imported:
    """How much an import added, or would add."""

    stored: int = 0
    sensitive: int = 0  #: of those stored, how many are encrypted
    known: int = 0  #: the same content or the same id was there before
    links_stored: int = 0
    links_known: int = 0
    bad: int = 0
    problems: list[Problem] = field(default_factory=list)  #: the first of the bad lines
    secrets: dict[str, int] = field(default_factory=dict)  #: memories with each kind of secret


class Import:
    """Adds the memories and links of some lines to a store; what is there already is left alone.

    A memory that says the same as one of the store is taken for that one, and so are its links;
    but two memories of one export that say the same were two there, and are two here.
    """

    def __init__(
        self,
        app: Mind,
        *,
        most_problems: int | None,
        advance: Advance,
        charge: Advance = lambda _: None,
        dry_run: bool = False,
    ) -> None:
        """`charge` is told how many are about to be written, and may refuse them."""
        self.result = Imported()
        self.file = ""  #: that is read, where there are several
        self.taken = 0  #: up to this line nothing needs to be read again
        self._app = app
        self._dry_run = dry_run
        self._most_problems = most_problems
        self._advance = advance
        self._charge = charge
        self._now = datetime.now(UTC)
        self._batch: list[History] = []
        self._siblings: set[MemoryId] = set()
        self._stored: set[MemoryId] = set()
        self._same: dict[MemoryId, MemoryId] = {}  # the id in the file -> the id in the store
        self._held: list[tuple[str, int, Link]] = []  # with file and line
        self._sealed: dict[MemoryId, list[Sealed]] = {}  # secrets that wait for their memories
        # What would be stored, in a preview:
        self._previewed: dict[str, MemoryId] = {}  # contents
        self._previewed_ids: set[MemoryId] = set()
        self._previewed_links: set[tuple[MemoryId, LinkKind, MemoryId]] = set()

    def __call__(self, lines: Iterable[tuple[int, bytes | errors.MindError]]) -> Imported:
        """Import numbered lines."""
        self.read(lines)
        return self.finish()

    def read(self, lines: Iterable[tuple[int, bytes | errors.MindError]]) -> None:
        """Take numbered lines; links may wait for memories of other files."""
        for number, line in lines:
            try:
                if isinstance(line, errors.MindError):
                    raise line
                record = read_line(line)
                if not isinstance(record, Header):
                    self._take(number, record)
                    if not (self._batch or self._sealed or self._held):
                        self.taken = number
                    continue
            except (errors.InvalidInput, errors.NotFound, errors.Conflict) as exc:
                self.refuse(number, exc)
                continue
            if record.format > FORMAT:
                raise errors.InvalidRecord(
                    f"the export has format {record.format}; this version reads up to {FORMAT}",
                    hint="Upgrade Bear in Mind (`pip install --upgrade bearinmind`).",
                )
        self._flush()

    def finish(self) -> Imported:
        """Add the links that waited, and say how much was added."""
        self._flush()
        self._retake_links()
        self.result.problems.sort(key=lambda problem: (problem.file, problem.line))
        return self.result

    def refuse(self, line: int, error: errors.MindError) -> None:
        """Name what is not imported."""
        self.result.bad += 1
        if self._most_problems is None or len(self.result.problems) < self._most_problems:
            message = masked(error.message)  # some messages quote what they refuse
            self.result.problems.append(
                Problem(line=line, code=error.code, message=message, file=self.file)
            )

    def _take(self, number: int, record: Link | Sealed | ForeignMemory) -> None:
        if isinstance(record, Link):
            self._flush()
            self._charge(1)
            self.take_link(number, record)
            self._advance(1)
        elif isinstance(record, Sealed):
            self._sealed.setdefault(record.id, []).append(record)
        else:
            versions = record.versions(self._app.settings.categories[0], self._now)
            sealed = self._sealed.pop(versions[-1].id, [])
            self.add(versions, sealed, has_own_id=record.has_own_id)

    def add(
        self, versions: Sequence[Memory], sealed: Sequence[Sealed] = (), *, has_own_id: bool = False
    ) -> None:
        """Take a memory with its versions; its id is its own, or was made from its content."""
        made = versions[-1].id
        if self._dry_run:
            self._preview(versions, has_own_id=has_own_id)
            return
        history = self._app.transfer.admit(versions, sealed, made_id=not has_own_id)
        present = history.versions[-1]
        if present.id != made:  # a sensitive one has an id that tells nothing of its content
            self._same[made] = present.id
        self._batch.append(history)
        if has_own_id:  # it comes from a store like this one
            self._siblings.add(present.id)
        if len(self._batch) >= BATCH:
            self._flush()

    def _preview(self, versions: Sequence[Memory], *, has_own_id: bool) -> None:
        """Count what a memory would become; nothing is sealed or stored."""
        memory, kinds = self._app.transfer.preview(versions, made_id=not has_own_id)
        known = self._app.transfer.known(memory)
        if known is None and not has_own_id and memory.deleted_at is None:
            known = self._previewed.get(memory.content)
        if known is not None:
            self.result.known += 1
        else:
            self.result.stored += 1
            self.result.sensitive += memory.sensitive
            self._previewed[memory.content] = memory.id
            self._previewed_ids.add(memory.id)
            self._count_secrets(kinds)
        self._same[versions[-1].id] = known or memory.id
        self._advance(1)

    def _count_secrets(self, kinds: Iterable[str]) -> None:
        for kind in kinds:
            self.result.secrets[kind] = self.result.secrets.get(kind, 0) + 1

    # ---- memories ------------------------------------------------------------------------------

    def _flush(self) -> None:
        """Store the memories that have gathered, in one transaction."""
        batch, self._batch = self._batch, []
        if not batch:
            return
        self._charge(len(batch))
        ids = [history.versions[-1].id for history in batch]
        outcomes = self._app.transfer.add(batch, self._siblings)
        for id_, outcome in zip(ids, outcomes, strict=True):
            match outcome:
                case Stored(memory=memory):
                    self.result.stored += 1
                    self._stored.add(memory.id)
                    self.result.sensitive += memory.sensitive
                    self._count_secrets(named_kinds(memory.content) if memory.sensitive else ())
                case AlreadyKnown(memory=memory):
                    self.result.known += 1
                    self._same[id_] = memory.id
                case None:
                    self.result.known += 1
        self._advance(len(batch))

    # ---- links ---------------------------------------------------------------------------------

    def take_link(self, number: int, link: Link) -> None:
        """Add a link if both its memories are there; else hold it until the end."""
        link = replace(link, source=self._here(link.source), target=self._here(link.target))
        if link.source == link.target:  # its two memories turned out to be one
            self.result.links_known += 1
            return
        try:
            self._add_link(link)
        except errors.MemoryNotFound:
            self._held.append((self.file, number, link))
        except errors.DuplicateLink:
            self.result.links_known += 1
        else:
            self.result.links_stored += 1

    def _here(self, id_: MemoryId) -> MemoryId:
        """The id in the store of what has this one in the file."""
        made = self._same.get(id_, id_)  # a sensitive one gets another, and may be known then
        return self._same.get(made, made)

    def _add_link(self, link: Link) -> None:
        """Store a link; in a preview only see whether it could be."""
        if not self._dry_run:
            # A file decides about its own memories, and about none that was there before.
            decided = {link.source, link.target} <= self._stored
            self._app.transfer.add_link(link, decided=decided)
            return
        name = (link.source, link.kind, link.target)
        stored = [end for end in (link.source, link.target) if end not in self._previewed_ids]
        links = [
            link for end in stored for link in self._app.links(end)
        ]  # raises when it is nowhere
        if name in self._previewed_links or name in {(x.source, x.kind, x.target) for x in links}:
            raise errors.DuplicateLink(f"{link.source} is linked to {link.target} already")
        self._previewed_links.add(name)

    def _retake_links(self) -> None:
        """Add the links that came before their memories."""
        held, self._held = self._held, []
        for file, number, link in held:
            self.file = file
            try:
                self.take_link(number, link)
            except (errors.InvalidInput, errors.NotFound, errors.Conflict) as exc:
                self.refuse(number, exc)
        for file, number, link in self._held:
            self.file = file
            words = f"{link.source} {link.kind} {link.target}"
            self.refuse(
                number, errors.MemoryNotFound(f"{words}: one of the two memories is not here")
            )
