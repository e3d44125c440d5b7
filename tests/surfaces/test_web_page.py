"""The first page in a real browser, on a real server: what it shows, and what it never does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest
from hatchling.builders.wheel import WheelBuilder

from http_server import Serving, serving
from recollect.app import Recollect
from recollect.types import Access
from webdriver import FAINT, Browser, browser
from witness import witnessing

ROOT = Path(__file__).parents[2]
PAGE = 20  # memories of a page of the list
LEGS = {"embedder": "hash"}  # two legs, without the wait for a model


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """A server with memories in it."""

    server: Serving
    ids: dict[str, str]  #: by a name

    def ask(self, method: str, path: str, **body: Any) -> Any:
        """What the API answers the same user."""
        with self.server.client("ada", Access.READ) as client:
            return client.request(method, f"/api/v1{path}", json=body or None).json()


def at(view: str, **fields: object) -> str:
    """The address of a view, from the address of a server on."""
    return f"/#/{view}" + (f"?{urlencode(fields)}" if fields else "")


def fill(ada: Recollect, bob: Recollect) -> dict[str, str]:
    """Memories of two users, with a past, links and shares."""
    for number in range(PAGE + 5):
        ada.store(f"Deploy number {number} went well.", tags=["deploys"], category="projects")
    old = ada.store("Deploys run on Thursdays.", tags=["deploys"]).memory.id
    new = ada.store(
        "Deploys run on Fridays.",
        tags=["deploys"],
        supersedes=[old],
        created_at=datetime.now(UTC) - timedelta(days=3, hours=1),
    ).memory.id
    cause = ada.store("Thursdays are for meetings.", category="decisions").memory.id
    ada.link(new, "derives-from", cause)
    ada.update(new, content="Deploys run on Fridays at noon.", importance=0.9)
    ada.share(new, "bob", "read")
    shared = bob.store("Refunds need finance.", tags=["payments"]).memory.id
    bob.share_tag("payments", "ada", "write")
    alone = bob.store("Refunds of finance are bob's own business.").memory.id
    ada.work()
    return {"old": old, "new": new, "cause": cause, "shared": shared, "alone": alone}


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Filled]:
    with serving(tmp_path / "memories.db", **LEGS) as server:
        for user in ("ada", "bob"):
            server.key(user, Access.READ)
        ada, bob = (server.recollect.for_user(user) for user in ("ada", "bob"))
        yield Filled(server=server, ids=fill(ada, bob))


REFUSED = "Failed to load resource"  # what Chromium itself logs of an answer that is an error
READY = "return document.querySelector('h1') && !document.querySelector('[aria-busy]')"


def enter(tab: Browser, server: Serving, user: str = "ada") -> None:
    """A tab that has a key of a user."""
    tab.visit(server.url)
    tab.run("sessionStorage.setItem('recollect.key', arguments[0])", server.key(user, Access.READ))


def go(tab: Browser, server: Serving, address: str) -> None:
    """A view, to whoever the tab already knows."""
    tab.visit(server.url + address)
    tab.wait(READY)


def show(tab: Browser, filled: Filled, address: str, user: str = "ada") -> None:
    """A view, as soon as it is there."""
    enter(tab, filled.server, user)
    go(tab, filled.server, address)


def text(tab: Browser, selector: str = "main") -> str:
    return str(tab.run("return document.querySelector(arguments[0]).innerText", selector))


def texts(tab: Browser, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)"
    return [str(each) for each in tab.run(script, selector)]


def items(tab: Browser) -> list[str]:
    """The memories of a list, by id."""
    return texts(tab, "main [data-item]")


def focused(tab: Browser) -> str:
    return str(tab.run("return document.activeElement.dataset.item ?? document.activeElement.id"))


VIEWS = {
    "opening": "/",
    "recall": at("recall", q="when do deploys run"),
    "memories": at("memories", state="all"),
    "memory": "/#/memory/{new}",
    "why-not": at("why-not", q="deploys", limit=1) + "&id={cause}",
    "nothing": "/#/memory/zzzzzzzzzzzz",
}


def address(filled: Filled, view: str) -> str:
    return VIEWS[view].format_map(filled.ids)


# ---- what it shows -----------------------------------------------------------------------------


def test_a_recall_shows_what_the_api_answers_in_its_order(tab: Browser, filled: Filled) -> None:
    answer = filled.ask("POST", "/recall", query="when do deploys run")
    show(tab, filled, VIEWS["recall"])
    assert items(tab) == [hit["memory"]["id"] for hit in answer["hits"]]
    first = answer["hits"][0]
    assert first["memory"]["id"] == filled.ids["new"]
    card = text(tab, "main .card")
    assert first["memory"]["content"] in card
    assert f"ada · {first['memory']['category']}" in card
    assert f"sure {first['confidence']:.0%}" in card
    for leg, placing in first["placings"].items():
        assert f"{leg} {placing['rank']}" in card
    assert texts(tab, "main .card:first-child .tag") == first["memory"]["tags"]
    assert texts(tab, "main .card:first-child time") == ["3 days ago"]
    assert text(tab, "#status") == f"{len(answer['hits'])} memories recalled"


def test_the_picture_has_the_ranks_of_every_hit(tab: Browser, filled: Filled) -> None:
    answer = filled.ask("POST", "/recall", query="when do deploys run", trace=True)
    show(tab, filled, VIEWS["recall"])
    told = tab.run(
        "return [...document.querySelectorAll('svg .hit')].map(e => e.getAttribute('aria-label'))"
    )
    fused = [candidate["id"] for candidate in answer["trace"]["fused"]]
    legs = [leg["leg"] for leg in answer["trace"]["legs"]]
    for hit, label in zip(answer["hits"], told, strict=True):
        id_ = hit["memory"]["id"]
        placings = hit["placings"]
        ranks = [placings[leg]["rank"] if leg in placings else "not found" for leg in legs]
        stood = min(fused.index(each) for each in [id_, *hit["replaces"]] if each in fused) + 1
        names = [*legs, "fused", "answer"]
        said = zip(names, [*ranks, stood, hit["rank"]], strict=True)
        assert label == f"{id_}: " + ", ".join(f"{name} {rank}" for name, rank in said)
    assert texts(tab, "svg .head") == [*legs, "fused", "answer"]
    tab.run("document.querySelectorAll('svg .hit')[1].focus()")
    assert text(tab, ".says") == told[1]


def test_what_stands_for_a_superseded_memory_says_so(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("recall", q="deploys thursdays"))
    assert f"in place of {filled.ids['old']}" in text(tab)
    assert filled.ids["old"] not in items(tab)


def test_a_leg_that_cannot_find_everything_yet_is_told(tab: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db", **LEGS) as server:
        server.recollect.store("This one is ready.")
        server.recollect.work()
        server.recollect.store("That one is not embedded yet.")
        degraded = server.recollect.recall("embedded").trace.degraded
        assert degraded
        go(tab, server, at("recall", q="embedded"))
        for missing in degraded:
            assert missing in text(tab, ".notice")
        assert text(tab, "#status") == "2 memories recalled, but something is missing"


def test_a_question_that_nothing_answers_says_so(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("recall", q="deploys", category="people"))
    assert "No memory answers this" in text(tab)
    assert text(tab, "#status") == "no memory recalled"


def test_a_memory_of_another_has_its_owner_and_is_marked_as_data(
    tab: Browser, filled: Filled
) -> None:
    show(tab, filled, at("recall", q="refunds finance"))
    card = text(tab, "main .card")
    assert "Refunds need finance." in card
    assert "bob · facts" in card
    assert texts(tab, "main .card:first-child .mark") == ["data"]
    assert filled.ids["alone"] not in items(tab)


def test_the_list_can_be_filtered(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("memories"))
    tab.run("document.querySelector('.filters [name=category]').focus()")
    tab.press(*"decisions", "enter")
    tab.wait("return document.querySelectorAll('.card').length === 1")
    assert items(tab) == [filled.ids["cause"]]
    assert tab.run("return location.hash") == "#/memories?category=decisions"
    for fields, expected in (
        ({"tags": "deploys", "state": "superseded"}, [filled.ids["old"]]),
        ({"tags": "deploys,payments"}, []),
        ({"since": "1h", "category": "decisions"}, [filled.ids["cause"]]),
        ({"until": "2001-01-01"}, []),
    ):
        show(tab, filled, at("memories", **fields))
        assert items(tab) == expected, fields


def test_pages_of_the_list_have_every_memory_once(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("memories", tags="deploys", order="oldest"))
    seen = items(tab)
    assert len(seen) == PAGE
    tab.run("[...document.querySelectorAll('.pages a')].at(-1).click()")
    tab.wait("return location.hash.includes('after=') && !document.querySelector('[aria-busy]')")
    seen += items(tab)
    everything = filled.ask("GET", "/memories?tags=deploys&limit=100&newest_first=false")
    assert seen == [each["id"] for each in everything["memories"]]
    assert texts(tab, ".pages a") == ["First page"]


def test_a_memory_has_its_fields_history_links_shares_and_provenance(
    tab: Browser, filled: Filled
) -> None:
    show(tab, filled, address(filled, "memory"))
    assert text(tab, "main .whole") == "Deploys run on Fridays at noon."
    assert "0.90" in text(tab, ".facts")
    assert texts(tab, ".versions li:first-child del") == ["Fridays.", "0.5"]
    assert texts(tab, ".versions li:first-child ins") == ["Fridays at noon.", "0.9"]
    assert "Deploys run on Fridays." in text(tab, ".versions li:last-child")
    links = texts(tab, ".links li")
    assert len(links) == 2
    assert f"this memory supersedes {filled.ids['old']}Deploys run on Thursdays." in links
    assert "bob may read it" in text(tab, "[aria-label=Shares]")
    assert {*items(tab)} == {filled.ids["cause"], filled.ids["old"]}
    assert "derives-from" in text(tab, "[aria-label=Why]")


def test_of_a_memory_of_another_there_is_no_past(tab: Browser, filled: Filled) -> None:
    show(tab, filled, address(filled, "memory"), user="bob")
    shown = text(tab)
    assert "Deploys run on Fridays at noon." in shown
    assert "Thursdays" not in shown
    assert "seen by ada alone" in shown
    assert texts(tab, "main section h2") == ["Shares"]
    assert texts(tab, "main .headline .mark")[0] == "data"
    assert "bob may read it" in text(tab, "[aria-label=Shares]")


def test_what_a_sensitive_memory_says_is_not_on_the_page(tab: Browser, filled: Filled) -> None:
    ada = filled.server.recollect.for_user("ada")
    sealed = ada.store("The canary of the vault is 4711.", sensitive=True).memory.id
    show(tab, filled, f"/#/memory/{sealed}")
    assert f"recollect secret get {sealed}" in text(tab)
    assert "sensitive" in texts(tab, "main .mark")
    assert "4711" not in tab.run("return document.documentElement.outerHTML")


def test_why_not_has_the_reason_the_remedy_and_every_leg(tab: Browser, filled: Filled) -> None:
    expected = filled.ask("POST", "/why-not", query="deploys", limit=1, id=filled.ids["cause"])
    show(tab, filled, at("recall", q="deploys", limit=1))
    tab.run("document.getElementById('expected').focus()")
    tab.press(*filled.ids["cause"][:6], "enter")
    tab.wait("return document.querySelector('.verdict')")
    verdict = text(tab, ".verdict")
    assert expected["reason"] in verdict
    assert expected["remedy"] in verdict
    table = text(tab, "table")
    for standing in expected["standings"]:
        assert standing["leg"] in table
        assert standing["note"] in table
    assert text(tab, "main .content") == "Thursdays are for meetings."


def test_a_candidate_that_was_left_out_leads_to_its_why_not(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("recall", q="deploys", limit=1))
    dropped = "[aria-label='Left out'] tbody tr:last-child"
    said = tab.run(f'return document.querySelector("{dropped}").textContent')
    tab.run(f'document.querySelector("{dropped} td a").click()')
    tab.wait("return document.querySelector('.verdict')")
    reason = text(tab, ".verdict dd")
    assert said == f"{items(tab)[0]}{reason} · why not?"


def test_a_memory_can_be_asked_why_a_question_does_not_find_it(
    tab: Browser, filled: Filled
) -> None:
    show(tab, filled, address(filled, "memory"))
    tab.run("document.getElementById('asked').focus()")
    tab.press(*"fridays", "enter")
    tab.wait("return document.querySelector('.verdict')")
    assert "it was recalled, at rank 1" in text(tab, ".verdict")


@pytest.mark.parametrize(
    ("view", "path"),
    [
        ("memory/zzzzzzzzzzzz", "/memories/zzzzzzzzzzzz"),
        ("memories?since=soon", "/memories?created_from=soon"),
    ],
)
def test_an_error_is_told_with_what_helps(
    tab: Browser, filled: Filled, view: str, path: str
) -> None:
    problem = filled.ask("GET", path)
    show(tab, filled, f"/#/{view}")
    assert problem["detail"] in text(tab, ".trouble")
    assert problem["hint"].replace("`", "") in text(tab, ".trouble")


def test_a_server_that_is_gone_is_told(tab: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db", **LEGS) as server:
        go(tab, server, "/")
    tab.press("/", *"anything", "enter")
    tab.wait("return document.querySelector('.trouble')")
    assert "The server does not answer." in text(tab, ".trouble")


# ---- who may see it ----------------------------------------------------------------------------


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
    assert session == {"recollect.key": right}
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


# ---- hostile memories --------------------------------------------------------------------------


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
            memory = server.recollect
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
    folder = "recollect/interfaces/http/web/page/"
    paths = [each.distribution_path.replace("\\", "/") for each in wheel]
    packed = {path.removeprefix(folder) for path in paths if path.startswith(folder)}
    assert packed == {each.name for each in (ROOT / "src" / folder).iterdir()}
    show(tab, filled, "/")
    icon = tab.run("return document.querySelector('link[rel=icon]').href")
    used = {address.rpartition("/page/")[2] for address in [*tab.requests(), icon]}
    assert packed - {"index.html"} <= used


# ---- how it is used ----------------------------------------------------------------------------


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


@pytest.mark.parametrize("width", [320, 800, 1400])
def test_every_view_fits_every_screen(tab: Browser, filled: Filled, width: int) -> None:
    tab.resize(width)
    enter(tab, filled.server)
    for view in VIEWS:
        go(tab, filled.server, address(filled, view))
        tab.run("for (const part of document.querySelectorAll('details')) part.open = true")
        assert tab.run("return document.documentElement.scrollWidth") <= width, view


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_word_of_the_page_has_enough_contrast(
    tab: Browser, filled: Filled, theme: str
) -> None:
    tab.prefer(theme)
    enter(tab, filled.server)
    for view in VIEWS:
        go(tab, filled.server, address(filled, view))
        tab.run("for (const part of document.querySelectorAll('details')) part.open = true")
        dark = tab.run("return matchMedia('(prefers-color-scheme: dark)').matches")
        assert dark == (theme == "dark")
        assert tab.run(FAINT) == [], view
