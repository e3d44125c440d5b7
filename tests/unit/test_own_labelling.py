from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from bearinmind_bench.own import judgements
from bearinmind_bench.own.folder import USER, Folder
from bearinmind_bench.own.judgements import Labelled, Labeller, Texts, by_judge

POOL = [(f"q{i}", f"m{j}") for i in range(4) for j in range(3)]
TEXTS = Texts(
    queries={f"q{i}": f"question {i}" for i in range(4)},
    memories={f"m{j}": f"text {j}" for j in range(3)},
)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


Go = Callable[..., Labelled]


@pytest.fixture
def shown() -> list[str]:
    return []


@pytest.fixture
def go(folder: Folder, shown: list[str]) -> Go:
    """Labels with the given answers typed in."""

    def label_with(answers: Sequence[str], *, most: int | None = None, seed: int = 1) -> Labelled:
        typed: Iterator[str] = iter(answers)
        labeller = Labeller(
            folder=folder,
            texts=TEXTS,
            ask=lambda _: next(typed, None),
            show=shown.append,
            seed=seed,
        )
        return labeller.label(POOL, most)

    return label_with


def grades(folder: Folder) -> list[int]:
    """The user's grades, in the order in which they were given."""
    return [*by_judge(folder.judgements(), TEXTS).get(USER, {}).values()]


def asked(shown: list[str]) -> list[tuple[str, str]]:
    """What was shown, pair by pair."""
    questions = [line for line in shown if line.startswith("question:")]
    memories = [line for line in shown if line.startswith("memory:")]
    return [*zip(questions, memories, strict=True)]


def test_every_pair_is_shown_once_and_its_grade_is_kept(
    go: Go, folder: Folder, shown: list[str]
) -> None:
    done = go(["3", "0", "1", "2"] * 3)

    assert done == Labelled(graded=12, skipped=0, left=0)
    assert grades(folder) == [3, 0, 1, 2] * 3
    assert len({*asked(shown)}) == 12


def test_the_order_is_by_chance_and_the_same_for_the_same_seed(go: Go, shown: list[str]) -> None:
    def order(seed: int) -> list[tuple[str, str]]:
        shown.clear()
        go(["s"] * 12, seed=seed)
        return asked(shown)

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert order(1) != sorted(order(1))


def test_it_goes_on_where_it_ended(go: Go, folder: Folder, shown: list[str]) -> None:
    assert go(["3", "q"]) == Labelled(graded=1, skipped=0, left=11)
    first = asked(shown)[0]
    shown.clear()

    assert go(["2"]) == Labelled(graded=1, skipped=0, left=10)  # and then the input ends
    assert first not in asked(shown)
    assert grades(folder) == [3, 2]


def test_a_skipped_pair_comes_again_another_time(go: Go, shown: list[str]) -> None:
    assert go(["s", "q"]) == Labelled(graded=0, skipped=1, left=12)
    first = asked(shown)[0]
    shown.clear()

    go(["q"])

    assert asked(shown) == [first]


def test_undo_takes_back_what_was_done_last(go: Go, folder: Folder, shown: list[str]) -> None:
    done = go(["3", "1", "u", "0", "s", "u", "u", "2", "q"])

    assert done == Labelled(graded=2, skipped=0, left=10)
    assert grades(folder) == [3, 2]
    pairs = asked(shown)
    assert pairs[1] == pairs[3]


def test_undo_at_the_beginning_does_nothing(go: Go, folder: Folder, shown: list[str]) -> None:
    go(["u", "3", "q"])

    assert "there is nothing to undo" in shown
    assert grades(folder) == [3]


def test_anything_else_is_asked_again(go: Go, folder: Folder, shown: list[str]) -> None:
    go(["4", "", "yes", " Q "])

    assert sum("is not one of 0, 1, 2, 3, s, u, q" in line for line in shown) == 3
    assert grades(folder) == []


def test_only_so_many_are_shown_as_were_asked_for(go: Go, shown: list[str]) -> None:
    assert go(["0"] * 12, most=5) == Labelled(graded=5, skipped=0, left=7)
    assert "\n1 of 5" in shown


def test_neither_the_judges_grade_nor_the_arm_is_shown(
    go: Go, folder: Folder, shown: list[str]
) -> None:
    for key in POOL:
        folder.add(judgements.judgement(TEXTS, key, 2, "the-judge"))

    go(["0"] * 12)

    text = "\n".join(shown)
    assert "the-judge" not in text
    assert not [line for line in shown if "q0" in line or "m0" in line]


def test_the_agreement_is_with_each_judge(go: Go, folder: Folder) -> None:
    for key in POOL[:6]:
        folder.add(judgements.judgement(TEXTS, key, 2, "one"))
    folder.add(judgements.judgement(TEXTS, POOL[0], 3, "two"))

    go(["2"] * 12)

    found = {item.judge: item for item in judgements.agreements(folder, TEXTS)}
    assert (found["one"].pairs, found["one"].same) == (6, 6)
    assert (found["two"].pairs, found["two"].same) == (1, 0)
