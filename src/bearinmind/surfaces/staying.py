"""A worker that stays: it does what waits, and lends its loaded model to other processes."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from bearinmind.app import Mind
from bearinmind.embed.sharing import Lender, lending
from bearinmind.errors import MindError
from bearinmind.protocols import Current, Embedder
from bearinmind.surfaces.sync_setup import in_step
from bearinmind.work.done import WorkDone
from bearinmind.work.loop import Progress, Worker

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_log = logging.getLogger(__name__)


def stay(
    app: Mind, worker: Worker, *, idle: float | None, progress: Progress | None = None
) -> WorkDone:
    """Work until told to stop, or until there was nothing to do for so many seconds.

    Only the holder of the store's post may do this.
    """
    loans = Loans(app)

    def done(more: int) -> None:
        loans.warm()
        if progress:
            progress(more)

    with stopping_on_signals(worker), _lending(app, loans, worker), in_step(app):
        loans.warm()
        return worker.watch(done, idle=idle)


@contextlib.contextmanager
def stopping_on_signals(worker: Worker) -> Iterator[None]:
    """A first signal lets the worker finish what it has in hand, a second one does not."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def stop(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler)
        worker.stop()

    for number in _SIGNALS:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Loans:
    """The models that are loaded and can be lent. A model is loaded on a thread of its own."""

    def __init__(self, app: Mind) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._loading: set[str] = set()
        self._ready: dict[str, Embedder] = {}

    def warm(self) -> None:
        """Have the model of the active space loaded."""
        current = self._app.active_space.current()
        if not isinstance(current, Current) or current.embedder.leaves_machine:
            return
        key = current.space.key
        with self._lock:
            if key in self._loading:
                return
            self._loading.add(key)
        load = threading.Thread(
            target=self._load, args=(current,), name="bearinmind-model", daemon=True
        )
        load.start()

    def __call__(self, key: str) -> Embedder | None:
        """The loaded embedder of a space; None when there is none yet."""
        if key not in self._ready:
            self.warm()
        return self._ready.get(key)

    def _load(self, current: Current) -> None:
        try:
            current.embedder.embed_query("")
        except MindError as exc:
            _log.warning("%s", exc.message, extra={"action": "model_not_loaded"})
            return
        self._ready[current.space.key] = current.embedder


@contextlib.contextmanager
def _lending(
    app: Mind, embedder_of: Callable[[str], Embedder | None], worker: Worker
) -> Iterator[None]:
    """Lend the model where that is possible; work goes on where it is not."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(lending(app.socket_places, Lender(embedder_of, worker.wake)))
        except OSError as exc:
            _log.info("the model is not lent: %s", exc, extra={"action": "model_not_lent"})
        yield
