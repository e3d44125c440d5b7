"""What rules learn from user messages, on labelled ones.

    python benchmarks/learning.py [--show]

The messages are ours. Those of the development split were used to write the rules, near-misses
among them in great number; those of the test split were written afterwards and read once. The
updates were all written before the rules for them, by somebody who had not read the rules then and
wrote those for updates afterwards, counting the development split alone. `updates_apart.jsonl` was
written later by somebody who has never read a rule; no rule was changed for it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

from bearinmind.learn.model import Candidate, Message, Role
from bearinmind.learn.rules import read
from bearinmind.remember.secrets import find

FOLDER = Path(__file__).parents[1] / "tests/unit/labelled"
FILES = ("turns.jsonl", "updates.jsonl", "updates_apart.jsonl")


class Counted(NamedTuple):
    """How often the rules were right about what to learn."""

    messages: int
    silent: int  #: messages that teach nothing
    right: int
    wrong: int
    missed: int

    def __str__(self) -> str:
        said, there = self.right + self.wrong, self.right + self.missed
        return (
            f"{self.messages:,} messages, {self.silent:,} of which teach nothing: "
            f"{said:,} lessons, precision {self.right / said if said else 1:.3f}, "
            f"recall {self.right / there:.3f}"
        )


def learned(row: dict[str, Any]) -> list[Candidate]:
    """What a labelled message teaches; what holds a secret is left to others."""
    before = [Message(role=Role.ASSISTANT, text=row["before"])] if "before" in row else []
    found = read([*before, Message(role=Role.USER, text=row["text"])])
    return [each for each in found.candidates if not find(f"{each.sentence}\n{each.text}")]


def count(rows: list[dict[str, Any]], *, sure: bool, show: bool) -> Counted:
    """Hold what is learned against the labels; with `sure`, only what would be stored."""
    right = wrong = missed = 0
    for row in rows:
        expected = [*row["expect"]]
        for candidate in learned(row):
            text = candidate.text.casefold()
            meant = [
                each for each in expected if all(word.casefold() in text for word in each["has"])
            ]
            if meant:
                expected.remove(meant[0])
            if sure and not candidate.sure:
                continue
            right, wrong = right + bool(meant), wrong + (not meant)
            if show and not meant:
                print(f"wrong: {candidate.text}")
        missed += len(expected)
        if show and not sure:
            for each in expected:
                print(f"missed: {', '.join(each['has'])} in {row['text'][:80]!r}")
    return Counted(len(rows), sum(not row["expect"] for row in rows), right, wrong, missed)


def main() -> None:
    """Print what the rules are worth on each split."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what is wrong or missed")
    options = parser.parse_args()
    for name in FILES:
        print(name)
        lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        for split in sorted({row["split"] for row in rows}):
            some = [row for row in rows if row["split"] == split]
            print(f"{split}: {count(some, sure=False, show=options.show)}")
            surely = count(some, sure=True, show=False)
            print(f"  of these sure: {surely.right + surely.wrong:,}, {surely.wrong:,} wrong")


if __name__ == "__main__":
    main()
