"""Reads the public evaluation sets, which are never part of this repository."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETS = ("locomo-facts", "locomo-turns", "scifact", "2wiki", "musique", "musique-openie")
DEFAULT_FOLDER = Path(__file__).parents[2] / "shared" / "data"


@dataclass(frozen=True, slots=True)
class Question:
    """A query with the ids of the memories that answer it."""

    text: str
    user: str
    split: str
    stratum: str
    relevant: frozenset[str]


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """A corpus, the questions put to it and their answers."""

    name: str
    corpus: list[dict[str, Any]]
    questions: list[Question]


def load(folder: Path, name: str) -> EvaluationSet:
    """One set; corpora without users belong to one user."""
    answers = {
        row["query_id"]: frozenset(map(str, row["relevant_ids"]))
        for row in _rows(folder / name / "qrels.jsonl.gz")
    }
    questions = [
        Question(
            text=row["text"],
            user=row.get("user_id") or "local",
            split=row["split"],
            stratum=row["stratum"],
            relevant=answers[row["query_id"]],
        )
        for row in _rows(folder / name / "queries.jsonl.gz")
    ]
    return EvaluationSet(name, [*_rows(folder / name / "corpus.jsonl.gz")], questions)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
