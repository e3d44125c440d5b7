"""What a replica asks of a server over HTTP, and what it makes of the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bearinmind import Mind, codec
from bearinmind.changes import Refused, Stale, Taken, memory_subject
from bearinmind.errors import (
    ContentTooLong,
    FeedRestarted,
    InvalidChange,
    InvalidUser,
    NotAllowed,
    NotAuthenticated,
    QuotaUsedUp,
    RequestTooLarge,
    ServerFailure,
    ServerUnreachable,
)
from bearinmind.protocols import Gone, History
from bearinmind.surfaces.verbs.sync_verbs import SYNC_VERBS
from bearinmind.surfaces.verbs.verb import Verb
from bearinmind.sync import wire
from bearinmind.sync.model import Arrived, Operation, Pulled
from bearinmind.sync.wire import HttpSyncServer
from bearinmind.types import Memory, Provenance, UserId, new_id
from support.faulty_server import Behaviour, breaks_off, faulty, hangs_up, loses_answer, says
from support.http_server import Serving, serving

ADA = UserId("ada")
PATH = "/api/v1/sync/changes"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One for all: each test asks about things of its own."""
    place = tmp_path_factory.mktemp("served") / "served.db"
    with serving(place, request_bytes=20_000) as running:
        running.key("ada")
        yield running


@pytest.fixture
def ada(server: Serving) -> Iterator[HttpSyncServer]:
    with replica(server.url, server.key("ada")) as found:
        yield found


def replica(url: str, key: str | None, owner: UserId = ADA) -> HttpSyncServer:
    return HttpSyncServer(url, key, owner, timeout=20)


def operation(content: str = "the walrus eats fish") -> Operation:
    """A memory of another machine, which the server does not know yet."""
    id_ = new_id()
    made = datetime(2026, 11, 14, 9, 30, 0, 123_456, tzinfo=UTC)
    memory = Memory(
        id=id_,
        owner=ADA,
        content=content,
        category="facts",
        tags=("sea",),
        keywords=(),
        importance=0.1 + 0.2,
        sensitive=False,
        created_at=made,
        updated_at=made,
        deleted_at=None,
        valid_from=None,
        valid_to=None,
        provenance=Provenance(agent="laptop"),
        version=1,
    )
    return Operation(memory_subject(id_), 0, History(versions=(memory,)))


def test_what_is_pushed_is_pulled_as_it_was(ada: HttpSyncServer) -> None:
    asked = operation()
    epoch = ada.pull("", 0, 10).epoch

    [verdict] = ada.push(epoch, [asked])
    assert isinstance(verdict, Taken)
    pulled = ada.pull(epoch, verdict.number - 1, 10)

    [change] = pulled.changes
    assert (change.subject, change.state) == (asked.subject, asked.state)
    assert (pulled.cursor, pulled.more) == (verdict.number, False)


def test_what_is_pushed_twice_happens_once(server: Serving, ada: HttpSyncServer) -> None:
    epoch = ada.pull("", 0, 10).epoch
    asked = operation()

    [first] = ada.push(epoch, [asked])
    [again] = ada.push(epoch, [asked])

    assert isinstance(first, Taken)
    assert again == Stale(first.number)
    id_ = asked.subject.parts[0]
    assert len(server.bearinmind.for_user("ada").versions(id_)) == 1


def test_what_a_server_refuses_comes_with_its_error(server: Serving, ada: HttpSyncServer) -> None:
    epoch = ada.pull("", 0, 10).epoch
    good = operation()

    refused, taken = ada.push(epoch, [operation("x" * 2_000), good])

    assert isinstance(refused, Refused)
    assert isinstance(refused.error, ContentTooLong)
    assert "1,400" in refused.error.message
    assert isinstance(taken, Taken)
    kept = server.bearinmind.for_user("ada").get(good.subject.parts[0])
    assert isinstance(good.state, History)
    assert kept == good.state.versions[0]


def test_numbers_of_another_time_are_a_conflict(server: Serving, ada: HttpSyncServer) -> None:
    ada.pull("", 0, 10)
    with pytest.raises(FeedRestarted):
        ada.push("another", [operation()])
    answered = server.client("ada").post(PATH, json={"epoch": "another", "operations": []})
    assert (answered.status_code, answered.json()["code"]) == (409, "feed_restarted")


def test_more_than_a_request_may_hold_is_sent_in_several(
    server: Serving, ada: HttpSyncServer
) -> None:
    epoch = ada.pull("", 0, 10).epoch
    before = server.bearinmind.for_user("ada").stats().live
    asked = [operation(f"walrus {n}: {'fish ' * 200}".strip()) for n in range(30)]

    verdicts = ada.push(epoch, asked)

    assert [type(each) for each in verdicts] == [Taken] * 30
    assert server.bearinmind.for_user("ada").stats().live == before + 30


def test_an_operation_that_is_too_large_is_refused_and_the_others_go_on(
    ada: HttpSyncServer,
) -> None:
    epoch = ada.pull("", 0, 10).epoch
    huge = Operation(memory_subject(new_id()), 0, Gone(("f" * 60,) * 1_000))

    taken, refused = ada.push(epoch, [operation(), huge])

    assert isinstance(taken, Taken)
    assert isinstance(refused, Refused)
    assert isinstance(refused.error, RequestTooLarge)


def test_a_key_of_somebody_else_sends_and_takes_nothing(server: Serving) -> None:
    before = server.bearinmind.for_user("grace").stats()
    with replica(server.url, server.key("grace")) as grace:
        with pytest.raises(InvalidUser, match=r"'grace'.*'ada'") as raised:
            grace.pull("", 0, 10)
        with pytest.raises(InvalidUser):
            grace.push("", [operation()])
    assert "bearinmind --user grace import -" in raised.value.hint
    assert server.bearinmind.for_user("grace").stats() == before


def test_nobody_sees_or_changes_what_is_another_users(server: Serving, ada: HttpSyncServer) -> None:
    asked = operation()
    ada.push(ada.pull("", 0, 10).epoch, [asked])
    assert isinstance(asked.state, History)
    theirs = replace(asked.state.versions[0], owner=UserId("grace"), content="mine now")
    with replica(server.url, server.key("grace"), UserId("grace")) as grace:
        first = grace.pull("", 0, 10)
        grace.push(first.epoch, [asked._replace(state=History(versions=(theirs,)))])
        grace.push(first.epoch, [asked._replace(state=Gone())])

    assert first.changes == ()
    kept = server.bearinmind.for_user("ada").get(asked.subject.parts[0])
    assert kept == asked.state.versions[0]


def test_a_key_that_may_only_read_may_not_push(server: Serving) -> None:
    with replica(server.url, server.key("ada", "read")) as reader:
        epoch = reader.pull("", 0, 10).epoch
        with pytest.raises(NotAllowed):
            reader.push(epoch, [operation()])
        with pytest.raises(NotAllowed):
            reader.check_writing(epoch)


def test_who_has_no_key_is_told_so(server: Serving) -> None:
    with replica(server.url, None) as nobody, pytest.raises(NotAuthenticated):
        nobody.pull("", 0, 10)


def test_every_operation_counts_for_the_writes_of_a_key(server: Serving) -> None:
    asked = [operation(f"walrus {n}") for n in range(3)]
    key = server.key("ada", per_day=3)
    told = [codec.to_data(each) for each in asked]
    body = {"epoch": "e", "operations": told}

    first, second = (server.bearing(key).post(PATH, json=body) for _ in range(2))

    assert first.json()["code"] == "feed_restarted"  # it got in
    assert (second.status_code, second.json()["code"]) == (429, "quota_used_up")


def test_of_a_quota_smaller_than_a_batch_all_is_used_and_the_rest_waits(
    server: Serving, tmp_path: Path
) -> None:
    bob = UserId("bob")
    few, more = server.key("bob", per_day=30), server.key("bob")
    with (
        Mind.open(tmp_path / "laptop.db", user="bob", embedder="none", worker="off") as laptop,
        replica(server.url, few, bob) as narrow,
        replica(server.url, more, bob) as wide,
    ):
        laptop.sync.connect(server.url, "bob")
        for number in range(40):
            laptop.store(f"walrus {number}")
        first, second = (laptop.sync.run(each) for each in (narrow, wide))
    assert (first.pushed, type(first.push_error)) == (30, QuotaUsedUp)
    assert (second.pushed, second.push_error) == (10, None)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with (
        HttpSyncServer("http://127.0.0.1:9", None, ADA, timeout=1) as gone,
        pytest.raises(ServerUnreachable),
    ):
        gone.pull("", 0, 10)


# ---- a newer server ----------------------------------------------------------------------------


def arrived(number: int) -> dict[str, Any]:
    subject, _, state = operation()
    data: dict[str, Any] = codec.to_data(Arrived(subject, number, state))
    return data


UNKNOWN = {"subject": {"kind": "dream", "name": "[]"}, "number": 50, "state": {"kind": "dream"}}


def pulled(*changes: dict[str, Any], version: int = wire.VERSION) -> Pulled:
    """What a replica takes from a server that sends it this."""
    page = {"epoch": "e", "changes": [*changes], "cursor": 99, "more": False, "vectors": []}
    with faulty() as told, HttpSyncServer(told.url, None, ADA, timeout=20) as server:
        told.answers["GET", PATH] = {"wire": version, "user": "ada", "page": page}
        return server.pull("", 0, 10)


def test_what_comes_before_something_unknown_is_taken() -> None:
    found = pulled(arrived(41), arrived(42), UNKNOWN, arrived(51))

    assert [each.number for each in found.changes] == [41, 42]
    assert (found.cursor, found.more) == (42, True)


def test_something_unknown_says_to_upgrade() -> None:
    with pytest.raises(InvalidChange, match=r"changes\.0: .*subject\.kind: .*'dream'") as raised:
        pulled(UNKNOWN, arrived(51))
    assert "upgrade" in raised.value.hint.lower()


def test_a_field_that_is_not_known_here_says_to_upgrade() -> None:
    with pytest.raises(InvalidChange, match="colour") as raised:
        pulled(arrived(41) | {"colour": "green"})
    assert "upgrade" in raised.value.hint.lower()


@pytest.mark.parametrize("behaviour", [hangs_up, loses_answer, breaks_off])
def test_a_push_whose_answer_is_lost_is_sent_again_and_happens_once(
    server: Serving, behaviour: Behaviour
) -> None:
    asked = operation()
    with faulty(server.url) as between, replica(between.url, server.key("ada")) as ada:
        epoch = ada.pull("", 0, 10).epoch
        between.script = [behaviour]
        [verdict] = ada.push(epoch, [asked])

    assert isinstance(verdict, Taken if behaviour is hangs_up else Stale)
    assert len(server.bearinmind.for_user("ada").versions(asked.subject.parts[0])) == 1


def test_neither_an_error_nor_a_repr_tells_the_key(server: Serving) -> None:
    key = server.key("ada")
    with faulty() as told, replica(told.url, key) as ada:
        told.always = says(f"who are you, {key}?", 500)
        with pytest.raises(ServerFailure) as raised:
            ada.pull("", 0, 10)
        assert key not in f"{ada!r} {raised.value.message} {raised.value.hint}"


@pytest.mark.parametrize("version", [0, 2])
def test_a_server_of_another_format_says_to_upgrade(version: int) -> None:
    with pytest.raises(InvalidChange, match=f"version {version} of the sync format") as raised:
        pulled(version=version)
    assert "upgrade" in raised.value.hint.lower()


def test_a_replica_of_another_format_is_refused(server: Serving) -> None:
    client = server.client("ada")
    operations: list[object] = []
    answers = [
        client.get(PATH, params={"wire": 2}),
        client.post(PATH, json={"wire": 2, "epoch": "e", "operations": operations}),
        client.get("/api/v1/sync/shared", params={"wire": 2}),
    ]

    assert [each.json()["code"] for each in answers] == ["invalid_change"] * 3


@pytest.mark.parametrize("verb", SYNC_VERBS, ids=lambda verb: verb.name)
def test_every_example_is_what_a_replica_sends(verb: Verb) -> None:
    if verb.example is None:
        assert verb.method == "GET"
        return
    request = verb.request.model_validate_json(json.dumps(verb.example), strict=True)
    if verb.name == "sync_push":
        assert wire.read_operations(request.model_dump()["operations"], ADA)
