"""Imports files of any known format: ours line by line, those of other programs as records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.importers import (
    claude_mem,
    conversations,
    knowledge_graph,
    markdown,
    mcp_memory_service,
    mem0,
    table,
)
from bearinmind.importers.files import Source
from bearinmind.importers.markdown import split
from bearinmind.importers.model import (
    LONGEST_KEYWORD,
    Conversation,
    Entry,
    ForeignLink,
    Format,
    Malformed,
    Place,
    Record,
    Skipped,
    Version,
)
from bearinmind.learn.model import Learned, Refusal
from bearinmind.remember.admit import (
    KEYWORDS_LIMIT,
    TAG_LIMIT,
    TAGS_LIMIT,
    check_category,
    check_time,
)
from bearinmind.surfaces.lines import STANDARD, numbered, opened
from bearinmind.surfaces.transfer import Advance, Import, Imported
from bearinmind.text import ids
from bearinmind.types import Link, LinkKind, Memory, MemoryId, UserId

OWN = "bearinmind"  #: JSON Lines with `content`: what no other format recognises
#: In this order: the first that recognises a file reads it.
FORMATS: tuple[Format, ...] = (
    mem0.FORMAT,
    mcp_memory_service.FORMAT,
    claude_mem.FORMAT,
    conversations.CLAUDE,
    conversations.CHATGPT,
    knowledge_graph.FORMAT,
    markdown.INSTRUCTIONS,
    markdown.MEMORY_TOOL,
    markdown.NOTES,
    table.FORMAT,
)
NAMES = (OWN, *(each.name for each in FORMATS))


def format_of(source: Source, name: str | None) -> Format | None:
    """The format of a file: the named one, else the one that it is recognised by; None is ours."""
    if name == OWN:
        return None
    if name is not None:
        return next(each for each in FORMATS if each.name == name)
    format_ = next((each for each in FORMATS if each.recognise(source)), None)
    if format_ is None and (source.is_folder or source.is_sqlite):
        what = "folder has no notes" if source.is_folder else "database is of no known program"
        raise errors.InvalidInput(
            f"{str(source.path)!r} cannot be imported: the {what}",
            hint=f"--from says what it is: {', '.join(NAMES)}.",
        )
    return format_


# ---- the import --------------------------------------------------------------------------------

_REFUSED = (errors.InvalidInput, errors.NotFound, errors.Conflict)
_NOT_LEARNED = "left out of what was said"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """Something that was left out on purpose."""

    file: str
    line: int
    reason: str


@dataclass(slots=True, kw_only=True)
class FilesImported:
    """What an import of some files added, or would add."""

    imported: Imported
    dry_run: bool
    formats: dict[str, str] = field(default_factory=dict)  #: by file
    records: int = 0  #: of other programs
    split: int = 0  #: of these, how many became several memories
    proposed: int = 0  #: lessons of conversations, in the inbox
    skipped: list[Skip] = field(default_factory=list)
    dropped: dict[str, int] = field(default_factory=dict)  #: records by a field that is not kept


class _Waiting(NamedTuple):
    """A link whose other end may come later."""

    place: Place
    id: MemoryId
    link: ForeignLink


class FilesImport:
    """Adds what some files hold to the memories of a user; what is there already is left alone."""

    def __init__(
        self, app: Mind, *, dry_run: bool, most_problems: int | None, advance: Advance
    ) -> None:
        self._app = app
        self._import = Import(app, most_problems=most_problems, advance=advance, dry_run=dry_run)
        self._advance = advance
        self._now = datetime.now(UTC)
        self._ids: dict[str, MemoryId] = {}  # by key and by name
        self._waiting: list[_Waiting] = []
        self._lessons: set[tuple[str | None, str]] = set()  # that were proposed
        self.result = FilesImported(imported=self._import.result, dry_run=dry_run)

    def __call__(self, paths: Sequence[str], format_name: str | None = None) -> FilesImported:
        """Import files and folders, each in the named format or in the one it is recognised by."""
        for path in paths:
            self._read(path, format_name)
        self._add_links()
        self._import.finish()
        return self.result

    def _read(self, path: str, format_name: str | None) -> None:
        source = None if path == STANDARD else Source(Path(path))
        if source is None and format_name not in (None, OWN):
            raise errors.InvalidInput(
                f"standard input cannot be read as {format_name}", hint="Give the file by its name."
            )
        format_ = None if source is None else format_of(source, format_name)
        self.result.formats[path] = OWN if format_ is None else format_.name
        if source is None or format_ is None:
            self._import.file = path
            with opened(path) as stream:
                self._import.read(numbered(stream))
            return
        for record in format_.records(source):
            self._take(record)

    def _take(self, record: Record) -> None:
        self._import.file = record.place.file
        match record:
            case Entry():
                self.result.records += 1
                self._take_entry(record)
            case Conversation():
                self.result.records += 1
                self._learn(record)
            case Skipped(place, reason):
                self._skip(place, reason)
            case Malformed(place, reason):
                self._import.refuse(place.line, errors.InvalidRecord(reason))

    def _skip(self, place: Place, reason: str) -> None:
        self.result.skipped.append(Skip(file=place.file, line=place.line, reason=reason))

    # ---- records -------------------------------------------------------------------------------

    def _take_entry(self, entry: Entry) -> None:
        """Add the parts of a record; each belongs to the first."""
        fitting = self._fitting(entry)
        limit = self._app.settings.content_limit
        parts = split(fitting.content, limit, by_section=entry.by_section)
        self.result.split += len(parts) > 1
        added: list[MemoryId] = []
        for part in parts:
            if part.fits:
                earlier = fitting.earlier if len(parts) == 1 else ()
                added += self._add(replace(fitting, content=part.text, earlier=earlier))
            else:
                self._import.refuse(entry.place.line, _too_long(part.text, part.line, limit))
        if not added:
            return
        for name in (entry.key, *entry.names):
            self._ids.setdefault(name, added[0])
        for id_ in added[1:]:
            part_of = ForeignLink(LinkKind.PART_OF, entry.key)
            self._waiting.append(_Waiting(entry.place, id_, part_of))
        self._waiting += [_Waiting(entry.place, added[0], link) for link in entry.links]

    def _add(self, entry: Entry) -> list[MemoryId]:
        """The id of a record that was taken, as it is in the file; nothing when it is refused."""
        try:
            versions = _versions(entry, self._app.scope.user, self._now)
            self._import.add(versions)
        except _REFUSED as exc:
            self._import.refuse(entry.place.line, exc)
            return []
        return [versions[-1].id]

    def _fitting(self, entry: Entry) -> Entry:
        """A record whose tags, keywords and category a memory may have."""
        dropped = [*entry.dropped]
        keywords = [*entry.keywords]
        tags = [*dict.fromkeys(tag.replace(",", " ").strip() for tag in entry.tags if tag.strip())]
        keywords += [tag for tag in tags[TAGS_LIMIT:] if len(tag) <= LONGEST_KEYWORD]
        category = self._app.settings.categories[0]
        if entry.category:
            try:
                category = check_category(entry.category, self._app.settings.categories)
            except errors.UnknownCategory:
                keywords.append(f"category: {entry.category}")
        dropped += ["tag" for tag in tags[:TAGS_LIMIT] if len(tag) > TAG_LIMIT]
        short = [*dict.fromkeys(word for word in keywords if len(word) <= LONGEST_KEYWORD)]
        dropped += ["keyword"] * (len({*keywords}) - len(short[:KEYWORDS_LIMIT]))
        for name in dropped:
            self.result.dropped[name] = self.result.dropped.get(name, 0) + 1
        return replace(
            entry,
            category=category,
            tags=tuple(tag for tag in tags[:TAGS_LIMIT] if len(tag) <= TAG_LIMIT),
            keywords=tuple(short[:KEYWORDS_LIMIT]),
        )

    # ---- conversations -------------------------------------------------------------------------

    def _learn(self, conversation: Conversation) -> None:
        """Propose what a conversation teaches."""
        try:
            learned = self._app.learn(
                conversation.messages,
                agent=conversation.agent,
                session=conversation.session,
                project=conversation.project,
                said_at=conversation.said_at,
                inbox=True,
                dry_run=self.result.dry_run,
            )
        except _REFUSED as exc:
            self._import.refuse(conversation.place.line, exc)
            return
        self._count(learned, conversation.project)
        self._advance(1)

    def _count(self, learned: Learned, project: str | None) -> None:
        lessons = {(project, item.text.casefold()) for item in learned.proposed}
        new = lessons - self._lessons  # a preview proposes nothing, so it would count one twice
        self._lessons |= new
        self.result.proposed += len(new)
        self.result.imported.known += len(learned.known) + len(learned.proposed) - len(new)
        secret = sum(each.reason is Refusal.SECRET for each in learned.refused)
        if secret:
            secrets = self.result.imported.secrets
            secrets[_NOT_LEARNED] = secrets.get(_NOT_LEARNED, 0) + secret

    # ---- links ---------------------------------------------------------------------------------

    def _add_links(self) -> None:
        """Add the links between records, now that all of them are there."""
        for place, id_, link in self._waiting:
            self._import.file = place.file
            target = self._ids.get(link.target)
            if target is None:
                name = link.target.removeprefix("note ").removeprefix("entity ")
                self._skip(place, f"a link to {name!r}: nothing that is imported has this name")
                continue
            ends = (target, id_) if link.reverse else (id_, target)
            new = Link(source=ends[0], target=ends[1], kind=link.kind, created_at=self._now)
            try:
                self._import.take_link(place.line, new)
            except _REFUSED as exc:
                self._import.refuse(place.line, exc)


def _too_long(text: str, line: int, limit: int) -> errors.ContentTooLong:
    return errors.ContentTooLong(
        f"the paragraph at line {line} of the text has {len(text):,} characters with its "
        f"headings; a memory has at most {limit:,}, and a paragraph is never cut"
    )


def _versions(entry: Entry, owner: UserId, now: datetime) -> list[Memory]:
    """A record as the versions of a memory, under an id made from its key and its content."""
    key = json.dumps([entry.key, entry.content]).encode()
    created = check_time(entry.created_at, "created_at") or now
    present = Memory(
        id=ids.derived(hashlib.blake2b(key, digest_size=8).digest()),
        owner=owner,
        content=entry.content,
        category=entry.category,
        tags=entry.tags,
        keywords=entry.keywords,
        importance=0.5 if entry.importance is None else entry.importance,
        sensitive=False,
        created_at=created,
        updated_at=max(check_time(entry.updated_at, "updated_at") or created, created),
        deleted_at=check_time(entry.deleted_at, "deleted_at"),
        valid_from=None,
        valid_to=check_time(entry.valid_to, "valid_to"),
        provenance=entry.provenance,
        version=len(entry.earlier) + 1,
    )
    return [*_earlier(entry.earlier, present), present]


def _earlier(versions: Iterable[Version], present: Memory) -> Iterable[Memory]:
    for number, version in enumerate(versions, 1):
        written = check_time(version.updated_at, "updated_at") or present.created_at
        yield replace(
            present,
            content=version.content,
            updated_at=max(written, present.created_at),
            deleted_at=None,
            version=number,
        )
