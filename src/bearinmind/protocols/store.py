"""A store as a whole, and what it keeps beside memories: secrets, users, their use, and shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol

from bearinmind.changes import Sealed
from bearinmind.concepts import Concept, ConceptName
from bearinmind.protocols.graph import Graph
from bearinmind.protocols.memories import Links, Memories, Syncing
from bearinmind.protocols.search import LexicalSearch, LexicalStatistics, Spaces
from bearinmind.protocols.work import Inbox, Work
from bearinmind.types import Access, Filter, Key, Memory, MemoryId, Right, Scope, Share, UserId


class AuditEntry(NamedTuple):
    """An entry of the audit: who did what, and when."""

    at: datetime
    owner: UserId
    action: str  #: such as "get" of a secret, or "share"
    id: MemoryId | None
    version: int | None
    agent: str | None  #: who did it, if known
    key: str | None = None  #: the id of the key that was used
    detail: str | None = None


class Secrets(Protocol):
    """Keeps the contents of sensitive memories, encrypted, and the audit of their use.

    The content of a sensitive version is in the latest record of its memory that is not later than
    the version: a version that changes nothing but a tag needs no record of its own. Records come
    with their versions, by `Memories`, and go with them.
    """

    def sealed(self, scope: Scope, id: MemoryId) -> list[Sealed]:
        """Every record of a memory, oldest first."""

    def sensitive(self, scope: Scope) -> list[Memory]:
        """The sensitive memories that are not deleted, newest first."""

    def sealed_under(self) -> dict[str, int]:
        """By key id: how many records of the whole store it opens."""

    def retire_keys(self, key_ids: Sequence[str], now: datetime) -> None:
        """Refuse records under these keys from now on."""

    def retired_keys(self) -> frozenset[str]:
        """The keys whose records are refused."""

    def sealed_otherwise(self, key_id: str, after: Sealed | None, limit: int) -> list[Sealed]:
        """Records of the whole store under any other key, in order, after one of them."""

    def reseal(self, pairs: Sequence[tuple[Sealed, Sealed]]) -> int:
        """Replace the first record of each pair, if it is still kept, by the second; how many."""

    def scrub(self) -> bool:
        """Overwrite what removed text has left behind.

        False when traces remain: another process reads the file, or a server overwrites later.
        """

    def note(self, entry: AuditEntry) -> None:
        """Keep an audit entry, durably."""

    def audit(
        self, scope: Scope, limit: int, actions: Sequence[str] | None = None
    ) -> list[AuditEntry]:
        """The latest audit entries of a scope, latest first; with `actions` only those."""


class Vault(Protocol):
    """Encrypts and decrypts what sensitive memories say.

    Raises `VaultFailure` when a key is missing or cannot be read.
    """

    def seal(self, owner: UserId, id: MemoryId, version: int, content: str) -> Sealed:
        """Encrypt a content for one version of one memory of one owner."""

    def open(self, sealed: Sealed) -> str:
        """The content; raises `VaultFailure` when it was sealed for another memory."""

    def fingerprint(self, owner: UserId, content: str) -> bytes:
        """A hash that is equal for equal contents of an owner, and useless without the key."""

    def refresh(self) -> None:
        """Read the keys again: another process may have changed them."""


class User(NamedTuple):
    """A user of a server."""

    name: UserId
    created_at: datetime
    disabled_at: datetime | None = None


class Accounts(Protocol):
    """Keeps users and keys. A store without users serves every process that can open it."""

    def add_user(self, user: User) -> bool:
        """Add a user; False when the name is taken."""

    def users(self) -> list[User]:
        """All users, by name."""

    def user(self, name: UserId) -> User | None:
        """A user; None also when they are disabled."""

    def set_disabled(self, name: UserId, at: datetime | None) -> bool:
        """Disable a user, or enable one again; False when there is no such user."""

    def held_by(self, name: UserId) -> dict[str, int]:
        """How much a user has, by kind; what is shared with them is counted too."""

    def erase_user(self, name: UserId, pseudonym: str) -> bool:
        """Remove everything of a user, at once; their name in the audit of others is replaced.

        False when traces may remain for a while: another process reads the file, or the database
        server overwrites them later.
        """

    def add_key(self, key: Key) -> None:
        """Keep a key; raises `UserNotFound` when there is no such user."""

    def key(self, id: str) -> Key | None:
        """A key, expired and revoked ones included; None also when its user is disabled."""

    def keys(self, user: UserId | None = None) -> list[Key]:
        """The keys of one user, or of all users, oldest first."""

    def end_key(self, id: str, *, revoked_at: datetime) -> bool:
        """Revoke a key, at the earliest of the given moments; False when there is no such key."""

    def count_writes(self, key_id: str, day: date, most: int, count: int = 1) -> bool:
        """Count writes with a key; False, and nothing counted, when they exceed the day's limit.

        Several are counted together or not at all; a negative count gives some back. While a
        renewed key is valid beside the one in its place, the writes with either count for both.
        """

    def carry_writes(self, old: str, new: str, day: date) -> None:
        """Begin a new key with what was counted on a day for the one in whose place it is."""

    def writes_with(self, key_id: str, day: date) -> int:
        """How many writes were counted for a key on a day."""

    def take_allowance(self, client: str, now: datetime, per_minute: int, count: int) -> int:
        """Take up to `count` of the actions that a client may do in a minute; how many there were.

        All of a minute's may be taken at once after a rest. What was taken counts for every
        process that has the store open.
        """

    def allowance_wait(self, client: str, now: datetime, per_minute: int) -> float:
        """The seconds until a client may do something."""

    def forget_allowances(self, now: datetime) -> None:
        """Forget the clients who may do all that a minute allows."""

    def whole_audit(self, limit: int) -> list[AuditEntry]:
        """The latest audit entries of all users, latest first."""


class BrowserSession(NamedTuple):
    """A browser that is signed in, or a link that signs one in once."""

    hash: bytes  #: of its token
    user: UserId
    access: Access
    key_id: str | None  #: of the key by which it was opened, and with which it ends
    is_link: bool
    created_at: datetime
    expires_at: datetime


class BrowserSessions(Protocol):
    """Keeps the sessions of browsers. Of a token only its hash is kept."""

    def add_session(self, session: BrowserSession, *, instead_of: bytes | None = None) -> bool:
        """Keep a session or a link, and forget expired ones.

        With `instead_of`, the one that has this hash ends in the same transaction. False, and
        nothing kept, when there is none: a link opens one session, however many ask at once.
        Raises `UserNotFound` when there is no such user.
        """

    def session(self, token_hash: bytes) -> BrowserSession | None:
        """A session or a link, an expired one included; None also when its user is disabled."""

    def end_session(self, token_hash: bytes) -> bool:
        """Forget a session; False when there is none."""


class TrafficKind(StrEnum):
    """What a server counts."""

    REQUESTS = "requests"
    RECALLS = "recalls"
    STORES = "stores"
    ERRORS = "errors"  #: requests that were answered with an error


class Step(StrEnum):
    """The spans of time in which a server counts."""

    MINUTE = "minute"
    HOUR = "hour"

    @property
    def length(self) -> timedelta:
        """How long it is."""
        return timedelta(minutes=1) if self is Step.MINUTE else timedelta(hours=1)

    @property
    def kept(self) -> timedelta:
        """For how long its counts are kept."""
        return timedelta(days=1) if self is Step.MINUTE else timedelta(days=90)


class TrafficCount(NamedTuple):
    """How often a user did something from a moment on."""

    user: UserId  #: empty for who was not let in
    kind: TrafficKind
    at: datetime
    number: int


class TrafficPoint(NamedTuple):
    """What was counted in the minute or the hour that begins at `start`."""

    start: datetime
    requests: int = 0
    recalls: int = 0
    stores: int = 0
    errors: int = 0


class UserTraffic(NamedTuple):
    """What was counted of one user."""

    user: UserId  #: empty for who was not let in
    requests: int = 0
    recalls: int = 0
    stores: int = 0
    errors: int = 0


class DeadJob(NamedTuple):
    """A job of background work that was given up."""

    kind: str
    target: str
    owner: UserId
    memory: MemoryId
    attempts: int
    error: str | None


class OwnerSize(NamedTuple):
    """How many versions of memories a user has in the index."""

    owner: UserId
    versions: int


class OwnerUse(NamedTuple):
    """What a user's memories take."""

    owner: UserId
    memories: int  #: live ones
    bytes: int  #: of what all their versions say


class ServerCounts(Protocol):
    """Keeps what servers count, and tells administrators about everybody."""

    def count_traffic(self, counts: Sequence[TrafficCount], now: datetime) -> None:
        """Add counts to their minutes and hours, and forget what is older than is kept."""

    def traffic(self, scope: Scope, step: Step, since: datetime) -> list[TrafficPoint]:
        """What a user did since a moment, oldest first."""

    def whole_traffic(self, step: Step, since: datetime) -> list[TrafficPoint]:
        """What everybody did since a moment, oldest first."""

    def traffic_by_user(self, step: Step, since: datetime) -> list[UserTraffic]:
        """What each user did since a moment."""

    def writes_on(self, day: date) -> dict[str, int]:
        """By key id: how many writes were counted against its quota on a day."""

    def all_shares(self, limit: int) -> list[Share]:
        """What everybody shares, by owner."""

    def sizes_by_owner(self, limit: int) -> list[OwnerSize]:
        """Who has how much, the most first."""

    def uses_by_owner(self) -> list[OwnerUse]:
        """What every user's memories take. It reads them all: not for every request."""

    def queue_ends(self) -> list[tuple[str, int, int]]:
        """By kind of work: the first and the last number in the queue; later jobs have higher."""

    def dead_jobs(self, limit: int) -> list[DeadJob]:
        """The jobs that were given up, the youngest first."""


class Sighting(NamedTuple):
    """A memory of another owner that a reader can see; it differs when the memory has changed."""

    id: MemoryId
    version: int
    updated_at: datetime
    right: Right


class Shares(Protocol):
    """Keeps shares, and reads what they let others see.

    A filter with a reader admits what its scope's owner shares with the reader, whatever leg asks:
    present, neither deleted nor sensitive nor superseded. Every search that takes a filter takes
    such a filter. The methods below count nothing that the reader cannot see.
    """

    def add_share(self, scope: Scope, share: Share) -> Share:
        """Add a share of what the owner has; it replaces the one that the reader has of it."""

    def end_share(self, scope: Scope, share: Share) -> bool:
        """End the share of the same thing with the same reader; False when there is none."""

    def shares(self, scope: Scope) -> list[Share]:
        """What the scope's owner shares, oldest first; ended ones are left out."""

    def shared_with(self, reader: UserId) -> list[Share]:
        """What others share with a reader, by owner and then oldest first."""

    def sharers(self, reader: UserId) -> list[UserId]:
        """The owners who share anything with a reader. Cheap: every recall asks for it."""

    def visible(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
        """The memories among these that the filter admits; the filter has a reader."""

    def visible_beginning(self, filter: Filter, prefix: str, limit: int = 5) -> list[MemoryId]:
        """The ids of visible memories that begin with a prefix, in order."""

    def visible_after(self, filter: Filter, after: str, limit: int) -> list[Sighting]:
        """The visible memories whose ids come after one, in the order of ids."""

    def rights(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Right]:
        """The reader's right to each of these memories that is visible."""

    def visible_statistics(self, filter: Filter, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent terms are among what the reader can see."""

    def visible_concepts(
        self, filter: Filter, names: Sequence[ConceptName]
    ) -> dict[ConceptName, Concept]:
        """The names among these that visible memories mention; only those are counted."""

    def replace_shared(self, filter: Filter, memory: Memory) -> None:
        """Make `memory` the present version of its id, as the reader, who has the right to write.

        The right is checked in the same transaction: `NotAllowed` is raised when there is none.
        The rest is as in `Memories.replace`.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check of a store."""

    name: str
    good: bool
    detail: str


class StoreFacts(NamedTuple):
    """The size of a store, and the software that it runs on."""

    bytes: int | None  #: of everything in it, for all owners; None when unknown
    versions: Mapping[str, str]  #: by name: the software outside this process

    def __str__(self) -> str:
        size = [] if self.bytes is None else [f"{self.bytes / 2**20:,.1f} MiB"]
        return ", ".join([*size, *map(" ".join, self.versions.items())])


class Store(
    Memories,
    Links,
    LexicalSearch,
    Spaces,
    Work,
    Secrets,
    Graph,
    Shares,
    Accounts,
    BrowserSessions,
    ServerCounts,
    Syncing,
    Inbox,
    Protocol,
):
    """Everything that a store does."""

    def check(self) -> list[Finding]:
        """Look for damage; changes nothing."""

    def for_recall(self) -> Store:
        """What recalls read: this store, or a copy of it that is recent enough."""

    def facts(self) -> StoreFacts:
        """How large it is, and on what it runs."""

    def replica_lag(self) -> float | None:
        """Seconds that the copy which recalls read may be behind; None when there is no copy."""

    def close(self) -> None:
        """Release files and connections."""
