"""What people are told when a server does not do what it should, and what they are never told."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import psycopg
import pytest
from psycopg import sql

from bearinmind.config import store_name
from support.processes import end_workers, wait_until, workers

Run = Callable[..., Any]
PASSWORD = "hunter2-kelp"  # noqa: S105  made up
_SOON = 30.0  # seconds; half of what a process is given to survive a fail-over


class Role(NamedTuple):
    """Somebody who may connect."""

    name: str
    url: str  #: with the password


@pytest.fixture
def role(postgres_url: str) -> Iterator[Role]:
    """A role with a password that may do nothing in the database of a test."""
    database = urlsplit(postgres_url).path.strip("/")
    name = sql.Identifier(f"role_of_{database}")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(name, sql.Literal(PASSWORD))
        )
        yield Role(f"role_of_{database}", with_user(postgres_url, f"role_of_{database}:{PASSWORD}"))
        connection.execute(sql.SQL("DROP OWNED BY {}").format(name))
        connection.execute(sql.SQL("DROP ROLE {}").format(name))


@pytest.fixture
def allowed(role: Role, postgres_url: str) -> Role:
    """The same role, with what an operator has to give it."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        grant = sql.SQL("GRANT ALL ON SCHEMA public TO {}").format(sql.Identifier(role.name))
        connection.execute(grant)
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    return role


def with_user(url: str, user: str, **changed: str) -> str:
    """The same place for somebody else."""
    parts = urlsplit(url)
    given = {name: values[0] for name, values in parse_qs(parts.query).items()}
    kept = {name: given[name] for name in ("host", "port")} | changed
    return f"postgresql://{user}@{parts.path}?{urlencode(kept)}"


def assert_told(ran: Any, *words: str) -> None:
    assert ran.code == 5, ran.err
    assert ran.err.startswith("error: ")
    assert "hint: " in ran.err
    assert PASSWORD not in ran.out + ran.err
    for word in words:
        assert word in ran.err


@pytest.mark.parametrize("command", [("recall", "tea"), ("store", "tea"), ("stats",), ("work",)])
def test_a_server_that_is_down_is_told_soon(run: Run, command: tuple[str, ...]) -> None:
    began = time.monotonic()
    ran = run(*command, store=f"postgresql://ada:{PASSWORD}@127.0.0.1:1/memories")
    assert_told(ran, "'memories'", "127.0.0.1", "Check that the server runs")
    assert time.monotonic() - began < _SOON


def test_doctor_says_that_the_server_is_down(run: Run) -> None:
    ran = run("doctor", store=f"postgresql://ada:{PASSWORD}@127.0.0.1:1/memories")
    assert ran.code == 5
    assert "cannot be reached" in ran.out
    assert PASSWORD not in ran.out + ran.err


def test_an_unknown_host_is_named(run: Run) -> None:
    ran = run("recall", "tea", store=f"postgresql://ada:{PASSWORD}@no.such.host.invalid/memories")
    assert_told(ran, "no.such.host.invalid")


def test_a_wrong_password_an_unknown_database_and_an_unknown_user_are_told(
    run: Run, role: Role, postgres_url: str
) -> None:
    wrong = with_user(postgres_url, f"{role.name}:not{PASSWORD}")
    assert_told(run("recall", "tea", store=wrong), "password authentication failed", role.name)
    elsewhere = role.url.replace(urlsplit(role.url).path, "/no_such_database")
    assert_told(run("recall", "tea", store=elsewhere), "no_such_database", "does not exist")
    nobody = with_user(postgres_url, f"nobody-known:{PASSWORD}")
    assert_told(run("recall", "tea", store=nobody), "nobody-known")


def test_a_role_without_permission_is_told(run: Run, role: Role) -> None:
    assert_told(run("store", "tea", store=role.url), "permission denied")


def test_no_benchmark_runs_where_no_database_may_be_made(
    run: Run, role: Role, tmp_path: Path
) -> None:
    from support.bench_sets import small_set  # noqa: PLC0415  the others need none of it

    folder = small_set(tmp_path / "harbour", 20)
    assert_told(run("bench", "run", "--data", folder, "--store", role.url), "CREATEDB")


@pytest.mark.parametrize("command", [("config",), ("config", "--json"), ("stats", "--json")])
def test_the_password_of_a_store_is_never_shown(
    run: Run, allowed: Role, command: tuple[str, ...]
) -> None:
    ran = run(*command, store=allowed.url)
    assert ran.code == 0, ran.err
    assert allowed.name in ran.out
    assert PASSWORD not in ran.out + ran.err


def test_the_background_worker_gets_the_password_where_nobody_else_reads_it(
    run: Run, remember: Run, allowed: Role, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARINMIND_WORKER", "auto")
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "hash")
    url, shown = allowed.url, str(store_name(allowed.url))
    try:
        remember("Something.", store=url)
        wait_until(lambda: workers(shown) != [])
        [worker] = workers(shown)
        assert PASSWORD.encode() not in Path(f"/proc/{worker}/cmdline").read_bytes()
        wait_until(lambda: run("stats", "--json", store=url).json["embedded"] == 1)
        assert "a worker is running" in run("doctor", store=url).out
        remember("Something else.", store=url)
        wait_until(lambda: run("stats", "--json", store=url).json["embedded"] == 2)
        assert workers(shown) == [worker]  # woken, not started anew
    finally:
        end_workers(shown)


def test_no_stack_trace_reaches_a_user(command: list[str], tmp_path: Path) -> None:
    url = f"postgresql://ada:{PASSWORD}@127.0.0.1:1,127.0.0.1:2/memories"
    done = subprocess.run(
        [*command, "--debug", "--store", url, "recall", "tea"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 5
    assert "Traceback" not in done.stderr
    assert PASSWORD not in done.stdout + done.stderr
