"""Asks a server over a plain socket: `http.client` takes longer to load than to use."""

from __future__ import annotations

import json
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .settings import HookSettings

_MOST = 4_000_000  # bytes of an answer
_PORTS = {"http": 80, "https": 443}


class Unanswered(Exception):
    """The server did not answer, or not as it should; says how, for the log."""

    @property
    def nobody_listens(self) -> bool:
        """Whether there is no server: it was not started, is about to be, or has ended."""
        return str(self) == ConnectionRefusedError.__name__


class Server:
    """Questions to one server, all of them answered by a moment."""

    def __init__(self, place: HookSettings, until: float) -> None:
        self._scheme, self._host, self._port, self._base = _parts(place.url)
        self._key = place.key()
        self._until = until

    def post(self, path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401  whatever JSON holds
        """What the server answers to a question with a body.

        Raises:
            Unanswered: it does not.
        """
        return self._ask("POST", path, json.dumps(body).encode())

    def get(self, path: str) -> Any:  # noqa: ANN401  whatever JSON holds
        """What the server answers to a question without a body; the same is raised."""
        return self._ask("GET", path, b"")

    def _ask(self, method: str, path: str, body: bytes) -> Any:  # noqa: ANN401  as above
        try:
            with self._connected() as connection:
                connection.sendall(self._head(method, path, len(body)) + body)
                return _read(self._received(connection))
        except OSError as exc:
            raise Unanswered(type(exc).__name__) from exc

    def _connected(self) -> socket.socket:
        connection = socket.create_connection((self._host, self._port), timeout=self._left())
        if self._scheme == "http":
            return connection
        import ssl  # noqa: PLC0415  takes long to load, and most servers are on this machine

        return ssl.create_default_context().wrap_socket(connection, server_hostname=self._host)

    def _head(self, method: str, path: str, length: int) -> bytes:
        host = f"[{self._host}]" if ":" in self._host else self._host
        lines = [
            # Nobody answers 1.0 in chunks, or waits for another question.
            f"{method} {self._base}{path} HTTP/1.0",
            f"Host: {host}:{self._port}",
            "Accept: application/json",
            "Content-Type: application/json",
            f"Content-Length: {length}",
        ]
        if self._key:
            lines.append(f"Authorization: Bearer {self._key}")
        return "\r\n".join([*lines, "", ""]).encode("ascii")

    def _received(self, connection: socket.socket) -> bytes:
        """Everything that arrives until the end of the answer."""
        arrived = b""
        whole = _MOST
        while len(arrived) < whole:
            connection.settimeout(self._left())
            part = connection.recv(65_536)
            if not part:
                break
            arrived += part
            if whole == _MOST:
                whole = _length(arrived)
        if len(arrived) >= _MOST:
            raise Unanswered("too long an answer")
        return arrived

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise Unanswered("too late")
        return left


def _length(arrived: bytes) -> int:
    """How many bytes an answer has, as far as its head says."""
    head, end, _ = arrived.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n") if end else []:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return min(len(head) + len(end) + int(value), _MOST)
    return _MOST


def _read(arrived: bytes) -> Any:  # noqa: ANN401  whatever JSON holds
    head, _, body = arrived.partition(b"\r\n\r\n")
    version, _, rest = head.partition(b" ")
    status = rest[:3]
    if not version.startswith(b"HTTP/1.") or not status.isdigit():
        raise Unanswered("no HTTP")
    if not status.startswith(b"2"):
        raise Unanswered(f"status {status.decode()}")
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise Unanswered("no JSON") from exc


def _parts(url: str) -> tuple[str, str, int, str]:
    """The scheme, the host, the port and the path of a URL."""
    scheme, _, rest = url.partition("://")
    place, slash, base = rest.partition("/")
    host, _, port = place.rpartition(":")
    if not host or port.endswith("]") or not port.isdigit():
        host, port = place, str(_PORTS.get(scheme, 0))
    if scheme not in _PORTS or not host:
        raise Unanswered("no address")
    return scheme, host.strip("[]"), int(port), (slash + base).rstrip("/")
