"""What a hostile text cannot do on the page, wherever it may appear."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx

from bearinmind.learn.model import Message, Role
from bearinmind.types import Access
from support.browser import Browser
from support.http_server import Serving, serving
from support.page_views import (
    LEGS,
    Filled,
    at,
    click,
    enter,
    go,
    pick,
    sees,
    show,
    text,
    texts,
    write,
)
from support.recording_server import witnessing

LOGO = 'img[src="/page/icon.svg"]'
MADE = (
    f"return document.querySelectorAll('main img:not({LOGO}), iframe, main script, style').length"
)
FOREIGN = "return document.querySelectorAll('a[href]:not([href^=\"#\"])').length"
BIDI = "\u202e\u2067desrever\u2066 deploys"
NARROW = 390  # pixels


def test_a_hostile_text_stays_a_text_in_every_place(tab: Browser, tmp_path: Path) -> None:
    with witnessing() as (witness, asked):
        evil = (
            f"</p></title></script><script>window.ran = 1; fetch('{witness}/script')</script>"
            f"<img src='{witness}/image' onerror='window.ran = 2'><style>@import '{witness}/css';"
            f"</style><svg onload='window.ran = 3'></svg><iframe src='{witness}/frame'></iframe>"
            f"<a href='javascript:window.ran = 4'>deploys</a>\" onclick='window.ran = 5'"
        )
        with serving(tmp_path / "memories.db", **LEGS, learn="inbox") as server:
            mind = server.bearinmind
            origin: dict[str, Any] = {
                "session": evil[:90],
                "agent": evil[:90],
                "project": evil[:90],
            }
            first = mind.store(
                f"{evil} one", tags=["<b>tag</b>"], keywords=[evil[:60]], **origin
            ).memory.id
            second = mind.store(f"{evil} two {BIDI}", source="javascript:window.ran=6").memory.id
            long = mind.store("x" * 1_400, tags=["y" * 60]).memory.id
            mind.link(first, "see-also", second)
            mind.update(first, content=f"three {evil}")
            mind.resolve(second, "newer", long)
            mind.learn([Message(role=Role.USER, text=f"Always use <b>&</b> {BIDI} in queries.")])
            mind.store(f"The port is <b>5432</b> {BIDI}")
            mind.store(f"The port is <b>5433</b> {BIDI}")
            mind.work.run()
            mind.curation.review(propose=True)
            tab.resize(NARROW)
            for view in (
                "/",
                at("recall", q=f"deploys {evil}", category=evil, tags=evil),
                at("recall", q="x" * 1_400),
                at("memories", state="all"),
                at("memories", tags=evil, project=evil, category=evil),
                f"/#/memory/{first}",
                f"/#/memory/{second}",
                f"/#/memory/{long}",
                at("inbox"),
                at("graph"),
                at("graph", about="<b>tag</b>"),
                at("graph", memory=first),
                at("graph", about=evil),
                at("time", thing=evil),
                at("memory/<script>window.ran = 7"),
                at("<script>window.ran = 8</script>"),
            ):
                go(tab, server, view)
                tab.run("for (const part of document.querySelectorAll('details')) part.open = true")
                assert tab.run("return window.ran") is None, view
                assert tab.run(MADE) == 0, view
                assert tab.run(FOREIGN) == 0, view
                assert tab.run("return document.documentElement.scrollWidth") <= NARROW, view
                outside = [each for each in tab.requests() if not each.startswith("data:")]
                assert [each for each in outside if not each.startswith(server.url)] == []
            # Names of things in the graph and a text under the cursor are texts too.
            go(tab, server, at("graph", memory=first))
            assert "<b>tag</b>" in text(tab, ".things")
            go(tab, server, at("recall", q="deploys one two three"))
            assert "<script>" in "".join(texts(tab, ".card"))
            assert tab.run(
                "return [...document.querySelectorAll('.card .content')]"
                ".every(e => e.dir === 'auto' && getComputedStyle(e).unicodeBidi === 'isolate')"
            )
            _change(tab, server, first, evil)
            _import(tab, evil)
        assert asked == []


def _change(tab: Browser, server: Serving, first: str, evil: str) -> None:
    """Where texts are picked, changed, told of and written down they are texts too."""
    go(tab, server, at("recall", q="deploys"))
    pick(tab, ".missing [role=combobox]", "deploys", "<script>")
    sees(tab, "<script>", ".why-not")
    go(tab, server, f"/#/memory/{first}")
    for button in ("Edit", "Replace", "Link", "Share"):
        click(tab, button, "main .actions")
        tab.wait("return document.querySelector('dialog[open]')")
        harmless(tab, button)
        click(tab, "Close", "dialog")
        tab.wait("return !document.querySelector('dialog')")
    click(tab, "Delete", "main .actions")
    click(tab, "Remove for good", "main .actions")
    sees(tab, "<script>", "dialog")
    harmless(tab, "Remove for good")
    click(tab, "Keep it", "dialog")
    click(tab, "Restore", "main .actions")
    tab.wait("return !document.querySelector('main .mark.deleted')")
    go(tab, server, at("memories"))
    tab.press("j", "x")
    click(tab, "Tag", ".bulk")
    write(tab, "dialog [name=tag]", "<b onclick=window.ran=10>hm</b>")
    tab.press("enter")
    sees(tab, "tagged #<b onclick=window.ran=10>hm</b>", ".toasts")
    harmless(tab, "a message")
    mind = server.bearinmind
    server.key("eve")
    mind.share_tag("<b>tag</b>", "eve", "read")
    enter(tab, server, mind.scope.user, Access.ADMIN)  # with a user keys are wanted
    for part, words in {"shares": "#<b>tag</b>", "audit": "<b>tag</b>", "people": "eve"}.items():
        go(tab, server, at(f"server/{part}"))
        sees(tab, words, "main")
        harmless(tab, part)


def harmless(tab: Browser, place: str) -> None:
    """Nothing of a text became a part of the page, ran, or made it wider."""
    assert tab.run("return window.ran") is None, place
    assert tab.run(MADE) == 0, place
    assert (
        tab.run("return document.querySelectorAll('dialog img, dialog script, b[onclick]').length")
        == 0
    )
    assert tab.run("return document.documentElement.scrollWidth") <= NARROW, place


def _import(tab: Browser, evil: str) -> None:
    """A file whose name and lines are hostile is shown as text, and stored as text."""
    tab.run("location.hash = '#/memories'")
    click(tab, "Import", "main")
    tab.wait("return document.querySelector('.dropzone')")
    drop = """
    const carried = new DataTransfer();
    carried.items.add(new File([arguments[0]], '<img src=x onerror=window.ran=9>.jsonl'));
    document.querySelector('.dropzone').dispatchEvent(
      new DragEvent('drop', {dataTransfer: carried, bubbles: true, cancelable: true}));"""
    tab.run(drop, json.dumps({"content": f"{evil} nine"}))
    sees(tab, "<img src=x onerror=window.ran=9>", "dialog")
    sees(tab, "<script>", ".preview")
    click(tab, "Import", "dialog .actions")
    sees(tab, "Imported", "dialog .notice")
    assert tab.run("return window.ran") is None
    assert tab.run("return document.querySelectorAll('dialog img, dialog script').length") == 0


def test_the_browser_refuses_markup_and_inline_script_even_from_the_page_itself(
    tab: Browser, filled: Filled
) -> None:
    policy = httpx.get(filled.server.url).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    show(tab, filled, "/")
    tab.run(
        "try { document.body.innerHTML = '<b>markup</b>' } catch { window.refused = true };"
        "const style = document.createElement('style');"
        "style.textContent = 'body { opacity: 0.25 }'; document.head.append(style);"
    )
    assert tab.run("return window.refused") is True
    assert tab.run("return getComputedStyle(document.body).opacity") == "1"
    kept = "return [Object.keys(sessionStorage), Object.keys(localStorage), document.cookie]"
    assert tab.run(kept) == [[], [], ""]  # the session is in a cookie that no script can read


def test_of_a_memory_of_another_there_is_no_past(tab: Browser, filled: Filled) -> None:
    show(tab, filled, f"/#/memory/{filled.ids['new']}", user="bob")
    tab.wait("return document.querySelector('.person[aria-label$=bob]')")
    sees(tab, "bob may read it")
    shown = text(tab)
    assert "Deploys run on Fridays at noon." in shown
    assert "Thursdays" not in shown
    assert "seen by ada alone" in shown
    assert "Versions" not in shown
