"""What others changed is taken in whole, unless the thing changed meanwhile or it cannot be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from bearinmind.changes import (
    Change,
    LinkState,
    Refused,
    ShareState,
    Stale,
    Subject,
    SubjectKind,
    Taken,
    digest,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.errors import InvalidChange, KeyRetired, SupersedeCycle
from bearinmind.protocols import Gone, History, Received, Sealed, Store, SubjectState
from bearinmind.types import Link, LinkKind, Memory, Right, Scope, Share, UserId
from support.extractors import HOUR, Make, after, deleted

Links = Callable[..., Link]
NO_NAMES = ["", "id", '"id"', "[]", '[""]', "[1]", '["a", "b"]', '["a","causes","b"]']


@pytest.fixture(autouse=True)
def _with_feed(store: Store, scope: Scope) -> None:
    store.open_feed(scope, "epoch")


def told(*versions: Memory, sealed: tuple[Sealed, ...] = ()) -> tuple[Subject, History]:
    """A memory that is received: what it is, and its state."""
    return memory_subject(versions[0].id), History(versions=versions, sealed=sealed)


def linked(*links: Link) -> tuple[Subject, LinkState]:
    first = links[0]
    return link_subject(first.source, first.kind, first.target), LinkState(links)


def shared(share: Share) -> tuple[Subject, ShareState]:
    return share_subject(share.reader, share.memory, share.tag), ShareState(share)


def seal(memory: Memory, key_id: str = "key-1", owner: str = "ada") -> Sealed:
    said = f"{memory.id}{memory.version}{key_id}".encode()
    return Sealed(
        owner=UserId(owner),
        id=memory.id,
        version=memory.version,
        key_id=key_id,
        nonce=said,
        ciphertext=said,
        fingerprint=said,
    )


# ---- memories -----------------------------------------------------------------------------------


def test_new_memories_are_taken_with_their_histories_even_if_they_say_the_same(
    store: Store, scope: Scope, make: Make
) -> None:
    one, twin, secret = make("heron"), make("heron"), make("[sensitive]", sensitive=True)
    grey = after(one, content="grey heron")
    received = [
        Received(*told(one, grey), 0),
        Received(*told(twin), 0, settled=True, peer_number=9),
        Received(*told(secret, after(secret, tags=("x",)), sealed=(seal(secret),)), 0),
        Received(*told(make("grey heron")), 0),
    ]
    assert store.receive(scope, received) == [Taken(1), Taken(0), Taken(2), Taken(3)]
    assert store.versions(scope, one.id) == [one, grey]
    assert store.get(scope, one.id, as_of=one.updated_at) == one
    assert store.sealed(scope, secret.id) == [seal(secret)]
    asked = [each.subject for each in received]
    assert store.states(scope, asked) == {each.subject: each.state for each in received}
    assert store.numbers(scope, asked[:2]) == {asked[0]: 1}
    assert store.peer_numbers(scope, asked) == {asked[1]: 9}
    assert store.check() == [finding for finding in store.check() if finding.good]


def test_a_history_that_goes_on_is_appended(store: Store, scope: Scope, make: Make) -> None:
    one = make("heron")
    two = after(one, content="grey heron")
    three = deleted(two)
    subject, _ = told(one)
    store.put(scope, one)
    longer = Received(*told(one, two, three), 1, settled=True)
    assert store.receive(scope, [longer]) == [Taken(0)]
    assert store.versions(scope, one.id) == [one, two, three]
    assert store.get(scope, one.id, as_of=two.updated_at) == two
    assert store.changes(scope, 0, 99) == []
    assert store.receive(scope, [longer._replace(expected=0)]) == [Taken(0)]
    assert store.states(scope, [subject]) == {subject: longer.state}


def test_another_history_takes_the_place_of_the_one_that_is_there(
    store: Store, scope: Scope, make: Make, link: Links, share: Callable[..., Share]
) -> None:
    other = make("otter")
    store.put(scope, other)
    for length in (1, 2, 3, 4):
        one = make(f"heron {length}")
        two = after(one, content="grey heron")
        three = after(two, content=f"great heron {length}")
        store.put(scope, one, [link(other, LinkKind.SEE_ALSO, one)])
        store.replace(scope, two)
        store.replace(scope, three)
        given = store.add_share(scope, share(one))
        [number] = store.numbers(scope, [memory_subject(one.id)]).values()

        white = replace(two, content="white heron", updated_at=one.updated_at + 5 * HOUR)
        later = replace(three, updated_at=white.updated_at + HOUR)
        versions = (one, white, later, deleted(later))[:length]
        verdicts = store.receive(scope, [Received(*told(*versions), number)])
        assert verdicts == [Taken(number + 2)]
        assert store.versions(scope, one.id) == [*versions]
        for memory in versions:
            assert store.get(scope, one.id, as_of=memory.updated_at) == memory
        assert store.links(scope, [one.id]) == [link(other, LinkKind.SEE_ALSO, one)]
        assert given in store.shares(scope)
        frequency = store.lexical_statistics(scope, ["grey", "white"]).frequency
        assert frequency == {"grey": 0, "white": int(length > 1)}
        store.purge(scope, [one.id])
    assert [finding for finding in store.check() if not finding.good] == []


def test_sealed_records_are_replaced_with_their_versions(
    store: Store, scope: Scope, make: Make
) -> None:
    plain = make("kelp")
    placeholder = replace(plain, content="[sensitive]", sensitive=True)
    then = after(placeholder, tags=("x",))
    store.put(scope, plain)
    concealed = told(placeholder, then, sealed=(seal(placeholder), seal(then)))
    assert store.receive(scope, [Received(*concealed, 1)]) == [Taken(2)]
    assert store.versions(scope, plain.id) == [placeholder, then]
    assert store.sealed(scope, plain.id) == [seal(placeholder), seal(then)]
    assert store.lexical_statistics(scope, ["kelp"]).frequency == {"kelp": 0}

    other = replace(seal(then), ciphertext=b"otherwise", nonce=b"other")
    again = told(placeholder, then, sealed=(seal(placeholder), other))
    assert store.receive(scope, [Received(*again, 2)]) == [Taken(3)]
    assert store.sealed(scope, plain.id) == [seal(placeholder), other]
    known = replace(make("[sensitive]"), sensitive=True)
    record = replace(seal(known), fingerprint=other.fingerprint)
    assert store.put(scope, known, sealed=[record]) != store.put(scope, make("kelp"))


def test_a_purge_takes_links_and_shares_along_and_notes_them(
    store: Store, scope: Scope, make: Make, link: Links, share: Callable[..., Share]
) -> None:
    gone, kept = make("heron"), make("gannet")
    both = link(kept, LinkKind.SUPERSEDES, gone)
    store.put(scope, gone)
    store.put(scope, kept, [both])
    given = store.add_share(scope, share(gone))
    subject, _ = told(gone)
    received = Received(subject, Gone(("elsewhere", digest(gone))), 1, settled=True)
    assert store.receive(scope, [received]) == [Taken(0)]

    left = (store.versions(scope, gone.id), store.shares(scope), [*store.all_links(scope)])
    assert left == ([], [], [])
    told_of = [(linked(both)[0], 5), (shared(given)[0], 6)]
    assert store.changes(scope, 2, 99) == [Change(*each) for each in told_of]
    assert store.states(scope, [subject]) == {subject: Gone(())}
    received = Received(subject, Gone(("elsewhere",)), 0)
    assert store.receive(scope, [received]) == [Taken(7)]
    assert store.states(scope, [subject]) == {subject: Gone(("elsewhere",))}
    assert store.lexical_statistics(scope, ["heron"]).frequency == {"heron": 0}


def test_a_purge_keeps_the_digests_of_what_was_there_and_of_what_was_elsewhere(
    store: Store, scope: Scope, make: Make
) -> None:
    one = make()
    subject, _ = told(one)
    store.put(scope, one)
    assert store.receive(scope, [Received(subject, Gone(("elsewhere",)), 1)]) == [Taken(2)]
    assert store.changes(scope, 0, 9) == [Change(subject, 2, ("elsewhere", digest(one)))]


# ---- links and shares ---------------------------------------------------------------------------


def test_links_become_what_is_received(
    store: Store, scope: Scope, make: Make, link: Links, noon: datetime
) -> None:
    one, other, absent = make(), make(), make()
    for memory in (one, other):
        store.put(scope, memory)
    now = link(one, LinkKind.SEE_ALSO, other)
    past = replace(now, created_at=noon - HOUR, removed_at=noon)
    store.add_link(scope, now)
    subject, state = linked(past, replace(now, created_at=noon + HOUR))
    dangling = linked(link(one, LinkKind.CAUSES, absent))
    received = [Received(subject, state, 3), Received(*dangling, 0, settled=True)]
    assert store.receive(scope, received) == [Taken(4), Taken(0)]
    assert store.states(scope, [subject, dangling[0]]) == dict([(subject, state), dangling])
    assert store.links(scope, [other.id]) == [state.links[1]]

    nothing = [Received(subject, LinkState(()), 4), Received(dangling[0], LinkState(()), 0)]
    assert store.receive(scope, nothing) == [Taken(5), Taken(6)]
    assert [*store.all_links(scope)] == []


def test_a_link_that_would_close_a_circle_is_refused_and_the_others_are_taken(
    store: Store, scope: Scope, make: Make, link: Links, noon: datetime
) -> None:
    one, two, three = (make() for _ in range(3))
    for memory in (one, two, three):
        store.put(scope, memory)
    for source, target in ((one, two), (two, three)):
        store.add_link(scope, link(source, LinkKind.SUPERSEDES, target))
    before = [*store.all_links(scope)]
    back = link(three, LinkKind.SUPERSEDES, one)
    past = replace(back, removed_at=noon + HOUR)
    received = [
        Received(*linked(back), 0, peer_number=4),
        Received(*told(make()), 0),
        Received(*linked(link(three, LinkKind.SEE_ALSO, one)), 0),
    ]
    refused, *taken = store.receive(scope, received)
    assert isinstance(refused, Refused)
    assert isinstance(refused.error, SupersedeCycle)
    assert taken == [Taken(6), Taken(7)]
    assert [*store.all_links(scope)][:2] == before
    assert store.peer_numbers(scope, [received[0].subject]) == {}
    assert store.receive(scope, [Received(*linked(past), 0)]) == [Taken(8)]


def test_a_link_to_a_memory_that_is_not_there_breaks_no_search(
    store: Store, scope: Scope, make: Make, link: Links, everything: object
) -> None:
    here, absent = make("heron"), make("gannet")
    links = [link(absent, LinkKind.SUPERSEDES, here), link(here, LinkKind.RESOLVED_BY, absent)]
    store.put(scope, here)
    store.receive(scope, [Received(*linked(each), 0) for each in links])
    assert store.links(scope, [here.id]) == sorted(links, key=lambda x: x.source)
    assert store.newer(scope, [here.id]) == []
    assert store.get_many(scope, [here.id, absent.id]) == {here.id: here}
    found = store.put(scope, make("heron"))
    assert found.memory == here


def test_shares_become_what_is_received(
    store: Store, scope: Scope, make: Make, share: Callable[..., Share]
) -> None:
    memory = make()
    store.put(scope, memory)
    held, ended, new = share(memory), share("birds"), share("fish", Right.WRITE)
    store.add_share(scope, held)
    store.add_share(scope, ended)
    writable = replace(held, right=Right.WRITE)
    received = [
        Received(*shared(writable), 2),
        Received(shared(ended)[0], ShareState(None), 3, settled=True),
        Received(*shared(new), 0),
    ]
    assert store.receive(scope, received) == [Taken(4), Taken(0), Taken(5)]
    assert sorted(store.shares(scope), key=str) == sorted([writable, new], key=str)
    assert store.states(scope, [received[1].subject]) == {received[1].subject: ShareState(None)}


# ---- what is not taken --------------------------------------------------------------------------


def test_what_changed_meanwhile_is_not_overwritten(
    store: Store, scope: Scope, make: Make, link: Links
) -> None:
    one, other, new = make("heron"), make("gannet"), make("otter")
    later = after(one, content="grey heron")
    store.put(scope, one)
    store.put(scope, other)
    store.replace(scope, later)
    received = [
        Received(*told(one, after(one, content="white heron")), 1, peer_number=7),
        Received(memory_subject(other.id), Gone(()), 0),
        Received(*told(new), 5),
        Received(*linked(link(one, LinkKind.CAUSES, other)), 0),
    ]
    assert store.receive(scope, received) == [Stale(3), Stale(2), Stale(0), Taken(4)]
    assert store.versions(scope, one.id) == [one, later]
    assert store.get(scope, other.id) == other
    assert store.get(scope, new.id) is None
    assert store.peer_numbers(scope, [received[0].subject]) == {}


def test_the_same_operation_twice_happens_once(store: Store, scope: Scope, make: Make) -> None:
    memory = make()
    subject = memory_subject(memory.id)
    once = Received(*told(memory), 0)
    assert store.receive(scope, [once, once]) == [Taken(1), Stale(1)]
    assert store.receive(scope, [once]) == [Stale(1)]
    settled = Received(*told(memory), 1, settled=True)
    gone = Received(subject, Gone(()), 0, settled=True)
    assert store.receive(scope, [settled, gone]) == [Taken(0), Taken(0)]
    assert store.get(scope, memory.id) is None
    assert store.changes(scope, 0, 9) == []


def test_what_a_purge_ends_may_come_with_it(
    store: Store, scope: Scope, make: Make, link: Links
) -> None:
    """As a server tells it: the memory is gone, and then each link that went with it."""
    one, other = make(), make()
    both = link(one, LinkKind.CAUSES, other)
    store.put(scope, one)
    store.put(scope, other, [both])
    received = [
        Received(memory_subject(one.id), Gone((digest(one),)), 1, settled=True),
        Received(linked(both)[0], LinkState(()), 3, settled=True),
    ]
    assert store.receive(scope, received) == [Taken(0), Taken(0)]
    assert [x.subject for x in store.changes(scope, 0, 9)] == [memory_subject(other.id)]


def test_a_record_under_a_key_that_was_rotated_away_is_refused(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    secret, plain = make("[sensitive]", sensitive=True), make()
    store.retire_keys(["old"], noon)
    received = [
        Received(*told(secret, sealed=(seal(secret, "old"),)), 0),
        Received(*told(plain), 0),
    ]
    refused, taken = store.receive(scope, received)
    assert isinstance(refused, Refused)
    assert isinstance(refused.error, KeyRetired)
    assert taken == Taken(1)
    assert store.get(scope, secret.id) is None


def test_a_state_that_does_not_fit_its_subject_is_refused(
    store: Store, scope: Scope, make: Make, link: Links, share: Callable[..., Share], noon: datetime
) -> None:
    one, two = make(), make()
    both = link(one, LinkKind.CAUSES, two)
    own = share("birds", reader=scope.user)
    subject = memory_subject(one.id)
    wrong: list[tuple[Subject, SubjectState]] = [
        *((Subject(kind, name), Gone(())) for kind in SubjectKind for name in NO_NAMES),
        (subject, History(versions=())),
        (subject, History(versions=(two,))),
        (subject, History(versions=(after(one), one))),
        (subject, History(versions=(replace(one, version=0),))),
        (subject, History(versions=(one, one))),
        (subject, History(versions=(one,), sealed=(seal(two),))),
        (subject, History(versions=(one,), sealed=(seal(after(one)),))),
        (subject, History(versions=(one,), sealed=(seal(one), seal(one)))),
        (subject, History(versions=(one,), sealed=(seal(one, owner="bea"),))),
        (subject, LinkState(())),
        (linked(both)[0], Gone(())),
        (linked(both)[0], LinkState((link(two, LinkKind.CAUSES, one),))),
        (linked(both)[0], LinkState((both, replace(both, created_at=noon + HOUR)))),
        (linked(link(one, LinkKind.CAUSES, one))[0], LinkState(())),
        (shared(share("birds"))[0], ShareState(share("fish"))),
        (shared(share("birds"))[0], ShareState(share("birds", ended_at=noon))),
        shared(own),
    ]
    verdicts = store.receive(scope, [Received(*each, 0) for each in wrong])
    errors = [each.error for each in verdicts if isinstance(each, Refused)]
    assert [type(error) for error in errors] == [InvalidChange] * len(wrong)
    assert store.changes(scope, 0, 99) == []
    assert store.get(scope, one.id) is None


def test_many_histories_are_taken_at_once(store: Store, scope: Scope, make: Make) -> None:
    memories = [make() for _ in range(60)]
    histories = [told(one, after(one, content=f"{one.id} again")) for one in memories]
    received = [Received(*each, 0) for each in histories]
    assert store.receive(scope, received) == [Taken(number) for number in range(1, 61)]
    assert store.states(scope, [each.subject for each in received]) == dict(histories)
