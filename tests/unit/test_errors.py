from __future__ import annotations

import inspect
import re

import pytest

from bearinmind import errors
from bearinmind.errors import MindError, conflicts, failures
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


@pytest.mark.parametrize("kind", LEAVES)
def test_every_error_that_is_raised_has_a_next_step(kind: type[MindError]) -> None:
    if kind.__name__ in HINTED_WHERE_RAISED:
        assert kind("x", hint="Do this.").hint == "Do this."
    else:
        assert kind().hint.endswith(".")


def test_a_hint_given_where_it_is_raised_wins() -> None:
    assert errors.StoreBusy("x", hint="Wait.").hint == "Wait."
    assert errors.StoreBusy("x").hint == errors.StoreBusy.hint
