"""The published speeds: what each may be at most or must be at least, and what it was last.

`conditions/speed.toml` has a row for each; `results/speed.json` holds what was measured, from which
the tables of the README are made.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from bearinmind_bench.runner import revision

HERE = Path(__file__).parent
CONDITIONS = HERE / "conditions" / "speed.toml"
RESULTS = HERE / "results" / "speed.json"


def check(figures: Mapping[str, float], *, keep: bool) -> bool:
    """Say whether every figure keeps its mark; `keep` writes it down for the docs."""
    marks = {row["name"]: row for row in tomllib.loads(CONDITIONS.read_text("utf-8"))["mark"]}
    good = True
    for name, value in figures.items():
        mark = marks[name]
        high = mark.get("at_most", float("inf")) + mark.get("noise", 0.0)
        low = mark.get("at_least", 0.0)
        kept = low <= value <= high
        good = good and kept
        print(f"{name}: {value:.2f} ({'as published' if kept else f'NOT {low} to {high}'})")
    if keep:
        _keep(figures)
    return good


def _keep(figures: Mapping[str, float]) -> None:
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    known |= {
        name: {"value": round(value, 3), "revision": revision()} for name, value in figures.items()
    }
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
