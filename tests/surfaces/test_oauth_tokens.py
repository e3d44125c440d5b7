"""Access tokens of a real provider open the API and MCP: OAuth 2.1 as MCP asks for it."""

from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from httpx2 import AsyncClient, Timeout
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl

from support import mcp as mcp_support
from support.http_server import Serving, serving
from support.mcp import answer, finished, refusal
from support.openid import OpenIdProvider, needs_provider, provider_running

pytestmark = needs_provider

STATS, MEMORIES, SESSION = "/api/v1/stats", "/api/v1/memories", "/api/v1/session"
ADA = {"email": "ada@example.org", "email_verified": True}


@pytest.fixture(scope="module")
def running() -> Iterator[OpenIdProvider]:
    with provider_running() as provider:
        yield provider


@pytest.fixture
def provider(running: OpenIdProvider) -> OpenIdProvider:
    running.set(account="ada", claims=ADA)
    return running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, running: OpenIdProvider) -> Iterator[Serving]:
    """A server of all these tests; none of them is too often at its door."""
    settings: dict[str, Any] = {"oauth_issuers": [running.issuer], "oidc_admin_groups": ["admins"]}
    store = tmp_path_factory.mktemp("tokens") / "memories.db"
    with serving(store, **settings, key_failures_per_minute=1_000) as started:
        started.bearinmind.accounts.add_user("ada@example.org")
        yield started


def token(provider: OpenIdProvider, server: Serving, **changes: Any) -> str:
    """A token for a server, as the provider makes them, with changes."""
    now = int(time.time())
    claims = {"iss": provider.issuer, "sub": "ada", "aud": f"{server.url}/mcp", "iat": now}
    claims |= {"exp": now + 600, "scope": "read write", **ADA}
    return provider.sign(**{k: v for k, v in (claims | changes).items() if v is not None})


def ask(server: Serving, bearer: str, path: str = STATS, **more: Any) -> httpx.Response:
    return server.bearing(bearer).get(path, **more)


# ---- the whole flow ------------------------------------------------------------------------------


class Storage:
    """What a client keeps."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def official(server: Serving, storage: Storage) -> OAuthClientProvider:
    """The OAuth of the official client, with a browser that follows where it is sent."""
    came_back: list[httpx.URL] = []

    async def browse(url: str) -> None:
        async with httpx.AsyncClient(trust_env=False, timeout=60) as browser:
            there = httpx.URL(url)
            for _ in range(10):  # redirects
                if there.path == "/came-back":
                    came_back.append(there)
                    return
                found = await browser.get(there)
                assert found.is_redirect, found.text
                there = found.url.join(found.headers["Location"])
            raise AssertionError("the provider goes round in circles")

    async def result() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**dict(came_back[-1].params))

    metadata = OAuthClientMetadata(
        client_name="a test", redirect_uris=[AnyUrl("http://127.0.0.1:1/came-back")]
    )
    return OAuthClientProvider(f"{server.url}/mcp", metadata, storage, browse, result)


def test_the_official_client_finds_the_provider_registers_and_gets_in(
    server: Serving, provider: OpenIdProvider
) -> None:
    storage = Storage()

    async def store_and_recall() -> tuple[str, dict[str, Any]]:
        auth = official(server, storage)
        async with AsyncClient(auth=auth, timeout=Timeout(60), trust_env=False) as http:
            transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
            async with Client(transport, mode="legacy", read_timeout_seconds=60) as client:
                await answer(client, "memory_store", content="The vault is behind the clock.")
                found = await answer(client, "memory_recall", query="Where is the vault?")
                return found["hits"][0]["memory"]["content"], found

    content, _ = finished(store_and_recall())
    assert content == "The vault is behind the clock."
    assert server.bearinmind.for_user("ada@example.org").stats().live == 1
    assert storage.client
    assert storage.tokens
    claims = jwt.decode(storage.tokens.access_token, options={"verify_signature": False})
    assert claims["aud"] == f"{server.url}/mcp"
    assert ask(server, storage.tokens.access_token).status_code == 200
    who = ask(server, storage.tokens.access_token, SESSION).json()
    assert (who["user"], who["access"], who["via"]) == ("ada@example.org", "write", "token")


def test_who_comes_without_a_token_is_told_where_to_get_one(
    server: Serving, provider: OpenIdProvider
) -> None:
    with server.client() as client:
        for path in ("/mcp", STATS):
            method = "POST" if path == "/mcp" else "GET"
            challenge = client.request(method, path).headers["WWW-Authenticate"]
            place = challenge.partition('resource_metadata="')[2].rstrip('"')
            found = client.get(place).json()
            assert found["resource"] == (f"{server.url}/mcp" if path == "/mcp" else server.url)
            assert found["authorization_servers"] == [provider.issuer]
            assert found["scopes_supported"] == ["read", "write", "admin"]


# ---- what a token permits ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "access"),
    [
        ({"scope": "read"}, "read"),
        ({"scope": "openid write"}, "write"),
        ({"scope": "admin"}, "write"),  # what anybody may ask a provider for
        ({"scope": "admin", "groups": ["admins"]}, "admin"),
        ({"scope": "read", "groups": ["admins"]}, "read"),
        ({"scope": None, "scp": ["read", "x"]}, "read"),
        ({"scope": None, "scp": "write"}, "write"),
    ],
)
def test_a_token_permits_what_its_scopes_say_and_the_settings_allow(
    server: Serving, provider: OpenIdProvider, changes: dict[str, Any], access: str
) -> None:
    assert ask(server, token(provider, server, **changes), SESSION).json()["access"] == access


def test_a_scope_that_is_missing_is_named(server: Serving, provider: OpenIdProvider) -> None:
    reading = token(provider, server, scope="read")
    refused = server.bearing(reading).post(MEMORIES, json={"content": "no"})
    assert refused.status_code == 403
    challenge = refused.headers["WWW-Authenticate"]
    assert 'error="insufficient_scope", scope="write"' in challenge
    none = ask(server, token(provider, server, scope="openid"))
    assert none.status_code == 403
    assert 'scope="read"' in none.headers["WWW-Authenticate"]

    async def store() -> dict[str, Any]:
        async with mcp_support.over_http(server.url, reading) as client:
            await answer(client, "memory_count")
            return await refusal(client, "memory_store", content="No.")

    assert finished(store())["code"] == "not_allowed"


# ---- what is no token for this server ------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"aud": "https://other.example/mcp"}, "is for another server"),
        ({"aud": "bearinmind"}, "is for another server"),  # an id token
        ({"aud": None}, "lacks a claim"),
        ({"exp": 1_000_000_000}, "has expired"),
        ({"exp": None}, "lacks a claim"),
        ({"nbf": 99_999_999_999}, "is not good yet"),
        ({"iss": "https://other.example"}, "a provider that is not known here"),
        ({"sub": None}, "lacks a claim"),
    ],
)
def test_a_token_that_is_not_for_us_and_now_is_refused(
    server: Serving, provider: OpenIdProvider, changes: dict[str, Any], said: str
) -> None:
    refused = ask(server, token(provider, server, **changes))
    assert refused.status_code == 401, refused.text
    assert said in refused.json()["detail"]
    assert 'error="invalid_token"' in refused.headers["WWW-Authenticate"]


def hashed(head: str, body: str, secret: bytes) -> str:
    digest = hmac.digest(secret, f"{head}.{body}".encode(), "sha256")
    return f"{head}.{body}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def part(of: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(of).encode()).decode().rstrip("=")


def test_a_token_that_the_provider_did_not_sign_is_refused(
    server: Serving, provider: OpenIdProvider
) -> None:
    good = token(provider, server)
    assert ask(server, good).status_code == 200
    head, body, signature = good.split(".")
    kid = jwt.get_unverified_header(good)["kid"]
    public = httpx.get(f"{provider.issuer}/jwks", trust_env=False).content
    claims = jwt.decode(good, options={"verify_signature": False})
    other = part(claims | {"email": "mallory@example.org"})
    for forged in (
        f"{head}.{other}.{signature}",
        f"{part({'alg': 'none', 'kid': kid})}.{body}.{signature}",
        f"{part({'alg': 'none'})}.{body}.",
        hashed(part({"alg": "HS256", "kid": kid}), body, public),  # as if it were a secret
        jwt.encode(claims, "s" * 64, "HS256", {"kid": "unknown"}),
        f"{part({'alg': 'RS256', 'kid': kid, 'crit': ['x'], 'x': 1})}.{body}.{signature}",
        f"{head}.{body}.{'A' * len(signature)}",
        f"{head}.{part({'iss': provider.issuer})}.{signature}",
        f"{head}.{'x' * 40}.{signature}",
    ):
        assert ask(server, forged).status_code == 401, forged


def test_a_token_for_another_server_of_this_machine_is_of_no_use_under_its_name(
    server: Serving, provider: OpenIdProvider
) -> None:
    """Without a `server_url` a server believes the name by which it is asked, but not the port."""
    port = int(server.url.rpartition(":")[2])
    other = f"127.0.0.1:{port + 1}"
    stolen = token(provider, server, aud=f"http://{other}/mcp")
    assert ask(server, stolen, headers={"Host": other}).status_code == 401
    assert ask(server, token(provider, server, aud=server.url)).status_code == 200


def test_whom_this_server_does_not_know_gets_nothing(
    server: Serving, provider: OpenIdProvider
) -> None:
    unknown = ask(server, token(provider, server, email="mallory@example.org"))
    assert unknown.status_code == 403
    assert "mallory@example.org" in unknown.json()["detail"]
    assert ask(server, token(provider, server, email_verified=False)).status_code == 403
    server.bearinmind.accounts.disable_user("ada@example.org")
    assert ask(server, token(provider, server)).status_code == 403
    server.bearinmind.accounts.enable_user("ada@example.org")
    assert ask(server, token(provider, server)).status_code == 200


def test_keys_of_this_server_are_good_beside_tokens(
    server: Serving, provider: OpenIdProvider
) -> None:
    assert server.client("bob").get(STATS).status_code == 200
    assert ask(server, "bim_aaaaaaaaaaaa_" + "b" * 43).status_code == 401


def test_tokens_are_limited_by_user_like_keys(tmp_path: Path, provider: OpenIdProvider) -> None:
    settings = {"oauth_issuers": [provider.issuer], "key_per_minute": 3}
    settings |= {"oidc_create": True, "oidc_domains": ["example.org"]}
    with serving(tmp_path / "memories.db", **settings) as server:
        statuses = [ask(server, token(provider, server, jti=n)).status_code for n in "abcde"]
        assert statuses == [200, 200, 200, 429, 429]


# ---- the provider changes ------------------------------------------------------------------------


def test_a_key_that_the_provider_changes_is_followed_and_the_old_one_not_taken(
    tmp_path: Path,
) -> None:
    """And while the provider is down, tokens of the keys that it had are good."""
    with provider_running() as provider:
        provider.set(claims=ADA)
        settings: dict[str, Any] = {"oauth_issuers": [provider.issuer], "oidc_create": True}
        settings["oidc_domains"] = ["*"]
        with serving(tmp_path / "memories.db", **settings) as server:
            old = token(provider, server)
            assert ask(server, old).status_code == 200
            provider.set(rotate=True)
            good = token(provider, server)
            assert ask(server, good).status_code == 200
            assert ask(server, old).status_code == 401
            late = token(provider, server, jti="late")
            provider.process.kill()
            provider.process.wait()
            assert ask(server, good).status_code == 200
            assert ask(server, late).status_code == 200
        with serving(tmp_path / "memories.db", **settings) as server:
            refused = ask(server, good)
            assert refused.status_code == 503
            assert refused.json()["code"] == "provider_failure"
            assert "Traceback" not in refused.text
