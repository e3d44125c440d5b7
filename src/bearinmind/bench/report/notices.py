"""What to be careful about, and how the runs differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from bearinmind.bench.report.elements import Child, Element, tag
from bearinmind.bench.report.figures import table
from bearinmind.bench.report.manifests import flat
from bearinmind.bench.report.runs import Material, Run, badge
from bearinmind.bench.report.wording import NONE, shorten
from bearinmind.bench.results import Result

#: On the cards and in the notices.
_TOLD_ELSEWHERE = (
    "adaptations",
    "created_at",
    "data",
    "fingerprint",
    "bearinmind",
    "revision",
    "split",
)
_KINDS: Sequence[tuple[str, str, Callable[[Result], Sequence[str]]]] = (
    ("faults", "Broken promises: these figures decide nothing", lambda r: r.faults),
    ("warnings", "Warnings", lambda r: r.warnings),
    ("adaptations", "Adapted for this measurement", lambda r: r.manifest.adaptations),
)


def notices(material: Material) -> Iterator[Element]:
    """Everything that whoever reads the figures should know, with the runs it is about."""
    for kind, title, texts in _KINDS:
        items = _by_text([(run, text) for run in material.runs for text in texts(run.result)])
        if items:
            yield tag(
                "aside",
                tag("h2", title),
                tag("ul", *(_notice(material, text, runs) for text, runs in items.items())),
                class_=f"notice {kind}",
            )


def _by_text(said: Sequence[tuple[Run, str]]) -> dict[str, list[Run]]:
    items: dict[str, list[Run]] = {}
    for run, text in said:
        items.setdefault(text, []).append(run)
    return items


def _notice(material: Material, text: str, runs: Sequence[Run]) -> Element:
    shown = [badge(run) for run in runs] if len(material.runs) > 1 else []
    return tag("li", *shown, " " if shown else None, tag("bdi", text))


def what_differs(material: Material) -> Element | None:
    """The settings of a single run, or what is not the same in all of them."""
    facts = [flat(run.result.manifest) for run in material.runs]
    several = len(facts) > 1
    chosen = _differing(facts) if several else _settings(facts[0])
    if not chosen:
        return None
    rows = [
        tag(
            "tr",
            tag("th", shorten(name, 40), scope="row", title=name),
            *(_fact(name, each.get(name)) for each in facts),
        )
        for name in chosen
    ]
    head: list[Child] = ["", *(badge(run) for run in material.runs)] if several else []
    caption = "What differs between the runs" if several else "Settings and recipe of this run"
    return table(head, rows, caption)


def _differing(facts: Sequence[dict[str, str]]) -> list[str]:
    names = dict.fromkeys(name for each in facts for name in each if name not in _TOLD_ELSEWHERE)
    differing = [name for name in names if len({each.get(name) for each in facts}) > 1]
    return sorted(differing, key=lambda name: not name.startswith("settings."))


def _settings(facts: dict[str, str]) -> list[str]:
    return [
        name
        for name, fact in facts.items()
        if fact and name.startswith(("settings.", "recipe.", "models"))
    ]


def _fact(name: str, fact: str | None) -> Element:
    if fact is None:
        return tag("td", "default" if name.startswith("settings.") else NONE, class_="fact quiet")
    return tag("td", tag("bdi", shorten(fact, 120)), class_="fact", title=fact)
