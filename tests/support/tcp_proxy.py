"""A way to a Postgres server that can be cut, to lose what somebody says in the middle of it."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

_END = b"COMMIT\x00"  # what asks for the end of a transaction, and what answers that


class Way:
    """Passes everything on, unless it was told to lose something once."""

    def __init__(self, server: str, here: Path) -> None:
        self.lose_request = threading.Event()  #: to commit: the server is never asked
        self.lose_answer = threading.Event()  #: to a commit: it has happened
        self._server = server
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(here))
        self._listening.listen()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for each in (self._listening, *self._open):
            cut(each)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._open += [client, server]
                for ends in (
                    (client, server, self.lose_request),
                    (server, client, self.lose_answer),
                ):
                    threading.Thread(target=_pass_on, args=ends, daemon=True).start()


def _pass_on(source: socket.socket, target: socket.socket, lose: threading.Event) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            if lose.is_set() and _END in data:
                lose.clear()
                break
            target.sendall(data)
    cut(source)
    cut(target)


def cut(end: socket.socket) -> None:
    """End a connection for both sides."""
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def way_to(url: str) -> Iterator[tuple[Way, str]]:
    """A way to the server of a URL, and the URL that goes by it."""
    parts = urlsplit(url)
    said = {
        name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()
    }
    name = f".s.PGSQL.{said['port']}"
    with tempfile.TemporaryDirectory() as folder:
        way = Way(f"{said['host']}/{name}", Path(folder, name))
        by_it = parts._replace(query=urlencode(said | {"host": folder}))
        try:
            yield way, by_it.geturl()
        finally:
            way.close()
