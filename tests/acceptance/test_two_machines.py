"""Two machines and a server, each a process of its own; the server is killed in the middle."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from bearinmind.app import Mind
from bearinmind.config import Configuration, Settings
from bearinmind.surfaces import transfer
from bearinmind.text.addresses import StoreFile
from support.http_server import served, wait_until
from support.processes import free_ports

COUNT = 600  # memories of each machine: several requests
COMBINATION = "the safe opens with 73910284"


class Machine:
    """A home of its own: a store and a state folder; the key of secrets is the same on both."""

    def __init__(self, home: Path, key: str) -> None:
        home.mkdir()
        self.name = home.name
        self._settings = {
            "store": str(home / "memories.db"),
            "user": "ada",
            "embedder": "none",
            "worker": "off",
            "vault_key_file": str(home.parent / "vault.keys"),
            "sync_key": key,
        }
        self._environment = {
            **{name: value for name, value in os.environ.items() if name[:10] != "BEARINMIND_"},
            **{f"BEARINMIND_{name.upper()}": said for name, said in self._settings.items()},
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CONFIG_HOME": str(home / "config"),
        }

    def start(self, *args: str) -> subprocess.Popen[str]:
        """A command as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "bearinmind", *args],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *args: str) -> None:
        """A command that is to succeed."""
        process = self.start(*args)
        _, told = process.communicate(timeout=120)
        assert process.returncode == 0, told

    def open(self) -> Mind:
        """The store of the machine, to look into it."""
        return Mind.build(Configuration.load(self._settings, environment={}).settings)

    def fill(self) -> None:
        """Store memories, and a secret."""
        records = [
            json.dumps({"content": f"{self.name} keeps item {n}: {'and so on ' * 60}"}).encode()
            for n in range(COUNT)
        ]
        with self.open() as memories:
            taken = transfer.Import(memories, most_problems=1, advance=lambda _: None)(
                enumerate(records, start=1)
            )
            assert taken.stored == COUNT
            memories.store(f"{COMBINATION} on the {self.name}", sensitive=True, tags=[self.name])

    def held(self) -> list[bytes]:
        """Everything that it holds, as an export has it but for the line that says when."""
        lines: list[bytes] = []
        with self.open() as memories:
            transfer.export(memories, lines.append, "1", lambda _: None)
        return sorted(lines[1:])


def _arrived(store: Path) -> int:
    """How many memories a file holds while a server is at work on it."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        [count] = connection.execute("SELECT count(DISTINCT id) FROM memories").fetchone()
        return int(count)


def _key(store: Path) -> str:
    with Mind.build(Settings(store=StoreFile(store), embedder="none")) as server:
        server.accounts.add_user("ada")
        return server.accounts.create_key("ada").text


def test_a_server_killed_in_the_middle_of_a_sync_loses_and_doubles_nothing(tmp_path: Path) -> None:
    store, log = tmp_path / "served.db", tmp_path / "server.log"
    key = _key(store)
    [port] = free_ports(1)
    laptop, desktop = (Machine(tmp_path / name, key) for name in ("laptop", "desktop"))
    laptop.fill()
    desktop.fill()

    with served(store, log, server_port=port) as server:
        laptop.run("sync", "connect", server.url)
        desktop.run("sync", "connect", server.url)
        syncing = laptop.start("sync")
        wait_until(lambda: _arrived(store) > 0)
        server.process.kill()
        _, told = syncing.communicate(timeout=120)
    assert syncing.returncode == 7, told
    assert 0 < _arrived(store) < COUNT, "it was not the middle"

    with served(store, log, server_port=port):
        laptop.run("sync")
        desktop.run("sync")
        laptop.run("sync")

    assert laptop.held() == desktop.held()
    assert _arrived(store) == 2 * COUNT + 2
    for machine, other in ((laptop, desktop), (desktop, laptop)):
        with machine.open() as memories:
            status = memories.sync.status()
            [found] = memories.list(tags=[other.name])
            said = memories.secrets.reveal(found.id)
            live = memories.stats().live
        assert (status.waits, status.conflicts, live) == (0, 0, 2 * COUNT + 2)
        assert said == f"{COMBINATION} on the {other.name}"
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("served.db*"))
    assert COMBINATION.encode() not in kept
