"""Secrets are put in through every door of a server, and then looked for in all that it says.

Only `secrets.reveal` tells one, and only to its owner. A key is shown only when it is made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from mcp import Client, MCPError

from bearinmind.app import Mind
from bearinmind.surfaces.mcp.tools import BY_TOOL
from bearinmind.surfaces.verbs.table import EVERY_VERB
from bearinmind.surfaces.verbs.verb import Verb
from support.canaries import DETECTED, FLAGGED, SHAPES, leaks
from support.canary_server import LINES, PLAIN, ROOT, TAG, TELLING, VERBS, House, path_of, secret_of
from support.http_server import served
from support.mcp import MODES, finished, over_http


@pytest.fixture
def house(place: str, tmp_path: Path) -> Iterator[House]:
    with Mind.open(place, embedder="none") as memory:
        keys = {}
        for name, access in (("root", "admin"), ("ada", "write"), ("bob", "write")):
            memory.accounts.add_user(name)
            keys[name] = memory.accounts.create_key(name, access=access).text
    settings = {"capture_queries": True, "key_failures_per_minute": 1_000_000}
    with (
        served(place, tmp_path / "server.log", **settings) as server,
        httpx.Client(base_url=server.url, timeout=60, trust_env=False) as client,
    ):
        yield House(server, client, place, keys)


# ---- putting in --------------------------------------------------------------------------------


def put_in(house: House) -> None:
    """Secrets by every way in which a memory comes over HTTP, and something that is none."""
    house.verb("store", content=f"a boat in the {TAG} called {PLAIN}", tags=[TAG])
    for shape in SHAPES:
        flag: dict[str, Any] = {"sensitive": True} if shape == FLAGGED else {}
        stored, changed = house.make(shape), house.make(shape)
        made = house.verb("store", content=stored.text, tags=[TAG], keywords=[TAG], **flag)
        assert made["memory"]["sensitive"]
        house.kept[made["memory"]["id"]] = stored
        begun = house.verb("store", content=f"a harmless {shape} in the {TAG}", tags=[TAG])
        id_ = begun["memory"]["id"]
        assert house.verb("update", id=id_, content=changed.text, **flag)["sensitive"]
        house.kept[id_] = changed
    lines = [
        {"content": house.make("password").text},
        {"content": house.make(FLAGGED).text, "sensitive": True},
        {"content": "x", "tags": [house.make("github").text]},
        {"content": house.make("github").text, "importance": 7},
        {"content": house.make("github").text, "created_at": house.make("github").text},
    ]
    for packed in ("\n".join(map(json.dumps, lines)), '{"content": "' + house.next().text):
        house.ask("ada", "POST", f"{ROOT}/import", content=packed, headers=LINES)


def decide_on_proposals(house: House) -> None:
    """What waits and can be taken back, and what is decided against."""
    for text, verbs in (
        (f"From now on use the green {TAG}.", ("curation.apply", "curation.undo")),
        (f"Always use the {TAG} at night.", ("curation.dismiss",)),
    ):
        house.verb("learn", messages=[{"role": "user", "text": text}])
        waiting = house.verb("curation.proposals")["proposals"][0]["id"]
        for verb in ("curation.proposal", *verbs):
            house.verb(verb, id=waiting)


def ask_as_a_replica(house: House) -> None:
    """What a machine of Bob's asks for what others share with him."""
    seen = house.ask("bob", "GET", f"{ROOT}/sync/shared").json()["page"]["seen"]
    asked = {"owner": "ada", "memories": [*{each["id"] for each in seen}, *house.kept]}
    answer = house.ask("bob", "POST", f"{ROOT}/sync/shared", json=asked).json()["found"]
    assert {each["id"] for each in answer["memories"]} == {each["id"] for each in seen}


def use_every_verb(house: House) -> None:
    """Every verb, about sensitive memories where it can be."""
    secret, other = [*house.kept][:2]
    plain = house.verb("list", tags=[TAG], limit=1)["memories"][0]["id"]
    new = house.verb("store", content=f"the {TAG} is full, says {PLAIN}", supersedes=[plain])[
        "memory"
    ]
    house.plain = new["id"]
    for query in (f"{TAG} password", f"{PLAIN} walrus", *(house.make(s).text for s in DETECTED)):
        house.verb(
            "recall", query=query, expanded=[query], trace=True, states=["live", "superseded"]
        )
        house.verb("why_not", query=query, id=secret)
    house.verb("list", limit=100)
    house.verb("link", source=secret, kind="derives-from", target=other)
    house.verb("why", id=secret)
    house.verb("unlink", source=secret, kind="derives-from", target=other)
    house.verb("history", thing=f"{PLAIN} walrus")
    house.verb("resolve", id=other, resolution="both", other=[house.plain])
    for id_ in house.kept:
        house.verb("get", id=id_)
        house.verb("timeline", around=id_)
    house.verb("delete", id=secret)
    house.verb("restore", id=secret)
    house.verb("update", id=other, importance=0.9)
    house.verb("stats")
    for shape in DETECTED:  # what a turn says is a secret like any other
        text = f"Remember that {house.make(shape).text}."
        house.verb("learn", messages=[{"role": "user", "text": text}])
    house.verb("store_many", drafts=[{"content": house.make(x).text} for x in DETECTED])
    house.verb("curation.review", propose=True)
    decide_on_proposals(house)
    house.verb("brief", query=f"{TAG} password")
    assert house.ask("ada", "GET", f"{ROOT}/sync/changes").is_success
    house.verb("share_tag", tag=TAG, reader="bob", right="write")
    house.verb("share", id=new["id"], reader="bob", right="write")
    house.verb("my_shares")
    house.verb("shared_with_me", who="bob")
    seen = house.verb("recall", who="bob", query=f"{TAG} {PLAIN} password", trace=True)
    assert PLAIN in json.dumps(seen)
    ask_as_a_replica(house)
    for id_ in house.kept:
        for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("POST", "/secret")):
            body: dict[str, Any] = {"json": {"importance": 0.1}} if method == "PATCH" else {}
            answer = house.ask("bob", method, f"{ROOT}/memories/{id_}{path}", **body)
            assert answer.status_code == 404
    house.verb("unshare", id=new["id"], reader="bob")
    house.verb("unshare_tag", tag=TAG, reader="bob")
    purge_and_look_around(house)
    look_around_in_graph(house)


def look_around_in_graph(house: House) -> None:
    """Every verb of the graph, about what memories mention beside their secrets."""
    # Waited for: it is in the graph then, and so is all that came before it.
    house.verb("store", content=f"the {TAG} is near Tallinn", tags=[TAG, "sea"], wait=True)
    names = [each["name"] for each in house.verb("graph.hubs", limit=100)["concepts"]]
    alias, into = names[:2]
    house.verb("graph.of_memory", id=next(iter(house.kept)))
    house.verb("graph.concept", concept=TAG, limit=100)
    house.verb("graph.subgraph", centre=TAG, limit=100)
    house.verb("graph.neighbours", concept=TAG, limit=100)
    house.verb("graph.path", start=alias, goal=into)
    house.verb("graph.merge", alias=alias, into=into)
    house.verb("graph.merges")
    house.verb("graph.unmerge", alias=alias)


def purge_and_look_around(house: House) -> None:
    """What people ask on the page: what they removed for good, over time, and their own keys."""
    gone, canary = house.kept.popitem()
    house.verb("delete", id=gone)
    plan = house.verb("plan_purge", ids=[gone])
    house.verb("purge", ids=[gone], versions=plan["versions"], links=plan["links"])
    assert canary.secret not in house.places()["database"].decode(errors="replace")
    house.verb("server.density")
    house.verb("server.agent_sessions")
    house.verb("server.traffic")
    house.verb("accounts.my_keys")
    house.verb("accounts.my_audit")
    old = house.keys["bob"]
    house.keys["bob, before"] = old
    house.keys["bob"] = house.verb("accounts.renew_my_key", who="bob")["text"]
    house.verb("accounts.revoke_my_key", who="bob", id=old.split("_")[1])


def administer(house: House) -> None:
    """Every verb of whoever runs the server; each key that comes up is a secret too."""
    house.verb("accounts.add_user", who="root", name="eve")
    for access in ("read", "write", "admin"):
        made = house.verb("accounts.create_key", who="root", user="eve", access=access)
        house.keys[f"eve, {access}"] = made["text"]
    new = house.verb("accounts.renew_key", who="root", id=made["key"]["id"])
    house.keys["eve, renewed"] = new["text"]
    house.verb("accounts.keys", who="root")
    house.verb("accounts.revoke_key", who="root", id=made["key"]["id"])
    house.verb("accounts.disable_user", who="root", name="eve")
    house.verb("accounts.enable_user", who="root", name="eve")
    house.verb("accounts.users", who="root")
    house.verb("accounts.add_user", who="root", name="zoe")
    plan = house.verb("accounts.plan_erasure", who="root", name="zoe")
    house.verb("accounts.erase_user", who="root", name="zoe", memories=plan["held"]["memories"])
    house.verb("accounts.audit", who="root", limit=1_000)
    for name in ("whole_traffic", "shares", "sizes", "reports"):
        house.verb(f"server.{name}", who="root")
    for name in ("status", "dead", "retry_dead"):
        house.verb(f"work.{name}", who="root")
    for key, status in (
        ("eve, admin", 401),
        ("eve, read", 403),
        ("root", 404),
        ("eve, write", 404),
    ):
        for id_ in house.kept:
            answer = house.ask(key, "POST", f"{ROOT}/memories/{id_}/secret")
            assert answer.status_code == status


def put_in_where_it_is_refused(house: House) -> None:
    """A secret in every part of a request of every verb, so that errors speak about it."""
    tokens = house.tokens()
    for turn, verb in enumerate(EVERY_VERB):
        named = set(re.findall(r"{(\w+)}", verb.path))
        for name in verb.request.model_fields:
            said = dict.fromkeys(named, "000000000000") | _needed(verb)
            for canary in house.refused:
                _refuse(house, verb, said | {name: canary.text})
            _refuse(house, verb, said | {name: [house.next().text]})
        fields = {each: house.next().text for each in named}
        path, _ = path_of(verb, fields)
        for headers in ({}, {"Content-Type": "application/json"}):
            broken = '{"content": "' + house.next().text + "\n"
            house.ask("root", verb.method, path, content=broken, headers=headers)
        house.ask("root", verb.method, path, json={house.next().text: house.next().text})
        house.ask("root", verb.method, path, json=[house.next().text])
        house.ask("root", verb.method, path, params={house.next().text: house.next().text})
        names = ("Content-Type", "If-Match", "Idempotency-Key", "Authorization", "Accept")
        for place, header in enumerate(names):  # in each one every secret has its turn
            token = tokens[(turn + place) % len(tokens)]
            house.ask("root", verb.method, path, headers={header: token}, content=b"{}")


def _needed(verb: Verb) -> dict[str, Any]:
    """What a verb is told so that it comes to look at the rest."""
    known = {"content": f"x {PLAIN}", "query": TAG, "user": "ada", "around": "2026-01-01"}
    return {name: value for name, value in known.items() if name in verb.request.model_fields}


def _refuse(house: House, verb: Verb, fields: Mapping[str, Any]) -> None:
    """One request with a secret in one field; what makes a key of it is no matter here."""
    path, rest = path_of(verb, fields)
    quietly = verb.name in TELLING - {"secrets.reveal"}
    where = "json" if verb.method in ("POST", "PUT", "PATCH") else "params"
    answer = house.ask("root", verb.method, path, quietly=quietly, **{where: rest})
    assert answer.status_code < 500


def put_in_beside_the_verbs(house: House) -> None:
    """Secrets in addresses that are none, names of the server, and keys that are none."""
    for shape in DETECTED:
        canary = house.make(shape)
        for method in ("GET", "POST", "TRACE", "".join(filter(str.isalnum, canary.secret))):
            house.ask("ada", method, f"/{quote(canary.text, safe='')}")
            house.ask("ada", method, f"{ROOT}/stats", params={"x": canary.text})
        own = {"Origin": house.server.url, "X-Bear-In-Mind": "page"}
        house.ask(None, "POST", f"{ROOT}/session", json={"link": canary.text}, headers=own)
        house.ask("root", "GET", f"/reports/{quote(canary.text, safe='')}")
        for path in (f"{ROOT}/import", f"{ROOT}/export", "/mcp", "/metrics", "/"):
            house.ask("ada", "POST", path, content=f'{{"method": "{canary.text}', headers=LINES)
            message = {"jsonrpc": "2.0", "id": 1, "method": canary.text}
            house.ask("ada", "POST", path, json=message)
            house.ask("ada", "GET", path, params={canary.text: canary.text})
    for token in house.tokens():
        for header in (
            "Host",
            "Origin",
            "Authorization",
            "X-Request-Id",
            "traceparent",
            "Cookie",
            "X-Bear-In-Mind-Hook",
        ):
            house.ask("ada", "GET", f"{ROOT}/stats", headers={header: token})
        house.ask(None, "GET", f"{ROOT}/stats", headers={"Authorization": f"Bearer {token}"})
        house.ask("ada", "POST", f"{ROOT}/import", headers={"Content-Type": token}, content=b"{}")


def look_at_the_rest(house: House) -> None:
    """What is no verb: the export, the counts, the description, the page."""
    assert PLAIN in house.ask("ada", "GET", f"{ROOT}/export").text
    page = house.ask(None, "GET", "/").text
    files = re.findall(r'(?:src|href)="(/?page/[^"]+)"', page)
    assert files
    for path in ("/metrics", "/status"):
        assert house.ask("root", "GET", path).is_success
    for path in ("/status", "/openapi.json", "/healthz", "/readyz", *files):
        assert house.ask("ada", "GET", f"/{path.lstrip('/')}").is_success
    assert house.ask(None, "GET", "/.well-known/oauth-protected-resource").is_success


# ---- over MCP ----------------------------------------------------------------------------------


async def talk(house: House, mode: str) -> None:
    """Every tool but `secret_get`, every resource and prompt; well, and with secrets refused."""
    secret, other = [*house.kept][:2]

    async with over_http(house.server.url, house.keys["ada"], mode=mode) as client:

        async def hear(what: str, asked: Callable[[], Any]) -> None:
            try:
                told = (await asked()).model_dump_json()
            except MCPError as exc:
                told = f"{exc} {exc.error.model_dump_json()}"
            house.said[f"MCP {what}"] += told.encode()

        async def call(tool: str, **arguments: Any) -> None:
            await hear(tool, lambda: client.call_tool(tool, arguments))

        for shape in SHAPES:
            text, flag = house.make(shape).text, shape == FLAGGED
            await call("memory_store", content=text, sensitive=flag, tags=[TAG])
            await call("memory_recall", query=f"{TAG} {PLAIN} {'' if flag else text}")
            await call("memory_store", content="x", tags=[house.next().text])
            await call("memory_recall", query=f"{TAG} {PLAIN}", tags=[house.next().text])
        for tool, verb in BY_TOOL.items():
            known = {"id": secret, "around": secret, "source": secret, "target": other}
            known |= {"reader": "bob", "tag": TAG, "kind": "derives-from", "query": TAG}
            known |= {"content": house.make("aws").text}
            taken = {
                name: value for name, value in known.items() if name in verb.request.model_fields
            }
            if tool == "secret_get":
                taken["id"] = "000000000000"
            await call(tool, **taken)
            for name in verb.request.model_fields:
                for canary in house.refused:
                    await call(tool, **taken | {name: canary.text})
            await call(tool, **{house.next().text: 1})
        await hear("no tool", lambda: client.call_tool(house.next().text, {}))
        await _read(house, client, hear)


async def _read(house: House, client: Client, hear: Callable[..., Any]) -> None:
    for what in ("tools", "resources", "resource_templates", "prompts"):
        await hear(what, getattr(client, f"list_{what}"))
    await hear("brief", lambda: client.read_resource("bearinmind://brief"))
    for id_ in (house.plain, *house.kept):
        uri = f"bearinmind://memory/{id_}"
        await hear("resource", lambda uri=uri: client.read_resource(uri))
    await hear("prompt", lambda: client.get_prompt("recall", {"topic": f"{TAG} {PLAIN}"}))
    for _ in DETECTED:
        word = quote(house.next().text, safe="")
        await hear(
            "no resource", lambda word=word: client.read_resource(f"bearinmind://memory/{word}")
        )
        topic = {"topic": house.next().text}
        await hear("prompt", lambda topic=topic: client.get_prompt("recall", topic))
        await hear("no prompt", lambda: client.get_prompt(house.next().text))


# ---- looking -----------------------------------------------------------------------------------


def found(house: House) -> list[tuple[str, str, str]]:
    """Which secret was found where; that a store keeps the hash of a key is what it is for."""
    kept = {secret_of(key) for key in house.keys.values()}
    hashes = {"SHA-256 of it", "SHA-256 of it, hex"}
    store = {"database", Path(house.store).name, f"{Path(house.store).name}-wal"}
    return [
        leak
        for leak in leaks(house.secrets(), house.places())
        if not (leak[0] in kept and leak[1] in store and leak[2] in hashes)
    ]


@pytest.mark.long(seconds=30)
def test_a_server_tells_a_secret_to_its_owner_alone(house: House) -> None:
    put_in(house)
    use_every_verb(house)
    for id_, canary in house.kept.items():  # each is there, for the one who may have it
        assert house.verb("secrets.reveal", id=id_)["content"] == canary.text
    put_in_where_it_is_refused(house)
    administer(house)
    put_in_beside_the_verbs(house)
    for mode in MODES:
        finished(talk(house, mode))
    look_at_the_rest(house)

    assert house.asked == VERBS.keys()
    assert found(house) == []

    house.server.stop()
    assert found(house) == []
    hold = {place for place, content in house.places().items() if PLAIN.encode() in content}
    assert house.server.log.name in house.places()
    assert hold >= {"database", f"GET {ROOT}/export 200", f"POST {ROOT}/recall 200"}
    assert {"MCP memory_recall", "MCP resource", "MCP prompt"} <= hold
