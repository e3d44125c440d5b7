"""The views of the first page, and how a test opens, reads and fills them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from bearinmind.app import Mind
from bearinmind.learn.model import Message, Role
from bearinmind.types import Access
from support.browser import Browser
from support.http_server import Serving

PAGE = 20  # memories of a page of the list
LEGS = {"embedder": "hash"}  # two legs, without the wait for a model


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


def fill(ada: Mind, bob: Mind) -> dict[str, str]:
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
    for text in ("From now on deploy from the main branch only.", "Always squash the commits."):
        ada.learn([Message(role=Role.USER, text=text)])
    ada.curation.apply(ada.curation.proposals()[0].id)
    ada.work.run()
    return {"old": old, "new": new, "cause": cause, "shared": shared, "alone": alone}


REFUSED = "Failed to load resource"  # what Chromium itself logs of an answer that is an error
READY = "return document.querySelector('h1') && !document.querySelector('[aria-busy]')"


def enter(tab: Browser, server: Serving, user: str = "ada") -> None:
    """A tab that has a key of a user."""
    tab.visit(f"{server.url}/healthz")  # the same origin, and nothing to draw
    tab.run("sessionStorage.setItem('bearinmind.key', arguments[0])", server.key(user, Access.READ))


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
    "inbox": at("inbox"),
    "decided": at("inbox", show="decided"),
    "why-not": at("why-not", q="deploys", limit=1) + "&id={cause}",
    "nothing": "/#/memory/zzzzzzzzzzzz",
}


def address(filled: Filled, view: str) -> str:
    return VIEWS[view].format_map(filled.ids)
