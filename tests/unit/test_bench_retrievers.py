"""Retrievers that are not the product: whatever class somebody brings along."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bearinmind import errors
from bearinmind_bench.evaluation import Record, load
from bearinmind_bench.results import Result
from bearinmind_bench.retrievers import Bare, Foreign
from bearinmind_bench.retrievers import load as load_retriever
from bearinmind_bench.runner import Plan, run
from support.bench_sets import Row, measure, small_set, write_set


class Backwards:
    """Gives the newest memories, whatever is asked."""

    made: list[str]

    def __init__(self, corpus: Sequence[Record]) -> None:
        self.ids = [record["id"] for record in corpus][::-1]

    def retrieve(self, query: str, k: int) -> Any:
        assert query
        return self.ids[:k]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_set(tmp_path_factory.mktemp("set"), 30)


def answered(folder: Path, make: Any, place: int = 0) -> Any:
    """What the runner takes from a retriever's answer to one query."""
    data = load(folder)
    return Foreign.build("mine", make, data, lambda _: None).ask(data.queries[place])


def returning(value: Any) -> type[Backwards]:
    """A retriever that always gives this back."""

    class Returning(Backwards):
        def retrieve(self, query: str, k: int) -> Any:
            assert query
            assert k
            return value

    return Returning


@pytest.mark.parametrize(
    ("given", "ranked", "confidence"),
    [
        (["a", "b"], ("a", "b"), None),
        (("a", "b"), ("a", "b"), None),
        ([1, 2], ("1", "2"), None),
        ([("a", 0.5), ("b", 0.25)], ("a", "b"), 0.5),
        ([["a", 2]], ("a",), 2.0),
        ([(7, 0.5)], ("7",), 0.5),
        ([("a", np.float32(0.5)), ("b", np.float64(0.25))], ("a", "b"), 0.5),
        (np.array([4, 2]), ("4", "2"), None),
        ([], (), 0.0),
        ({"a": 1, "b": 2}, ("a", "b"), None),
        (["a", "b", "a"], ("a", "b"), None),
        ([("a", 3.0), ("b", 2.0), ("a", 1.0)], ("a", "b"), 3.0),
        ([("a", 3.0), "b"], ("a", "b"), None),
        ([f"m{n}" for n in range(50)], tuple(f"m{n}" for n in range(20)), None),
    ],
    ids=str,
)
def test_ids_are_taken_with_and_without_scores(
    folder: Path, given: Any, ranked: tuple[str, ...], confidence: float | None
) -> None:
    answer = answered(folder, returning(given))
    assert answer.ranked == ranked
    assert answer.confidence == confidence
    assert answer.legs == {"mine": {id_: place for place, id_ in enumerate(ranked, start=1)}}


@pytest.mark.parametrize(
    "given",
    [
        None,
        5,
        "m1",
        [None],
        [1.5],
        [("a", "high")],
        [("a", 1, 2)],
        [{"id": "a"}],
        [("a", float("nan"))],
        [("a", float("inf"))],
    ],
    ids=repr,
)
def test_another_answer_is_refused_and_shown(folder: Path, given: Any) -> None:
    with pytest.raises(errors.InvalidRetriever, match="mine gave back") as raised:
        answered(folder, returning(given))
    assert "pairs of id and score" in raised.value.hint


def test_each_user_has_a_retriever_of_their_own(tmp_path: Path) -> None:
    seen: list[tuple[str, list[str]]] = []

    class Personal(Backwards):
        def __init__(self, corpus: Sequence[Record], user: str) -> None:
            super().__init__(corpus)
            seen.append((user, self.ids))

    corpus: list[Row] = [
        {"id": number, "content": f"x{number}", "user_id": "ab"[number % 2]} for number in range(4)
    ]
    queries: list[Row] = [
        {"query_id": user, "text": "x", "user_id": user, "relevant_ids": [0]} for user in "abc"
    ]
    data = load(write_set(tmp_path, corpus=corpus, queries=queries))
    foreign = Foreign.build("mine", Personal, data, lambda _: None)
    assert seen == [("a", ["2", "0"]), ("b", ["3", "1"])]
    assert [foreign.ask(query).ranked for query in data.queries] == [("2", "0"), ("3", "1"), ()]


# ---- through a run -----------------------------------------------------------------------------


MODULE = """
class Backwards:
    closed = 0

    def __init__(self, corpus):
        assert all(isinstance(record["id"], str) for record in corpus)
        self.ids = [record["id"] for record in corpus][::-1]

    def retrieve(self, query, k):
        return self.ids[:k]

    def facts(self):
        return {"models": ["none-at-all"], "store_bytes": 12, "notes": "newest first"}

    def close(self):
        type(self).closed += 1


class Strange(Backwards):
    def retrieve(self, query, k):
        return ["nobody", *self.ids[: k - 1]]


class Failing(Backwards):
    def retrieve(self, query, k):
        raise ZeroDivisionError("inside")


no_class = 5


class NoMethod:
    pass
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current folder."""
    name = f"brought_along_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # and taken away again afterwards
    return name


def run_with(folder: Path, retriever: str, **plan: Any) -> Result:
    return measure(folder, retriever=retriever, **plan)


def test_a_class_of_the_current_folder_is_measured(folder: Path, module: str) -> None:
    result = run_with(folder, f"{module}:Backwards")
    assert result.manifest.retriever == result.manifest.store == f"{module}:Backwards"
    assert result.manifest.models == ("none-at-all",)
    assert result.manifest.recipe["notes"] == "newest first"
    assert result.sizes.store_bytes == 12
    assert {row.ranked for row in result.rows} == {
        tuple(record["id"] for record in load(folder).corpus[::-1][:20])
    }
    assert result.faults == ()
    assert [*result.legs] == [f"{module}:Backwards"]
    assert not [text for text in result.warnings if "ids that" in text]


def test_a_retriever_is_closed_even_when_it_fails(folder: Path, module: str) -> None:
    with pytest.raises(errors.InvalidRetriever, match="failed on query 'q0': ZeroDivisionError"):
        run_with(folder, f"{module}:Failing")
    assert __import__(module).Failing.closed == 1


def test_ids_that_the_corpus_does_not_hold_are_warned_about(folder: Path, module: str) -> None:
    result = run_with(folder, f"{module}:Strange")
    assert "30 answers hold ids that the user's corpus does not" in result.warnings


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no-such-baseline", "neither a baseline nor module:Class"),
        ("no_such_module_here:Class", "the module 'no_such_module_here' cannot be imported"),
        ("{}:Missing", "has no class 'Missing'"),
        ("{}:no_class", "has a int, not a class, 'no_class'"),
        ("{}:NoMethod", "has no method `retrieve(query, k)`"),
        (":Class", "neither a baseline nor module:Class"),
        ("{}:", "neither a baseline nor module:Class"),
    ],
)
def test_what_is_no_retriever_is_refused(folder: Path, module: str, name: str, told: str) -> None:
    with pytest.raises(errors.InvalidRetriever) as raised:
        run_with(folder, name.format(module))
    assert told in raised.value.message


def test_settings_are_the_products(folder: Path, module: str) -> None:
    with pytest.raises(errors.InvalidSetting, match="settings are the product's"):
        run_with(folder, f"{module}:Backwards", settings={"pool": 100})
    with pytest.raises(errors.InvalidSetting, match="stores are the product's"):
        run_with(folder, f"{module}:Backwards", store="postgres")


def test_a_retriever_answers_the_queries_of_its_split_and_tells_how_far_it_is(
    folder: Path, module: str
) -> None:
    done: list[int] = []
    plan = Plan(data=load(folder), split="test", retriever=f"{module}:Backwards")
    result = run(plan, done.append)
    assert result.overall["queries"] == 15
    assert sum(done) == plan.steps


def test_a_bare_function_is_a_retriever(folder: Path) -> None:
    def newest(corpus: Sequence[Record], query: str, k: int) -> list[str]:
        assert query
        return [record["id"] for record in corpus][::-1][:k]

    plain = answered(folder, Backwards)
    assert answered(folder, partial(Bare, newest)).ranked == plain.ranked


def test_a_bare_function_is_loaded_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "walrus_finder.py").write_text(
        "def find(corpus, query, k):\n    return [each['id'] for each in corpus][:k]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    make = load_retriever("walrus_finder:find")
    assert [*make([{"id": "a"}, {"id": "b"}]).retrieve("?", 1)] == ["a"]
