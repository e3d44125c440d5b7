"""Both clients against a real server: the verbs, the nouns and the errors of a memory in hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bearinmind import Mind, errors
from bearinmind.remember.update import Deleted
from bearinmind.surfaces.verbs import requests as r
from bearinmind.surfaces.verbs.table import BY_NAME
from bearinmind.trace import Answer
from bearinmind.types import AlreadyKnown, LinkKind, Right, Stored, Trust
from support.clients import KINDS, client_of
from support.http_server import Serving, serving

OFTEN = 40  # stores through a server that loses a third of what it is asked


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db") as server:
        yield server


@pytest.fixture(params=KINDS)
def as_user(request: pytest.FixtureRequest, server: Serving) -> Iterator[Callable[[str], Any]]:
    """Clients of users, closed in the end."""
    opened: list[Any] = []

    def open_(user: str) -> Any:
        manager = client_of(request.param, server.url, server.key(user))
        opened.append(manager)
        return manager.__enter__()

    yield open_
    for manager in opened:
        manager.__exit__(None, None, None)


@pytest.fixture
def ada(as_user: Callable[[str], Any]) -> Any:
    return as_user("ada")


@pytest.fixture
def in_hand(server: Serving, ada: Any) -> Mind:
    """The memory of ada without a server in between."""
    return server.bearinmind.for_user("ada")


def settled(answer: Answer) -> Answer:
    """An answer without what differs from one recall to the next: when it was, how long it took."""
    trace = replace(
        answer.trace,
        milliseconds={},
        legs=tuple(replace(leg, milliseconds=0.0, detail={}) for leg in answer.trace.legs),
    )
    filter_ = replace(answer.query.filter, now=datetime.min.replace(tzinfo=UTC))
    return replace(answer, trace=trace, query=replace(answer.query, filter=filter_))


# ---- the same verbs ----------------------------------------------------------------------------


def test_a_memory_lives_its_life_on_a_server_as_it_does_in_hand(ada: Any, in_hand: Mind) -> None:
    outcome = ada.store(
        "The orders service listens on port 8081.",
        tags=["orders"],
        keywords=["endpoint"],
        importance=0.7,
        session="monday",
        trust="user",
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
    )
    assert isinstance(outcome, Stored)
    id_ = outcome.memory.id
    assert outcome.memory == in_hand.get(id_) == ada.get(id_[:6])
    assert outcome.memory.provenance.trust is Trust.USER
    again = ada.store("The orders service listens on port 8081.")
    assert again == AlreadyKnown(memory=outcome.memory)

    changed = ada.update(id_, importance=0.9, expected_version=1)
    assert changed == in_hand.get(id_)
    assert list(ada.versions(id_)) == list(in_hand.versions(id_)) == [outcome.memory, changed]

    newer = ada.store(
        "The orders service listens on port 9090.", supersedes=[id_], trust="user"
    ).memory
    cause = ada.store("Port 8081 was taken by the proxy.").memory
    link = ada.link(cause.id, "causes", newer.id)
    assert link.kind is LinkKind.CAUSES
    assert {*ada.links(newer.id)} == {*in_hand.links(newer.id)}
    assert ada.why(newer.id) == in_hand.why(newer.id)
    assert ada.timeline(newer.id) == in_hand.timeline(newer.id)
    assert ada.timeline(newer.created_at) == in_hand.timeline(newer.created_at)
    assert ada.unlink(cause.id, LinkKind.CAUSES, newer.id).removed_at is not None

    deleted, held = ada.delete(cause.id), in_hand.get(cause.id)
    assert (deleted.id, deleted.deleted_at) == (held.id, held.deleted_at)
    assert ada.stats() == in_hand.stats()
    assert ada.restore(cause.id) == in_hand.get(cause.id)
    assert ada.stats().live == 2


def test_a_recall_by_a_server_is_the_recall_in_hand_with_all_its_trace(
    ada: Any, in_hand: Mind
) -> None:
    old = ada.store("The berth of the boat is number 4.", tags=["boat"]).memory
    new = ada.store("The berth of the boat is number 7.", tags=["boat"], supersedes=[old.id]).memory
    for n in range(8):
        ada.store(f"The boat was painted by painter {n}.", tags=["boat"], importance=n / 10)
    ada.store("The boat leaks.", valid_to=datetime(2026, 1, 1, tzinfo=UTC))
    ada.link(new.id, "see-also", ada.store("Harbour fees are due in May.").memory.id)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("which berth does the boat have?", {}),
        ("which berth did the boat have in March 2024?", {}),
        ("boat", {"limit": 2, "tags": ["boat"], "sort_by": "importance"}),
        ("boat", {"states": ["live", "superseded", "expired"], "pool": 3, "budget_bytes": 90}),
        ("berth", {"expanded": ["mooring"], "focus": ["boat"], "categories": ["fact"]}),
        ("berth", {"as_of": old.created_at}),
        ("nothing of the kind", {"created_from": new.created_at}),
    ]

    for text, fields in asked:
        there, here = ada.recall(text, **fields), in_hand.recall(text, **fields)
        assert settled(there) == settled(here)
        assert there.trace.degraded == here.trace.degraded
        assert [leg.detail.keys() for leg in there.trace.legs] == [
            leg.detail.keys() for leg in here.trace.legs
        ]
        assert ada.why_not(text, old.id, **fields) == in_hand.why_not(text, old.id, **fields)


def test_what_is_chosen_for_one_call_is_the_same_on_a_server_as_in_hand(
    ada: Any, in_hand: Mind
) -> None:
    first = ada.store("The walrus sleeps at noon.", importance=0.2).memory
    second = ada.store("The walrus sleeps at night.", supersedes=[first.id]).memory
    ada.store("The seal sings.", importance=0.9)
    weights: Any = {"leg_weights": {"graph": 0}, "decay_days": {"facts": 1}}
    there, here = ada.recall("walrus", **weights), in_hand.recall("walrus", **weights)
    assert there.trace.locked_out == here.trace.locked_out != ()
    assert [leg.leg for leg in there.trace.legs] == ["lexical"]
    assert ada.why(second.id, depth=1) == in_hand.why(second.id, depth=1)
    assert ada.list(by_importance=True) == tuple(in_hand.list(by_importance=True))
    deleted = ada.delete(second.id, with_earlier=True)
    assert (type(deleted), deleted.deleted_too) == (Deleted, (first.id,))


def test_lists_go_on_where_the_page_before_ended(ada: Any, in_hand: Mind) -> None:
    stored = [ada.store(f"Number {n}.", tags=["even"] * (n % 2 == 0)).memory for n in range(7)]

    first = ada.list(limit=3)
    assert list(first) == list(in_hand.list(limit=3))
    last = first[-1]
    for after in (last.id, (last.created_at, last.id)):
        assert list(ada.list(limit=9, after=after)) == list(in_hand.list(limit=9, after=after))
    assert [memory.id for memory in ada.list(newest_first=False, tags=["even"])] == [
        memory.id for memory in stored[::2]
    ]


def test_every_memory_comes_once_over_all_pages(ada: Any, in_hand: Mind) -> None:
    names = [in_hand.store(f"Number {n}.").memory.id for n in range(250)]

    assert [memory.id for memory in ada.every(newest_first=False)] == names
    assert [memory.id for memory in ada.every()] == names[::-1]


def test_what_is_sensitive_is_told_only_to_who_asks_for_it(ada: Any) -> None:
    memory = ada.store("The gate opens with 4711-0815.", sensitive=True).memory

    assert "4711" not in memory.content
    assert ada.secrets.reveal(memory.id) == "The gate opens with 4711-0815."


def test_a_verb_can_be_asked_as_it_travels(ada: Any) -> None:
    ada.store("The boat leaks.")

    answer = ada.ask(BY_NAME["recall"], r.RecallRequest(query="boat"))
    assert answer.as_data == ()
    assert answer.trace is None


# ---- sharing -----------------------------------------------------------------------------------


def test_what_is_shared_is_seen_changed_and_gone_again(as_user: Callable[[str], Any]) -> None:
    ada, bob = as_user("ada"), as_user("bob")
    memory = ada.store("The boat leaks at the bow.", tags=["boats/old"]).memory
    with pytest.raises(errors.MemoryNotFound):
        bob.get(memory.id)

    share = ada.share(memory.id, "bob")
    assert (share.right, list(bob.shared_with_me())) == (Right.READ, [share])
    assert bob.recall("boat").hits[0].memory.owner == "ada"
    assert bob.get(memory.id) == memory
    with pytest.raises(errors.NotAllowed):
        bob.update(memory.id, content="It does not leak.")
    ada.share(memory.id, "bob", Right.WRITE)
    assert bob.update(memory.id, content="It was mended.").version == 2
    assert ada.unshare(memory.id, "bob").ended_at is not None
    with pytest.raises(errors.MemoryNotFound):
        bob.get(memory.id)

    rule = ada.share_tag("boats/old", "bob")
    assert list(ada.my_shares()) == [rule]
    assert bob.get(memory.id).content == "It was mended."
    ada.unshare_tag("boats/old", "bob")
    assert not bob.recall("mended").hits
    with pytest.raises(errors.ShareNotFound):
        ada.unshare_tag("boats/old", "bob")


@settings(max_examples=60)
@given(tag=st.text(st.sampled_from("ab/.%?#&+ é\n,") | st.characters(), max_size=12))
def test_any_tag_is_shared_as_it_is_in_hand(
    tag: str, server: Serving, as_user: Callable[[str], Any]
) -> None:
    server.key("bob")
    ada, in_hand = as_user("ada"), server.bearinmind.for_user("ada")
    try:
        here: Any = in_hand.share_tag(tag, "bob")
    except errors.MindError as exc:
        with pytest.raises(type(exc)):
            ada.share_tag(tag, "bob")
        return
    there = ada.share_tag(tag, "bob")

    assert (there.tag, there.reader) == (here.tag, here.reader)
    assert ada.unshare_tag(tag, "bob").tag == here.tag
    assert not in_hand.my_shares()


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_runs_a_server_looks_after_users_and_keys(kind: str, server: Serving) -> None:
    in_hand = server.bearinmind
    with client_of(kind, server.url, server.key("root", "admin")) as root:
        user = root.accounts.add_user("ada")
        made = root.accounts.create_key("ada", access="read", label="her laptop", per_minute=100)
        assert made.key in in_hand.accounts.keys("ada")
        assert [replace(key, hash=b"") for key in in_hand.accounts.keys("ada")] == list(
            root.accounts.keys("ada")
        )
        assert list(root.accounts.users()) == list(in_hand.accounts.users())
        with client_of(kind, server.url, made.text) as ada:
            assert ada.stats().live == 0
            newer = root.accounts.renew_key(made.key.id, overlap=timedelta(0))
            assert root.accounts.revoke_key(newer.text).revoked_at is not None
            with pytest.raises(errors.NotAuthenticated):
                ada.stats()
        assert root.accounts.disable_user("ada").disabled_at is not None
        assert root.accounts.enable_user("ada") == user
        assert list(root.accounts.audit(5)) == list(in_hand.accounts.audit(5, everybody=True))


# ---- the same errors ---------------------------------------------------------------------------

NOBODY = "zzzzzzzzzzzz"
WRONG: list[Callable[[Any, str], object]] = [
    lambda m, _: m.store(""),
    lambda m, _: m.store("x" * 1_401),
    lambda m, _: m.store("x", category="moods"),
    lambda m, _: m.store("x", tags=["a,b\n"]),
    lambda m, _: m.store("x", importance=1.5),
    lambda m, _: m.store("x", trust="blind"),
    lambda m, _: m.store("x", created_at=datetime(9_999, 1, 1, tzinfo=UTC)),
    lambda m, _: m.store("x", supersedes=[NOBODY]),
    lambda m, _: m.store("Another text.", idempotency_key="first"),
    lambda m, _: m.get(NOBODY),
    lambda m, _: m.get("no id"),
    lambda m, id_: m.update(id_, importance=0.1, expected_version=7),
    lambda m, id_: m.delete(id_, expected_version=7),
    lambda m, id_: m.restore(id_),
    lambda m, id_: m.link(id_, "see-also", id_),
    lambda m, id_: m.unlink(id_, "causes", id_),
    lambda m, id_: m.link(id_, "hates", id_),
    lambda m, id_: m.secrets.reveal(id_),
    lambda m, _: m.recall("x", states=["gone"]),
    lambda m, _: m.recall(
        "x",
        created_from=datetime(2026, 2, 1, tzinfo=UTC),
        created_to=datetime(2026, 1, 1, tzinfo=UTC),
    ),
    lambda m, _: m.why_not("x", NOBODY),
    lambda m, id_: m.share(id_, "ada"),
    lambda m, id_: m.share(id_, "no such name!"),
    lambda m, id_: m.share(id_, "carol"),
    lambda m, id_: m.unshare(id_, "bob"),
    lambda m, _: m.list(after=NOBODY),
    lambda m, id_: m.share(id_, "bob/shares/carol"),
    lambda m, _: m.share_tag("boats", "bob/shares/carol"),
    lambda m, _: m.unshare_tag("boats", ".."),
    lambda m, _: m.share_tag("", "bob"),
    lambda m, _: m.accounts.add_user("a/b"),
]


def told(ask: Callable[[Any, str], object], asked: Any, id_: str) -> tuple[str, str, str]:
    with pytest.raises(errors.MindError) as caught:
        ask(asked, id_)
    return caught.value.code, caught.value.message, caught.value.hint


def test_an_error_is_the_same_on_a_server_as_in_hand(
    server: Serving, ada: Any, in_hand: Mind
) -> None:
    server.key("bob")
    id_ = ada.store("The boat leaks.", idempotency_key="first").memory.id

    assert [told(ask, ada, id_) for ask in WRONG] == [told(ask, in_hand, id_) for ask in WRONG]


@pytest.mark.parametrize("kind", KINDS)
def test_who_may_not_is_told_so(kind: str, server: Serving) -> None:
    good = server.key("ada", "read")
    with client_of(kind, server.url, good) as reader:
        assert reader.stats().live == 0
        with pytest.raises(errors.NotAllowed):
            reader.store("x")
    for bad in (None, good[:-1] + ("a" if good[-1] != "a" else "b"), "nonsense"):
        with client_of(kind, server.url, bad) as nobody, pytest.raises(errors.NotAuthenticated):
            nobody.stats()


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_that_was_used_too_often_is_told_when_to_come_again(
    kind: str, server: Serving
) -> None:
    key = server.key("ada", per_minute=3)

    with client_of(kind, server.url, key, retries=0) as client:
        for _ in range(3):
            client.stats()
        with pytest.raises(errors.TooManyRequests) as caught:
            client.stats()
    assert caught.value.retry_after > 0
