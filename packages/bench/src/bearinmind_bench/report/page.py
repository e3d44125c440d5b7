"""One self-contained HTML page about one or more runs."""

from __future__ import annotations

from collections.abc import Sequence

from bearinmind.errors import InvalidData
from bearinmind_bench.compare import Comparison
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.report.abstention import abstention_section
from bearinmind_bench.report.charts import (
    Child,
    Element,
    asset,
    document,
    policy,
    section,
    table,
    tag,
)
from bearinmind_bench.report.differences import differences_section
from bearinmind_bench.report.formats import NONE, count, metric_name, shorten, value
from bearinmind_bench.report.legs import legs_section, speed_section
from bearinmind_bench.report.overview import manifests_section, opening, overall_section, title_text
from bearinmind_bench.report.runs import Material, badge, gather
from bearinmind_bench.report.strata import strata_section
from bearinmind_bench.results import QueryRow, Result

_MOST = 2_000  # rows; more than anyone looks through, and the page stays small


def queries_section(material: Material) -> Element | None:
    """Queries that changed most first, or those that went worst; nothing without any."""
    ordered = _ordered(material)
    if not ordered or HEADLINE not in material.metrics:
        return None
    several = len(material.runs) > 1
    first = "Those that differ most between runs" if several else "Those that went worst"
    left_out = len(ordered) - _MOST
    more = f" {count(left_out)} more are left out." if left_out > 0 else ""
    return section(
        "queries",
        "Every query",
        f"{first} come first. Rank is that of the first relevant memory.{more}",
        tag(
            "details",
            tag("summary", f"Show {count(min(len(ordered), _MOST))} queries"),
            _controls(),
            _table(material, ordered[:_MOST]),
        ),
    )


def _ordered(material: Material) -> list[str]:
    """The ids of all queries with ranked metrics, the most interesting first."""
    differences: dict[str, list[float]] = {}
    for run in material.runs:
        for id_, row in run.answerable.items():
            differences.setdefault(id_, []).append(row.metrics.get(HEADLINE, 0.0))
    return sorted(
        differences,
        key=lambda id_: (min(differences[id_]) - max(differences[id_]), min(differences[id_]), id_),
    )


def _controls() -> Element:
    """Hidden until the script that they need is there."""
    return tag(
        "p",
        tag("label", "Filter by id or stratum ", tag("input", type="search", id="query-filter")),
        tag("output", id="query-count", for_="query-filter"),
        class_="controls",
        hidden=True,
    )


def _table(material: Material, ids: list[str]) -> Element:
    head: list[Child] = ["query", "stratum"]
    for run in material.runs:
        head += [
            tag("span", badge(run), f" {metric_name(HEADLINE)}"),
            tag("span", badge(run), " rank"),
            tag("span", badge(run), " ms"),
        ]
    rows = [run.answerable for run in material.runs]
    body = (_row(id_, [each.get(id_) for each in rows]) for id_ in ids)
    element = table(head, body, "Queries", heard_only=True)
    element.set("id", "query-table")
    return element


def _row(id_: str, rows: list[QueryRow | None]) -> Element:
    stratum = next(row.stratum for row in rows if row is not None)
    shown = shorten(id_, 40)
    return tag(
        "tr",
        tag("th", tag("bdi", shown), scope="row", title=id_ if shown != id_ else None),
        tag("td", stratum),
        *(cell for row in rows for cell in _cells(row)),
    )


def _cells(row: QueryRow | None) -> list[Element]:
    if row is None:
        return [tag("td", NONE) for _ in range(3)]
    rank = next((r for r, id_ in enumerate(row.ranked, 1) if row.grades.get(id_, 0) > 0), None)
    return [
        tag("td", value(row.metrics.get(HEADLINE))),
        tag("td", NONE if rank is None else str(rank)),
        tag("td", f"{row.milliseconds:.1f}"),
    ]


_SECTIONS = (
    overall_section,
    strata_section,
    differences_section,
    legs_section,
    speed_section,
    abstention_section,
    queries_section,
    manifests_section,
)


def render(results: Sequence[Result], comparisons: Sequence[Comparison] = ()) -> str:
    """One HTML page that needs nothing else: no network, no library.

    The first result is the reference; the comparisons with it are in the order of `comparable`.

    Raises:
        InvalidData: there is no result.
    """
    if not results:
        raise InvalidData("a report needs a result", hint="Name a file that `bench run` wrote.")
    material = gather(results, comparisons)
    sections = [made for make in _SECTIONS if (made := make(material)) is not None]
    links = (tag("a", made.get("aria-label"), href=f"#{made.get('id')}") for made in sections)
    return document(
        tag(
            "html",
            _head(material),
            tag(
                "body",
                tag("a", "Skip to the figures", href="#overall", class_="skip"),
                opening(material),
                tag("nav", *links, aria_label="Contents"),
                tag("main", *sections),
                tag("footer", "Made by ", tag("code", "bearinmind bench report"), "."),
                asset("script", "page.js"),
            ),
            lang="en",
        )
    )


def _head(material: Material) -> Element:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy("page.js")),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title_text(material)),
        asset("style", "style.css"),
    )
