"""Two machines that judge the same two memories come to one judgement, and lose no decision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.app.sync import Keep
from bearinmind.changes import (
    ConflictKind,
    ConflictState,
    LinkState,
    Refused,
    Subject,
    SyncConflict,
    conflict_subject,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.protocols import Store
from bearinmind.remember.secrets import Boundary
from bearinmind.sync.model import Operation
from bearinmind.sync.reconcile import Reconciliation
from bearinmind.testing import FixedClock
from bearinmind.types import Decider, Judgement, Link, LinkKind, Memory, MemoryId, Trust, UserId
from bearinmind.vault.keys import Key, Keyring
from bearinmind.vault.seal import SealingVault
from support.replicas import Machines, machines

OUTDATES = LinkKind.OUTDATES


@pytest.fixture
def world(new_store: Callable[[], Store], clock: FixedClock) -> Iterator[Machines]:
    with machines(new_store, clock) as opened:
        yield opened


@pytest.fixture
def pair(world: Machines) -> tuple[Mind, Mind, Memory, Memory]:
    """Two machines that have the same two memories, the newer one first."""
    here, there = world.replica(), world.replica()
    older = here.store("our builds run on Jenkins").memory
    world.clock.advance(days=30)
    newer = here.store("our builds run on Actions now").memory
    world.sync(here, there)
    return here, there, newer, older


def infer(mind: Mind, newer: Memory, older: Memory, probability: float = 0.8) -> None:
    """Have the scorer link two memories, as every machine does by itself."""
    judgement = Judgement(probability=probability, by=Decider.SCORER, evidence=("says now",))
    link = Link(
        source=newer.id,
        target=older.id,
        kind=OUTDATES,
        created_at=max(newer.updated_at, older.updated_at),
        judgement=judgement,
    )
    mind._parts.store.finish_comparison(mind.scope, (), [link], ())


def judged(mind: Mind) -> list[tuple[str, str, float, Decider]]:
    """The judgements that hold."""
    return [
        (link.source, link.target, link.judgement.probability, link.judgement.by)
        for link in mind.transfer.links()
        if link.removed_at is None and link.judgement
    ]


def check(world: Machines, *minds: Mind) -> list[tuple[str, str, float, Decider]]:
    """Sync until all is even; what holds on the server and on every machine."""
    world.sync(*minds, *minds)
    links = [sorted(x.transfer.links(), key=repr) for x in (world.server, *minds)]
    assert links[1:] == links[:1] * len(minds)
    return judged(world.server)


def every(mind: Mind) -> set[tuple[float, Decider]]:
    """Every judgement that was ever made."""
    return {(x.judgement.probability, x.judgement.by) for x in mind.transfer.links() if x.judgement}


def test_what_two_machines_infer_alike_is_one_link(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory]
) -> None:
    here, there, newer, older = pair
    infer(here, newer, older)
    infer(there, newer, older)
    assert check(world, here, there) == [(newer.id, older.id, 0.8, Decider.SCORER)]
    assert len([*world.server.transfer.links()]) == 1


def test_what_is_decided_holds_against_what_another_machine_infers(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory]
) -> None:
    here, there, newer, older = pair
    here.resolve(newer.id, "both", older.id)
    infer(there, newer, older)
    assert check(world, there, here) == [(newer.id, older.id, 0.0, Decider.AGENT)]
    assert every(there) == {(0.0, Decider.AGENT), (0.8, Decider.SCORER)}


@pytest.mark.parametrize("first", ["here", "there"])
def test_of_two_decisions_that_of_a_person_prevails_whoever_syncs_first(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory], first: str
) -> None:
    here, there, newer, older = pair
    here.resolve(newer.id, "newer", older.id, trust=Trust.USER)
    world.clock.advance(hours=1)
    there.resolve(newer.id, "both", older.id)
    order = (here, there) if first == "here" else (there, here)
    assert check(world, *order) == [(newer.id, older.id, 1.0, Decider.PERSON)]
    assert every(here) == {(1.0, Decider.PERSON), (0.0, Decider.AGENT)}, "neither is lost"


@pytest.mark.parametrize("first", ["here", "there"])
def test_of_two_decisions_of_equals_the_later_one_prevails(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory], first: str
) -> None:
    """One undoes what was inferred while the other confirms it."""
    here, there, newer, older = pair
    infer(here, newer, older)
    world.sync(here, there)
    here.unlink(newer.id, "outdates", older.id)
    world.clock.advance(hours=1)
    there.resolve(newer.id, "newer", older.id, trust=Trust.USER)
    order = (here, there) if first == "here" else (there, here)
    assert check(world, *order) == [(newer.id, older.id, 1.0, Decider.PERSON)]
    person = {(0.0, Decider.PERSON), (1.0, Decider.PERSON)}
    assert every(world.server) == {(0.8, Decider.SCORER), *person}


def test_a_later_decision_that_knew_the_other_one_holds_even_if_its_clock_is_behind(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory]
) -> None:
    here, there, newer, older = pair
    here.resolve(newer.id, "newer", older.id, trust=Trust.USER)
    world.sync(here, there)
    world.clock.advance(days=-1)
    there.unlink(newer.id, "outdates", older.id)
    world.clock.advance(days=1)
    assert check(world, there, here) == [(newer.id, older.id, 0.0, Decider.PERSON)]


def test_decisions_in_opposite_directions_are_two_links_of_which_one_counts(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory]
) -> None:
    here, there, newer, older = pair
    here.resolve(newer.id, "newer", older.id)
    world.clock.advance(hours=1)
    there.resolve(newer.id, "older", older.id)
    both = [(newer.id, older.id, 1.0, Decider.AGENT), (older.id, newer.id, 1.0, Decider.AGENT)]
    assert sorted(check(world, here, there)) == sorted(both)


def test_a_judgement_goes_with_a_memory_that_another_machine_purges(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory]
) -> None:
    here, there, newer, older = pair
    here.delete(older.id)
    here.purge(here.plan_purge([older.id]))
    infer(there, newer, older)
    assert check(world, here, there) == []
    assert [*there.transfer.links()] == []


# ---- decisions that contradict each other -------------------------------------------------------


def told(mind: Mind) -> list[tuple[ConflictKind, str, str, str]]:
    """The conflicts that nobody has resolved, without the number that each store gives."""
    return [
        (x.conflict.kind, x.conflict.subject.label, x.conflict.detail, x.conflict.at.isoformat())
        for x in mind.sync.conflicts()
    ]


def asked(mind: Mind) -> list[tuple[str, str, tuple[MemoryId, ...], str]]:
    """The inbox."""
    return [(x.id, x.origin, x.memories, x.reason) for x in mind.curation.proposals()]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("said", "later"),
    [
        ("newer", "both"),
        ("both", "newer"),
        ("newer", "older"),
        ("merge", "both"),
        ("older", "merge"),
    ],
)
def test_opposite_decisions_of_two_machines_are_a_conflict_that_every_machine_can_decide(
    world: Machines,
    pair: tuple[Mind, Mind, Memory, Memory],
    said: str,
    later: str,
    order: tuple[int, int],
) -> None:
    here, there, newer, older = pair
    third = world.replica()
    here.resolve(newer.id, said, older.id, trust=Trust.USER)
    world.clock.advance(hours=1)
    there.resolve(newer.id, later, older.id, trust=Trust.USER)
    first, second = (pair[each] for each in order)
    assert isinstance(first, Mind)
    assert isinstance(second, Mind)
    world.sync(first, second, third, first, second)
    every_mind = (world.server, here, there, third)
    [(kind, _, detail, _)] = told(world.server)
    assert (kind, said in detail, later in detail) == (ConflictKind.DECIDED, True, True)
    assert [told(x) for x in every_mind] == [told(world.server)] * 4
    [(_, origin, memories, _)] = asked(world.server)
    assert (origin, {*memories}) == ("disagreement", {newer.id, older.id})
    assert [asked(x) for x in every_mind] == [asked(world.server)] * 4
    third.resolve(newer.id, "newer", older.id, trust=Trust.USER)
    world.sync(third, here, there)
    assert [(told(x), asked(x)) for x in every_mind] == [([], [])] * 4
    assert [x.outdated([older])[older.id].by for x in every_mind] == [newer.id] * 4


def test_who_confirms_what_holds_ends_the_conflict_for_all(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory]
) -> None:
    here, there, newer, older = pair
    here.resolve(newer.id, "newer", older.id, trust=Trust.USER)
    world.clock.advance(hours=1)
    there.resolve(newer.id, "older", older.id, trust=Trust.USER)
    world.sync(here, there, here)
    [(proposal, *_)] = asked(world.server)
    world.server.curation.apply(proposal)
    assert [*asked(world.server), *told(world.server)] == []
    assert [(x, y, p) for x, y, p, _ in check(world, here, there)] == [(older.id, newer.id, 1.0)]
    assert [*asked(here), *asked(there), *told(here), *told(there)] == []


@pytest.mark.parametrize(("keep", "holds"), [("served", "both"), ("other", "newer")])
def test_a_conflict_of_decisions_is_resolved_as_any_other(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory], keep: Keep, holds: str
) -> None:
    here, there, newer, older = pair
    here.resolve(newer.id, "newer", older.id, trust=Trust.USER)
    world.clock.advance(hours=1)
    there.resolve(newer.id, "both", older.id, trust=Trust.USER)
    world.sync(here, there, here)
    [found] = here.sync.conflicts()
    here.sync.resolve(found.conflict.number, keep=keep)
    probability = {"both": 0.0, "newer": 1.0}[holds]
    assert check(world, here, there) == [(newer.id, older.id, probability, Decider.PERSON)]
    assert [*asked(here), *asked(there), *told(world.server)] == []


@pytest.mark.parametrize(
    ("about", "words"),
    [
        (memory_subject(MemoryId("k7f29qmxt4hd")), ("newer", "both")),
        (share_subject(UserId("grace"), None, "zoo"), ("newer", "both")),
        (link_subject(MemoryId("k7f29qmxt4hd"), OUTDATES, MemoryId("q2m8xt0vd5ja")), ("", "both")),
        (link_subject(MemoryId("k7f29qmxt4hd"), OUTDATES, MemoryId("q2m8xt0vd5ja")), ("1", "2")),
    ],
)
def test_a_conflict_of_decisions_is_about_a_link_and_says_what_was_decided(
    world: Machines, about: Subject, words: tuple[str, str]
) -> None:
    conflict = SyncConflict(0, ConflictKind.DECIDED, about, *words, detail="", at=world.clock())
    server = world.server.sync.server()
    operation = Operation(conflict_subject(conflict), 0, ConflictState(conflict))
    [verdict] = server.push(server.pull("", 0, 1).epoch, [operation])
    assert isinstance(verdict, Refused)
    assert told(world.server) == []


def test_a_second_disagreement_about_two_memories_is_asked_about_again(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory]
) -> None:
    here, there, newer, older = pair
    seen: set[str] = set()
    for _ in range(3):
        here.resolve(newer.id, "newer", older.id, trust=Trust.USER)
        world.clock.advance(hours=1)
        there.resolve(newer.id, "older", older.id, trust=Trust.USER)
        world.sync(here, there, here)
        [(proposal, *_)] = asked(there)
        seen.add(proposal)
        there.curation.dismiss(proposal)
        world.sync(there, here)
        assert [*asked(here), *told(here)] == []
    assert len(seen) == 3


@pytest.mark.parametrize("by", [Trust.AGENT, Trust.USER])
def test_who_changes_a_decision_that_was_known_contradicts_nobody(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory], by: Trust
) -> None:
    """Nor does an agent whose decision gives way to that of a person."""
    here, there, newer, older = pair
    here.resolve(newer.id, "newer", older.id, trust=by)
    world.sync(here, there)
    there.resolve(newer.id, "older", older.id, trust=by)
    world.sync(there, here)
    there.resolve(newer.id, "newer", older.id, trust=Trust.USER)
    here.resolve(newer.id, "both", older.id) if by is Trust.AGENT else None
    world.sync(there, here, there)
    assert [told(x) + asked(x) for x in (here, there, world.server)] == [[], [], []]


def test_an_agent_does_not_end_a_conflict_of_two_persons(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory]
) -> None:
    here, there, newer, older = pair
    here.resolve(newer.id, "newer", older.id, trust=Trust.USER)
    world.clock.advance(hours=1)
    there.resolve(newer.id, "both", older.id, trust=Trust.USER)
    world.sync(here, there, here)
    here.resolve(newer.id, "both", older.id)  # an agent says what holds
    assert len(told(here)) == 1
    with pytest.raises(errors.PersonDecides):
        here.resolve(newer.id, "newer", older.id)


# ---- what is trusted ----------------------------------------------------------------------------


def test_a_replica_is_believed_who_decided_since_it_is_the_user_s_own(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory]
) -> None:
    """A key syncs the memories of its own user alone: whoever has it may be that person.

    So a server takes a decision as that of whoever is named in it, and there is nobody else whose
    decision a replica could forge.
    """
    here, there, newer, older = pair
    said = Judgement(probability=1.0, by=Decider.PERSON)
    here.transfer.add_link(_link(newer, older, said, world.clock()))
    assert check(world, here, there) == [(newer.id, older.id, 1.0, Decider.PERSON)]


def _link(newer: Memory, older: Memory, judgement: Judgement, at: datetime) -> Link:
    return Link(source=newer.id, target=older.id, kind=OUTDATES, created_at=at, judgement=judgement)


GOOD = Judgement(probability=0.5, by=Decider.SCORER)
BAD = [
    (replace(GOOD, probability=1.5), "probability 1.5"),
    (replace(GOOD, probability=-0.1), "probability -0.1"),
    (replace(GOOD, probability=float("nan")), "probability nan"),
    (replace(GOOD, thing="x" * 101), "a thing of 101 characters; at most 100"),
    (replace(GOOD, aspect="x" * 101), "an aspect of 101 characters; at most 100"),
    (replace(GOOD, evidence=("x" * 201,)), "evidence of 201 characters; at most 200"),
    (replace(GOOD, evidence=("x",) * 6), "6 pieces of evidence; at most 5"),
]


@pytest.mark.parametrize(("judgement", "named"), BAD)
def test_a_judgement_that_cannot_be_is_refused_wherever_it_comes_from(
    world: Machines,
    pair: tuple[Mind, Mind, Memory, Memory],
    judgement: Judgement,
    named: str,
) -> None:
    here, _, newer, older = pair
    link = _link(newer, older, judgement, world.clock())
    with pytest.raises(errors.InvalidLink, match=named):
        here.transfer.add_link(link)
    subject = link_subject(link.source, link.kind, link.target)
    server = world.server.sync.server()
    epoch = server.pull("", 0, 1).epoch
    [verdict] = server.push(epoch, [Operation(subject, 0, LinkState((link,)))])
    assert named in str(verdict.error)  # type: ignore[union-attr]
    assert judged(world.server) == []


def test_a_judgement_belongs_to_outdates_alone_and_holds_no_secret(
    world: Machines, pair: tuple[Mind, Mind, Memory, Memory]
) -> None:
    here, _, newer, older = pair
    link = _link(newer, older, GOOD, world.clock())
    with pytest.raises(errors.InvalidLink, match="see-also"):
        here.transfer.add_link(replace(link, kind=LinkKind.SEE_ALSO))
    secret = replace(GOOD, evidence=("the password is hunter2-and-more-9X",))
    with pytest.raises(errors.SecretInClearField):
        here.transfer.add_link(replace(link, judgement=secret))
    with pytest.raises(errors.InvalidText):
        here.transfer.add_link(replace(link, judgement=replace(GOOD, thing="a\x00b")))


# ---- every merge --------------------------------------------------------------------------------

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ENDS = (MemoryId("k7f29qmxt4hd"), MemoryId("q2m8xt0vd5ja"))
moments = st.integers(0, 6).map(lambda hours: NOON + timedelta(hours=hours))
made = st.builds(
    Link,
    source=st.just(ENDS[0]),
    target=st.just(ENDS[1]),
    kind=st.just(OUTDATES),
    created_at=moments,
    removed_at=st.none() | moments,
    judgement=st.builds(
        Judgement, probability=st.sampled_from([0.0, 0.9, 1.0]), by=st.sampled_from(Decider)
    ),
)
states = st.lists(made, max_size=4, unique_by=lambda x: x.removed_at).map(
    lambda links: LinkState(
        tuple(
            sorted(
                links,
                key=lambda x: (x.created_at, x.removed_at or datetime.max.replace(tzinfo=UTC)),
            )
        )
    )
)


class _Keys:
    where = "a test"

    def load(self) -> Keyring | None:
        return Keyring((Key(bytes(range(32))),))


@given(local=states, server=states)
def test_a_merge_keeps_every_judgement_and_one_that_holds(
    local: LinkState, server: LinkState
) -> None:
    sealing = Boundary(vault=SealingVault(_Keys(), is_first_use=lambda: False), detects=False)
    reconcile = Reconciliation(sealing, NOON)
    subject = link_subject(ENDS[0], OUTDATES, ENDS[1])
    merged = reconcile(subject, local, server, pending=True)
    assert isinstance(merged.state, LinkState)
    links = merged.state.links

    def judgements(*states: LinkState) -> set[object]:
        return {(x.created_at, x.judgement) for state in states for x in state.links}

    assert judgements(merged.state) == judgements(local, server)
    assert len({x.removed_at for x in links}) == len(links), "a store can keep them"
    held = [x for x in links if x.removed_at is None]
    assert len(held) <= 1
    order = [*Decider]
    live = [x for x in (*local.links, *server.links) if x.removed_at is None]
    ended = {(x.created_at, x.judgement) for x in (*local.links, *server.links) if x.removed_at}
    open_ = [x for x in live if (x.created_at, x.judgement) not in ended]
    if open_:
        strongest = max((order.index(x.judgement.by), x.created_at) for x in open_ if x.judgement)
        [one] = held
        assert one.judgement is not None
        assert (order.index(one.judgement.by), one.created_at) >= strongest
    again = reconcile(subject, merged.state, merged.state, pending=True)
    assert (again.state, again.settled) == (merged.state, True), "it has come to rest"
    assert merged.settled is (merged.state == server)


def test_a_claim_waits_in_the_inbox_of_every_machine_that_it_comes_to(world: Machines) -> None:
    here, there = world.replica(), world.replica()
    older = here.store("our builds run on Jenkins", trust="user").memory
    newer = here.store("our builds run on Actions", trust="external").memory
    here.link(newer.id, "supersedes", older.id, trust="agent")
    here.update(newer.id, tags=["ci"])  # so that the memory is sent behind its link
    world.sync(here, there)
    for mind in (here, world.server, there):
        [claimed] = mind.curation.proposals()
        assert (claimed.origin, claimed.memories) == ("claim", (newer.id, older.id))
    there.curation.apply(claimed.id)
    world.sync(there, here)
    assert here.curation.proposals() == world.server.curation.proposals() == []
