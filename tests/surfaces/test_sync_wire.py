"""What replicas and servers send each other says everything, and nothing else is taken."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind import codec, errors
from bearinmind.changes import (
    LinkState,
    Refused,
    ShareState,
    Stale,
    Subject,
    Taken,
    digest,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.errors import InvalidChange
from bearinmind.protocols import Gone, History, Sealed, SubjectState
from bearinmind.surfaces.verbs import sync_verbs as rows
from bearinmind.sync import wire
from bearinmind.sync.model import Arrived, Operation, Pulled, SentVector
from bearinmind.types import (
    ID_ALPHABET,
    ID_LENGTH,
    Decider,
    Judgement,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Right,
    Share,
    Trust,
    UserId,
)

ADA = UserId("ada")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
some_text = texts.filter(lambda text: text not in {"", ADA})
memory_ids = st.text(ID_ALPHABET, min_size=ID_LENGTH, max_size=ID_LENGTH).map(MemoryId)
moments = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001  hypothesis adds the zone
    max_value=datetime(9998, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
origins = st.none() | texts


@st.composite
def memories(draw: st.DrawFn, id: MemoryId, version: int) -> Memory:
    return Memory(
        id=id,
        owner=ADA,
        content=draw(texts),
        category=draw(texts),
        tags=tuple(draw(st.lists(texts, max_size=3))),
        keywords=tuple(draw(st.lists(texts, max_size=3))),
        importance=draw(st.floats(0, 1)),
        sensitive=draw(st.booleans()),
        created_at=draw(moments),
        updated_at=draw(moments),
        deleted_at=draw(st.none() | moments),
        valid_from=draw(st.none() | moments),
        valid_to=draw(st.none() | moments),
        provenance=Provenance(
            agent=draw(origins),
            session=draw(origins),
            project=draw(origins),
            source=draw(origins),
            trust=draw(st.sampled_from(Trust)),
        ),
        version=version,
    )


@st.composite
def histories(draw: st.DrawFn) -> tuple[Subject, SubjectState]:
    id_ = draw(memory_ids)
    numbers = sorted(draw(st.sets(st.integers(1, 2**31 - 1), min_size=1, max_size=3)))
    sealed = tuple(
        Sealed(
            owner=ADA,
            id=id_,
            version=number,
            key_id=draw(texts),
            nonce=draw(st.binary(max_size=20)),
            ciphertext=draw(st.binary(max_size=50)),
            fingerprint=draw(st.binary(max_size=40)),
        )
        for number in numbers
        if draw(st.booleans())
    )
    versions = tuple(draw(memories(id_, number)) for number in numbers)
    return memory_subject(id_), History(versions=versions, sealed=sealed)


@st.composite
def gone(draw: st.DrawFn) -> tuple[Subject, SubjectState]:
    digests = st.lists(st.text("0123456789abcdef", min_size=32, max_size=32), max_size=3)
    return memory_subject(draw(memory_ids)), Gone(tuple(draw(digests)))


@st.composite
def links(draw: st.DrawFn) -> tuple[Subject, SubjectState]:
    source, target = draw(st.lists(memory_ids, min_size=2, max_size=2, unique=True))
    kind = draw(st.sampled_from(LinkKind))
    ends = draw(st.lists(st.none() | moments, max_size=3, unique=True))
    judgements = st.none() | st.builds(
        Judgement,
        probability=st.floats(0, 1),
        by=st.sampled_from(Decider),
        thing=texts,
        aspect=texts,
        evidence=st.lists(texts, max_size=5).map(tuple),
    )
    made = [
        Link(
            source=source,
            target=target,
            kind=kind,
            created_at=draw(moments),
            removed_at=removed_at,
            judgement=draw(judgements) if kind is LinkKind.OUTDATES else None,
        )
        for removed_at in ends
    ]
    return link_subject(source, kind, target), LinkState(tuple(made))


@st.composite
def shares(draw: st.DrawFn) -> tuple[Subject, SubjectState]:
    reader = UserId(draw(some_text))
    memory, tag = draw(
        st.tuples(memory_ids, st.none()) | st.tuples(st.none(), some_text)  # one of the two
    )
    share = Share(
        owner=ADA,
        reader=reader,
        right=draw(st.sampled_from(Right)),
        memory=memory,
        tag=tag,
        created_at=draw(moments),
    )
    subject = share_subject(reader, memory, tag)
    return subject, ShareState(draw(st.sampled_from([share, None])))


changes = st.one_of(histories(), gone(), links(), shares())
numbers = st.integers(0, 2**53 - 1)


def sent(operation: Operation) -> Any:
    """An operation as it arrives."""
    return json.loads(codec.to_json(operation))


def page(*changes: Arrived, **parts: Any) -> dict[str, Any]:
    """A page of changes as it arrives."""
    answer = wire.PullAnswer(wire.VERSION, ADA, Pulled("epoch", changes, 9, more=False))
    found: dict[str, Any] = json.loads(codec.to_json(answer))
    found["page"] |= parts
    return found


def arrived(answer: object) -> dict[str, Any]:
    """An answer as it arrives."""
    return wire.read_message(codec.to_json(answer))


def read(message: object) -> Pulled:
    return wire.read_page(wire.read_message(json.dumps(message).encode()), ADA).page


@given(changed=changes, number=numbers)
def test_an_operation_arrives_as_it_was_sent(
    changed: tuple[Subject, SubjectState], number: int
) -> None:
    operation = Operation(changed[0], number, changed[1])

    assert wire.read_operations([sent(operation)], ADA) == [operation]


@given(found=st.lists(st.tuples(changes, numbers), max_size=3), cursor=numbers, more=st.booleans())
def test_a_page_of_changes_arrives_as_it_was_sent(
    found: list[tuple[tuple[Subject, SubjectState], int]], cursor: int, more: bool
) -> None:
    made = tuple(Arrived(subject, number, state) for (subject, state), number in found)
    pulled = Pulled("epoch", made, cursor, more)
    answer = wire.PullAnswer(wire.VERSION, ADA, pulled)

    assert wire.read_page(arrived(answer), ADA) == answer
    for (_, state), _ in found:
        if isinstance(state, History):
            assert all(digest(version) for version in state.versions)


@given(values=st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=8).filter(any))
def test_a_vector_arrives_as_precisely_as_stores_keep_it(values: list[float]) -> None:
    made = np.array(values, np.float32)
    made /= np.linalg.norm(made)
    vector = SentVector.of(MemoryId("k7f29qmxt4hd"), "d", made)
    pulled = Pulled("epoch", (), 0, more=False, vectors=(vector,))

    message = arrived(wire.PullAnswer(wire.VERSION, ADA, pulled))
    [found] = wire.read_page(message, ADA).page.vectors
    received = found.vector()

    assert found.digest == "d"
    assert received.dtype == np.float32
    assert np.linalg.norm(received) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(received, made, atol=2e-3)


@pytest.mark.parametrize("values", ["", "AA==", "AAAA", "AHwAfA=="])
def test_a_vector_that_is_none_is_refused(values: str) -> None:
    damaged = {"memory": "k7f29qmxt4hd", "digest": "d", "values": values}

    with pytest.raises(InvalidChange, match="the vector of memory k7f29qmxt4hd"):
        read(page(vectors=[damaged]))


def test_a_verdict_arrives_as_it_was_given_with_the_error_of_its_kind() -> None:
    error = errors.SupersedeCycle("a supersedes b already", hint="Unlink one.")
    answer = wire.PushAnswer(wire.VERSION, ADA, (Taken(7), Stale(8), Refused(error)))

    taken, stale, refused = wire.read_verdicts(arrived(answer))

    assert (taken, stale) == (Taken(7), Stale(8))
    assert isinstance(refused, Refused)
    assert type(refused.error) is errors.SupersedeCycle
    assert (refused.error.message, refused.error.hint) == (error.message, error.hint)


def test_a_secret_in_the_reason_of_a_refusal_is_not_sent() -> None:
    key = "AKIA" + "Q7RT2WXN4PLM8KJD"
    error = errors.InvalidTag(f"the tag {key!r} cannot be")

    refused = rows._masked(Refused(error))

    assert isinstance(refused, Refused)
    assert type(refused.error) is errors.InvalidTag
    assert key not in refused.error.message


@pytest.mark.parametrize("version", [None, 2, "1", {}])
def test_another_version_of_the_format_says_to_upgrade(version: object) -> None:
    with pytest.raises(InvalidChange, match="of the sync format") as raised:
        read(page() | {"wire": version})
    assert "upgrade" in raised.value.hint.lower()


@pytest.mark.parametrize("content", [b"", b"[]", b"nonsense", b"[" * 100_000, b"\xff", b"{}"])
def test_an_answer_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidChange):
        wire.read_message(content)


@pytest.mark.parametrize("more", [{}, {"page": 3}, {"page": {"changes": 3}}, {"verdicts": [{}]}])
def test_an_answer_without_its_parts_is_refused(more: dict[str, Any]) -> None:
    message = {"wire": wire.VERSION, "user": "ada", **more}

    with pytest.raises(InvalidChange):
        wire.read_page(message, ADA)
    for read in (wire.read_verdicts, wire.read_shared_page, wire.read_shared_memories):
        with pytest.raises(InvalidChange):
            read(message)


def operation() -> dict[str, Any]:
    """An operation as it arrives, about a memory of one version."""
    moment = "2026-11-15T12:00:00Z"
    version = {
        "id": "k7f29qmxt4hd",
        "owner": "ada",
        "content": "The staging database is db-stage-3.",
        "category": "facts",
        "tags": ["staging"],
        "keywords": [],
        "importance": 0.5,
        "sensitive": False,
        "created_at": moment,
        "updated_at": moment,
        "deleted_at": None,
        "valid_from": None,
        "valid_to": None,
        "provenance": {
            "agent": None,
            "session": None,
            "project": None,
            "source": None,
            "trust": "agent",
        },
        "version": 1,
    }
    return {
        "subject": {"kind": "memory", "name": '["k7f29qmxt4hd"]'},
        "base": 0,
        "state": {"kind": "history", "versions": [version], "sealed": []},
    }


def operate(sent: dict[str, Any]) -> Operation:
    [read] = wire.read_operations([sent], ADA)
    return read


def subject(kind: str, *parts: str) -> dict[str, str]:
    return {"kind": kind, "name": json.dumps(parts)}


LINK = ("k7f29qmxt4hd", "causes", "q2m8xt0vd5ja")


@pytest.mark.parametrize(
    ("subject", "state", "named"),
    [
        (subject("memory", "k7f2"), {"kind": "gone", "digests": []}, "'k7f2' is not the id"),
        (subject("memory", "k7f29qmxt4hd", "x"), {}, "cannot have that name"),
        (subject("memory", "q2m8xt0vd5ja"), {}, "versions of another memory"),
        (subject("link", "k7f29qmxt4hd"), {}, "cannot have that name"),
        (subject("link", *LINK), {"kind": "gone", "digests": []}, "is given a Gone"),
        (
            subject("link", "k7f29qmxt4hd", "eats", "q2m8xt0vd5ja"),
            {"kind": "link_state", "links": []},
            "cannot have that name",
        ),
        (
            subject("link", "k7f2", "causes", "q2m8xt0vd5ja"),
            {"kind": "link_state", "links": []},
            "'k7f2' is not the id",
        ),
        (
            subject("link", LINK[0], "causes", LINK[0]),
            {"kind": "link_state", "links": []},
            "to itself",
        ),
        ({"kind": "memory", "name": "k7f29qmxt4hd"}, {}, "cannot have that name"),
        ({"kind": "memory", "name": "[" * 100_000}, {}, "cannot have that name"),
        ({"kind": "conflict", "name": '["edited", "dream", "x", "", ""]'}, {}, "that name"),
        (
            subject("share", "grace", "tag", "staging"),
            {
                "kind": "share_state",
                "share": {
                    "owner": "ada",
                    "reader": "mallory",
                    "right": "read",
                    "memory": None,
                    "tag": "staging",
                    "created_at": "2026-11-15T12:00:00Z",
                    "ended_at": None,
                },
            },
            "is given another share",
        ),
    ],
)
def test_what_does_not_belong_together_is_named(
    subject: dict[str, Any], state: dict[str, Any], named: str
) -> None:
    asked = operation() | {"subject": subject}
    if state:
        asked["state"] = state

    with pytest.raises(InvalidChange, match=named):
        operate(asked)


def judged(**changed: Any) -> dict[str, Any]:
    """An operation on a link with a judgement."""
    source, _, target = LINK
    judgement = {"probability": 0.5, "by": "agent", "thing": "", "aspect": "", "evidence": []}
    link = {
        "source": source,
        "target": target,
        "kind": "outdates",
        "created_at": "2026-11-15T12:00:00Z",
        "removed_at": None,
        "judgement": {**judgement, **changed},
    }
    state = {"kind": "link_state", "links": [link]}
    return operation() | {"subject": subject("link", source, "outdates", target), "state": state}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"probability": 1.01}, "probability 1.01"),
        ({"probability": -1}, "probability -1"),
        ({"probability": float("nan")}, "probability"),
        ({"probability": float("inf")}, "probability"),
        ({"probability": "sure"}, "probability"),
        ({"by": "oracle"}, "by"),
        ({"thing": "x" * 101}, "a thing of 101 characters"),
        ({"aspect": "x" * 101}, "an aspect of 101 characters"),
        ({"evidence": ["x" * 201]}, "evidence of 201 characters"),
        ({"evidence": ["x"] * 6}, "6 pieces of evidence"),
        ({"mood": "calm"}, "mood"),
    ],
)
def test_a_damaged_judgement_is_refused(changed: dict[str, Any], named: str) -> None:
    operate(judged())
    with pytest.raises(InvalidChange, match=named):
        operate(judged(**changed))


def test_a_release_that_knows_no_judgements_is_told_to_upgrade() -> None:
    asked = judged()
    del asked["state"]["links"][0]["judgement"]
    with pytest.raises(InvalidChange, match="judgement is missing") as caught:
        operate(asked)
    assert "upgrade" in caught.value.hint


def secret(**changed: Any) -> dict[str, Any]:
    return {
        "owner": "ada",
        "id": "k7f29qmxt4hd",
        "version": 1,
        "key_id": "k1",
        "nonce": "AAAA",
        "ciphertext": "AAAA",
        "fingerprint": "AAAA",
    } | changed


def test_a_secret_that_was_sealed_for_somebody_else_is_refused_with_the_remedy() -> None:
    asked = operation()
    asked["state"]["sealed"] = [secret(owner="grace")]

    with pytest.raises(InvalidChange, match="sealed for 'grace', not for 'ada'") as raised:
        operate(asked)
    assert "bearinmind export" in raised.value.hint


def test_a_memory_of_somebody_else_is_refused() -> None:
    asked = operation()
    asked["state"]["versions"][0]["owner"] = "grace"

    with pytest.raises(InvalidChange, match="belongs to 'grace', not to 'ada'"):
        operate(asked)


def test_bytes_that_are_not_in_base64_are_named() -> None:
    asked = operation()
    asked["state"]["sealed"] = [secret(ciphertext="not base64!")]

    with pytest.raises(InvalidChange, match=r"ciphertext: .*base64"):
        operate(asked)


def test_versions_that_are_not_in_order_are_named() -> None:
    asked = operation()
    asked["state"]["versions"] *= 2

    with pytest.raises(InvalidChange, match=r"versions numbered \[1, 1\]"):
        operate(asked)


@pytest.mark.parametrize(
    ("field", "value"),
    [("version", 0), ("version", 2**31), ("importance", 1.5), ("importance", float("nan"))],
)
def test_numbers_that_no_store_can_hold_are_refused(field: str, value: float) -> None:
    asked = operation()
    asked["state"]["versions"][0][field] = value

    with pytest.raises(InvalidChange):
        operate(asked)


@pytest.mark.parametrize("base", [-1, 2**53])
def test_a_number_that_no_change_can_have_is_refused(base: int) -> None:
    with pytest.raises(InvalidChange, match="cannot be the number"):
        operate(operation() | {"base": base})


def test_a_time_in_another_zone_is_the_same_time() -> None:
    asked = operation()
    asked["state"]["versions"][0]["created_at"] = "2026-11-15T14:00:00.000001+02:00"

    state = operate(asked).state
    assert isinstance(state, History)
    [version] = state.versions

    zone = timezone(timedelta(hours=2))
    assert version.created_at == datetime(2026, 11, 15, 14, 0, 0, 1, tzinfo=zone)
    assert version.created_at.tzinfo is UTC


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00+14:00", "2026-11-15T12:00:00", "soon"])
def test_a_time_that_is_none_is_refused(time: str) -> None:
    asked = operation()
    asked["state"]["versions"][0]["created_at"] = time

    with pytest.raises(InvalidChange):
        operate(asked)


@pytest.mark.parametrize("field", ["content", "deleted_at", "trust", "version"])
def test_nothing_may_be_left_out(field: str) -> None:
    asked = operation()
    version = asked["state"]["versions"][0]
    del (version["provenance"] if field == "trust" else version)[field]

    with pytest.raises(InvalidChange, match=field):
        operate(asked)


@pytest.mark.parametrize("place", ["operation", "subject", "state", "version", "provenance"])
def test_what_is_not_known_here_is_refused_rather_than_dropped(place: str) -> None:
    asked = operation()
    [version] = asked["state"]["versions"]
    places = {
        "operation": asked,
        "subject": asked["subject"],
        "state": asked["state"],
        "version": version,
        "provenance": version["provenance"],
    }
    places[place]["colour"] = "green"

    with pytest.raises(InvalidChange, match="colour") as raised:
        operate(asked)
    assert "upgrade" in raised.value.hint.lower()
