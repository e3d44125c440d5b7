"""How a store in memory takes in the changes of others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from bearinmind.changes import LinkState, ShareState, Subject, Verdict, digest, memory_subject
from bearinmind.errors import KeyRetired, SupersedeCycle
from bearinmind.protocols import Gone, History, Received, SpaceState
from bearinmind.receipts import Receipts, flaw_of, last_kept, marks, versions_kept
from bearinmind.testing.feeds import subject_of
from bearinmind.testing.holdings import Holdings, Row, owned_by
from bearinmind.testing.inbox import InboxInMemory
from bearinmind.testing.queue import is_readable
from bearinmind.testing.sharing import shared
from bearinmind.testing.syncing import FeedInMemory
from bearinmind.testing.vectors import EMBED, as_kept
from bearinmind.types import MemoryId, Scope, Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vector


class SyncingInMemory(InboxInMemory, FeedInMemory):
    """Satisfies `bearinmind.protocols.Syncing`."""

    _retired: dict[str, datetime]

    def _write(
        self, scope: Scope, *, noted: bool = True
    ) -> AbstractContextManager[Holdings]:  # pragma: no cover (the store's own)
        raise NotImplementedError

    def receive(self, scope: Scope, received: Sequence[Received]) -> list[Verdict]:
        """Give each thing its state, unless it changed meanwhile; one transaction for all."""
        with self._lock:
            receipts = Receipts(self.numbers(scope, [each.subject for each in received]))
            with self._write(scope, noted=False) as owned:
                for each in received:
                    self._receive(scope, owned, each, receipts)
            self._note(scope, receipts.noted)
            for subject in receipts.settled:
                self._changes(scope).pop(subject, None)
            return receipts.verdicts(self.numbers(scope, [*receipts.noted]))

    def _receive(
        self, scope: Scope, owned: Holdings, received: Received, receipts: Receipts
    ) -> None:
        if receipts.is_stale(received):
            receipts.stale(received)
            return
        flaw = flaw_of(scope.user, received)
        if flaw is not None:
            receipts.refuse(received, flaw)
            return
        try:
            gone, besides = self._take(scope, owned, received)
        except (KeyRetired, SupersedeCycle) as error:
            receipts.refuse(received, error)
            return
        if received.conflict is not None:
            besides = [*besides, self._keep_conflict(scope, received.conflict)]
        receipts.take(received, gone, besides)
        if received.peer_number is not None:
            self._synced[scope.user].numbers[received.subject] = received.peer_number

    def _take(
        self, scope: Scope, owned: Holdings, received: Received
    ) -> tuple[Sequence[str], Sequence[Subject]]:
        """Give a thing its state; of a purged memory its digests, and what went with it."""
        state = received.state
        if isinstance(state, Gone):
            return self._purge_one(scope, owned, MemoryId(received.subject.parts[0]), state)
        if isinstance(state, History):
            self._take_history(scope, owned, received.subject, state)
        elif isinstance(state, LinkState):
            _take_links(owned, received.subject, state)
        elif isinstance(state, ShareState):
            self._take_share(scope, received.subject, state)
        elif state.conflict is not None:
            self._keep_conflict(scope, state.conflict)
        return (), ()

    def _purge_one(
        self, scope: Scope, owned: Holdings, id: MemoryId, state: Gone
    ) -> tuple[Sequence[str], Sequence[Subject]]:
        gone = [*dict.fromkeys([*state.digests, *marks(owned.history(memory_subject(id)))])]
        links = {subject_of(link) for link in owned.links if id in (link.source, link.target)}
        owned.forget(frozenset([id]))
        self._redact(scope, [id])
        return gone, [*sorted(links), *self._forget_shares(scope, frozenset([id]))]

    def _take_history(
        self, scope: Scope, owned: Holdings, subject: Subject, state: History
    ) -> None:
        present = owned.history(subject)
        kept = versions_kept(present, state)
        last = last_kept(state, kept)
        records = [record for record in state.sealed if record.version > last]
        for record in records:
            if record.key_id in self._retired:
                raise KeyRetired(f"the key {record.key_id} was rotated away")
        owned.forget_behind(subject, last)
        ends = [later.updated_at for later in state.versions[1:]]
        if 0 < kept == len(present.versions) < len(state.versions):
            owned.close(owned.at(None)[state.versions[0].id], ends[kept - 1])
        for memory, end in [*zip(state.versions, [*ends, None], strict=True)][kept:]:
            owned.insert(owned_by(scope.user, memory), end)
        owned.sealed.extend(records)

    def _take_share(self, scope: Scope, subject: Subject, state: ShareState) -> None:
        held = [share for share in self.shares(scope) if shared(share) == subject]
        self._shares = [share for share in self._shares if share not in held]
        if state.share is not None:
            self._shares.append(replace(state.share, owner=scope.user))

    # ---- vectors -------------------------------------------------------------------------------

    def vectors_of(
        self, scope: Scope, space: Space, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, Vector]:
        """The vectors of the present versions of these memories, as far as they are embedded."""
        with self._lock:
            held = self._holdings[scope.user].at(None)
            vectors = self._active(space) or {}
            return {
                id_: vectors[held[id_].number]
                for id_ in ids
                if id_ in held and held[id_].number in vectors
            }

    def carry_vectors(
        self, scope: Scope, space: Space, vectors: Mapping[MemoryId, tuple[str, Vector]]
    ) -> int:
        """Take vectors that were made elsewhere, for the present versions with these digests."""
        with self._lock:
            kept = self._active(space)
            if kept is None:
                return 0
            held = self._holdings[scope.user].at(None)
            wanted: dict[int, Vector] = {
                held[id_].number: as_kept(space, vector)
                for id_, (told, vector) in vectors.items()
                if id_ in held and _lacks(held[id_], told, kept)
            }
            kept.update(wanted)
            self._drop(lambda x: (x.kind, x.target) == (EMBED, space.key) and x.row in wanted)
            return len(wanted)

    def _active(self, space: Space) -> dict[int, Vector] | None:
        """The vectors of a space by row, if it is the active one."""
        kept = self._kept.get(space.key)
        return kept.vectors if kept and kept.state is SpaceState.ACTIVE else None


def _lacks(row: Row, told: str, vectors: Mapping[int, Vector]) -> bool:
    """Whether a version is the one that was embedded elsewhere, and has no vector yet."""
    return is_readable(row) and row.number not in vectors and digest(row.memory) == told


def _take_links(owned: Holdings, subject: Subject, state: LinkState) -> None:
    before = [*owned.links]
    owned.links[:] = [link for link in owned.links if subject_of(link) != subject]
    try:
        for link in state.links:
            owned.link(link)
    except SupersedeCycle:
        owned.links[:] = before
        raise
