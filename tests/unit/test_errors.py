from __future__ import annotations

import inspect
import re
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bearinmind import errors
from bearinmind.errors import MindError, conflicts, failures, flaws
from bearinmind.errors import input as input_errors

EVERY = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, MindError)
]
LEAVES = [kind for kind in EVERY if not kind.__subclasses__()]
#: Whose hint depends on the value and is given where they are raised.
HINTED_WHERE_RAISED = {
    "UnknownCategory",
    "InvalidTag",
    "InvalidKeyword",
    "InvalidProvenance",
    "InvalidQuery",
    "InvalidLink",
    "InvalidRecord",
}


def test_every_error_of_its_modules_is_exported() -> None:
    modules = (conflicts, failures, input_errors)
    defined = {
        name
        for module in modules
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, MindError)
    }
    assert {*errors.__all__} == defined


@pytest.mark.parametrize("kind", EVERY)
def test_every_error_says_what_it_is(kind: type[MindError]) -> None:
    assert kind.__doc__
    assert kind().message == kind.__doc__.strip()
    assert str(kind("the value 7")) == kind("the value 7").message == "the value 7"


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in EVERY]
    assert len({*codes}) == len(codes)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes)
    assert errors.StoreTooNew.code == "store_too_new"


class _Given(BaseModel):
    model_config = ConfigDict(extra="forbid")

    count: int = Field(5, ge=1, le=1_000)
    share: float = Field(0.5, gt=0, allow_inf_nan=False)
    flag: bool = False
    word: str = Field("a", min_length=1, max_length=3)
    kind: Literal["one", "two"] = "one"
    names: list[str] = Field(["a"], min_length=1, max_length=2)
    table: dict[str, int] = {}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("count", 0, "it must be 1 or more, not 0"),
        ("count", "1001", "it must be 1,000 or less, not 1001"),
        ("count", "many", "it must be a whole number, not 'many'"),
        ("count", 1.5, "it must be a whole number, not 1.5"),
        ("share", 0, "it must be above 0, not 0"),
        ("share", "x", "it must be a number, not 'x'"),
        ("flag", "maybe", "it must be true or false, not 'maybe'"),
        ("word", "", "it must not be empty"),
        ("word", "long", "it must have 3 characters or less, not 'long'"),
        ("word", 7, "it must be a text, not 7"),
        ("kind", "three", "it must be 'one' or 'two', not 'three'"),
        ("names", [], "it must not be empty"),
        ("names", ["a", "b", "c"], "it must have 2 entries or less, not ['a', 'b', 'c']"),
        ("names", "a", "it must be a list, not 'a'"),
        ("table", 3, "it must be a table of names and values, not 3"),
        ("other", 3, "there is no such field"),
        ("count", "x" * 100, f"it must be a whole number, not '{'x' * 59}…"),
    ],
)
def test_a_flaw_is_said_in_plain_words_with_the_value(name: str, value: object, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        _Given.model_validate({name: value})
    [flaw] = caught.value.errors()
    assert flaws.wrong(flaw, flaws.shortened(value)) == said


def test_where_a_value_may_be_secret_only_numbers_are_repeated() -> None:
    assert [*map(flaws.number_alone, (0, 1.5, "-3", True, None))] == [
        "0",
        "1.5",
        "-3",
        "True",
        "None",
    ]
    assert [*map(flaws.number_alone, ("hunter2", ["a"], "1" * 30))] == ["", "", ""]


@pytest.mark.parametrize("kind", LEAVES)
def test_every_error_that_is_raised_has_a_next_step(kind: type[MindError]) -> None:
    if kind.__name__ in HINTED_WHERE_RAISED:
        assert kind("x", hint="Do this.").hint == "Do this."
    else:
        assert kind().hint.endswith(".")


def test_a_hint_given_where_it_is_raised_wins() -> None:
    assert errors.StoreBusy("x", hint="Wait.").hint == "Wait."
    assert errors.StoreBusy("x").hint == errors.StoreBusy.hint
