"""What is given to the verbs of Python is checked as over HTTP: one own error for each misuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import InvalidRequest, InvalidTime, MindError
from bearinmind.learn.model import Message
from bearinmind.testing import FixedClock, TemporaryStore, counting_ids

Call = Callable[[Mind], Any]
ID = "000100000000"


@pytest.fixture
def mind(clock: FixedClock) -> Iterator[Mind]:
    settings = Settings.model_validate({"user": "ada", "embedder": "none"})
    with Mind(TemporaryStore(), settings, clock=clock, new_id=counting_ids()) as opened:
        opened.store("the walrus eats fish", tags=["zoo"])
        yield opened


STORE: list[dict[str, Any]] = [
    {"tags": "infra"},
    {"tags": 5},
    {"tags": [5]},
    {"tags": {"a": 1}},
    {"tags": b"infra"},
    {"keywords": "infra"},
    {"keywords": [None]},
    {"sensitive": "no"},
    {"sensitive": 1},
    {"importance": "high"},
    {"importance": [1]},
    {"importance": True},
    {"category": 5},
    {"category": ["facts"]},
    {"created_at": 5},
    {"created_at": "yesterday"},
    {"created_at": "2026-13-45"},
    {"valid_from": 1.5},
    {"valid_to": []},
    {"agent": 5},
    {"session": ["s"]},
    {"project": b"p"},
    {"source": 1},
    {"trust": 5},
    {"trust": ["user"]},
    {"trust": "nobody"},
    {"supersedes": ID},
    {"supersedes": 5},
    {"supersedes": [5]},
    {"wait": "yes"},
    {"idempotency_key": 5},
    {"tag": ["infra"]},
    {"importnace": 1},
]
RECALL: list[dict[str, Any]] = [
    {"limit": "5"},
    {"limit": 0},
    {"limit": 1.5},
    {"limit": True},
    {"limit": [1]},
    {"pool": "x"},
    {"pool": -1},
    {"tags": "zoo"},
    {"categories": "facts"},
    {"categories": 5},
    {"focus": "zoo"},
    {"expanded": "walrus"},
    {"expanded": [5]},
    {"states": "live"},
    {"states": ["nowhere"]},
    {"created_from": 5},
    {"created_to": "soon"},
    {"as_of": [1]},
    {"sort_by": 5},
    {"sort_by": "size"},
    {"group": 5},
    {"budget_bytes": "1k"},
    {"all": "yes"},
    {"session": 5},
    {"limits": 5},
]
OTHER: dict[str, Call] = {
    "store nothing": lambda mind: mind.store(),  # type: ignore[call-arg]
    "store none": lambda mind: mind.store(None),  # type: ignore[arg-type]
    "store bytes": lambda mind: mind.store(b"walrus"),  # type: ignore[arg-type]
    "store a list": lambda mind: mind.store(["walrus"]),  # type: ignore[arg-type]
    "recall none": lambda mind: mind.recall(None),  # type: ignore[arg-type]
    "recall a number": lambda mind: mind.recall(5),  # type: ignore[arg-type]
    "get none": lambda mind: mind.get(None),  # type: ignore[arg-type]
    "get a number": lambda mind: mind.get(5),  # type: ignore[arg-type]
    "get a memory": lambda mind: mind.get(mind.get(ID)),  # type: ignore[arg-type]
    "get two": lambda mind: mind.get(ID, ID),  # type: ignore[call-arg]
    "delete a list": lambda mind: mind.delete([ID]),  # type: ignore[arg-type]
    "delete another version": lambda mind: mind.delete(ID, expected_version="1"),  # type: ignore[arg-type]
    "restore a number": lambda mind: mind.restore(5),  # type: ignore[arg-type]
    "update a word": lambda mind: mind.update(ID, tags="infra"),
    "update a field": lambda mind: mind.update(ID, colour="red"),
    "update content": lambda mind: mind.update(ID, content=5),
    "update a time": lambda mind: mind.update(ID, valid_to="soon"),
    "update a flag": lambda mind: mind.update(ID, sensitive="no"),
    "update provenance": lambda mind: mind.update(ID, provenance={"agent": "x"}),
    "link a number": lambda mind: mind.link(5, "see-also", ID),  # type: ignore[arg-type]
    "link of a kind": lambda mind: mind.link(ID, 5, ID),  # type: ignore[arg-type]
    "resolve a number": lambda mind: mind.resolve(ID, 5),  # type: ignore[arg-type]
    "resolve others": lambda mind: mind.resolve(ID, "newer", 5),  # type: ignore[arg-type]
    "list by words": lambda mind: mind.list(limit="5"),  # type: ignore[arg-type]
    "list after": lambda mind: mind.list(after=5.5),  # type: ignore[arg-type]
    "list of": lambda mind: mind.list(owner=5),  # type: ignore[arg-type]
    "list order": lambda mind: mind.list(newest_first="no"),  # type: ignore[arg-type]
    "timeline of none": lambda mind: mind.timeline(None),  # type: ignore[arg-type]
    "timeline before": lambda mind: mind.timeline(ID, before="5"),  # type: ignore[arg-type]
    "share with nobody": lambda mind: mind.share(ID, None),  # type: ignore[arg-type]
    "share a right": lambda mind: mind.share(ID, "bob", 5),  # type: ignore[arg-type]
    "share a tag": lambda mind: mind.share_tag(5, "bob"),  # type: ignore[arg-type]
    "brief": lambda mind: mind.brief(limit="5"),  # type: ignore[arg-type]
    "learn texts": lambda mind: mind.learn(["remember this"]),  # type: ignore[list-item]
    "learn a message": lambda mind: mind.learn(Message(role="user", text="x").text),  # type: ignore[arg-type]
    "states of ids": lambda mind: mind.states([ID]),  # type: ignore[list-item]
    "purge ids": lambda mind: mind.purge([ID]),  # type: ignore[arg-type]
    "plan a purge of one": lambda mind: mind.plan_purge(ID),
    "history of none": lambda mind: mind.history(None),  # type: ignore[arg-type]
    "for nobody": lambda mind: mind.for_user(5),  # type: ignore[arg-type]
}


def _calls() -> Iterator[tuple[str, Call]]:
    for fields in STORE:
        yield f"store {fields}", partial(Mind.store, content="a new text", **fields)
    for fields in RECALL:
        yield f"recall {fields}", partial(Mind.recall, text="walrus", **fields)
    yield from OTHER.items()


CALLS = dict(_calls())


@pytest.mark.parametrize("name", CALLS)
def test_a_misuse_is_one_own_error_and_changes_nothing(mind: Mind, name: str) -> None:
    before = mind.get(ID)
    with pytest.raises(MindError) as caught:
        CALLS[name](mind)
    assert caught.value.message
    assert caught.value.hint
    assert mind.list() == [before]


def test_an_unknown_argument_is_named_with_the_one_that_was_meant(mind: Mind) -> None:
    with pytest.raises(InvalidRequest, match="importnace") as caught:
        mind.store("a new text", importnace=1)  # type: ignore[call-arg]
    assert caught.value.hint == "Did you mean 'importance'?"


def test_what_a_verb_takes_is_listed_whole(mind: Mind) -> None:
    with pytest.raises(InvalidRequest, match="'foo'") as caught:
        mind.store("a new text", foo=1)  # type: ignore[call-arg]
    assert {"content", "wait", "supersedes", "category"} <= {*_listed(caught.value)}
    with pytest.raises(InvalidRequest, match="around") as caught:
        mind.timeline()  # type: ignore[call-arg]
    assert {"around", "before", "owner"} <= {*_listed(caught.value)}
    assert "fields" not in _listed(caught.value)


def _listed(error: MindError) -> list[str]:
    return error.hint.removeprefix("It takes ").removesuffix(".").split(", ")


def test_times_may_be_texts_as_on_the_command_line(mind: Mind, clock: FixedClock) -> None:
    kept = mind.store("the seal sleeps", created_at="2020-01-02", valid_to="2099-01-01T10:00+01:00")
    assert kept.memory.created_at == datetime(2020, 1, 2, tzinfo=UTC)
    assert kept.memory.valid_to == datetime(2099, 1, 1, 9, tzinfo=UTC)
    clock.advance(days=2)
    assert mind.list(created_from="1d") == []
    assert mind.timeline("2020-01-02").moment == datetime(2020, 1, 2, tzinfo=UTC)
    assert mind.timeline("1d").moment == clock() - timedelta(days=1)
    with pytest.raises(InvalidTime, match="soon"):
        mind.list(created_from="soon")


def test_none_is_as_good_as_nothing(mind: Mind) -> None:
    fields: dict[str, Any] = dict.fromkeys(("category", "tags", "importance", "trust", "sensitive"))
    assert mind.store("the walrus sings", **fields).memory.category == "facts"
    nothing: dict[str, Any] = dict.fromkeys(("limit", "tags", "as_of", "all"))
    assert len(mind.recall("the walrus sings", **nothing).hits) == len(mind.list())
