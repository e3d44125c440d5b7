"""The way into a server: from what a request carries to whoever sends it, or to why not."""

from __future__ import annotations

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bearinmind.accounts.keys import Bearer, ended_at
from bearinmind.errors import NotAllowed, NotAuthenticated, QuotaUsedUp, TooManyRequests
from bearinmind.protocols import Accounts
from bearinmind.types import Access, Key, UserId

_MINUTE = 60.0  # seconds
_MOST = 20_000  # of what is remembered: some megabytes


class RateLimit:
    """Lets each of many do something so many times a minute; so many at once after a rest.

    Whoever was not seen for longest is forgotten first when there are too many. Each process counts
    for itself.
    """

    def __init__(self, *, ticks: Callable[[], float] = time.monotonic, most: int = _MOST) -> None:
        self._ticks = ticks
        self._most = most
        self._lock = threading.Lock()
        #: By who: how often they may at once, and when that was so.
        self._left: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._left)

    def take(self, who: Hashable, per_minute: int) -> float:
        """Count once: 0, or in how many seconds it may be; then nothing is counted."""
        with self._lock:
            now, left = self._now(who, per_minute)
            waiting = max(0.0, (1 - left) * _MINUTE / per_minute)
            self._left[who] = (left if waiting else left - 1, now)
            self._left.move_to_end(who)
            while len(self._left) > self._most:
                self._left.popitem(last=False)
        return waiting

    def wait(self, who: Hashable, per_minute: int) -> float:
        """The same without counting."""
        with self._lock:
            _, left = self._now(who, per_minute)
        return max(0.0, (1 - left) * _MINUTE / per_minute)

    def _now(self, who: Hashable, per_minute: int) -> tuple[float, float]:
        """What time it is, and how often they may at once."""
        now = self._ticks()
        left, at = self._left.get(who, (float(per_minute), now))
        return now, min(float(per_minute), left + (now - at) * per_minute / _MINUTE)


class SeenLately:
    """Remembers what it was shown, up to a number of things."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._seen: OrderedDict[Hashable, None] = OrderedDict()

    def __contains__(self, what: Hashable) -> bool:
        return what in self._seen

    def add(self, what: Hashable) -> None:
        """Remember it; what was shown longest ago is forgotten for it."""
        with self._lock:
            self._seen[what] = None
            self._seen.move_to_end(what)
            while len(self._seen) > self._most:
                self._seen.popitem(last=False)

    def discard(self, what: Hashable) -> None:
        """Forget it."""
        with self._lock:
            self._seen.pop(what, None)


_IPV6_NETWORK = 64  # bits: what one customer of a provider has at least
_SCHEME = "bearer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who sends a request, and what they may do."""

    user: UserId
    access: Access
    key_id: str | None = None  #: None where no key is asked for
    per_day: int | None = None  #: writes


class Gate:
    """Lets whoever has a good key in.

    A key is looked up at every request, so that one that is revoked opens nothing from then on.
    """

    def __init__(
        self,
        accounts: Accounts,
        *,
        clock: Callable[[], datetime],
        per_minute: int | None = None,
        failures_per_minute: int = 30,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        """Guard what these accounts are for; `per_minute` holds for keys without one of their own.

        The clock says what day it is; `ticks` are seconds that never jump.
        """
        self._accounts = accounts
        self._clock = clock
        self._per_minute = per_minute
        self._failures_per_minute = failures_per_minute
        self._requests = RateLimit(ticks=ticks)
        self._failures = RateLimit(ticks=ticks)
        self._good = SeenLately()

    def admit(
        self, authorization: str | None, access: Access, *, address: str | None = None
    ) -> Caller:
        """Who sends a request that needs such an access.

        Raises:
            AccessDenied: one of its kinds, as `identify` and `require` say.
        """
        caller = self.identify(authorization, address=address)
        self.require(caller, access)
        return caller

    def identify(self, authorization: str | None, *, address: str | None = None) -> Caller:
        """Whose key an Authorization header, or just the key, is; its use is counted.

        Raises:
            NotAuthenticated: there is none, or it is not good.
            TooManyRequests: the key was used too often, or the address has sent too many bad ones.
        """
        network = _network(address)
        bearer = Bearer.read(_key_text(authorization))
        if network is not None and (bearer is None or bearer.hash not in self._good):
            self._hold_off_guessing(network)
        try:
            key = self._good_key(bearer)
        except NotAuthenticated:
            self._note_failure(bearer, network)
            raise
        self._good.add(key.hash)
        self._count_request(key)
        return Caller(user=key.user, access=key.access, key_id=key.id, per_day=key.per_day)

    def require(self, caller: Caller, access: Access) -> None:
        """Let a caller do what needs such an access; what needs to write is counted.

        Raises:
            NotAllowed: the key is not good for that.
            QuotaUsedUp: it was used for as many writes as it may be today.
        """
        if not caller.access.includes(access):
            raise NotAllowed(
                f"this needs a key with {access} access; {caller.key_id} has {caller.access}",
                hint=f"`bearinmind key create --access {access}` makes one that may.",
            )
        if access is Access.WRITE:
            self.count_writes(caller)

    def count_writes(self, caller: Caller, count: int = 1) -> None:
        """Count what a caller wrote beyond the one that `require` counts, such as an import.

        Raises:
            QuotaUsedUp: the key was used for as many writes as it may be today.
        """
        if caller.key_id is None or caller.per_day is None:
            return
        now = self._clock().astimezone(UTC)
        if not self._accounts.count_writes(caller.key_id, now.date(), caller.per_day, count):
            midnight = datetime.combine(now.date() + timedelta(days=1), datetime.min.time(), UTC)
            raise QuotaUsedUp(
                f"the key {caller.key_id} may be used for {caller.per_day:,} writes a day, and was",
                retry_after=(midnight - now).total_seconds(),
            )

    def _good_key(self, bearer: Bearer | None) -> Key:
        """The key that somebody bears, if it is one and still is."""
        key = self._accounts.key(bearer.id) if bearer else None
        if bearer is None or not bearer.opens(key) or key is None:
            raise NotAuthenticated("the key is not known")
        ended = ended_at(key)
        if ended is not None and ended <= self._clock():
            how = "was revoked" if ended == key.revoked_at else "has expired"
            raise NotAuthenticated(f"the key {key.id} {how}")
        return key

    def _hold_off_guessing(self, network: str) -> None:
        """Let nobody near the keys who sent too many that are none.

        A key that was good before is no guess: it is not held off, so that those who share an
        address with somebody who guesses are still let in.
        """
        waiting = self._failures.wait(network, self._failures_per_minute)
        if waiting:
            raise TooManyRequests(
                "too many keys that are not good came from this address",
                hint="Check the key; wait as long as `Retry-After` says.",
                retry_after=waiting,
            )

    def _note_failure(self, bearer: Bearer | None, network: str | None) -> None:
        if bearer is not None:
            self._good.discard(bearer.hash)
        if network is not None:
            self._failures.take(network, self._failures_per_minute)

    def _count_request(self, key: Key) -> None:
        per_minute = key.per_minute or self._per_minute
        if per_minute is None:
            return
        waiting = self._requests.take(key.id, per_minute)
        if waiting:
            raise TooManyRequests(
                f"the key {key.id} may be used {per_minute:,} times a minute, and was",
                retry_after=waiting,
            )


def _key_text(authorization: str | None) -> str:
    """The key that an Authorization header carries."""
    scheme, _, rest = (authorization or "").strip().partition(" ")
    if not scheme:
        raise NotAuthenticated("no key was sent")
    return rest.strip() if scheme.casefold() == _SCHEME else scheme if not rest else ""


def _network(address: str | None) -> str | None:
    """What is counted as one address: of IPv6 the network, of which anybody has all addresses."""
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
