"""What the tests of the benchmark share: small evaluation sets, and trec_eval as a witness."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytrec_eval

from bearinmind_bench.evaluation import EvaluationSet, load
from bearinmind_bench.results import QueryRow, Result
from bearinmind_bench.runner import Plan, run

Row = dict[str, Any]
Score = Callable[[Sequence[str], Mapping[str, int]], Mapping[str, float]]

#: Our metrics and what trec_eval calls them.
TREC_NAMES = {
    "recall@1": "recall_1",
    "recall@5": "recall_5",
    "recall@10": "recall_10",
    "recall@20": "recall_20",
    "ndcg@10": "ndcg_cut_10",
    "mrr": "recip_rank",
    "map": "map",
}
_CONSONANTS, _VOWELS = "bdfgklmnprtvz", "aeiou"


def write_set(folder: Path, *, compress: bool = False, **files: Any) -> Path:
    """A folder with these files (corpus, queries, qrels ...), each from its rows or its text."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        text = rows if isinstance(rows, str) else "".join(json.dumps(row) + "\n" for row in rows)
        if compress:
            (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def words(number: int) -> list[str]:
    """Made-up words, all different, that no analysis takes apart."""
    made: dict[str, None] = {}
    chance = random.Random(7)
    while len(made) < number:
        letters = [chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(4)]
        made["".join(letters) + "x"] = None
    return [*made]


def rows_of(queries: int = 40, *, hard: bool = True) -> tuple[list[Row], list[Row]]:
    """A corpus and queries in two strata; hard ones have memories that distract."""
    named = words(queries * 2)
    corpus: list[Row] = []
    asked: list[Row] = []
    for number, (subject, thing) in enumerate(zip(named[::2], named[1::2], strict=True)):
        corpus.append(
            {
                "id": f"m{number}",
                "content": f"{subject} keeps the {thing} in the harbour",
                "importance": round(0.1 + 0.8 * (number % 10) / 9, 3),
            }
        )
        if hard:
            corpus.append(
                {
                    "id": f"d{number}",
                    "content": f"the {thing} of {subject} was sold at the harbour, and {subject}"
                    " went home",
                    "importance": round(0.9 - 0.8 * (number % 10) / 9, 3),
                }
            )
        asked.append(
            {
                "query_id": f"q{number}",
                "text": f"where does {subject} keep the {thing}?",
                "stratum": ("where", "who")[number % 2],
                "split": ("dev", "test")[number >= queries // 2],
                "relevant_ids": [f"m{number}"],
            }
        )
    return corpus, asked


def small_set(folder: Path, queries: int = 40, *, hard: bool = True) -> Path:
    """A set on which the product does well and not perfectly."""
    corpus, asked = rows_of(queries, hard=hard)
    return write_set(folder, corpus=corpus, queries=asked)


def measure(folder: Path | EvaluationSet, split: str = "all", **plan: Any) -> Result:
    """A run of the real thing."""
    data = load(folder) if isinstance(folder, Path) else folder
    return run(Plan(data=data, split=split, **plan))


def with_rankings(
    result: Result, score: Score, change: Callable[[QueryRow], Sequence[str]]
) -> Result:
    """The same run with other rankings, scored again."""
    rows = []
    for row in result.rows:
        ranked = tuple(change(row))
        relevant = {id_: grade for id_, grade in row.grades.items() if grade > 0}
        metrics = score(ranked, relevant) if relevant else {}
        rows.append(row.model_copy(update={"ranked": ranked, "metrics": metrics}))
    return result.model_copy(update={"rows": tuple(rows)})


def judged_rankings(number: int, seed: int = 1) -> Iterator[tuple[list[str], dict[str, int]]]:
    """Random rankings of judged memories: short and long, graded, some of them perfect."""
    chance = random.Random(seed)
    ids = [f"m{n}" for n in range(60)]
    for _ in range(number):
        chance.shuffle(ids)
        relevant = {id_: chance.randint(1, 3) for id_ in ids[: chance.randint(1, 15)]}
        near = [*relevant, *ids[15 : 15 + chance.randint(0, 30)]]
        chance.shuffle(near)
        yield near[: chance.randint(0, 20)], relevant


def trec_eval(ranked: Sequence[str], grades: Mapping[str, int]) -> dict[str, float]:
    """What trec_eval says of a ranking, by our names."""
    evaluator = pytrec_eval.RelevanceEvaluator({"q": dict(grades)}, {*TREC_NAMES.values()})
    # trec_eval ranks by score, so the ranking becomes scores without ties.
    run_ = {id_: float(len(ranked) - place) for place, id_ in enumerate(ranked)}
    said = evaluator.evaluate({"q": run_})["q"]
    return {ours: float(said[theirs]) for ours, theirs in TREC_NAMES.items()}


def disagreements(
    score: Score, ranked: Sequence[str], grades: Mapping[str, int]
) -> dict[str, tuple[float, float]]:
    """The metrics on which a scoring function and trec_eval differ, with what each says."""
    relevant = {id_: grade for id_, grade in grades.items() if grade > 0}
    ours, theirs = score(ranked, relevant), trec_eval(ranked, grades)
    return {
        name: (ours[name], value)
        for name, value in theirs.items()
        if abs(ours[name] - value) > 1e-9
    }


def ranked(folder: Path, corpus: list[Row], *queries: Row) -> list[tuple[str, ...]]:
    """What the product answers to queries over a corpus."""
    asked = [{"query_id": number} | query for number, query in enumerate(queries)]
    return [row.ranked for row in measure(write_set(folder, corpus=corpus, queries=asked)).rows]
