"""Recall on a shared server: as it grows, as clients are added, and how fast memories come in.

    python benchmarks/postgres/scale.py [--sizes 10000 100000 1000000] [--keep]

On an embedded server of its own, with the settings that ship (fsync on). Questions have given
vectors: what is measured is recall, not a model. Everything is compared side by side in one run.

* growth: the same questions to the same tenants of 1,000 memories each, while a thousand tenants
  together hold 10,000, 100,000 and a million.
* throughput: recalls a second of 1 to 32 clients, against pgbench sending the very statements that
  those recalls send, as prepared statements with their values, from as many clients.
* import: memories a second by `put_many`, against COPY of the finished rows into the same schema.
* legs: the statements of the two legs one after the other, side by side on two connections, in one
  round trip, and as one statement.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import marks
from bearinmind import Mind
from bearinmind.store.postgres.embedded import EmbeddedServer
from postgres.importing import compare_import
from postgres.legs import compare_legs
from postgres.recalling import measure_growth, measure_throughput


def main() -> int:
    """Run what is asked for; fail when a figure is not as published."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 2, 4, 8, 16, 32])
    parser.add_argument("--seconds", type=float, default=10.0, help="of each count of clients")
    parser.add_argument("--only", choices=["growth", "throughput", "import", "legs"])
    parser.add_argument("--folder", type=Path, help="where the server keeps its data")
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    wanted = {options.only} if options.only else {"growth", "throughput", "import", "legs"}
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        server = EmbeddedServer(Path(folder) / "server")
        url = server.ensure()
        try:
            with Mind.open(Path(folder) / "unused.db", worker="off") as bearinmind:
                real = bearinmind.work.embedder()
                if real is None:
                    raise SystemExit("the shipped settings have no embedder")
                if wanted & {"growth", "throughput", "legs"}:
                    sizes = options.sizes if "growth" in wanted else options.sizes[:1]
                    figures |= measure_growth(url, real, sizes)
                if "legs" in wanted:
                    compare_legs(url, real)
                if "throughput" in wanted:
                    figures |= measure_throughput(url, real, options.clients, options.seconds)
                if "import" in wanted:
                    figures |= compare_import(url)
        finally:
            server.stop()
    return int(not marks.check(figures, keep=options.keep))


if __name__ == "__main__":
    sys.exit(main())
