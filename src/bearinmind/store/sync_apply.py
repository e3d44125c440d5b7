"""Applies the changes of other stores to a store."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bearinmind.changes import LinkState, ShareState, Subject, SubjectKind, Verdict
from bearinmind.errors import KeyRetired, MindError, SupersedeCycle
from bearinmind.proposals import CONCEALED
from bearinmind.protocols import Gone, History, Received, Sealed
from bearinmind.receipts import Receipts, flaw_of, last_kept, versions_kept
from bearinmind.store import memories, queues, rows, sync_feed, versions
from bearinmind.store.database import Database, Owned
from bearinmind.store.queues import link_row
from bearinmind.store.versions import BulkInsert, content_hashes
from bearinmind.types import Memory, MemoryId, Scope

_NOTHING = History(versions=())


class SyncInDatabase(sync_feed.FeedInDatabase):
    """Satisfies `bearinmind.protocols.Syncing`, but for vectors, which are in `spaces`."""

    def receive(self, scope: Scope, received: Sequence[Received]) -> list[Verdict]:
        with self._writing(scope) as transaction:
            reception = _Reception(self._database, transaction, received)
            for each in received:
                reception.consider(each)
            verdicts = reception.end()
        if reception.text_is_gone:
            self.scrub()
        return verdicts


class _Reception:
    """States that are received in one transaction. New memories are kept together, at the end."""

    def __init__(
        self, database: Database, transaction: Owned, received: Sequence[Received]
    ) -> None:
        self._database = database
        self._transaction = transaction
        subjects = [each.subject for each in received if each.subject.is_sound]
        self._receipts = Receipts(
            sync_feed.numbers_in("change_numbers", transaction.rows, subjects)
        )
        memories = [subject for subject in subjects if subject.kind is SubjectKind.MEMORY]
        self._present = sync_feed.states_in(transaction.rows, memories)
        self._new: dict[Subject, History] = {}
        self._peer_numbers: dict[Subject, int] = {}
        self._retired: frozenset[str] | None = None
        self.text_is_gone = False  #: the text of some version was removed

    def consider(self, received: Received) -> None:
        """Apply one received state, or refuse it."""
        if self._receipts.is_stale(received):
            self._receipts.stale(received)
            return
        refusal = flaw_of(self._transaction.owner, received) or self._refusal(received)
        if refusal is not None:
            self._receipts.refuse(received, refusal)
            return
        conflicts = []
        if received.conflict is not None:
            conflicts.append(sync_feed.keep_conflict(self._transaction, received.conflict))
        self._take(received, conflicts)
        if received.peer_number is not None:
            self._peer_numbers[received.subject] = received.peer_number

    def end(self) -> list[Verdict]:
        """Keep what is new and number what changed; the verdict on each state."""
        self._keep_new()
        if self.text_is_gone:
            versions.scrub_index(self._database, self._transaction)
        sync_feed.keep_numbers(self._transaction, self._peer_numbers)
        for kind, names in sync_feed.by_kind(self._receipts.settled).items():
            self._transaction.change("forget_changes", {"kind": kind, "names": names})
        return self._receipts.verdicts(sync_feed.note(self._transaction, self._receipts.noted))

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
                memories.refuse_cycle(self._transaction, link)
        except SupersedeCycle as error:
            return error
        return None

    def _refused_key(self, records: Sequence[Sealed]) -> KeyRetired | None:
        if not records:
            return None
        if self._retired is None:
            self._retired = versions.retired_keys(self._transaction)
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
            sync_feed.keep_conflict(self._transaction, state.conflict)
        self._receipts.take(received, besides=besides)

    def _history(self, subject: Subject) -> History:
        """The stored history of a memory."""
        if subject in self._new:  # it came a moment ago
            return self._new[subject]
        state = self._present.get(subject)
        return state if isinstance(state, History) else _NOTHING

    def _take_purge(self, received: Received, state: Gone, besides: Sequence[Subject]) -> None:
        [id_] = map(MemoryId, received.subject.parts)
        self._keep_new()
        going = sync_feed.changes_of_purge(self._transaction, [id_])
        had = going.pop(received.subject, ())
        if had or going:
            versions.purge_memories(self._transaction, [id_])
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
            versions.remove_versions_after(self._transaction, id_, last_kept(state, kept))
            texts = {memory.content for memory in present.versions[kept:]}
            self.text_is_gone |= not texts <= {memory.content for memory in state.versions}
        if kept:
            self._append(state, kept, closed=kept < len(present.versions))
        else:
            self._new[subject] = state
        self._present[subject] = state
        if _is_sealed_away(present.versions[kept:], state.versions):
            queues.redact_proposals(self._transaction, [id_], CONCEALED)

    def _append(self, state: History, kept: int, *, closed: bool) -> None:
        """Add the versions after the last that is kept; each closes the one before."""
        pairs = zip(pairwise(state.versions), content_hashes(state)[1:], strict=True)
        for (before, memory), known_by in [*pairs][kept - 1 :]:
            if not closed:
                versions.close_version(self._database, self._transaction, before, memory.updated_at)
            versions.insert_version(self._database, self._transaction, memory, known_by)
            closed = False
        last = last_kept(state, kept)
        records = [record for record in state.sealed if record.version > last]
        versions.keep_sealed(self._transaction, records)

    def _take_links(self, subject: Subject, state: LinkState) -> None:
        source, kind, target = subject.parts
        named = {"source": source, "kind": kind, "target": target}
        self._transaction.change("remove_link_named", named)
        links = [link_row(self._transaction, link) for link in state.links]
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
