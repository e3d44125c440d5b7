"""The background worker of the command line: a process of its own that stays a little.

Commands that store something start it, and need not wait for a model. It is started
with the settings of that command: `python -m bearinmind.surfaces.background SETTINGS`. The store
among them is for people; the environment names the one that is meant, with its password.
"""

from __future__ import annotations

import contextlib
import json
import logging
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from bearinmind.config import (
    STORE_VARIABLE,
    Configuration,
    Settings,
    cache_folder,
    process_environment,
)
from bearinmind.errors import MindError
from bearinmind.models import encoder_socket
from bearinmind.protocols import Current, Embedder
from bearinmind.text.addresses import absolute, complete
from bearinmind.work.status import WorkDone
from bearinmind.work.worker import Worker
from bearinmind.work.worker_lock import WorkerLock

if TYPE_CHECKING:
    from bearinmind.app import Mind

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_WAKING = 0.05  # seconds that a command has for waking it; it looks by itself soon after
_log = logging.getLogger(__name__)


def ensure(settings: Settings, config: Path | None) -> None:
    """Wake the worker of a store, or start one."""
    if settings.embedder == settings.extractor == "none":
        return
    given = {"store": str(absolute(settings.store))}
    if config is not None:
        given["config"] = str(config.absolute())
    # Everybody may read what a process was started with, but not its environment.
    environment = process_environment({STORE_VARIABLE: complete(settings.store)})
    # A command has done its work by now: that there is no worker is for `doctor` to say.
    with contextlib.suppress(OSError):
        if not WorkerLock.of(settings.beside).start_worker(given, environment):
            for place in encoder_socket.places(settings.beside, cache_folder()):
                encoder_socket.ask(
                    place, {"version": encoder_socket.VERSION, "wake": True}, _WAKING
                )


def main() -> int:
    """Hold the worker lock of a store, and work until there has been nothing to do for a while."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    given: dict[str, Any] = json.loads(sys.argv[1])
    config = Path(given["config"]) if "config" in given else None
    try:
        settings = Configuration.load(file=config).settings
        _hold(settings, given.get("lock"))
    except MindError as exc:
        sys.stderr.write(f"{exc.message}\n{exc.hint}\n")
        return 1
    return 0


def _hold(settings: Settings, descriptor: int | None) -> None:
    """Work on a store while this process holds its lock, which it may have inherited."""
    from bearinmind.app import Mind  # noqa: PLC0415  `ensure` needs none of this

    lock = WorkerLock.of(settings.beside)
    if descriptor is not None:
        lock = WorkerLock(lock.path, descriptor)
    elif not lock.acquire():
        return
    with Mind.build(settings, create=False) as app:
        worker = app.work.worker()
        while True:
            stay(app, worker, idle=settings.worker_idle_seconds)
            lock.release()
            # A command that stored something just before saw the lock taken and started no worker.
            if worker.stopping or not worker.has_work or not lock.acquire():
                return


# ---- a worker that stays, and lends its loaded model to other processes -------------------------


def stay(app: Mind, worker: Worker, *, idle: float | None) -> WorkDone:
    """Work until stopped, or until there was nothing to do for `idle` seconds.

    Only the holder of the store's worker lock may do this.
    """
    from bearinmind.app.sync import in_step  # noqa: PLC0415  as above

    loans = Loans(app)
    with stopping_on_signals(worker.stop), _lending(app, loans, worker), in_step(app):
        loans.warm()
        return worker.watch(lambda _: loans.warm(), idle=idle)


@contextlib.contextmanager
def stopping_on_signals(stop: Callable[[], None]) -> Iterator[None]:
    """A first signal asks for an end and lets finish what is in hand; a second one does not."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def handle(number: int, _: FrameType | None) -> None:
        signal.signal(number, signal.default_int_handler)
        stop()

    for number in _SIGNALS:
        signal.signal(number, handle)
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
        current = self._app.work.active_space.current()
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
    from bearinmind.models.encoder_socket import EncoderService, serving  # noqa: PLC0415  as above

    with contextlib.ExitStack() as held:
        try:
            service = EncoderService(embedder_of, worker.wake, app.work.active_space.pair_reader)
            held.enter_context(serving(app.work.socket_places, service))
        except OSError as exc:
            _log.info("the model is not lent: %s", exc, extra={"action": "model_not_lent"})
        yield


if __name__ == "__main__":
    sys.exit(main())
