"""The embedded Postgres server in places that are closed, full or somebody else's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from bearinmind import errors
from bearinmind.store.postgres import binaries, cluster
from bearinmind.store.postgres.embedded import EmbeddedServer
from support.other_user import run_as_ordinary_user

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="accounts and mounts as on Linux")
by_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")

USER = 65534  # nobody: initdb wants to know its user by name

#: An ordinary user's life with a server.
ORDINARY = """
import os, signal, sys
import psycopg
from pathlib import Path
from bearinmind import errors
from bearinmind.store.postgres.embedded import EmbeddedServer

server = EmbeddedServer(Path(sys.argv[1]))
try:
    url = server.ensure()
except errors.MindError as error:
    print(error.code, error.message)
    sys.exit()
with psycopg.connect(url) as connection:
    connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
os.kill(server.status().pid, signal.SIGKILL)
while server.status().running:
    pass
with psycopg.connect(server.ensure()) as connection:
    print("kept", connection.execute("SELECT n FROM kept").fetchone()[0])
print("owner", Path(f"/proc/{server.status().pid}").stat().st_uid)
server.stop()
print("running", server.status().running)
"""

ALONE = """
import sys
from pathlib import Path
from bearinmind import errors
from bearinmind.store.postgres.embedded import EmbeddedServer
try:
    EmbeddedServer(Path(sys.argv[1])).ensure()
except errors.MindError as error:
    print(error.code, error.message)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users may enter, which pytest's own are not."""
    made = Path(tempfile.mkdtemp(prefix="bearinmind-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def _as_user(folder: Path) -> list[str]:
    return run_as_ordinary_user(ORDINARY, folder / "pg")


def _package() -> Path:
    return binaries.programs_for(None).folder.parents[1]


def test_an_ordinary_user_runs_it_as_that_user(folder: Path) -> None:
    user = os.geteuid() or USER
    os.chown(folder, user, -1)
    assert _as_user(folder) == ["kept 1", f"owner {user}", "running False"]


def test_a_folder_that_may_not_be_written_is_named(folder: Path) -> None:
    folder.chmod(0o555)
    told = " ".join(_as_user(folder))
    assert (
        told == f"store_read_only the Postgres server cannot use '{folder}/pg': Permission denied"
    )


@by_root
def test_root_has_it_run_by_an_account_that_cannot_reach_the_folder(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    server = EmbeddedServer(closed / "pg")
    try:
        with psycopg.connect(server.ensure()) as connection:
            connection.execute("CREATE EXTENSION vector")
        assert Path(f"/proc/{server.status().pid}").stat().st_uid != 0
        assert closed.stat().st_uid == 0
        assert closed.stat().st_mode & 0o777 == 0o700
    finally:
        server.stop()


@by_root
def test_root_goes_on_with_the_account_that_owns_the_data(folder: Path) -> None:
    os.chown(folder, USER, USER)
    _as_user(folder)
    server = EmbeddedServer(folder / "pg")
    try:
        with psycopg.connect(server.ensure()) as connection:
            assert connection.execute("SELECT n FROM kept").fetchone() == (1,)
        assert Path(f"/proc/{server.status().pid}").stat().st_uid == USER
    finally:
        server.stop()


@by_root
def test_root_of_a_container_that_can_be_nobody_else_is_told(folder: Path) -> None:
    alone = ["unshare", "--user", "--map-root-user"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace can be made here")
    done = subprocess.run(
        [*alone, sys.executable, "-c", ALONE, folder / "pg"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.startswith("store_unavailable Postgres does not run as root")


@by_root
def test_programs_that_an_account_cannot_reach_are_copied_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = _package()
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    for part in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(part, closed / part.name, symlinks=True)
    monkeypatch.syspath_prepend(str(closed))
    nobody = binaries.Account(USER, USER)
    made = binaries.programs_for(nobody, cache=folder / "cache")
    assert made.folder.is_relative_to(folder / "cache")
    assert made.version.startswith("18.")
    assert made.folder.stat().st_uid == 0
    kept = (made.folder / "postgres").stat().st_ino
    again = binaries.programs_for(nobody, cache=folder / "cache")
    assert (again.folder / "postgres").stat().st_ino == kept


@by_root
def test_a_full_disk_is_told_and_leaves_nothing_half_made(folder: Path) -> None:
    disk = folder / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=30m", "none", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        with pytest.raises(errors.StoreFull):
            EmbeddedServer(disk / "pg").ensure()
        assert not (disk / "pg" / "data").exists()
    finally:
        subprocess.run(["umount", disk], check=True)


@by_root
@pytest.mark.parametrize("trick", ["a link", "of another user", "open to others"])
def test_a_folder_that_somebody_else_prepared_takes_no_socket(folder: Path, trick: str) -> None:
    place = folder / "sockets"
    if trick == "a link":
        (folder / "elsewhere").mkdir()
        place.symlink_to(folder / "elsewhere")
    else:
        place.mkdir()
        place.chmod(0o777 if trick == "open to others" else 0o700)
        os.chown(place, USER if trick == "of another user" else 0, 0)
    with pytest.raises(errors.StoreUnavailable, match="sockets"):
        cluster._make_private(place, 0o711)
