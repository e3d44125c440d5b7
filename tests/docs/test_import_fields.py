"""The how-to of imports says what becomes of every field of every format."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bearinmind.surfaces.foreign import FORMATS
from support.foreign_files import (
    COLUMNS,
    FOREIGN,
    chatgpt_export,
    claude_export,
    drawers,
    extracted,
    rows,
    unpacked,
)

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "bring-your-memories.md"


def named_fields(heading: str) -> set[str]:
    """The fields that the how-to names in the table of a format."""
    section = PAGE.read_text().split(f"### {heading}\n", 1)[1].split("\n#", 1)[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    return {*re.findall(r"\w+", " ".join(cells))}


def test_every_format_is_in_the_how_to() -> None:
    text = PAGE.read_text()

    assert all(f"| {each.title} | `{each.name}` |" in text for each in FORMATS)


@pytest.mark.parametrize(
    ("name", "file", "tables"),
    [
        ("mem0", "mem0-history.db", ["history"]),
        ("mcp-memory-service", "mcp-memory-service.db", ["memories", "memory_graph", "beliefs"]),
        ("claude-mem", "claude-mem.db", ["observations", "session_summaries", "user_prompts"]),
    ],
)
def test_every_column_of_a_program_is_in_the_table_of_fields(
    tmp_path: Path, name: str, file: str, tables: list[str]
) -> None:
    with closing(sqlite3.connect(unpacked(tmp_path, file))) as database:
        columns = {
            row[1]
            for table in tables
            for row in database.execute(f"SELECT * FROM pragma_table_info('{table}')")
        }

    assert not columns - named_fields(name)


def test_every_field_of_a_palace_is_in_the_table_of_fields(tmp_path: Path) -> None:
    folder = extracted(tmp_path, "mempalace") / ".mempalace"
    graph = folder / "knowledge_graph.sqlite3"
    source = drawers(folder / "palace" / "chroma.sqlite3").values()
    fields = {part for each in source for name in each for part in name.split(":")}
    fields |= {*rows(graph, "entities")[0], *rows(graph, "triples")[0]}

    assert not fields - named_fields("MemPalace")


def test_every_field_of_an_export_is_in_the_table_of_fields() -> None:
    source = json.loads(gzip.decompress((FOREIGN / "mem0.json.gz").read_bytes()))["results"]

    assert not {name for item in source for name in item} - named_fields("mem0")


def names_in(value: object) -> set[str]:
    """The names of all fields of some JSON, at any depth; not those that are ids of nodes."""
    if isinstance(value, list):
        return {name for each in value for name in names_in(each)}
    if not isinstance(value, dict):
        return set()
    nodes = value.get("mapping")
    inside = [*nodes.values()] if isinstance(nodes, dict) else []
    return {*value} | names_in([each for name, each in value.items() if name != "mapping"] + inside)


@pytest.mark.parametrize(
    ("heading", "source"),
    [
        ("Claude", claude_export(["hello"])),
        ("ChatGPT", chatgpt_export(["hello"])),
        ("CSV", [dict.fromkeys(COLUMNS[:-1])]),
        (
            "The MCP reference memory server",
            [*map(json.loads, (FOREIGN / "knowledge-graph.jsonl").read_text().splitlines())],
        ),
    ],
    ids=["claude", "chatgpt", "csv", "mcp-memory"],
)
def test_every_field_of_a_text_format_is_in_the_table_of_fields(
    heading: str, source: list[object]
) -> None:
    assert not names_in(source) - named_fields(heading)
