"""Proposals are kept once each, and afterwards as the log of what was decided and done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from bearinmind.changes import memory_subject
from bearinmind.proposals import CONCEALED, REDACTED, Proposal, ProposalKind, ProposalState
from bearinmind.protocols import Gone, History, Received, Store
from bearinmind.types import MemoryId, Scope, UserId
from support.extractors import HOUR, Make
from support.sealing import after, seal, sensitive

BEA = Scope(user=UserId("bea"))
OPEN, APPLIED, DISMISSED, UNDONE = ProposalState
Makes = Callable[..., Proposal]


@pytest.fixture
def proposal(noon: datetime) -> Makes:
    """Makes a proposal; whatever is not given has a plain value."""

    def make_proposal(id: str, **fields: object) -> Proposal:
        plain: dict[str, object] = {
            "kind": ProposalKind.SUPERSEDE,
            "origin": "consolidation",
            "memories": (MemoryId("one"), MemoryId("two")),
            "reason": "they say the same",
            "evidence": {"cosine": 0.97, "words": ["héron", None, True]},
            "change": {"content": 'a "heron"'},
            "digest": f"digest of {id}",
            "created_at": noon,
        }
        return Proposal(id=id, **(plain | fields))  # type: ignore[arg-type]

    return make_proposal


def test_a_proposal_is_kept_as_it_was_made(store: Store, scope: Scope, proposal: Makes) -> None:
    every = [proposal(str(kind), kind=kind) for kind in ProposalKind]
    assert store.propose(scope, every) == every
    assert [store.proposal(scope, each.id) for each in every] == every
    assert store.proposal(scope, "unknown") is None
    assert store.proposal(BEA, every[0].id) is None
    assert store.proposal_counts(scope) == {OPEN: len(every)}
    assert store.proposal_counts(BEA) == {}


def test_what_was_proposed_before_is_not_proposed_again_whatever_became_of_it(
    store: Store, scope: Scope, proposal: Makes, noon: datetime
) -> None:
    first, second = proposal("a"), proposal("b")
    again = proposal("c", digest=first.digest)
    new = proposal("d")
    store.propose(scope, [first, second])
    decided = replace(first, state=DISMISSED, decided_at=noon)
    assert store.decide(scope, decided, OPEN)
    assert store.propose(scope, [again, new, replace(new, id="e")]) == [new]
    assert store.proposal_counts(scope) == {OPEN: 2, DISMISSED: 1}
    assert store.propose(BEA, [again]) == [again]


def test_proposals_are_listed_by_id_in_stretches_and_by_state(
    store: Store, scope: Scope, proposal: Makes, noon: datetime
) -> None:
    made = [proposal(id_) for id_ in "cabed"]
    store.propose(scope, made)
    store.propose(BEA, [proposal("f")])
    for id_ in "bd":
        decided = replace(proposal(id_), state=APPLIED, decided_at=noon)
        store.decide(scope, decided, OPEN)

    def ids(*states: ProposalState, limit: int = 9, after: str | None = None) -> str:
        return "".join(each.id for each in store.proposals(scope, states, limit, after))

    assert ids(*ProposalState) == "abcde"
    assert ids(OPEN) == "ace"
    assert ids(APPLIED, UNDONE) == "bd"
    assert ids(OPEN, limit=2) == "ac"
    assert ids(OPEN, limit=2, after="a") == "ce"
    assert ids(OPEN, after="e") == ids(UNDONE) == ids() == ""


def test_a_decision_is_kept_if_nobody_else_decided_before(
    store: Store, scope: Scope, proposal: Makes, noon: datetime
) -> None:
    made = proposal("a")
    store.propose(scope, [made])
    applied = replace(made, state=APPLIED, decided_at=noon + HOUR, undo={"remove": ["x", 1]})
    assert store.decide(scope, replace(applied, reason="not to be changed"), OPEN)
    assert not store.decide(scope, replace(made, state=DISMISSED), OPEN)
    assert not store.decide(BEA, applied, APPLIED)
    assert not store.decide(scope, replace(applied, id="unknown"), OPEN)
    assert store.proposal(scope, "a") == applied
    undone = replace(applied, state=UNDONE, decided_at=noon + 2 * HOUR)
    assert store.decide(scope, undone, APPLIED)
    assert store.proposal(scope, "a") == undone


def test_what_proposals_say_of_a_purged_memory_is_gone_with_it(
    store: Store, scope: Scope, proposal: Makes, make: Make
) -> None:
    gone, purged_elsewhere, kept = make(), make(), make()
    for memory in (gone, purged_elsewhere, kept):
        store.put(scope, memory)
    naming = proposal("a", memories=(kept.id, gone.id))
    stored = proposal("b", memories=(), undo={"purge": [gone.id]}, state=APPLIED)
    other = proposal("c", memories=(kept.id,))
    elsewhere = proposal("d", memories=(purged_elsewhere.id,), state=DISMISSED)
    store.propose(scope, [naming, stored, other, elsewhere])
    store.propose(BEA, [naming])
    store.purge(scope, [gone.id])
    store.receive(scope, [Received(memory_subject(purged_elsewhere.id), Gone(()), 0)])

    redacted = [replace(naming, state=DISMISSED), stored, elsewhere]
    assert_redacted(store, scope, redacted, [other], REDACTED)
    assert store.proposal(BEA, "a") == naming
    assert store.propose(scope, [replace(other, id="e")]) == []


def test_what_proposals_say_of_a_memory_is_gone_when_it_becomes_sensitive(
    store: Store, scope: Scope, proposal: Makes, make: Make
) -> None:
    sealed, sealed_elsewhere, kept = make("walrus"), make("narwhal"), make("heron")
    for memory in (sealed, sealed_elsewhere, kept):
        store.put(scope, memory)
    naming = proposal("a", memories=(kept.id, sealed.id))
    stored = proposal("b", memories=(), undo={"stored": sealed.id}, state=APPLIED)
    other = proposal("c", memories=(kept.id,))
    elsewhere = proposal("d", memories=(sealed_elsewhere.id,), state=APPLIED)
    store.propose(scope, [naming, stored, other, elsewhere])
    store.propose(BEA, [naming])
    hidden = sensitive(sealed)
    present = after(hidden)
    records = [seal(hidden), seal(present)]
    store.replace(scope, present, sealed=records, concealed=[hidden])
    hidden = sensitive(sealed_elsewhere)
    present = after(hidden)
    state = History(versions=(hidden, present), sealed=(seal(hidden), seal(present)))
    store.receive(scope, [Received(memory_subject(hidden.id), state, 0)])

    redacted = [replace(naming, state=DISMISSED), stored, elsewhere]
    assert_redacted(store, scope, redacted, [other], CONCEALED)
    assert store.proposal(BEA, "a") == naming


def test_a_change_to_a_sensitive_memory_leaves_its_proposals(
    store: Store, scope: Scope, proposal: Makes, make: Make
) -> None:
    memory = sensitive(make())
    store.put(scope, memory, sealed=[seal(memory)])
    made = proposal("a", memories=(memory.id,))
    store.propose(scope, [made])
    store.replace(scope, after(memory, tags=("new",)))
    assert store.proposal(scope, "a") == made


def assert_redacted(
    store: Store,
    scope: Scope,
    redacted: Sequence[Proposal],
    kept: Sequence[Proposal],
    reason: str,
) -> None:
    """Nothing that was made from the text is left, which includes ids and digests."""
    found = store.proposals(scope, [*ProposalState], 9)
    nameless = {"id": "", "digest": "", "reason": reason, "evidence": {}, "change": {}, "undo": {}}
    rest = [each for each in found if each not in kept]
    assert len(found) == len(rest) + len(kept)
    by_memory = sorted((replace(each, **nameless) for each in rest), key=_order)  # type: ignore[arg-type]
    wanted = sorted((replace(each, **nameless) for each in redacted), key=_order)  # type: ignore[arg-type]
    assert by_memory == wanted
    for name in ("id", "digest"):
        left = {getattr(each, name) for each in rest}
        assert len(left) == len(redacted)
        assert not left & {getattr(each, name) for each in redacted}


def _order(proposal: Proposal) -> tuple[str, tuple[str, ...]]:
    return proposal.state, proposal.memories
