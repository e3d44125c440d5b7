"""The inbox of the page: what waits is decided there, by button or by key, and undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bearinmind.learn.model import Message, Role
from bearinmind.types import Access
from support.browser import Browser
from support.http_server import Serving, serving
from support.page_views import at, click, enter, go, items, sees, text, texts

FOCUSED = "return document.activeElement.dataset.item === arguments[0]"
SAID = "Always use a & b instead of a <> b in queries."


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "memories.db", embedder="none", learn="inbox") as running:
        yield running


def inbox(tab: Browser, server: Serving, access: Access = Access.WRITE, **fields: str) -> None:
    enter(tab, server, "ada", access)
    go(tab, server, at("inbox", **fields))


def test_what_was_learned_is_kept_or_left_and_taken_back(tab: Browser, server: Serving) -> None:
    ada = server.bearinmind.for_user("ada")
    for said in (SAID, "From now on deploy from the main branch only."):
        ada.learn([Message(role=Role.USER, text=said)])
    inbox(tab, server)
    sees(tab, "2", ".badge")
    first, second = items(tab)
    tab.press("j", "1")
    sees(tab, "Remember it", "main .mark")
    assert len(ada.list()) == 1
    sees(tab, "1", ".badge")
    tab.wait(FOCUSED, second)  # the focus goes on to the next one
    tab.press("2")
    tab.wait("return document.querySelectorAll('main .mark').length === 2")
    assert "Do not remember it" in texts(tab, "main .mark")
    assert len(ada.list()) == 1

    # Later, under what was decided, both are taken back, and one is decided otherwise.
    inbox(tab, server, show="decided")
    assert sorted(items(tab)) == sorted([first, second])
    for proposal in (second, first):
        click(tab, "Undo", f"[data-proposal='{proposal}'] .decisions")
        sees(tab, "Taken back", f"[data-proposal='{proposal}'] .mark")
    assert ada.list() == []
    click(tab, "Remember it", f"[data-proposal='{second}'] .decisions")
    sees(tab, "Remember it", f"[data-proposal='{second}'] .mark")
    assert len(ada.list()) == 1
    inbox(tab, server)
    assert "Nothing waits for a decision" in text(tab)


def test_two_memories_stand_side_by_side_and_deciding_changes_the_next_recall(
    tab: Browser, server: Serving
) -> None:
    ada = server.bearinmind.for_user("ada")
    older = ada.store("The port is 5432 for staging").memory.id
    newer = ada.store("The port is <5433> for staging").memory.id
    ada.curation.review(propose=True)
    inbox(tab, server)
    assert texts(tab, "main mark.removed") == ["5432"]
    assert texts(tab, "main mark.added") == ["<5433>"]
    labels = "return [...document.querySelectorAll('.decisions button')].map(e => e.innerText)"
    shown = [each.splitlines()[0] for each in tab.run(labels)]
    assert shown == ["Newer", "Older", "Both", "Merge"]
    tab.press("j", "1")
    sees(tab, "The later one is true now", "main .mark")
    assert [(link.source, link.target) for link in ada.links(newer)] == [(newer, older)]
    tab.press("/")
    tab.wait("return document.activeElement.id === 'query'")
    tab.press(*"which port is staging", "enter")
    sees(tab, "Until", ".earlier")
    assert items(tab)[0] == newer
    tab.back()
    tab.run("location.hash = '#/inbox?show=decided'")
    sees(tab, "The later one is true now", "main .mark")
    click(tab, "Undo", "main .decisions")
    sees(tab, "Taken back", "main .mark")
    assert ada.links(newer) == []


def test_the_last_decision_is_taken_back_with_a_key(tab: Browser, server: Serving) -> None:
    ada = server.bearinmind.for_user("ada")
    ada.store("The port is 5432 for staging")
    ada.store("The port is 5433 for staging")
    ada.curation.review(propose=True)
    [waiting] = ada.curation.proposals()
    inbox(tab, server)
    tab.press("j", "2")
    sees(tab, "The earlier one is still true", "main .mark")
    tab.press("u")
    sees(tab, "Taken back", "main .mark")
    assert ada.curation.proposal(waiting.id).state == "undone"
    tab.wait(FOCUSED, waiting.id)
    tab.press("3")  # it can be decided again at once
    sees(tab, "Both are true", "main .mark")
    assert ada.curation.proposal(waiting.id).state == "dismissed"


def test_a_reader_decides_nothing(tab: Browser, server: Serving) -> None:
    ada = server.bearinmind.for_user("ada")
    ada.learn([Message(role=Role.USER, text=SAID)])
    inbox(tab, server, Access.READ)
    tab.wait("return !document.querySelector('main .decisions')")
    assert "a & b instead of a <> b" in text(tab)
    assert [each.state for each in ada.curation.proposals()] == ["open"]
