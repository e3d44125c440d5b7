"""A client of Postgres that vanishes in the middle of a write has changed nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from bearinmind.errors import StoreFailure
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import Memory, Scope, Space, Stored, UserId

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

ADA = Scope(user=UserId("ada"))
SPACE = Space(model="compass", revision="1", dimensions=2)
Make = Callable[..., Memory]

#: Changes much, and never comes to an end.
CLIENT = """
import sys, time
from bearinmind.store.postgres.pool import Pool

with Pool(sys.argv[1], absence=float(sys.argv[2])).writing("ada") as transaction:
    for statement in ("forget_vectors", "delete_indexed", "delete_memories"):
        transaction.change(statement, {"owner": "ada", "ids": sys.argv[3:]})
    print("changed", flush=True)
    time.sleep(1_000)
"""


@pytest.fixture
def url(migrated_database: Callable[[], str]) -> str:
    return migrated_database()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    made = PostgresStore(url, busy_timeout=20)
    made.use_space(SPACE)
    yield made
    made.close()


@contextmanager
def _client(url: str, absence: float, *ids: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has changed these memories and has not said that it is done."""
    child = subprocess.Popen(
        [sys.executable, "-c", CLIENT, url, str(absence), *ids],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "changed\n"
        yield child
    finally:
        child.kill()
        child.wait()
        child.stdout.close()


def _assert_untouched(store: PostgresStore, memory: Memory, noon: datetime) -> None:
    assert store.get(ADA, memory.id) == memory
    [job] = store.claim(["embed"], 1, noon, noon)
    assert job.memory == memory
    findings = store.check()
    assert all(finding.good for finding in findings), findings


def test_what_a_killed_client_had_begun_did_not_happen_and_its_turn_is_free(
    url: str, store: PostgresStore, make: Make, noon: datetime
) -> None:
    kept = make("kept")
    store.put(ADA, kept)
    with _client(url, 60, kept.id) as client:
        client.kill()
        assert isinstance(store.put(ADA, make("next")), Stored)
    _assert_untouched(store, kept, noon)


def test_nobody_waits_for_ever_for_a_client_that_does_nothing_any_more(
    url: str, store: PostgresStore, make: Make, noon: datetime
) -> None:
    """Such as on a machine that was suspended, or whose network is gone."""
    kept = make("kept")
    store.put(ADA, kept)
    with _client(url, 0.3, kept.id) as client:
        client.send_signal(signal.SIGSTOP)
        assert isinstance(store.put(ADA, make("next")), Stored)
    _assert_untouched(store, kept, noon)


def test_what_goes_wrong_quotes_nothing_that_is_stored(store: PostgresStore, make: Make) -> None:
    wrong = make("the walrus word", tags=("tusk",), keywords=("flipper",), importance=7.0)
    with pytest.raises(StoreFailure, match="memories_importance_check") as caught:
        store.put(ADA, wrong)
    said = f"{caught.value.message} {caught.value.hint}"
    assert not any(word in said for word in ("walrus", "tusk", "flipper", str(wrong.id)))
    taken = replace(wrong, importance=0.5)
    store.put(ADA, taken)
    [job] = store.claim(["embed"], 1, taken.created_at, taken.created_at)
    assert store.finish_embedding(SPACE, [job], np.ones((1, 2), np.float32)) == 1
