"""Files of agents are changed as text: what is ours comes and goes, all else stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.surfaces.hooks import json_edit

NAMES = st.text(max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
WAYS = st.fixed_dictionaries(
    {"indent": st.sampled_from([None, 0, 1, 2, 4, "\t"]), "ensure_ascii": st.booleans()}
)
OURS = {"command": "python", "args": ["a", "b"]}


def written(value: Any, way: dict[str, Any], newline: str) -> str:
    return json.dumps(value, **way).replace("\n", newline)


@given(value=OBJECTS, way=WAYS, newline=st.sampled_from(["\n", "\r\n"]))
def test_a_text_is_read_as_json_is(
    value: dict[str, Any], way: dict[str, Any], newline: str
) -> None:
    assert json_edit.parse(written(value, way, newline)).value == value


@given(value=OBJECTS, way=WAYS, newline=st.sampled_from(["\n", "\r\n"]))
def test_a_member_comes_and_goes_without_a_trace(
    value: dict[str, Any], way: dict[str, Any], newline: str
) -> None:
    servers = value.get("servers")
    if "servers" in value and not isinstance(servers, dict):
        del value["servers"]
    text = written(value, way, newline)

    more = json_edit.with_member(text, ("servers",), "bearinmind", OURS)
    less = json_edit.without(more, ("servers",), lambda part: part.name == "bearinmind")

    inside = {**value.get("servers", {}), "bearinmind": OURS}
    assert json.loads(more) == {**value, "servers": inside}
    del inside["bearinmind"]
    assert json.loads(less) == {**value, "servers": inside}


@given(
    items=st.lists(VALUES, max_size=4),
    way=WAYS,
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_an_item_comes_and_goes_without_a_trace(
    items: list[Any], way: dict[str, Any], newline: str
) -> None:
    text = written({"hooks": {"Stop": items}, "x": 1}, way, newline)

    more = json_edit.with_item(text, ("hooks", "Stop"), OURS)
    less = json_edit.without_part(more, ("hooks", "Stop"), len(items))

    assert json.loads(more) == {"hooks": {"Stop": [*items, OURS]}, "x": 1}
    assert json.loads(less) == {"hooks": {"Stop": items}, "x": 1}


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "a": 1, // one\n  /* two */ "b": [1, 2,],\n}\n',
        '\ufeff{\n    "a": {} // nothing\n}',
        '{\r\n\t"a": 1\r\n\t// the end\r\n}\r\n',
    ],
)
def test_comments_and_last_commas_stay(text: str) -> None:
    more = json_edit.with_member(text, (), "ours", OURS)
    less = json_edit.without(more, (), lambda part: part.name == "ours")

    assert json_edit.parse(more).value == {**json_edit.parse(text).value, "ours": OURS}
    assert less == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("{", 1),
        ('{\n"a" 1}', 2),
        ('{"a": 1,\n\n"b": tru}', 3),
        ('{"a": "\n"}', 1),
        ('{"a": 01}', 1),
        ("{} {}", 1),
        ("[" * 2_000, 1),
        ("{/* never closed", 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(json_edit.NotJson) as refused:
        json_edit.parse(text)

    assert refused.value.line == line
