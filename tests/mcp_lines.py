"""`bearinmind mcp` as a process that is spoken to line by line, as no client of a library would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp_clients import environment
from mcp_messages import INITIALIZE, INITIALIZED


class Raw:
    """`bearinmind mcp`, spoken to line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def open(self) -> dict[str, Any]:
        self.send(INITIALIZE)
        opened = self.receive()
        self.send(INITIALIZED)
        return opened

    def call(self, id: int, tool: str, /, **arguments: object) -> None:
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def send(self, message: object) -> None:
        self.line(json.dumps(message))

    def line(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server ended"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message


@contextmanager
def raw(path: Path, *arguments: str, **settings: object) -> Iterator[Raw]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bearinmind", "--store", str(path), "mcp", *arguments],
        env={**os.environ, **environment(**settings)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="surrogatepass",
    )
    try:
        yield Raw(process)
    finally:
        process.stdin.close() if process.stdin else None
        if process.poll() is None:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
        process.stdout.close() if process.stdout else None
