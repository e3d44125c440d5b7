"""What adapters have in common, without any framework: texts under paths, kept as memories."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bearinmind import Mind
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind_adapters.anthropic_memory import MemoryTool, MemoryToolError
from bearinmind_adapters.documents import Documents

TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n\t\r\x00é\u0301"), max_size=900
)
NAMES = st.text(min_size=1, max_size=8)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.lists(NAMES, min_size=1, max_size=3), TEXTS), max_size=4))
def test_any_text_comes_back_as_it_was_put(puts: list[tuple[list[str], str]]) -> None:
    with Mind(TemporaryStore(), clock=FixedClock()) as mind:
        documents = Documents(mind, "test", content_limit=400)
        expected: dict[tuple[str, ...], str] = {}
        for path, text in puts:
            documents.put(tuple(path), text)
            expected[tuple(path)] = text

        for place, text in expected.items():
            document = documents.get(place)
            assert document is not None
            assert document.text == text
        assert {each.path: each.text for each in documents.below()} == expected


def test_a_text_keeps_its_versions_when_it_is_changed_and_moved(memory: Mind) -> None:
    documents = Documents(memory, "test")
    first = documents.put(("a", "one"), "The port is 5432.")
    documents.put(("a", "one"), "The port is 5433.")
    document = documents.get(("a", "one"))
    assert document is not None

    moved = documents.move(document, ("b", "two"))

    assert moved.parts[0].id == first.parts[0].id
    said = [version.content.splitlines() for version in memory.versions(first.parts[0].id)]
    assert [(lines[0], lines[1]) for lines in said] == [
        ("[0] a/one", "The port is 5432."),
        ("[0] a/one", "The port is 5433."),
        ("[0] b/two", "The port is 5433."),
    ]
    assert documents.below(("a",)) == []
    [(document, _)] = documents.search(("b",), "port", limit=5)
    assert document == moved


@pytest.mark.parametrize(
    "file",
    [
        "/etc/passwd",
        "/memories/../etc/passwd",
        "/memories/a/../../b",
        "/memories/..\\b",
        "/memories/%2e%2e/b",
        "/memories/%2E%2E%2fb",
        "/memoriesX/a",
        "memories/a",
        "",
    ],
    ids=range(9),
)
@pytest.mark.parametrize("command", ["view", "create", "delete", "str_replace", "insert", "rename"])
def test_a_file_outside_of_the_folder_is_refused(memory: Mind, command: str, file: str) -> None:
    fields: dict[str, dict[str, object]] = {
        "create": {"file_text": "x"},
        "str_replace": {"old_str": "a", "new_str": "b"},
        "insert": {"insert_line": 0, "insert_text": "x"},
        "rename": {"old_path": "/memories/a", "new_path": file},
    }
    given_: dict[str, object] = {"path": file, **fields.get(command, {})}
    if command == "rename":
        del given_["path"]

    with pytest.raises(MemoryToolError, match=r"must start with /memories|would escape"):
        MemoryTool(memory)({"command": command, **given_})


def test_a_command_that_is_none_is_refused(memory: Mind) -> None:
    tool = MemoryTool(memory)

    with pytest.raises(MemoryToolError, match="Unknown command: format"):
        tool({"command": "format"})
    with pytest.raises(MemoryToolError, match="does not take"):
        tool({"command": "view", "path": "/memories", "depth": 3})
