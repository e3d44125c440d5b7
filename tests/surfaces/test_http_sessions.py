"""Browsers sign in by a link or a key, and a cookie changes nothing that another page asks for."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from bearinmind.accounts.sessions import LINK_LIFE, NewSession, Sessions, hash_of
from bearinmind.errors import NotAuthenticated
from bearinmind.protocols import User
from bearinmind.testing import TemporaryStore
from bearinmind.text.addresses import StoreFile
from bearinmind.types import Access, UserId
from support.http_server import Serving, serving

SESSION = "/api/v1/session"
MEMORIES = "/api/v1/memories"
ADA = UserId("ada")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("sessions")
    with serving(folder / "memories.db", key_failures_per_minute=1_000) as running:
        running.key("ada", Access.ADMIN)
        yield running


@pytest.fixture
def page(server: Serving) -> httpx.Client:
    """A browser that shows our page and has no cookie."""
    client = server.client()
    client.headers.update({"Origin": server.url, "X-Bear-In-Mind": "page"})
    return client


def new_link(server: Serving, user: str = "ada") -> str:
    return server.bearinmind.accounts.sessions().new_link(UserId(user)).token


def sign_in(page: httpx.Client, server: Serving) -> httpx.Client:
    assert page.post(SESSION, json={"link": new_link(server)}).status_code == 201
    return page


def cookie_of(page: httpx.Client) -> dict[str, str]:
    """The header by which a browser sends its cookies."""
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in page.cookies.items())}


# ---- getting in --------------------------------------------------------------------------------


def test_a_link_signs_a_browser_in_once(server: Serving, page: httpx.Client) -> None:
    assert page.get(SESSION).status_code == 401
    link = new_link(server)

    opened = page.post(SESSION, json={"link": link})

    assert opened.status_code == 201
    assert opened.json()["user"] == "ada"
    assert opened.json()["access"] == "admin"
    cookie = opened.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    assert "Secure" not in cookie  # over http
    assert link not in cookie
    assert page.get(SESSION).json() == {**opened.json(), "via": "session"}
    assert page.post(MEMORIES, json={"content": "walruses sing"}).status_code == 201
    again = server.client().post(SESSION, json={"link": link}, headers=dict(page.headers))
    assert again.status_code == 401
    assert "used before" in again.json()["detail"]
    assert "Set-Cookie" not in again.headers


@pytest.mark.parametrize("link", ["", "x" * 43, "../../etc", "ü" * 43, "a" * 200])
def test_a_wrong_link_opens_nothing(page: httpx.Client, link: str) -> None:
    assert page.post(SESSION, json={"link": link}).status_code == 401


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"", "", 401),
        (b"", "application/json", 401),
        (b"{}", "application/json", 401),
        (b"{", "application/json", 400),
        (b'{"link": 5}', "application/json", 422),
        (b'{"link": "x"}', "text/plain", 415),
        (b"x" * 2_000, "application/json", 413),
    ],
)
def test_what_is_no_sign_in_is_refused(
    page: httpx.Client, content: bytes, kind: str, status: int
) -> None:
    headers = {"Content-Type": kind} if kind else {}
    assert page.post(SESSION, content=content, headers=headers).status_code == status


def test_a_key_opens_a_session_that_has_its_access_and_ends_with_it(
    server: Serving, page: httpx.Client
) -> None:
    key = server.key("bob", Access.READ, label="laptop")
    bearer = {"Authorization": f"Bearer {key}"}

    opened = page.post(SESSION, headers=bearer)

    assert opened.status_code == 201
    assert (opened.json()["user"], opened.json()["access"]) == ("bob", "read")
    assert page.get("/api/v1/stats").status_code == 200
    assert page.post(MEMORIES, json={"content": "x"}).status_code == 403
    server.bearinmind.accounts.revoke_key(key)
    assert page.get("/api/v1/stats").status_code == 401


def test_a_wrong_key_opens_nothing(page: httpx.Client) -> None:
    assert page.post(SESSION, headers={"Authorization": "Bearer nonsense"}).status_code == 401


def test_a_disabled_user_is_signed_out(server: Serving, page: httpx.Client) -> None:
    server.key("eve")
    assert page.post(SESSION, json={"link": new_link(server, "eve")}).status_code == 201
    server.bearinmind.accounts.disable_user("eve")
    assert page.get(SESSION).status_code == 401
    server.bearinmind.accounts.enable_user("eve")
    assert page.get(SESSION).status_code == 200


def test_signing_out_ends_the_session_and_not_only_the_cookie(
    server: Serving, page: httpx.Client
) -> None:
    sign_in(page, server)
    kept = cookie_of(page)

    ended = page.delete(SESSION)

    assert ended.status_code == 200
    assert not page.cookies
    assert server.client().get(SESSION, headers=kept).status_code == 401
    assert page.delete(SESSION).status_code == 200


def test_a_session_is_never_taken_over_from_the_browser(
    server: Serving, page: httpx.Client
) -> None:
    """Somebody else may have put a cookie there: signing in makes a new one and ends the other."""
    sign_in(page, server)
    planted = cookie_of(page)
    page.post(SESSION, json={"link": new_link(server)})
    assert cookie_of(page) != planted
    assert server.client().get(SESSION, headers=planted).status_code == 401


def test_a_key_goes_before_a_cookie(server: Serving, page: httpx.Client) -> None:
    sign_in(page, server)
    assert page.get(SESSION, headers=server.headers("bob", "read")).json()["user"] == "bob"
    assert page.get(SESSION, headers={"Authorization": "Bearer x"}).status_code == 401


def test_a_server_that_wants_no_key_needs_no_session(tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db") as server:
        own = {"Origin": server.url, "X-Bear-In-Mind": "page"}
        with server.client() as client:
            assert client.get(SESSION).json()["via"] == "open"
            opened = client.post(SESSION, headers=own, json={})
            assert opened.json()["via"] == "open"
            assert "Set-Cookie" not in opened.headers


def test_behind_https_the_cookie_is_for_https_alone(tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db", server_url="https://memory.example") as server:
        server.key("ada", Access.ADMIN)
        headers = {"Origin": "https://memory.example", "X-Bear-In-Mind": "page"}
        link = server.bearinmind.accounts.sessions().new_link(ADA).token
        opened = server.client().post(SESSION, json={"link": link}, headers=headers)
        name, _, rest = opened.headers["Set-Cookie"].partition("=")
        assert name == "__Host-bearinmind"
        assert "Secure" in rest
        cookie = {"Cookie": f"{name}={rest.partition(';')[0]}"}
        assert server.client().get(SESSION, headers=cookie).status_code == 200


def test_an_address_may_try_only_so_many_links(tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db", key_failures_per_minute=3) as server:
        server.key("ada", Access.ADMIN)
        own = {"Origin": server.url, "X-Bear-In-Mind": "page"}
        with server.client() as guesser:
            guesses = [
                guesser.post(SESSION, json={"link": letter * 43}, headers=own) for letter in "abcde"
            ]
        assert [answer.status_code for answer in guesses] == [401, 401, 401, 429, 429]
        assert int(guesses[-1].headers["Retry-After"]) >= 1


# ---- what another page may not do --------------------------------------------------------------


def changes(id: str) -> list[tuple[str, str, dict[str, str] | None]]:
    return [
        ("POST", MEMORIES, {"content": "planted"}),
        ("POST", f"{MEMORIES}/{id}/restore", None),  # with an empty body
        ("DELETE", f"{MEMORIES}/{id}", None),
        ("PATCH", f"{MEMORIES}/{id}", {"content": "changed"}),
        ("PUT", f"{MEMORIES}/{id}/shares/bob", {"right": "read"}),
        ("POST", "/api/v1/recall", {"query": "walruses"}),
        ("POST", "/api/v1/users", {"name": "mallory"}),
        ("POST", "/api/v1/import", {"content": "planted"}),
        ("POST", "/mcp", {"jsonrpc": "2.0", "id": "1", "method": "tools/list"}),
        ("POST", SESSION, None),
        ("DELETE", SESSION, None),
    ]


def test_a_cookie_changes_nothing_without_our_header_and_our_origin(
    server: Serving, page: httpx.Client
) -> None:
    sign_in(page, server)
    id_ = page.post(MEMORIES, json={"content": "walruses dance"}).json()["memory"]["id"]
    port = int(server.url.rpartition(":")[2])
    ours = {"Origin": server.url, "X-Bear-In-Mind": "page"}
    foreign = [
        {"Origin": server.url},
        {"Origin": server.url, "X-Bear-In-Mind": "other"},
        {"X-Bear-In-Mind": "page"},
        {**ours, "Origin": f"http://127.0.0.1:{port + 1}"},  # another port is another origin
        {**ours, "Origin": f"https://127.0.0.1:{port}"},
        {**ours, "Origin": f"http://localhost:{port}"},
        {**ours, "Origin": "null"},
    ]
    browser = server.client()
    browser.headers.update(cookie_of(page))
    for headers in foreign:
        for method, path, body in changes(id_):
            kind = {"Content-Type": "application/json"}  # a POST without it is refused before
            answer = browser.request(method, path, json=body, headers=headers | kind)
            assert answer.status_code == 403, (headers, method, path)
            assert browser.request(method, path, headers=headers).status_code in {403, 415}
    assert page.get(f"{MEMORIES}/{id_}").json()["memory"]["content"] == "walruses dance"
    assert page.get("/api/v1/users").json()["users"][0]["name"] == "ada"
    assert page.get(SESSION).status_code == 200


def test_a_cookie_reads_nothing_for_a_page_of_another_port(
    server: Serving, page: httpx.Client
) -> None:
    sign_in(page, server)
    for site, status in {
        "same-origin": 200,
        "none": 200,
        "same-site": 403,
        "cross-site": 403,
    }.items():
        assert page.get("/api/v1/stats", headers={"Sec-Fetch-Site": site}).status_code == status


def test_where_no_key_is_wanted_another_page_changes_nothing_either(tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db") as server, server.client() as client:
        memory = client.post(MEMORIES, json={"content": "walruses"}).json()["memory"]
        client.delete(f"{MEMORIES}/{memory['id']}")
        restore = f"{MEMORIES}/{memory['id']}/restore"
        for origin in ("http://127.0.0.1:1", "http://localhost:3000"):
            assert client.post(restore, headers={"Origin": origin}).status_code == 403
        client.headers["Content-Type"] = "application/json"  # which no form can send
        for origin in ("http://127.0.0.1:1", "http://localhost:3000"):
            assert client.post(restore, headers={"Origin": origin}).status_code == 403
        assert client.post(restore, headers={"Origin": server.url}).status_code == 200


# ---- what is kept ------------------------------------------------------------------------------


def test_neither_a_link_nor_a_session_is_in_the_store_or_the_audit(
    server: Serving, page: httpx.Client, tmp_path: Path
) -> None:
    link = new_link(server)
    page.post(SESSION, json={"link": link})
    [token] = page.cookies.values()
    store = server.bearinmind.settings.store
    assert isinstance(store, StoreFile)
    with closing(sqlite3.connect(store.path)) as connection:
        everything = "\n".join(connection.iterdump())
    assert token not in everything
    assert link not in everything
    assert hash_of(token).hex().upper() in everything.upper()
    actions = [entry["action"] for entry in page.get("/api/v1/audit").json()["entries"]]
    assert "sign in" in actions


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def sessions() -> Iterator[tuple[Sessions, Clock]]:
    with closing(TemporaryStore()) as store:
        clock = Clock()
        store.add_user(User(ADA, clock()))
        yield Sessions(store=store, clock=clock, life=timedelta(hours=12)), clock


def test_links_and_sessions_expire(sessions: tuple[Sessions, Clock]) -> None:
    made, clock = sessions
    link, late = made.new_link(ADA), made.new_link(ADA)
    opened = made.open_by_link(link.token)
    clock.now += LINK_LIFE
    with pytest.raises(NotAuthenticated, match="expired"):
        made.open_by_link(late.token)
    assert made.find(opened.token) == opened.session
    clock.now += timedelta(hours=12)
    with pytest.raises(NotAuthenticated, match="ended"):
        made.find(opened.token)
    made.new_link(ADA)  # forgets what has expired
    assert made.store.session(opened.session.hash) is None


def test_a_link_is_no_session_and_a_session_no_link(sessions: tuple[Sessions, Clock]) -> None:
    made, _ = sessions
    link = made.new_link(ADA)
    with pytest.raises(NotAuthenticated):
        made.find(link.token)
    opened = made.open_by_link(link.token)
    with pytest.raises(NotAuthenticated):
        made.open_by_link(opened.token)


def test_of_many_browsers_that_use_a_link_at_once_one_gets_in(
    sessions: tuple[Sessions, Clock],
) -> None:
    made, _ = sessions
    link = made.new_link(ADA)

    def open_() -> NewSession | None:
        try:
            return made.open_by_link(link.token)
        except NotAuthenticated:
            return None

    with ThreadPoolExecutor(8) as pool:
        opened = [*pool.map(lambda _: open_(), range(16))]
    assert sum(each is not None for each in opened) == 1
