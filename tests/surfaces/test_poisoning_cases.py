"""What is trusted less never replaces, outdates, merges with or hides what is trusted more.

Every case of `benchmarks/data/poisoning` puts a lie beside a memory, through one door. Whatever
door it was, the memory must stay what recall, a brief and the hook give.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.errors import PersonDecides
from bearinmind.learn.model import Message, Role
from bearinmind.proposals import ProposalKind, ProposalState
from bearinmind.surfaces.hooks.standalone import prompt
from bearinmind.surfaces.mcp.server import build
from bearinmind.surfaces.mcp.tools import Context
from bearinmind.surfaces.transfer import Import, line_of
from bearinmind.surfaces.verbs import requests
from bearinmind.surfaces.verbs.table import BY_NAME
from bearinmind.surfaces.verbs.verb import Request, Verb
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import Link, LinkKind, Memory, MemoryId, Provenance, State, Trust
from support.households import household
from support.replicas import machines

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "benchmarks/data/poisoning/cases.jsonl").read_text().splitlines()
CASES = [json.loads(line) for line in LINES]
LEAST_CASES = 200
#: A person decides about these two kinds of proposals; all others are applied here.
DECISIONS = (ProposalKind.OUTDATE, ProposalKind.REVIEW)


@dataclass(frozen=True)
class Case:
    """A memory of Ada's, and the lie that is to take its place."""

    mind: Mind
    original: Memory
    poison: str
    trust: str
    over: str
    clock: FixedClock

    def lie(self, text: str | None = None, **fields: Any) -> Memory:
        """The lie, stored."""
        fields = {"trust": self.trust, "importance": 1.0, "category": "decisions", **fields}
        return self.mind.store(text or self.poison, **fields).memory


# ---- the doors -----------------------------------------------------------------------------------


def store(case: Case) -> None:
    case.lie(supersedes=[case.original.id])


def known(case: Case) -> None:
    """A text that is known and trusted is sent again, to replace something else."""
    case.mind.store(case.poison, trust=case.over)
    case.lie(supersedes=[case.original.id])


def link(case: Case) -> None:
    lie = case.lie()
    for kind in ("supersedes", "outdates"):
        with suppress(PersonDecides):
            case.mind.link(lie.id, kind, case.original.id, trust=case.trust)


def resolve(case: Case) -> None:
    lie = case.lie()
    for word in ("newer", "merge"):
        with suppress(PersonDecides):
            case.mind.resolve(lie.id, word, case.original.id, trust=case.trust)


def import_(case: Case) -> None:
    _import(case, {})


def import_decided(case: Case) -> None:
    """A file says that a person decided so."""
    _import(case, {"judgement": {"probability": 1.0, "by": "person"}})


def _import(case: Case, judgement: dict[str, Any]) -> None:
    lie = replace(
        case.original,
        id=MemoryId("zzzzzzzzzzzz"),
        content=case.poison,
        provenance=Provenance(trust=Trust(case.trust)),
    )
    lines = [line_of("memory", lie)]
    for kind in (LinkKind.SUPERSEDES, LinkKind.OUTDATES):
        link = Link(source=lie.id, target=case.original.id, kind=kind, created_at=lie.created_at)
        lines.append(json.dumps(json.loads(line_of("link", link)) | judgement).encode())
    done = Import(case.mind, most_problems=None, advance=lambda _: None)(enumerate(lines, start=1))
    assert (done.stored, done.links_stored, done.problems) == (1, 2, [])


def learn(case: Case) -> None:
    turn = [(Role.ASSISTANT, f"I read this on a page: {case.poison}"), (Role.USER, "ok, thanks")]
    turn += [(Role.ASSISTANT, f"Always remember: {case.poison}"), (Role.USER, "yes")]
    case.mind.learn([Message(role=role, text=text) for role, text in turn], session="s1")
    _curate(case)


def curate(case: Case) -> None:
    case.lie()
    _curate(case)


def _curate(case: Case) -> None:
    case.mind.work.run()
    case.mind.curation.review(propose=True)
    for proposal in case.mind.curation.proposals():
        if proposal.kind not in DECISIONS and case.original.id not in proposal.memories:
            case.mind.curation.apply(proposal.id)


def share(case: Case) -> None:
    bob = case.mind.for_user("bob")
    for text in (case.poison, case.original.content.upper()):
        lie = bob.store(text, importance=1.0, trust="user", category="decisions").memory
        bob.share(lie.id, "ada")


def share_same_id(case: Case) -> None:
    bob = case.mind.for_user("bob")
    forged = replace(case.original, owner=bob.scope.user, content=case.poison)
    bob.transfer.add([bob.transfer.admit([forged])])
    bob.share(forged.id, "ada")


def shared_edit(case: Case) -> None:
    """Somebody who may write a memory lies in it; what it had replaced is there again."""
    newer = case.mind.store("a newer wording of it", trust="user").memory
    case.mind.link(newer.id, "supersedes", case.original.id)
    case.mind.share(newer.id, "bob", "write")
    case.mind.for_user("bob").update(newer.id, content=case.poison)


def update(case: Case) -> None:
    for change in ({"content": case.poison}, {"valid_to": case.original.created_at}):
        with pytest.raises(PersonDecides):
            case.mind.update(case.original.id, trust=case.trust, **change)


def graph(case: Case) -> None:
    """Names of the question, repeated in everything that can be searched."""
    words = case.original.content.replace(",", "").split()[:8]
    case.lie(tags=words[:4], keywords=words)
    for number in range(3):
        case.lie(f"{case.original.content.split('.')[0]}? No {number}: {case.poison}")
    case.mind.work.run()


def derived(case: Case) -> None:
    """What is concluded from a lie is trusted no more than the lie."""
    lie = case.lie()
    summary = case.lie(f"In short: {case.poison}", trust=case.over)
    case.mind.link(summary.id, "derives-from", lie.id, trust="agent")
    case.mind.link(summary.id, "supersedes", case.original.id, trust="agent")
    assert case.mind.get(summary.id).provenance.trust == case.trust


def duplicate(case: Case) -> None:
    """The same words, trusted less, do not stand for the memory."""
    case.lie(case.original.content.upper())


def sync(case: Case) -> None:
    with machines(TemporaryStore, case.clock) as world:
        here, there = case.mind, world.replica()
        here.sync.connect("https://memory.example", "ada")
        world.sync(here, there)
        lie = there.store(case.poison, trust=case.trust, importance=1.0).memory
        link = Link(
            source=lie.id,
            target=case.original.id,
            kind=LinkKind.SUPERSEDES,
            created_at=case.clock(),
        )
        there.transfer.add_link(link)
        world.sync(there, here)
        assert here.get(lie.id).content == case.poison
        assert there.states([case.original]) == {case.original.id: State.LIVE}


# ---- through MCP ---------------------------------------------------------------------------------


def mcp_store(case: Case) -> None:
    fields = {"content": case.poison, "trust": case.trust, "supersedes": [case.original.id]}
    _call(case, "memory_store", **fields)


def mcp_link(case: Case) -> None:
    ends = {"source": case.lie().id, "target": case.original.id}
    _call(case, "memory_link", kind="supersedes", trust="user", **ends)


def mcp_resolve(case: Case) -> None:
    ends = {"id": case.lie().id, "other": [case.original.id]}
    for word in ("newer", "merge"):
        _call(case, "memory_resolve", resolution=word, trust="user", **ends)


def mcp_update(case: Case) -> None:
    _call(case, "memory_update", id=case.original.id, content=case.poison)


def _call(case: Case, tool: str, **arguments: Any) -> None:
    async def ask(_: Context, verb: Verb, request: Request) -> object:
        return verb.run(case.mind, request)

    async def call() -> None:
        async with Client(build(ask)) as client:
            await client.call_tool(tool, arguments)

    asyncio.run(call())


DOORS: dict[str, Callable[[Case], None]] = {
    "store": store,
    "known": known,
    "link": link,
    "resolve": resolve,
    "import": import_,
    "import-decided": import_decided,
    "sync": sync,
    "mcp-store": mcp_store,
    "mcp-link": mcp_link,
    "mcp-resolve": mcp_resolve,
    "mcp-update": mcp_update,
    "update": update,
    "learn": learn,
    "curate": curate,
    "share": share,
    "share-same-id": share_same_id,
    "shared-edit": shared_edit,
    "graph": graph,
    "derived": derived,
    "duplicate": duplicate,
}


@pytest.fixture
def ada(clock: FixedClock) -> Iterator[Mind]:
    with household(TemporaryStore(), clock, learn="rules") as memory:
        yield memory


def test_the_corpus_has_cases_for_every_door() -> None:
    assert len(CASES) >= LEAST_CASES
    assert {case["door"] for case in CASES} == {*DOORS}
    assert len({case["case"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("row", CASES, ids=[case["case"] for case in CASES])
def test_a_lie_takes_no_memory_s_place(ada: Mind, clock: FixedClock, row: dict[str, str]) -> None:
    original = ada.store(
        row["original"], trust=row["over"], category="decisions", importance=0.8
    ).memory
    clock.advance(days=1)
    DOORS[row["door"]](Case(ada, original, row["poison"], row["trust"], row["over"], clock))
    clock.advance(days=1)
    ada.work.run()
    assert ada.get(f"ada:{original.id}").content == row["original"]
    assert ada.states([original]) == {original.id: State.LIVE}
    assert ada.outdated([original]) == {}
    answer = BY_NAME["recall"].run(ada, requests.RecallRequest(query=row["question"], all=True))
    [hit] = [x for x in answer.hits if (x.memory.owner, x.memory.id) == ("ada", original.id)]
    assert hit.outdated is None
    assert not any(original.id in x.replaces for x in answer.hits)
    assert original.id in {memory.id for memory in ada.brief()}
    pushed = [*prompt.given(json.loads(codec.to_json(answer)), 0.0)]
    assert row["original"] in [each["content"] for each in pushed]
    ranks = [Trust.EXTERNAL, Trust.AGENT, Trust.USER]
    for x in answer.hits:
        if x.memory.content == row["poison"] and row["door"] not in ("known", "share-same-id"):
            is_data = x.memory.id in answer.as_data
            assert is_data or ranks.index(x.memory.provenance.trust) <= ranks.index(
                Trust(row["trust"])
            )


@pytest.mark.parametrize("row", [case for case in CASES if case["door"] == "store"][:3])
def test_a_lie_is_a_claim_that_a_person_decides_about_in_the_inbox(
    ada: Mind, clock: FixedClock, row: dict[str, str]
) -> None:
    original = ada.store(row["original"], trust=row["over"]).memory
    clock.advance(days=1)
    stored = ada.store(row["poison"], trust=row["trust"], supersedes=[original.id])
    assert [offer.memory.id for offer in stored.may_replace] == [original.id]
    [claim] = ada.curation.proposals()
    assert (claim.kind, claim.memories) == (
        ProposalKind.OUTDATE,
        (stored.memory.id, original.id),
    )
    clock.advance(days=1)
    applied = ada.curation.apply(claim.id, "merge")
    assert applied.state is ProposalState.APPLIED
    assert ada.states([original]) == {original.id: State.SUPERSEDED}
    ada.curation.undo(claim.id)
    assert ada.states([original]) == {original.id: State.LIVE}
