"""Every noun becomes JSON and is the same noun when it is read again."""

from __future__ import annotations

import collections.abc
import dataclasses
import json
import re
import subprocess
import sys
import types
import typing
import warnings
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind import changes, codec, concepts, errors, proposals, protocols, trace
from bearinmind import types as nouns
from bearinmind.accounts.keys import NewKey
from bearinmind.errors import InvalidJson, MindError
from bearinmind.learn.model import Learned
from bearinmind.recall.history import Timeline, Why

_TIMES = st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
_JSON = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _NUMBERS | st.text()
_ERRORS = [errors.MemoryNotFound, errors.InvalidTag, errors.Conflict]


def _nouns_of(module: types.ModuleType) -> list[type]:
    return [
        value
        for name, value in vars(module).items()
        if codec.is_noun(value) and not name.startswith("_") and _is_defined_in(value, module)
    ]


def _is_defined_in(value: type, module: types.ModuleType) -> bool:
    return value.__module__.startswith(module.__name__)


_NEVER_JSON = {protocols.LexicalMatch, protocols.Current}  # they hold functions
NOUNS = [
    noun
    for module in (nouns, trace, concepts, changes, proposals, protocols)
    for noun in _nouns_of(module)
    if noun not in _NEVER_JSON
]
NOUNS += [NewKey, Learned, Why, Timeline]
UNIONS = [nouns.Outcome, trace.Reason, protocols.SubjectState, changes.Verdict]


def _strategy(hint: Any) -> st.SearchStrategy[Any]:  # noqa: C901, PLR0911  one for each form
    """Values that a field may have."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if codec.is_noun(hint):
        return _noun(hint)
    if hint in {object, Any}:
        return _JSON
    if hint is datetime:
        return _TIMES
    if hint is float:
        return _NUMBERS
    if isinstance(hint, type) and issubclass(hint, MindError):
        return st.builds(
            lambda kind, *texts: kind(texts[0], hint=texts[1]),
            st.sampled_from(_ERRORS),
            *[st.text(min_size=1)] * 2,
        )
    if origin in {typing.Union, types.UnionType}:
        return st.one_of(*map(_strategy, arguments))
    if origin in {dict, collections.abc.Mapping}:
        return st.dictionaries(_strategy(arguments[0]), _strategy(arguments[1]), max_size=2)
    if origin is list:
        return st.lists(_strategy(arguments[0]), max_size=2)
    if origin in {tuple, collections.abc.Sequence} and (origin is not tuple or ... in arguments):
        return st.lists(_strategy(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(_strategy, arguments))
    if origin is frozenset:
        return st.frozensets(_strategy(arguments[0]), max_size=2)
    return st.from_type(hint)


def _noun(noun: type) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(noun)
    if dataclasses.is_dataclass(noun):
        sent = [each.name for each in dataclasses.fields(noun) if each.metadata != nouns.NEVER_SENT]
    else:
        sent = [*noun._fields]  # type: ignore[attr-defined]
    return st.builds(noun, **{name: _strategy(hints[name]) for name in sent})


def _told(value: Any) -> Any:
    """Errors are compared by what they say: two of them are never equal."""
    if isinstance(value, changes.Refused):
        return type(value.error), value.error.message, value.error.hint
    return value


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: f"{noun.__module__}.{noun.__name__}")
@given(data=st.data())
def test_a_noun_is_the_same_after_its_json(noun: type, data: st.DataObject) -> None:
    value = data.draw(_noun(noun))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        written = codec.to_json(value)
    assert isinstance(json.loads(written), dict)
    assert _told(codec.from_json(noun, written)) == _told(value)
    assert _told(codec.from_data(noun, json.loads(written))) == _told(value)
    assert codec.to_data(value) == json.loads(written)


@pytest.mark.parametrize("union", UNIONS, ids=str)
@given(data=st.data())
def test_a_member_of_a_union_says_which_it_is(union: Any, data: st.DataObject) -> None:
    value = data.draw(_strategy(union))
    written = codec.to_data(value, union)
    assert written["kind"] == codec.kind_of(type(value))
    read = codec.from_data(union, written)
    assert type(read) is type(value)
    assert _told(read) == _told(value)


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: noun.__name__)
def test_every_noun_has_a_schema(noun: type) -> None:
    schema = codec.schema(noun)
    shape = schema.get("properties") or schema["$defs"][schema["$ref"].rpartition("/")[2]]
    assert shape


MEMORY = nouns.Memory(
    id=nouns.MemoryId("k7f29qmxt4hd"),
    owner=nouns.UserId("ada"),
    content="Tea, no milk",
    category="facts",
    tags=("tea",),
    keywords=(),
    importance=0.5,
    sensitive=False,
    created_at=datetime(2026, 11, 15, 9, 30, tzinfo=UTC),
    updated_at=datetime(2026, 11, 15, 9, 30, tzinfo=UTC),
    deleted_at=None,
    valid_from=None,
    valid_to=None,
    provenance=nouns.Provenance(agent="claude"),
    version=1,
)


def test_the_shape_of_a_memory() -> None:
    assert codec.to_data(MEMORY) == {
        "id": "k7f29qmxt4hd",
        "owner": "ada",
        "content": "Tea, no milk",
        "category": "facts",
        "tags": ["tea"],
        "keywords": [],
        "importance": 0.5,
        "sensitive": False,
        "created_at": "2026-11-15T09:30:00Z",
        "updated_at": "2026-11-15T09:30:00Z",
        "deleted_at": None,
        "valid_from": None,
        "valid_to": None,
        "provenance": {
            "agent": "claude",
            "session": None,
            "project": None,
            "source": None,
            "trust": "agent",
        },
        "version": 1,
    }


def test_a_hit_says_how_sure_it_is_and_placings_are_objects() -> None:
    placing = nouns.Placing(rank=1, score=3.5, confidence=0.8)
    placings = {"lexical": placing}
    hit = nouns.Hit(
        memory=MEMORY, rank=1, score=1.0, placings=placings, factors={}, probability=0.72
    )
    written = codec.to_data(hit)
    assert written["probability"] == 0.72
    assert written["placings"] == {
        "lexical": {"rank": 1, "score": 3.5, "confidence": 0.8, "evidence": 0.0}
    }


def test_a_reason_is_told_apart_and_has_its_words() -> None:
    dropped = trace.Dropped(MEMORY.id, trace.BelowLimit(limit=10))
    assert codec.to_data(dropped)["reason"] == {
        "kind": "below_limit",
        "limit": 10,
        "text": "below the limit of 10",
    }


def test_what_is_made_on_demand_is_written_whole() -> None:
    made = trace.OnDemand(lambda: [trace.Dropped(MEMORY.id, trace.Gone())])
    recorded = trace.Trace(
        legs=(), fusion="", adjustments="", selection="", fused=(), judged=(), dropped=made,
        milliseconds={},
    )  # fmt: skip
    [written] = codec.to_data(recorded)["dropped"]
    assert written["reason"]["kind"] == "gone"
    assert codec.from_data(trace.Trace, codec.to_data(recorded)) == recorded


def test_what_makes_a_key_is_neither_written_nor_read() -> None:
    key = nouns.Key(
        id="k1", user=nouns.UserId("ada"), access=nouns.Access.READ, hash=b"secret",
        created_at=MEMORY.created_at,
    )  # fmt: skip
    written = codec.to_data(key)
    assert "hash" not in written
    read = codec.from_data(nouns.Key, written | {"hash": "c2VjcmV0"})
    assert read == dataclasses.replace(key, hash=b"")


def test_sets_are_sorted() -> None:
    wanted = nouns.Filter(
        scope=nouns.Scope(user=nouns.UserId("ada")),
        now=MEMORY.created_at,
        tags=frozenset({"b", "c", "a"}),
        states=frozenset({nouns.State.LIVE, nouns.State.DELETED}),
    )
    written = codec.to_data(wanted)
    assert (written["tags"], written["states"]) == (["a", "b", "c"], ["deleted", "live"])


def test_what_a_newer_release_adds_is_ignored() -> None:
    assert codec.from_data(nouns.Memory, codec.to_data(MEMORY) | {"mood": "good"}) == MEMORY


def test_a_time_in_another_zone_is_the_same_moment_in_utc() -> None:
    there = MEMORY.created_at.astimezone(timezone(timedelta(hours=2)))
    read = codec.from_data(nouns.Memory, codec.to_data(MEMORY) | {"created_at": there.isoformat()})
    assert read == MEMORY
    assert read.created_at.tzinfo is UTC


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"])
def test_a_time_that_is_none_in_utc_is_refused(text: str) -> None:
    with pytest.raises(InvalidJson, match=f"years 1 to 9999: .*{re.escape(text)}"):
        codec.from_data(datetime, text)
    with pytest.raises(InvalidJson, match=r"created_at: .*years 1 to 9999"):
        codec.from_data(nouns.Memory, codec.to_data(MEMORY) | {"created_at": text})


class Packed(typing.NamedTuple):
    """A named tuple with bytes in it."""

    content: bytes
    version: int = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Parcel:
    """A noun that holds bytes in every way."""

    label: bytes
    packed: Packed
    more: tuple[Packed, ...] = ()


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (Packed(b"\xff\x00"), Packed),
        (Parcel(b"\xfe", Packed(b"\xff"), (Packed(b"\x00"),)), Parcel),
        ((Packed(b"\xff"),), tuple[Packed, ...]),
        (Packed(b"\xff"), Packed | Parcel),
        (b"\xff", bytes),
    ],
)
def test_bytes_are_base64_wherever_they_are(value: object, hint: Any) -> None:
    written = codec.to_json(value, hint)
    assert b"=" in written
    assert json.loads(written) == codec.to_data(value, hint)
    assert codec.from_json(hint, written) == value
    assert codec.from_data(hint, codec.to_data(value, hint)) == value


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("importance", "much", r"importance: it must be a number, not 'much'"),
        ("created_at", "2026-11-15T09:30:00", r"created_at: it must be a time with its zone"),
        ("provenance", {"trust": "some"}, r"provenance\.trust: it must be 'user'.*, not 'some'"),
        ("content", None, r"content: it must be a text, not None"),
    ],
)
def test_what_cannot_be_read_is_named(field: str, value: object, words: str) -> None:
    with pytest.raises(InvalidJson, match=f"this is not a Memory: {words}"):
        codec.from_data(nouns.Memory, codec.to_data(MEMORY) | {field: value})


def test_what_is_missing_or_no_json_is_named() -> None:
    with pytest.raises(InvalidJson, match="source: it is missing"):
        codec.from_data(nouns.Link, {})
    with pytest.raises(InvalidJson, match="invalid JSON"):
        codec.from_json(nouns.Link, b"{")
    with pytest.raises(InvalidJson, match="this is not a value: "):
        codec.from_data(nouns.Outcome, {"kind": "lost", "memory": codec.to_data(MEMORY)})


def test_an_error_of_an_unknown_code_is_an_error() -> None:
    read = codec.from_data(changes.Refused, {"error": {"code": "new", "message": "m", "hint": "h"}})
    assert type(read.error) is MindError
    assert (read.error.message, read.error.hint) == ("m", "h")


def test_a_union_whose_member_has_a_kind_already_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="kind"):
        codec.schema(nouns.Link | nouns.Memory)


def test_what_reads_and_writes_a_noun_is_made_on_first_use() -> None:
    script = "from bearinmind import codec, app; print(codec.adapter.cache_info().currsize)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "0"


class Mood(StrEnum):
    """A vocabulary for a noun of this test."""

    GOOD = "good"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Composite:
    """A noun of a surface that holds others."""

    mood: Mood
    pages: tuple[nouns.Memory, ...]
    outcome: nouns.Outcome | None


def test_a_noun_of_a_surface_may_hold_others() -> None:
    value = Composite(mood=Mood.GOOD, pages=(MEMORY,), outcome=nouns.Stored(memory=MEMORY))
    assert codec.from_json(Composite, codec.to_json(value)) == value
