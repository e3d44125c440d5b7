"""Two machines and a server, each a process of its own; the server is killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from http_server import Served, served, wait_until
from recollect.app import Recollect
from recollect.config import Settings
from recollect.store_name import StoreFile
from servers import free_ports

COUNT = 600  # memories of each machine: several requests
SECRET = "the safe opens with 73910284"


class Machine:
    """A home of its own: a store, a state folder and the same key of secrets."""

    def __init__(self, home: Path, key: str) -> None:
        home.mkdir()
        self.store = home / "memories.db"
        self._environment = {
            **{name: value for name, value in os.environ.items() if name[:10] != "RECOLLECT_"},
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "RECOLLECT_STORE": str(self.store),
            "RECOLLECT_USER": "ada",
            "RECOLLECT_EMBEDDER": "none",
            "RECOLLECT_WORKER": "off",
            "RECOLLECT_VAULT_KEY_FILE": str(home.parent / "vault.keys"),
            "RECOLLECT_SYNC_KEY": key,
        }

    def start(self, *args: object) -> subprocess.Popen[str]:
        """A command as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "recollect", *map(str, args)],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: object, code: int = 0) -> str:
        """What a command answers."""
        process = self.start(*args)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, err
        return out

    def fill(self, name: str) -> None:
        """Store memories, and a secret."""
        lines = [
            json.dumps({"content": f"{name} keeps item {n}: {'and so on ' * 60}"})
            for n in range(COUNT)
        ]
        file = self.store.with_name("many.jsonl")
        file.write_text("\n".join(lines))
        self.run("import", file)
        self.run("store", f"{SECRET} on the {name}", "--sensitive", "--tag", name)

    def export(self) -> list[Any]:
        """Everything that it holds, but for the line that says when."""
        lines = self.run("export", "-").splitlines()
        return sorted(lines[1:])


def _arrived(store: Path) -> int:
    """How many memories a file holds; its owner is at work on it."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        [count] = connection.execute("SELECT count(DISTINCT id) FROM memories").fetchone()
        return int(count)


@contextmanager
def _server(folder: Path, port: int) -> Iterator[Served]:
    with served(folder / "served.db", folder / f"{port}.log", server_port=port) as running:
        yield running


def _key(store: Path) -> str:
    with Recollect.build(Settings(store=StoreFile(store), embedder="none")) as server:
        server.add_user("ada")
        return server.create_key("ada").text


def test_a_server_killed_in_the_middle_of_a_sync_loses_and_doubles_nothing(tmp_path: Path) -> None:
    store = tmp_path / "served.db"
    key = _key(store)
    [port] = free_ports(1)
    laptop, desktop = (Machine(tmp_path / name, key) for name in ("laptop", "desktop"))
    laptop.fill("laptop")
    desktop.fill("desktop")

    with _server(tmp_path, port) as server:
        laptop.run("sync", "connect", server.url)
        desktop.run("sync", "connect", server.url)
        syncing = laptop.start("sync")
        wait_until(lambda: _arrived(store) > 0)
        server.process.send_signal(signal.SIGKILL)
        _, told = syncing.communicate(timeout=120)
    assert syncing.returncode == 7, told
    assert 0 < _arrived(store) < COUNT, "it was not the middle"

    with _server(tmp_path, port):
        laptop.run("sync")
        desktop.run("sync")
        laptop.run("sync")

    held = laptop.export()
    assert held == desktop.export()
    assert len([line for line in held if '"memory"' in line]) == 2 * COUNT + 2
    assert _arrived(store) == 2 * COUNT + 2
    for machine, name in ((laptop, "desktop"), (desktop, "laptop")):
        status = json.loads(machine.run("sync", "status", "--json"))
        assert (status["pending"], status["conflicts"]) == ({}, 0)
        [found] = json.loads(machine.run("list", "--tag", name, "--json"))["memories"]
        assert machine.run("secret", "get", found["id"]) == f"{SECRET} on the {name}\n"
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("served.db*"))
    assert SECRET.encode() not in kept
