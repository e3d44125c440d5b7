"""The concept graph in a SQLite file: its pages, its plans, its damage, and what purging leaves."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from bearinmind.concepts import ConceptName, Merge
from bearinmind.protocols import Sealed
from bearinmind.store import rows
from bearinmind.store.sqlite import SqliteStore
from bearinmind.store.sqlite.file import SQL
from bearinmind.text.names import name_of
from bearinmind.types import Filter, Memory, MemoryId, Scope, UserId
from support.extractors import HOUR, Make, after, read_all

ADA = Scope(user=UserId("ada"))
GANNET, HERON = name_of("gannet"), name_of("heron")


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as made:
        made.use_extractor("plain")
        yield made


@pytest.fixture
def keep(store: SqliteStore, make: Make, noon: datetime) -> Callable[..., Memory]:
    """Stores a memory and reads it."""

    def kept(content: str, **fields: object) -> Memory:
        memory = make(content, **fields)
        store.put(ADA, memory)
        read_all(store, noon)
        return memory

    return kept


Keep = Callable[..., Memory]


def test_every_page_of_a_large_graph_is_read(
    store: SqliteStore, make: Make, noon: datetime
) -> None:
    ids = [MemoryId(f"m{number:06}") for number in range(1_100)]
    for id_ in ids:
        store.put(ADA, make(f"N{id_} | Heron | N{id_} > knows > Heron", id=id_))
    while read_all(store, noon):
        pass
    everything = Filter(scope=ADA, now=noon)
    assert [each.id for each in store.all_mentions(everything)][::2] == ids
    assert [each.evidence for each in store.all_relations(everything)] == [(id_,) for id_ in ids]
    assert len(store.relations(everything, [HERON], 7)) == 7
    newest = [each.id for each in store.mentioning(everything, [ConceptName("heron")], 3)]
    assert newest == ids[:-4:-1]


# ---- plans -------------------------------------------------------------------------------------

#: What is asked while somebody waits for a recall, or for each memory that is read.
LOOKED_UP: dict[str, dict[str, Any]] = {
    "concepts_named": {"names": "[]"},
    "known_names": {"names": "[]"},
    "mentions_in": {"ids": "[]"},
    "mentioning_these": {"concepts": "[]", "role": None},
    "mentioning_newest": {"concept": 1, "limit": 1, "role": None},
    "about_newest": {"concept": 1, "limit": 1, "role": 1},
    "relations_at": {"concepts": "[]", "limit": 1},
    "evidence_of": {"relations": "[]"},
    "vectors_of": {"ids": "[]", "space": 1},
    "claim": {"kinds": "[]", "limit": 1, "until": 0},
    "anything_due": {"kinds": "[]"},
    "readings_to_keep": {"numbers": "[]"},
    "known_before": {"id": "", "version": 1},
    "concept_numbers": {"names": "[]"},
    "mentions_of_rows": {"rows": "[]"},
    "orphans": {"concepts": "[]"},
    "settle_relations": {"relations": "[]"},
    "end_evidence": {"row": 1, "at": 0, "stated": "[]"},
    "forget_mentions": {"rows": "[]"},
    "remove_merges": {"concepts": "[]"},
}


@pytest.mark.parametrize("name", LOOKED_UP)
def test_what_is_asked_often_reads_no_table_from_end_to_end(
    store: SqliteStore, path: Path, noon: datetime, name: str
) -> None:
    asked = rows.from_filter(Filter(scope=ADA, now=noon)) | LOOKED_UP[name]
    with closing(sqlite3.connect(path)) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
        found = connection.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", asked).fetchall()
    aliases = {"c", "e", "found", "m", "member", "n", "r", "s", "t", "v", "w", "x"}
    steps = [row[3].split() for row in found]
    assert [x for x in steps if x[0] == "SCAN" and x[1] in tables | aliases] == []


# ---- damage ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE concepts SET memories = memories + 1 WHERE name = 'heron'",
        "UPDATE concepts SET subjects = 0",
        "DELETE FROM concepts WHERE name = 'heron'",
        "DELETE FROM evidence",
        "DELETE FROM memories WHERE content LIKE 'Gannet%'",
        "UPDATE memories SET sensitive = 1",
        "UPDATE concepts SET stands_for = NULL",
        "INSERT INTO concepts (owner, name, label, kind) VALUES ('ada', 'x', 'x', 'name')",
        "UPDATE relations SET owner = 'eve'",
    ],
)
def test_a_graph_that_is_wrong_is_found(
    store: SqliteStore, keep: Keep, path: Path, noon: datetime, damage: str
) -> None:
    keep("Gannet | Heron | Gannet > runs on > Heron")
    keep("Heron")
    store.merge(ADA, Merge(alias=HERON, into=GANNET, reason="", score=1.0, merged_at=noon))
    assert all(finding.good for finding in store.check())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(damage)
    assert "graph" in {finding.name for finding in store.check() if not finding.good}


def test_a_memory_that_nobody_will_read_is_found(
    store: SqliteStore, make: Make, path: Path
) -> None:
    store.put(ADA, make("Gannet"))
    assert all(finding.good for finding in store.check())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM work")
    [finding] = [finding for finding in store.check() if not finding.good]
    assert (finding.name, finding.detail[0]) == ("concepts", "1")


# ---- what is gone is gone ----------------------------------------------------------------------

PRIVATE = "Zweigelt | Xanthippe | Zweigelt > quaffs > Xanthippe"
WORDS = (b"weigelt", b"anthippe", b"quaffs")


def traces(path: Path) -> list[bytes]:
    """Words of the secret that are anywhere in the file or its log."""
    files = [path, path.with_name(f"{path.name}-wal")]
    content = b"".join(file.read_bytes() for file in files if file.exists())
    return [word for word in WORDS if word in content]


def test_a_purge_leaves_no_word_in_the_file(
    store: SqliteStore, keep: Keep, path: Path, noon: datetime
) -> None:
    keep("Gannet | Heron | Gannet > runs on > Heron")
    memory = keep(PRIVATE)
    xanthippe = name_of("Xanthippe")
    merge = Merge(alias=xanthippe, into=GANNET, reason="Xanthippe", score=1.0, merged_at=noon)
    store.merge(ADA, merge)
    store.unmerge(ADA, xanthippe, noon)
    store.replace(ADA, after(memory, content="Dunlin"))
    assert store.scrub()
    assert traces(path) == [*WORDS]
    assert store.purge(ADA, [memory.id])
    assert traces(path) == []


def test_what_becomes_sensitive_leaves_no_word_in_the_file(
    store: SqliteStore, keep: Keep, path: Path, noon: datetime
) -> None:
    memory = keep(PRIVATE)
    hidden = replace(memory, content="[sensitive]", sensitive=True)
    present = after(hidden)
    record = Sealed(
        owner=ADA.user,
        id=memory.id,
        version=1,
        key_id="key",
        nonce=b"0",
        ciphertext=b"?",
        fingerprint=b"!",
    )
    records = [record, replace(record, version=2)]
    store.replace(ADA, present, sealed=records, concealed=[hidden])
    assert store.scrub()
    assert traces(path) == []
    assert store.claim(["extract"], 9, noon + HOUR, noon + HOUR) == []
