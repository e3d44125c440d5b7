"""What replicas and servers send each other says everything, and nothing else is taken."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from bearinmind import errors, ids
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
from bearinmind.surfaces.client.problems import kind_of
from bearinmind.surfaces.http import examples
from bearinmind.surfaces.syncing import reading, telling
from bearinmind.surfaces.syncing.wire import PullAnswer, PushAnswer, PushRequest, SyncOperation
from bearinmind.sync.model import Arrived, Operation, Pulled
from bearinmind.types import (
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
memory_ids = st.text(ids.ALPHABET, min_size=ids.LENGTH, max_size=ids.LENGTH).map(MemoryId)
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
    rows = [
        Link(
            source=source,
            target=target,
            kind=kind,
            created_at=draw(moments),
            removed_at=draw(st.none() | moments),
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    return link_subject(source, kind, target), LinkState(tuple(rows))


@st.composite
def shares(draw: st.DrawFn) -> tuple[Subject, SubjectState]:
    reader = UserId(draw(texts))
    memory, tag = draw(
        st.tuples(memory_ids, st.none()) | st.tuples(st.none(), texts)  # one of the two
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


@given(changed=changes, number=numbers)
def test_an_operation_arrives_as_it_was_sent(
    changed: tuple[Subject, SubjectState], number: int
) -> None:
    asked = Operation(changed[0], number, changed[1])
    text = PushRequest.model_construct(
        epoch="e", operations=[telling.operation(asked)]
    ).model_dump_json()

    [arrived] = PushRequest.model_validate_json(text, strict=True).operations

    assert reading.operation(arrived, ADA) == asked


@given(found=st.lists(st.tuples(changes, numbers), max_size=3), cursor=numbers, more=st.booleans())
def test_a_stretch_of_changes_arrives_as_it_was_sent(
    found: list[tuple[tuple[Subject, SubjectState], int]], cursor: int, more: bool
) -> None:
    told = tuple(Arrived(subject, number, state) for (subject, state), number in found)
    pulled = Pulled("epoch", told, cursor, more)

    text = telling.page(pulled, ADA).model_dump_json()

    assert reading.pulled(PullAnswer.model_validate_json(text), ADA) == pulled
    for (_, state), _ in found:
        if isinstance(state, History):
            assert all(digest(version) for version in state.versions)


@given(values=st.lists(st.floats(-1, 1, width=16), min_size=1, max_size=8).filter(any))
def test_a_vector_arrives_as_precisely_as_stores_keep_it(values: list[float]) -> None:
    sent = np.array(values, np.float32)
    sent /= np.linalg.norm(sent)
    id_ = MemoryId("k7f29qmxt4hd")
    pulled = Pulled("epoch", (), 0, more=False, vectors={id_: ("d", sent)})

    text = telling.page(pulled, ADA).model_dump_json()
    [(said, arrived)] = reading.pulled(PullAnswer.model_validate_json(text), ADA).vectors.values()

    assert said == "d"
    assert arrived.dtype == np.float32
    assert np.linalg.norm(arrived) == pytest.approx(1, abs=1e-6)
    np.testing.assert_allclose(arrived, sent, atol=2e-3)


def test_a_verdict_arrives_as_it_was_given_with_the_error_of_its_kind() -> None:
    error = errors.SupersedeCycle("a supersedes b already", hint="Unlink one.")
    text = telling.verdicts([Taken(7), Stale(8), Refused(error)], ADA).model_dump_json()

    taken, stale, refused = [
        reading.verdict(each, kind_of) for each in PushAnswer.model_validate_json(text).verdicts
    ]

    assert (taken, stale) == (Taken(7), Stale(8))
    assert isinstance(refused, Refused)
    assert type(refused.error) is errors.SupersedeCycle
    assert (refused.error.message, refused.error.hint) == (error.message, error.hint)


def test_a_secret_in_the_reason_of_a_refusal_is_not_sent() -> None:
    key = "AKIA" + "Q7RT2WXN4PLM8KJD"
    error = errors.InvalidTag(f"the tag {key!r} cannot be")

    assert key not in telling.verdicts([Refused(error)], ADA).model_dump_json()


def operation() -> dict[str, Any]:
    """The example of an operation."""
    [found] = examples.REQUESTS["sync_push"]["operations"]
    copied: dict[str, Any] = json.loads(json.dumps(found))
    return copied


def read(asked: dict[str, Any]) -> Operation:
    return reading.operation(SyncOperation.model_validate_json(json.dumps(asked)), ADA)


@pytest.mark.parametrize(
    ("subject", "state", "named"),
    [
        ({"kind": "memory", "name": ["k7f2"]}, {}, "'k7f2' is not the id"),
        ({"kind": "memory", "name": ["k7f29qmxt4hd", "x"]}, {}, "do not go together"),
        ({"kind": "link", "name": ["k7f29qmxt4hd"]}, {}, "do not go together"),
        ({"kind": "link", "name": ["k7f29qmxt4hd"]}, {"what": "gone", "digests": []}, "together"),
        (
            {"kind": "link", "name": ["k7f29qmxt4hd", "eats", "q2m8xt0vd5ja"]},
            {"what": "links", "links": []},
            "there is no link",
        ),
        (
            {"kind": "share", "name": ["grace", "tag", "staging"]},
            {
                "what": "share",
                "share": {
                    "reader": "mallory",
                    "right": "read",
                    "memory": None,
                    "tag": "staging",
                    "created_at": "2026-11-15T12:00:00Z",
                    "ended_at": None,
                },
            },
            "'mallory'",
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
        read(asked)


def secret(**changed: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "owner": "ada",
        "key_id": "k1",
        "nonce": "AAAA",
        "ciphertext": "AAAA",
        "fingerprint": "AAAA",
    } | changed


def test_a_secret_that_was_sealed_for_somebody_else_is_refused_with_the_remedy() -> None:
    asked = operation()
    asked["state"]["secrets"] = [secret(owner="grace")]

    with pytest.raises(InvalidChange, match="sealed for 'grace', not for 'ada'") as raised:
        read(asked)
    assert "bearinmind export" in raised.value.hint


def test_bytes_that_are_not_in_base64_are_named() -> None:
    asked = operation()
    asked["state"]["secrets"] = [secret(ciphertext="not base64!")]

    with pytest.raises(InvalidChange, match="ciphertext is not in base64"):
        read(asked)


def test_versions_that_are_not_in_order_are_named() -> None:
    asked = operation()
    asked["state"]["versions"] *= 2

    with pytest.raises(InvalidChange, match=r"not in order: \[1, 1\]"):
        read(asked)


def test_a_time_in_another_zone_is_the_same_time() -> None:
    asked = operation()
    asked["state"]["versions"][0]["created_at"] = "2026-11-15T14:00:00.000001+02:00"

    state = read(asked).state
    assert isinstance(state, History)
    [version] = state.versions

    zone = timezone(timedelta(hours=2))
    assert version.created_at == datetime(2026, 11, 15, 14, 0, 0, 1, tzinfo=zone)
    assert version.created_at.tzinfo is UTC


@pytest.mark.parametrize("field", ["content", "deleted_at", "trust", "version"])
def test_nothing_may_be_left_out(field: str) -> None:
    asked = operation()
    del asked["state"]["versions"][0][field]

    with pytest.raises(ValidationError, match=field):
        read(asked)


def test_what_is_not_known_here_is_refused_rather_than_dropped() -> None:
    asked = operation()
    asked["state"]["versions"][0]["colour"] = "green"

    with pytest.raises(ValidationError, match="colour"):
        read(asked)
