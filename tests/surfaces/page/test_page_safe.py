"""Who sees what on the first page, and what a hostile memory cannot do there."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from hatchling.builders.wheel import WheelBuilder

from bearinmind.types import Access
from support.browser import Browser
from support.http_server import serving
from support.page_views import LEGS, REFUSED, VIEWS, Filled, address, at, enter, go, show, text
from support.recording_server import witnessing

ROOT = Path(__file__).parents[3]


def test_a_key_is_asked_for_and_kept_in_the_tab_alone(tab: Browser, filled: Filled) -> None:
    tab.visit(filled.server.url)
    tab.run("sessionStorage.clear()")
    tab.visit(filled.server.url + VIEWS["recall"])
    tab.wait("return document.activeElement.id === 'key'")
    assert "Fridays" not in text(tab)
    tab.press(*"wrong", "enter")
    tab.wait("return document.querySelector('.trouble')")
    right = filled.server.key("ada", Access.READ)
    tab.press(*right, "enter")
    tab.wait("return document.querySelector('main .card')")
    assert "Deploys run on Fridays at noon." in text(tab)
    kept = "return [{...sessionStorage}, {...localStorage}, document.cookie, location.href]"
    session, local, cookie, href = tab.run(kept)
    assert session == {"bearinmind.key": right}
    assert (local, cookie) == ({}, "")
    assert right not in href
    tab.run("document.getElementById('forget').click()")
    tab.wait("return document.activeElement.id === 'key'")
    assert tab.run("return sessionStorage.length") == 0
    assert "Fridays" not in text(tab)


def test_the_page_itself_needs_no_key_and_is_asked_about_again(filled: Filled) -> None:
    opened = httpx.get(filled.server.url)
    assert opened.status_code == 200
    assert opened.headers["content-type"] == "text/html; charset=utf-8"
    known = {"If-None-Match": opened.headers["etag"]}
    assert httpx.get(filled.server.url, headers=known).status_code == 304
    described = httpx.get(f"{filled.server.url}/openapi.json").json()["paths"]
    assert not {"/", "/page/app.js"} & {*described}
    assert httpx.head(filled.server.url).headers["etag"] == opened.headers["etag"]


@pytest.mark.parametrize("name", ["..%2ffiles.py", "../files.py", "nothing.js", ""])
def test_nothing_but_the_files_of_the_page_is_given(filled: Filled, name: str) -> None:
    assert httpx.get(f"{filled.server.url}/page/{name}").status_code == 404


def test_memories_that_are_markup_do_not_run_and_reach_nobody(tab: Browser, tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    with witnessing() as (witness, asked):
        evil = (
            f"</p></title></script><script>window.ran = 1; fetch('{witness}/script')</script>"
            f"<img src='{witness}/image' onerror='window.ran = 2'><style>@import '{witness}/css';"
            f"</style><svg onload='window.ran = 3'></svg><iframe src='{witness}/frame'></iframe>"
            f"<a href='javascript:window.ran = 4'>deploys</a>\" onclick='window.ran = 5'"
        )
        with serving(path, **LEGS) as server:
            memory = server.bearinmind
            first = memory.store(f"{evil} one", tags=["<b>tag</b>"], keywords=[evil[:60]]).memory.id
            second = memory.store(
                f"{evil} two", source="javascript:window.ran=6", session=evil[:60], agent=evil[:60]
            ).memory.id
            memory.link(first, "see-also", second)
            memory.update(first, content=f"three {evil}")
            for view in (
                "/",
                at("recall", q=f"deploys {evil}"),
                at("memories"),
                f"/#/memory/{first}",
                f"/#/memory/{second}",
                at("why-not", q=evil, id=first),
                at("memory/<script>window.ran = 7"),
            ):
                go(tab, server, view)
                assert "<script>" in text(tab), view
                assert tab.run("return window.ran") is None
                made = "return document.querySelectorAll('img, iframe, main script, style').length"
                assert tab.run(made) == 0
                foreign = "a:not([href^='#/']):not(.skip)"
                assert tab.run(f'return document.querySelectorAll("{foreign}").length') == 0
                assert [each for each in tab.console() if REFUSED not in each] == []
                assert [each for each in tab.requests() if not each.startswith(server.url)] == []
    assert asked == []


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


@pytest.mark.parametrize("view", [*VIEWS])
def test_every_view_opens_by_its_address_without_a_complaint_and_asks_nobody_else(
    tab: Browser, filled: Filled, view: str
) -> None:
    enter(tab, filled.server)
    go(tab, filled.server, address(filled, view))
    assert [each for each in tab.console() if view != "nothing" or REFUSED not in each] == []
    asked = tab.requests()
    assert asked
    assert [each for each in asked if not each.startswith(f"{filled.server.url}/")] == []


def test_the_wheel_has_every_file_of_the_page_and_the_page_uses_all_of_them(
    tab: Browser, filled: Filled
) -> None:
    wheel = WheelBuilder(str(ROOT)).recurse_included_files()
    folder = "bearinmind/surfaces/page/static/"
    paths = [each.distribution_path.replace("\\", "/") for each in wheel]
    packed = {path.removeprefix(folder) for path in paths if path.startswith(folder)}
    assert packed == {each.name for each in (ROOT / "src" / folder).iterdir()}
    show(tab, filled, "/")
    icon = tab.run("return document.querySelector('link[rel=icon]').href")
    used = {address.rpartition("/page/")[2] for address in [*tab.requests(), icon]}
    assert packed - {"index.html"} <= used
