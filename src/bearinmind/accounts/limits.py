"""How often something may be done: token buckets, and what was seen lately, in bounded memory."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

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
