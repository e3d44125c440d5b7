from __future__ import annotations

import json
import logging
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bearinmind.errors import InvalidInput
from bearinmind.recall.query_log import CapturedQuery, QueryLog

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path) -> QueryLog:
    return QueryLog.beside(tmp_path / "memories.db", "ada")


def test_what_was_asked_is_read_back_in_order(log: QueryLog) -> None:
    log.append("where is the key?", NOON, ["a1", "b2"])
    log.append("ünïcode\nand lines", NOON, [])

    assert [*log.read()] == [
        CapturedQuery(text="where is the key?", asked_at=NOON, hits=("a1", "b2")),
        CapturedQuery(text="ünïcode\nand lines", asked_at=NOON, hits=()),
    ]


def test_the_file_lies_beside_the_store_and_is_private(log: QueryLog, tmp_path: Path) -> None:
    log.append("anything", NOON, [])

    assert log.path == tmp_path / "memories.db.queries.jsonl"
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    row = json.loads(log.path.read_text())
    assert row == {"text": "anything", "asked_at": NOON.isoformat(), "hits": [], "user": "ada"}


def test_another_user_of_the_same_store_sees_nothing_of_it(log: QueryLog) -> None:
    log.append("private", NOON, [])

    assert [*QueryLog(log.path, "bob").read()] == []


def test_without_a_file_nothing_was_captured(log: QueryLog) -> None:
    assert [*log.read()] == []


def test_lines_that_make_no_sense_are_passed_over(log: QueryLog) -> None:
    log.append("first", NOON, [])
    with log.path.open("ab") as file:
        file.write(b'not json\n\xff\xfe\n[]\n{"text": 1, "user": "ada"}\n{"text": "half", "use')
    log.append("last", NOON, [])

    assert [query.text for query in log.read()] == ["first", "last"]


def test_the_oldest_half_goes_when_the_file_is_full(tmp_path: Path) -> None:
    log = QueryLog(tmp_path / "log", "ada", most_bytes=5_000)

    for number in range(200):
        log.append(f"query {number}", NOON, [])

    kept = [query.text for query in log.read()]
    assert log.path.stat().st_size <= 5_000
    assert kept[-1] == "query 199"
    assert kept == [f"query {number}" for number in range(200 - len(kept), 200)]
    assert 20 < len(kept) < 100
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert [*tmp_path.iterdir()] == [log.path]


def test_many_threads_never_write_into_each_others_lines(log: QueryLog) -> None:
    def write(name: int) -> None:
        for number in range(50):
            log.append(f"{name}-{number} " + "x" * 3_000, NOON, [])

    threads = [threading.Thread(target=write, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({query.text for query in log.read()}) == 200


def test_what_cannot_be_written_is_logged_without_its_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "no folder").touch()
    log = QueryLog(tmp_path / "no folder" / "log", "ada")

    with caplog.at_level(logging.WARNING, "bearinmind"):
        log.append("my secret", NOON, [])

    assert "not captured" in caplog.text
    assert "secret" not in caplog.text


def test_a_folder_in_its_place_is_named(tmp_path: Path) -> None:
    log = QueryLog(tmp_path, "ada")

    with pytest.raises(InvalidInput, match="cannot be read"):
        [*log.read()]
