"""Which labelled pairs are taken for a change, counted by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from bearinmind.types import Decider, Judgement, Link, LinkKind, MemoryId
from bearinmind_bench import pairs
from bearinmind_bench.evaluation import Pair

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def change(item: str, shape: str = "one-step", *, announced: bool = False) -> Pair:
    newer, older = f"{item}b", f"{item}a"
    return Pair(newer=newer, older=older, outdates=True, shape=shape, announced=announced)


def near_miss(item: str, shape: str = "opinion") -> Pair:
    return Pair(newer=f"{item}b", older=f"{item}a", outdates=False, shape=shape)


def link(
    source: str = "b", target: str = "a", *, by: Decider | None, probability: float, hours: int = 0
) -> Link:
    return Link(
        source=MemoryId(source),
        target=MemoryId(target),
        kind=LinkKind.OUTDATES,
        created_at=NOON + timedelta(hours=hours),
        judgement=Judgement(probability=probability, by=by) if by else None,
    )


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


def test_the_later_decider_prevails_and_then_the_later_link() -> None:
    scorer = link(by=Decider.SCORER, probability=0.9, hours=5)
    agent = link(by=Decider.AGENT, probability=0.0)
    person = link(by=None, probability=1.0)  # made by hand, without a judgement

    assert pairs.prevailing([scorer, agent]) is agent
    assert pairs.prevailing([person, scorer, agent]) is person
    later = link("a", "b", by=Decider.AGENT, probability=1.0, hours=1)
    assert pairs.prevailing([agent, later]) is later
    assert pairs.prevailing([]) is None
