"""Memories for somebody who did not ask: how much must speak for one, and is that told well?

`python benchmarks/hooks.py floors` asks the questions and the prompts of our own set, and those of
public sets if there are any, and each that has an answer once more while the memories that matter
are deleted: then nothing should be given. It shows what floors do, and compares the support of a
memory with the floors that were shipped before, over all rates of giving something wrongly.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.store.sqlite.store import SqliteStore
from bearinmind.surfaces.hooks.standalone.settings import LEAST_SUPPORT, MOST
from bearinmind_bench import corpus
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import EvaluationQuery, EvaluationSet, load
from bearinmind_bench.inference import SEED
from bearinmind_bench.product import settings_for

OWN = Path(__file__).parent / "data" / "agent-store"
PUBLIC = ("locomo-turns", "locomo-facts")
PROMPTS = "prompts.jsonl"
TASK, UNANSWERABLE, UNRELATED = "task", "unanswerable", "unrelated"
FLOORS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)
RATES = np.arange(0.05, 0.501, 0.05)  # of queries without an answer that are given something
RESAMPLES = 2_000

Floats = NDArray[np.float64]
Score = Callable[[Mapping[str, Any]], float]


class Asked(NamedTuple):
    """What was asked, and what recall answered."""

    of: str  #: the set, and whether it is a question or a prompt
    without: str  #: why there is no answer; empty when there is one
    relevant: frozenset[str]
    hits: list[dict[str, Any]]  #: as a server answers them, `id` as the set has it

    def given(self, score: Score, floor: float) -> list[str]:
        """What is given of it."""
        return [hit["id"] for hit in self.hits if score(hit) >= floor]

    def surest(self, score: Score) -> float:
        """The score from which on something is given: that matters, where anything does."""
        wanted = [hit for hit in self.hits if not self.relevant or hit["id"] in self.relevant]
        return max(map(score, wanted), default=-np.inf)


def floors(split: str, public: Path | None) -> int:
    """Show what floors do, and how well support and the floors before it tell."""
    for embedder in ("local", "none"):
        asked = [*_asked(OWN, split, embedder)]
        for name in PUBLIC if public else ():
            asked += _asked(Path(public or "") / name, split, embedder)
        print(f"\nembedder {embedder}, {split}\n")
        _show_floors(asked)
        _compare(asked)
    return 0


# ---- asking ------------------------------------------------------------------------------------


def _asked(folder: Path, split: str, embedder: str) -> Iterator[Asked]:
    data = load(folder)
    kinds = {f"{data.name}, questions": [q for q in data.queries if q.split == split]}
    if (folder / PROMPTS).is_file():
        kinds[f"{data.name}, prompts"] = [q for q in _prompts(folder) if q.split == split]
    with tempfile.TemporaryDirectory() as made, _Memories(Path(made), data, embedder) as memories:
        for kind, queries in kinds.items():
            for query in queries:
                yield from memories.ask(kind, query)


def _prompts(folder: Path) -> Iterator[EvaluationQuery]:
    for line in (folder / PROMPTS).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield EvaluationQuery(
            id=row["query_id"],
            text=row["text"],
            stratum=row["stratum"],
            split=row["split"],
            grades=dict.fromkeys(row["relevant_ids"], 1),
        )


class _Memories:
    """The memories of a set, one Bear in Mind for each user."""

    def __init__(self, folder: Path, data: EvaluationSet, embedder: str) -> None:
        self._store = SqliteStore(folder / "memories.db")
        self._stored = corpus.fill(self._store, data, lambda _more: None)
        self._ids = {name: id_ for id_, name in self._stored.names.items()}
        self._embedders = EmbeddersOfRun(keep_queries=True)
        self._embedder = embedder
        self._users: dict[str, Mind] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._embedders.close()
        self._store.close()

    def ask(self, kind: str, query: EvaluationQuery) -> Iterator[Asked]:
        """The answer, and the one that is given when nothing is known of it."""
        user = self._of(query.user)
        relevant = frozenset(query.relevant)
        without = "" if relevant else query.stratum if "prompts" in kind else UNANSWERABLE
        yield Asked(kind, without, relevant, self._hits(user, query.text))
        if relevant:
            gone = [user.delete(self._ids[name]).id for name in relevant if name in self._ids]
            yield Asked(kind, "deleted", frozenset(), self._hits(user, query.text))
            for id_ in gone:
                user.restore(id_)
            user.work.wait()

    def _of(self, user: str) -> Mind:
        if user not in self._users:
            settings = settings_for(user, self._stored.bounds, {"embedder": self._embedder})
            opened = Mind(self._store, settings, embedders=self._embedders.of(settings))
            opened.work.wait()
            self._users[user] = opened
        return self._users[user]

    def _hits(self, user: Mind, text: str) -> list[dict[str, Any]]:
        names = self._stored.names
        hits = user.recall(text, limit=MOST).hits
        return [{**codec.to_data(hit), "id": names[hit.memory.id]} for hit in hits]


# ---- what floors do ----------------------------------------------------------------------------


def support(hit: Mapping[str, Any]) -> float:
    """What the hook goes by."""
    return float(hit["support"])


def before(hit: Mapping[str, Any]) -> float:
    """What it went by before: a similarity if the confidence is 0.45; else the coverage.

    Shifted, so that what was the floor of each is 0.
    """
    meaning, words = hit["placings"].get("dense"), hit["placings"].get("lexical")
    if meaning is not None:
        enough = hit["confidence"] >= 0.45
        return float(meaning["score"]) - (0.8 if enough else 10)
    return float(words["confidence"]) - 0.6 if words is not None else -20.0


def _show_floors(asked: Sequence[Asked]) -> None:
    for kind in dict.fromkeys(each.of for each in asked):
        mine = [each for each in asked if each.of == kind]
        reasons = [*dict.fromkeys(each.without for each in mine if each.without)]
        counts = [sum(each.without == reason for each in mine) for reason in reasons]
        print(f"{kind}: {sum(not each.without for each in mine)} with an answer")
        names = [f"{name} ({n})" for name, n in zip(reasons, counts, strict=True)]
        head = "".join(f"{name:>20}" for name in names)
        print(f"{'floor':>10}{'relevant':>10}{'given':>7}{'right':>7}{head}")
        print(f"{'before':>10}{_line(mine, reasons, before, 0.0)}")
        for floor in FLOORS:
            mark = " <" if floor == LEAST_SUPPORT else ""
            print(f"{floor:10.2f}{_line(mine, reasons, support, floor)}{mark}")
        print()


def _line(asked: Sequence[Asked], reasons: Iterable[str], score: Score, floor: float) -> str:
    known = [each for each in asked if not each.without]
    given = [each.given(score, floor) for each in known]
    right = [len(each.relevant & {*ids}) for each, ids in zip(known, given, strict=True)]
    count = sum(map(len, given))
    wrongly = [
        np.mean([bool(each.given(score, floor)) for each in asked if each.without == reason])
        for reason in reasons
    ]
    return (
        f"{np.mean([*map(bool, right)]):10.3f}{count / len(known):7.2f}"
        f"{sum(right) / (count or 1):7.2f}" + "".join(f"{share:20.3f}" for share in wrongly)
    )


# ---- how well a score tells --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Told:
    """From which score on each query is given something: that matters, or wrongly."""

    known: Floats  # queries with an answer, by both scores
    unknown: Floats

    @classmethod
    def by(cls, asked: Sequence[Asked]) -> _Told:
        def table(some: list[Asked]) -> Floats:
            return np.array([[each.surest(before), each.surest(support)] for each in some])

        known = [each for each in asked if not each.without]
        return cls(table(known), table([each for each in asked if each.without]))

    def shares(self) -> Floats:
        """For both scores the share that is given what matters, over all rates of error."""
        return np.array(
            [_share(*columns) for columns in zip(self.known.T, self.unknown.T, strict=True)]
        )

    def drawn(self, rng: np.random.Generator) -> _Told:
        known = self.known[rng.integers(0, len(self.known), len(self.known))]
        return _Told(known, self.unknown[rng.integers(0, len(self.unknown), len(self.unknown))])


def _share(known: Floats, unknown: Floats) -> float:
    """The mean share above the floors at which so many of the others are given something."""
    falling = np.sort(unknown)[::-1]
    places = np.clip(np.round(RATES * len(falling)).astype(int), 1, len(falling) - 1)
    at = (falling[places - 1] + falling[places]) / 2
    return float((known[None, :] >= at[:, None]).mean())


def _compare(asked: Sequence[Asked]) -> None:
    """The gain of support over what was before, kind by kind and on the average."""
    kinds = [*dict.fromkeys(each.of for each in asked)]
    told = [_Told.by([each for each in asked if each.of == kind]) for kind in kinds]
    rng = np.random.default_rng(SEED)
    drawn = np.array(
        [[np.diff(each.drawn(rng).shares())[0] for each in told] for _ in range(RESAMPLES)]
    )
    print("given what matters, the mean where 5 to 50 % of the others are given something")
    for kind, each, gains in zip(kinds, told, drawn.T, strict=True):
        one, other = each.shares()
        print(f"{kind:28}{one:7.3f} ->{other:7.3f}   {_gain(other - one, gains)}")
    whole = float(np.mean([np.diff(each.shares())[0] for each in told]))
    print(f"{'all':28}{'':17}   {_gain(whole, drawn.mean(axis=1))}")


def _gain(value: float, drawn: Floats) -> str:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"
