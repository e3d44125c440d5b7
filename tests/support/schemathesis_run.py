"""Runs schemathesis with all its checks against a server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from support.http_server import Serving

_HERE = Path(__file__).parent
_CASES = re.compile(r"^\s+(\d+) generated", re.MULTILINE)


@dataclass(frozen=True)
class SchemaRun:
    """What schemathesis found."""

    passed: bool
    cases: int  #: that it sent
    told: str


def run_schemathesis(server: Serving, folder: Path, *, examples: int, seed: int = 1) -> SchemaRun:
    """Ask a server everything that its OpenAPI allows, and what it does not."""
    command = [
        str(Path(sys.executable).parent / "schemathesis"),
        f"--config-file={_HERE / 'schemathesis.toml'}",
        "run",
        f"{server.url}/openapi.json",
        "--checks=all",
        f"--max-examples={examples}",
        f"--seed={seed}",
        "--continue-on-failure",
        "--warnings=off",
        f"--header=Authorization: Bearer {server.key('root', 'admin')}",
    ]
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": "support.schemathesis_hooks",
        "PYTHONPATH": str(_HERE.parent),
    }
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    found = _CASES.search(done.stdout)
    return SchemaRun(done.returncode == 0, int(found[1]) if found else 0, done.stdout + done.stderr)
