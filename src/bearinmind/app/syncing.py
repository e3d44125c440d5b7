"""The verbs of syncing: with a server, and as one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal

from bearinmind.app.admission import Admission
from bearinmind.changes import Change, Peer, SubjectKind, SyncConflict, digest
from bearinmind.errors import ConflictNotFound, InvalidInput, OtherPeer, PeerNotFound
from bearinmind.protocols import Store
from bearinmind.remember.admit import check_user
from bearinmind.remember.pipeline import Changes, Remember
from bearinmind.sync import shared_copies
from bearinmind.sync.model import (
    CHANGED,
    NEVER_SENT,
    ConflictDetail,
    PendingChange,
    Server,
    SharingServer,
    SyncReport,
    SyncServer,
    SyncStatus,
)
from bearinmind.sync.replica import Replica
from bearinmind.sync.server_side import ServerSide, new_epoch
from bearinmind.types import Memory, MemoryId, Scope
from bearinmind.work.background import Background

Keep = Literal["served", "other"]
_LISTED = 50  # pending changes that a status names one by one
_PAGE = 500
_CONFLICTS = 1_000  # that are listed at once


class SyncVerbs:
    """What a Bear in Mind does about memories that are on several machines."""

    scope: Scope
    _store: Store
    _clock: Callable[[], datetime]
    _remember: Remember
    _background: Background

    # ---- a replica -----------------------------------------------------------------------------

    def connect_peer(self, url: str, user: str) -> Peer:
        """Have these memories synced with a server, where their owner has the same name.

        Everything that is here counts as not sent; what the server has already is recognised.

        Raises:
            OtherPeer: they are synced with another server.
        """
        known = self._store.peer(self.scope)
        if known is not None:
            if known.url != url:
                raise OtherPeer(f"these memories are synced with {known.url} already")
            return known
        self._store.open_feed(self.scope, new_epoch())
        peer = Peer(url=url, user=check_user(user))
        self._store.keep_peer(self.scope, peer)
        return peer

    def disconnect_peer(self) -> Peer:
        """Sync no more, and forget the server; own memories stay, others' are removed.

        Raises:
            PeerNotFound: they are not synced.
        """
        peer = self._peer()
        others = shared_copies.held(self._store, self.scope, self._clock())
        shared_copies.purge(self._store, self.scope, [(each.owner, each.id) for each in others])
        self._store.close_feed(self.scope)
        return peer

    def peer(self) -> Peer | None:
        """The server that these memories are synced with, if they are."""
        return self._store.peer(self.scope)

    def sync_with(
        self, server: Server, advance: Callable[[int], None] = lambda _: None
    ) -> SyncReport:
        """Pull, push and look at what others share, once; what could not be done is in the report.

        Raises:
            PeerNotFound: they are not synced.
        """
        self._peer()
        report = replace(self._replica(server), advance=advance).round()
        if report.pull_error is None or report.push_error is None:  # the server is there
            self._shared_copies(server).sync(report)
        if report.pulled or report.mirrored:
            self._background.nudge()
        return report

    def _replica(self, server: SyncServer) -> Replica:
        return Replica(
            store=self._store,
            scope=self.scope,
            server=server,
            sealing=self._remember.boundary,
            clock=self._clock,
        )

    def _shared_copies(self, server: SharingServer) -> shared_copies.SharedCopies:
        return shared_copies.SharedCopies(
            store=self._store, scope=self.scope, server=server, clock=self._clock
        )

    def sync_status(self) -> SyncStatus:
        """What the server has not been told yet, and why.

        Raises:
            PeerNotFound: they are not synced.
        """
        peer = self._peer()
        counts: Counter[SubjectKind] = Counter()
        refused: list[Change] = []
        others: list[Change] = []
        number_refused = 0
        for change in self._pending():
            counts[change.subject.kind] += 1
            number_refused += change.refused is not None
            named = others if change.refused is None else refused
            if len(named) < _LISTED:
                named.append(change)
        return SyncStatus(
            peer=peer,
            pending={kind: counts[kind] for kind in SubjectKind if counts[kind]},
            refused=number_refused,
            listed=self._named([*refused, *others][:_LISTED]),
            conflicts=len(self._store.conflicts(self.scope, _CONFLICTS)),
            mirrored=shared_copies.counted(self._store, self.scope, self._clock()),
        )

    def _pending(self) -> Iterator[Change]:
        after = 0
        while found := self._store.changes(self.scope, after, _PAGE):
            yield from found
            after = found[-1].number

    def _named(self, changes: Sequence[Change]) -> tuple[PendingChange, ...]:
        told = self._store.peer_numbers(self.scope, [change.subject for change in changes])
        return tuple(
            PendingChange(
                change.subject,
                change.refused or (CHANGED if change.subject in told else NEVER_SENT),
            )
            for change in changes
        )

    # ---- conflicts -----------------------------------------------------------------------------

    def conflicts(self, limit: int = _CONFLICTS) -> Sequence[ConflictDetail]:
        """Where machines contradicted each other and nobody has decided, oldest first."""
        return [*map(self._detail, self._store.conflicts(self.scope, limit))]

    def resolve_conflict(self, number: int, keep: Keep | None = None) -> ConflictDetail:
        """Take a conflict off the list; with `other`, what is not served becomes the present one.

        Raises:
            ConflictNotFound: it is not on the list.
            InvalidInput: there is no other version to keep.
        """
        found = [x for x in self.conflicts() if x.conflict.number == number]
        if not found:
            raise ConflictNotFound(f"there is no conflict {number}")
        if keep == "other":
            self._make_present(found[0])
        self._store.resolve_conflict(self.scope, number, self._clock())
        return found[0]

    def _detail(self, conflict: SyncConflict) -> ConflictDetail:
        if conflict.subject.kind is not SubjectKind.MEMORY:
            return ConflictDetail(conflict=conflict)
        versions = self._store.versions(self.scope, MemoryId(conflict.subject.parts[0]))
        by_digest = {digest(version): version for version in versions}
        return ConflictDetail(
            conflict=conflict,
            served=by_digest.get(conflict.served),
            other=by_digest.get(conflict.other),
            present=versions[-1] if versions else None,
        )

    def _make_present(self, found: ConflictDetail) -> None:
        """Make the version that is not served the present one, as an update does."""
        other, present = found.other, found.present
        if other is None or present is None:
            raise InvalidInput(
                f"conflict {found.conflict.number} has no other version to keep",
                hint="Change the memory or the link as it should be, and resolve it with `served`.",
            )
        if present.deleted_at is not None and other.deleted_at is None:
            present = self._remember.restore(self.scope, present)
        if present.deleted_at is None:
            present = self._remember.update(self.scope, present, self._changes_to(other))
        if other.deleted_at is not None and present.deleted_at is None:
            self._remember.delete(self.scope, present)
        self._background.nudge()

    def _changes_to(self, other: Memory) -> Changes:
        """What makes a memory say what another version of it says."""
        content = other.content
        if other.sensitive:
            content = self._remember.reveal(self.scope, other)
        return Changes(
            content=content,
            category=other.category,
            tags=other.tags,
            keywords=other.keywords,
            importance=other.importance,
            sensitive=other.sensitive,
            valid_from=other.valid_from,
            valid_to=other.valid_to,
            always_valid=True,  # the span that it has now is taken away first
            provenance=other.provenance,
        )

    def _peer(self) -> Peer:
        peer = self.peer()
        if peer is None:
            raise PeerNotFound
        return peer

    # ---- a server ------------------------------------------------------------------------------

    def sync_server(self) -> ServerSide:
        """These memories as a server that replicas of their owner sync with.

        Raises:
            OtherPeer: they are a replica themselves: there is one server for all.
        """
        peer = self.peer()
        if peer is not None:
            raise OtherPeer(
                f"these memories are a replica of those on {peer.url}",
                hint=f"Sync with {peer.url} instead.",
            )
        admission = Admission(store=self._store, scope=self.scope, remember=self._remember)
        return ServerSide(store=self._store, scope=self.scope, admit=admission, clock=self._clock)

    def number_anew(self) -> None:
        """Number the changes of a server anew, after it was restored from a backup.

        Every replica then tells what is missing here. It is needed only when nobody would notice:
        a replica that has seen more changes than there are has the numbering begin anew by itself.
        """
        self.sync_server()
        self._store.close_feed(self.scope)
        self._store.open_feed(self.scope, new_epoch())
