"""Calls the server over a plain socket: `http.client` takes longer to load than to use."""

from __future__ import annotations

import json
import socket
import time

from .settings import last_run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .settings import HookSettings

_MOST = 4_000_000  # bytes of an answer
_PORTS = {"http": 80, "https": 443}


class NoAnswer(Exception):
    """The server did not answer, or not as it should; the message says how, for the log."""

    @property
    def nobody_listens(self) -> bool:
        """Whether no server runs: it was not started, is about to start, or has ended."""
        return str(self) == ConnectionRefusedError.__name__


class Server:
    """Sends requests to one server, and waits for answers until a moment."""

    def __init__(self, settings: HookSettings, until: float) -> None:
        self._scheme, self._host, self._port, self._base = _parts(settings.url)
        self._key = settings.key()
        self._until = until
        self._told = last_run(settings.folder)

    def post(self, path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401  any JSON
        """What the server answers to a request with a body; `NoAnswer` is raised otherwise."""
        return self._request("POST", path, json.dumps(body).encode())

    def get(self, path: str) -> Any:  # noqa: ANN401  any JSON
        """What the server answers to a request without a body; `NoAnswer` is raised otherwise."""
        return self._request("GET", path, b"")

    def _request(self, method: str, path: str, body: bytes) -> Any:  # noqa: ANN401  any JSON
        try:
            with self._connected() as connection:
                connection.sendall(self._head(method, path, len(body)) + body)
                return _read(self._received(connection))
        except OSError as exc:
            raise NoAnswer(type(exc).__name__) from exc

    def _connected(self) -> socket.socket:
        connection = socket.create_connection((self._host, self._port), timeout=self._left())
        if self._scheme == "http":
            return connection
        import ssl  # noqa: PLC0415  takes long to load, and most servers are on this machine

        return ssl.create_default_context().wrap_socket(connection, server_hostname=self._host)

    def _head(self, method: str, path: str, length: int) -> bytes:
        host = f"[{self._host}]" if ":" in self._host else self._host
        lines = [
            # A server does not answer HTTP 1.0 in chunks, and closes the connection.
            f"{method} {self._base}{path} HTTP/1.0",
            f"Host: {host}:{self._port}",
            "Accept: application/json",
            "Content-Type: application/json",
            f"Content-Length: {length}",
        ]
        if self._key:
            lines.append(f"Authorization: Bearer {self._key}")
        if self._told.isascii() and self._told.isprintable() and self._told:
            lines.append(f"X-Bear-In-Mind-Hook: {self._told}")  # which the server counts
            self._told = ""
        return "\r\n".join([*lines, "", ""]).encode("ascii")

    def _received(self, connection: socket.socket) -> bytes:
        """Everything that arrives until the end of the answer."""
        received = b""
        length = _MOST
        while len(received) < length:
            connection.settimeout(self._left())
            part = connection.recv(65_536)
            if not part:
                break
            received += part
            if length == _MOST:
                length = _length(received)
        if len(received) >= _MOST:
            raise NoAnswer("too long an answer")
        return received

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise NoAnswer("too late")
        return left


def _length(received: bytes) -> int:
    """How many bytes an answer has, as far as its head says."""
    head, end, _ = received.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n") if end else []:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return min(len(head) + len(end) + int(value), _MOST)
    return _MOST


def _read(received: bytes) -> Any:  # noqa: ANN401  any JSON
    head, _, body = received.partition(b"\r\n\r\n")
    version, _, rest = head.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit():
        raise NoAnswer("no HTTP")
    if not status.startswith(b"2"):
        raise NoAnswer(f"status {status.decode()}")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise NoAnswer("no JSON") from exc


def _parts(url: str) -> tuple[str, str, int, str]:
    """The scheme, the host, the port and the path of a URL."""
    scheme, _, rest = url.partition("://")
    address, slash, base = rest.partition("/")
    host, _, port = address.rpartition(":")
    if not host or port.endswith("]") or not port.isdigit():
        host, port = address, str(_PORTS.get(scheme, 0))
    if scheme not in _PORTS or not host:
        raise NoAnswer("no address")
    return scheme, host.strip("[]"), int(port), (slash + base).rstrip("/")
