"""The page of the benchmark in a real browser: it works, it is readable, and it keeps to itself."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from bearinmind_bench.compare import Comparison, compare
from bearinmind_bench.report.page import render
from bearinmind_bench.results import QueryRow, Result
from support.bench_runs import made_comparison, made_result, made_rows
from support.bench_sets import measure, small_set
from support.browser import FAINT, Browser
from support.recording_server import witnessing

STRATA = (
    "single fact",
    "multi-hop",
    "temporal",
    "a stratum with quite a long name that does not fit",
    "knowledge update",
    *(f"stratum {number}" for number in range(7)),
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of real and of made-up runs."""
    folder = tmp_path_factory.mktemp("pages")
    data = small_set(folder / "set")
    legs = {"embedder": "hash"}  # both, without the wait for a model
    before = measure(data, settings=legs)
    after = measure(data, settings=legs | {"importance_weight": 1.0})
    _write(folder / "real.html", [before, after], [compare(before, after)])
    for count in (1, 6):
        runs = [
            made_result(
                made_rows(400, 1 + number / 10, STRATA, unanswerable=40),
                {"settings": {"pool": number}},
                warnings=("mind the gap",),
            )
            for number in range(count)
        ]
        _write(folder / f"{count}.html", runs, [made_comparison(runs[0], run) for run in runs[1:]])
    return folder


def _write(path: Path, results: list[Result], comparisons: list[Comparison]) -> None:
    path.write_text(render(results, comparisons), encoding="utf-8")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["real", "1", "6"])
def test_it_opens_without_a_complaint_and_asks_the_network_for_nothing(
    tab: Browser, pages: Path, name: str, theme: str
) -> None:
    page = pages / f"{name}.html"
    tab.prefer(theme)
    tab.open(page)
    assert tab.run("return document.querySelectorAll('section').length") >= 6
    assert tab.console() == []
    assert tab.requests() == [page.as_uri()]


@pytest.fixture
def witness() -> Iterator[tuple[str, list[str]]]:
    """A server that nobody should ask, and what it was asked."""
    with witnessing() as found:
        yield found


def _evil(row: QueryRow, text: str) -> QueryRow:
    return row.model_copy(
        update={"query_id": f"{text}{row.query_id}", "stratum": f"{text}{row.stratum}"}
    )


def test_ids_that_are_markup_do_not_run_and_reach_nobody(
    tab: Browser, tmp_path: Path, witness: tuple[str, list[str]]
) -> None:
    address, asked = witness
    evil = (
        f"</title></style></script><script>window.ran = 1; fetch('{address}/script')</script>"
        f"<img src='{address}/image' onerror='window.ran = 2'><style>@import '{address}/style';"
        f"</style><svg onload='window.ran = 3'><iframe src='{address}/frame'></iframe>\" onclick='"
    )
    rows = [[_evil(row, evil) for row in made_rows(40, skill)] for skill in (1.0, 2.0)]
    manifest = {"data": evil, "retriever": evil, "settings": {evil: evil}}
    results = [made_result(each, manifest, warnings=(evil,)) for each in rows]
    page = tmp_path / "evil.html"
    _write(page, results, [made_comparison(*results)])
    tab.open(page)
    assert tab.run("return window.ran") is None
    assert tab.run("return document.querySelectorAll('img, iframe, script').length") == 1
    assert tab.run("return document.querySelector('#query-table th bdi').textContent")
    assert tab.run("return document.title").startswith("</title>")
    assert tab.console() == []
    assert asked == []


_SHOWN_PANEL = """
return [...document.querySelectorAll('#strata .panel')].map(
  (panel) => panel.getClientRects().length > 0).indexOf(true)
"""


def test_a_metric_is_chosen_with_the_keyboard_alone(tab: Browser, pages: Path) -> None:
    tab.open(pages / "6.html")
    assert tab.run(_SHOWN_PANEL) == 0
    for _ in range(60):
        tab.press("tab")
        if tab.run("return document.activeElement.name") == "strata-metric":
            break
    tab.press("right")
    assert tab.run(_SHOWN_PANEL) == 1
    assert (
        tab.run("return getComputedStyle(document.activeElement.nextElementSibling).outlineStyle")
        == "solid"
    )


_ROWS = """
return [...document.querySelectorAll('#query-table tbody tr')].filter((row) => !row.hidden)
  .map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent))
"""


def test_queries_can_be_filtered_and_sorted(tab: Browser, pages: Path) -> None:
    tab.open(pages / "1.html")
    tab.run("document.querySelector('#queries details').open = true")
    everything = tab.run(_ROWS)
    assert len(everything) == 400
    tab.run("document.getElementById('query-filter').focus()")
    tab.press(*"TEMPORAL")
    shown = tab.run(_ROWS)
    assert shown == [row for row in everything if row[1] == "temporal"]
    count = tab.run("return document.getElementById('query-count').textContent")
    assert count == f"{len(shown)} of 400"
    tab.run("document.querySelectorAll('#query-table thead button')[2].focus()")
    tab.press("enter")
    assert [row[2] for row in tab.run(_ROWS)] == sorted(row[2] for row in shown)
    tab.press("enter")
    assert [row[2] for row in tab.run(_ROWS)] == sorted((row[2] for row in shown), reverse=True)


_OVERLAPS = """
const found = [];
for (const svg of document.querySelectorAll('svg')) {
  const boxes = [...svg.querySelectorAll('text')]
    .map((text) => [text, text.getBoundingClientRect()]).filter(([, box]) => box.width > 0);
  const frame = svg.getBoundingClientRect();
  for (const [text, box] of boxes) {
    if (box.left < frame.left - 1 || box.right > frame.right + 1) found.push(text.textContent);
  }
  boxes.forEach(([text, box], place) => {
    for (const [other, area] of boxes.slice(place + 1)) {
      const apart = box.right <= area.left + 1 || area.right <= box.left + 1
        || box.bottom <= area.top + 3 || area.bottom <= box.top + 3;
      if (!apart) found.push(`${text.textContent} / ${other.textContent}`);
    }
  });
}
return found;
"""


@pytest.mark.parametrize("name", ["real", "1", "6"])
def test_no_label_of_a_chart_is_cut_off_or_covers_another(
    tab: Browser, pages: Path, name: str
) -> None:
    tab.resize(1200)
    tab.open(pages / f"{name}.html")
    tab.run(
        "for (const panel of document.querySelectorAll('.panel')) panel.style.display = 'block'"
    )
    assert tab.run("return document.querySelectorAll('svg text').length") > 50
    assert tab.run(_OVERLAPS) == []


@pytest.mark.parametrize("width", [360, 800, 1400])
def test_the_page_fits_every_screen(tab: Browser, pages: Path, width: int) -> None:
    tab.resize(width)
    tab.open(pages / "6.html")
    assert tab.run("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_word_has_enough_contrast(tab: Browser, pages: Path, theme: str) -> None:
    tab.prefer(theme)
    tab.open(pages / "6.html")
    tab.run("for (const part of document.querySelectorAll('details')) part.open = true")
    assert tab.run("return matchMedia('(prefers-color-scheme: dark)').matches") == (theme == "dark")
    assert tab.run(FAINT) == []


def test_it_can_be_printed(tab: Browser, pages: Path) -> None:
    tab.open(pages / "1.html")
    assert base64.b64decode(tab.printed()).startswith(b"%PDF")
