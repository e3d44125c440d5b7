"""The process that serves: it runs until it is told to stop, and finishes what it has begun.

uvicorn reads a head of any length for as long as it takes. Our protocol bounds both: otherwise a
few clients who never end theirs could take all memory or all connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from http import HTTPStatus
from time import monotonic
from types import FrameType

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import HeadTooLong, InvalidSetting, MindError, UnreadableRequest
from bearinmind.surfaces.http import auth, responses
from bearinmind.surfaces.http.app import build

LONGEST_HEAD = 65_536  # bytes of a request line and headers

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_BACKLOG = 2_048
_KEPT = 75  # seconds that a connection without requests is kept: longer than clients keep theirs


class BoundedProtocol(HttpToolsProtocol):
    """Reads requests whose heads are neither too long nor too late."""

    _in_head = True
    _head_bytes = 0
    _late: asyncio.TimerHandle | None = None

    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._arrived()
        self._read()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of this head: every one of a connection has its time."""
        super().on_message_begin()
        if self._late is None:
            self._wait_for_head()

    def _wait_for_head(self) -> None:
        self._late = self.loop.call_later(self._seconds, self._end_if_idle)

    def _end_if_idle(self) -> None:
        """End a connection whose head is late, once the answer before it is sent."""
        self._late = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_for_head()
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        """Give a client who does not read so long to go on, and no longer."""
        super().pause_writing()
        self._unread = self.loop.call_later(self._seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Wait no more: the client reads."""
        self._read()
        super().resume_writing()

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    @property
    def _seconds(self) -> float:
        """How long a client may take for a head, and for reading a part of an answer."""
        assert isinstance(self.config, _Config)  # noqa: S101  `Server` makes no other
        return self.config.client_seconds

    def data_received(self, data: bytes) -> None:
        """Read on, unless this head is too long by now."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > LONGEST_HEAD and not self.transport.is_closing():
            self._refuse(
                HeadTooLong(f"the head of the request is longer than {LONGEST_HEAD:,} bytes")
            )

    def send_400_response(self, msg: str) -> None:
        """Tell somebody that what they sent is not HTTP."""
        self._refuse(UnreadableRequest(msg, hint="Send HTTP/1.1."))

    def _refuse(self, error: MindError) -> None:
        """Answer before anybody was asked, and end the connection."""
        answer = responses.problem(error, secrets.token_hex(16), {"Connection": "close"})
        status = HTTPStatus(answer.status_code)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
        lines += [name + b": " + value for name, value in answer.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", answer.body]))
        self.transport.close()

    def on_headers_complete(self) -> None:
        """What comes now is a body."""
        self._in_head = False
        self._arrived()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """What comes now is another head."""
        super().on_message_complete()
        self._in_head, self._head_bytes = True, 0

    def _arrived(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Config(uvicorn.Config):
    """The configuration of uvicorn, with how long clients may take."""

    client_seconds = 30.0


class Server(uvicorn.Server):
    """A server that was made but does not run yet.

    It has its port from the start, so that others can be told where it will be.
    """

    def __init__(self, app: FastAPI, settings: Settings, *, idle_exit: float | None = None) -> None:
        self.app = app
        self._socket = _listening(settings)
        self._public_url = settings.server_url
        self._idle_exit = idle_exit  # seconds without a request after which it ends by itself
        self._asked = 0  # requests so far
        self._idle_since = monotonic()
        config = _Config(
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

    async def on_tick(self, counter: int) -> bool:
        """Look several times a second whether it is time to end."""
        asked = self.server_state.total_requests
        if asked != self._asked or self.server_state.tasks:
            self._asked, self._idle_since = asked, monotonic()
        idle = monotonic() - self._idle_since
        return await super().on_tick(counter) or (
            self._idle_exit is not None and idle > self._idle_exit
        )

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
