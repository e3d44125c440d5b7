"""What the folder of an embedded server holds, how it is installed and how it is configured."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import signal
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from bearinmind.errors import StoreFull, StoreUnavailable
from bearinmind.store.database import read_sql
from bearinmind.store.postgres.binaries import HERE, Account, Programs, give

#: The database, and the role that owns everything.
NAME = "bearinmind"
_TEMPORARY = Path("/tmp")  # noqa: S108  short, and independent of TMPDIR
_MIB = 2**20
_PRIVATE = 0o700
_CONFIGURATION = """\
# Settings are in bearinmind.conf, which is written anew at each start.
# Your own go into custom.conf beside it: they are read last.
include 'bearinmind.conf'
include_if_exists 'custom.conf'
"""
_CUSTOM = "# Your own settings: they win over those of bearinmind.conf, and are never changed.\n"
_SETTINGS = """\
# Written anew at each start. Your own settings go into custom.conf beside this file.
cluster_name = 'bearinmind'
listen_addresses = ''  # the socket alone
unix_socket_directories = '{socket}'
unix_socket_permissions = 0700
password_encryption = 'scram-sha-256'
max_connections = 200
timezone = 'UTC'

shared_buffers = {shared_buffers}MB
effective_cache_size = {effective_cache_size}MB
maintenance_work_mem = {maintenance_work_mem}MB  # a vector index is built in it
work_mem = 32MB
dynamic_shared_memory_type = '{shared_memory}'
random_page_cost = 1.1  # a solid-state disk; else the rows of a small tenant are scanned
jit = off  # compiling takes longer than a recall

fsync = on  # what was acknowledged outlives a power cut
synchronous_commit = on
full_page_writes = on
wal_compression = on
max_wal_size = 4GB
autovacuum = on

# Memories stay out of the log: no statements, no parameters, no rows.
log_destination = 'stderr'
logging_collector = off
log_min_messages = log  # errors of statements quote values
log_error_verbosity = terse  # details quote rows
log_min_error_statement = panic
log_statement = none
log_min_duration_statement = -1
log_parameter_max_length = 0
log_parameter_max_length_on_error = 0
log_checkpoints = off
log_line_prefix = '%m [%p] '
log_timezone = 'UTC'
"""


class Postmaster(NamedTuple):
    """The first process of a server, as it describes itself."""

    pid: int
    port: int
    socket: Path  #: the folder of its socket
    state: str  #: starting, ready or stopping

    @property
    def listens(self) -> bool:
        """Whether clients can connect."""
        return self.state == "ready" and (self.socket / f".s.PGSQL.{self.port}").exists()


@dataclass(frozen=True, slots=True)
class Cluster:
    """The folder of an embedded server. Its data belong to the account that runs the server."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def passfile(self) -> Path:
        """The password of the server, as libpq reads it. Only its owner can read the file."""
        return self.folder / "password"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    @property
    def _staging(self) -> Path:
        return self.folder / "installing"

    @property
    def major_version(self) -> str | None:
        """The version of Postgres that made the data, such as 18; None when there are none."""
        try:
            return (self.data / "PG_VERSION").read_text("ascii").strip()
        except FileNotFoundError:
            return None

    def postmaster(self) -> Postmaster | None:
        """What the server wrote about its first process, alive or dead; None when nothing."""
        try:
            lines = (self.data / "postmaster.pid").read_text("utf-8").splitlines()
            pid, _, _, port, socket, *_, state = [*lines, *[""] * (8 - len(lines))][:8]
            return Postmaster(int(pid), int(port or 0), Path(socket), state.strip())
        except (FileNotFoundError, ValueError):  # not there, or not yet whole
            return None

    def forget_the_dead(self) -> None:
        """Remove what a killed server or installation left; no process of ours runs.

        Another program may have the server's pid by now, and Postgres would take that for a server.
        """
        with suppress(FileNotFoundError):
            shutil.rmtree(self._staging)
        postmaster = self.postmaster()
        # Without /proc Postgres itself detects a server that was started by hand.
        if sys.platform != "linux" or postmaster is None or not self.is_served_by(postmaster.pid):
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def end_orphans(self) -> None:
        """Kill the remaining processes of a server whose first process was killed.

        They end by themselves, but only when their present computation is done. Nothing is
        lost: the next start recovers from the log.
        """
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or belongs to another user
                name = (process / "comm").read_text("utf-8").strip()
                if name == "postgres" and (process / "cwd").samefile(self.data):
                    os.kill(int(process.name), signal.SIGKILL)

    def is_served_by(self, pid: int) -> bool:
        """Whether a process is a server on these data; without /proc, whether it lives."""
        if sys.platform != "linux":
            return _is_alive(pid)
        process = Path("/proc", str(pid))
        with suppress(FileNotFoundError, ProcessLookupError):
            try:
                return (process / "cwd").samefile(self.data)
            except PermissionError:  # it is another user's; or root may not look, as in containers
                name = (process / "comm").read_text("utf-8").strip()
                return name == "postgres" and process.stat().st_uid == self.data.stat().st_uid
        return False

    def install(self, programs: Programs, lock: int) -> None:
        """Make the data folder, complete or not at all. The caller holds the lock."""
        data = self._staging / "data"
        for folder in (self._staging, data):
            folder.mkdir(mode=_PRIVATE)
            give(folder, programs.account)
        password = secrets.token_urlsafe(32)
        _write(self._staging / "password", f"{password}\n", programs.account)
        _initialise(data, programs, lock)
        _create_database(data, programs, lock)
        _write(data / "postgresql.conf", _CONFIGURATION, programs.account)
        _write(data / "custom.conf", _CUSTOM, programs.account)
        _write(self.passfile, f"*:*:*:{NAME}:{password}\n")
        data.rename(self.data)
        shutil.rmtree(self._staging)

    def configure(self, account: Account | None) -> None:
        """Write the settings of this version of Bear in Mind, for the machine as it is now."""
        socket = self.socket_folder
        _make_private(socket.parent, 0o711)  # the account of the server passes through it
        _make_private(socket, 0o700, account)
        for file in socket.glob(".s.PGSQL.*"):  # of a server that was killed
            file.unlink()
        text = settings_for(memory=_memory(), shared=_shared_memory(), socket=socket)
        _write(self.data / "bearinmind.conf", text, account)

    @property
    def socket_folder(self) -> Path:
        """Where the socket is: short, as a path of more than 107 bytes cannot be one."""
        status = self.data.stat()  # another server may have been where this one is now
        identity = f"{status.st_dev} {status.st_ino} {self.data}"
        name = hashlib.sha256(os.fsencode(identity)).hexdigest()[:12]
        return _TEMPORARY / f"bearinmind-{os.geteuid()}" / name


def settings_for(*, memory: int, shared: int, socket: Path) -> str:
    """The settings of a server, for the machine's bytes of memory and of /dev/shm."""
    mebibytes = memory // _MIB
    maintenance = max(64, min(2048, mebibytes // 8))
    return _SETTINGS.format(
        socket=str(socket).replace("'", "''"),
        shared_buffers=max(16, min(2048, mebibytes // 4)),
        effective_cache_size=max(64, mebibytes // 2),
        maintenance_work_mem=maintenance,
        # Workers that build an index share its memory; containers have little in /dev/shm.
        shared_memory="posix" if shared >= 2 * maintenance * _MIB else "sysv",
    )


def failure(what: str, output: str, *, hint: str = "") -> StoreFull | StoreUnavailable:
    """The error for a program that failed, with what it said last."""
    last = " / ".join(line.strip() for line in output.splitlines()[-4:] if line.strip())
    if os.strerror(errno.ENOSPC) in output:  # programs run in the language C
        return StoreFull(f"{what}: {last}")
    return StoreUnavailable(f"{what}: {last or 'it said nothing'}", hint=hint)


def _initialise(data: Path, programs: Programs, lock: int) -> None:
    run = programs.run(
        "initdb",
        f"--pgdata={HERE}",
        f"--username={NAME}",
        f"--pwfile={HERE}/../password",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",  # sorts alike on every machine
        "--builtin-locale=C.UTF-8",
        "--data-checksums",
        "--no-instructions",
        cwd=data,
        lock=lock,
    )
    if run.returncode:
        raise failure(
            f"Postgres cannot make its data folder in {str(data.parents[1])!r}", run.stdout
        )


def _create_database(data: Path, programs: Programs, lock: int) -> None:
    """Create the database while the server accepts no connections."""
    statement = read_sql("postgres", "embedded.sql")
    arguments = ("--single", "-j", "-D", HERE, "postgres")  # a blank line ends a statement
    run = programs.run("postgres", *arguments, cwd=data, lock=lock, stdin=f"{statement}\n\n")
    if run.returncode or "ERROR" in run.stdout:
        raise failure(f"Postgres cannot create the database {NAME!r}", run.stdout)


def _write(file: Path, text: str, account: Account | None = None) -> None:
    """Write a private file, complete or not at all."""
    partial = file.with_name(f"{file.name}.partial")
    partial.unlink(missing_ok=True)
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        out.write(text)
    give(partial, account)
    partial.replace(file)


def _make_private(folder: Path, mode: int, account: Account | None = None) -> None:
    """Make a folder that nobody else can change, or listen in instead of the server."""
    with suppress(FileExistsError):
        folder.mkdir(mode=mode)
    status = folder.lstat()
    owners = {os.geteuid(), account.uid if account else os.geteuid()}
    others_write = stat.S_IMODE(status.st_mode) & 0o022
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in owners or others_write:
        raise StoreUnavailable(
            f"{str(folder)!r} is not a folder that belongs to us and that nobody else can change",
            hint="Remove it: the server makes it anew, for its socket.",
        )
    folder.chmod(mode)  # whatever the umask
    give(folder, account)


def _is_alive(pid: int) -> bool:
    try:
        with suppress(PermissionError):  # it is another user's
            os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _memory() -> int:
    """Bytes of memory that this machine, or this container, has."""
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # no container, or "max"
            most = min(most, int(Path("/sys/fs/cgroup", limit).read_text("ascii")))
    return most


def _shared_memory() -> int:
    """Bytes of memory that processes can share as files; only Linux limits them."""
    if sys.platform != "linux":
        return sys.maxsize
    try:
        volume = os.statvfs("/dev/shm")  # noqa: S108  nothing is written there
    except OSError:
        return 0
    return volume.f_frsize * volume.f_blocks
