"""How soon an agent that starts `bearinmind mcp` is answered.

    python benchmarks/server/mcp_start.py

From the start of a new process to its answer to `initialize`, against `bearinmind --version`, which
loads the same program without the protocol. The two take turns; the ratio is of the medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROUNDS = 10
COMMAND = (sys.executable, "-m", "bearinmind")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memories.db"
        times = [(_version(), _initialize(path)) for _ in range(rounds)]
    version, initialize = (statistics.median(found) for found in zip(*times, strict=True))
    print(f"bearinmind --version   {version * 1e3:6.0f} ms")
    print(f"mcp, initialize       {initialize * 1e3:6.0f} ms   {initialize / version:.2f} times")


def _version() -> float:
    begun = perf_counter()
    subprocess.run([*COMMAND, "--version"], stdout=subprocess.DEVNULL, check=True)
    return perf_counter() - begun


def _initialize(path: Path) -> float:
    begun = perf_counter()
    with subprocess.Popen(
        [*COMMAND, "--store", str(path), "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("the process has no input or no output")
        process.stdin.write(f"{json.dumps(INITIALIZE)}\n")
        process.stdin.flush()
        if '"result"' not in process.stdout.readline():
            raise RuntimeError("the server did not answer")
        taken = perf_counter() - begun
        process.stdin.close()
    return taken


if __name__ == "__main__":
    main()
