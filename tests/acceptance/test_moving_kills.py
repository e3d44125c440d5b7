"""A move that is killed at any moment goes on, and ends as if nothing had happened."""

from __future__ import annotations

import multiprocessing
import random
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from bearinmind import errors
from bearinmind.config import store_name
from bearinmind.store.factory import Access, open_source, open_store, open_target
from bearinmind.store.migrate_store import open_move
from support.full_store import Life, everything

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")

KILLS = 5  # at least so many before a move may end
PAGE = 5  # rows, so that there are many transactions to be killed in
FORK = multiprocessing.get_context("fork")  # a process that need not import everything anew
Place = str | Path


def _move(source: Place, target: Place, told: multiprocessing.connection.Connection) -> None:
    """Move on, and tell of every page."""
    access = Access(connections=2)
    with (
        open_source(store_name(source), access) as one,
        open_target(store_name(target), access) as other,
        open_move(one, other, page=PAGE) as move,
    ):
        move.copy(told.send)
        move.verify(lambda _: None)
    told.send("done")


def _killed(source: Place, target: Place, chance: random.Random) -> bool:
    """Begin or go on with a move and kill it somewhere; whether that was so."""
    hears, tells = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_move, args=(source, target, tells))
    process.start()
    tells.close()
    pages = chance.randrange(20)
    try:
        while hears.recv() != "done" and pages:
            pages -= 1
        process.join(chance.uniform(0, 0.02))  # somewhere inside one of the next transactions
    except EOFError:
        pass
    process.kill()
    process.join()
    hears.close()
    return process.exitcode != 0


def _progress(target: Place) -> int | None:
    """How many rows are there; None when the move is not begun, or is done."""
    connection = sqlite3.connect(target) if isinstance(target, Path) else psycopg.connect(target)
    try:
        [[moved]] = connection.execute("SELECT moved FROM moving").fetchall()
    except (sqlite3.OperationalError, psycopg.errors.UndefinedTable):
        return None
    finally:
        connection.close()
    return int(moved)


@pytest.mark.parametrize("to", ["server", "file"])
def test_a_move_survives_being_killed_at_any_moment(
    to: str, tmp_path: Path, migrated_database: Callable[[], str], postgres_url: str
) -> None:
    file = tmp_path / "memories.db"
    source, target = (file, postgres_url) if to == "server" else (migrated_database(), file)
    with_life = open_store(store_name(source))
    Life(with_life, seed=21)()
    answers = everything(with_life)
    with_life.close()
    chance = random.Random(20_260_401)
    kills, moved = 0, 0

    while _killed(source, target, chance):
        kills += 1
        now = _progress(target)
        if now is not None:
            assert now >= moved  # nothing is moved twice
            moved = now
            with pytest.raises(errors.StoreUnfinished):
                open_store(store_name(target))
        elif moved:
            break  # all was moved, and only the process had not ended yet

    assert kills >= KILLS
    assert moved
    whole = open_store(store_name(target))
    assert everything(whole) == answers
    assert [each for each in whole.check() if not each.good and each.name != "work"] == []
    whole.close()
