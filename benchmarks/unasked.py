"""Memories for somebody who did not ask: how probable must one be?

`python benchmarks/hooks.py floors` asks the questions and the prompts of our own sets, and those of
public sets if there are any, and each that has an answer once more while the memories that matter
are deleted: then nothing should be given. It shows what floors for the probability do.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.store.sqlite.store import SqliteStore
from bearinmind.surfaces.hooks.standalone.settings import FOUND, MOST
from bearinmind_bench import corpus
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import EvaluationQuery, EvaluationSet, load, user_of
from bearinmind_bench.product import settings_for

DATA = Path(__file__).parent / "data"
OWN = ("agent-store", "unanswerable")
PUBLIC = ("locomo-turns", "locomo-facts")
PROMPTS = "prompts.jsonl"
FLOORS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)


class Asked(NamedTuple):
    """What was asked, and what recall answered."""

    of: str  #: the set, and whether it is a question or a prompt
    without: str  #: why there is no answer; empty when there is one
    relevant: frozenset[str]
    hits: list[dict[str, Any]]  #: as a server answers them, `id` as the set has it

    def given(self, floor: float) -> list[str]:
        """What is given of it."""
        return [hit["id"] for hit in self.hits if hit["probability"] >= floor]


def floors(split: str, public: Path | None) -> int:
    """Show what floors do."""
    folders = [DATA / name for name in OWN] + [public / name for name in PUBLIC if public]
    for embedder in ("local", "none"):
        print(f"\nembedder {embedder}, {split}\n")
        for folder in folders:
            _show_floors([*_asked(folder, split, embedder)])
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
            user=user_of(row),
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
        without = "" if relevant else query.stratum
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
        hits = user.recall(text, limit=MOST, all=True).hits
        return [{**codec.to_data(hit), "id": names[hit.memory.id]} for hit in hits]


# ---- what floors do ----------------------------------------------------------------------------


def _show_floors(asked: Sequence[Asked]) -> None:
    for kind in dict.fromkeys(each.of for each in asked):
        mine = [each for each in asked if each.of == kind]
        reasons = [*dict.fromkeys(each.without for each in mine if each.without)]
        counts = [sum(each.without == reason for each in mine) for reason in reasons]
        print(f"{kind}: {sum(not each.without for each in mine)} with an answer")
        names = [f"{name} ({n})" for name, n in zip(reasons, counts, strict=True)]
        head = "".join(f"{name:>20}" for name in names)
        print(f"{'floor':>10}{'relevant':>10}{'given':>7}{'right':>7}{head}")
        for floor in FLOORS:
            mark = " <" if floor == FOUND else ""
            print(f"{floor:10.2f}{_line(mine, reasons, floor)}{mark}")
        print()


def _line(asked: Sequence[Asked], reasons: Iterable[str], floor: float) -> str:
    known = [each for each in asked if not each.without]
    given = [each.given(floor) for each in known]
    right = [len(each.relevant & {*ids}) for each, ids in zip(known, given, strict=True)]
    count = sum(map(len, given))
    wrongly = [
        np.mean([bool(each.given(floor)) for each in asked if each.without == reason])
        for reason in reasons
    ]
    return (
        f"{np.mean([*map(bool, right)]):10.3f}{count / len(known):7.2f}"
        f"{sum(right) / (count or 1):7.2f}" + "".join(f"{share:20.3f}" for share in wrongly)
    )
