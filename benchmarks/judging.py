"""Pooling and judging of a set: which pairs of question and memory nobody has judged.

    python benchmarks/judging.py pool --data DIR --runs FILE [--peer NAME ...]
    python benchmarks/judging.py holes --data DIR --runs FILE
    python benchmarks/judging.py agree --data DIR
    python benchmarks/judging.py score --data DIR --runs FILE

`pool` asks every question of a set, and keeps the first ten memories of each leg, of the whole, of
the baselines, and of the peers that are named and set up. `holes` says how many of those ten
have no judgement. `agree` compares the two passes of judging that a set keeps in `passes*.jsonl`.
`score` says what each system reaches on test queries, by stratum.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import arms
from bearinmind_bench import metrics, retrievers
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import EvaluationSet, load
from bearinmind_bench.product import Product

DEEP = 10
WHOLE = "the whole"
BASELINES = ("fts5-porter", "bm25s", "cosine")

#: By system and query: the first memories that it gives.
Runs = dict[str, dict[str, list[str]]]


def main() -> int:
    """Do what the command says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=("pool", "holes", "agree", "score"))
    parser.add_argument("--data", type=Path, required=True, help="a set's folder")
    parser.add_argument("--runs", type=Path, help="where the first memories of each system are")
    parser.add_argument("--peer", action="append", default=[], help="a class of peers/peers.py")
    options = parser.parse_args()
    if options.part == "agree":
        files = sorted(options.data.glob("passes*.jsonl"))
        print(json.dumps({file.stem: agreements(_rows(file)) for file in files}, indent=1))
        return 0
    if options.runs is None:
        parser.error("--runs names the file")
    known = json.loads(options.runs.read_text("utf-8")) if options.runs.is_file() else {}
    if options.part in ("holes", "score"):
        measure = holes if options.part == "holes" else scores
        print(json.dumps(measure(load(options.data), known), indent=1))
        return 0
    runs = _of_peers(load(options.data), options.peer) if options.peer else _of_ours(options.data)
    options.runs.write_text(json.dumps(known | runs, indent=1), "utf-8")
    return 0


# ---- the pool ----------------------------------------------------------------------------------


def _of_ours(folder: Path) -> Runs:
    """What the whole product, each of its legs and the baselines put first."""
    runs: Runs = {}
    with arms.filled(folder) as (data, stored):
        embedders = EmbeddersOfRun(keep_queries=True)
        product = Product(stored, {}, embedders)
        product.embed()
        for query in data.queries:
            mind = product.mind_of(query.user)
            answer = mind.recall(query.text, limit=DEEP, as_of=query.as_of, all=True)
            ranks: dict[str, dict[str, int]] = {}
            for each in answer.trace.fused:
                for leg, placing in each.placings.items():
                    ranks.setdefault(leg, {})[product.name_of(each.id)] = placing.rank
            for leg, ids in ranks.items():
                first = sorted(ids, key=lambda id_, ids=ids: ids[id_])  # type: ignore[misc]
                runs.setdefault(leg, {})[query.id] = first[:DEEP]
            shown = [product.name_of(memory.id) for memory in answer.displayed]
            runs.setdefault(WHOLE, {})[query.id] = shown[:DEEP]
        embedders.close()
    return runs | _foreign(data, BASELINES)


def _of_peers(data: EvaluationSet, names: Sequence[str]) -> Runs:
    sys.path.insert(0, str(Path(__file__).parent / "peers"))
    return _foreign(data, [f"peers:{name}" for name in names])


def _foreign(data: EvaluationSet, names: Sequence[str]) -> Runs:
    runs: Runs = {}
    for name in names:
        made = retrievers.Foreign.build(name, retrievers.load(name), data, lambda _more: None)
        runs[name] = {query.id: [*made.ask(query).ranked[:DEEP]] for query in data.queries}
        made.close()
    return runs


def holes(data: EvaluationSet, runs: Runs) -> dict[str, float]:
    """By system: the share of its first ten memories that nobody has judged."""
    judged = {query.id: query.grades.keys() for query in data.queries}
    return {
        name: round(_share(judged, run) if run else 0.0, 4) for name, run in sorted(runs.items())
    }


def scores(data: EvaluationSet, runs: Runs) -> dict[str, dict[str, float]]:
    """By system: nDCG@10 on the answerable test queries, together and by stratum."""
    found: dict[str, dict[str, float]] = {}
    for name, run in sorted(runs.items()):
        reached: dict[str, list[float]] = {}
        for query in data.of_split("test"):
            if query.relevant:
                score = metrics.ndcg(run[query.id], query.relevant, DEEP)
                for part in ("overall", query.stratum):
                    reached.setdefault(part, []).append(score)
        found[name] = {part: round(fmean(values), 4) for part, values in sorted(reached.items())}
    return found


def _share(judged: Mapping[str, Any], run: Mapping[str, Sequence[str]]) -> float:
    given = [(query, id_) for query, ids in run.items() if query in judged for id_ in ids]
    return sum(id_ not in judged[query] for query, id_ in given) / max(1, len(given))


# ---- two passes --------------------------------------------------------------------------------


def agreements(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How far two passes agree: on everything, and on what nobody had judged before."""
    unjudged = [{**row, "pool": {*row["pool"]} - {*row.get("controls", ())}} for row in rows]
    return {"all": agreement(rows), "what nobody had judged": agreement(unjudged)}


def agreement(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """How far two passes agree: relevant or not, and by grade with quadratic weights."""
    pairs = [
        (row["first"].get(id_, 0), row["second"].get(id_, 0)) for row in rows for id_ in row["pool"]
    ]
    relevant = [(min(one, 1), min(two, 1)) for one, two in pairs]
    return {
        "pairs": len(pairs),
        "relevant in the first": sum(one for one, _ in relevant),
        "relevant in the second": sum(two for _, two in relevant),
        "relevant in both": sum(one and two for one, two in relevant),
        "kappa, relevant or not": kappa(relevant),
        "kappa, grades": kappa(pairs),
    }


def kappa(pairs: Sequence[tuple[int, int]]) -> float | None:
    """Cohen's kappa with quadratic weights; for two grades it is the plain one.

    There is none where both say the same of everything.
    """
    ones, twos = Counter(one for one, _ in pairs), Counter(two for _, two in pairs)
    seen = sum((one - two) ** 2 for one, two in pairs) / len(pairs)
    chance = (
        sum((one - two) ** 2 * ones[one] * twos[two] for one in ones for two in twos)
        / len(pairs) ** 2
    )
    return round(1.0 - seen / chance, 3) if chance else None


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


if __name__ == "__main__":
    sys.exit(main())
