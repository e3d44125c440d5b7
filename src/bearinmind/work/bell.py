"""Wakes a worker that sleeps."""

from __future__ import annotations

import queue


class Bell:
    """Rung from any thread, and from a signal handler: a `threading.Event` could lock up there."""

    def __init__(self) -> None:
        self._rings: queue.SimpleQueue[None] = queue.SimpleQueue()

    def ring(self) -> None:
        """Wake whoever waits, or whoever will wait next."""
        self._rings.put(None)

    def wait(self, seconds: float) -> bool:
        """Sleep until it rings, or so long; whether it rang."""
        try:
            self._rings.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return False
        while not self._rings.empty():  # rung more than once is still one waking
            self._rings.get_nowait()
        return True
