"""The inbox of the page, in a real browser on a real server: what waits is decided there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bearinmind.learn.model import Message, Role
from bearinmind.types import Access
from support.browser import Browser
from support.http_server import Serving, serving
from support.page_views import at, go, text, texts

SAID = "Always use a & b instead of a <> b in queries."
BUTTON = "[...document.querySelectorAll('main button')].find(e => e.textContent === arguments[0])"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "memories.db", learn="inbox") as running:
        running.bearinmind.for_user("ada").learn([Message(role=Role.USER, text=SAID)])
        yield running


def open_inbox(tab: Browser, server: Serving, access: Access, **fields: str) -> None:
    tab.visit(server.url)
    tab.run("sessionStorage.setItem('bearinmind.key', arguments[0])", server.key("ada", access))
    go(tab, server, at("inbox", **fields))


def click(tab: Browser, label: str) -> None:
    tab.run(f"{BUTTON}.click()", label)


def test_what_waits_is_applied_and_undone_in_its_place(tab: Browser, server: Serving) -> None:
    ada = server.bearinmind.for_user("ada")
    [waiting] = ada.curation.proposals()
    open_inbox(tab, server, Access.WRITE)

    assert "a & b" in text(tab, "main .content")
    assert waiting.reason in text(tab, "main .card")
    click(tab, "apply")
    tab.wait("return document.querySelector('main .mark')?.textContent === 'applied'")
    assert len(ada.list()) == 1
    assert text(tab, "#status") == f"{waiting.id} is applied"

    open_inbox(tab, server, Access.WRITE, show="decided")
    click(tab, "undo")
    tab.wait("return document.querySelector('main .mark')?.textContent === 'undone'")
    assert ada.list() == []
    assert texts(tab, "main .decide button") == []


def test_what_is_dismissed_waits_no_more(tab: Browser, server: Serving) -> None:
    open_inbox(tab, server, Access.WRITE)
    click(tab, "dismiss")
    tab.wait("return document.querySelector('main .mark')?.textContent === 'dismissed'")

    open_inbox(tab, server, Access.WRITE)
    assert "Nothing waits for a decision" in text(tab)
    assert server.bearinmind.for_user("ada").list() == []


def test_which_of_two_memories_holds_is_decided_with_a_button_and_undone(
    tab: Browser, server: Serving
) -> None:
    ada = server.bearinmind.for_user("ada")
    [learned] = ada.curation.proposals()
    ada.curation.dismiss(learned.id)
    older = ada.store("The port is 5432 for staging").memory.id
    newer = ada.store("The port is <5433> for staging").memory.id
    ada.curation.review(propose=True)
    open_inbox(tab, server, Access.WRITE)

    assert texts(tab, "main .decide button") == ["newer", "older", "both", "merge"]
    first, second = texts(tab, "main .about li")
    assert newer in first
    assert "<5433>" in first
    assert older in second
    click(tab, "older")
    tab.wait("return document.querySelector('main .mark')?.textContent === 'applied'")
    assert [(link.source, link.target) for link in ada.links(newer)] == [(older, newer)]
    assert "<5433>" in text(tab, "main .about")
    click(tab, "undo")
    tab.wait("return document.querySelector('main .mark')?.textContent === 'undone'")
    assert ada.links(newer) == []


def test_that_both_hold_can_be_undone_too(tab: Browser, server: Serving) -> None:
    ada = server.bearinmind.for_user("ada")
    [learned] = ada.curation.proposals()
    ada.curation.dismiss(learned.id)
    ada.store("The port is 5432 for staging")
    ada.store("The port is 5433 for staging")
    ada.curation.review(propose=True)
    open_inbox(tab, server, Access.WRITE)

    click(tab, "both")
    tab.wait("return document.querySelector('main .mark')?.textContent === 'dismissed'")
    assert texts(tab, "main .decide button") == ["undo"]


def test_a_key_that_may_not_write_is_told_so_and_decides_nothing(
    tab: Browser, server: Serving
) -> None:
    open_inbox(tab, server, Access.READ)
    click(tab, "apply")
    tab.wait("return document.querySelector('main .card .trouble')")

    assert [each.state for each in server.bearinmind.for_user("ada").curation.proposals()] == [
        "open"
    ]
    assert texts(tab, "main .decide button") == ["apply", "dismiss"]
    assert "write" in text(tab, "main .card .trouble")
