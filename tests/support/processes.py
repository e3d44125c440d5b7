"""Servers that tests start: under which account, on which ports, and how they are waited for."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from bearinmind.store.postgres.binaries import Programs, give, programs_for
from support.other_user import server_account

#: Below those that the system gives to whoever asks for any; each process begins at its own.
_PORTS = itertools.count(20_000 + os.getpid() % 100 * 100)


def as_account(
    command: Sequence[str], *, environment: Mapping[str, str], log: Path
) -> subprocess.Popen[bytes]:
    """Start a process of the account that runs servers, in a session of its own."""
    account = server_account()
    with log.open("ab") as out:
        return subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd="/",
            umask=0o077,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=() if account else None,
            start_new_session=True,
        )


def postgres_programs() -> Programs:
    """The programs of Postgres, where that account can run them."""
    return programs_for(server_account())


def private_folder() -> Path:
    """A folder of the account that runs servers; those of pytest root alone can enter."""
    folder = Path(tempfile.mkdtemp(prefix="bearinmind-"))
    own(folder)
    return folder


def own(path: Path) -> None:
    """Give a file or a folder to that account."""
    give(path, server_account())


def needed(program: str) -> str:
    """Where a program is that the package manager of the system installs."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if not found:
        pytest.fail(f"these tests need {program}: scripts/need-postgres-tools gets it")
    return found


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, and that no connection to elsewhere is given meanwhile."""
    found: list[int] = []
    while len(found) < count:
        port = next(_PORTS)
        with suppress(OSError), socket.socket() as one:
            one.bind(("127.0.0.1", port))
            found.append(port)
    return found


def children(parent: int) -> list[int]:
    """The processes that a process started."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                found.append(int(folder.name))
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; one that is only waited for does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def wait_until(
    true: Callable[[], bool], *, seconds: float = 90, complaint: Callable[[], str] = str
) -> None:
    """Wait for something that other processes bring about."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, complaint()
        time.sleep(0.1)


def workers(place: Path | str) -> list[int]:
    """The processes that work on a store in the background; of a server, the URL as it is shown."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
            dead = "\nState:\tZ" in (folder / "status").read_text()
        except OSError:
            continue
        if b"bearinmind.surfaces.background" in line and str(place).encode() in line and not dead:
            found.append(int(folder.name))
    return found


def end_workers(place: Path | str) -> None:
    """Kill them, and wait until they are gone."""
    for worker in workers(place):
        os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not workers(place))
