"""Puts the page together."""

from __future__ import annotations

from collections.abc import Sequence

from bearinmind.bench.compare import Comparison
from bearinmind.bench.report.abstention import abstention_section
from bearinmind.bench.report.differences import differences_section
from bearinmind.bench.report.elements import Element, asset, document, policy, tag
from bearinmind.bench.report.legs import legs_section
from bearinmind.bench.report.manifests import manifests_section
from bearinmind.bench.report.opening import opening, title_text
from bearinmind.bench.report.overall import overall_section
from bearinmind.bench.report.queries import queries_section
from bearinmind.bench.report.runs import Material, gather
from bearinmind.bench.report.speed import speed_section
from bearinmind.bench.report.strata import strata_section
from bearinmind.bench.results import Result
from bearinmind.errors import InvalidData

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
    return document(
        tag(
            "html",
            _head(material),
            tag(
                "body",
                tag("a", "Skip to the figures", href="#overall", class_="skip"),
                opening(material),
                _contents(sections),
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


def _contents(sections: Sequence[Element]) -> Element:
    links = (tag("a", part.get("aria-label"), href=f"#{part.get('id')}") for part in sections)
    return tag("nav", *links, aria_label="Contents")
