"""What a file receives leaves no trace of what it replaces, and finds its place by indexes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bearinmind.changes import memory_subject
from bearinmind.protocols import Gone, History, Received, Sealed
from bearinmind.store.sqlite import SqliteStore
from bearinmind.store.sqlite.file import SQL
from bearinmind.types import Memory, Scope, UserId

ADA = Scope(user=UserId("ada"))
CANARY = "cormorant"
PLACE = {"owner": "ada", "kind": "memory"}
NAMES: dict[str, object] = {"names": json.dumps(['["m1"]'])}

#: What every sync asks, by which parameters.
LOOKED_UP: dict[str, dict[str, object]] = {
    "advance_feed": {"count": 1},
    "changes_after": {"after": 5, "limit": 9},
    "change_numbers": NAMES,
    "histories_of": NAMES,
    "links_named": {"names": json.dumps(['["m1", "causes", "m2"]'])},
    "shares_named": {"names": json.dumps(['["bob", "memory", "m1"]'])},
    "peer_numbers": NAMES,
    "present_vectors": {"ids": '["m1"]', "key": "k"},
    "embed_jobs_of": {"ids": '["m1"]', "key": "k"},
}


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as opened:
        opened.open_feed(ADA, "epoch")
        yield opened


def traces(path: Path) -> list[str]:
    """The files that hold the canary."""
    return [each.name for each in path.parent.iterdir() if CANARY.encode() in each.read_bytes()]


@pytest.fixture
def kept(store: SqliteStore, path: Path, make: Callable[..., Memory]) -> Memory:
    memory = make(f"a {CANARY} at sea", tags=("birds",))
    store.put(ADA, memory)
    store.scrub()
    assert traces(path) == ["memories.db"]
    return memory


def test_a_purge_that_is_received_leaves_nothing_in_the_file(
    store: SqliteStore, path: Path, kept: Memory
) -> None:
    store.receive(ADA, [Received(memory_subject(kept.id), Gone(()), 1, settled=True)])
    assert traces(path) == []


def test_a_text_that_became_sensitive_elsewhere_is_gone_from_the_file(
    store: SqliteStore, path: Path, kept: Memory
) -> None:
    concealed = replace(kept, content="[sensitive]", sensitive=True)
    sealed = Sealed(
        owner=ADA.user,
        id=kept.id,
        version=1,
        key_id="key-1",
        nonce=b"nonce",
        ciphertext=b"sealed",
        fingerprint=b"print",
    )
    state = History(versions=(concealed,), sealed=(sealed,))
    store.receive(ADA, [Received(memory_subject(kept.id), state, 1)])
    assert store.get(ADA, kept.id) == concealed
    assert traces(path) == []


@pytest.mark.parametrize("statement", LOOKED_UP)
def test_what_is_asked_at_every_sync_is_looked_up(
    store: SqliteStore, path: Path, statement: str
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        asked = PLACE | LOOKED_UP[statement]
        found = connection.execute(f"EXPLAIN QUERY PLAN {SQL[statement]}", asked)
        steps = [str(step) for *_, step in found]
    assert {step for step in steps if "SCAN" in step} <= {"SCAN wanted VIRTUAL TABLE INDEX 1:"}
    assert not [step for step in steps if "memories_by_time" in step], steps
