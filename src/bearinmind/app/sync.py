"""Memories on other machines and in other stores: sync, import and export."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bearinmind import errors
from bearinmind.changes import (
    MOST_CONFLICTS,
    Change,
    Peer,
    Subject,
    SubjectKind,
    SyncConflict,
    digest,
)
from bearinmind.config import state_folder
from bearinmind.curate.contradictions import propose_claims, propose_disagreements
from bearinmind.protocols import History, Sealed, Store
from bearinmind.recall import history
from bearinmind.remember.admit import check_user, draft_values
from bearinmind.remember.from_replica import Admission
from bearinmind.remember.pipeline import Changes, Remember
from bearinmind.sync import shared_copies
from bearinmind.sync.model import (
    CHANGED,
    NEVER_SENT,
    ConflictDetail,
    PendingChange,
    Server,
    SyncStatus,
)
from bearinmind.sync.replica import Replica, SyncReport
from bearinmind.sync.server_side import ServerSide, new_epoch
from bearinmind.sync.shared_copies import SharedCopies
from bearinmind.text import ids
from bearinmind.text.addresses import absolute, is_loopback, split_url
from bearinmind.types import Decider, Link, LinkKind, Memory, MemoryId, Outcome, Resolution, Scope
from bearinmind.vault.seal import SealingVault
from bearinmind.work.rounds import Rounds
from bearinmind.work.worker_lock import WorkerLock

if TYPE_CHECKING:
    from pydantic import SecretStr

    from bearinmind.app.mind import Mind
    from bearinmind.sync.wire import HttpSyncServer

Keep = Literal["served", "other"]
LOCK = "sync"  #: the lock of a store whose holder syncs it
_LISTED = 50  # pending changes that a status names one by one
_PAGE = 500
_CONFLICTS = 1_000  # that are listed at once
_FIRST_PAGE = 10  # changes are enough to see which user the key belongs to
_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    """The memories of one user on several machines: one server, any number of replicas."""

    store: Store
    scope: Scope
    clock: Callable[[], datetime]
    remember: Remember
    nudge: Callable[[], None]  #: says that a job was queued

    # ---- a replica -----------------------------------------------------------------------------

    def connect(self, url: str, user: str) -> Peer:
        """Make these memories a replica of a server, where their owner has the same name.

        Every memory counts as not sent yet; the server recognises what it has already.
        """
        present = self.peer()
        if present is not None:
            if present.url != url:
                raise errors.OtherPeer(f"these memories are synced with {present.url} already")
            return present
        self.store.open_feed(self.scope, new_epoch())
        peer = Peer(url=url, user=check_user(user))
        self.store.keep_peer(self.scope, peer)
        return peer

    def disconnect(self) -> Peer:
        """Stop syncing and forget the server; own memories stay, copies of others' are removed."""
        peer = self.known_peer()
        copies = shared_copies.held(self.store, self.scope, self.clock())
        shared_copies.purge(self.store, self.scope, [(copy.owner, copy.id) for copy in copies])
        self.store.close_feed(self.scope)
        return peer

    def peer(self) -> Peer | None:
        """The server that these memories are synced with, if they are."""
        return self.store.peer(self.scope)

    def known_peer(self) -> Peer:
        """The server that these memories are synced with; raises `PeerNotFound` if they are not."""
        peer = self.peer()
        if peer is None:
            raise errors.PeerNotFound
        return peer

    def run(self, server: Server, advance: Callable[[int], None] = lambda _: None) -> SyncReport:
        """Pull, push and fetch what others share, once; the report names what failed."""
        self.known_peer()
        arrived: list[Subject] = []
        replica = Replica(
            store=self.store,
            scope=self.scope,
            server=server,
            sealing=self.remember.boundary,
            clock=self.clock,
            advance=advance,
            arrived=arrived.extend,
        )
        report = replica.round()
        self._claims(arrived)  # at the end: a link may come before its memory
        if report.pull_error is None or report.push_error is None:  # the server answers
            copies = SharedCopies(
                store=self.store, scope=self.scope, server=server, clock=self.clock
            )
            copies.sync(report)
        if report.pulled or report.copied:
            self.nudge()
        return report

    def status(self) -> SyncStatus:
        """What was not sent to the server yet, and why."""
        peer = self.known_peer()
        counts: Counter[SubjectKind] = Counter()
        refused: list[Change] = []
        others: list[Change] = []
        number_refused = 0
        after = 0
        while page := self.store.changes(self.scope, after, _PAGE):
            after = page[-1].number
            for change in page:
                counts[change.subject.kind] += 1
                number_refused += change.refused is not None
                named = others if change.refused is None else refused
                if len(named) < _LISTED:
                    named.append(change)
        listed = [*refused, *others][:_LISTED]
        sent = self.store.peer_numbers(self.scope, [change.subject for change in listed])
        return SyncStatus(
            peer=peer,
            pending={kind: counts[kind] for kind in SubjectKind if counts[kind]},
            refused=number_refused,
            listed=tuple(
                PendingChange(
                    x.subject, x.refused or (CHANGED if x.subject in sent else NEVER_SENT)
                )
                for x in listed
            ),
            conflicts=len(self.store.conflicts(self.scope, _CONFLICTS)),
            copied=shared_copies.counted(self.store, self.scope, self.clock()),
        )

    # ---- conflicts -----------------------------------------------------------------------------

    def conflicts(self, limit: int = _CONFLICTS) -> Sequence[ConflictDetail]:
        """The conflicts between machines that nobody has decided yet, oldest first."""
        return [*map(self._detail, self.store.conflicts(self.scope, limit))]

    def resolve(self, number: int, keep: Keep | None = None) -> ConflictDetail:
        """Close a conflict; with `other`, the version that is not served becomes the present."""
        detail = next((x for x in self.conflicts() if x.conflict.number == number), None)
        if detail is None:
            raise errors.ConflictNotFound(f"there is no conflict {number}")
        if keep == "other" and detail.conflict.pair:
            source, _, target = detail.conflict.subject.parts
            newer, older = (history.find(self.store, self.scope, x) for x in (source, target))
            word = Resolution(detail.conflict.other)
            self.remember.resolve(self.scope, newer, [older], word, Decider.PERSON)
        elif keep == "other":
            self._make_present(detail)
        self.store.resolve_conflict(self.scope, number, self.clock())
        return detail

    def _detail(self, conflict: SyncConflict) -> ConflictDetail:
        if conflict.subject.kind is not SubjectKind.MEMORY:
            return ConflictDetail(conflict=conflict)
        versions = self.store.versions(self.scope, MemoryId(conflict.subject.parts[0]))
        by_digest = {digest(version): version for version in versions}
        return ConflictDetail(
            conflict=conflict,
            served=by_digest.get(conflict.served),
            other=by_digest.get(conflict.other),
            present=versions[-1] if versions else None,
        )

    def _make_present(self, detail: ConflictDetail) -> None:
        """Make the version that is not served the present one, as an update does."""
        other, present = detail.other, detail.present
        if other is None or present is None:
            raise errors.InvalidInput(
                f"conflict {detail.conflict.number} has no other version to keep",
                hint="Change the memory or the link as it should be, and resolve it with `served`.",
            )
        if present.deleted_at is not None and other.deleted_at is None:
            present = self.remember.restore(self.scope, present)
        if present.deleted_at is None:
            present = self.remember.update(self.scope, present, self._changes_to(other))
        if other.deleted_at is not None and present.deleted_at is None:
            self.remember.delete(self.scope, present)
        self.nudge()

    def _changes_to(self, other: Memory) -> Changes:
        """The changes that give a memory the fields of another version of it."""
        values = draft_values(other)
        del values["created_at"]  # which no update changes
        if other.sensitive:
            values["content"] = self.remember.reveal(self.scope, other)
        return Changes(**values, always_valid=True)  # its present span is cleared first

    # ---- a server ------------------------------------------------------------------------------

    def server(self) -> ServerSide:
        """These memories as the server of other replicas; a replica cannot be one."""
        peer = self.peer()
        if peer is not None:
            raise errors.OtherPeer(
                f"these memories are a replica of those on {peer.url}",
                hint=f"Sync with {peer.url} instead.",
            )
        admit = Admission(scope=self.scope, remember=self.remember)
        return ServerSide(
            store=self.store, scope=self.scope, admit=admit, clock=self.clock, arrived=self._claims
        )

    def _claims(self, arrived: Sequence[Subject]) -> None:
        """Put the claims among what arrived, and contrary decisions, into the inbox."""
        links = [each.parts for each in arrived if each.kind is SubjectKind.LINK]
        sources = {MemoryId(source) for source, kind, _ in links if kind == LinkKind.SUPERSEDES}
        if sources:
            propose_claims(self.store, self.scope, [*sources], self.clock())
        if found := [x for x in self.store.conflicts(self.scope, MOST_CONFLICTS) if x.pair]:
            propose_disagreements(self.store, self.scope, found)

    def renumber(self) -> None:
        """Number the changes of a server anew, after it was restored from a backup.

        Every replica then sends what is missing here. A replica that has seen more changes than
        the server has starts this by itself; it is needed only when no replica has.
        """
        self.server()
        self.store.close_feed(self.scope)
        self.store.open_feed(self.scope, new_epoch())


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The import and export of the memories of one user."""

    store: Store
    scope: Scope
    remember: Remember
    nudge: Callable[[], None]  #: says that a job was queued
    vault: SealingVault

    def admit(
        self, versions: Sequence[Memory], sealed: Sequence[Sealed] = (), *, made_id: bool = False
    ) -> History:
        """A memory from elsewhere, with its secrets, checked by the rules for a new one.

        With `made_id`, its id was derived from its content: a sensitive one gets another.
        """
        return self.remember.admit_history(self.scope, versions, sealed, made_id=made_id)

    def preview(
        self, versions: Sequence[Memory], *, made_id: bool = False
    ) -> tuple[Memory, Sequence[str]]:
        """What `admit` would make of a memory, and the kinds of secrets in it; nothing is made."""
        memory, kinds = self.remember.preview_history(self.scope, versions)
        if made_id and memory.sensitive and self.vault.keys() is not None:
            digest = self.vault.fingerprint(self.scope.user, memory.content)
            memory = replace(memory, id=ids.derived(digest))
        return memory, kinds

    def known(self, memory: Memory) -> MemoryId | None:
        """The memory of the store that has this id or says the same; None when there is none.

        A deleted one is compared by its id alone.
        """
        if self.store.versions(self.scope, memory.id):
            return memory.id
        if memory.deleted_at is not None:
            return None
        same = self.store.same_content(self.scope, memory)
        return None if same is None else same.id

    def add(
        self, histories: Sequence[History], siblings: Container[MemoryId] = ()
    ) -> Sequence[Outcome | None]:
        """Store admitted memories in one transaction; None where an id is stored already."""
        outcomes = self.store.put_many(self.scope, histories, siblings)
        self.nudge()
        return outcomes

    def add_link(self, link: Link, *, decided: bool = True) -> None:
        """Store a link from elsewhere, with its times; it may be nobody's decision here."""
        self.remember.add_link(self.scope, link, decided=decided)
        if link.kind is LinkKind.SUPERSEDES:
            propose_claims(self.store, self.scope, [link.source], self.remember.clock())

    def links(self) -> Iterator[Link]:
        """Every link ever made, ended ones too."""
        return self.store.all_links(self.scope)


# ---- the connection with a server ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Connects memories with their server."""

    memories: Sync
    key: SecretStr | None  #: of the server, if a setting has it; it comes before the file
    key_file: KeyFile
    timeout: float  #: seconds to wait for one answer

    def connect(self, url: str, key: SecretStr | None, *, insecure: bool = False) -> Peer:
        """Connect the memories with a server that takes the key; nothing is synced yet."""
        text = None if key is None else key.get_secret_value()
        address = split_url(url)  # an invalid one is refused where it is used
        host = (address and address.hostname) or ""
        is_clear = address is not None and address.scheme == "http" and not is_loopback(host)
        if text is not None and is_clear and not insecure:
            raise errors.InvalidSetting(
                f"the key would go to {host!r} in clear",
                hint="Use https://, or say --insecure if nobody can listen in between.",
            )
        with self._server(url, text) as server:
            server.check_writing(server.pull("", 0, _FIRST_PAGE).epoch)
            peer = self.memories.connect(server.url, self.memories.scope.user)
        if text is not None and key != self.key:
            self.key_file.write(text)
        return peer

    def disconnect(self) -> Peer:
        """Stop syncing; the memories stay on both sides."""
        peer = self.memories.disconnect()
        self.key_file.remove()
        return peer

    def server(self) -> HttpSyncServer:
        """The server that the memories are synced with."""
        peer = self.memories.known_peer()
        text = self.key_file.read() if self.key is None else self.key.get_secret_value()
        return self._server(peer.url, text)

    @property
    def has_key(self) -> bool:
        """Whether a setting or the file has a key for the server."""
        return self.key is not None or self.key_file.read() is not None

    def _server(self, url: str, key: str | None) -> HttpSyncServer:
        from bearinmind.sync.wire import HttpSyncServer  # noqa: PLC0415  httpx is slow

        return HttpSyncServer(url, key, self.memories.scope.user, timeout=self.timeout)


@dataclass(frozen=True, slots=True)
class KeyFile:
    """The private file with the key for a store and a user.

    The key is in no store, which may be copied, and in no configuration, which may be shown.
    """

    path: Path

    @classmethod
    def of(cls, folder: Path, store: str, user: str) -> KeyFile:
        """The file in a folder of this machine, for a store by its absolute name."""
        name = hashlib.sha256(f"{store}\0{user}".encode()).hexdigest()[:16]
        return cls(folder / "peers" / f"{name}.key")

    def read(self) -> str | None:
        """The key; None when there is none."""
        try:
            return self.path.read_text("utf-8").strip() or None
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as exc:
            raise errors.StoreReadOnly(
                f"the key in {str(self.path)!r} cannot be read: {exc}",
                hint="Give yourself the right to, or connect again: `bearinmind sync connect URL`.",
            ) from exc

    def write(self, key: str) -> None:
        """Keep a key in a file that nobody else can read."""
        part = self.path.with_suffix(f".{os.getpid()}")
        try:
            self.path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(f"{key}\n")
            part.replace(self.path)
        except OSError as exc:
            raise errors.StoreReadOnly(
                f"the key cannot be kept in {str(self.path)!r}: {exc.strerror}",
                hint="Make the folder writable, or set BEARINMIND_SYNC_KEY.",
            ) from exc

    def remove(self) -> None:
        """Remove the file, if there is one."""
        self.path.unlink(missing_ok=True)


# ---- by the settings ----------------------------------------------------------------------------


def connection(mind: Mind) -> Connection:
    """How these memories are connected with a server."""
    settings = mind.settings
    return Connection(
        memories=mind.sync,
        key=settings.sync_key,
        key_file=KeyFile.of(state_folder(), str(absolute(settings.store)), settings.user),
        timeout=settings.sync_timeout,
    )


def sync_rounds(mind: Mind) -> Rounds[Mind] | None:
    """Start to sync in the background; None when the setting `sync_seconds` is 0.

    Every process that keeps a store open does so. Without the lock it skips a round.
    """
    seconds = mind.settings.sync_seconds
    # A round that closing does not wait for is repeated.
    return Rounds(mind, _sync, name="sync", every=seconds, patience=5.0) if seconds else None


def _sync(mind: Mind, _: object) -> bool:
    """Sync, if the memories have a server and no other process syncs them; whether it did."""
    if mind.sync.peer() is None:
        return False
    with WorkerLock.of(mind.settings.beside, LOCK).held() as taken:
        if not taken:
            return False
        with connection(mind).server() as server:
            report = mind.sync.run(server)
    if report.error is not None:
        raise report.error
    return True


@contextmanager
def in_step(mind: Mind) -> Iterator[None]:
    """Sync in the background for a while."""
    rounds = sync_rounds(mind)
    try:
        yield
    finally:
        if rounds is not None:
            rounds.close()
