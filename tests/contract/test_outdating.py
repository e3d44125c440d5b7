"""Links with judgements: kept, read back, inferred by comparisons, and gone with their memories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from bearinmind.changes import LinkState, link_subject, memory_subject
from bearinmind.errors import StoreFailure
from bearinmind.outdates.verdicts import MARK
from bearinmind.protocols import History, Job, Received, Sealed, Store
from bearinmind.recall.owned_ids import as_seen_by, bare
from bearinmind.recall.shared import Visible
from bearinmind.types import (
    AlreadyKnown,
    Decider,
    Judgement,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Scope,
    Share,
    Stored,
    Trust,
    UserId,
)
from support.extractors import HOUR, Make, after, deleted

OUTDATES = LinkKind.OUTDATES
BOTH_KINDS = (LinkKind.SUPERSEDES, OUTDATES)
EVE = Scope(user=UserId("eve"))
INFERRED = Judgement(
    probability=0.75,
    by=Decider.SCORER,
    thing="our CI",
    aspect="runs on",
    evidence=("switched from Jenkins", 'zoë "said" so'),
)
DECIDED = Judgement(probability=0.0, by=Decider.PERSON)


@pytest.fixture
def states(store: Store, scope: Scope, make: Make) -> list[Memory]:
    """Three states of one thing, the newest first."""
    memories = [make(text) for text in ("CI runs on Actions", "CI runs on Travis", "CI is Jenkins")]
    for memory in reversed(memories):
        store.put(scope, memory)
    return memories


@pytest.fixture
def outdates(noon: datetime) -> Callable[..., Link]:
    """Makes a link from a newer memory to an older one."""

    def make_link(newer: Memory, older: Memory, judgement: Judgement | None = INFERRED) -> Link:
        return Link(
            source=newer.id, target=older.id, kind=OUTDATES, created_at=noon, judgement=judgement
        )

    return make_link


@pytest.fixture
def claim(store: Store, noon: datetime) -> Callable[..., list[Job]]:
    """Claims the jobs of comparing for an hour, so many hours after noon."""

    def take(hours: float = 0) -> list[Job]:
        now = noon + hours * HOUR
        return store.claim(["compare"], 99, now, now + HOUR)

    return take


Outdates = Callable[..., Link]
Claim = Callable[..., list[Job]]


# ---- judgements ---------------------------------------------------------------------------------


@pytest.mark.parametrize("judgement", [INFERRED, DECIDED, None])
def test_a_judgement_is_read_back_wherever_its_link_is(
    store: Store,
    scope: Scope,
    states: list[Memory],
    outdates: Outdates,
    judgement: Judgement | None,
) -> None:
    new, old, _ = states
    made = outdates(new, old, judgement)
    store.add_link(scope, made)
    assert store.links(scope, [old.id]) == [*store.all_links(scope)] == [made]
    assert store.newer(scope, [old.id], None, BOTH_KINDS) == [made]
    subject = link_subject(made.source, made.kind, made.target)
    assert store.states(scope, [subject]) == {subject: LinkState((made,))}


# ---- what holds again ----------------------------------------------------------------------------

SURE = Judgement(probability=MARK, by=Decider.SCORER)


def test_what_was_outdated_may_become_true_again(
    store: Store, scope: Scope, make: Make, outdates: Outdates, noon: datetime
) -> None:
    first, other = make("Ana leads"), make("Ben leads", created_at=noon + HOUR)
    store.put(scope, first)
    store.put(scope, other)
    late = noon + 2 * HOUR
    again = make("Ana leads", created_at=late, updated_at=late)
    store.add_link(scope, outdates(other, first, SURE))
    assert store.same_content(scope, again) is None
    assert store.put(scope, again) == Stored(memory=again)
    third = make("Ana leads", created_at=late, updated_at=late)
    assert store.put(scope, third) == AlreadyKnown(memory=again)
    history = History(versions=(replace(third, id=MemoryId("third0000000")),))
    assert store.put_many(scope, [history]) == [AlreadyKnown(memory=again)]


@pytest.mark.parametrize(
    "doubt", ["unlikely", "opposite", "deleted", "earlier", "less trusted", "removed"]
)
def test_what_still_holds_is_known(
    store: Store, scope: Scope, make: Make, outdates: Outdates, noon: datetime, doubt: str
) -> None:
    first, other = make("Ana leads"), make("Ben leads", created_at=noon + HOUR)
    if doubt == "less trusted":
        other = replace(other, provenance=Provenance(trust=Trust.EXTERNAL))
    store.put(scope, first)
    store.put(scope, other)
    unlikely = replace(SURE, probability=MARK - 0.01)
    link = outdates(other, first, unlikely if doubt == "unlikely" else SURE)
    store.add_link(scope, link)
    if doubt == "opposite":
        store.add_link(scope, outdates(first, other, DECIDED))
    if doubt == "deleted":
        store.replace(scope, after(other, deleted_at=noon + 2 * HOUR))
    if doubt == "removed":
        store.remove_link(scope, replace(link, removed_at=noon + HOUR))
    said = noon + HOUR / 2 if doubt == "earlier" else noon + 3 * HOUR
    again = make("Ana leads", created_at=said, updated_at=said)
    assert store.put(scope, again) == AlreadyKnown(memory=first)
    histories = [
        History(versions=(replace(again, id=MemoryId(f"{n}other0000000")),)) for n in (1, 2)
    ]
    assert store.put_many(scope, histories) == [AlreadyKnown(memory=first)] * 2


# ---- reading -------------------------------------------------------------------------------------


def test_the_chains_of_the_asked_kinds_are_followed_and_no_others(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates
) -> None:
    new, old, oldest = states
    first = outdates(old, oldest)
    second = replace(outdates(new, old, None), kind=LinkKind.SUPERSEDES)
    for each in (first, second):
        store.add_link(scope, each)
    assert store.newer(scope, [oldest.id]) == []
    assert store.newer(scope, [oldest.id], None, [OUTDATES]) == [first]
    both = store.newer(scope, [oldest.id], None, BOTH_KINDS)
    assert sorted(both, key=lambda x: x.kind) == [first, second]


def test_memories_that_outdate_each_other_are_read_without_end(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates
) -> None:
    new, old, _ = states
    links = [outdates(new, old), outdates(old, new, DECIDED)]
    for each in links:
        store.add_link(scope, each)
    read = store.newer(scope, [old.id], None, [OUTDATES])
    assert {x.source for x in read} == {new.id, old.id}


def test_a_judgement_is_known_as_of_the_moments_between_its_ends(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates, noon: datetime
) -> None:
    new, old, _ = states
    made = outdates(new, old)
    decided = replace(outdates(new, old, DECIDED), created_at=noon + HOUR)
    store.add_link(scope, made)
    assert store.remove_link(scope, replace(made, removed_at=noon + HOUR))
    store.add_link(scope, decided)
    ended = replace(made, removed_at=noon + HOUR)
    for moment, expected in (
        (noon - HOUR, []),
        (noon, [ended]),
        (noon + HOUR, [decided]),
        (None, [decided]),
    ):
        assert store.newer(scope, [old.id], moment, [OUTDATES]) == expected
        assert store.links(scope, [new.id], moment) == expected
    assert [*store.all_links(scope)] == [ended, decided]


@pytest.mark.parametrize("end", [0, 1])
def test_a_judgement_is_gone_with_either_of_its_memories(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates, end: int
) -> None:
    store.add_link(scope, outdates(*states[:2]))
    store.purge(scope, [states[end].id])
    assert [*store.all_links(scope)] == []
    assert all(finding.good for finding in store.check())


def test_nobody_reads_or_ends_the_judgements_of_others(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates, claim: Claim
) -> None:
    new, old, oldest = states
    made = outdates(new, old)
    store.add_link(scope, made)
    assert store.newer(EVE, [old.id], None, BOTH_KINDS) == store.links(EVE, [old.id]) == []
    assert not store.remove_link(EVE, replace(made, removed_at=made.created_at))
    jobs = claim()
    theirs = [job._replace(owner=EVE.user) for job in jobs]
    store.finish_comparison(EVE, theirs, [outdates(old, oldest)], [made])
    assert [*store.all_links(scope)] == [made]
    assert [*store.all_links(EVE)] == []
    assert len(claim(9)) == len(jobs)


# ---- sensitive memories -------------------------------------------------------------------------


def sealed(memory: Memory) -> tuple[Memory, Sealed]:
    """The next version of a memory, sealed."""
    hidden = after(memory, content="[sensitive]", sensitive=True)
    record = Sealed(
        owner=memory.owner,
        id=memory.id,
        version=hidden.version,
        key_id="k",
        nonce=b"n" * 12,
        ciphertext=b"c",
        fingerprint=memory.id.encode(),
    )
    return hidden, record


@pytest.mark.parametrize("end", [0, 1])
def test_a_memory_that_is_sealed_takes_the_words_of_its_judgements_with_it(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates, end: int
) -> None:
    made, other = outdates(*states[:2]), outdates(states[1], states[2])
    for each in (made, other):
        store.add_link(scope, each)
    hidden, record = sealed(states[end])
    store.replace(scope, hidden, (), [record])
    silent = replace(made, judgement=Judgement(probability=0.75, by=Decider.SCORER))
    [read] = [x for x in store.all_links(scope) if x.source == made.source]
    assert read == silent
    assert (other in store.all_links(scope)) is (end == 0)
    store.replace(scope, after(hidden, content="in clear again", sensitive=False))
    store.remove_link(scope, replace(made, removed_at=made.created_at))
    store.add_link(scope, made)
    assert store.links(scope, [made.source]) == [silent], "it was sensitive once"


def test_words_about_a_sensitive_memory_that_arrive_are_not_kept(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates
) -> None:
    made = outdates(*states[:2])
    subject = link_subject(made.source, made.kind, made.target)
    store.receive(scope, [Received(subject, LinkState((made,)), 0)])
    assert [*store.all_links(scope)] == [made]
    hidden, record = sealed(states[0])
    history = History(versions=(states[0], hidden), sealed=(record,))
    store.receive(scope, [Received(memory_subject(hidden.id), history, 0)])
    [silent] = store.all_links(scope)
    assert silent.judgement == Judgement(probability=0.75, by=Decider.SCORER)
    store.receive(scope, [Received(subject, LinkState((made,)), 0)])
    assert [*store.all_links(scope)] == [silent]


# ---- jobs ---------------------------------------------------------------------------------------


def compared(jobs: list[Job]) -> list[tuple[MemoryId, int]]:
    return [(job.memory.id, job.memory.version) for job in jobs]


def test_each_present_version_in_clear_is_compared_however_it_came(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    new, imported, arrived = make("new"), make("imported"), make("synced")
    store.put(scope, new)
    store.put_many(scope, [History(versions=(imported, after(imported, content="changed")))])
    theirs = History(versions=(arrived, after(arrived, content="changed there")))
    store.receive(scope, [Received(memory_subject(arrived.id), theirs, 0)])
    jobs = claim()
    assert compared(jobs) == [(new.id, 1), (imported.id, 2), (arrived.id, 2)]
    assert {(job.kind, job.target, job.owner) for job in jobs} == {("compare", "", scope.user)}


def test_a_new_version_is_compared_in_place_of_the_one_before(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    memory = make("new")
    store.put(scope, memory)
    changed = after(memory, content="changed")
    store.replace(scope, changed)
    assert compared(claim()) == [(memory.id, 2)]
    gone = deleted(changed)
    store.replace(scope, gone)
    assert claim(9) == []
    store.replace(scope, after(gone, deleted_at=None))
    assert compared(claim(9)) == [(memory.id, 4)]


def test_what_is_sensitive_or_deleted_is_never_compared(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    secret, plain, gone = make("[sensitive]", sensitive=True), make("plain"), make("gone")
    store.put(scope, secret, sealed=[sealed(replace(secret, version=0))[1]])
    store.put(scope, plain)
    hidden, record = sealed(plain)
    store.replace(scope, hidden, (), [record])
    store.put_many(scope, [History(versions=(gone, deleted(gone)))])
    assert claim() == []


def test_a_job_of_comparing_is_gone_with_its_memory(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates, claim: Claim
) -> None:
    jobs = {job.memory.id: job for job in claim()}
    new, old, oldest = states
    store.purge(scope, [new.id])
    assert {*compared(claim(9))} == {(old.id, 1), (oldest.id, 1)}
    store.finish_comparison(scope, [jobs[new.id]], [outdates(old, oldest)], [])
    assert [*store.all_links(scope)] == []


# ---- comparisons --------------------------------------------------------------------------------


def test_a_comparison_keeps_links_ends_others_and_is_done(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates, claim: Claim
) -> None:
    new, old, oldest = states
    before = outdates(new, oldest)
    store.add_link(scope, before)
    [job, *others] = claim()
    found = outdates(new, old)
    ended = replace(before, removed_at=before.created_at + HOUR)
    store.finish_comparison(scope, [job], [found], [ended])
    assert store.links(scope, [new.id]) == [found]
    assert ended in store.all_links(scope)
    assert compared(claim(9)) == compared(others)


@pytest.mark.parametrize("judgement", [INFERRED, DECIDED, None])
@pytest.mark.parametrize("reverse", [False, True])
def test_nothing_is_inferred_where_a_link_between_the_two_holds(
    store: Store,
    scope: Scope,
    states: list[Memory],
    outdates: Outdates,
    claim: Claim,
    judgement: Judgement | None,
    *,
    reverse: bool,
) -> None:
    new, old, _ = states
    held = outdates(old, new, judgement) if reverse else outdates(new, old, judgement)
    store.add_link(scope, held)
    found = replace(outdates(new, old), judgement=replace(INFERRED, probability=0.99))
    first, second, _ = claim()
    store.finish_comparison(scope, [first], [found], [])
    assert [*store.all_links(scope)] == [held]
    store.remove_link(scope, replace(held, removed_at=held.created_at))
    store.finish_comparison(scope, [second], [found], [])
    assert store.links(scope, [old.id]) == [found]


def test_a_comparison_of_what_has_changed_meanwhile_changes_nothing(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates, claim: Claim
) -> None:
    new, old, oldest = states
    held = outdates(old, oldest)
    store.add_link(scope, held)
    jobs = {job.memory.id: job for job in claim()}
    store.replace(scope, after(new, content="we have no CI any more"))
    ended = replace(held, removed_at=held.created_at)
    store.finish_comparison(scope, [jobs[new.id]], [outdates(new, old)], [ended])
    assert [*store.all_links(scope)] == [held]


@pytest.mark.parametrize("becomes", ["deleted", "sealed", "purged"])
def test_nothing_is_inferred_about_a_memory_that_is_gone_meanwhile(
    store: Store,
    scope: Scope,
    states: list[Memory],
    outdates: Outdates,
    claim: Claim,
    becomes: str,
) -> None:
    new, old, oldest = states
    [job] = [job for job in claim() if job.memory.id == new.id]
    if becomes == "deleted":
        store.replace(scope, deleted(old))
    elif becomes == "sealed":
        hidden, record = sealed(old)
        store.replace(scope, hidden, (), [record])
    else:
        store.purge(scope, [old.id])
    kept = outdates(new, oldest)
    store.finish_comparison(scope, [job], [outdates(new, old), kept], [])
    assert [*store.all_links(scope)] == [kept]
    assert all(finding.good for finding in store.check())


def test_a_comparison_that_fails_changes_nothing(
    store: Store, scope: Scope, states: list[Memory], outdates: Outdates, claim: Claim
) -> None:
    new, old, oldest = states
    held = outdates(old, oldest)
    store.add_link(scope, held)
    jobs = claim()
    ended = replace(held, removed_at=held.created_at)
    broken = replace(outdates(new, oldest), created_at=None)  # type: ignore[arg-type]
    with pytest.raises(StoreFailure):
        store.finish_comparison(scope, jobs[:1], [outdates(new, old), broken], [ended])
    assert [*store.all_links(scope)] == [held]
    assert len(claim(9)) == len(jobs)


# ---- what others see ----------------------------------------------------------------------------


@pytest.fixture
def seen(
    store: Store, scope: Scope, states: list[Memory], noon: datetime
) -> Callable[[], list[Link]]:
    """What a reader sees above the oldest state."""

    def newer() -> list[Link]:
        view = Visible(store.for_recall(), store, [scope.user], noon + HOUR)
        bob = Scope(user=UserId("bob"))
        oldest = as_seen_by(bob, states[-1])
        links = view.newer(bob, [oldest.id], None, BOTH_KINDS)
        return [replace(x, source=bare(x.source), target=bare(x.target)) for x in links]

    return newer


def test_a_reader_sees_a_judgement_only_with_both_memories(
    store: Store,
    scope: Scope,
    states: list[Memory],
    outdates: Outdates,
    share: Callable[..., Share],
    seen: Callable[[], list[Link]],
) -> None:
    new, old, oldest = states
    first, second = outdates(old, oldest), outdates(new, old)
    for each in (first, second):
        store.add_link(scope, each)
    store.add_share(scope, share(oldest))
    assert seen() == []
    store.add_share(scope, share(new))
    assert seen() == [], "what comes between is not shared"
    shared = share(old)
    store.add_share(scope, shared)
    assert sorted(x.source for x in seen()) == sorted([new.id, old.id])
    store.end_share(scope, replace(shared, ended_at=shared.created_at))
    assert seen() == []


@pytest.mark.parametrize("becomes", ["deleted", "sealed", "superseded"])
def test_a_successor_that_a_reader_does_not_see_any_more_leaves_no_hint(
    store: Store,
    scope: Scope,
    states: list[Memory],
    outdates: Outdates,
    share: Callable[..., Share],
    seen: Callable[[], list[Link]],
    becomes: str,
) -> None:
    new, old, oldest = states
    store.add_link(scope, outdates(old, oldest))
    for each in (old, oldest):
        store.add_share(scope, share(each))
    assert [x.source for x in seen()] == [old.id]
    if becomes == "deleted":
        store.replace(scope, deleted(old))
    elif becomes == "sealed":
        hidden, record = sealed(old)
        store.replace(scope, hidden, (), [record])
    else:
        store.add_link(scope, replace(outdates(new, old, None), kind=LinkKind.SUPERSEDES))
    assert seen() == []
