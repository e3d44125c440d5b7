"""Peers as retrievers: each class speaks to a driver that runs in the peer's own environment.

PYTHONPATH=benchmarks/peers bearinmind bench run --data DIR --retriever peers:Mem0
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Timer
from typing import Any, ClassVar

HERE = Path(__file__).resolve().parent
PLACE = HERE.parents[1] / ".peers"  # made by `setup`, never committed
ENCODER = PLACE / "encoder" / "all-MiniLM-L6-v2"

OPEN_LIMIT_S = 300  # a cold import of PyTorch from a slow disk, or the start of a server
INGEST_LIMIT_S = 7200  # one user's corpus, on a busy machine
RECALL_LIMIT_S = 60
CLOSE_LIMIT_S = 30
LOG_TAIL = 2_000  # characters of a driver's log that an error quotes


class PeerFailed(Exception):
    """A peer is not set up, gave an error, or did not answer in time."""


class Driver:
    """A running driver: one request goes in, one reply comes out."""

    def __init__(self, name: str, *arguments: str) -> None:
        python = PLACE / name / "bin" / "python"
        if not python.exists() or not ENCODER.exists():
            raise PeerFailed(f"{name} is not set up; run: benchmarks/peers/setup {name}")
        self.name = name
        self._folder = Path(tempfile.mkdtemp(prefix=f"peer-{name}-"))
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [python, HERE / name / "driver.py", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self._folder,
                env=_environment(self._folder),
            )
        atexit.register(self.close)
        try:
            self.ask("open", OPEN_LIMIT_S, folder=str(self._folder), encoder=str(ENCODER))
        except PeerFailed:
            self.close()
            raise

    def ask(self, op: str, limit_s: float, **request: object) -> dict[str, Any]:
        """The reply to a request; a driver that does not answer in time is ended."""
        late = Timer(limit_s, self._process.kill)
        late.start()
        line = self._exchange(json.dumps({"op": op, **request}))
        late.cancel()
        if not line:
            raise PeerFailed(f"{self.name} ended, or took over {limit_s} s, at {op}{self._tail()}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise PeerFailed(f"{self.name} at {op}: {reply['error']}{self._tail()}")
        return reply

    def close(self) -> None:
        """End the driver and remove what it stored."""
        atexit.unregister(self.close)
        if self._process.poll() is None:
            try:
                self.ask("close", CLOSE_LIMIT_S)
                self._process.wait(CLOSE_LIMIT_S)
            except (PeerFailed, subprocess.TimeoutExpired):
                self._process.kill()
                self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):  # what a dead driver never read
                if pipe:
                    pipe.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _log(self) -> Path:
        return self._folder / "driver.log"

    def _exchange(self, line: str) -> bytes:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            return b""
        try:
            stdin.write(line.encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            return b""
        return stdout.readline()

    def _tail(self) -> str:
        said = self._log.read_text(encoding="utf-8", errors="replace").strip()[-LOG_TAIL:]
        return f"\n--- end of its log ---\n{said}" if said else ""


class Retriever:
    """One user's corpus in a peer; all users of a peer share its driver, until the last is closed.

    Building one stores the corpus. Figures of the driver come with `facts`.
    """

    name: ClassVar[str]
    arguments: ClassVar[tuple[str, ...]] = ()
    _driver: ClassVar[Driver | None] = None
    _open: ClassVar[int] = 0
    _stored: ClassVar[int] = 0
    _seconds: ClassVar[float] = 0.0
    _numbers: ClassVar[itertools.count[int]] = itertools.count(1)

    def __init__(self, corpus: Sequence[Mapping[str, Any]], user: str) -> None:
        kind = type(self)
        # Numbered, so that users of the same name in two sets do not meet.
        self._user = f"{user}-{next(self._numbers)}"
        self._closed = False
        if kind._driver is None:
            kind._driver = Driver(self.name, *self.arguments)
            kind._open, kind._stored, kind._seconds = 0, 0, 0.0
        kind._open += 1
        reply = kind._driver.ask(
            "ingest", INGEST_LIMIT_S, user=self._user, memories=[_record(row) for row in corpus]
        )
        kind._stored += len(corpus)
        kind._seconds += reply["seconds"]

    def retrieve(self, query: str, k: int) -> list[str]:
        """The ids of at most k memories, the best first."""
        reply = self._running.ask("recall", RECALL_LIMIT_S, user=self._user, query=query, k=k)
        return [str(id_) for id_ in reply["ids"]]

    def facts(self) -> dict[str, Any]:
        """What the driver says of itself, and how fast it stored the corpora of all users."""
        kind = type(self)
        reply = self._running.ask("facts", RECALL_LIMIT_S)
        del reply["seconds"]
        rate = round(kind._stored / kind._seconds, 1)
        return {"peer": self.name, **reply, "models": [reply["encoder"]], "ingest_per_s": rate}

    def close(self) -> None:
        """Forget this user; the last one to leave ends the driver."""
        kind = type(self)
        if self._closed:
            return
        self._closed = True
        kind._open -= 1
        if kind._open == 0 and kind._driver:
            kind._driver.close()
            kind._driver = None

    @property
    def _running(self) -> Driver:
        driver = type(self)._driver
        if driver is None or self._closed:
            raise PeerFailed(f"{self.name} is closed")
        return driver


class LanceDb(Retriever):
    """LanceDB's hybrid search."""

    name = "lancedb"


class Txtai(Retriever):
    """txtai's hybrid search."""

    name = "txtai"


class Mem0(Retriever):
    """mem0 without a language model."""

    name = "mem0"


class McpMemoryService(Retriever):
    """mcp-memory-service's hybrid retrieval on its SQLite storage."""

    name = "mcp-memory-service"


class MemPalace(Retriever):
    """MemPalace's search."""

    name = "mempalace"


class BasicMemory(Retriever):
    """basic-memory's search, with its floor as it is by default."""

    name = "basic_memory"


class BasicMemoryNoFloor(Retriever):
    """basic-memory's search without its floor, which goes with its default encoder."""

    name = "basic_memory"
    arguments = ("no-floor",)


class Hindsight(Retriever):
    """Hindsight without a language model and without its graph leg."""

    name = "hindsight"


class HindsightGraph(Retriever):
    """Hindsight without a language model, its graph leg on as it is by default."""

    name = "hindsight"
    arguments = ("graph",)


def _environment(folder: Path) -> dict[str, str]:
    """No network, no telemetry, no GPU, and a home of its own."""
    return {
        "PATH": os.defpath,
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(HERE.parent),
        "PYTHONUNBUFFERED": "1",
        "PYTHONWARNINGS": "ignore",
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",  # on a busy machine two threads wait for each other
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "ANONYMIZED_TELEMETRY": "False",
        "DO_NOT_TRACK": "1",
        "MEM0_TELEMETRY": "False",
        "OTEL_SDK_DISABLED": "true",
    }


def _record(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": str(row["id"]),
        "content": row["content"],
        "tags": _split(row.get("tags") or ""),
        "expanded_keywords": _split(row.get("expanded_keywords") or ""),
        "category": row.get("category") or "",
        "importance": row.get("importance") or 0.0,
        "created_at": row.get("created_at") or "",
    }


def _split(words: str | Sequence[str]) -> list[str]:
    parts = words.split(",") if isinstance(words, str) else words
    return [part.strip() for part in parts if part.strip()]
