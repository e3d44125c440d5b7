"""A way to a server by an address that stays while the server goes and comes back."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from support.tcp_proxy import cut


class Relay:
    """Passes bytes on to the server behind it; without one every connection is closed at once."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._target: str | None = None
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def lead_to(self, url: str | None) -> None:
        """From now on to this server, or to none; what is under way is cut."""
        self._target = url
        for each in (*self._open,):
            cut(each)

    def close(self) -> None:
        self.lead_to(None)
        cut(self._listening)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = _connected(self._target)
                if server is None:
                    cut(client)
                    continue
                self._open += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=_pass_on, args=ends, daemon=True).start()


def _connected(url: str | None) -> socket.socket | None:
    """A connection to a server; none if there is no server, or it is just going."""
    host, _, port = (url or "").removeprefix("http://").partition(":")
    with suppress(OSError):
        return socket.create_connection((host, int(port))) if url else None
    return None


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    cut(source)
    cut(target)


@contextmanager
def relaying() -> Iterator[Relay]:
    """A relay that leads to no server yet."""
    relay = Relay()
    try:
        yield relay
    finally:
        relay.close()
