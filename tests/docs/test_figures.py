"""Published figures: one condition has one figure on every page, and says which code it is of."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
    *sorted((ROOT / "docs" / "explanation").glob("*.md")),
]

#: The heading of a column of nDCG@10 on test queries, by set: of which condition its figures are.
COLUMNS = {
    **dict.fromkeys(("Bear in Mind", "nDCG@10 (95% interval)", "with"), "bearinmind"),
    **dict.fromkeys(("without", "without the graph"), "without the graph"),
    "words alone": "words alone",
    "meaning alone": "meaning alone",
    "both by RRF": "words and meaning by rrf",
    **dict.fromkeys(("earlier lexical path", "normalised, broadened below k"), "earlier"),
}
_REVISION = re.compile(r'"revision": ("[^"]*"|null)')
_CLEAN = re.compile(r'"[0-9a-f]{7,40}"')
_TABLE = re.compile(r"(?:^\|.*\|\n)+", re.MULTILINE)
_FIGURE = re.compile(r"\.\d{3}")


def stated(text: str) -> Iterator[tuple[str, str, str]]:
    """Every (set, condition, figure) that a page states in a table of sets."""
    for table in _TABLE.findall(text):
        head, _, *rows = [
            [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()
        ]
        if head[0] != "set" or "stratum" in head:
            continue
        for row in rows:
            for name, cell in zip(head, row, strict=True):
                figure = _FIGURE.search(cell)
                if name in COLUMNS and figure:
                    yield row[0], COLUMNS[name], figure[0]


def test_no_two_pages_state_different_figures_for_one_condition() -> None:
    seen: dict[tuple[str, str], dict[str, set[str]]] = {}
    for page in PAGES:
        for data, condition, figure in stated(page.read_text("utf-8")):
            seen.setdefault((data, condition), {}).setdefault(figure, set()).add(page.name)
    contradictions = {key: figures for key, figures in seen.items() if len(figures) > 1}
    assert contradictions == {}
    several = [key for key, figures in seen.items() if len({*figures.popitem()[1]}) > 1]
    assert ("agent-store", "bearinmind") in several, (
        "the pages do not overlap: nothing was compared"
    )


def test_two_pages_that_contradict_each_other_are_noticed() -> None:
    page = "| set | without | with |\n|---|---:|---:|\n| locomo-turns | .562 | {} |\n"
    first, second = ({*stated(page.format(figure))} for figure in (".566", "**.573** (.5 to .6)"))
    assert first ^ second == {
        ("locomo-turns", "bearinmind", ".566"),
        ("locomo-turns", "bearinmind", ".573"),
    }


@pytest.mark.parametrize("file", sorted(RESULTS.glob("*.json*")), ids=lambda file: file.name)
def test_results_name_the_revision_that_they_are_of(file: Path) -> None:
    content = file.read_bytes()
    text = json.dumps(json.loads(gzip.decompress(content) if file.suffix == ".gz" else content))
    revisions = _REVISION.findall(text)
    unclean = [each for each in revisions if not _CLEAN.fullmatch(each)]
    assert revisions, "no revision at all"
    assert unclean == []


def test_peers_stand_beside_the_product_as_shipped_at_one_revision() -> None:
    rows = json.loads((RESULTS / "peers.json").read_text("utf-8"))["conditions"]
    shipped = {row["condition"]["name"]: row for row in rows if not row["condition"]["against"]}

    assert len({row["result"]["manifest"]["revision"] for row in rows}) == 1
    for row in shipped.values():
        assert row["condition"]["retriever"] == "bearinmind"
        assert row["condition"]["settings"] == {}
    for row in rows:
        assert row["condition"]["against"] in {None, *shipped}
        assert row["differences"] == [], row["condition"]["name"]
