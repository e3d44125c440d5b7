"""Could `derives-from` and `causes` be filled from the words of memories? What a rule finds.

    python benchmarks/research/causes.py

A word of cause before an identifier ("action from PM-0440", "since ADR-038") that another memory
begins with. RIGHT are the pairs of agent-store that one would link, as read by one judge.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

CORPUS = Path(__file__).parents[1] / "data" / "agent-store" / "corpus.jsonl"
BEGINNING = 60  # characters in which a memory names what it is about
_NAMED = r"(?:[A-Z]{2,}-\d+(?:-\d+)*|issue #\d+)"
_CAUSE = re.compile(
    r"\b(?:action from|since|after|because of|due to|following|outcome of|caused by|from|"
    rf"decided in|worked out in|for the|numbers from) (?:the )?({_NAMED})"
)
_REASON = re.compile(r"\b(?:because|caused|Reason|since the|after the)\b")
RIGHT = {
    ("p252", "p080"),
    ("p180", "p123"),
    ("p177", "p124"),
    ("p179", "p125"),
    ("p178", "p126"),
}


def main() -> None:
    """Print each pair that the rule finds, and how many are right."""
    rows = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    about: dict[str, list[str]] = {}
    for row in rows:
        for name in re.findall(_NAMED, row["content"][:BEGINNING]):
            about.setdefault(name, []).append(row["id"])
    found = {
        (row["id"], other)
        for row in rows
        for name in _CAUSE.findall(row["content"])
        for other in about.get(name, ())
        if other != row["id"]
    }
    for pair in sorted(found):
        print(*pair, "right" if pair in RIGHT else "wrong")
    reasons = sum(bool(_REASON.search(row["content"])) for row in rows)
    print(f"{len(found)} pairs in {len(rows)} memories, {len(found & RIGHT)} right")
    print(f"{reasons} memories give a reason in words")


if __name__ == "__main__":
    main()
