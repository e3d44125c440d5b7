"""The memories of a store: all their versions, their links, and what others see of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from bearinmind import errors
from bearinmind.concepts import Concept, ConceptName
from bearinmind.protocols import (
    AgentSession,
    History,
    LexicalStatistics,
    Page,
    ReadSoFar,
    Sealed,
    Sighting,
    Statistics,
)
from bearinmind.store import graph_search, rows, sync_changes, writes
from bearinmind.store.database import Database, Parameters, Row
from bearinmind.store.rows import OnDatabase, Owned
from bearinmind.store.writes import BulkInsert
from bearinmind.text import analysis
from bearinmind.types import (
    AlreadyKnown,
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Right,
    Scope,
    Share,
    State,
    Stored,
    UserId,
    is_copy,
)


class MemoriesInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.{Memories,Links,Shares}`."""

    # ---- writing -------------------------------------------------------------------------------

    def put(
        self,
        scope: Scope,
        memory: Memory,
        links: Sequence[Link] = (),
        sealed: Sequence[Sealed] = (),
    ) -> Outcome:
        with self._writing(scope) as transaction:
            known_by = writes.content_hash(transaction, memory, sealed)
            known = _known(transaction, memory, known_by)
            if known is not None:
                return AlreadyKnown(memory=known)
            if transaction.row("present_version", {"id": memory.id}):
                raise errors.IdTaken(f"a memory with the id {memory.id!r} exists already")
            writes.insert_version(self._database, transaction, memory, known_by)
            writes.keep_sealed(transaction, sealed)
            for link in links:
                writes.insert_link(transaction, link)
            writes.note_written(transaction, [memory.id], links)
        return Stored(memory=memory)

    def put_many(
        self, scope: Scope, histories: Sequence[History], siblings: Container[MemoryId] = ()
    ) -> list[Outcome | None]:
        with self._writing(scope) as transaction:
            arrivals = BulkInsert(self._database, transaction, siblings)
            outcomes = arrivals.admit(histories)
            arrivals.keep()
            writes.note_written(transaction, arrivals.kept)
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
            writes.close_version(self._database, transaction, following.present, memory.updated_at)
            writes.conceal_versions(self._database, transaction, concealed, sealed)
            writes.insert_version(self._database, transaction, memory, following.known_by)
            writes.keep_sealed(transaction, sealed)
            for link in links:
                writes.insert_link(transaction, link)
            writes.note_written(transaction, [memory.id], links)

    def replace_shared(self, filter: Filter, memory: Memory) -> None:
        """A duplicate among the owner's is reported only when the reader can see it."""
        with self._writing(filter.scope) as transaction:
            require_write(transaction, filter, memory)
            following = _following(transaction, memory)
            known = following.known
            if known is not None and visible_memories(transaction.rows, filter, [known.id]):
                raise errors.DuplicateContent(f"memory {known.id} already says exactly this")
            writes.close_version(self._database, transaction, following.present, memory.updated_at)
            writes.insert_version(self._database, transaction, memory, following.known_by)
            writes.note_written(transaction, [memory.id])

    def purge(self, scope: Scope, ids: Sequence[MemoryId]) -> bool:
        with self._writing(scope) as transaction:
            has_feed = transaction.row("feed") is not None
            gone = sync_changes.changes_of_purge(transaction, ids) if has_feed else {}
            writes.purge_memories(transaction, ids)
            writes.scrub_index(self._database, transaction)
            writes.note(transaction, gone)
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
        records = self._read(scope, "known", **rows.as_known(memory, content_hash))
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

    def read_so_far(self, scope: Scope, jobs: int) -> ReadSoFar:
        [(known, waiting)] = self._read(scope, "read_so_far", jobs=jobs)
        return ReadSoFar(bool(known), waiting)

    # ---- links ---------------------------------------------------------------------------------

    def add_link(self, scope: Scope, link: Link) -> None:
        with self._writing(scope) as transaction:
            writes.insert_link(transaction, link)
            writes.note_written(transaction, links=[link])

    def remove_link(self, scope: Scope, link: Link) -> bool:
        with self._writing(scope) as transaction:
            removed = bool(transaction.change("remove_link", rows.from_noun(link)))
            if removed:
                writes.note_written(transaction, links=[link])
        return removed

    def change_links(self, scope: Scope, ended: Sequence[Link], new: Sequence[Link]) -> None:
        with self._writing(scope) as transaction:
            removed = [x for x in ended if transaction.change("remove_link", rows.from_noun(x))]
            for link in new:
                writes.insert_link(transaction, link)
            writes.note_written(transaction, links=[*removed, *new])

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

    # ---- shares --------------------------------------------------------------------------------

    def add_share(self, scope: Scope, share: Share) -> Share:
        with self._writing(scope) as transaction:
            if share.memory is not None and not transaction.row(
                "present_version", {"id": share.memory}
            ):
                raise errors.MemoryNotFound(f"there is no memory {share.memory!r}")
            parameters = rows.from_share(share)
            row = transaction.row("live_share", parameters)
            if row is not None:
                known = rows.to_share(row)
                if known.right is share.right:
                    return known
                ended = {"ended_at": rows.from_time(share.created_at)}
                transaction.change("end_share", parameters | ended)
            [number] = transaction.numbers(1)
            transaction.change("insert_share", parameters | {"number": number})
            sync_changes.note_share(transaction, share)
        return share

    def end_share(self, scope: Scope, share: Share) -> bool:
        with self._writing(scope) as transaction:
            ended = {"ended_at": rows.from_time(share.ended_at or share.created_at)}
            has_ended = bool(transaction.change("end_share", rows.from_share(share) | ended))
            if has_ended:
                sync_changes.note_share(transaction, share)
        return has_ended

    def shares(self, scope: Scope) -> list[Share]:
        return [*map(rows.to_share, self._read(scope, "list_shares"))]

    def shared_with(self, reader: UserId) -> list[Share]:
        return [*map(rows.to_share, self._database.read("shared_with", {"reader": reader}))]

    def sharers(self, reader: UserId) -> list[UserId]:
        return [UserId(owner) for [owner] in self._database.read("sharers", {"reader": reader})]

    # ---- what a reader sees --------------------------------------------------------------------

    def visible(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
        return visible_memories(self._database.read, filter, ids)

    def visible_beginning(self, filter: Filter, prefix: str, limit: int = 5) -> list[MemoryId]:
        parameters = rows.from_filter(filter) | rows.from_prefix(prefix) | {"limit": limit}
        return [MemoryId(id_) for [id_] in self._database.read("shared_beginning", parameters)]

    def visible_after(self, filter: Filter, after: str, limit: int) -> list[Sighting]:
        parameters = rows.from_filter(filter) | {"after": after, "limit": limit}
        records = self._database.read("shared_after", parameters)
        return [
            Sighting(MemoryId(id_), version, rows.to_time(updated_at), _right(writable))
            for id_, version, updated_at, writable in records
        ]

    def rights(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Right]:
        records = self._database.read("shared_rights", _by_ids(filter, ids))
        return {MemoryId(id_): _right(writable) for id_, writable in records}

    def visible_statistics(self, filter: Filter, terms: Sequence[str]) -> LexicalStatistics:
        return visible_statistics(self._database, filter, terms)

    def visible_concepts(
        self, filter: Filter, names: Sequence[ConceptName]
    ) -> dict[ConceptName, Concept]:
        return graph_search.visible_concepts(self._database, filter, names)


Read = Callable[[str, Parameters], list[Row]]  #: all rows of a statement


def visible_memories(read: Read, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
    """The memories among these that a filter with a reader admits."""
    records = read("shared_memories", _by_ids(filter, ids))
    return {row[0]: rows.to_memory(row) for row in records}


def visible_statistics(
    database: Database, filter: Filter, terms: Sequence[str]
) -> LexicalStatistics:
    """How frequent terms are among what the filter's reader can see."""
    parameters = rows.from_place(filter) | {"terms": [*terms]}
    [(_, total, length), *counted] = database.read("shared_terms", parameters)
    frequency = {term: count for term, count, _ in counted}
    return LexicalStatistics(total, length / total if total else 0.0, frequency)


_ENOUGH = 4  # matches for each memory wanted; docs/adr/0005 has what fewer and more cost
_FEWER = 1  # matches for each memory wanted, where the next term is a common one


class Estimates:
    """Remembers counts of an index while it keeps its size, give or take 1 %.

    Scores need the magnitude of a count, not its last digit, and counting a common term costs as
    much as finding it. That a term does not occur is never remembered: it may be stored next.
    """

    def __init__(self, *, most: int) -> None:
        self.total = 0
        self._length = 0
        self._most = most
        self._frequency: dict[str, int] = {}
        self._counted_at = 0  # how large the index was when the first of them was counted

    def refresh(self, total: int, length: int) -> bool:
        """Note how much the index holds now; True when the counts are forgotten because of that."""
        self.total, self._length = total, length
        grown = abs(total - self._counted_at) * 100 > self._counted_at
        if grown or len(self._frequency) > self._most:
            self._frequency, self._counted_at = {}, total
            return True
        return False

    def known(self, terms: Iterable[str]) -> dict[str, int]:
        frequency = self._frequency  # another thread may begin a new one
        return {term: frequency[term] for term in terms if term in frequency}

    def remember(self, counted: Mapping[str, int]) -> None:
        self._frequency.update({term: count for term, count in counted.items() if count})

    def frequency(
        self, terms: Sequence[str], count: Callable[[list[str]], Mapping[str, int]]
    ) -> dict[str, int]:
        """How frequent terms are: as it is remembered, or as it is counted now."""
        frequency = self.known(terms)
        if unknown := [term for term in terms if term not in frequency]:
            counted = count(unknown)
            self.remember(counted)
            frequency |= counted
        return {term: frequency.get(term, 0) for term in terms}

    def statistics(self, frequency: Mapping[str, int]) -> LexicalStatistics:
        """Frequencies, with the size of the index as it was last read."""
        average = self._length / self.total if self.total else 0.0
        return LexicalStatistics(self.total, average, frequency)


def deciding(matching: Mapping[str, float], limit: int) -> list[str]:
    """The rarest terms that together match enough memories for the limit.

    That is several times as many as are wanted, or fewer where the next term would match more than
    all of them together.
    """
    chosen: list[str] = []
    total = 0.0
    for term, more in sorted(matching.items(), key=lambda each: (each[1], each[0])):
        if total >= _ENOUGH * limit or (total >= _FEWER * limit and more > total):
            break
        chosen.append(term)
        total += more
    return chosen


def _right(writable: object) -> Right:
    return Right.WRITE if writable else Right.READ


def _by_ids(filter: Filter, ids: Sequence[MemoryId]) -> dict[str, Any]:
    return rows.from_filter(filter) | {"ids": [*dict.fromkeys(ids)]}


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
    known_by = writes.content_hash(transaction, memory, sealed)
    says_other = says_more(present, memory) or bool(sealed)
    known = _known(transaction, memory, known_by) if says_other else None
    return _Following(present, known_by, known)


def _known(transaction: Owned, memory: Memory, known_by: bytes) -> Memory | None:
    """The live memory with the same content, other than itself."""
    row = transaction.row("known", rows.as_known(memory, known_by))
    return rows.to_memory(row) if row else None


def says_more(before: Memory, after: Memory) -> bool:
    """Whether a version has content that the version before it did not have."""
    is_back = before.deleted_at is not None
    return after.deleted_at is None and (is_back or before.content != after.content)


def require_write(transaction: Owned, filter: Filter, memory: Memory) -> None:
    """Raise unless the reader may make this the present version of a memory."""
    parameters = rows.from_filter(filter) | {"id": memory.id}
    # A copy is changed at its origin: a change here would be lost with the next sync.
    copied = is_copy(filter.scope.user)
    row = None if copied else transaction.row("writable_version", parameters)
    if row is None:
        raise errors.NotAllowed(
            f"{filter.reader!r} may not write the memory {memory.id}",
            hint="Ask its owner to share it with the right to write.",
        )
    present = rows.to_memory(row)
    changed = [
        name for name in ("tags", "sensitive") if getattr(present, name) != getattr(memory, name)
    ]
    if changed:
        raise errors.NotAllowed(
            f"{filter.reader!r} may not change {' and '.join(changed)} of the memory {memory.id}:"
            " who sees it depends on that",
            hint="Only its owner may; leave it as it is.",
        )
