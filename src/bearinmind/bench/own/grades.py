"""Which grade counts: the user's own before a judge's, a judge's before what the store implies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bearinmind.bench.evaluation import EvaluationSet
from bearinmind.bench.judgements import RELEVANT
from bearinmind.bench.own.folder import Folder
from bearinmind.bench.own.records import USER, Judgement
from bearinmind.bench.own.sources import Source

Key = tuple[str, str]  #: a query and a memory

SCALE = (
    (0, "says nothing that helps"),
    (1, "is about it, and does not answer"),
    (2, "answers it in part"),
    (3, "answers it"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What the queries and memories of a set say."""

    queries: Mapping[str, str]
    memories: Mapping[str, str]

    @classmethod
    def of(cls, data: EvaluationSet) -> Texts:
        """The texts of a set."""
        return cls(
            queries={query.id: query.text for query in data.queries},
            memories={record["id"]: record["content"] for record in data.corpus},
        )

    def __contains__(self, key: Key) -> bool:
        return key[0] in self.queries and key[1] in self.memories

    def said(self, key: Key) -> str:
        """A fingerprint of what is judged."""
        return fingerprint(self.queries[key[0]], self.memories[key[1]])


def fingerprint(*texts: str) -> str:
    """The same for the same texts."""
    digest = hashlib.sha256("\0".join(texts).encode())
    return digest.hexdigest()[:24]


def by_judge(judgements: Iterable[Judgement], texts: Texts) -> dict[str, dict[Key, int]]:
    """By judge: the grades that still hold, for the texts as they are now."""
    found: dict[str, dict[Key, int]] = {}
    for row in judgements:
        key = (row.query_id, row.memory_id)
        if key not in texts or texts.said(key) != row.said:
            continue
        grades = found.setdefault(row.by, {})
        grades.pop(key, None)
        if row.grade is not None:
            grades[key] = row.grade
    return found


def settle(folder: Folder) -> None:
    """Write qrels.jsonl: for every judged query, every grade that counts."""
    data = folder.load()
    texts = Texts.of(data)
    judged = by_judge(folder.judgements(), texts)
    by_user = judged.pop(USER, {})
    models: dict[Key, int] = {}
    for grades in judged.values():  # of several models, the one that began last
        models |= grades
    settled: dict[str, dict[str, int]] = {}
    for row in folder.questions():
        for id_ in row.get("relevant_ids", ()):
            key = (row["query_id"], id_)
            if key in texts:
                # The user's links and keywords count whatever a model thinks of them; a question
                # that a model made up is only as good as another model finds it.
                floor = 0 if row["stratum"] == Source.LLM and key in models else RELEVANT
                models[key] = max(models.get(key, 0), floor)
    for (query, memory), grade in (models | by_user).items():
        settled.setdefault(query, {})[memory] = grade
    folder.write(
        "qrels",
        (
            {
                "query_id": query,
                "relevant_ids": sorted(id_ for id_, grade in grades.items() if grade),
                "grades": dict(sorted(grades.items())),
            }
            for query, grades in sorted(settled.items())
        ),
    )
