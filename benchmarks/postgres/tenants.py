"""A database of a thousand tenants, in any size.

A few tenants, of equal size whatever the size of all, are stored by Bear in Mind itself: real texts
with other names in each copy (`varied.py`), vectors made from real ones, and their graph. They are
the ones that are asked. All others are copies of them under other names, made inside the server:
their rows, terms, vectors and concepts are as many and as large as if each had been stored, and
nothing of theirs is shared.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1]))

from bearinmind import Mind
from bearinmind.config import Settings
from bearinmind.models.embedders import Embedders
from bearinmind.protocols import Embedder
from bearinmind.store.postgres.lexicon import mark
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import Space, UserId, new_id
from hybrid import made_up_vectors
from varied import VariedSet

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors

TENANTS = 1_000
ASKED = 8  # tenants that are stored by Bear in Mind and asked
EACH = 1_000  # memories of each of them
SET = Path(__file__).parents[1] / "data" / "agent-store"
SQL = Path(__file__).parent / "copy_tenants.sql"


class Given:
    """An embedder whose queries were embedded before: what is measured is recall, not a model."""

    leaves_machine = False

    def __init__(self, space: Space, vectors: dict[str, Vector]) -> None:
        self.space = space
        self.texts = [*vectors]
        self._vectors = vectors

    def embed_query(self, text: str) -> Vector:
        """The vector that was given."""
        return self._vectors[text]

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """Not asked for: memories are given their vectors."""
        raise NotImplementedError(texts)

    def close(self) -> None:
        """Nothing is held."""


def asked_owner(number: int) -> UserId:
    """The name of a tenant that is asked."""
    return UserId(f"asked-{number}")


def questions(embedder: Embedder, count: int) -> dict[str, Vector]:
    """Questions with their vectors."""
    texts = [*islice(dict.fromkeys(VariedSet(SET).questions), count)]
    return {text: embedder.embed_query(text) for text in texts}


def open_tenant(store: PostgresStore, owner: UserId, embedder: Embedder) -> Mind:
    """A memory of one tenant on a store that others use too."""
    settings = Settings(user=owner, worker="off")
    return Mind(store, settings, embedders=Embedders.among(embedder))


def fill_asked(store: PostgresStore, real: Embedder) -> None:
    """Store the tenants that are asked, embedded and read."""
    store.use_space(real.space)
    copies = VariedSet(SET).copies()
    vectors = made_up_vectors(real, ASKED * EACH)
    for number in range(ASKED):
        tenant = open_tenant(store, asked_owner(number), real)
        first, *rest = islice(copies, EACH)
        pattern = tenant.store(first).memory
        tenant.transfer.add(
            [tenant.transfer.admit([replace(pattern, id=new_id(), content=text)]) for text in rest]
        )
    _embed(store, real.space, vectors)
    tenant.work.run()


def _embed(store: PostgresStore, space: Space, vectors: Vectors) -> None:
    now, done = datetime.now(UTC), 0
    while jobs := store.claim(["embed"], 500, now, now + timedelta(hours=1)):
        store.finish_embedding(space, jobs, vectors[done : done + len(jobs)])
        done += len(jobs)


def grow(url: str, before: int, size: int) -> int:
    """Let the others grow until all hold so many memories; how many each of them has then."""
    others = TENANTS - ASKED
    each = round((size - ASKED * EACH) / others)
    names = [f"other-{number}" for number in range(others)]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # the copies are sound
        connection.execute("SET maintenance_work_mem = '1GB'")
        connection.execute("CREATE TEMP TABLE others (owner TEXT, pattern TEXT, mark TEXT)")
        with connection.cursor().copy("COPY others FROM STDIN") as copy:
            for number, name in enumerate(names):
                copy.write_row((name, asked_owner(number % ASKED), mark(UserId(name))))
        # To insert millions of terms one by one takes many times as long as to index them at once.
        [[index]] = connection.execute(
            "SELECT indexdef FROM pg_indexes WHERE indexname = 'indexed_by_lexeme'"
        ).fetchall()
        connection.execute("DROP INDEX indexed_by_lexeme")
        for statement in SQL.read_text(encoding="utf-8").split(";\n"):
            said = {"after": before, "upto": each} if "%(" in statement else None
            if statement.strip():
                connection.execute(statement, said)
        for statement in (index, "VACUUM (ANALYZE)", "CHECKPOINT"):
            connection.execute(statement)
    return each
