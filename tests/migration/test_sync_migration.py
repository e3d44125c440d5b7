"""A replica that is upgraded goes on where it was: what was pending is pending, and is sent."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from bearinmind import analysis
from bearinmind.changes import Change, Feed, Peer, memory_subject
from bearinmind.store import database
from bearinmind.store.sqlite import SqliteStore, schema
from bearinmind.types import MemoryId, Scope, UserId

ADA = Scope(user=UserId("ada"))
_BEFORE = 6  # the last schema in which a conflict was known on one machine alone


def test_what_was_pending_before_conflicts_were_told_is_pending_after(path: Path) -> None:
    with closing(sqlite3.connect(path)) as old:
        for number, name in schema.migrations().items():
            if number <= _BEFORE:
                old.executescript(database.read_sql("sqlite", f"migrations/{name}"))
        old.executescript(
            f"""
            PRAGMA application_id = {schema.APPLICATION_ID};
            PRAGMA user_version = {_BEFORE};
            INSERT INTO index_facts VALUES (1, {analysis.ANALYSIS_VERSION}, 0, 0);
            INSERT INTO feeds VALUES ('ada', 'epoch', 9);
            INSERT INTO changes VALUES ('ada', 'memory', '["m1"]', 7, '["d1"]', 'too long');
            INSERT INTO changes VALUES ('ada', 'memory', '["m2"]', 9, '[]', NULL);
            INSERT INTO peers VALUES ('ada', 'https://a', 'ada', 'theirs', 5, 1, 2, NULL, 'no');
            """
        )
    with closing(SqliteStore(path)) as store:
        one, two = (memory_subject(MemoryId(id_)) for id_ in ("m1", "m2"))
        assert store.feed(ADA) == Feed(epoch="epoch", head=9)
        assert store.changes(ADA, 0, 9) == [
            Change(one, 7, ("d1",), "too long"),
            Change(two, 9),
        ]
        peer = store.peer(ADA)
        assert isinstance(peer, Peer)
        assert (peer.cursor, peer.push_error) == (5, "no")
        assert (peer.shared_at, peer.shared_error) == (None, None)
