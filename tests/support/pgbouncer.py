"""A real PgBouncer before a Postgres server, from the file that deploy/pgbouncer/ ships."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from support.processes import as_account, free_ports, needed, own, private_folder, wait_until

DEPLOYED = Path(__file__).parents[2] / "deploy" / "pgbouncer" / "pgbouncer.ini"

#: Few, so that clients take turns on them.
SERVER_CONNECTIONS = 2


class Bouncer:
    """A PgBouncer in transaction mode before the server of a URL."""

    def __init__(self, server: str, folder: Path) -> None:
        said = {name: str(value) for name, value in conninfo_to_dict(server).items()}
        [port] = free_ports(1)
        self._log = folder / "log"
        self._configuration = _written(folder, port, said)
        self._process: subprocess.Popen[bytes] | None = None
        passfile = folder / "passfile"
        passfile.touch(mode=0o600)
        passfile.write_text(f"*:*:*:*:{_password(said)}\n")
        place = f"{said['user']}@127.0.0.1:{port}/{quote(said['dbname'])}"
        self.url = f"postgresql://{place}?passfile={quote(str(passfile), safe='')}"

    def start(self) -> None:
        """Start it, for the first time or once more, and wait until it lets clients in."""
        self._process = as_account(
            [needed("pgbouncer"), str(self._configuration)],
            environment={"PATH": os.environ["PATH"]},
            log=self._log,
        )
        wait_until(lambda: _answers(self.url), complaint=self._log.read_text)

    def kill(self) -> None:
        """It dies at once, and every connection with it."""
        if self._process:
            self._process.kill()
            self._process.wait()


@contextmanager
def bouncer(server: str) -> Iterator[Bouncer]:
    """One that runs, gone afterwards."""
    folder = private_folder()
    started = Bouncer(server, folder)
    try:
        started.start()
        yield started
    finally:
        started.kill()
        shutil.rmtree(folder)


def _written(folder: Path, port: int, said: Mapping[str, str]) -> Path:
    """The configuration of the deployment, for this machine."""
    users = folder / "users"
    server = f"host={said['host']} port={said['port']} dbname={said['dbname']}"
    changes = {
        "bearinmind = host=127.0.0.1 port=5432 dbname=bearinmind": f"{said['dbname']} = {server}",
        "listen_addr = 0.0.0.0": "listen_addr = 127.0.0.1",
        "listen_port = 6432": f"listen_port = {port}",
        "/etc/pgbouncer/userlist.txt": str(users),
        "default_pool_size = 20": f"default_pool_size = {SERVER_CONNECTIONS}",
    }
    text = DEPLOYED.read_text()
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    configuration = folder / "pgbouncer.ini"
    for path, content in (users, f'"{said["user"]}" "{_password(said)}"\n'), (configuration, text):
        path.touch(mode=0o600)
        path.write_text(content)
        own(path)
    return configuration


def _password(said: Mapping[str, str]) -> str:
    """What the server is told: from the URL, or from the file that it names."""
    if given := said.get("password"):
        return given
    return Path(said["passfile"]).read_text().split()[0].rpartition(":")[2]


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True
