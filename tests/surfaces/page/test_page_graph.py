"""The graph and the view of time: looked around in, walked, put right; how things changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bearinmind.app import Mind
from support.browser import Browser
from support.http_server import Serving, serving
from support.page_views import (
    LEGS,
    Filled,
    at,
    click,
    enter,
    go,
    items,
    pick,
    sees,
    show,
    text,
    texts,
    write,
)

THINGS = "return [...document.querySelectorAll('.things bdi')].map(e => e.textContent).sort()"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "memories.db", **LEGS) as running:
        ada = running.bearinmind.for_user("ada")
        ada.store("Ilse Navrat owns the ledger.", tags=["ledger"])
        ada.store("The ledger runs on db-ledger-1.", tags=["ledger", "hosts"])
        ada.store("Continuous Integration runs every night.", tags=["ci"])
        ada.store("The ci of the ledger needs a runner.", tags=["ci", "ledger"])
        ada.work.run()
        yield running


def chosen(tab: Browser, label: str) -> None:
    """Chooses a thing in the list beside the picture, which has what the picture has."""
    click(tab, label, ".things")
    sees(tab, "memor", "aside .panel")


def test_one_starts_from_a_search_goes_on_filters_and_sees_a_path(
    tab: Browser, server: Serving
) -> None:
    enter(tab, server)
    go(tab, server, at("graph"))
    tab.wait("return document.querySelector('.graph-canvas canvas')")
    assert "ledger" in tab.run(THINGS)
    pick(tab, ".fields [role=combobox]", "navr", "Ilse Navrat")
    tab.wait("return location.hash === '#/graph?about=ilse+navrat'")
    sees(tab, "Ilse Navrat", "aside h2")
    sees(tab, "Ilse Navrat owns the ledger.", "aside")
    before = {*tab.run(THINGS)}
    assert "ci" not in before
    chosen(tab, "ledger")
    click(tab, "Show more around it")
    tab.wait("return [...document.querySelectorAll('.things bdi')].some(e => e.innerText === 'ci')")
    assert before < {*tab.run(THINGS)}
    click(tab, "Show its memories")
    sees(tab, "The ledger runs on", ".things")

    kinds = texts(tab, ".legend .chip")
    assert {"memory", "topic"} <= {*kinds}
    click(tab, "memory", ".legend")
    tab.wait("return !document.querySelector('.things').innerText.includes('The ledger runs')")

    pick(tab, "aside [role=combobox]", "navr", "Ilse Navrat")
    sees(tab, "From ledger to Ilse Navrat", "[aria-label=Path]")
    assert "owns" in text(tab, "[aria-label=Path]")
    assert tab.console() == []

    first = server.bearinmind.for_user("ada").list(newest_first=False)[0]
    go(tab, server, at("graph", memory=first.id))
    assert "Ilse Navrat owns the ledger." in text(tab, "aside")
    assert "Ilse Navrat" in tab.run(THINGS)
    go(tab, server, at("graph", until="2001-01-01"))
    assert "The graph is empty" in text(tab)


def test_names_are_merged_and_separated_again(tab: Browser, server: Serving) -> None:
    ada: Mind = server.bearinmind.for_user("ada")
    enter(tab, server)
    go(tab, server, at("graph", about="continuous integration"))
    click(tab, "It is the same as another thing", "aside")
    pick(tab, "aside [role=combobox]", "ci", "ci")
    tab.wait("return location.hash === '#/graph?about=ci'")
    sees(tab, "Also called", "aside")
    assert [(merge.alias, merge.into) for merge in ada.graph.merges()] == [
        ("continuous integration", "ci")
    ]
    click(tab, "Separate", "aside .panel")
    sees(tab, "is a thing of its own again", ".toasts")
    assert ada.graph.merges() == []
    click(tab, "Undo", ".toast:last-child")
    sees(tab, "Undone.", ".toasts")
    assert len(ada.graph.merges()) == 1
    sees(tab, "Also called", "aside")


def test_time_shows_when_memories_were_made_and_how_a_thing_changed(
    tab: Browser, filled: Filled
) -> None:
    show(tab, filled, at("time"))
    tab.wait("return document.querySelector('.chart canvas')")
    assert "projects 35" in [each.replace("\xa0", " ") for each in texts(tab, ".legend .chip")]
    click(tab, "by month")
    tab.wait("return document.querySelector('[aria-pressed=true]')?.innerText === 'by month'")
    sees(tab, "friday talk", "[aria-label='Sessions of agents']")
    assert "35 memories" in text(tab, "[aria-label='Sessions of agents']")

    write(tab, "[name=thing]", "our builds")
    tab.press("enter")
    sees(tab, "GitHub Actions runs our builds.", ".spans")
    assert items(tab, ".spans")[:2] == [filled.ids["jenkins"], filled.ids["actions"]]
    first, second = tab.run(
        "return [...document.querySelectorAll('.spans li')].slice(0, 2).map(e => e.innerText)"
    )
    assert " to " in first
    assert "since" in second
    # As of then the first one still held.
    day = tab.run("return new Date(Date.now() - 100 * 864e5).toISOString().slice(0, 10)")
    choose = """
    const field = document.querySelector('.as-of input[type=date]');
    field.value = arguments[0];
    field.dispatchEvent(new Event('change', {bubbles: true}));"""
    tab.run(choose, day)
    tab.wait("return document.querySelectorAll('.spans li').length === 1")
    sees(tab, "since", ".spans li.holds")
    assert tab.console() == []
