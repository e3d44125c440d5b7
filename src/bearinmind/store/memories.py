"""The memories of a store, all their versions, and their links."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from bearinmind import errors
from bearinmind.protocols import AgentSession, History, Page, Sealed, Statistics
from bearinmind.store import access, rows, sync_feed, versions
from bearinmind.store.database import OnDatabase, Owned
from bearinmind.store.queues import link_row
from bearinmind.store.versions import BulkInsert
from bearinmind.text import analysis
from bearinmind.types import (
    AlreadyKnown,
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Scope,
    State,
    Stored,
)


class MemoriesInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Memories` and `bearinmind.protocols.Links`."""

    # ---- writing -------------------------------------------------------------------------------

    def put(
        self,
        scope: Scope,
        memory: Memory,
        links: Sequence[Link] = (),
        sealed: Sequence[Sealed] = (),
    ) -> Outcome:
        with self._writing(scope) as transaction:
            known_by = versions.content_hash(transaction, memory, sealed)
            known = _known(transaction, memory, known_by)
            if known is not None:
                return AlreadyKnown(memory=known)
            if transaction.row("present_version", {"id": memory.id}):
                raise errors.IdTaken(f"a memory with the id {memory.id!r} exists already")
            versions.insert_version(self._database, transaction, memory, known_by)
            versions.keep_sealed(transaction, sealed)
            for link in links:
                insert_link(transaction, link)
            sync_feed.note_written(transaction, [memory.id], links)
        return Stored(memory=memory)

    def put_many(
        self, scope: Scope, histories: Sequence[History], siblings: Container[MemoryId] = ()
    ) -> list[Outcome | None]:
        with self._writing(scope) as transaction:
            arrivals = BulkInsert(self._database, transaction, siblings)
            outcomes = arrivals.admit(histories)
            arrivals.keep()
            sync_feed.note_written(transaction, arrivals.kept)
        return outcomes

    def replace(
        self,
        scope: Scope,
        memory: Memory,
        links: Sequence[Link] = (),
        sealed: Sequence[Sealed] = (),
        concealed: Sequence[Memory] = (),
    ) -> None:
        with self._writing(scope) as transaction:
            following = _following(transaction, memory, sealed)
            if following.known is not None:
                raise errors.DuplicateContent(
                    f"memory {following.known.id} already says exactly this"
                )
            versions.close_version(
                self._database, transaction, following.present, memory.updated_at
            )
            versions.conceal_versions(self._database, transaction, concealed, sealed)
            versions.insert_version(self._database, transaction, memory, following.known_by)
            versions.keep_sealed(transaction, sealed)
            for link in links:
                insert_link(transaction, link)
            sync_feed.note_written(transaction, [memory.id], links)

    def replace_shared(self, filter: Filter, memory: Memory) -> None:
        """A duplicate among the owner's is reported only when the reader can see it."""
        with self._writing(filter.scope) as transaction:
            access.require_write(transaction, filter, memory)
            following = _following(transaction, memory)
            known = following.known
            if known is not None and access.visible_memories(transaction.rows, filter, [known.id]):
                raise errors.DuplicateContent(f"memory {known.id} already says exactly this")
            versions.close_version(
                self._database, transaction, following.present, memory.updated_at
            )
            versions.insert_version(self._database, transaction, memory, following.known_by)
            sync_feed.note_written(transaction, [memory.id])

    def purge(self, scope: Scope, ids: Sequence[MemoryId]) -> bool:
        with self._writing(scope) as transaction:
            has_feed = transaction.row("feed") is not None
            gone = sync_feed.changes_of_purge(transaction, ids) if has_feed else {}
            versions.purge_memories(transaction, ids)
            versions.scrub_index(self._database, transaction)
            sync_feed.note(transaction, gone)
        return self.scrub()

    # ---- reading -------------------------------------------------------------------------------

    def get(self, scope: Scope, id: MemoryId, as_of: datetime | None = None) -> Memory | None:
        return self.get_many(scope, [id], as_of).get(id)

    def get_many(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> dict[MemoryId, Memory]:
        records = self._read(scope, "get_many", ids=[*ids], moment=rows.moment(as_of))
        return {row[0]: rows.to_memory(row) for row in records}

    def resolve(self, scope: Scope, prefix: str, limit: int = 5) -> list[MemoryId]:
        records = self._read(scope, "resolve", limit=limit, **rows.from_prefix(prefix))
        return [row[0] for row in records]

    def versions(self, scope: Scope, id: MemoryId) -> list[Memory]:
        return [*map(rows.to_memory, self._read(scope, "versions", id=id))]

    def same_content(self, scope: Scope, memory: Memory) -> Memory | None:
        if memory.sensitive:
            return None
        content_hash = analysis.fingerprint(memory.content)
        records = self._read(scope, "known", id=memory.id, content_hash=content_hash)
        return rows.to_memory(records[0]) if records else None

    def browse(self, filter: Filter, page: Page) -> list[Memory]:
        if page.by_importance:
            parameters = rows.from_filter_and_states(filter) | {"limit": page.limit}
            return [*map(rows.to_memory, self._database.read("list_important", parameters))]
        beginning = rows.NOT_YET if page.newest_first else -rows.NOT_YET
        time, after_id = page.after or (None, MemoryId(""))
        parameters = rows.from_filter_and_states(filter) | {
            "limit": page.limit,
            "after_time": beginning if time is None else rows.from_time(time),
            "after_id": after_id,
        }
        statement = "list_newest" if page.newest_first else "list_oldest"
        return [*map(rows.to_memory, self._database.read(statement, parameters))]

    def count(self, filter: Filter) -> int:
        [[total]] = self._database.read("count_admitted", rows.from_filter_and_states(filter))
        return int(total)

    def statistics(self, scope: Scope, now: datetime) -> Statistics:
        read = self._database.read
        parameters = {
            "owner": scope.user,
            "now": rows.from_time(now),
            "moment": rows.moment(None),
            "limit": 20,
        }
        states = {state: row for state, *row in read("count_states", parameters)}
        counts = {state: states.get(state, (0,))[0] for state in State}
        held = [row for state, row in states.items() if state != State.DELETED]
        early = states.get(State.EXPIRED, (0,))[-1]  # the state is of both ends of a span
        return Statistics(
            live=counts[State.LIVE],
            superseded=counts[State.SUPERSEDED],
            expired=counts[State.EXPIRED] - early,
            deleted=counts[State.DELETED],
            earlier_versions=read("count_earlier", parameters)[0][0],
            links=read("count_links", parameters)[0][0],
            categories=dict(read("count_categories", parameters)),
            tags=dict(read("count_tags", parameters)),
            oldest=rows.to_time(min(row[1] for row in held)) if held else None,
            newest=rows.to_time(max(row[2] for row in held)) if held else None,
            not_yet_valid=early,
        )

    def density(self, scope: Scope, width: timedelta) -> list[tuple[datetime, str, int]]:
        records = self._read(scope, "density", width=width // timedelta(microseconds=1))
        return [(rows.to_time(start), category, count) for start, category, count in records]

    def agent_sessions(self, scope: Scope, limit: int) -> list[AgentSession]:
        records = self._read(scope, "agent_sessions", limit=limit)
        times = {"first": rows.to_time, "last": rows.to_time}
        return [rows.to_noun(AgentSession, record, **times) for record in records]

    # ---- links ---------------------------------------------------------------------------------

    def add_link(self, scope: Scope, link: Link) -> None:
        """Keep a link; duplicates and supersede cycles are refused."""
        with self._writing(scope) as transaction:
            insert_link(transaction, link)
            sync_feed.note_written(transaction, links=[link])

    def remove_link(self, scope: Scope, link: Link) -> bool:
        with self._writing(scope) as transaction:
            removed = bool(transaction.change("remove_link", rows.from_noun(link)))
            if removed:
                sync_feed.note_written(transaction, links=[link])
        return removed

    def change_links(self, scope: Scope, ended: Sequence[Link], new: Sequence[Link]) -> None:
        with self._writing(scope) as transaction:
            removed = [x for x in ended if transaction.change("remove_link", rows.from_noun(x))]
            for link in new:
                insert_link(transaction, link)
            sync_feed.note_written(transaction, links=[*removed, *new])

    def has_links(self, scope: Scope) -> bool:
        return bool(self._read(scope, "has_links"))

    def links(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        return self._links("links_of", scope, ids, as_of)

    def newer(
        self,
        scope: Scope,
        ids: Sequence[MemoryId],
        as_of: datetime | None = None,
        kinds: Sequence[LinkKind] = (LinkKind.SUPERSEDES,),
    ) -> list[Link]:
        return self._links("newer", scope, ids, as_of, kinds=[*kinds])

    def _links(
        self,
        statement: str,
        scope: Scope,
        ids: Sequence[MemoryId],
        as_of: datetime | None,
        **parameters: list[str],
    ) -> list[Link]:
        moment = rows.moment(as_of)
        records = self._read(scope, statement, ids=[*ids], moment=moment, **parameters)
        return [*map(rows.to_link, records)]

    def all_links(self, scope: Scope) -> Iterator[Link]:
        return map(rows.to_link, self._read(scope, "all_links"))


# The functions below run inside a transaction of the caller.


class _Following(NamedTuple):
    """The version before, the content hash, and a duplicate."""

    present: Memory
    known_by: bytes
    known: Memory | None  #: another live memory with the content, if the content is new


def _following(transaction: Owned, memory: Memory, sealed: Sequence[Sealed] = ()) -> _Following:
    """The present version of a memory, which the new one must follow."""
    row = transaction.row("get_many", {"ids": [memory.id], "moment": rows.moment(None)})
    present = rows.to_memory(row) if row else None
    before = present.version if present else None
    if present is None or before != memory.version - 1:
        raise errors.VersionConflict(
            f"version {memory.version} of {memory.id} cannot follow version {before}"
        )
    known_by = versions.content_hash(transaction, memory, sealed)
    says_other = says_more(present, memory) or bool(sealed)
    known = _known(transaction, memory, known_by) if says_other else None
    return _Following(present, known_by, known)


def _known(transaction: Owned, memory: Memory, known_by: bytes) -> Memory | None:
    """The live memory with the same content, other than itself."""
    row = transaction.row("known", {"id": memory.id, "content_hash": known_by})
    return rows.to_memory(row) if row else None


def insert_link(transaction: Owned, link: Link) -> None:
    """Keep a link, inside a transaction of the caller."""
    refuse_cycle(transaction, link)
    if not transaction.change("insert_link", link_row(transaction, link)):
        raise errors.DuplicateLink(f"{link.source} {link.kind} {link.target} is there already")


def refuse_cycle(transaction: Owned, link: Link) -> None:
    """Raise when a link would make a memory supersede itself."""
    if link.kind is LinkKind.SUPERSEDES and link.removed_at is None:
        reverse = rows.from_noun(link) | {"source": link.target, "target": link.source}
        if transaction.row("supersedes_already", reverse):
            raise errors.SupersedeCycle(
                f"{link.target} already supersedes {link.source}, directly or by way of others"
            )


def says_more(before: Memory, after: Memory) -> bool:
    """Whether a version has content that the version before it did not have."""
    is_back = before.deleted_at is not None
    return after.deleted_at is None and (is_back or before.content != after.content)
