"""Curation in the background: it fills the inbox at intervals, and changes no memory."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from bearinmind.errors import MindError

_log = logging.getLogger(__name__)
_OVERLAP = timedelta(minutes=10)  # clocks differ; what is seen twice is proposed once


class CurationThread:
    """Reviews the new memories of every user at intervals, until it is closed."""

    def __init__(
        self,
        users: Callable[[], Iterable[str]],
        review: Callable[[str, datetime | None], object],
        seconds: float,
        after_round: Callable[[], None] = lambda: None,
    ) -> None:
        """Start the thread: `review` gets a user, and the time since when memories are new."""
        self._users = users
        self._review = review
        self._seconds = seconds
        self._after_round = after_round
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bearinmind-curate", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread; a review that has begun is finished first."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        since: datetime | None = None  # the first round looks at everything
        while not self._closing.wait(self._seconds):
            began = datetime.now(UTC)
            self._round(since)
            since = began - _OVERLAP
            self._after_round()

    def _round(self, since: datetime | None) -> None:
        try:
            users = sorted({*self._users()})
        except MindError as exc:
            _log.warning("curation could not list the users: %s", exc.code)
            return
        for user in users:
            if self._closing.is_set():
                return
            try:
                self._review(user, since)
            except MindError as exc:  # its message may quote what is stored
                _log.warning("curation failed: %s", exc.code)
