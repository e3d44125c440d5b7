"""A second look that costs little: token vectors of the memories, and a listwise ranker.

    python benchmarks/token_vectors.py record --data FOLDER ...   # asks the development queries
    python benchmarks/token_vectors.py report [--keep]            # fits, each set left out in turn
    python benchmarks/token_vectors.py speed --data FOLDER ...    # each step beside a whole recall

`record` asks the product with `second_look = "off"` and `"on"`: at most 150 development queries
of a set, put to stores of at most 2,500 memories (what answers is in them; recall within a user is
put to the whole of that user's). For each of the first 20 candidates it writes down what is known
of it, and for each token of the question how near the nearest token of the memory is (MaxSim,
Khattab & Zaharia 2020), by several ways to keep token vectors. `report` orders them anew by weights
and by trees that have not seen the set.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import math
import random
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import listwise
from bearinmind.app.requests import QueryFields
from bearinmind.recall.groups import CURRENT, EARLIER
from bearinmind.text.analysis import ask, index
from bearinmind.text.embedded_text import DEFAULT, embedded_text
from bearinmind.trace import Answer
from bearinmind.types import Hit, MemoryId
from bearinmind_bench import corpus, metrics, runner
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import EvaluationQuery, EvaluationSet, load, user_of
from bearinmind_bench.metrics import DEPTH, HEADLINE
from bearinmind_bench.product import Product
from bearinmind_bench.sweep import tunable_split
from questions import found as questions_found
from token_forms import (
    BYTES,
    CHANCE,
    ENCODERS,
    FORMS,
    SEED,
    Form,
    KeptTokens,
    TokenEncoder,
    forms,
    nearest,
)

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "token_vectors.json"
ROWS = Path(tempfile.gettempdir()) / "bearinmind-token-vectors"
QUERIES = 150  # of a set
MEMORIES = 2_500
BEFORE, EQUAL = 1 + 1e-6, 1e-6  #: what puts a score before another, and its logarithm
WEIGHTS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
MAXSIM = "MaxSim, the form chosen, too"
TIMED = "minilm"
MANY = 80  #: trees of which the time is taken
WARM_UP = 10  # questions
TREES = (0, 10, 20, 40, 80, 160)
PER_LOG = 2.0  #: with which the logarithm of a score begins, as the trees count
LEGS = ("lexical", "dense", "graph")
TOLD = tuple(f"{name}: 128 bytes" for name in ENCODERS)  #: what the trees know of the tokens
CHOICES = {f"{name}: {form}": (f"{name}: {form}",) for name in ENCODERS for form in FORMS} | {
    f"both: {form}": tuple(f"{name}: {form}" for name in ENCODERS) for form in FORMS
}
_BATCH = 512  # tokens
_LARGEST = 127  # of a byte with a sign

Numbers = NDArray[np.float64]
Row = dict[str, Any]


# ---- record --------------------------------------------------------------------------------------


def record(folders: Sequence[Path], into: Path) -> None:
    """Ask each set, and write down what was found of each candidate."""
    into.mkdir(parents=True, exist_ok=True)
    encoders = {name: TokenEncoder(name) for name in ENCODERS}
    kinds = {name: forms(encoder) for name, encoder in encoders.items()}
    for folder in folders:
        file = into / f"{folder.name}.json.gz"
        if file.is_file():
            continue
        began = perf_counter()
        data = reduced(load(folder))
        rows, texts = asked(data)
        for name, encoder in encoders.items():
            _add_nearest(rows, texts, name, encoder, kinds[name])
        tokens = encoders[ENCODERS[0]].count([record["content"] for record in data.corpus])
        found = {"memories": len(data.corpus), "tokens": tokens / len(data.corpus), "rows": rows}
        file.write_bytes(gzip.compress(json.dumps(found).encode()))
        print(f"{data.name}: {len(rows)} queries, {perf_counter() - began:.0f} s", flush=True)


def reduced(data: EvaluationSet) -> EvaluationSet:
    """The set with so many development queries, and as many memories of those who ask."""
    rng = random.Random(SEED)
    queries = [query for query in data.of_split(tunable_split(data)) if query.relevant]
    queries = sorted(rng.sample(queries, min(QUERIES, len(queries))), key=lambda x: x.id)
    users = {query.user for query in queries}
    records = [record for record in data.corpus if user_of(record) in users]
    if len(records) > MEMORIES and len(users) == 1:
        wanted = {id_ for query in queries for id_ in query.grades}
        others = [record["id"] for record in records if record["id"] not in wanted]
        wanted |= {*rng.sample(others, max(0, MEMORIES - len(wanted)))}
        records = [record for record in records if record["id"] in wanted]
    return replace(data, corpus=tuple(records), queries=tuple(queries))


def asked(data: EvaluationSet) -> tuple[list[Row], dict[str, str]]:
    """What is known of the candidates of each query, and the texts of the candidates."""
    texts: dict[str, str] = {}
    rows = []
    with corpus.empty_store(corpus.SQLITE) as store:
        stored = corpus.fill(store, data, lambda _more: None)
        embedders = EmbeddersOfRun(keep_queries=True)
        off = Product(stored, {"second_look": "off"}, embedders)
        on = Product(stored, {"second_look": "on"}, embedders)
        off.embed()
        print(f"{data.name}: {len(data.corpus)} memories are ready", flush=True)
        for query in data.queries:
            answer = recalled(off, query)
            read = [off.name_of(each.id) for each in recalled(on, query).displayed]
            rows.append(
                {
                    "query": query.id,
                    "text": query.text,
                    "relevant": query.relevant,
                    "on": metrics.score(read, query.relevant)[HEADLINE],
                    "hits": [_hit(hit, off.name_of) for hit in answer.hits],
                }
            )
            texts |= {off.name_of(x.id): embedded_text(x, DEFAULT) for x in answer.displayed}
        embedders.close()
    return rows, texts


def recalled(product: Product, query: EvaluationQuery) -> Answer:
    """The first memories for a query."""
    fields: QueryFields = {"limit": DEPTH, "all": True}
    if query.as_of:
        fields["as_of"] = query.as_of
    return product.mind_of(query.user).recall(query.text, **fields)


def _hit(hit: Hit, name_of: Callable[[MemoryId], str]) -> Row:
    """A hit and what is shown under it: they keep together, as the same state of things."""
    return {
        "ids": [name_of(hit.memory.id), *(name_of(x.memory.id) for x in hit.earlier)],
        "score": hit.score,
        "lift": math.prod(hit.factors.get(name, 1.0) for name in (CURRENT, EARLIER)),
        "legs": {leg: [*placing] for leg, placing in hit.placings.items()},
        "importance": hit.memory.importance,
        "probability": hit.probability,
        "is_outdated": hit.outdated is not None,
        "length": len(hit.memory.content),
        "words": _words(hit.memory.content),
    }


def _words(content: str) -> list[str]:
    return sorted({*index(content).terms})


def _add_nearest(
    rows: Sequence[Row],
    texts: Mapping[str, str],
    name: str,
    encoder: TokenEncoder,
    kinds: Sequence[Form],
) -> None:
    """To each hit, by form, how near each token of the question is."""
    questions = encoder.queries([row["text"] for row in rows])
    tokens = dict(zip(texts, encoder.memories([*texts.values()]), strict=True))
    for kind in kinds:
        kept = {id_: kind.kept(each) for id_, each in tokens.items()}
        for row, question in zip(rows, map(kind.reduced, questions), strict=True):
            for hit in row["hits"]:
                best = np.max([nearest(question, kept[id_]) for id_ in hit["ids"]], axis=0)
                hit.setdefault("nearest", {})[f"{name}: {kind.name}"] = [
                    round(float(x), 3) for x in best
                ]


# ---- report --------------------------------------------------------------------------------------


class Question(NamedTuple):
    """What was recorded of a question."""

    row: Row
    features: Numbers
    start: Numbers  #: the logarithm of each score
    own: Numbers  #: ... without what puts one state before another
    before: tuple[tuple[int, int], ...]  #: which candidate comes before which as its newer state

    @classmethod
    def of(cls, row: Row) -> Question:
        """What the candidates of a question are known by."""
        hits = row["hits"]
        start = np.log(np.maximum([hit["score"] for hit in hits], 1e-6))
        before = tuple(
            (n, m)
            for n, m in itertools.combinations(range(len(hits)), 2)
            if hits[n]["lift"] > 1
            and math.isclose(hits[n]["score"], hits[m]["score"] * BEFORE, rel_tol=1e-8)
        )
        own = start.copy()
        for n in {n for n, _ in before}:
            own[n] -= math.log(hits[n]["lift"])
        return cls(row, features(row), start, own, before)

    def score(self, keys: Numbers) -> float:
        """NDCG@10 in the order of these keys; the states of a thing stay in the order of time."""
        hits, keys = self.row["hits"], keys.copy()
        for first, second in reversed(self.before):
            keys[first] = max(keys[first], keys[second] + EQUAL)
        ids = [id_ for n in np.argsort(-keys, kind="stable") for id_ in hits[n]["ids"]]
        return metrics.ndcg(ids[:DEPTH], self.row["relevant"], metrics.NDCG_AT)

    def near(self, chosen: Sequence[str]) -> Numbers:
        """MaxSim of each candidate as a mean over the tokens of the question, and over forms."""
        hits = self.row["hits"]
        means = [[statistics.fmean(hit["nearest"][name]) for name in chosen] for hit in hits]
        near: Numbers = np.mean(means, axis=1)
        return near


Sets = Mapping[str, Sequence[Question]]
ByWeight = Mapping[str, Mapping[str, list[float]]]  #: by choice and set: nDCG@10 of each question


def features(row: Row) -> Numbers:
    """A row for each candidate: what the legs, the words and the tokens say, and the others."""
    hits, terms = row["hits"], {term.term for term in ask(row["text"]).terms}
    held = [terms.intersection(hit["words"]) for hit in hits]
    rare = {
        term: math.log((1 + len(hits)) / (0.5 + sum(term in x for x in held))) for term in terms
    }
    most = {
        leg: max([h["legs"][leg][1] for h in hits if leg in h["legs"]], default=0) for leg in LEGS
    }
    total = sum(rare.values()) or 1.0
    rows = []
    for place, (hit, covered) in enumerate(zip(hits, held, strict=True)):
        values = [
            place,
            math.log(max(hit["score"], 1e-6) / max(hits[0]["score"], 1e-6)),
            math.log(max(hit["score"], 1e-6) / max(hits[max(0, place - 1)]["score"], 1e-6)),
            hit["probability"],
            hits[0]["probability"],
            hit["importance"],
            len(hit["ids"]),
            hit["is_outdated"],
            math.log(1 + hit["length"]),
            len(covered) / max(1, len(terms)),
            sum(rare[term] for term in covered) / total,
            len(terms),
        ]
        for leg in LEGS:
            rank, score, confidence, evidence = hit["legs"].get(leg, (1e3, 0.0, 0.0, 0.0))
            values += [1 / rank, score / (most[leg] or 1.0), confidence, evidence]
        for name in TOLD:
            near = hit["nearest"][name]
            values += [statistics.fmean(near), min(near), max(near)]
        rows.append(values)
    table = np.array(rows, np.float64)
    best = table[:, -3 * len(TOLD) :: 3].max(axis=0)
    return np.hstack([table, table[:, -3 * len(TOLD) :: 3] - best])


def report(recorded: Path, *, keep: bool) -> None:
    """What each way is worth on each set, by weights and trees of the other sets."""
    files = read_rows(recorded)
    sets = {name: [Question.of(row) for row in each["rows"]] for name, each in files.items()}
    off = {name: [x.score(x.own) for x in each] for name, each in sets.items()}
    tried = weighed(sets)
    arms = {form: left_out(by_weight) for form, by_weight in tried.items()}
    of_all = {x: y for by_weight in tried.values() for x, y in by_weight.items()}
    arms[MAXSIM] = left_out(of_all)
    chosen = {form: choices(by_weight) for form, by_weight in {**tried, MAXSIM: of_all}.items()}
    arms["trees without token vectors"] = grown(sets, with_tokens=False)
    arms["trees"] = grown(sets, with_tokens=True)
    arms["reader"] = {name: [x.row["on"] for x in each] for name, each in sets.items()}
    means = {
        arm: round(statistics.fmean(map(statistics.fmean, by_set.values())), 4)
        for arm, by_set in {"off": off, **arms}.items()
    }
    every = {arm: [*itertools.chain(*by_set.values())] for arm, by_set in arms.items()}
    together = questions_found.compared([*itertools.chain(*off.values())], every)
    found: Row = {"mean": means, "together": together, "chosen": chosen, "sets": {}}
    for name, each in sets.items():
        of_set = {arm: by_set[name] for arm, by_set in arms.items()}
        found["sets"][name] = {
            "memories": files[name]["memories"],
            "tokens": round(files[name]["tokens"], 1),
            "queries": len(each),
            "off": round(statistics.fmean(off[name]), 4),
            "arms": questions_found.compared(off[name], of_set),
        }
    _show(found)
    if keep:
        _keep("quality", found)


def read_rows(recorded: Path) -> dict[str, Row]:
    """What was recorded of each set."""
    files = sorted(recorded.glob("*.json.gz"))
    return {x.name.partition(".")[0]: json.loads(gzip.decompress(x.read_bytes())) for x in files}


def _keep(part: str, found: Row) -> None:
    """Write a part of the results down, with the code and the machine that it is of."""
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    known[part] = {
        "revision": questions_found.revision(),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": runner.machine(),
        **found,
    }
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def weighed(sets: Sets) -> dict[str, ByWeight]:
    """By form: what each weight of MaxSim beside the score gives."""
    tried: dict[str, ByWeight] = {}
    for form, chosen in CHOICES.items():
        near = {name: [x.near(chosen) for x in each] for name, each in sets.items()}
        tried[form] = {
            f"{form}, {weight:g}": {
                name: [x.score(x.own + weight * y) for x, y in zip(each, near[name], strict=True)]
                for name, each in sets.items()
            }
            for weight in WEIGHTS
        }
    return tried


def grown(sets: Sets, *, with_tokens: bool) -> dict[str, list[float]]:
    """By set: the order of trees that were fitted to the other sets."""
    tried: dict[str, dict[str, list[float]]] = {str(count): {} for count in TREES}
    lists = {name: _lists(each, with_tokens=with_tokens) for name, each in sets.items()}
    for name, each in sets.items():
        others = [x for other, some in lists.items() if other != name for x in some]
        trees = listwise.fit([x for x in others if len(x.gains) > 1], max(TREES))
        for question, own in zip(each, lists[name], strict=True):
            for count, keys in enumerate(listwise.scores(trees, own)):
                if count in TREES:
                    tried[str(count)].setdefault(name, []).append(question.score(keys))
    return left_out(tried)


def choices(tried: ByWeight) -> dict[str, str]:
    """By set: the choice that is best on the mean of the other sets."""
    means = {
        choice: {name: statistics.fmean(each) for name, each in by_set.items()}
        for choice, by_set in tried.items()
    }
    chosen = {}
    for name in next(iter(tried.values())):
        others = {c: sum(x for other, x in m.items() if other != name) for c, m in means.items()}
        chosen[name] = max(others, key=others.__getitem__)
    return chosen


def left_out(tried: ByWeight) -> dict[str, list[float]]:
    """By set: what it has with that choice."""
    return {name: tried[choice][name] for name, choice in choices(tried).items()}


def _lists(questions: Sequence[Question], *, with_tokens: bool) -> list[listwise.List]:
    lists = []
    for row, table, start, *_ in questions:
        grades = row["relevant"]
        ideal = sorted(grades.values(), reverse=True)[: listwise.FIRST]
        gains = [sum(grades.get(id_, 0) for id_ in hit["ids"]) for hit in row["hits"]]
        lists.append(
            listwise.List(
                table if with_tokens else table[:, : -4 * len(TOLD)],
                np.array(gains, np.float64),
                start * PER_LOG,
                QUERIES / len(questions),
                sum(gain / math.log2(n + 2) for n, gain in enumerate(ideal)),
            )
        )
    return lists


def _show(found: Row) -> None:
    """Print a table: a row for each arm, a column for each set."""
    sets = found["sets"]
    print(f"| | {' | '.join(sets)} | mean | all questions |")
    print("|---|" + "---:|" * (len(sets) + 2))
    before = " | ".join(_share(each["off"]) for each in sets.values())
    print(f"| off | {before} | {found['mean']['off']:.4f} | |")
    for arm, together in found["together"].items():
        cells = " | ".join(_cell(each["arms"][arm]) for each in sets.values())
        interval = f"{together['low']:+.4f} to {together['high']:+.4f}"
        change = f"{together['difference']:+.4f} ({interval}), {together['verdict']}"
        print(f"| {arm} | {cells} | {found['mean'][arm]:.4f} | {change} |")


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _cell(row: Row) -> str:
    verdict = row["verdict"] if row["verdict"] in ("better", "worse") else ""
    return f"{_share(row['after'])} {verdict}".strip()


# ---- speed ---------------------------------------------------------------------------------------


def speed(folders: Sequence[Path], recorded: Path, *, keep: bool) -> None:
    """Each step beside a recall without a second look and one with it, each question in turn."""
    rows = [row for each in read_rows(recorded).values() for row in each["rows"]]
    lists = _lists([Question.of(row) for row in rows], with_tokens=True)
    trees = listwise.fit([x for x in lists if len(x.gains) > 1], MANY)
    encoder = TokenEncoder(TIMED)
    chosen = [form for form in forms(encoder) if form.name in (BYTES, CHANCE)]
    found: Row = {}
    for folder in folders:
        data = reduced(load(folder))
        with tempfile.TemporaryDirectory() as place:
            kept = {x.name: KeptTokens(Path(place) / f"{n}.db", x) for n, x in enumerate(chosen)}
            steps = Steps(encoder, kept, trees)
            bytes_ = steps.keep([(each["id"], each["content"]) for each in data.corpus])
            found[data.name] = {"bytes a memory": bytes_, **_times(data, steps)}
            steps.close()
        print(json.dumps({data.name: found[data.name]}, indent=1), flush=True)
    if keep:
        _keep("speed", {"encoder": TIMED, "sets": found})


Took = tuple[float, float]


class Steps(NamedTuple):
    """What would be done for a question after its recall."""

    encoder: TokenEncoder
    kept: Mapping[str, KeptTokens]  #: by form
    trees: Sequence[listwise.Tree]

    def keep(self, memories: Sequence[tuple[str, str]]) -> dict[str, int]:
        """Keep the token vectors of memories; how many bytes that takes for one, by form."""
        sizes: Counter[str] = Counter()
        for id_, text in memories:
            [rows] = self.encoder.memories([text])
            sizes.update({name: kept.add(id_, rows) for name, kept in self.kept.items()})
        return {name: round(size / len(memories)) for name, size in sizes.items()}

    def take(self, times: Mapping[str, list[Took]], row: Row) -> None:
        """Take each step, and the time that it takes."""
        text, ids = row["text"], [hit["ids"][0] for hit in row["hits"]]
        times["a question"].append(_took(partial(self.encoder.plain.embed_query, text)))
        times["a question with its tokens"].append(_took(partial(self.encoder.queries, [text])))
        [states] = self.encoder.queries([text])
        for name, kept in self.kept.items():
            times[f"MaxSim, {name}"].append(_took(partial(kept.near, ids, states)))
        for hit in row["hits"]:  # which numbers these are makes no difference to the time
            hit["nearest"] = {name: [0.5] * len(states) for name in TOLD}
        times["trees"].append(_took(partial(self._order, row)))

    def _order(self, row: Row) -> None:
        table = features({**row, "hits": [{**x, "words": _words(x["text"])} for x in row["hits"]]})
        for tree in self.trees:
            tree(table)

    def close(self) -> None:
        """Close the files."""
        for kept in self.kept.values():
            kept.close()


def _times(data: EvaluationSet, steps: Steps) -> Row:
    """Median milliseconds of each step."""
    times: dict[str, list[Took]] = defaultdict(list)
    with corpus.empty_store(corpus.SQLITE) as store:
        stored = corpus.fill(store, data, lambda _more: None)
        ways = {x: Product(stored, {"second_look": x}, EmbeddersOfRun()) for x in ("off", "on")}
        ways["off"].embed()
        for number, query in enumerate(data.queries):
            for way in [*ways][:: 1 if number % 2 else -1]:
                times[f"recall, {way}"].append(_took(partial(recalled, ways[way], query)))
            answer = recalled(ways["off"], query)
            hits = [{**_hit(x, ways["off"].name_of), "text": x.memory.content} for x in answer.hits]
            steps.take(times, {"text": query.text, "hits": hits})
    medians = {name: np.median(each[WARM_UP:], axis=0) for name, each in times.items()}
    return {
        "queries": len(data.queries) - WARM_UP,
        "milliseconds": {name: round(float(wall), 2) for name, (wall, _) in medians.items()},
        "of a processor": {name: round(float(busy), 2) for name, (_, busy) in medians.items()},
    }


def _took(step: Callable[[], object]) -> Took:
    """Milliseconds of a step, by the clock and of processors: others may keep these busy."""
    began, busy = perf_counter(), process_time()
    step()
    return (perf_counter() - began) * 1e3, (process_time() - busy) * 1e3


def main() -> int:
    """Do one step."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("step", choices=["record", "report", "speed"])
    parser.add_argument("--data", type=Path, action="append", default=[], help="a set's folder")
    parser.add_argument("--rows", type=Path, default=ROWS, help="the folder of what was recorded")
    parser.add_argument("--keep", action="store_true", help="keep it for the docs")
    options = parser.parse_args()
    if options.step == "record":
        record(options.data, options.rows)
    elif options.step == "report":
        report(options.rows, keep=options.keep)
    else:
        speed(options.data, options.rows, keep=options.keep)
    return 0


if __name__ == "__main__":
    sys.exit(main())
