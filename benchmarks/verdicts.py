"""Fit the model that says how probable it is that a hit answers, and check it.

    python benchmarks/verdicts.py refit --data FOLDER   # dump, fit and check in one go
    python benchmarks/verdicts.py dump --data FOLDER    # features and labels of the first ten hits
    python benchmarks/verdicts.py fit                   # writes recall/verdict_weights.json
    python benchmarks/verdicts.py check                 # each set left out in turn (--split test)

`dump` asks the real pipeline, with nothing folded away: our own sets, and those of `SETS` that the
folder of public sets has. Each set is asked three times: by words and meaning, by words alone, by
meaning alone. Beside the whole set there are variants of it: questions of other sets, which it
cannot answer; the set without the memories that answer every other question; and, of our own sets,
stores of 5 to 80 of its memories.

`fit` learns from development queries alone, and from sets of memories: in the others a document is
relevant that helps with a claim or with a chain of questions, which is not what people ask of their
memories. Those are checked with weights that have seen none of them. All sets count the same, and
within a set all strata.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bearinmind.app import Mind, wiring
from bearinmind.app.requests import QueryFields
from bearinmind.recall.verdict import EXACT, FOUND, SIGNS, VerdictModel
from bearinmind_bench import corpus
from bearinmind_bench.corpus import EmbeddersOfRun, StoredCorpus
from bearinmind_bench.evaluation import (
    ONLY_USER,
    EvaluationQuery,
    EvaluationSet,
)
from bearinmind_bench.product import settings_for, worked
from bearinmind_bench.summary import calibration_error
from verdict_sets import MEMORIES, sets, variants

WEIGHTS = Path(__file__).parents[1] / "src" / "bearinmind" / "recall" / "verdict_weights.json"
ROWS = Path(tempfile.gettempdir()) / "bearinmind-verdicts.jsonl.gz"
BOTH = "both"  #: words and meaning: the recalls whose hits may be judged by what was read
#: By which legs answer: the settings of that recall.
LEGS: Mapping[str, Mapping[str, Any]] = {
    BOTH: {},
    "words": {"embedder": "none"},
    "meaning": {"leg_weights": {"lexical": 0.0}},
}
READ = "read"  #: the model of hits that were read, too
#: Features of what the legs found, which tell near-misses from answers no better than a coin.
OF_LEGS = ("words", "meaning", "best_reach", "behind", "lead", "above_pool", "short", "aspect")
#: By model: features that it does not have.
SILENT = {"words": ("meaning", READ), "meaning": ("words", READ), BOTH: (READ,), READ: OF_LEGS}
Models = Mapping[str, VerdictModel]
HITS = 10
PENALTY = 1e-4  # of the squares of the weights
STEPS = 3_000
KEEP = 0.96  # of the answerable queries whose relevant memory is in the first ten keep one
PER_DECADE = (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)  # how much the odds of the floor may grow
KEEP_BESIDE = 0.99  # ... if no answer were folded away as a whole
FEATURES = [*SIGNS]

Floats = NDArray[np.float64]


# ---- dump ----------------------------------------------------------------------------------------


class _Recorder(VerdictModel):
    """A model that keeps the features that it is shown, each under the number that it gives.

    Of several states the product keeps the most probable: what was read as answering counts more.
    """

    def __init__(self) -> None:
        super().__init__(bias=0.0, weights={}, perhaps=0.0, beside=0.0)
        self.features: dict[float, Mapping[str, float]]
        object.__setattr__(self, "features", {})

    def probability(self, features: Mapping[str, float]) -> float:
        """A number for these features alone, below that of what is exact."""
        number = 0.5 + features[READ] / 100 + len(self.features) * 1e-9
        self.features[number] = features
        return number


class _Recording(Mind):
    """Bear in Mind whose recall keeps the features of its hits."""

    def record(self) -> _Recorder:
        recorder = _Recorder()
        models = dict.fromkeys(SILENT, recorder)
        self._open_parts = replace(self._parts, recall=replace(self._parts.recall, verdicts=models))
        return recorder


def dump(rows: Path, public: Path | None, only: Sequence[str], legs: Sequence[str]) -> None:
    """Write the features and labels of the first ten hits of every query."""
    with gzip.open(rows, "wt", encoding="utf-8") as file:
        embedders = EmbeddersOfRun(keep_queries=True)
        every = [*sets(public)]
        for data in every:
            if only and data.name not in only:
                continue
            for variant, made in variants(data, every):
                for row in _asked(made, variant, embedders, legs):
                    file.write(json.dumps(row) + "\n")
        embedders.close()


def _asked(
    data: EvaluationSet, variant: str, embedders: EmbeddersOfRun, by: Sequence[str]
) -> Iterator[dict[str, Any]]:
    with corpus.empty_store(corpus.SQLITE) as store:
        stored = corpus.fill(store, data, lambda _more: None)
        for legs in by:
            overrides = LEGS[legs]
            print(f"{data.name}, {variant}, {legs}: {len(data.queries)} queries", flush=True)
            # By the clock on the wall: one that stands still never comes to what waits a moment.
            worked(_open(stored, ONLY_USER, overrides, embedders, at_end=False))
            minds: dict[str, tuple[_Recording, _Recorder]] = {}
            for query in data.queries:
                if query.user not in minds:
                    mind = _open(stored, query.user, overrides, embedders)
                    minds[query.user] = (mind, mind.record())
                hits = _hits(*minds[query.user], query, stored)
                yield {
                    "set": data.name,
                    "variant": variant,
                    "stratum": query.stratum,
                    "split": query.split or "dev",
                    "legs": legs,
                    "query": query.id,
                    "text": query.text,
                    "answerable": bool(query.relevant),
                    "hits": hits,
                }


def _open(
    stored: StoredCorpus,
    user: str,
    overrides: Mapping[str, Any],
    embedders: EmbeddersOfRun,
    *,
    at_end: bool = True,
) -> _Recording:
    """The memory of a user, asked at the moment of its last memory."""
    settings = settings_for(user, stored.bounds, overrides)
    newest = stored.newest.get(user) if at_end else None
    options: wiring.Options = {"clock": lambda: newest} if newest else {}
    options["embedders"] = embedders.of(settings)
    return _Recording(stored.store, settings, **options)


def _hits(
    mind: _Recording, recorder: _Recorder, query: EvaluationQuery, stored: StoredCorpus
) -> list[dict[str, Any]]:
    """Label and features of each hit, earlier states with their own; none if it is exact."""
    recorder.features.clear()
    fields: QueryFields = {"limit": HITS, "all": True}
    if query.as_of:
        fields["as_of"] = query.as_of
    hits = []
    for hit in mind.recall(query.text, **fields).hits:
        ids = (hit.memory.id, *(state.memory.id for state in hit.earlier))
        features = {} if hit.probability >= EXACT else recorder.features[hit.probability]
        hits.append(
            {
                "relevant": any(stored.names[id_] in query.relevant for id_ in ids),
                "features": [round(features[name], 4) for name in FEATURES] if features else None,
            }
        )
    return hits


# ---- fit -----------------------------------------------------------------------------------------


class Hits(NamedTuple):
    """Hits as numbers."""

    values: Floats
    labels: Floats
    weights: Floats  #: all sets count the same, and within a set all strata

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], legs: str) -> Hits:
        """The hits of some queries that have features; for `read` those that were read."""
        hits = [
            (row, hit)
            for row in rows
            for hit in row["hits"]
            if hit["features"] and (legs != READ or is_read(hit))
        ]
        strata = defaultdict(set)
        for row, _ in hits:
            strata[row["set"]].add((row["variant"], row["stratum"]))
        keys = [(row["set"], row["variant"], row["stratum"]) for row, _ in hits]
        counts = Counter(keys)
        weights = [1 / (counts[key] * len(strata[key[0]]) * len(strata)) for key in keys]
        return cls(
            np.array([_heard(legs, hit["features"]) for _, hit in hits]),
            np.array([float(hit["relevant"]) for _, hit in hits]),
            np.array(weights),
        )

    def fit(self) -> VerdictModel:
        """Logistic regression by projected gradient; each weight keeps the sign of its feature."""
        scale = np.abs(self.values).max(axis=0)
        scale[scale == 0] = 1.0
        inputs = np.hstack([np.ones((len(self.values), 1)), self.values / scale])
        signs = np.array([0, *SIGNS.values()])
        low = np.where(signs > 0, 0.0, -np.inf)
        high = np.where(signs < 0, 0.0, np.inf)
        penalty = np.array([0.0, *(PENALTY / scale**2)])
        curvature = np.linalg.eigvalsh((inputs * self.weights[:, None]).T @ inputs)[-1] / 4
        rate = 1 / (curvature + penalty.max())
        weights = ahead = np.zeros(inputs.shape[1])
        momentum = 1.0
        for _ in range(STEPS):  # Nesterov, begun again whenever a step would go uphill
            error = self.weights * (_sigmoid(inputs @ ahead) - self.labels)
            step = np.clip(ahead - rate * (inputs.T @ error + penalty * ahead), low, high)
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            if (ahead - step) @ (step - weights) > 0:
                following, ahead = 1.0, step
            else:
                ahead = step + (momentum - 1) / following * (step - weights)
            weights, momentum = step, following
        plain = weights[1:] / scale
        named = {name: round(float(w), 4) for name, w in zip(FEATURES, plain, strict=True)}
        return VerdictModel(
            bias=round(float(weights[0]), 4),
            weights={name: weight for name, weight in named.items() if weight},
            perhaps=0.0,
            beside=0.0,
        )


def _heard(legs: str, features: Sequence[float]) -> list[float]:
    """The features without those that a model does not have."""
    return [
        0.0 if name.startswith(SILENT[legs]) else value
        for name, value in zip(FEATURES, features, strict=True)
    ]


def is_read(hit: Mapping[str, Any]) -> bool:
    """Whether a model has read a hit with its query."""
    return bool(hit["features"] and hit["features"][FEATURES.index(READ)])


def _sigmoid(odds: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(odds, -30, 30)))


def fit(rows: Path) -> None:
    """Write the weights, and the floor that keeps what is to be kept; of legs that were dumped."""
    every = [*_read(rows)]
    models: dict[str, Any] = json.loads(WEIGHTS.read_text("utf-8"))
    for legs in dict.fromkeys(row["legs"] for row in every):
        fitted = fitted_to([*_learnt_from(every, legs)], legs)
        models |= {name: asdict(model) for name, model in fitted.items()}
    WEIGHTS.write_text(json.dumps(models) + "\n", encoding="utf-8")
    print(json.dumps(models, indent=1))


def _learnt_from(rows: Iterable[dict[str, Any]], legs: str) -> Iterator[dict[str, Any]]:
    """Development queries to some legs, of sets of memories.

    Half of the answerable questions of `stores` share no word with their answer, by design: one leg
    alone would learn from them that what shares no word is answered.
    """
    learnt = MEMORIES if legs == BOTH else {*MEMORIES} - {"stores"}
    return (x for x in rows if (x["legs"], x["split"]) == (legs, "dev") and x["set"] in learnt)


def fitted_to(rows: Sequence[Mapping[str, Any]], legs: str) -> Models:
    """The model of recalls by some legs, and that of hits that were read, if any were."""
    unread = [{**row, "hits": [_unread(hit) for hit in row["hits"]]} for row in rows]
    models = {legs: with_floors(unread, {legs: Hits.of(unread, legs).fit()}, legs)}
    if legs == BOTH and any(is_read(hit) for row in rows for hit in row["hits"]):
        models[READ] = with_floors(rows, {**models, READ: Hits.of(rows, READ).fit()}, READ)
    return models


def _unread(hit: Mapping[str, Any]) -> dict[str, Any]:
    return {**hit, "features": hit["features"] and _heard(BOTH, hit["features"])}


def with_floors(rows: Sequence[Mapping[str, Any]], models: Models, legs: str) -> VerdictModel:
    """The floors that fold most of what cannot be answered, and keep as much as `KEEP` says.

    All sets and sizes of small stores count the same: one set alone may have answers that nothing
    points at.
    """
    plain = models[legs]
    known: dict[str, list[Floats]] = defaultdict(list)  # by set: best, relevant, memories
    unknown: dict[str, list[Floats]] = defaultdict(list)
    for row in rows:
        hits = judged(row, models)
        relevant = [probability for probability, label in hits if label]
        if not hits or row["variant"] == "removed" or "prompt" in row["stratum"]:
            continue
        group = row["set"] if row["variant"] == "whole" else row["stratum"].partition(",")[0]
        table = known if relevant else unknown
        if relevant or not row["answerable"]:
            best = max(probability for probability, _ in hits)
            table[group].append(np.array([best, max(relevant, default=0.0), _memories(row)]))
    sure, unsure = [[np.array(x) for x in each.values()] for each in (known, unknown)]

    def kept(model: VerdictModel) -> float:
        def share(best: Floats, relevant: Floats, memories: Floats) -> Any:  # noqa: ANN401  numpy's
            perhaps = _perhaps(model, memories)
            return np.mean(relevant >= np.where(best < perhaps, perhaps, model.beside))

        return float(np.mean([share(*each.T) for each in sure]))

    def folded(model: VerdictModel) -> float:
        return float(np.mean([np.mean(x[:, 0] < _perhaps(model, x[:, 2])) for x in unsure]))

    tried = [round(float(x), 4) for x in np.geomspace(0.001, 0.4, 60)]
    beside = max(x for x in tried if kept(replace(plain, beside=x)) >= KEEP_BESIDE)
    fitted = []
    for per_decade in PER_DECADE:
        model = replace(plain, beside=beside, per_decade=per_decade)
        good = [x for x in tried if kept(replace(model, perhaps=x)) >= KEEP]
        fitted.append(replace(model, perhaps=max(good)))
    return max(fitted, key=folded)


def _perhaps(model: VerdictModel, memories: Floats) -> Floats:
    """`VerdictModel.floors`, of many stores at once."""
    floors = {decades: model.floors(decades).perhaps for decades in {*memories.tolist()}}
    return np.array([floors[decades] for decades in memories.tolist()])


def judged(row: Mapping[str, Any], models: Models) -> list[tuple[float, bool]]:
    """The probability of each hit of a query, and whether it is relevant."""
    return [
        (
            models[READ if row["legs"] == BOTH and is_read(hit) else row["legs"]].probability(
                dict(zip(FEATURES, hit["features"], strict=True))
            )
            if hit["features"]
            else EXACT,
            hit["relevant"],
        )
        for hit in row["hits"]
    ]


# ---- check ---------------------------------------------------------------------------------------


def check(rows: Path, split: str, only_legs: Sequence[str]) -> None:
    """Print the figures of each set, by weights and a floor that did not see it."""
    every = [*_read(rows)]
    for legs in only_legs:
        known = [row for row in every if row["legs"] == legs]
        errors = []
        print(f"\n{legs}, {split} queries, each set left out\n")
        print(f"{'set':16}{'stratum':34}{'n':>5}{'nothing':>9}{'found':>8}{'AUROC':>8}{'kept':>8}")
        for name in dict.fromkeys(row["set"] for row in known):
            others = [row for row in _learnt_from(known, legs) if row["set"] != name]
            if not others:
                continue
            models = fitted_to(others, legs)
            own = [row for row in known if row["set"] == name and row["split"] == split]
            errors.append(_show(name, own, models))
        print(f"\ncalibration error: mean {np.mean(errors):.3f}, largest {max(errors):.3f}")


def _show(name: str, rows: Sequence[Mapping[str, Any]], models: Models) -> float:
    *_, model = models.values()  # that of read hits, if there is one, has the floors
    hits = {id(row): judged(row, models) for row in rows}
    best = {key: max((p for p, _ in each), default=0.0) for key, each in hits.items()}
    whole = [row for row in rows if row["variant"] == "whole"]
    known = [best[id(row)] for row in whole if row["answerable"] and "prompt" not in row["stratum"]]
    for variant, stratum in dict.fromkeys((row["variant"], row["stratum"]) for row in rows):
        some = [x for x in rows if (x["variant"], x["stratum"]) == (variant, stratum)]
        own = [best[id(row)] for row in some]
        floors = [model.floors(_memories(row)) for row in some]
        nothing = np.mean([p < each.perhaps for p, each in zip(own, floors, strict=True)])
        found = np.mean([p >= FOUND for p in own])
        line = f"{name:16}{f'{variant}: {stratum}':34}{len(some):5}{nothing:9.3f}{found:8.3f}"
        if not some[0]["answerable"]:
            line += f"{_area(known, own):8.3f}" if known else ""
        else:
            relevant = [[p for p, label in hits[id(row)] if label] for row in some]
            kept = [
                max(each) >= floor.below(top)
                for each, top, floor in zip(relevant, own, floors, strict=True)
                if each
            ]
            line += f"{'':8}{np.mean(kept):8.3f}" if kept else ""
        print(line)
    error = calibration_error([each for row in whole for each in hits[id(row)]])
    print(
        f"{name:16}{'calibration error':34}{error:14.3f}   floors {model.perhaps}, {model.beside}"
    )
    return error


def _memories(row: Mapping[str, Any]) -> float:
    """The number of memories that a query was put to, as a logarithm."""
    features = next((hit["features"] for hit in row["hits"] if hit["features"]), None)
    return features[FEATURES.index("memories")] if features else 0.0


def _area(known: Sequence[float], unknown: Sequence[float]) -> float:
    """The chance that an answerable query has the more probable hit."""
    one, other = np.array(known)[:, None], np.array(unknown)[None, :]
    return float((one > other).mean() + (one == other).mean() / 2)


def _read(rows: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(rows, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def main() -> None:
    """Do one step, or all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["dump", "fit", "check", "refit"])
    parser.add_argument("--data", type=Path, help="a folder of public sets")
    parser.add_argument("--only", nargs="*", default=[], help="of all sets these alone")
    parser.add_argument("--rows", type=Path, default=ROWS, help="the file of features")
    parser.add_argument("--split", choices=["dev", "test"], default="dev")
    parser.add_argument("--legs", nargs="*", default=[*LEGS], choices=[*LEGS])
    options = parser.parse_args()
    if options.what in ("dump", "refit"):
        dump(options.rows, options.data, options.only, options.legs)
    if options.what in ("fit", "refit"):
        fit(options.rows)
    if options.what in ("check", "refit"):
        check(options.rows, options.split, options.legs)


if __name__ == "__main__":
    main()
