"""Imports files of any known format: ours line by line, those of other programs as records."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.importers import (
    claude_mem,
    conversations,
    knowledge_graph,
    markdown,
    mcp_memory_service,
    mem0,
    mempalace,
    model,
    table,
)
from bearinmind.importers.files import Source
from bearinmind.importers.markdown import split
from bearinmind.importers.model import Conversation, Entry, ForeignLink, Format, Place
from bearinmind.learn.model import Learned, Refusal
from bearinmind.remember import admit
from bearinmind.remember.admit import check_time
from bearinmind.remember.secrets import masked
from bearinmind.store.sqlite.file import APPLICATION_ID
from bearinmind.surfaces.lines import STANDARD, numbered, opened
from bearinmind.surfaces.transfer import Advance, Import, Imported, Problem
from bearinmind.text import ids
from bearinmind.types import Link, LinkKind, Memory, MemoryId, UserId

OWN = "bearinmind"  #: JSON Lines with `content`: what no other format recognises
#: In this order: the first that recognises a file reads it.
FORMATS: tuple[Format, ...] = (
    mem0.FORMAT,
    mcp_memory_service.FORMAT,
    claude_mem.FORMAT,
    mempalace.FORMAT,
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
    application = int.from_bytes(source.head[68:72])  # as a database says of itself
    if format_ is None and source.is_sqlite and application == APPLICATION_ID:
        raise errors.InvalidInput(
            f"{str(source.path)!r} is a Bear in Mind store, not an export of one",
            hint=f"Move what is in it: `bearinmind --store {shlex.quote(str(source.path))} export -"
            " | bearinmind import -`.",
        )
    first = {line.lstrip()[:1] for line in source.head.splitlines()} - {b""}
    if format_ is None and (source.is_folder or source.is_sqlite or (first and b"{" not in first)):
        kind = "database" if source.is_sqlite else "file"
        what = "folder has no notes" if source.is_folder else f"{kind} is of no known program"
        raise errors.InvalidInput(
            f"{str(source.path)!r} cannot be imported: the {what}",
            hint=f"--from says what it is: {', '.join(NAMES)}.",
        )
    return format_


# ---- the import --------------------------------------------------------------------------------

_REFUSED = (errors.InvalidInput, errors.NotFound, errors.Conflict)
_NOT_LEARNED = "left out of what was said"


@dataclass(slots=True, kw_only=True)
class FilesImported:
    """What an import of some files added, or would add."""

    imported: Imported
    dry_run: bool
    formats: dict[str, str] = field(default_factory=dict)  #: by file
    records: int = 0  #: of other programs
    split: int = 0  #: of these, how many became several memories
    proposed: int = 0  #: lessons of conversations, in the inbox
    skipped: list[Problem] = field(default_factory=list)  #: what was left out on purpose
    dropped: dict[str, int] = field(default_factory=dict)  #: records by a field that is not kept


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
        self._waiting: list[tuple[Place, MemoryId, ForeignLink]] = []  # links
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

    def _take(self, record: model.Record) -> None:
        self._import.file = record.place.file
        match record:
            case Entry():
                self.result.records += 1
                self._take_entry(record)
            case Conversation():
                self.result.records += 1
                self._learn(record)
            case model.Skipped(place, reason):
                self._skip(place, reason)
            case model.Malformed(place, reason):
                self._import.refuse(place.line, errors.InvalidRecord(reason))

    def _skip(self, place: Place, reason: str) -> None:
        skipped = Problem(file=place.file, line=place.line, code="skipped", message=masked(reason))
        self.result.skipped.append(skipped)

    # ---- records -------------------------------------------------------------------------------

    def _take_entry(self, entry: Entry) -> None:
        """Add the parts of a record; each belongs to the first."""
        fitting = self._fitting(entry)
        limit = self._app.settings.content_limit
        parts = split(fitting.content, limit, by_section=entry.by_section)
        self.result.split += len(parts) > 1
        if not parts:
            self._skip(entry.place, "the record is empty")
        elif len(parts) > 1 and entry.earlier:
            self._skip(entry.place, "the earlier versions of a record that was split")
        added: list[MemoryId] = []
        for part in parts:
            if part.fits:
                earlier = fitting.earlier if len(parts) == 1 else ()
                added += self._add(replace(fitting, content=part.text, earlier=earlier))
            else:
                line = entry.place.line + (part.line - 1 if entry.has_lines else 0)
                long = errors.ContentTooLong(
                    f"a paragraph has {len(part.text):,} characters with its headings; "
                    f"a memory has at most {limit:,}, and a paragraph is never cut"
                )
                self._import.refuse(line, long)
        if not added:
            return
        for name in (entry.key, *entry.names):
            self._ids.setdefault(name, added[0])
        part_of = ForeignLink(LinkKind.PART_OF, entry.key)
        self._waiting += [(entry.place, id_, part_of) for id_ in added[1:]]
        self._waiting += [(entry.place, added[0], link) for link in entry.links]

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
        keywords, dropped = model.kept(entry)
        category = self._app.settings.categories[0]
        try:
            category = admit.check_category(
                entry.category or category, self._app.settings.categories
            )
        except errors.UnknownCategory:
            keywords.append(f"category: {entry.category}")
        named = [tag.replace(",", " ") for tag in entry.tags if tag.strip()]
        tags = _short(named, admit.TAG_LIMIT, admit.TAGS_LIMIT)
        words = _short(keywords, admit.KEYWORD_LIMIT, admit.KEYWORDS_LIMIT)
        too_many = len({*named, *keywords} - {*tags, *words})
        for name in (*dropped, *["tag or keyword"] * too_many):
            self.result.dropped[name] = self.result.dropped.get(name, 0) + 1
        return replace(entry, category=category, tags=tags, keywords=words)

    # ---- conversations -------------------------------------------------------------------------

    def _learn(self, conversation: Conversation) -> None:
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


def _short(words: Iterable[str], longest: int, most: int) -> tuple[str, ...]:
    """The first words that are not too long, each once."""
    return tuple([word for word in dict.fromkeys(words) if len(word) <= longest][:most])


def _versions(entry: Entry, owner: UserId, now: datetime) -> list[Memory]:
    """A record as the versions of a memory, under an id made from its key and its content."""
    key = json.dumps([entry.key, entry.content]).encode()
    id_ = ids.derived(hashlib.blake2b(key, digest_size=8).digest())
    created = check_time(entry.created_at, "created_at") or now
    present = (entry.content, entry.updated_at, entry.deleted_at)
    states = [*((each.content, each.updated_at, None) for each in entry.earlier), present]
    return [
        Memory(
            id=id_,
            owner=owner,
            content=content,
            category=entry.category,
            tags=entry.tags,
            keywords=entry.keywords,
            importance=0.5 if entry.importance is None else entry.importance,
            sensitive=False,
            created_at=created,
            updated_at=max(check_time(written, "updated_at") or created, created),
            deleted_at=check_time(deleted, "deleted_at"),
            valid_from=check_time(entry.valid_from, "valid_from"),
            valid_to=check_time(entry.valid_to, "valid_to"),
            provenance=entry.provenance,
            version=number,
        )
        for number, (content, written, deleted) in enumerate(states, 1)
    ]
