"""How the first page is used: by keyboard, by ear, on every screen."""

from __future__ import annotations

from support.browser import FAINT, Browser
from support.page_views import VIEWS, Filled, address, at, enter, focused, go, items, show, text


def test_it_is_used_with_the_keyboard_alone(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("memories"))
    tab.press("/")
    assert focused(tab) == "query"
    tab.press(*"when do deploys run", "enter")
    tab.wait("return document.querySelector('.picture')")
    assert focused(tab) == "query"
    found = items(tab)
    for key, place in (("down", 0), ("j", 1), ("down", 2), ("k", 1), ("up", 0), ("j", 1)):
        tab.press(key)
        assert focused(tab) == found[place], key
    assert tab.run("return getComputedStyle(document.activeElement).outlineStyle") == "solid"
    tab.press("enter")
    tab.wait("return document.querySelector('.whole')")
    assert tab.run("return location.hash") == f"#/memory/{found[1]}"
    assert tab.run("return document.activeElement.tagName") == "H1"
    tab.press("escape")
    tab.wait("return document.querySelector('.picture')")
    assert focused(tab) == found[1]
    tab.press("escape")
    tab.wait("return document.querySelector('.filters')")
    tab.press("/", *"jk/")
    assert tab.run("return document.getElementById('query').value").endswith("jk/")


def test_everything_can_be_told_by_a_screen_reader(tab: Browser, filled: Filled) -> None:
    enter(tab, filled.server)
    for view in VIEWS:
        go(tab, filled.server, address(filled, view))
        assert tab.run("return document.querySelectorAll('h1').length") == 1
        for landmark in ("header", "header nav[aria-label]", "form[role=search]", "main", "footer"):
            assert tab.run("return document.querySelectorAll(arguments[0]).length", landmark) == 1
        unnamed = "return [...document.querySelectorAll('input, select')].filter(e => !e.labels[0])"
        assert tab.run(f"{unnamed}.length") == 0
        nameless = "return [...document.querySelectorAll('a, button, summary')]"
        name = "(e.textContent.trim() || e.getAttribute('aria-label'))"
        assert tab.run(f"{nameless}.filter(e => !{name}).length") == 0
        assert tab.run("return document.getElementById('status').ariaLive") == "polite"
        assert text(tab, "#status")


def test_every_view_fits_every_screen_and_every_word_of_it_has_enough_contrast(
    tab: Browser, filled: Filled
) -> None:
    enter(tab, filled.server)
    for view in VIEWS:
        go(tab, filled.server, address(filled, view))
        tab.run("for (const part of document.querySelectorAll('details')) part.open = true")
        for width in (320, 800, 1400):
            tab.resize(width)
            assert tab.run("return document.documentElement.scrollWidth") <= width, (view, width)
        for theme in ("light", "dark"):
            tab.prefer(theme)
            dark = tab.run("return matchMedia('(prefers-color-scheme: dark)').matches")
            assert dark == (theme == "dark")
            assert tab.run(FAINT) == [], (view, theme)
