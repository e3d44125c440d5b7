"""How the page is used: by keyboard, by ear, on every screen, and while the server is gone."""

from __future__ import annotations

import socket
from pathlib import Path

from support.browser import Browser
from support.http_server import serving
from support.page_views import (
    LEGS,
    PAGE,
    READY,
    VIEWS,
    Filled,
    address,
    at,
    click,
    enter,
    focused,
    go,
    items,
    sees,
    show,
    text,
    texts,
    violations,
)
from support.relay import relaying

SCREENS = (("light", 390), ("dark", 390), ("light", 1280), ("dark", 1280))
MAIN = {"opening", "recall", "memories", "memory", "inbox", "graph", "time"}  # the others are alike


def test_it_is_used_with_the_keyboard_alone(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("memories"))
    tab.press("/")
    tab.wait("return document.activeElement.id === 'query'")
    tab.press(*"when do deploys run", "enter")
    tab.wait("return location.hash === '#/recall?q=when+do+deploys+run'")
    tab.wait(f"{READY} && document.querySelector('.answer')")
    tab.run("document.querySelector('.weak').open = true")
    found = items(tab)
    for key, place in (("down", 0), ("j", 1), ("down", 2), ("k", 1), ("up", 0), ("j", 1)):
        tab.press(key)
        assert focused(tab) == found[place], key
    assert tab.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.press("enter")
    tab.wait("return location.hash === `#/memory/${arguments[0]}`", found[1])
    tab.wait("return document.activeElement.tagName === 'H1'")
    tab.press("escape")
    tab.wait("return document.querySelector('.answer')")
    tab.press("/", *"jk/n")
    assert tab.run("return document.getElementById('query').value").endswith("jk/n")
    tab.press("escape", "?")
    sees(tab, "take back the last decision or change", "dialog")
    tab.press("escape")
    tab.wait("return !document.querySelector('dialog')")
    tab.press("n")
    tab.wait("return document.activeElement.matches('dialog textarea')")
    tab.press("escape")
    tab.wait("return !document.querySelector('dialog')")
    # Back from a memory, the reader is where it was opened.
    go(tab, filled.server, at("memories"))
    third = items(tab)[2]
    tab.press("j", "j", "j", "enter")
    tab.wait("return location.hash === `#/memory/${arguments[0]}`", third)
    tab.wait("return document.activeElement.tagName === 'H1'")
    tab.press("escape")
    tab.wait("return document.activeElement.dataset.item === arguments[0]", third)
    # The first stop of the page leads past the navigation.
    tab.run("document.activeElement.blur(); scrollTo(0, 0)")
    tab.run("document.querySelector('.skip').focus()")
    tab.press("enter")
    assert focused(tab) == "main"
    assert tab.console() == []


def test_every_view_can_be_read_by_everybody(tab: Browser, filled: Filled) -> None:
    enter(tab, filled.server)
    for view in VIEWS:
        go(tab, filled.server, address(filled, view))
        tab.run("for (const part of document.querySelectorAll('details')) part.open = true")
        assert tab.run("return document.querySelectorAll('h1').length") == 1, view
        assert tab.run("return document.getElementById('status').ariaLive") == "polite"
        for theme, width in SCREENS if view in MAIN else SCREENS[1:2]:
            tab.prefer(theme)
            tab.resize(width)
            assert violations(tab) == [], (view, theme, width)
            assert tab.run("return document.documentElement.scrollWidth") <= width, (view, width)
    go(tab, filled.server, "/")
    for opened in ("New memory", "Keys of the keyboard"):
        click(tab, opened)
        tab.wait("return document.querySelector('dialog[open]')")
        assert violations(tab) == [], opened
        click(tab, "Close", "dialog")
        tab.wait("return !document.querySelector('dialog')")
    tab.prefer("light")
    click(tab, "Use dark colours")
    tab.wait("return document.documentElement.dataset.theme === 'dark'")
    assert violations(tab) == []


def test_the_list_can_be_filtered_and_has_every_memory_once(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("memories", tags="deploys", order="oldest"))
    seen = items(tab)
    assert len(seen) == PAGE
    click(tab, "Next page")
    tab.wait("return location.hash.includes('after=') && !document.querySelector('[aria-busy]')")
    seen += items(tab)
    everything = filled.ask("GET", "/memories?tags=deploys&limit=100&newest_first=false")
    assert seen == [each["id"] for each in everything["memories"]]
    assert texts(tab, ".pages a") == ["First page"]
    for fields, expected in (
        ({"tags": "deploys", "state": "superseded"}, [filled.ids["old"]]),
        ({"tags": "deploys,payments"}, []),
        ({"since": "1h", "category": "decisions"}, [filled.ids["cause"]]),
        ({"until": "2001-01-01"}, []),
        ({"owner": "others"}, [filled.ids["shared"]]),
        ({"owner": "bob"}, [filled.ids["shared"]]),
        ({"owner": "me", "tags": "payments"}, []),
    ):
        go(tab, filled.server, at("memories", **fields))
        assert items(tab) == expected, fields
    # A filter that a link brought is said too, and taken away.
    go(tab, filled.server, at("memories", session="nowhere", tags="payments"))
    click(tab, "only of the session nowhere", "main .filters")
    tab.wait("return document.querySelector('main [data-item]')")
    assert items(tab) == [filled.ids["shared"]]
    go(tab, filled.server, "/#/memories?since=soon")
    problem = filled.ask("GET", "/memories?created_from=soon")
    assert problem["detail"] in text(tab, ".trouble")
    assert problem["hint"].replace("`", "") in text(tab, ".trouble")


def test_an_answer_that_takes_long_is_said_to_be_looked_for(tab: Browser, tmp_path: Path) -> None:
    with (
        relaying() as relay,
        socket.create_server(("127.0.0.1", 0)) as silent,
        serving(tmp_path / "memories.db", **LEGS, server_url=relay.url) as server,
    ):
        relay.lead_to(server.url)
        tab.visit(relay.url)
        tab.wait(READY)
        relay.lead_to(f"http://127.0.0.1:{silent.getsockname()[1]}")
        tab.press("/", *"fridays", "enter")
        tab.wait(
            "const waiting = document.querySelector('main [aria-busy]:empty');"
            "const shown = waiting && getComputedStyle(waiting, '::after');"
            "return shown && shown.content.includes('Looking') && shown.visibility === 'visible'"
        )


def test_a_server_that_is_gone_is_said_and_the_page_goes_on_when_it_is_back(
    tab: Browser, tmp_path: Path
) -> None:
    store = tmp_path / "memories.db"
    with relaying() as relay:
        with serving(store, **LEGS, server_url=relay.url) as server:
            server.bearinmind.store("Deploys run on Fridays.")
            relay.lead_to(server.url)
            tab.visit(relay.url)
            tab.wait(READY)
            relay.lead_to(None)
        tab.press("/", *"fridays", "enter")
        sees(tab, "The server does not answer.", ".offline")
        tab.wait("return document.querySelector('main .trouble')")
        with serving(store, **LEGS, server_url=relay.url) as server:
            relay.lead_to(server.url)
            tab.wait("return !document.querySelector('.offline, .trouble')")
            sees(tab, "Deploys run on Fridays.", "main .card")
            relay.lead_to(None)
