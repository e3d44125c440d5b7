"""The process that serves: it runs until it is told to stop, and finishes what it has begun."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Iterator
from time import monotonic
from types import FrameType

import uvicorn
from fastapi import FastAPI

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import InvalidSetting
from bearinmind.surfaces.http import auth
from bearinmind.surfaces.http.app import build
from bearinmind.surfaces.http.middleware import BoundedConfig, BoundedProtocol

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_BACKLOG = 2_048
_LOOK = 0.1  # seconds between two looks whether anything was asked
_KEPT = 75  # seconds that a connection without requests is kept: longer than clients keep theirs


class Server(uvicorn.Server):
    """A server that was made but does not run yet.

    It has its port from the start, so that others can be told where it will be.
    """

    def __init__(self, app: FastAPI, settings: Settings, *, idle_exit: float | None = None) -> None:
        self.app = app
        self._socket = _listening(settings)
        self._public_url = settings.server_url
        self._idle_exit = idle_exit  # seconds without a request after which it ends by itself
        config = BoundedConfig(
            app,
            http=BoundedProtocol,
            ws="none",
            lifespan="on",
            log_config=None,  # `logs.set_up` configures it
            access_log=False,
            server_header=False,
            proxy_headers=False,  # any client could send them
            timeout_keep_alive=_KEPT,
            timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
        )
        config.client_seconds = settings.request_seconds
        super().__init__(config)

    @property
    def url(self) -> str:
        """Where it listens."""
        host, port = self._socket.getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    @property
    def url_for_browsers(self) -> str:
        """Where a browser reaches it: the public address, or a name of this machine."""
        if self._public_url:
            return self._public_url.rstrip("/")
        return self.url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")

    def serve_until_told(self) -> None:
        """Serve; a first signal lets it finish what it has in hand, a second one does not."""
        self.run([self._socket])

    def stop(self) -> None:
        """Have it stop, from another thread."""
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and to look for idleness if that is to end it."""
        await super().startup(sockets)
        if self._idle_exit is not None:
            self._watch = asyncio.create_task(self._stop_after(self._idle_exit))

    async def _stop_after(self, idle: float) -> None:
        """Stop once so many seconds have passed without a request."""
        asked, since = 0, monotonic()
        while monotonic() - since <= idle:
            await asyncio.sleep(_LOOK)
            if self.server_state.tasks or self.server_state.total_requests != asked:
                asked, since = self.server_state.total_requests, monotonic()
        self.stop()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on a signal. Unlike uvicorn's own, it does not die of it afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; when that was asked for already, at once: what is acknowledged is safe."""
        del frame
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            signal.raise_signal(sig)
        self.should_exit = True


def prepare(mind: Mind, settings: Settings, *, idle_exit: float | None = None) -> Server:
    """A server of a memory, ready to run."""
    auth.check_start(mind, settings)
    return Server(build(mind, settings), settings, idle_exit=idle_exit)


def _listening(settings: Settings) -> socket.socket:
    host, port = settings.server_host, settings.server_port
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, number)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_BACKLOG)
        except OSError:
            listening.close()
            raise
    except OSError as exc:
        raise InvalidSetting(
            f"server_host = {host!r}, server_port = {port}: cannot listen there: {exc.strerror}",
            hint="Another server may have the port; `--port 0` takes any that is free.",
        ) from exc
    return listening
