"""What is learned from user messages without a model that chats, on labelled ones.

    python benchmarks/learning.py [--show] [--without-encoder]

The messages are ours. Those of the development splits were used to write the rules or to fit the
scorer, near-misses among them in great number; those of the test splits were not. `turns.jsonl` was
written with the rules; the others by somebody who had not read any, `updates_varied.jsonl` and
`updates_apart.jsonl` by two who never did. Prompts are what a day is made of: they teach nothing.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from bearinmind.app import Mind
from bearinmind.app.curation import embed_of
from bearinmind.learn.lasting import Embed
from bearinmind.learn.model import Candidate, Message, Role
from bearinmind.learn.rules import read
from bearinmind.remember.secrets import find

FOLDER = Path(__file__).parents[1] / "tests/unit/labelled"
DATA = Path(__file__).parent / "data"
PROMPTS = (DATA / "agent-store" / "prompts.jsonl", DATA / "unanswerable" / "prompts.jsonl")
FILES = ("turns.jsonl", "updates.jsonl", "updates_varied.jsonl", "updates_apart.jsonl")


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
            f"recall {self.right / there if there else 1:.3f}"
        )


@contextmanager
def encoder() -> Iterator[Embed]:
    """The shipped encoder."""
    with TemporaryDirectory() as folder, Mind.open(Path(folder) / "none.db") as mind:
        yield embed_of(mind._parts.embedders)


def learned(row: dict[str, Any], embed: Embed) -> list[Candidate]:
    """What a labelled message teaches; what holds a secret is left to others."""
    before = [Message(role=Role.ASSISTANT, text=row["before"])] if "before" in row else []
    found = read([*before, Message(role=Role.USER, text=row["text"])], embed)
    return [each for each in found.candidates if not find(f"{each.sentence}\n{each.text}")]


def count(rows: list[dict[str, Any]], embed: Embed, *, sure: bool, show: bool) -> Counted:
    """Hold what is learned against the labels; with `sure`, only what would be stored."""
    right = wrong = missed = 0
    for row in rows:
        expected = [*row.get("expect", ())]
        for candidate in learned(row, embed):
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
    return Counted(len(rows), sum(not row.get("expect") for row in rows), right, wrong, missed)


def main() -> None:
    """Print what the rules are worth on each split."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="print what is wrong or missed")
    parser.add_argument("--without-encoder", action="store_true", help="by words alone")
    options = parser.parse_args()
    with encoder() as embed:
        for path in (*(FOLDER / name for name in FILES), *PROMPTS):
            report(path, (lambda _: None) if options.without_encoder else embed, options.show)


def report(path: Path, embed: Embed, show: bool) -> None:
    """Print what is learned of the messages of a file."""
    print(f"{path.parent.name}/{path.name}")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for split in sorted({row["split"] for row in rows}):
        some = [row for row in rows if row["split"] == split]
        print(f"{split}: {count(some, embed, sure=False, show=show)}")
        surely = count(some, embed, sure=True, show=False)
        print(f"  of these sure: {surely.right + surely.wrong:,}, {surely.wrong:,} wrong")


if __name__ == "__main__":
    main()
