"""The views of the page, and how a test opens, reads, uses and fills them."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from bearinmind.app import Mind
from bearinmind.learn.model import Message, Role
from bearinmind.types import Access
from support.browser import Browser
from support.http_server import Serving

PAGE = 30  # memories of a page of the list
LEGS = {"embedder": "hash"}  # two legs, without the wait for a model
SEALED = "The canary of the vault is 4711."
AXE = Path(__file__).parent / "vendor/axe.min.js.gz"


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
    """Memories of two users, with a past, links, shares, a secret and sessions."""
    for number in range(PAGE + 5):
        ada.store(
            f"Deploy number {number} went well.",
            tags=["deploys"],
            category="projects",
            session="friday talk",
        )
    old = ada.store("Deploys run on Thursdays.", tags=["deploys"]).memory.id
    new = ada.store(
        "Deploys run on Fridays.",
        tags=["deploys"],
        supersedes=[old],
        created_at=_days_ago(3.1),
    ).memory.id
    cause = ada.store("Thursdays are for meetings.", category="decisions").memory.id
    ada.link(new, "derives-from", cause)
    ada.update(new, content="Deploys run on Fridays at noon.", importance=0.9)
    ada.share(new, "bob", "read")
    jenkins = ada.store("Jenkins runs our builds.", created_at=_days_ago(200)).memory.id
    actions = ada.store("GitHub Actions runs our builds.", created_at=_days_ago(60)).memory.id
    ada.resolve(actions, "newer", jenkins)
    secret = ada.store(SEALED, sensitive=True).memory.id
    shared = bob.store("Refunds need finance.", tags=["payments"]).memory.id
    bob.share_tag("payments", "ada", "write")
    alone = bob.store("Refunds of finance are bob's own business.").memory.id
    for text in ("From now on deploy from the main branch only.", "Always squash the commits."):
        ada.learn([Message(role=Role.USER, text=text)])
    ada.curation.apply(ada.curation.proposals()[0].id)
    ada.work.run()
    return {
        "old": old,
        "new": new,
        "cause": cause,
        "jenkins": jenkins,
        "actions": actions,
        "secret": secret,
        "shared": shared,
        "alone": alone,
    }


def _days_ago(days: float) -> datetime:
    return datetime.now(UTC) - timedelta(days=days)


# ---- opening ---------------------------------------------------------------------------------

REFUSED = "Failed to load resource"  # what Chromium itself logs of an answer that is an error
READY = "return document.querySelector('h1') && !document.querySelector('[aria-busy]')"
_SIGN_IN = """
window.entered = 0;
const headers = {'X-Bear-In-Mind': 'page', 'Content-Type': 'application/json'};
headers.Authorization = `Bearer ${arguments[0]}`;
fetch('/api/v1/session', {method: 'POST', headers, body: '{}'})
  .then((answer) => { window.entered = answer.status; });
"""


def enter(
    tab: Browser, server: Serving, user: str = "ada", access: Access | str = Access.WRITE
) -> None:
    """A tab in which a user is signed in, with nothing left from other tests."""
    tab.visit(f"{server.url}/page/style.css")  # the same origin, and nothing to draw
    tab.run("sessionStorage.clear(); localStorage.clear()")
    tab.run(_SIGN_IN, server.key(user, access))
    assert tab.wait("return window.entered") == 201


def go(tab: Browser, server: Serving, address: str) -> None:
    """A view, to whoever the tab already knows."""
    tab.visit(server.url + address)
    tab.wait(READY)


def show(tab: Browser, filled: Filled, address: str, user: str = "ada") -> None:
    """A view of a user, as soon as it is there."""
    enter(tab, filled.server, user)
    go(tab, filled.server, address)


# ---- reading ---------------------------------------------------------------------------------


def text(tab: Browser, selector: str = "main") -> str:
    return str(tab.run("return document.querySelector(arguments[0]).innerText", selector))


def texts(tab: Browser, selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)"
    return [str(each).strip() for each in tab.run(script, selector)]


def items(tab: Browser, within: str = "main") -> list[str]:
    """The memories of a list, by id."""
    script = (
        "return [...document.querySelectorAll(`${arguments[0]} [data-item]`)]"
        ".map((each) => each.dataset.item)"
    )
    return [str(each) for each in tab.run(script, within)]


def focused(tab: Browser) -> str:
    return str(tab.run("return document.activeElement.dataset.item ?? document.activeElement.id"))


def sees(tab: Browser, words: str, selector: str = "body") -> None:
    """Waits until an element has some words."""
    found = "return document.querySelector(arguments[0])?.innerText.includes(arguments[1])"
    tab.wait(found, selector, words)


_AXE = """
window.found = null;
axe.run(document, {resultTypes: ['violations']}).then(({violations}) => {
  const told = ({id, nodes}) => [id, ...nodes.slice(0, 3).map((each) => each.html)];
  window.found = {all: violations.map(told)};
});
"""


def violations(tab: Browser) -> list[Any]:
    """What axe finds wrong with the page as it is."""
    if not tab.run("return Boolean(window.axe)"):
        tab.run(gzip.decompress(AXE.read_bytes()).decode())
    tab.run(_AXE)
    found: list[Any] = tab.wait("return window.found")["all"]
    return found


# ---- using -----------------------------------------------------------------------------------

_BUTTON = """
const [label, within] = arguments;
const roots = [...document.querySelectorAll(within)];
const named = (each) => each.getAttribute('aria-label') ?? each.innerText.trim();
return roots.flatMap((root) => [...root.querySelectorAll('button, a, summary, [role=option]')])
  .find((each) => !each.disabled && named(each).startsWith(label));
"""


def click(tab: Browser, label: str, within: str = "body") -> None:
    """Presses the button or follows the link that begins with a label, once it is there."""
    tab.wait(
        f"const find = function () {{ {_BUTTON} }}; "
        "const each = find(...arguments); each?.click(); return Boolean(each)",
        label,
        within,
    )


def write(tab: Browser, selector: str, words: str) -> None:
    """Types into a field in place of what is in it."""
    tab.wait("return document.querySelector(arguments[0])", selector)
    tab.run("const e = document.querySelector(arguments[0]); e.focus(); e.select?.()", selector)
    tab.press(*words)


def pick(tab: Browser, selector: str, words: str, option: str) -> None:
    """Types into a field in which something is picked, and picks it with the keyboard."""
    write(tab, selector, words)
    tab.wait(
        "if (document.querySelector('[role=combobox][aria-busy]')) return false;"
        "const options = [...document.querySelectorAll('[role=option]')];"
        "const at = options.findIndex((each) => each.innerText.includes(arguments[0]));"
        "if (at < 0) return false;"
        "if (options[at].getAttribute('aria-selected') === 'true') return true;"
        "document.activeElement.dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'ArrowDown', bubbles: true})); return false",
        option,
    )
    tab.press("enter")


VIEWS = {
    "opening": "/",
    "recall": at("recall", q="when do deploys run"),
    "nothing": at("recall", q="zebra xylophone"),
    "memories": at("memories", state="all"),
    "memory": "/#/memory/{new}",
    "sealed": "/#/memory/{secret}",
    "inbox": at("inbox"),
    "decided": at("inbox", show="decided"),
    "graph": at("graph", about="deploys"),
    "time": at("time", thing="our builds"),
    "no memory": "/#/memory/zzzzzzzzzzzz",
    "nowhere": "/#/somewhere",
}


def address(filled: Filled, view: str) -> str:
    return VIEWS[view].format_map(filled.ids)
