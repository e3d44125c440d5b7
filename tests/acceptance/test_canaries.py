"""Secrets are put in through every door, and then looked for everywhere they must not be."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bearinmind.text import ids
from support import canaries
from support.canaries import dumped, spellings
from support.forked_process import ReadyProcess
from support.recording_server import RecordingServer, recording

DATABASE = "data/bearinmind/memories.db"
PLAIN = "qxzbyplain11"  #: not secret: whatever does not find this finds nothing
#: What tells how a canary is found: the rules find it, or it is flagged.
DETECTED = "the {} password is {}"
FLAGGED = "{} is what the walrus said about {}"
#: What most commands need here.
IMPORTED = ("bearinmind.surfaces.cli", "bearinmind.store.sqlite", "httpx", "numpy", "cryptography")


@dataclass
class House:
    """A home with a store of its own, and all that its commands ever said."""

    home: Path
    inputs: Path  #: what is fed in: the only place where canaries may lie
    server: RecordingServer
    commands: ReadyProcess
    said: bytes = b""
    canaries: dict[str, str] = field(default_factory=dict)  #: canary -> the whole text

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_CACHE_HOME": str(self.home / "cache"),
            "BEARINMIND_WORKER": "off",
            "BEARINMIND_EMBEDDER": "http:canary",
            "BEARINMIND_EMBEDDER_URL": f"{self.server.url}/v1",
            "BEARINMIND_EMBEDDER_DIMENSIONS": "8",
            "BEARINMIND_RERANKER": "tei",
            "BEARINMIND_RERANKER_URL": self.server.url,
            "BEARINMIND_RERANK_SECONDS": "30",
            "BEARINMIND_LLM_URL": f"{self.server.url}/v1",
            "BEARINMIND_LLM_MODEL": "writer",
            "BEARINMIND_CAPTURE_QUERIES": "true",
        }

    def new(self, shape: str) -> str:
        """A text with a canary of its own."""
        letters = "".join(chr(ord("a") + int(digit)) for digit in f"{len(self.canaries):03}")
        canary = f"qxzby{letters}{17 + len(self.canaries)}"
        subject = f"machine{len(self.canaries)}"
        pair = (subject, canary) if shape is DETECTED else (canary, subject)
        self.canaries[canary] = shape.format(*pair)
        return self.canaries[canary]

    def run(self, *args: object, stdin: str = "", code: int = 0) -> str:
        """What a command prints."""
        done = self.commands.run(
            "bearinmind",
            args,
            stdin=stdin.encode(),
            environment=self.environment,
            folder=self.home,
        )
        self.said += done.stdout + done.stderr
        assert done.returncode == code, done.stderr.decode()
        return done.stdout.decode()

    def json(self, *args: object, stdin: str = "") -> dict[str, object]:
        answer: dict[str, object] = json.loads(self.run(*args, "--json", stdin=stdin))
        return answer

    def store(self, *args: object, stdin: str = "") -> str:
        memory = self.json("store", *args, stdin=stdin)["memory"]
        assert isinstance(memory, dict)
        return str(memory["id"])

    def file(self, name: str, text: str) -> Path:
        path = self.inputs / name
        path.write_text(text, encoding="utf-8")
        return path


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    (tmp_path / "home").mkdir()
    (tmp_path / "inputs").mkdir()
    with recording() as server, closing(ReadyProcess(*IMPORTED)) as commands:
        yield House(tmp_path / "home", tmp_path / "inputs", server, commands)


# ---- looking -----------------------------------------------------------------------------------


def places(house: House) -> dict[str, bytes]:
    """All that is kept, said or sent, in lower case: terms are."""
    found = {"said": house.said, "sent": house.server.received}
    for file in sorted(house.home.rglob("*")):
        if file.is_file():
            content = file.read_bytes()
            name = str(file.relative_to(house.home))
            found[name] = content
            if file.suffix == ".gz":
                found[f"{name}, unpacked"] = gzip.decompress(content)
            if content.startswith(b"SQLite format 3"):
                found[f"{name}, dumped"] = dumped(file)
    return {name: content.lower() for name, content in found.items()}


def leaks(house: House) -> list[tuple[str, str, str]]:
    """Which canary was found where, and in which form."""
    return canaries.leaks(house.canaries, places(house))


# ---- putting in --------------------------------------------------------------------------------


def put_in_by_command_line(house: House) -> dict[str, str]:
    """Canaries through every command that takes text, under the ids they got."""
    kept: dict[str, str] = {}
    for shape, flag in ((DETECTED, ()), (FLAGGED, ("--sensitive",))):
        text = house.new(shape)
        kept[house.store(text, "--keyword", "harbour", *flag)] = text
        text = house.new(shape)
        kept[house.store("-", *flag, stdin=text)] = text
        text = house.new(shape)
        kept[house.store("--file", house.file("in.txt", text), *flag)] = text
        text = house.new(shape)
        id_ = house.store(f"a harmless beginning {len(kept)}")
        house.run("update", id_, "-", *flag, stdin=text)
        kept[id_] = text
    said = house.said
    id_ = house.store(house.new(FLAGGED))
    house.said = said  # it was plain for a while, and shown
    house.run("update", id_, "another harmless text")
    house.run("update", id_, "--sensitive")
    kept[id_] = "another harmless text"
    records = [{"content": house.new(DETECTED)}, {"content": house.new(FLAGGED), "sensitive": True}]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    house.run("import", house.file("in.jsonl", lines))
    earlier = {
        "content": "a harmless end",
        "version": 2,
        "earlier": [{"content": house.new(DETECTED)}],
    }
    house.run("import", "-", stdin=json.dumps(earlier))
    return kept


def put_in_where_it_is_refused(house: House) -> None:
    """Canaries where they cannot be kept, so that errors speak about them."""
    for option in ("--tag", "--keyword", "--source", "--agent", "--session", "--project"):
        house.run("store", "x", option, house.new(DETECTED), code=2)
    house.run("store", "x", "--category", house.new(DETECTED), code=2)
    bad = [
        {"content": "x", "tags": [house.new(DETECTED)]},
        {"content": house.new(DETECTED), "importance": 7},
        {"content": house.new(DETECTED) + " long" * 400},
        {"content": house.new(DETECTED), "created_at": house.new(DETECTED)},
        {"content": house.new(DETECTED) + "\x00"},
    ]
    house.run("import", "-", stdin="".join(json.dumps(line) + "\n" for line in bad), code=2)
    house.run("import", "-", "--json", stdin="".join(json.dumps(x) + "\n" for x in bad), code=2)


def put_in_by_python(house: House) -> None:
    """Canaries through the library, with everything logged; leaves a log behind."""
    script = house.file("by_python.py", BY_PYTHON)
    texts = [house.new(shape) for shape in (DETECTED, FLAGGED) for _ in range(4)]
    done = subprocess.run(
        [sys.executable, str(script), json.dumps(texts), str(house.home / "debug.log")],
        capture_output=True,
        env=house.environment,
        cwd=house.home,
        check=False,
    )
    house.said += done.stdout + done.stderr
    assert done.returncode == 0, done.stderr.decode()


BY_PYTHON = """
import json, logging, sys
from bearinmind.app import Mind
from bearinmind.surfaces.transfer import Import

texts = json.loads(sys.argv[1])
logging.basicConfig(filename=sys.argv[2], level=logging.DEBUG)
with Mind.open() as memory:
    for begin, flag in ((0, {}), (4, {"sensitive": True})):
        stored, asked, changed, moved = texts[begin : begin + 4]
        assert memory.store(stored, tags=["library"], **flag).memory.sensitive
        assert memory.store(stored, **flag).memory.sensitive
        kept = memory.store(f"a harmless text {begin}").memory
        assert memory.update(kept.id, content=changed, **flag).sensitive
        line = json.dumps({"content": moved, **flag}).encode()
        done = Import(memory, most_problems=None, advance=lambda _: None)([(1, line)])
        assert done.sensitive == 1
        if not flag:
            memory.recall(asked, expanded=[asked])
            memory.why_not(asked, kept.id)
    memory.work.wait(timeout=60)
    memory.recall("library harbour password")
"""


def ask_everything(house: House, kept: dict[str, str]) -> None:
    """Every command that shows, sends or writes memories."""
    some = next(iter(kept))
    house.run("work")
    for query in ("harbour password", f"{PLAIN} walrus", house.new(DETECTED)):
        house.run("recall", query, "--trace")
        house.run("recall", query, "--trace", "--json")
    house.run("recall", house.new(DETECTED), "--why-not", some, "--json")
    for command in (
        ["list", "--limit", 100],
        ["get", some, "--versions"],
        ["why", some],
        ["timeline", some],
        ["doctor"],
        ["config"],
        ["secret", "list"],
        ["secret", "audit"],
        ["work", "--status"],
    ):
        house.run(*command, "--json")
    house.run("list")
    house.run("doctor")
    house.run("export", house.home / "all.jsonl")
    house.run("export", house.home / "all.jsonl.gz")
    house.run("bench", "own", "build", "--out", house.home / "own", "--llm")
    house.run("secret", "rotate")


def put_in_what_is_no_secret(house: House) -> None:
    """Something to recall, to embed and to make questions of; it must be found everywhere."""
    names = [ids.derived(bytes([number] * 8)) for number in range(13)]
    memories = [
        {"id": name, "content": f"the harbour has berth {number} for the boat {PLAIN}"}
        for number, name in enumerate(names)
    ]
    links = [
        {"record": "link", "source": names[0], "target": name, "kind": "see-also"}
        | {"created_at": "2026-01-01"}
        for name in names[1:]
    ]
    lines = "".join(json.dumps(record) + "\n" for record in memories + links)
    house.run("import", house.file("plain.jsonl", lines))


@pytest.mark.long(seconds=40)
def test_no_secret_is_anywhere_but_under_its_seal(house: House) -> None:
    put_in_what_is_no_secret(house)
    kept = put_in_by_command_line(house)
    put_in_where_it_is_refused(house)
    put_in_by_python(house)
    ask_everything(house, kept)

    with closing(sqlite3.connect(house.home / DATABASE)) as reading:
        reading.execute("SELECT count(*) FROM memories").fetchone()  # keeps the log in its place
        late = house.new(DETECTED)
        kept[house.store(late)] = late
        house.store(f"a late text about {PLAIN}")
        assert leaks(house) == []
        found = {name for name, content in places(house).items() if PLAIN.encode() in content}
    assert found >= {
        "said",
        "sent",
        DATABASE,
        f"{DATABASE}, dumped",
        f"{DATABASE}-wal",
        f"{DATABASE}.queries.jsonl",
        "all.jsonl",
        "all.jsonl.gz, unpacked",
    }
    assert any(name.startswith("own/") for name in found)
    assert (house.home / "debug.log").stat().st_size
    kinds = {path.rpartition("/")[2] for path in house.server.paths}
    assert kinds == {"embeddings", "rerank", "completions"}
    hashed = spellings(PLAIN, f"a late text about {PLAIN}")["content hash"]
    assert hashed in places(house)[f"{DATABASE}, dumped"]

    for id_, text in kept.items():  # and all of it is there, in the one place where it may be
        said = house.said
        assert house.run("secret", "get", id_) == f"{text}\n"
        house.said = said
    assert leaks(house) == []
