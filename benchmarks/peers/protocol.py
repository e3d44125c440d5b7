"""The driver's half of the conversation: JSON lines on standard input and output.

It runs inside the environment of a peer, so it needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypedDict


class Record(TypedDict):
    """A memory as the evaluation sets hold it."""

    id: str
    content: str
    tags: list[str]
    expanded_keywords: list[str]
    category: str
    importance: float
    created_at: str


class Peer(Protocol):
    """What a driver offers: one peer, opened on a folder of its own."""

    def ingest(self, user: str, memories: list[Record]) -> None:
        """Store the memories of a user; they can be recalled when this returns."""

    def recall(self, user: str, query: str, k: int) -> list[str]:
        """The ids of at most k memories of a user, the best first."""

    def facts(self) -> dict[str, Any]:
        """Version, encoder, legs and notes."""

    def close(self) -> None:
        """Let go of files and servers."""


def serve(make: Callable[[Path, Path], Peer]) -> None:
    """Answer requests until `close`; make the peer of a folder and an encoder at `open`."""
    replies = _replies_alone_on_stdout()
    peer: Peer | None = None
    for line in sys.stdin:
        request = json.loads(line)
        began = time.perf_counter()
        try:
            if request["op"] == "open":
                peer = make(Path(request["folder"]), Path(request["encoder"]))
                reply: dict[str, Any] = {}
            elif peer is None:
                reply = {"error": "the first request must be open"}
            else:
                reply = _answer(peer, request)
        except Exception as exc:  # noqa: BLE001 - whatever a peer raises is told to the host
            reply = {"error": f"{type(exc).__name__}: {exc}"}
        reply["seconds"] = time.perf_counter() - began
        replies.write(json.dumps(reply).encode() + b"\n")
        if request["op"] == "close":
            return


def _answer(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
    match request["op"]:
        case "ingest":
            peer.ingest(request["user"], request["memories"])
            return {}
        case "recall":
            return {"ids": peer.recall(request["user"], request["query"], request["k"])}
        case "facts":
            return {**peer.facts(), "peak_rss_mb": round(peak_rss_mb())}
        case "close":
            peer.close()
            return {}
        case unknown:
            return {"error": f"unknown op {unknown!r}"}


def _replies_alone_on_stdout() -> Any:  # noqa: ANN401 - an unbuffered binary file has no short type
    """Standard output for replies; whatever a peer prints goes to standard error."""
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    return replies


def peak_rss_mb() -> float:
    """The peak resident memory of this process and of those it started, in MiB."""
    return sum(_peak_of(process) for process in [str(os.getpid()), *_children(os.getpid())])


def _children(process: int | str) -> list[str]:
    found: list[str] = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in _lines(task):
            for name in child.split():
                found += [name, *_children(name)]
    return found


def _peak_of(process: str) -> float:
    for line in _lines(Path(f"/proc/{process}/status")):
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _lines(path: Path) -> list[str]:
    """The lines of a file about a process, none if the process has ended."""
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return []
