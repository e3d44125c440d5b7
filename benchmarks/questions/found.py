"""What the modules of this folder found: a file that docs/explanation/open-questions.md is made of.

Each part says by which revision, on which machine and by which command it was measured. A part of a
tree with changes is printed and not kept.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bearinmind_bench import compare, inference, runner

HERE = Path(__file__).parent
FILE = HERE.parent / "results" / "open_questions.json"
_RESULTS = "benchmarks/results"  # figures themselves may change while they are measured
_DIGITS = 4

Found = dict[str, Any]


def revision() -> str:
    """The commit of this checkout, with "+changes" when a file of it differs."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    changed = [x for x in _git("status", "--porcelain").splitlines() if _RESULTS not in x]
    return f"{commit}+changes" if changed else commit


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(HERE), *words],  # noqa: S607
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def keep(part: str, name: str, found: Found) -> None:
    """Write down what was found on a set, if it can be made again."""
    commit = revision()
    if commit.endswith("+changes"):
        raise SystemExit("the tree has changes: commit them, and measure again")
    known = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    known.setdefault(part, {})[name] = {
        "revision": commit,
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": runner.machine(),
        **found,
    }
    text = json.dumps(known, indent=1, sort_keys=True)
    FILE.write_text(text + "\n", encoding="utf-8")


def compared(
    base: Sequence[float], arms: Mapping[str, Sequence[float]]
) -> dict[str, dict[str, Any]]:
    """By arm: its mean, and how it differs from the base, corrected for being several."""
    differences = {name: inference.difference(base, values) for name, values in arms.items()}
    corrected = compare.together([*differences.values()], inference.MINIMUM_QUERIES)
    return {
        name: {
            **{key: _short(value) for key, value in asdict(each).items()},
            "difference": _short(each.mean),
            "p": _short(p),
            "verdict": str(inference.verdict(each, p)),
        }
        for (name, each), p in zip(differences.items(), corrected, strict=True)
    }


def _short(value: float) -> float:
    return round(value, _DIGITS)
