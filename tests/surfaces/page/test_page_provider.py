"""In a real browser people get in by a real provider: cookies and redirects as browsers do them."""

from __future__ import annotations

from pathlib import Path

from support.browser import Browser
from support.http_server import serving
from support.openid import CLIENT, SECRET, needs_provider, provider_running
from support.page_views import violations

pytestmark = needs_provider

HAS = "return document.querySelector('main')?.innerText.includes(arguments[0])"
FOLLOW = """
const [text] = arguments;
const all = [...document.querySelectorAll('a, button')];
const found = all.find((each) => each.innerText.includes(text));
found?.click();
return Boolean(found);
"""


def test_a_browser_signs_in_at_the_provider_and_out_again(tab: Browser, tmp_path: Path) -> None:
    with provider_running() as provider:
        known = {"oidc_client_id": CLIENT, "oidc_client_secret": SECRET, "oidc_create": True}
        known |= {"oauth_issuers": [provider.issuer], "oidc_domains": ["example.org"]}
        with serving(tmp_path / "memories.db", **known) as server:
            claims = {"email": "ada@example.org", "email_verified": True}
            provider.set(claims=claims, redirect=f"{server.url}/signin/callback")
            tab.visit(f"{server.url}/#/signin")
            tab.wait(HAS, "Sign in with")
            assert violations(tab) == []
            tab.wait(FOLLOW, "Sign in with")
            person = "return document.querySelector('.person')?.textContent.trim()"
            assert tab.wait(person) == "ada@example.org"
            assert tab.run("return location.pathname + location.search") == "/"
            assert tab.run("return document.cookie") == ""

            tab.run("location.hash = '#/signin'")
            tab.wait(HAS, "You are signed in")
            tab.wait(FOLLOW, "Sign out")
            tab.wait(HAS, "These memories are private")

            provider.set(claims=claims | {"email": "eve@evil.example"})
            tab.wait(FOLLOW, "Sign in with")
            said = "return document.body.innerText.includes(arguments[0])"
            tab.wait(said, "which is not let in here")
            tab.wait(said, "You are not signed in")
            assert tab.wait(FOLLOW, "Try again")
            tab.wait(HAS, "These memories are private")
