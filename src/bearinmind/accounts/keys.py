"""Bearer keys: their text, their hash and their terms; who comes in with one, and how often.

A key is written `bim_ID_SECRET`. The id is no secret: lists, logs and the audit name a key by it.
The secret has 256 random bits, so the store keeps one fast hash of it: there is no word to guess,
and a slow hash would only slow down every request.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import string
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Self

from bearinmind import errors
from bearinmind.protocols import Accounts, BrowserSession
from bearinmind.types import Access, Key, UserId

_ID = string.ascii_lowercase + string.digits
_ID_LENGTH = 12
_SECRET = string.ascii_letters + string.digits  # no mark, so that a double click selects it
_SECRET_LENGTH = 43  # of these: 256 bits
_WRITTEN = re.compile(rf"bim_([a-z0-9]{{{_ID_LENGTH}}})_([A-Za-z0-9]{{{_SECRET_LENGTH}}})")
_NO_KEY = secrets.token_bytes(hashlib.sha256().digest_size)  # the hash of no secret

LABEL_LIMIT = 100  # characters: where a key is used, such as "laptop, Claude Code"
PER_MINUTE_LIMIT = 1_000_000
PER_DAY_LIMIT = 1_000_000_000
OVERLAP_LIMIT = timedelta(days=30)  # for which a key stays good after it was renewed
OVERLAP = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Bearer:
    """The id and the secret of a key, as its user holds them."""

    id: str
    secret: str = field(repr=False)

    @classmethod
    def new(cls) -> Self:
        """A random id and secret."""
        return cls(_random_text(_ID, _ID_LENGTH), _random_text(_SECRET, _SECRET_LENGTH))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parse the text of a key; None when it is not one."""
        match = _WRITTEN.fullmatch(text)
        return cls(match[1], match[2]) if match else None

    @property
    def text(self) -> str:
        """The key as it is sent."""
        return f"bim_{self.id}_{self.secret}"

    @property
    def hash(self) -> bytes:
        """The hash of the secret, which the store keeps."""
        return hashlib.sha256(self.secret.encode()).digest()

    def opens(self, key: Key | None) -> bool:
        """Whether this is the text of that key; takes as long when there is no such key."""
        kept = _NO_KEY if key is None else key.hash
        return hmac.compare_digest(self.hash, kept) and key is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made, with its text, which is shown once."""

    key: Key
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The access, the lifetime and the limits of a key."""

    access: Access = Access.WRITE
    label: str = ""
    expires_at: datetime | None = None
    per_minute: int | None = None  #: requests; None: as many as the server lets any key have
    per_day: int | None = None  #: writes; None: any number


def make_key(user: UserId, terms: Terms, now: datetime) -> NewKey:
    """A new key with these terms; raises `InvalidKeyTerms` for terms that it cannot have."""
    _check(terms, now)
    bearer = Bearer.new()
    key = Key(
        id=bearer.id,
        user=user,
        access=terms.access,
        hash=bearer.hash,
        label=terms.label,
        created_at=now,
        expires_at=terms.expires_at,
        per_minute=terms.per_minute,
        per_day=terms.per_day,
    )
    return NewKey(key=key, text=bearer.text)


def renewed(key: Key, now: datetime) -> NewKey:
    """A new key with the terms of another one, which must still be valid."""
    ended = ended_at(key)
    if ended is not None and ended <= now:
        raise errors.InvalidKeyTerms(
            f"the key {key.id} is not good any more since {ended.isoformat(timespec='minutes')}",
            hint="Only a key that is good can be renewed; `bearinmind key create` makes another.",
        )
    bearer = Bearer.new()
    new = replace(key, id=bearer.id, hash=bearer.hash, created_at=now, revoked_at=None)
    return NewKey(key=new, text=bearer.text)


def check_overlap(overlap: timedelta) -> timedelta:
    """Check how long a renewed key stays valid beside the new one."""
    if not timedelta(0) <= overlap <= OVERLAP_LIMIT:
        wrong = "negative" if overlap < timedelta(0) else f"longer than {OVERLAP_LIMIT.days} days"
        raise errors.InvalidKeyTerms(
            f"an overlap of {str(overlap).removesuffix(', 0:00:00')} is {wrong}",
            hint="Give the time that it takes to replace the old key wherever it is used.",
        )
    return overlap


def ended_at(key: Key) -> datetime | None:
    """When a key expires or was revoked, whichever is first; None when neither."""
    return min((end for end in (key.expires_at, key.revoked_at) if end is not None), default=None)


def _random_text(letters: str, count: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(count))


def _check(terms: Terms, now: datetime) -> None:
    if terms.expires_at is not None and terms.expires_at <= now:
        raise errors.InvalidKeyTerms(
            f"a key that expires at {terms.expires_at.isoformat(timespec='minutes')} "
            "would never be good",
            hint="Give a time that is still to come.",
        )
    if len(terms.label) > LABEL_LIMIT:
        raise errors.InvalidKeyTerms(
            f"the label has {len(terms.label):,} characters; it may have {LABEL_LIMIT}",
            hint="Say in a few words where the key is used.",
        )
    for value, what, most in (
        (terms.per_minute, "requests a minute", PER_MINUTE_LIMIT),
        (terms.per_day, "writes a day", PER_DAY_LIMIT),
    ):
        if value is not None and not 1 <= value <= most:
            raise errors.InvalidKeyTerms(
                f"{value:,} {what} is not between 1 and {most:,}",
                hint="Leave it out for no limit of the key's own.",
            )


# ---- how often somebody may come -----------------------------------------------------------------

_MOST = 20_000  # clients that are remembered: some megabytes
_PORTION = timedelta(seconds=1)  # for which a process takes actions from the store at once
_PORTIONS = 60  # in a minute
_MINUTE = timedelta(minutes=1)  # nobody waits longer; so often clients who rested are forgotten


class _Portion(NamedTuple):
    """What a process may let a client do until a moment; nothing, if none is left."""

    left: int
    until: datetime


class RateLimit:
    """Limits each client to so many actions a minute, all of which may come at once after a rest.

    The store counts for all its processes. A process takes the actions of a second from it at once,
    and asks it nothing about a client who has to wait. Of too many clients the one that was idle
    longest is forgotten, here and not in the store.
    """

    def __init__(
        self, accounts: Accounts, kind: str, *, clock: Callable[[], datetime], most: int = _MOST
    ) -> None:
        """Limits of another `kind` are counted apart."""
        self._accounts = accounts
        self._kind = kind
        self._clock = clock
        self._most = most
        self._lock = threading.Lock()
        self._portions: OrderedDict[str, _Portion] = OrderedDict()
        self._tidied_at = clock()

    def take(self, client: str, per_minute: int) -> float:
        """Count an action and return 0; past the limit, count nothing and return the wait."""
        now = self._clock()
        waiting = self._known(client, now, take=1)
        if waiting is not None:
            return waiting
        try:
            return self._take_portion(client, now, per_minute)
        except (errors.StoreFull, errors.StoreReadOnly):  # it counts nothing, and still reads
            return 0.0

    def wait(self, client: str, per_minute: int) -> float:
        """Return the seconds until the next action is permitted, without counting one."""
        now = self._clock()
        waiting = self._known(client, now, take=0)
        if waiting is None:
            waiting = self._accounts.allowance_wait(self._name(client), now, per_minute)
        return waiting

    def _known(self, client: str, now: datetime, *, take: int) -> float | None:
        """The wait as far as this process knows it; None when the store has to say."""
        with self._lock:
            left, until = self._portions.get(client, _Portion(0, now))
            if not now < until <= now + _MINUTE:  # it is over, or the clock was set back
                return None
            if left:
                self._portions[client] = _Portion(left - take, until if left > take else now)
                return 0.0
            return (until - now).total_seconds()

    def _take_portion(self, client: str, now: datetime, per_minute: int) -> float:
        name, count = self._name(client), max(1, per_minute // _PORTIONS)
        granted = self._accounts.take_allowance(name, now, per_minute, count)
        waiting = 0.0 if granted else self._accounts.allowance_wait(name, now, per_minute)
        with self._lock:
            left, until = self._portions.get(client, _Portion(0, now))
            left = granted + (left if until > now else 0)  # another thread may have taken some too
            until = now + (_PORTION if left > 1 else timedelta(seconds=0 if left else waiting))
            self._portions[client] = _Portion(max(0, left - 1), until)
            self._portions.move_to_end(client)
            while len(self._portions) > self._most:
                self._portions.popitem(last=False)
        if now - self._tidied_at > _MINUTE:
            self._tidied_at = now
            self._accounts.forget_allowances(now)
        return 0.0 if left else waiting

    def _name(self, client: str) -> str:
        return f"{self._kind} {client}"


class RecentSet:
    """A set of bounded size that forgets what was added longest ago."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._items: OrderedDict[Hashable, None] = OrderedDict()

    def __contains__(self, item: Hashable) -> bool:
        return item in self._items

    def add(self, item: Hashable) -> None:
        """Add an item, or make it the latest."""
        with self._lock:
            self._items[item] = None
            self._items.move_to_end(item)
            while len(self._items) > self._most:
                self._items.popitem(last=False)

    def discard(self, item: Hashable) -> None:
        """Remove an item if it is there."""
        with self._lock:
            self._items.pop(item, None)


# ---- who comes in --------------------------------------------------------------------------------

_IPV6_NETWORK = 64  # bits: what one customer of a provider has at least
_SCHEME = "bearer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The user who sends a request, and what the key permits."""

    user: UserId
    access: Access
    key_id: str | None = None  #: None where the server needs no key
    per_day: int | None = None  #: writes
    session_ends_at: datetime | None = None  #: None for who came without a session


class Authenticator:
    """Finds the user of a request by its key.

    A key is looked up at every request, so a revoked key is refused at once.
    """

    def __init__(
        self,
        accounts: Accounts,
        *,
        clock: Callable[[], datetime],
        per_minute: int | None = None,
        failures_per_minute: int = 30,
    ) -> None:
        """`per_minute` holds for keys without a limit of their own."""
        self._accounts = accounts
        self._clock = clock
        self._per_minute = per_minute
        self._failures_per_minute = failures_per_minute
        self._requests = RateLimit(accounts, "requests", clock=clock)
        self._failures = RateLimit(accounts, "failures", clock=clock)
        self._good = RecentSet()

    def identify(self, authorization: str | None, *, address: str | None = None) -> Caller:
        """Return the caller of an Authorization header or of a bare key, and count the request.

        Raises `NotAuthenticated` for a missing or invalid key, `TooManyRequests` when the key was
        used too often or the address has sent too many invalid keys.
        """
        bearer = Bearer.read(bearer_text(authorization))
        with self.guarding(bearer.hash if bearer else None, address):
            key = self._valid_key(self._accounts.key(bearer.id) if bearer else None, bearer)
        self._count_request(f"the key {key.id}", key.per_minute)
        return Caller(user=key.user, access=key.access, key_id=key.id, per_day=key.per_day)

    def of_session(self, session: BrowserSession) -> Caller:
        """The caller of a session, and count the request; it ends when its key does."""
        caller = Caller(
            user=session.user, access=session.access, session_ends_at=session.expires_at
        )
        if session.key_id is None:
            self._count_request(f"the user {session.user}", None)
            return caller
        key = self._valid_key(self._accounts.key(session.key_id))
        self._count_request(f"the key {key.id}", key.per_minute)
        return replace(caller, key_id=key.id, per_day=key.per_day)

    def of_token(self, caller: Caller) -> Caller:
        """The caller of an access token, and count the request."""
        self._count_request(f"the user {caller.user}", None)
        return caller

    @contextmanager
    def guarding(self, secret_hash: bytes | None, address: str | None) -> Iterator[None]:
        """Let an address try only so many secrets that are not valid.

        A secret that was valid before is no guess: its holder is let in, even from an address that
        has sent too many invalid ones.
        """
        network = _network(address)
        if network is not None and (secret_hash is None or secret_hash not in self._good):
            self._check_failures(network)
        try:
            yield
        except errors.NotAuthenticated:
            if secret_hash is not None:
                self._good.discard(secret_hash)
            if network is not None:
                self._failures.take(network, self._failures_per_minute)
            raise
        if secret_hash is not None:
            self._good.add(secret_hash)

    def require(self, caller: Caller, access: Access, writes: int = 1) -> None:
        """Check that a caller has this access, and count writes against the daily quota."""
        if not caller.access.includes(access):
            refused = errors.NotAllowed(
                f"this needs a key with {access} access; "
                f"{caller.key_id or 'the session'} has {caller.access}",
                hint=f"`bearinmind key create --access {access}` makes one that may.",
            )
            refused.needs = access
            raise refused
        if access is Access.WRITE:
            self.count_writes(caller, writes)

    def count_writes(self, caller: Caller, count: int = 1) -> None:
        """Count writes beyond those that `require` counts, such as those of an import.

        Raises `QuotaUsedUp` when they are more than the daily quota of the key leaves; none of them
        is counted then.
        """
        if caller.key_id is None or caller.per_day is None:
            return
        now = self._clock().astimezone(UTC)
        if not self._accounts.count_writes(caller.key_id, now.date(), caller.per_day, count):
            midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
            used = self._accounts.writes_with(caller.key_id, now.date())
            limit = f"the key {caller.key_id} may be used for {caller.per_day:,} writes a day"
            waiting = (midnight - now).total_seconds()
            if count == 1:
                raise errors.QuotaUsedUp(f"{limit}, and was", retry_after=waiting)
            left = max(0, caller.per_day - used)
            raise errors.QuotaUsedUp(
                f"{limit}: {left:,} are left today, and this is {count:,}",
                hint=f"Send at most {left:,} today and the rest from tomorrow (UTC) on, at most "
                f"{caller.per_day:,} a day, or have the quota of the key raised.",
                retry_after=waiting,
            )

    def count_all(self, caller: Caller, count: int) -> None:
        """Count all the writes of a request for whose first one the caller was let in.

        If they are too many, not even that one is counted: nothing is written.
        """
        if caller.key_id is not None and caller.per_day is not None:
            day = self._clock().astimezone(UTC).date()
            self._accounts.count_writes(caller.key_id, day, caller.per_day, -1)
        self.count_writes(caller, count)

    def _valid_key(self, key: Key | None, bearer: Bearer | None = None) -> Key:
        """A key that holds; with a bearer, one that it opens."""
        is_opened = bearer is None or bearer.opens(key)  # takes as long when there is no such key
        if key is None or not is_opened:
            raise errors.NotAuthenticated("the key is not known")
        ended = ended_at(key)
        if ended is not None and ended <= self._clock():
            how = "was revoked" if ended == key.revoked_at else "has expired"
            raise errors.NotAuthenticated(f"the key {key.id} {how}")
        return key

    def _check_failures(self, network: str) -> None:
        waiting = self._failures.wait(network, self._failures_per_minute)
        if waiting:
            raise errors.TooManyRequests(
                "too many keys that are not good came from this address",
                hint="Check the key; wait as long as `Retry-After` says.",
                retry_after=waiting,
            )

    def _count_request(self, client: str, own_limit: int | None) -> None:
        per_minute = own_limit or self._per_minute
        waiting = self._requests.take(client, per_minute) if per_minute else 0.0
        if waiting:
            raise errors.TooManyRequests(
                f"{client} may ask {per_minute:,} times a minute, and did", retry_after=waiting
            )


def bearer_text(authorization: str | None) -> str:
    """The key or the token that an Authorization header carries."""
    scheme, _, rest = (authorization or "").strip().partition(" ")
    if not scheme:
        raise errors.NotAuthenticated("no key was sent")
    return rest.strip() if scheme.casefold() == _SCHEME else scheme if not rest else ""


def _network(address: str | None) -> str | None:
    """The address to count by: of IPv6 the network, since a customer has all addresses of one."""
    if address is None:
        return None
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((int(parsed), _IPV6_NETWORK), strict=False))
