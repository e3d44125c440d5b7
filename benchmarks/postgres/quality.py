"""The same sets, the same questions, the same pipeline on SQLite and on Postgres.

    python benchmarks/postgres/quality.py --split test --data FOLDER ... [--keep]

Once by words alone and once as shipped. Fails when a set's nDCG@10 differs by more than 0.01.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from bearinmind_bench.runner import revision

RESULTS = Path(__file__).parents[1] / "results" / "postgres_quality.json"
ALLOWED = 0.01
WAYS = {"words alone": ["--set", "embedder=none", "--set", "leg_weights.graph=0"], "as shipped": []}


def main() -> int:
    """Compare every set; fail when one differs too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--split", choices=["dev", "test"], default="dev")
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    figures: dict[str, dict[str, dict[str, float]]] = {}
    kept = {"revision": revision(), "split": options.split, "nDCG@10": figures}
    good = True
    for folder in options.data:
        figures[folder.name] = {}
        for way, settings in WAYS.items():
            found = {
                store: _ndcg(folder, options.split, store, settings)
                for store in ("sqlite", "postgres")
            }
            difference = found["postgres"] - found["sqlite"]
            good = good and abs(difference) <= ALLOWED
            figures[folder.name][way] = found
            print(
                f"{folder.name:16} {way:12} sqlite {found['sqlite']:.4f}  "
                f"postgres {found['postgres']:.4f}  {difference:+.4f}",
                flush=True,
            )
    if options.keep:
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return int(not good)


def _ndcg(folder: Path, split: str, store: str, settings: list[str]) -> float:
    with tempfile.TemporaryDirectory() as out:
        result = Path(out) / "result.json"
        command = [sys.executable, "-m", "bearinmind", "bench", "run", "--data", str(folder)]
        command += ["--split", split, "--store", store, "--json", str(result), *settings]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        said = json.loads(result.read_text(encoding="utf-8"))
    return float(said["overall"]["ndcg@10"])


if __name__ == "__main__":
    sys.exit(main())
