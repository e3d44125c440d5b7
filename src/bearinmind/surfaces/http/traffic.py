"""Counts what users ask of a server, and writes it to the store in batches: no request waits."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from http import HTTPStatus

from bearinmind.errors import MindError
from bearinmind.protocols import TrafficCount, TrafficKind
from bearinmind.surfaces.http import logs
from bearinmind.surfaces.verbs.answers import RecallAnswer
from bearinmind.types import Stored, UserId

_SECONDS = 10.0  # between two batches: what a killed server loses at most
_MOST = 50_000  # counts that wait for a store that does not answer; later ones are lost
_COUNTED = ("/api/", "/mcp")  # routes: files, health and metrics are nobody's requests
_NOBODY = UserId("")

Keep = Callable[[Sequence[TrafficCount]], None]


class TrafficCounter:
    """Counts in memory, by user, kind and minute; a thread of its own hands the counts on."""

    def __init__(
        self, keep: Keep, clock: Callable[[], datetime], *, seconds: float = _SECONDS
    ) -> None:
        self._keep = keep
        self._clock = clock
        self._seconds = seconds
        self._lock = threading.Lock()
        self._counts: Counter[tuple[UserId, TrafficKind, datetime]] = Counter()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bearinmind-traffic", daemon=True)

    def start(self) -> None:
        """Begin to hand counts on."""
        self._thread.start()

    def answered(self, user: UserId | None, route: str, status: int) -> None:
        """Count a request, and whether it was answered with an error."""
        if route.startswith(_COUNTED):
            self._add(user, TrafficKind.REQUESTS)
            if status >= HTTPStatus.BAD_REQUEST:
                self._add(user, TrafficKind.ERRORS)

    def looked_at(self, user: UserId, answer: object) -> None:
        """Count what an answer says was done."""
        if isinstance(answer, RecallAnswer):
            self._add(user, TrafficKind.RECALLS)
        elif isinstance(answer, Stored):
            self._add(user, TrafficKind.STORES)

    def flush(self) -> None:
        """Hand on what was counted; it stays for the next time when the store does not take it."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        if not counts:
            return
        try:
            self._keep([TrafficCount(*place, count) for place, count in counts.items()])
        except MindError as exc:
            logs.note("counts wait for the store", code=exc.code)
            with self._lock:
                self._counts.update(counts)

    def close(self) -> None:
        """Hand on what is left, and end."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._ended.wait(self._seconds):
            self.flush()

    def _add(self, user: UserId | None, kind: TrafficKind) -> None:
        minute = self._clock().replace(second=0, microsecond=0)
        with self._lock:
            place = (user or _NOBODY, kind, minute)
            if place in self._counts or len(self._counts) < _MOST:
                self._counts[place] += 1
