"""The server against its OpenAPI: schemathesis with all its checks, at least 5,000 cases.

    python benchmarks/server/schema.py [--examples 130] [--seed 1]

No answer may be a server error, have a status that is not described or a body that is not as it is
described.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.http_server import serving
from support.schemathesis_run import run_schemathesis

LEAST = 5_000  # cases


def main() -> int:
    """Run it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=130, help="for each operation, at most")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with serving(place / "served.db", request_bytes=100_000) as server:
            server.key("ada")
            done = run_schemathesis(server, place, examples=chosen.examples, seed=chosen.seed)
    if not done.passed:
        print(done.told)
        return 1
    print(f"{done.cases:,} cases, no failure")
    return 0 if done.cases >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
