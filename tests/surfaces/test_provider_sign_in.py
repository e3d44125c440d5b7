"""People sign in at a real OpenID provider, by a browser's redirects over real HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest

from bearinmind.errors import InvalidSetting
from support.http_server import Serving, serving
from support.openid import CLIENT, SECRET, OpenIdProvider, needs_provider, provider_running

pytestmark = needs_provider

SESSION = "/api/v1/session"
ADA = {"email": "Ada@Example.org", "email_verified": True, "groups": ["team"]}


@pytest.fixture(scope="module")
def running() -> Iterator[OpenIdProvider]:
    with provider_running() as provider:
        yield provider


@pytest.fixture
def provider(running: OpenIdProvider) -> OpenIdProvider:
    """The provider as it is at first; ada has signed in at it, or will at once."""
    running.set(account="ada", claims=ADA, codeSeconds=60, refuse=None, idToken=None)
    return running


def at(provider: OpenIdProvider, **settings: Any) -> dict[str, Any]:
    """The settings of a server at which people of a provider sign in."""
    known = {"oidc_client_id": CLIENT, "oidc_client_secret": SECRET}
    return {"oauth_issuers": [provider.issuer], **known, **settings}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, running: OpenIdProvider) -> Iterator[Serving]:
    """A server of most of these tests; none of them is too often at its door."""
    store = tmp_path_factory.mktemp("sign-in") / "memories.db"
    with serving(store, **at(running, key_failures_per_minute=1_000)) as started:
        started.bearinmind.accounts.add_user("ada@example.org")
        yield started


@pytest.fixture
def server(shared: Serving, provider: OpenIdProvider) -> Serving:
    provider.set(redirect=f"{shared.url}/signin/callback")
    return shared


@pytest.fixture
def browser() -> Iterator[httpx.Client]:
    with httpx.Client(trust_env=False, timeout=60, headers={"Accept": "text/html"}) as client:
        yield client


def go(browser: httpx.Client, url: str, until: str) -> httpx.Response:
    """Follow redirects as a browser does, up to the one that leads to an address."""
    answer = browser.get(url)
    while answer.is_redirect:
        there = str(answer.url.join(answer.headers["Location"]))
        if there.startswith(until):
            return answer
        answer = browser.get(there)
    return answer


def sign_in(browser: httpx.Client, server: Serving) -> httpx.Response:
    """The answer to the browser that comes back from the provider."""
    return browser.get(callback(browser, server))


def callback(browser: httpx.Client, server: Serving) -> str:
    """Where the provider sends the browser back to."""
    back = f"{server.url}/signin/callback"
    answer = go(browser, f"{server.url}/signin", back)
    assert answer.is_redirect, answer.text
    return str(answer.url.join(answer.headers["Location"]))


def who(browser: httpx.Client, server: Serving) -> httpx.Response:
    return browser.get(server.url + SESSION)


def with_query(url: str, **fields: str) -> str:
    parts = urlsplit(url)
    asked = {name: values[0] for name, values in parse_qs(parts.query).items()} | fields
    return parts._replace(query=urlencode(asked)).geturl()


def refused(answer: httpx.Response, status: HTTPStatus, said: str) -> None:
    """Check that somebody was told why in words, got no session, and was sent nowhere."""
    assert answer.status_code == status, answer.text
    assert said in answer.text
    assert "Traceback" not in answer.text
    assert "Location" not in answer.headers
    assert "httponly" not in answer.headers.get("Set-Cookie", "").lower() or (
        "max-age=0" in answer.headers["Set-Cookie"].lower()
    )


# ---- in and out ----------------------------------------------------------------------------------


def test_a_person_signs_in_at_the_provider_and_has_the_session_of_everybody_else(
    browser: httpx.Client, server: Serving, provider: OpenIdProvider
) -> None:
    asked = browser.get(f"{server.url}{SESSION}/provider").json()
    assert asked == {"provider": urlsplit(provider.issuer).netloc}
    assert who(browser, server).status_code == 401
    answer = sign_in(browser, server)
    assert answer.status_code == 303
    assert answer.headers["Location"] == "/"
    cookie = next(c for c in answer.headers.get_list("Set-Cookie") if "attempt" not in c)
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    found = who(browser, server).json()
    assert (found["user"], found["access"], found["via"]) == ("ada@example.org", "write", "session")

    own = {"Origin": server.url, "X-Bear-In-Mind": "page"}
    assert browser.post(
        f"{server.url}/api/v1/memories", json={"content": "hi"}, headers=own
    ).is_success
    assert browser.get(f"{server.url}/api/v1/users").status_code == 403
    assert browser.delete(server.url + SESSION, headers=own).status_code == 200
    assert who(browser, server).status_code == 401
    actions = server.bearinmind.accounts.audit(everybody=True)
    assert [(e.action, e.detail) for e in actions[:2]] == [
        ("sign out", None),
        ("sign in", "by a provider"),
    ]


def test_signing_out_at_the_provider_leads_back_here(
    browser: httpx.Client, server: Serving, provider: OpenIdProvider
) -> None:
    sign_in(browser, server)
    answer = browser.get(f"{server.url}/signin/end")
    assert answer.status_code == 303
    there = answer.headers["Location"]
    assert there.startswith(f"{provider.issuer}/session/end?")
    assert parse_qs(urlsplit(there).query)["post_logout_redirect_uri"] == [f"{server.url}/"]
    assert browser.get(there).status_code == 200


def test_a_disabled_user_is_out_at_once(browser: httpx.Client, server: Serving) -> None:
    sign_in(browser, server)
    server.bearinmind.accounts.disable_user("ada@example.org")
    assert who(browser, server).status_code == 401
    refused(sign_in(browser, server), HTTPStatus.FORBIDDEN, "not known here, or is disabled")
    server.bearinmind.accounts.enable_user("ada@example.org")


def test_what_the_id_token_does_not_say_is_asked_for(
    browser: httpx.Client, server: Serving, provider: OpenIdProvider
) -> None:
    """The provider of these tests tells an address only to who asks, as the standard says."""
    assert sign_in(browser, server).status_code == 303
    provider.set(claims={}, idToken=ADA)
    assert sign_in(browser, server).status_code == 303


# ---- what does not lead in -----------------------------------------------------------------------


def test_an_answer_with_another_state_is_refused(browser: httpx.Client, server: Serving) -> None:
    back = callback(browser, server)
    for state in ("", "x", "é" * 10):
        refused(
            browser.get(with_query(back, state=state)),
            HTTPStatus.UNAUTHORIZED,
            "belongs to no sign-in",
        )
    assert who(browser, server).status_code == 401


def test_an_answer_for_another_browser_is_refused(browser: httpx.Client, server: Serving) -> None:
    """Otherwise somebody could have others store what they say under a stranger's name."""
    back = callback(browser, server)
    with httpx.Client(trust_env=False) as victim:
        refused(victim.get(back), HTTPStatus.UNAUTHORIZED, "belongs to no sign-in")
        victim.get(f"{server.url}/signin")
        refused(victim.get(back), HTTPStatus.UNAUTHORIZED, "belongs to no sign-in")


def test_a_token_with_another_nonce_is_refused(browser: httpx.Client, server: Serving) -> None:
    begun = browser.get(f"{server.url}/signin").headers["Location"]
    back = f"{server.url}/signin/callback"
    answer = go(browser, with_query(begun, nonce="another"), back)
    refused(browser.get(answer.headers["Location"]), HTTPStatus.UNAUTHORIZED, "another sign-in")


def test_a_code_is_good_once(browser: httpx.Client, server: Serving) -> None:
    back = callback(browser, server)
    with httpx.Client(trust_env=False, cookies=httpx.Cookies(browser.cookies)) as thief:
        assert browser.get(back).status_code == 303
        refused(thief.get(back), HTTPStatus.UNAUTHORIZED, "good once")


def test_a_code_is_not_good_for_long(
    browser: httpx.Client, server: Serving, provider: OpenIdProvider
) -> None:
    provider.set(codeSeconds=1)
    back = callback(browser, server)
    time.sleep(2)
    refused(browser.get(back), HTTPStatus.UNAUTHORIZED, "for a short time")


def test_a_code_that_was_asked_for_without_its_verifier_is_refused(
    browser: httpx.Client, server: Serving
) -> None:
    begun = browser.get(f"{server.url}/signin").headers["Location"]
    answer = go(
        browser, with_query(begun, code_challenge="x" * 43), f"{server.url}/signin/callback"
    )
    refused(browser.get(answer.headers["Location"]), HTTPStatus.UNAUTHORIZED, "invalid_grant")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"aud": "another-client"}, "is for another server"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "is for another client"),
        ({"iss": "https://other.example"}, "was made by another provider"),
        ({"exp": 1_000_000_000}, "has expired"),
        ({"nonce": "another"}, "belongs to another sign-in"),
        ({"sub": None}, "lacks a claim"),
    ],
)
def test_an_id_token_that_is_not_for_us_and_now_is_refused(
    browser: httpx.Client,
    server: Serving,
    provider: OpenIdProvider,
    changes: dict[str, Any],
    said: str,
) -> None:
    provider.set(idToken=changes)
    refused(sign_in(browser, server), HTTPStatus.UNAUTHORIZED, said)


def test_what_the_provider_refuses_is_told_without_its_words(
    browser: httpx.Client, server: Serving, provider: OpenIdProvider
) -> None:
    provider.set(refuse="access_denied")
    refused(sign_in(browser, server), HTTPStatus.UNAUTHORIZED, "did not let you in: access_denied")
    begun = browser.get(f"{server.url}/signin").headers["Location"]
    [state] = parse_qs(urlsplit(begun).query)["state"]
    planted = urlencode(
        {"state": state, "error": "<script>alert(1)</script>", "error_description": "evil"}
    )
    answer = browser.get(f"{server.url}/signin/callback?{planted}")
    refused(answer, HTTPStatus.UNAUTHORIZED, "scriptalert1script")
    assert "<script" not in answer.text
    assert "evil" not in answer.text


def test_nobody_is_sent_elsewhere(
    browser: httpx.Client, server: Serving, provider: OpenIdProvider
) -> None:
    for path in ("/signin", "/signin/callback", "/signin/end"):
        for field in ("next", "redirect_uri", "return_to", "url", "post_logout_redirect_uri"):
            answer = browser.get(f"{server.url}{path}", params={field: "https://evil.example/"})
            assert "evil.example" not in answer.headers.get("Location", "")
            assert "evil.example" not in answer.text
    assert sign_in(browser, server).headers["Location"] == "/"


def test_an_address_may_fail_only_so_often(
    tmp_path: Path, browser: httpx.Client, provider: OpenIdProvider
) -> None:
    settings = at(provider, key_failures_per_minute=2)
    with serving(tmp_path / "memories.db", **settings) as server:
        provider.set(redirect=f"{server.url}/signin/callback", idToken={"aud": "another"})
        statuses = [sign_in(browser, server).status_code for _ in range(4)]
        assert statuses == [401, 401, 429, 429]


def test_keys_that_the_provider_changes_are_followed_and_when_it_is_down_only_its_people_are_out(
    tmp_path: Path, browser: httpx.Client
) -> None:
    with provider_running() as provider:
        provider.set(claims=ADA)
        with serving(tmp_path / "memories.db", **at(provider)) as server:
            key = server.headers("ada@example.org")
            provider.set(redirect=f"{server.url}/signin/callback")
            assert sign_in(browser, server).status_code == 303
            provider.set(rotate=True)
            assert sign_in(browser, server).status_code == 303
            back = callback(browser, server)
            provider.process.kill()
            provider.process.wait()
            refused(browser.get(back), HTTPStatus.SERVICE_UNAVAILABLE, "does not answer")
            assert browser.get(f"{server.url}/api/v1/stats", headers=key).status_code == 200
        with serving(tmp_path / "memories.db", **at(provider)) as server:
            answer = browser.get(f"{server.url}/signin", headers={"Accept": "application/json"})
            assert answer.status_code == 503
            assert answer.json()["code"] == "provider_failure"


# ---- who is let in as whom -----------------------------------------------------------------------


def test_who_is_not_known_is_not_let_in(
    browser: httpx.Client, server: Serving, provider: OpenIdProvider
) -> None:
    provider.set(claims=ADA | {"email": "mallory@example.org"})
    refused(sign_in(browser, server), HTTPStatus.FORBIDDEN, "mallory@example.org")
    for claims in ({}, ADA | {"email_verified": False}, ADA | {"email": "ad\u0430@example.org"}):
        provider.set(claims=claims)
        refused(sign_in(browser, server), HTTPStatus.FORBIDDEN, "has verified")


CASES: list[tuple[dict[str, Any], list[tuple[dict[str, Any], str | None]]]] = [
    (
        {"oidc_domains": ["Example.org"]},
        [
            (ADA | {"email": "ada@example.org.evil"}, "not let in"),
            (ADA | {"email": "ada@evil-example.org"}, "not let in"),
            (ADA | {"email": "ada@example.org", "email_verified": False}, "no verified address"),
            (ADA | {"email": "a+b@example.org"}, "cannot be the name"),
            (ADA, None),
        ],
    ),
    (
        {"oidc_groups": ["team"], "oidc_domains": ["*"]},
        [
            (ADA | {"groups": ["others", {"name": "team"}]}, "in no group"),
            (ADA | {"groups": None}, "in no group"),
            (ADA | {"groups": "team"}, None),
        ],
    ),
]


@pytest.mark.parametrize(("settings", "people"), CASES)
def test_who_is_new_is_added_if_the_rules_let_them_in(
    tmp_path: Path,
    browser: httpx.Client,
    provider: OpenIdProvider,
    settings: dict[str, Any],
    people: list[tuple[dict[str, Any], str | None]],
) -> None:
    with serving(tmp_path / "memories.db", **at(provider, oidc_create=True, **settings)) as server:
        for claims, said in people:
            assert server.bearinmind.accounts.users() == []
            provider.set(redirect=f"{server.url}/signin/callback", claims=claims)
            answer = sign_in(browser, server)
            if said is None:
                assert answer.status_code == 303
            else:
                assert answer.status_code in {403, 422}
                assert said in answer.text
        assert who(browser, server).json()["user"] == "ada@example.org"
        assert [user.name for user in server.bearinmind.accounts.users()] == ["ada@example.org"]


def test_names_may_differ_and_groups_may_administer(
    tmp_path: Path, browser: httpx.Client, provider: OpenIdProvider
) -> None:
    settings = at(
        provider, oidc_claim="sub", oidc_users={"ada": "countess"}, oidc_admin_groups=["team"]
    )
    with serving(tmp_path / "memories.db", **settings) as server:
        server.bearinmind.accounts.add_user("countess")
        provider.set(redirect=f"{server.url}/signin/callback")
        sign_in(browser, server)
        found = who(browser, server).json()
        assert (found["user"], found["access"]) == ("countess", "admin")


def test_behind_https_both_cookies_are_for_https_alone(
    tmp_path: Path, provider: OpenIdProvider
) -> None:
    url = "https://memory.example"
    with serving(tmp_path / "memories.db", **at(provider, server_url=url)) as server:
        answer = server.client().get("/signin", headers={"Host": "memory.example"})
        asked = parse_qs(urlsplit(answer.headers["Location"]).query)
        assert asked["redirect_uri"] == [f"{url}/signin/callback"]
        assert asked["code_challenge_method"] == ["S256"]
        assert answer.headers["Set-Cookie"].startswith("__Host-bearinmind-attempt=")
        assert "Secure" in answer.headers["Set-Cookie"]
        assert "samesite=lax" in answer.headers["Set-Cookie"].lower()


def test_a_server_without_a_provider_has_no_such_door(tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db") as server, server.client() as client:
        assert client.get(f"{SESSION}/provider").json() == {"provider": None}
        for path in ("/signin", "/signin/callback", "/signin/end"):
            assert client.get(path).status_code == 404


def test_a_server_that_others_reach_says_for_whom_tokens_are(
    tmp_path: Path, provider: OpenIdProvider
) -> None:
    settings = {"server_host": "0.0.0.0", **at(provider)}  # noqa: S104
    with (
        pytest.raises(InvalidSetting, match="server_url"),
        serving(tmp_path / "memories.db", **settings),
    ):
        pass
