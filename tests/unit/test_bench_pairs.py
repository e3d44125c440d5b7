"""Which labelled pairs are taken for a change, counted by hand."""

from __future__ import annotations

from bearinmind_bench import pairs
from bearinmind_bench.evaluation import Pair


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
