"""What a store keeps for servers: who is signed in with a browser, and what was asked how often."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol

from bearinmind.types import Access, MemoryId, Scope, Share, UserId


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
