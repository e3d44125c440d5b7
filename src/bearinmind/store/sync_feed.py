"""The numbered changes of a store, their present states, and what a replica knows of its server."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from bearinmind.changes import (
    Change,
    ConflictState,
    Feed,
    LinkState,
    Peer,
    ShareState,
    Subject,
    SubjectKind,
    SyncConflict,
    conflict_subject,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.protocols import Gone, History, Sealed, Settled, SubjectState
from bearinmind.receipts import Noted, marks
from bearinmind.store import rows
from bearinmind.store.database import OnDatabase, Owned, Parameters, Row
from bearinmind.types import Link, LinkKind, MemoryId, Scope, Share

Read = Callable[[str, Parameters], list[Row]]  #: all rows of a statement, for one owner
_CLOSING = (
    "close_feed",
    "forget_all_changes",
    "forget_peer",
    "forget_peer_numbers",
    "forget_conflicts",
)
_SEALED = slice(1, 5)  # the columns of `histories_of` that say what a version keeps sealed
_VERSION = slice(5, None)


class FeedInDatabase(OnDatabase):
    """Satisfies the parts of `bearinmind.protocols.Syncing` about changes, peers and conflicts."""

    def open_feed(self, scope: Scope, epoch: str) -> Feed:
        with self._writing(scope) as transaction:
            if transaction.change("open_feed", {"epoch": epoch}):
                transaction.change("number_everything")
                transaction.change("note_head")
            [known] = transaction.rows("feed")
        return rows.to_noun(Feed, known)

    def feed(self, scope: Scope) -> Feed | None:
        records = self._read(scope, "feed")
        return rows.to_noun(Feed, records[0]) if records else None

    def close_feed(self, scope: Scope) -> None:
        with self._writing(scope) as transaction:
            for statement in _CLOSING:
                transaction.change(statement)

    def changes(self, scope: Scope, after: int, limit: int) -> list[Change]:
        records = self._read(scope, "changes_after", after=after, limit=limit)
        return [
            Change(Subject(SubjectKind(kind), name), number, tuple(json.loads(gone)), refused)
            for kind, name, number, gone, refused in records
        ]

    def numbers(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, int]:
        return numbers_in("change_numbers", self._reading(scope), subjects)

    def states(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, SubjectState]:
        return states_in(self._reading(scope), subjects)

    def _reading(self, scope: Scope) -> Read:
        """Reads what belongs to the owner of a scope."""
        return lambda statement, parameters: self._read(scope, statement, **parameters)

    # ---- the peer of a replica -----------------------------------------------------------------

    def peer(self, scope: Scope) -> Peer | None:
        records = self._read(scope, "peer")
        return rows.to_noun(Peer, records[0]) if records else None

    def keep_peer(self, scope: Scope, peer: Peer) -> None:
        with self._writing(scope) as transaction:
            known = transaction.row("peer")
            if known is not None and rows.to_noun(Peer, known).epoch != peer.epoch:
                transaction.change("forget_peer_numbers")
            transaction.change("keep_peer", rows.from_noun(peer))

    def peer_numbers(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, int]:
        return numbers_in("peer_numbers", self._reading(scope), subjects)

    def settle(self, scope: Scope, settled: Sequence[Settled]) -> None:
        with self._writing(scope) as transaction:
            keep_numbers(transaction, {each.subject: each.peer_number for each in settled})
            transaction.change_each(
                "settle_change",
                [_place(each.subject) | {"number": each.number} for each in settled],
            )

    def refuse(self, scope: Scope, subject: Subject, number: int, reason: str) -> None:
        with self._writing(scope) as transaction:
            refused = {"number": number, "reason": reason}
            transaction.change("refuse_change", _place(subject) | refused)

    def conflicts(self, scope: Scope, limit: int, *, every: bool = False) -> list[SyncConflict]:
        records = self._read(scope, "conflicts", limit=limit, every=every)
        return [*map(rows.to_conflict, records)]

    def resolve_conflict(self, scope: Scope, number: int, at: datetime) -> bool:
        with self._writing(scope) as transaction:
            resolved = {"number": number, "at": rows.from_time(at)}
            records = transaction.rows("resolve_conflict", resolved)
            note(transaction, {conflict_subject(rows.to_conflict(row)): () for row in records})
        return bool(records)


def by_kind(subjects: Iterable[Subject]) -> dict[SubjectKind, list[str]]:
    """The names of these things, each once, by what they are."""
    names: dict[SubjectKind, list[str]] = defaultdict(list)
    for kind, name in dict.fromkeys(subjects):
        names[kind].append(name)
    return names


def numbers_in(statement: str, read: Read, subjects: Iterable[Subject]) -> dict[Subject, int]:
    """The numbers of these things that a statement gives."""
    return {
        Subject(kind, name): number
        for kind, names in by_kind(subjects).items()
        for name, number in read(statement, {"kind": kind, "names": names})
    }


# ---- present states ------------------------------------------------------------------------------


def states_in(read: Read, subjects: Iterable[Subject]) -> dict[Subject, SubjectState]:
    """The present states of things; those of one kind are all read at the same moment."""
    states: dict[Subject, SubjectState] = {}
    for kind, names in by_kind(subjects).items():
        statement, to_state = _STATES[kind]
        records: dict[str, list[Row]] = defaultdict(list)
        for name, *columns in read(statement, {"names": names}):
            records[name].append(tuple(columns))
        states.update({Subject(kind, name): to_state(records[name]) for name in names})
    return states


def _to_history(records: Sequence[Row]) -> History | Gone:
    """A memory from its rows of `histories_of`; there is one without a version if none is left."""
    if records[0][_VERSION][0] is None:
        return Gone(tuple(json.loads(records[0][0] or "[]")))
    versions = [rows.to_memory(row[_VERSION]) for row in records]
    sealed = [
        rows.to_noun(Sealed, (memory.owner, memory.id, memory.version, *row[_SEALED]))
        for memory, row in zip(versions, records, strict=True)
        if row[_SEALED][0] is not None
    ]
    return History(versions=tuple(versions), sealed=tuple(sealed))


def _to_share(records: Sequence[Row]) -> ShareState:
    return ShareState(rows.to_share(records[0]) if records else None)


def _to_conflict(records: Sequence[Row]) -> ConflictState:
    return ConflictState(rows.to_conflict(records[0])._replace(number=0) if records else None)


#: The statement that reads the states of a kind, and how the rows of one name become its state.
_STATES: Mapping[SubjectKind, tuple[str, Callable[[Sequence[Row]], SubjectState]]] = {
    SubjectKind.MEMORY: ("histories_of", _to_history),
    SubjectKind.LINK: ("links_named", lambda found: LinkState(tuple(map(rows.to_link, found)))),
    SubjectKind.SHARE: ("shares_named", _to_share),
    SubjectKind.CONFLICT: ("conflicts_named", _to_conflict),
}


# ---- numbering changes, inside a transaction of the caller ---------------------------------------


def note(transaction: Owned, changed: Mapping[Subject, tuple[str, ...]]) -> dict[Subject, int]:
    """Number what changed, if the owner has a feed; the numbers that were given.

    Of a purged memory the digests of all its versions come with it.
    """
    advanced = transaction.row("advance_feed", {"count": len(changed)}) if changed else None
    if advanced is None:
        return {}
    first = advanced[0] - len(changed) + 1
    numbers = {subject: number for number, subject in enumerate(changed, first)}
    transaction.change_each(
        "note_change",
        [
            _place(subject) | {"number": number, "gone": json.dumps(changed[subject])}
            for subject, number in numbers.items()
        ],
    )
    return numbers


def note_written(
    transaction: Owned, ids: Iterable[MemoryId] = (), links: Iterable[Link] = ()
) -> None:
    """Number memories and links that were written."""
    linked = [link_subject(link.source, link.kind, link.target) for link in links]
    note(transaction, dict.fromkeys([*map(memory_subject, ids), *linked], ()))


def note_share(transaction: Owned, share: Share) -> None:
    """Number the begin or end of a share."""
    note(transaction, {_subject_of_share(share): ()})


def changes_of_purge(transaction: Owned, ids: Sequence[MemoryId]) -> Noted:
    """What a purge of these memories changes, with the marks of their versions."""
    states = states_in(transaction.rows, map(memory_subject, sorted({*ids})))
    parameters = {"ids": [*ids]}
    links = [
        link_subject(source, LinkKind(kind), target)
        for source, kind, target in transaction.rows("links_touching", parameters)
    ]
    shares = map(rows.to_share, transaction.rows("shares_of_these", parameters))
    return {
        **{x: marks(state) for x, state in states.items() if isinstance(state, History)},
        **dict.fromkeys([*sorted(links), *sorted(map(_subject_of_share, shares))], ()),
    }


def _subject_of_share(share: Share) -> Subject:
    return share_subject(share.reader, share.memory, share.tag)


def _place(subject: Subject) -> dict[str, object]:
    return {"kind": subject.kind, "name": subject.name}


# The functions below run inside a transaction of the caller.


def keep_numbers(transaction: Owned, numbers: dict[Subject, int]) -> None:
    """Keep the numbers that the server gave."""
    transaction.change_each(
        "keep_peer_number",
        [_place(subject) | {"number": number} for subject, number in numbers.items()],
    )


def keep_conflict(transaction: Owned, conflict: SyncConflict) -> Subject:
    """Keep a conflict, in place of an earlier record of it; its subject."""
    subject = conflict_subject(conflict)
    records = transaction.rows("conflicts_named", {"names": [subject.name]})
    known = [rows.to_conflict(columns) for _, *columns in records]
    kept = rows.from_conflict(conflict._replace(number=known[0].number if known else 0))
    transaction.change("remove_conflict_named", kept)
    transaction.change("keep_conflict", kept)
    return subject
