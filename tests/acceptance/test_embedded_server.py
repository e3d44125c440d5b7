"""The embedded Postgres server: shared by processes that come, go and are killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from bearinmind import errors
from bearinmind.store.postgres.embedded import EmbeddedServer
from support.processes import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

#: Needs the server, says how to connect to it, and stays until it is told to go.
USER = """
import sys
from pathlib import Path
from bearinmind.store.postgres.embedded import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
print("begins", flush=True)
print(server.ensure(), server.status().pid, flush=True)
sys.stdin.read()
"""

#: Pairs of pairs of pairs, for longer than anyone waits.
ENDLESS = "SELECT count(*) FROM pg_proc a, pg_proc b, pg_proc c, pg_proc d"
#: How many sessions compute something, beside the one that asks.
BUSY = """
SELECT count(*) FROM pg_stat_activity
WHERE state = 'active' AND backend_type = 'client backend' AND pid != pg_backend_pid()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server that some tests share; each sees to it that it runs, and may kill it."""
    made = EmbeddedServer(tmp_path_factory.mktemp("shared") / "pg")
    yield made
    made.stop()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A server that is not installed yet."""
    made = EmbeddedServer(tmp_path / "pg")
    yield made
    made.stop()


@pytest.fixture
def start_user() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Starts a process that needs the server of a folder."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", USER, str(folder)]
        pipe = subprocess.PIPE
        started.append(
            subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True)
        )
        assert _line(started[-1]) == "begins"
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _postmaster(server: EmbeddedServer) -> int:
    pid = server.status().pid
    assert pid is not None
    return pid


def _kill_all(process: subprocess.Popen[str]) -> None:
    """Kill a process and whatever shares its terminal."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _ask(url: str, statement: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(statement.encode()).fetchone()
    return row[0] if row else None


def test_a_server_is_installed_started_found_and_stopped(fresh: EmbeddedServer) -> None:
    assert fresh.status()[1:6] == (None, False, None, None, None)
    url = fresh.ensure()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 'a fact' AS fact")
    status = fresh.status()
    assert (status.running, status.version) == (True, "18")
    assert EmbeddedServer(fresh.folder).ensure() == url
    assert _postmaster(fresh) == status.pid
    fresh.stop()
    assert not fresh.status().running
    assert fresh.status().pid is None
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url)
    fresh.stop()  # once more does no harm
    assert fresh.ensure() == url  # so that a pool of connections finds it again
    assert _ask(url, "SELECT fact FROM kept") == "a fact"


def test_many_processes_that_need_it_at_once_share_one_server(
    fresh: EmbeddedServer, start_user: Callable[[Path], subprocess.Popen[str]]
) -> None:
    users = [start_user(fresh.folder) for _ in range(4)]
    assert len({_line(user) for user in users}) == 1
    assert fresh.status().running


def test_it_outlives_whoever_started_it(
    fresh: EmbeddedServer, start_user: Callable[[Path], subprocess.Popen[str]]
) -> None:
    user = start_user(fresh.folder)
    url, pid = _line(user).split()
    _kill_all(user)
    assert _ask(url, "SELECT 1") == 1
    assert _postmaster(fresh) == int(pid)


@pytest.mark.parametrize(
    "moment", ["installing/data", "installing/data/base", "data", "server.log"]
)
def test_whoever_is_killed_while_starting_it_leaves_nothing_in_the_way(
    fresh: EmbeddedServer, moment: str, start_user: Callable[[Path], subprocess.Popen[str]]
) -> None:
    user = start_user(fresh.folder)
    wait_until((fresh.folder / moment).exists)
    _kill_all(user)
    assert _ask(fresh.ensure(), "SELECT current_database()") == "bearinmind"
    assert not (fresh.folder / "installing").exists()


def test_what_was_committed_outlives_kill_9_of_the_server(server: EmbeddedServer) -> None:
    url = server.ensure()
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE committed AS SELECT generate_series(1, 1000) AS n")
    os.kill(_postmaster(server), signal.SIGKILL)
    wait_until(lambda: not server.status().running)
    assert server.ensure() == url
    assert _ask(url, "SELECT sum(n) FROM committed") == 500_500


def test_what_a_killed_server_was_computing_holds_up_nobody(server: EmbeddedServer) -> None:
    url = server.ensure()
    with psycopg.connect(url) as connection, ThreadPoolExecutor() as pool:
        busy = pool.submit(connection.execute, ENDLESS)
        wait_until(lambda: _ask(url, BUSY) == 1)
        os.kill(_postmaster(server), signal.SIGKILL)
        wait_until(lambda: not server.status().running)
        assert _ask(server.ensure(), "SELECT 1") == 1
        assert isinstance(busy.exception(), psycopg.OperationalError)


def test_the_pid_of_a_killed_server_may_be_that_of_another_program(server: EmbeddedServer) -> None:
    server.ensure()
    data = server.folder / "data"
    running = server.status()
    assert running.socket is not None
    described = (data / "postmaster.pid").read_text()
    owner = data.stat()
    server.stop()
    other = subprocess.Popen(["sleep", "600"], user=owner.st_uid if not os.geteuid() else None)
    try:
        old = described.replace(str(running.pid), str(other.pid), 1)
        (data / "postmaster.pid").write_text(old)
        os.chown(data / "postmaster.pid", owner.st_uid, owner.st_gid)
        assert not server.status().running
        running.socket.mkdir(mode=0o700)
        (running.socket / ".s.PGSQL.5432.lock").write_text(old)
        assert _ask(server.ensure(), "SELECT 1") == 1
        server.stop()
        assert other.poll() is None  # nobody took it for the server
    finally:
        other.kill()
        other.wait()


def test_an_empty_pid_file_is_no_obstacle(server: EmbeddedServer) -> None:
    server.ensure()
    server.stop()
    (server.folder / "data" / "postmaster.pid").touch()
    assert _ask(server.ensure(), "SELECT 1") == 1


def test_a_socket_that_was_cleaned_away_comes_back(server: EmbeddedServer) -> None:
    url = server.ensure()
    place = server.status().socket
    assert place is not None
    (place / ".s.PGSQL.5432").unlink()
    assert not server.status().running
    assert _ask(server.ensure(), "SELECT 1") == 1
    assert server.ensure() == url


def test_only_its_owner_can_reach_it(server: EmbeddedServer) -> None:
    server.ensure()
    place = server.status().socket
    assert place is not None
    private = {server.folder, server.folder / "data", place}
    assert {path.stat().st_mode & 0o777 for path in private} == {0o700}
    files = {server.folder / "password", server.folder / "server.log"}
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert {path.stat().st_uid for path in files} == {os.geteuid()}
    assert (server.folder / "data").stat().st_uid == place.stat().st_uid
    assert (place.stat().st_uid == 0) is False
    assert place.parent.stat().st_uid == os.geteuid()
    assert place.parent.stat().st_mode & 0o777 == 0o711
    assert len(os.fsencode(place / ".s.PGSQL.5432")) < 60


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_cannot_connect(server: EmbeddedServer) -> None:
    server.ensure()
    place = server.status().socket
    child = os.fork()
    if child == 0:
        os.setgid(12345)
        os.setuid(12345)
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(f"{place}/.s.PGSQL.5432")
            except PermissionError:
                os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_whoever_connects_must_know_the_password(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = server.ensure()
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url, password="guessed")  # noqa: S106
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url, passfile="/dev/null")
    monkeypatch.setenv("PGPASSWORD", "that of another server")
    monkeypatch.setenv("PGPORT", "1")
    assert _ask(url, "SELECT current_user::text") == "bearinmind"
    assert (server.folder / "password").read_text().strip().rpartition(":")[2] not in url


def test_nothing_listens_on_the_network_and_text_sorts_alike_everywhere(
    server: EmbeddedServer,
) -> None:
    url = server.ensure()
    expected = {
        "listen_addresses": "",
        "data_checksums": "on",
        "fsync": "on",
        "synchronous_commit": "on",
        "server_encoding": "UTF8",
        "TimeZone": "UTC",
        "config_file": "/proc/self/cwd/postgresql.conf",
    }
    assert {name: _ask(url, f"SHOW {name}") for name in expected} == expected
    assert _ask(url, "SELECT array['z', 'É', 'a', 'Z'] @> array[lower('É')]") is False
    assert _ask(url, "SELECT lower('É') || min(x) FROM unnest(array['a', 'Z']) AS x") == "éZ"
    assert _ask(url, "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'") == 1


def test_settings_of_a_user_win_and_stay(server: EmbeddedServer) -> None:
    server.ensure()
    custom = server.folder / "data" / "custom.conf"
    before = custom.read_text()
    ours = server.folder / "data" / "bearinmind.conf"
    server.stop()
    try:
        custom.write_text("work_mem = 7MB\n")
        ours.write_text("work_mem = 5MB\nmax_connections = 7\n")  # as an older version had it
        url = server.ensure()
        assert _ask(url, "SHOW work_mem") == "7MB"
        assert _ask(url, "SHOW max_connections") == "200"
        assert custom.read_text() == "work_mem = 7MB\n"
    finally:
        server.stop()
        custom.write_text(before)


def test_what_is_stored_never_reaches_the_log(server: EmbeddedServer) -> None:
    url = server.ensure()
    content = "the walrus at midnight"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS bounded (content text UNIQUE CHECK (length(content) < 99))"
        )
        connection.execute("INSERT INTO bounded VALUES (%s) ON CONFLICT DO NOTHING", [content])
        for statement, value in (
            ("INSERT INTO bounded VALUES (%s)", content),  # its key exists
            ("INSERT INTO bounded VALUES (%s)", content * 9),  # the row that fails
            ("SELECT %s::text::integer", content),  # a value that is no number
            ("SELECT %s FROM nowhere", content),
        ):
            with pytest.raises(psycopg.Error):
                connection.execute(statement, [value])
        with pytest.raises(psycopg.Error):
            connection.execute(f"SELECT '{content}' FROM nowhere".encode())
        connection.execute("SELECT pg_log_backend_memory_contexts(pg_backend_pid())")
    wait_until(lambda: "memory context" in server.status().log.read_text())  # it does write
    assert "walrus" not in server.status().log.read_text()


def test_data_of_another_version_of_postgres_are_refused_and_left_alone(
    fresh: EmbeddedServer,
) -> None:
    fresh.ensure()
    fresh.stop()
    version = fresh.folder / "data" / "PG_VERSION"
    version.write_text("17\n")
    before = {path: path.stat().st_mtime_ns for path in fresh.folder.rglob("*")}
    with pytest.raises(errors.StoreUnavailable, match="made by Postgres 17") as caught:
        fresh.ensure()
    assert "migrate-store" in caught.value.hint
    assert {path: path.stat().st_mtime_ns for path in fresh.folder.rglob("*")} == before


def test_a_server_that_cannot_start_says_why(fresh: EmbeddedServer) -> None:
    fresh.ensure()
    fresh.stop()
    (fresh.folder / "data" / "custom.conf").write_text("shared_buffers = plenty\n")
    began = time.monotonic()
    with pytest.raises(errors.StoreUnavailable, match="plenty") as caught:
        fresh.ensure()
    assert time.monotonic() - began < 60  # it does not wait for what cannot come
    assert "server.log" in caught.value.hint
    (fresh.folder / "data" / "custom.conf").write_text("")
    assert _ask(fresh.ensure(), "SELECT 1") == 1


def test_a_log_that_grew_large_is_put_aside(server: EmbeddedServer) -> None:
    server.ensure()
    server.stop()
    log = server.status().log
    log.write_text("x" * (10 * 2**20 + 1))
    server.ensure()
    assert log.with_name("server.log.1").stat().st_size > 10 * 2**20
    assert "x" * 100 not in log.read_text()
