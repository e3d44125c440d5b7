"""The page lets people in by a link or a key, and shows them what is theirs of the server."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from bearinmind.accounts.sessions import Sessions
from bearinmind.surfaces.http.auth import Service
from bearinmind.types import Access, UserId
from support.browser import Browser
from support.http_server import Serving, serving
from support.page_views import REFUSED, texts, violations

READY = "return document.querySelector('main h1') && !document.querySelector('[aria-busy]')"
HAS = "return document.querySelector('main').innerText.includes(arguments[0])"
PRESS = """
const button = [...document.querySelectorAll('button')].find((each) =>
  (each.getAttribute('aria-label') ?? each.innerText).trim() === arguments[0]);
if (!button || button.disabled) return false;
button.click();
return true;
"""
FILL = """
const [name, value] = arguments;
const field = document.querySelector(`dialog [name="${name}"], main [name="${name}"]`);
if (!field) return false;
field.value = value;
return true;
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("page-server")
    reports = folder / "reports"
    reports.mkdir()
    style = "<style>h1 { color: rgb(1, 2, 3) }</style>"
    (reports / "march.html").write_text(f"<!doctype html>{style}<h1>Walruses in March</h1>")
    with serving(folder / "memories.db", reports=reports, key_failures_per_minute=1_000) as running:
        running.key("ada", Access.ADMIN)
        running.key("bob", Access.WRITE)
        yield running


@pytest.fixture
def fresh(tab: Browser, server: Serving) -> Browser:
    """A tab that nobody is signed in with."""
    tab.visit(f"{server.url}/healthz")
    tab.forget_cookies()
    return tab


def link_of(server: Serving, user: str = "ada") -> str:
    return server.bearinmind.accounts.sessions().new_link(UserId(user)).token


def enter(tab: Browser, server: Serving, user: str = "ada") -> None:
    """Sign in by the key of a user, from within our own page."""
    access = Access.ADMIN if user == "ada" else Access.WRITE
    tab.forget_cookies()
    tab.visit(f"{server.url}/#/signin")
    tab.wait("return document.querySelector('[name=key]')")
    tab.run(FILL, "key", server.key(user, access))
    tab.wait(PRESS, "Sign in")
    tab.wait("return location.hash === '#/'")


def go(tab: Browser, place: str) -> None:
    tab.run("location.hash = arguments[0]", f"#/{place}")
    tab.wait(READY)


def signed_in(tab: Browser) -> str:
    return str(tab.wait("return document.querySelector('.person')?.textContent.trim()"))


def troubles(tab: Browser) -> list[str]:
    """What went wrong in the page; that a request was refused is no fault of it."""
    return [line for line in tab.console() if REFUSED not in line]


# ---- getting in --------------------------------------------------------------------------------


def test_a_link_signs_in_and_leaves_no_trace_in_the_browser(
    fresh: Browser, server: Serving
) -> None:
    link = link_of(server)

    fresh.visit(f"{server.url}/#/signin?link={link}")

    fresh.wait("return location.hash === '#/'")
    assert signed_in(fresh) == "ada"
    assert not any(link in address for address in fresh.requests())
    assert link not in fresh.run("return location.href + document.referrer + document.cookie")
    assert fresh.run("return document.cookie") == ""
    storage = "return JSON.stringify(sessionStorage) + JSON.stringify(localStorage)"
    assert link not in fresh.run(storage)
    fresh.back()
    fresh.forward()
    assert link not in fresh.run("return location.href")
    assert fresh.console() == []  # nothing was refused on the way
    fresh.visit(f"{server.url}/#/signin?link={link}")  # whoever is in stays in
    fresh.wait(HAS, "You are signed in")
    assert signed_in(fresh) == "ada"


def test_a_link_that_was_used_is_too_old_or_wrong_gets_a_plain_page(
    fresh: Browser, server: Serving
) -> None:
    used = link_of(server)
    server.bearinmind.accounts.sessions().open_by_link(used)
    then = datetime.now(UTC) - timedelta(hours=1)
    store = server.bearinmind.work.store
    past = Sessions(store=store, clock=lambda: then, life=timedelta(hours=1))
    for link in (used, past.new_link(UserId("ada")).token, "nonsense"):
        fresh.visit(f"{server.url}/#/signin?link={link}")
        fresh.wait(HAS, "This link does not work any more")
        assert fresh.run("return location.hash") == "#/signin"
        assert fresh.run("return document.querySelector('[name=key]') !== null")
    assert troubles(fresh) == []


def test_a_key_signs_in_and_is_not_kept_and_a_wrong_one_is_told(
    fresh: Browser, server: Serving
) -> None:
    fresh.visit(f"{server.url}/#/memories")  # whatever was opened, nobody is let in yet
    fresh.wait(HAS, "These memories are private")
    fresh.run(FILL, "key", "bim_abcdefghijkl_" + "x" * 43)
    fresh.wait(PRESS, "Sign in")
    fresh.wait(HAS, "This key is not good")

    enter(fresh, server, "bob")

    assert signed_in(fresh) == "bob"
    key = server.key("bob", Access.WRITE)
    storage = (
        "return JSON.stringify(sessionStorage) + JSON.stringify(localStorage) + document.cookie"
    )
    assert key not in fresh.run(storage)
    assert key not in fresh.run("return document.documentElement.outerHTML")
    fresh.visit(f"{server.url}/")  # the session outlives the page
    assert signed_in(fresh) == "bob"


def test_signing_out_and_a_session_that_has_ended_lead_to_the_sign_in(
    fresh: Browser, server: Serving
) -> None:
    enter(fresh, server, "bob")
    go(fresh, "signin")
    fresh.wait(HAS, "You are signed in")
    fresh.wait(PRESS, "Sign out")
    fresh.wait(HAS, "These memories are private")
    go(fresh, "memories")
    fresh.wait(HAS, "These memories are private")

    enter(fresh, server, "bob")
    server.bearinmind.accounts.disable_user("bob")
    fresh.run("location.hash = '#/server'")
    fresh.wait(HAS, "These memories are private")
    server.bearinmind.accounts.enable_user("bob")

    enter(fresh, server, "bob")
    go(fresh, "memories")
    fresh.set_cookies(expired_session(server, "bob"))
    fresh.run("location.hash = '#/inbox'")
    fresh.wait(HAS, "These memories are private")


def expired_session(server: Serving, user: str) -> str:
    """The token of a session that was opened yesterday, for an hour."""
    yesterday = datetime.now(UTC) - timedelta(days=1)
    store = server.bearinmind.work.store
    past = Sessions(store=store, clock=lambda: yesterday, life=timedelta(hours=1))
    return past.open_by_link(past.new_link(UserId(user)).token).token


# ---- the server --------------------------------------------------------------------------------


def test_an_administrator_sees_how_the_server_does(fresh: Browser, server: Serving) -> None:
    ada = server.bearinmind.for_user("ada")
    ada.store("walruses sing at dawn")
    service: Service = server.app.state.service
    store = server.bearinmind.work.store
    now = ada.work.clock()
    store.give_back(store.claim(["compare"], 9, now, now), "no room for walruses", now, dead=True)
    enter(fresh, server)
    service.traffic.flush()
    go(fresh, "server")
    fresh.wait("return document.querySelectorAll('.chart canvas').length === 4")
    fresh.wait(HAS, "no room for walruses")
    assert fresh.run(HAS, "What everybody asked")
    fresh.wait(HAS, "the whole store")
    fresh.wait(PRESS, "Last 90 days")
    fresh.wait("return document.querySelector('[role=img]')?.ariaLabel.includes('by day')")
    fresh.wait(PRESS, "Try all of them again")
    fresh.wait("return !document.querySelector('main').innerText.includes('no room for walruses')")
    go(fresh, "server/audit")
    fresh.wait(HAS, "sign in")
    go(fresh, "server/reports")
    fresh.wait(HAS, "march.html")
    assert troubles(fresh) == []
    fresh.visit(f"{server.url}/reports/march.html")
    assert fresh.run("return document.querySelector('h1').innerText") == "Walruses in March"
    assert (
        fresh.run("return getComputedStyle(document.querySelector('h1')).color") == "rgb(1, 2, 3)"
    )
    assert fresh.run("return origin") == "null"  # it can ask this server nothing


def test_a_key_is_shown_once_and_rotated_and_revoked(fresh: Browser, server: Serving) -> None:
    enter(fresh, server)
    go(fresh, "server/people")
    fresh.wait("return document.querySelector('[name=name]')")
    fresh.run(FILL, "name", "cat")
    fresh.wait(PRESS, "Add")
    fresh.wait(HAS, "cat")
    fresh.wait(PRESS, "Make a key")
    fresh.wait(
        "return [...document.querySelectorAll('dialog option')].some((o) => o.value === 'cat')"
    )
    fresh.run(FILL, "user", "cat")
    fresh.run(FILL, "label", "<img src=x onerror=alert(1)>")
    fresh.run(FILL, "per_day", "50")
    fresh.wait(PRESS, "Make the key")
    key = str(fresh.wait("return document.querySelector('#new-key')?.value"))
    assert key.startswith("bim_")
    with server.bearing(key) as cat:
        assert cat.get("/api/v1/session").json()["user"] == "cat"
    fresh.wait(PRESS, "I have it")
    fresh.wait(HAS, "0 of 50 writes today")
    assert key not in fresh.run("return document.documentElement.outerHTML")
    assert fresh.run("return document.querySelector('#keys img') === null")
    id_ = key.split("_")[1]
    fresh.wait(PRESS, f"Renew the key {id_}")
    renewed = str(fresh.wait("return document.querySelector('#new-key')?.value"))
    assert renewed.split("_")[1] != id_
    fresh.wait(PRESS, "I have it")
    fresh.wait(PRESS, f"Revoke the key {id_}")
    fresh.wait(PRESS, "Revoke it")
    fresh.wait(HAS, "revoked")
    with server.bearing(key) as cat, server.bearing(renewed) as still:
        assert cat.get("/api/v1/stats").status_code == 401
        assert still.get("/api/v1/stats").status_code == 200
    fresh.wait(PRESS, "Lock out cat")
    fresh.wait(HAS, "locked out")
    with server.bearing(renewed) as cat:
        assert cat.get("/api/v1/stats").status_code == 401
    assert troubles(fresh) == []


def test_an_ordinary_user_sees_what_is_theirs_alone(fresh: Browser, server: Serving) -> None:
    enter(fresh, server, "bob")
    go(fresh, "server")
    fresh.wait(HAS, "What you asked")
    fresh.wait("return document.querySelectorAll('.chart canvas').length === 4")
    assert not fresh.run(HAS, "Background work")
    assert not fresh.run(HAS, "Reports")
    go(fresh, "server/people")
    fresh.wait("return document.querySelector('#keys')")
    assert fresh.run("return document.querySelector('#users') === null")
    owners = "#keys tbody td:nth-child(2)"
    assert {*texts(fresh, owners)} == {"bob"}
    assert not fresh.run(PRESS, "Make a key")
    go(fresh, "server/reports")
    fresh.wait(HAS, "There is nothing here for you")
    go(fresh, "server/audit")
    fresh.wait(HAS, "create key")
    assert not fresh.run(HAS, "ada's")
    assert troubles(fresh) == []


def test_axe_finds_nothing_wrong_with_the_server_and_the_sign_in(
    fresh: Browser, server: Serving
) -> None:
    ada = server.bearinmind.for_user("ada")
    ada.share_tag("walruses", "bob", "write")
    fresh.visit(f"{server.url}/#/signin?link=wrong")
    fresh.wait(HAS, "This link does not work any more")
    check_in_both_themes_and_widths(fresh, "signin, link")
    enter(fresh, server)
    for place, words in {
        "signin": "You are signed in",
        "server": "Background work",
        "server/people": "Make a key",
        "server/shares": "#walruses",
        "server/audit": "create key",
        "server/reports": "march.html",
    }.items():
        go(fresh, place)
        fresh.wait(HAS, words)
        check_in_both_themes_and_widths(fresh, place)
    go(fresh, "server/people")
    fresh.wait(PRESS, "Make a key")
    check_in_both_themes_and_widths(fresh, "the form of a key")
    ada.unshare_tag("walruses", "bob")


def check_in_both_themes_and_widths(tab: Browser, place: str) -> None:
    for theme in ("light", "dark"):
        for width in (390, 1_280):
            tab.resize(width)
            tab.prefer(theme)
            assert violations(tab) == [], (place, theme, width)
            assert tab.run("return document.documentElement.scrollWidth <= innerWidth"), place


def test_two_users_share_and_end_it(fresh: Browser, server: Serving) -> None:
    ada = server.bearinmind.for_user("ada")
    shared = ada.store("The walrus cabin is booked for May.").memory.id
    ada.share(shared, "bob", "read")
    enter(fresh, server, "bob")
    go(fresh, "server/shares")
    fresh.wait(HAS, shared)
    go(fresh, f"memory/{shared}")
    fresh.wait(HAS, "The walrus cabin")

    fresh.forget_cookies()
    enter(fresh, server, "ada")
    go(fresh, "server/shares")
    fresh.wait(HAS, shared)
    fresh.wait(PRESS, "End the share with bob")
    fresh.wait(HAS, "Nothing is shared")

    fresh.forget_cookies()
    enter(fresh, server, "bob")
    go(fresh, "server/shares")
    fresh.wait(HAS, "Nothing is shared")
    go(fresh, f"memory/{shared}")
    fresh.wait(READY)
    assert not fresh.run(HAS, "The walrus cabin")
