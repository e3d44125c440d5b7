"""How many labelled secrets are found, and how many innocent texts are taken for one.

python benchmarks/secret_detection.py --split report --misses
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from bearinmind.remember.secrets import find

LABELLED = Path(__file__).parent / "data/secrets/labelled.jsonl"


def rows(split: str) -> list[dict[str, str | bool]]:
    """The labelled texts of one half."""
    every = [json.loads(line) for line in LABELLED.read_text().splitlines()]
    return [row for row in every if row["split"] == split]


def rates(split: str) -> tuple[float, float]:
    """The share of secrets found, and of innocent texts that were taken for one."""
    labelled = rows(split)
    found = {
        flag: [bool(find(str(x["text"]))) for x in labelled if x["secret"] is flag]
        for flag in (True, False)
    }
    return sum(found[True]) / len(found[True]), sum(found[False]) / len(found[False])


def main() -> None:
    """Print the rates, and what was missed if that is wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", choices=["tune", "report"], default="report")
    parser.add_argument("--misses", action="store_true")
    chosen = parser.parse_args()
    labelled = rows(chosen.split)
    wrong = [row for row in labelled if bool(find(str(row["text"]))) is not row["secret"]]
    if chosen.misses:
        for row in wrong:
            print("missed" if row["secret"] else "false alarm", row["kind"], repr(row["text"]))
    secrets = Counter(bool(row["secret"]) for row in labelled)
    mistakes = Counter(bool(row["secret"]) for row in wrong)
    for flag, what in ((True, "secrets found"), (False, "false alarms")):
        right = secrets[flag] - mistakes[flag] if flag else mistakes[flag]
        print(f"{chosen.split}: {right} of {secrets[flag]} {what} ({right / secrets[flag]:.1%})")


if __name__ == "__main__":
    main()
