"""The numbered changes of a store, their present states, and how it takes those of others."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from bearinmind.changes import (
    Change,
    ConflictState,
    Feed,
    LinkState,
    Peer,
    Refused,
    ShareState,
    Stale,
    Subject,
    SubjectKind,
    SyncConflict,
    Taken,
    Verdict,
    conflict_subject,
    flaw_of,
    last_kept,
    link_subject,
    marks,
    memory_subject,
    share_subject,
    versions_kept,
)
from bearinmind.errors import KeyRetired, MindError, SupersedeCycle
from bearinmind.proposals import CONCEALED
from bearinmind.protocols import Gone, History, Received, Sealed, Settled, SubjectState
from bearinmind.store import rows, writes
from bearinmind.store.database import Database, Parameters, Row
from bearinmind.store.rows import OnDatabase, Owned
from bearinmind.store.writes import BulkInsert, content_hashes, place_of
from bearinmind.types import LinkKind, Memory, MemoryId, Scope, Share

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


class SyncInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Syncing`, but for vectors, which are in `spaces`."""

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
                [place_of(each.subject) | {"number": each.number} for each in settled],
            )

    def refuse(self, scope: Scope, subject: Subject, number: int, reason: str) -> None:
        with self._writing(scope) as transaction:
            refused = {"number": number, "reason": reason}
            transaction.change("refuse_change", place_of(subject) | refused)

    def conflicts(self, scope: Scope, limit: int, *, every: bool = False) -> list[SyncConflict]:
        records = self._read(scope, "conflicts", limit=limit, every=every)
        return [*map(rows.to_conflict, records)]

    def resolve_conflict(self, scope: Scope, number: int, at: datetime) -> bool:
        with self._writing(scope) as transaction:
            resolved = {"number": number, "at": rows.from_time(at)}
            records = transaction.rows("resolve_conflict", resolved)
            writes.note(
                transaction, {conflict_subject(rows.to_conflict(row)): () for row in records}
            )
        return bool(records)

    def receive(self, scope: Scope, received: Sequence[Received]) -> list[Verdict]:
        with self._writing(scope) as transaction:
            reception = _Reception(self._database, transaction, received)
            for each in received:
                reception.consider(each)
            verdicts = reception.end()
        if reception.text_is_gone:
            self.scrub()
        return verdicts


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


#: The statement that reads the states of a kind, and how the rows of one name become its state.
_STATES: Mapping[SubjectKind, tuple[str, Callable[[Sequence[Row]], SubjectState]]] = {
    SubjectKind.MEMORY: ("histories_of", _to_history),
    SubjectKind.LINK: ("links_named", lambda found: LinkState(tuple(map(rows.to_link, found)))),
    SubjectKind.SHARE: (
        "shares_named",
        lambda found: ShareState(rows.to_share(found[0]) if found else None),
    ),
    SubjectKind.CONFLICT: (
        "conflicts_named",
        lambda found: ConflictState(
            rows.to_conflict(found[0])._replace(number=0) if found else None
        ),
    ),
}


# ---- numbering changes, inside a transaction of the caller ---------------------------------------


def note_share(transaction: Owned, share: Share) -> None:
    """Number the begin or end of a share."""
    writes.note(transaction, {_subject_of_share(share): ()})


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


def keep_numbers(transaction: Owned, numbers: dict[Subject, int]) -> None:
    """Keep the numbers that the server gave."""
    transaction.change_each(
        "keep_peer_number",
        [place_of(subject) | {"number": number} for subject, number in numbers.items()],
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


# ---- what is received ----------------------------------------------------------------------------

Noted = dict[Subject, tuple[str, ...]]  #: what changed, in order; of a purged memory its digests
_NOTHING = History(versions=())


class _Receipts:
    """Says which of the received states are taken, and what is to be numbered for it.

    Whether a thing changed meanwhile goes by the numbers from before all of them: what one of them
    brings about, such as a purge that ends links, does not make the others stale.
    """

    def __init__(self, numbers: Mapping[Subject, int]) -> None:
        self._before = numbers
        self._verdicts: list[tuple[Subject, Callable[[int], Verdict]]] = []  # by the new number
        self._pending: dict[Subject, bool] = {}  # of what was taken: whether it has a new number
        self._noted: dict[Subject, tuple[str, ...] | None] = {}  # None: settled

    def is_stale(self, received: Received) -> bool:
        """Whether a subject has another number than the sender of its state knew."""
        if self._pending.get(received.subject):
            return True  # it was taken a moment ago, and nobody knows its new number yet
        before = self._before.get(received.subject, 0)
        return received.expected != (0 if received.subject in self._pending else before)

    def stale(self, received: Received) -> None:
        """Refuse a state whose subject has another number by now."""
        self._verdicts.append((received.subject, Stale))

    def refuse(self, received: Received, error: MindError) -> None:
        """Refuse a state that cannot be taken as it is."""
        self._verdicts.append((received.subject, lambda _: Refused(error)))

    def take(
        self, received: Received, gone: Sequence[str] = (), besides: Sequence[Subject] = ()
    ) -> None:
        """Take a state; `besides` changed with it, as the links of a purged memory do."""
        self._verdicts.append((received.subject, Taken))
        self._pending[received.subject] = not received.settled
        self._note(received.subject, None if received.settled else tuple(gone))
        for subject in besides:
            self._note(subject, ())

    def _note(self, subject: Subject, gone: tuple[str, ...] | None) -> None:
        self._noted.pop(subject, None)  # its place is that of its last change
        self._noted[subject] = gone

    @property
    def noted(self) -> Noted:
        """The changes that get the next numbers."""
        return {subject: gone for subject, gone in self._noted.items() if gone is not None}

    @property
    def settled(self) -> list[Subject]:
        """The subjects that lose their numbers."""
        return [subject for subject, gone in self._noted.items() if gone is None]

    def verdicts(self, given: Mapping[Subject, int]) -> list[Verdict]:
        """A verdict for each, once the next numbers were given."""
        after = {**self._before, **dict.fromkeys(self.settled, 0), **given}
        return [verdict(after.get(subject, 0)) for subject, verdict in self._verdicts]


class _Reception:
    """States that are received in one transaction. New memories are kept together, at the end."""

    def __init__(
        self, database: Database, transaction: Owned, received: Sequence[Received]
    ) -> None:
        self._database = database
        self._transaction = transaction
        subjects = [each.subject for each in received if each.subject.is_sound]
        self._receipts = _Receipts(numbers_in("change_numbers", transaction.rows, subjects))
        memories = [subject for subject in subjects if subject.kind is SubjectKind.MEMORY]
        self._present = states_in(transaction.rows, memories)
        self._new: dict[Subject, History] = {}
        self._peer_numbers: dict[Subject, int] = {}
        self._retired: frozenset[str] | None = None
        self.text_is_gone = False  #: the text of some version was removed

    def consider(self, received: Received) -> None:
        if self._receipts.is_stale(received):
            self._receipts.stale(received)
            return
        refusal = flaw_of(self._transaction.owner, received) or self._refusal(received)
        if refusal is not None:
            self._receipts.refuse(received, refusal)
            return
        conflicts = []
        if received.conflict is not None:
            conflicts.append(keep_conflict(self._transaction, received.conflict))
        self._take(received, conflicts)
        if received.peer_number is not None:
            self._peer_numbers[received.subject] = received.peer_number

    def end(self) -> list[Verdict]:
        """Keep what is new and number what changed; the verdict on each state."""
        self._keep_new()
        if self.text_is_gone:
            writes.scrub_index(self._database, self._transaction)
        keep_numbers(self._transaction, self._peer_numbers)
        for kind, names in by_kind(self._receipts.settled).items():
            self._transaction.change("forget_changes", {"kind": kind, "names": names})
        return self._receipts.verdicts(writes.note(self._transaction, self._receipts.noted))

    def _keep_new(self) -> None:
        arrivals = BulkInsert(self._database, self._transaction)
        arrivals.take(self._new.values())
        arrivals.keep()
        self._new.clear()

    # ---- what is refused -----------------------------------------------------------------------

    def _refusal(self, received: Received) -> MindError | None:
        """Why a state is refused; None when it is not."""
        if isinstance(received.state, History):
            return self._refused_key(self._tail(received.subject, received.state))
        try:
            for link in received.state.links if isinstance(received.state, LinkState) else ():
                writes.refuse_cycle(self._transaction, link)
        except SupersedeCycle as error:
            return error
        return None

    def _refused_key(self, records: Sequence[Sealed]) -> KeyRetired | None:
        if not records:
            return None
        if self._retired is None:
            self._retired = writes.retired_keys(self._transaction)
        gone = sorted({record.key_id for record in records} & self._retired)
        return KeyRetired(f"the key {gone[0]} was rotated away") if gone else None

    def _tail(self, subject: Subject, state: History) -> list[Sealed]:
        """The sealed records that are not stored yet."""
        last = last_kept(state, versions_kept(self._history(subject), state))
        return [record for record in state.sealed if record.version > last]

    # ---- what is taken -------------------------------------------------------------------------

    def _take(self, received: Received, besides: Sequence[Subject]) -> None:
        subject, state = received.subject, received.state
        if isinstance(state, Gone):
            self._take_purge(received, state, besides)
            return
        if isinstance(state, History):
            self._take_history(subject, state)
        elif isinstance(state, LinkState):
            self._take_links(subject, state)
        elif isinstance(state, ShareState):
            self._take_share(subject, state)
        elif state.conflict is not None:
            keep_conflict(self._transaction, state.conflict)
        self._receipts.take(received, besides=besides)

    def _history(self, subject: Subject) -> History:
        if subject in self._new:  # it came a moment ago
            return self._new[subject]
        state = self._present.get(subject)
        return state if isinstance(state, History) else _NOTHING

    def _take_purge(self, received: Received, state: Gone, besides: Sequence[Subject]) -> None:
        [id_] = map(MemoryId, received.subject.parts)
        self._keep_new()
        going = changes_of_purge(self._transaction, [id_])
        had = going.pop(received.subject, ())
        if had or going:
            writes.purge_memories(self._transaction, [id_])
        self.text_is_gone |= bool(had)
        self._present.pop(received.subject, None)
        gone = [*dict.fromkeys([*state.digests, *had])]
        self._receipts.take(received, gone, besides=[*going, *besides])

    def _take_history(self, subject: Subject, state: History) -> None:
        present = self._history(subject)
        if subject in self._new:
            self._keep_new()
        kept = versions_kept(present, state)
        [id_] = map(MemoryId, subject.parts)
        if kept < len(present.versions):
            writes.remove_versions_after(self._transaction, id_, last_kept(state, kept))
            texts = {memory.content for memory in present.versions[kept:]}
            self.text_is_gone |= not texts <= {memory.content for memory in state.versions}
        if kept:
            self._append(state, kept, closed=kept < len(present.versions))
        else:
            self._new[subject] = state
        self._present[subject] = state
        if _is_sealed_away(present.versions[kept:], state.versions):
            writes.redact_proposals(self._transaction, [id_], CONCEALED)

    def _append(self, state: History, kept: int, *, closed: bool) -> None:
        """Add the versions after the last that is kept; each closes the one before."""
        pairs = zip(pairwise(state.versions), content_hashes(state)[1:], strict=True)
        for (before, memory), known_by in [*pairs][kept - 1 :]:
            if not closed:
                writes.close_version(self._database, self._transaction, before, memory.updated_at)
            writes.insert_version(self._database, self._transaction, memory, known_by)
            closed = False
        last = last_kept(state, kept)
        records = [record for record in state.sealed if record.version > last]
        writes.keep_sealed(self._transaction, records)

    def _take_links(self, subject: Subject, state: LinkState) -> None:
        source, kind, target = subject.parts
        named = {"source": source, "kind": kind, "target": target}
        self._transaction.change("remove_link_named", named)
        links = [writes.link_row(self._transaction, link) for link in state.links]
        self._transaction.change_each("insert_link", links)

    def _take_share(self, subject: Subject, state: ShareState) -> None:
        self._transaction.change("remove_share_named", {"names": [subject.name]})
        if state.share is not None:
            [number] = self._transaction.numbers(1)
            share = rows.from_share(state.share) | {"number": number}
            self._transaction.change("insert_share", share)


def _is_sealed_away(before: Sequence[Memory], after: Sequence[Memory]) -> bool:
    """Whether the text of a version is nowhere after the memory became sensitive elsewhere."""
    texts = {memory.content for memory in after}
    gone = [each for each in before if not each.sensitive and each.content not in texts]
    return bool(gone) and any(memory.sensitive for memory in after)
