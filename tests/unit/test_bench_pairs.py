"""Which labelled pairs are taken for a change, counted by hand."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import changes_offered
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.store.sqlite import SqliteStore
from bearinmind.types import Resolution
from bearinmind_bench import pairs
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import Pair, load
from bearinmind_bench.product import Product
from support.bench_sets import write_set


def change(item: str, shape: str = "one-step", *, announced: bool = False) -> Pair:
    newer, older = f"{item}b", f"{item}a"
    return Pair(newer=newer, older=older, outdates=True, shape=shape, announced=announced)


def near_miss(item: str, shape: str = "opinion") -> Pair:
    return Pair(newer=f"{item}b", older=f"{item}a", outdates=False, shape=shape)


def test_the_shares_are_counted_by_label_shape_and_announcement() -> None:
    measured = pairs.measure(
        [
            change("one", announced=True),
            change("two"),
            change("three", "chain"),
            near_miss("four"),
            near_miss("five", "event"),
            near_miss("six", "event"),
            near_miss("seven", "event"),
        ],
        frozenset({("oneb", "onea"), ("threea", "threeb"), ("fivea", "fiveb")}),
        [frozenset({"sixa", "sixb", "x"}), frozenset({"sevena", "x"})],
    )

    assert (measured.changes_found.pairs, measured.changes_found.share) == (3, 1 / 3)
    assert (measured.announced.share, measured.silent.share) == (1.0, 0.0)
    assert (measured.wrongly_outdated.pairs, measured.wrongly_outdated.share) == (4, 2 / 4)
    assert {shape: each.share for shape, each in measured.shapes.items()} == {
        "chain": 0.0,  # marked in the wrong direction
        "one-step": 1 / 2,
        "event": 2 / 3,
        "opinion": 0.0,
    }
    assert measured.figures == {"wrongly_outdated": 0.5, "changes_found": 1 / 3}


def test_a_scripted_agent_answers_by_the_pairs_and_follows_their_chains() -> None:
    truth = changes_offered.Truth(
        [
            Pair(newer="b", older="a", outdates=True),
            Pair(newer="c", older="b", outdates=True),
            near_miss("x"),
        ]
    )

    assert truth.of("c", "a") is Resolution.NEWER
    assert truth.of("a", "b") is Resolution.OLDER
    assert truth.of("xb", "xa") is Resolution.BOTH
    assert truth.of("c", "xa") is Resolution.BOTH


def test_what_is_decided_while_memories_arrive_is_marked_and_what_both_hold_is_not(
    tmp_path: Path,
) -> None:
    contents = {
        "a": "the walrus lives in bay three",
        "b": "the walrus lives in bay four",
        "xa": "the seal eats herring",
        "xb": "the seal eats squid",
    }
    corpus = [
        {"id": name, "content": content, "created_at": f"2025-01-0{day}"}
        for day, (name, content) in enumerate(contents.items(), start=1)
    ]
    labelled = [
        {"newer": "b", "older": "a", "label": "outdates"},
        {"newer": "xb", "older": "xa", "label": "both-true"},
    ]
    data = load(write_set(tmp_path / "set", corpus=corpus, queries=[], pairs=labelled))
    embedders = EmbeddersOfRun(file=tmp_path / "embeddings.db")
    with closing(SqliteStore(tmp_path / "memories.db")) as store:
        arriving = changes_offered.OneByOne(store, data, embedders)
        stored = arriving.store_all()
        ids = {name: id_ for id_, name in stored.names.items()}
        mind = Mind(store, Settings())
        truth = changes_offered.Truth(data.pairs)
        for newer, older in (("b", "a"), ("xb", "xa")):
            mind.resolve(ids[newer], truth.of(newer, older), ids[older])
        marks = Product(stored, {}, embedders).marks(data.pairs)
    embedders.close()

    assert arriving.offered.keys() == contents.keys()
    assert marks == {("b", "a")}
