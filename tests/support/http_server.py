"""A real server for a test: on a thread of this process, or as a process of its own.

    with serving(path) as server:
        httpx.get(f"{server.url}/api/v1/stats", headers=server.headers("ada"))

A user is made when a key of theirs is first asked for. Until then the server stands open to
whoever asks from this machine, and takes them for the user of its settings.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from fastapi import FastAPI

from bearinmind.app import Mind
from bearinmind.config import Configuration
from bearinmind.errors import UserExists
from bearinmind.surfaces.http.server import prepare

_PATIENCE = 60.0  # seconds; a busy machine takes its time

#: What a test does without unless it says otherwise: a model takes a second to load.
PLAIN: dict[str, Any] = {"embedder": "none", "worker": "off", "server_port": 0}


@dataclass
class Serving:
    """A server that runs."""

    url: str
    bearinmind: Mind  #: what it serves, to look behind it
    app: FastAPI  #: the application itself, likewise
    _keys: dict[tuple[str, str], str] = field(default_factory=dict)
    _clients: list[httpx.Client] = field(default_factory=list)

    def key(self, user: str, access: str = "write", **terms: Any) -> str:
        """The text of a key of a user, made when it is first asked for."""
        if terms or (user, access) not in self._keys:
            with suppress(UserExists):
                self.bearinmind.accounts.add_user(user)
            made = self.bearinmind.accounts.create_key(user, access=access, **terms).text
            if terms:
                return made
            self._keys[user, access] = made
        return self._keys[user, access]

    def headers(self, user: str, access: str = "write") -> dict[str, str]:
        """The headers of a request of a user."""
        return {"Authorization": f"Bearer {self.key(user, access)}"}

    def client(self, user: str | None = None, access: str = "write") -> httpx.Client:
        """An HTTP client of a user, or of nobody, for paths such as `/api/v1/stats`."""
        return self._connected({} if user is None else self.headers(user, access))

    def bearing(self, key: str) -> httpx.Client:
        """An HTTP client with a key."""
        return self._connected({"Authorization": f"Bearer {key}"})

    def _connected(self, headers: dict[str, str]) -> httpx.Client:
        """A client that is closed with the server at the latest."""
        made = httpx.Client(base_url=self.url, headers=headers, timeout=_PATIENCE, trust_env=False)
        self._clients.append(made)
        return made

    def close(self) -> None:
        """Close the clients."""
        for client in self._clients:
            client.close()


@contextmanager
def serving(store: Path | str, **settings: Any) -> Iterator[Serving]:
    """A server of a file or of a Postgres database, on a thread; settings are keywords."""
    chosen = Configuration.load({"store": store, **PLAIN, **settings}).settings
    with Mind.build(chosen, background=chosen.worker == "auto") as bearinmind:
        server = prepare(bearinmind, chosen)
        thread = threading.Thread(target=server.serve_until_told, name="server")
        thread.start()
        try:
            wait_until(lambda: server.started or not thread.is_alive())
            with closing(Serving(server.url, bearinmind, server.app)) as running:
                yield running
        finally:
            server.stop()
            thread.join(_PATIENCE)
            assert not thread.is_alive(), "the server does not stop"


@dataclass
class Served:
    """A server that runs as a process of its own."""

    url: str
    process: subprocess.Popen[str]
    log: Path  #: what it wrote down, a line of JSON for each request

    def lines(self) -> list[dict[str, Any]]:
        """What it wrote down."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def stop(self) -> int:
        """Tell it to stop; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_PATIENCE)


@contextmanager
def served(store: Path | str, log: Path, **settings: Any) -> Iterator[Served]:
    """`bearinmind serve` as a process; settings are keywords, what it logs goes into a file."""
    chosen = {**PLAIN, **settings}
    environment = {f"BEARINMIND_{name.upper()}": str(value) for name, value in chosen.items()}
    with log.open("w") as told:
        process = subprocess.Popen(
            [sys.executable, "-m", "bearinmind", "--store", str(store), "serve", "--json"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
        )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first, log.read_text()
        yield Served(json.loads(first)["url"], process, log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(_PATIENCE)
        if process.stdout is not None:
            process.stdout.close()


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Nobody else can write to a file."""
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")


def wait_until(true: Any) -> None:
    """Wait for something that a server is to bring about."""
    deadline = time.monotonic() + _PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def connected(url: str, *, small: bool = False) -> socket.socket:
    """A connection; a small one takes in little that is not read."""
    made = socket.socket()
    if small:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    made.settimeout(_PATIENCE)
    place = urlsplit(url)
    made.connect((place.hostname, place.port))
    return made
