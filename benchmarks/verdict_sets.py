"""The sets that the verdict is fitted and checked on, and variants of them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bearinmind_bench.evaluation import EvaluationQuery, EvaluationSet, load, superseded_by, user_of

DATA = Path(__file__).parent / "data"
OWN = ("agent-store", "unanswerable", "changes", "stores")
DIALOGUES = ("locomo-facts", "locomo-turns")
SETS = (*DIALOGUES, "adversarialqa", "fiqa", "strategyqa", "scifact", "musique-openie")
MEMORIES = (*OWN, *DIALOGUES)  #: the others hold documents
TOGETHER = 10  # stores of `stores` that are put together
SMALL = {5: 40, 20: 20, 80: 8}  # memories of a store: how many such stores are made of a set
FOREIGN = 160  # questions of other sets
MOST = 150  # queries of a stratum and split
SEED = 17


def sets(public: Path | None) -> Iterator[EvaluationSet]:
    """Every set that is there, prompts among the queries."""
    folders = [DATA / name for name in OWN] + ([public / name for name in SETS] if public else [])
    for folder in folders:
        if folder.is_dir():
            data = load(folder)
            yield replace(data, queries=(*data.queries, *_prompts(folder)))


def _prompts(folder: Path) -> Iterator[EvaluationQuery]:
    file = folder / "prompts.jsonl"
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        row = json.loads(line)
        yield EvaluationQuery(
            id=row["query_id"],
            text=row["text"],
            user=user_of(row),
            stratum=f"prompt {row['stratum']}",
            split=row["split"],
            grades=dict.fromkeys(row["relevant_ids"], 1),
        )


def variants(
    data: EvaluationSet, others: Sequence[EvaluationSet]
) -> Iterator[tuple[str, EvaluationSet]]:
    """A set as it is, without what answers half of its questions, and as many small stores."""
    foreign = [*_foreign(data, others)]
    yield "whole", replace(data, queries=(*_sampled(data.queries), *foreign))
    yield "removed", _with_removed(data)
    if data.name in OWN[:2]:
        yield "small", _small(data, foreign)
    if data.name == "stores":
        yield "together", _together(data)


def _sampled(queries: Iterable[EvaluationQuery]) -> Iterator[EvaluationQuery]:
    counts: Counter[tuple[str, str | None]] = Counter()
    for query in random.Random(SEED).sample(queries := [*queries], len(queries)):
        counts[query.stratum, query.split] += 1
        if counts[query.stratum, query.split] <= MOST:
            yield query


def _foreign(data: EvaluationSet, others: Sequence[EvaluationSet]) -> Iterator[EvaluationQuery]:
    """Questions of other sets, put to the users of this one in turn."""
    rng, users = random.Random(SEED), [*data.users]
    asked = [
        (other.name, query)
        for other in others
        if other.name not in (data.name, *(OWN if data.name in OWN else ()))
        for query in other.queries
        if query.relevant and "prompt" not in query.stratum
    ]
    for number, (name, query) in enumerate(rng.sample(asked, min(len(asked), FOREIGN))):
        yield EvaluationQuery(
            id=f"{name} {query.id}",
            text=query.text,
            user=users[number % len(users)],
            stratum="foreign",
            split=query.split,
        )


def _with_removed(data: EvaluationSet) -> EvaluationSet:
    """A set without the memories that answer every other of its answerable questions."""
    asked = [query for query in _sampled(data.queries) if query.relevant][::2][:MOST]
    gone = {(query.user, id_) for query in asked for id_ in query.relevant}
    kept = [x for x in data.corpus if (user_of(x), x["id"]) not in gone]
    ids = {x["id"] for x in kept}
    return replace(
        data,
        corpus=tuple(
            {**x, "supersedes": [id_ for id_ in superseded_by(x) if id_ in ids]} for x in kept
        ),
        queries=tuple(replace(query, grades={}, stratum="removed") for query in asked),
    )


def _together(data: EvaluationSet) -> EvaluationSet:
    """Ten stores as one, without `same-topic`: what one store lacks, another one may hold."""
    number = {user: f"together-{place // TOGETHER}" for place, user in enumerate(data.users)}
    return replace(
        data,
        corpus=tuple({**x, "user_id": number[user_of(x)]} for x in data.corpus),
        queries=tuple(
            replace(query, user=number[query.user], stratum=f"together, {query.stratum}")
            for query in _sampled(data.queries)
            if query.stratum != "same-topic"
        ),
    )


def _small(data: EvaluationSet, foreign: Sequence[EvaluationQuery]) -> EvaluationSet:
    """Stores of a few memories, with questions of the set and of others."""
    rng = random.Random(SEED)
    records = {(user_of(x), x["id"]): x for x in data.corpus}
    answerable = [q for q in data.queries if q.relevant and len(q.relevant) <= 3]
    made: list[dict[str, Any]] = []
    queries: list[EvaluationQuery] = []
    for size, count in SMALL.items():
        for number in range(count):
            user = f"small-{size}-{number}"
            first = rng.choice(answerable)
            own = [q for q in answerable if (q.user, q.split) == (first.user, first.split)]
            asked = rng.sample(own, min(len(own), max(1, size // 6)))
            ids = dict.fromkeys(id_ for q in asked for id_ in q.relevant)
            others = [id_ for owner, id_ in records if owner == first.user and id_ not in ids]
            ids |= dict.fromkeys(rng.sample(others, max(0, min(size - len(ids), len(others)))))
            for id_ in ids:
                record = records[first.user, id_]
                made.append({**record, "id": f"{user}-{id_}", "user_id": user, "supersedes": []})
            strangers = [q for q in own if not {*q.grades} & ids.keys()]
            for query in [*asked, *rng.sample(strangers, min(len(strangers), len(asked)))]:
                held = {f"{user}-{x}": grade for x, grade in query.relevant.items() if x in ids}
                stratum = f"small {size}, {'answerable' if held else 'other'}"
                id_ = f"{user}-{query.id}"
                queries.append(
                    replace(query, id=id_, user=user, as_of=None, grades=held, stratum=stratum)
                )
            for query in rng.sample(foreign, min(len(foreign), len(asked))):
                id_ = f"{user}-{query.id}"
                queries.append(replace(query, id=id_, user=user, stratum=f"small {size}, foreign"))
    return replace(data, corpus=tuple(made), queries=tuple(queries))
