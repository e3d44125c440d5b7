"""Stores and clients of every earlier schema work with the present release.

`scripts/keep-upgrade-fixtures` has made what is in `stores`, each with the code of its day.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from bearinmind import Client
from bearinmind.app import Mind
from bearinmind.config import Settings, store_name
from bearinmind.store import backup, backup_files
from bearinmind.store.factory import Access
from bearinmind.store.postgres import schema as postgres_schema
from bearinmind.store.sqlite import file as sqlite_schema
from support.http_server import serving
from support.server_thread import on_thread
from support.upgrade_story import CONTENTS, SECRET, VAULT_KEY, converse, told

STORES = Path(__file__).with_name("stores")
AGES = sorted(path.name.partition(".")[0] for path in STORES.glob("*.sqlite.gz"))
KASIMIR = f"{CONTENTS[2]} Since May."
ANSWERS = {
    "contents": sorted([*CONTENTS[:2], KASIMIR, CONTENTS[3]]),
    "secret": SECRET,
    "versions": [1, 1, 1, 2, 2],  # one was updated, one deleted
    "links": [(KASIMIR, "see-also", CONTENTS[1]), (CONTENTS[1], "supersedes", CONTENTS[0])],
    "tags": ["infra"],
    "users": ["ada", "eve"],
    "keys": ["laptop"],
    "seen by eve": [KASIMIR, "Otters sleep in the kelp."],
    "first hit": CONTENTS[1],
}


def unpacked(name: str) -> bytes:
    return gzip.decompress((STORES / name).read_bytes())


@pytest.fixture(params=["sqlite", "postgres"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=AGES)
def age(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def old(kind: str, age: str, path: Path, request: pytest.FixtureRequest) -> str:
    """The name of a store as an earlier release has left it."""
    content = unpacked(f"{age}.{kind}.gz")
    if kind == "sqlite":
        path.write_bytes(content)
        return str(path)
    url = str(request.getfixturevalue("postgres_url"))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(content)
    return url


def answers(place: str) -> dict[str, Any]:
    settings = {"store": place, "user": "ada", "vault_key": VAULT_KEY, "embedder": "none"}
    with Mind.build(Settings.model_validate(settings)) as mind:
        assert [each for each in mind.check() if not each.good] == []
        return told(mind, mind.for_user("eve"))


def test_a_store_of_every_earlier_schema_answers_as_it_did(old: str) -> None:
    assert answers(old) == ANSWERS
    assert answers(old) == ANSWERS  # migrated once, it stays


@pytest.mark.parametrize("age", AGES)
def test_a_backup_of_an_earlier_schema_is_restored(age: str, path: Path, tmp_path: Path) -> None:
    path.write_bytes(unpacked(f"{age}.sqlite.gz"))
    with backup_files.new_file(tmp_path / "old.backup") as blocks:
        keep = backup_files.BlockWriter(blocks, (), {})
        content = path.read_bytes()
        places = range(0, len(content), backup_files.BLOCK)
        stored = [keep(content[at : at + backup_files.BLOCK]) for at in places]
        facts = backup_files.BackupFacts(
            made_at=datetime.now(UTC),
            release="0.0.1",
            size=len(content),
            rows={},
            sealing_keys=(),
            recipients=(),
        )
        blocks.finish(backup_files.Manifest(facts=facts, store=tuple(stored), shifts=()))

    new = tmp_path / "new.db"
    backup.restore(tmp_path / "old.backup", store_name(new), Access())

    assert answers(str(new)) == ANSWERS


def test_every_schema_but_the_present_one_has_a_filled_store_of_either_kind() -> None:
    for kind, present in (
        ("sqlite", sqlite_schema.SCHEMA_VERSION),
        ("postgres", postgres_schema.SCHEMA_VERSION),
    ):
        kept = {path.name.partition(".")[0] for path in STORES.glob(f"*.{kind}.gz")}
        missing = {f"{number:04}" for number in range(1, present)} - kept
        assert not missing, f"scripts/keep-upgrade-fixtures makes them: {missing}"


# ---- clients and servers -----------------------------------------------------------------------

TALKS = sorted(STORES.glob("*.exchange.json"))


FIRST_TALK = "0003"  #: before that, verbs still changed under /api/v1; nothing was published


def test_every_schema_since_the_api_is_kept_has_a_recorded_talk() -> None:
    kept = [path.name.partition(".")[0] for path in TALKS]
    assert kept == [age for age in AGES if age >= FIRST_TALK]


def shape(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """Where a new answer lacks what an old one has, or has it in another form."""
    if isinstance(old, Mapping):
        for name, value in old.items():
            if not isinstance(new, Mapping) or name not in new:
                yield f"{at}.{name} is missing"
            else:
                yield from shape(value, new[name], f"{at}.{name}")
    elif isinstance(old, list):
        if not isinstance(new, list) or (old and not new):
            yield f"{at} is no list, or an empty one"
        elif old:
            yield from shape(old[0], new[0], f"{at}[0]")
    elif old is not None and new is not None and kind_of(old) is not kind_of(new):
        yield f"{at} is {type(new).__name__}, was {type(old).__name__}"


def kind_of(value: object) -> type:
    return float if type(value) is int else type(value)


def ids_in(old: Any, new: Any) -> Iterator[tuple[str, str]]:
    """The ids of memories and keys of an old answer, each with that of the new one."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        if isinstance(old.get("id"), str) and isinstance(new.get("id"), str):
            yield old["id"], new["id"]
        for name in {*old} & {*new}:
            yield from ids_in(old[name], new[name])
    elif isinstance(old, list) and isinstance(new, list):
        for one, other in zip(old, new, strict=False):
            yield from ids_in(one, other)


@pytest.mark.parametrize("talk", TALKS, ids=lambda path: path.name[:4])
def test_an_earlier_client_is_understood_by_the_present_server(talk: Path, path: Path) -> None:
    """Its requests are sent again, as they were recorded: the same status, and no field lacks."""
    with serving(path) as server:
        server.key("ada", "write")
        known: dict[str, str] = {}
        for call in json.loads(talk.read_text())["calls"]:
            text = json.dumps([call["path"], call["body"]])
            for before, now in known.items():
                text = text.replace(before, now)
            address, body = json.loads(text)
            by_admin = any(part in address for part in ("/users", "/keys", "/audit"))
            key = server.key(*(("root", "admin") if by_admin else ("ada", "write")))
            headers = {**call["headers"], "Authorization": f"Bearer {key}"}
            answer = httpx.request(
                call["method"], f"{server.url}{address}", json=body, headers=headers
            )
            where = f"{call['method']} {call['path']}"
            assert answer.status_code == call["status"], (where, answer.text)
            told_now = answer.json() if answer.content else None
            assert [*shape(call["answer"], told_now)] == [], where
            known |= dict(ids_in(call["answer"], told_now))


class _Recorded(BaseHTTPRequestHandler):
    """Answers as an earlier server did, call by call."""

    server: RecordedServer

    def _answer(self) -> None:
        call = self.server.calls[len(self.server.asked)]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.asked.append((self.command, self.path, json.loads(body) if body else None))
        content = json.dumps(call["answer"]).encode() if call["answer"] is not None else b""
        self.send_response(call["status"])
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815  names of the library

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class RecordedServer(ThreadingHTTPServer):
    """A server that answers what was recorded."""

    def __init__(self, calls: list[dict[str, Any]]) -> None:
        super().__init__(("127.0.0.1", 0), _Recorded)
        self.calls = calls
        self.asked: list[tuple[str, str, Any]] = []


@pytest.mark.parametrize("talk", TALKS, ids=lambda path: path.name[:4])
def test_an_earlier_server_is_understood_by_the_present_client(talk: Path) -> None:
    """The client asks what the earlier one asked, and reads what the server said."""
    calls = json.loads(talk.read_text())["calls"]
    server = RecordedServer(calls)
    with on_thread(server):
        url = f"http://127.0.0.1:{server.server_port}"
        with Client(url, key="bim_a_b") as client:
            converse(client, client)
    assert server.asked == [(call["method"], call["path"], call["body"]) for call in calls]
