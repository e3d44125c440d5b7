"""What the rules find in labelled texts: precision and recall of spotting concepts.

    python benchmarks/spotting.py [--split dev|test] [--show]

benchmarks/data/concepts has the names and the things that each text mentions, and what may be taken
for one or not. A find that is labelled is right, one that may be is not counted, and any other is
junk. Names and things are those that the rules see in the text itself; tags are not looked at. What
the rules call a topic is what a text is about and no name: "Deploys" of "Deploys are slow".
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bearinmind.concepts import Kind
from bearinmind.graph import rules
from bearinmind.text.names import name_of
from bearinmind.types import Memory, MemoryId, Provenance, UserId

LABELLED = Path(__file__).parent / "data" / "concepts" / "texts.jsonl"
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_ARTICLE = re.compile(r"^(?:a|an|the|our|my|his|her|their|this) ")

Row = Mapping[str, Any]


def main() -> int:
    """Print the figures, and with --show every mistake."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--split", choices=("dev", "test"))
    parser.add_argument("--show", action="store_true", help="print what is junk and what is missed")
    options = parser.parse_args()
    rows = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
    for split in [options.split] if options.split else ["dev", "test"]:
        chosen = [row for row in rows if row["split"] == split]
        if options.show:
            _show(chosen)
        print(json.dumps({"split": split, "texts": len(chosen), **scores(chosen)}))
    return 0


def scores(rows: Sequence[Row]) -> dict[str, float]:
    """Precision of what is found, and recall of names and of things."""
    counts: Counter[str] = Counter()
    for row in rows:
        found, right = spotted(row["text"]), _variants(row["names"] + row["things"])
        maybe = _variants(row["maybe"])
        names = found - spotted(row["text"], topics=True)
        counts["right"] += len(found & right)
        counts["junk"] += len(found - right - maybe)
        counts["right names"] += len(names & right)
        counts["junk names"] += len(names - right - maybe)
        for kind in ("names", "things"):
            counts[kind] += len(row[kind])
            counts[f"{kind} found"] += sum(bool(_variants([x]) & found) for x in row[kind])
    precision = counts["right"] / (counts["right"] + counts["junk"])
    recall = (counts["names found"] + counts["things found"]) / (counts["names"] + counts["things"])
    return {
        "precision": round(precision, 3),
        "recall": round(recall, 3),
        "f1": round(2 * precision * recall / (precision + recall), 3),
        "precision of names": round(
            counts["right names"] / (counts["right names"] + counts["junk names"]), 3
        ),
        "recall of names": round(counts["names found"] / counts["names"], 3),
        "recall of things": round(counts["things found"] / counts["things"], 3),
        "junk": counts["junk"],
        "junk names": counts["junk names"],
    }


def spotted(text: str, *, topics: bool = False) -> set[str]:
    """The names of the concepts that the rules see in a text, or of the topics alone."""
    mentions = rules.read(_memory(text)).mentions
    return _folded(x.label for x in mentions if x.kind is Kind.TOPIC or not topics)


def _memory(text: str) -> Memory:
    return Memory(
        id=MemoryId("000000000000"),
        owner=UserId("nobody"),
        content=text,
        category="facts",
        tags=(),
        keywords=(),
        importance=0.5,
        sensitive=False,
        created_at=_LONG_AGO,
        updated_at=_LONG_AGO,
        deleted_at=None,
        valid_from=None,
        valid_to=None,
        provenance=Provenance(),
        version=1,
    )


def _variants(labels: Iterable[str]) -> set[str]:
    return _folded(variant for label in labels for variant in label.split("|"))


def _folded(labels: Iterable[str]) -> set[str]:
    return {_ARTICLE.sub("", name_of(label)) for label in labels} - {""}


def _show(rows: Sequence[Row]) -> None:
    for row in rows:
        found = spotted(row["text"])
        labelled = row["names"] + row["things"]
        junk = found - _variants(labelled) - _variants(row["maybe"])
        missed = [label for label in labelled if not _variants([label]) & found]
        if junk or missed:
            print(f"{row['text'][:110]}\n    junk {sorted(junk)} missed {missed}")


if __name__ == "__main__":
    sys.exit(main())
