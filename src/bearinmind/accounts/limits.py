"""Limits of actions a minute, which all processes of a store keep together."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import NamedTuple

from bearinmind.errors import StoreFull, StoreReadOnly
from bearinmind.protocols import Accounts

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
        except (StoreFull, StoreReadOnly):  # what can be read still is, though nothing is counted
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
