"""Two histories of one memory become one: properties that hold whatever both sides did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.changes import digest
from bearinmind.errors import VaultKeyMissing
from bearinmind.protocols import History
from bearinmind.remember.secrets import Boundary, record_of
from bearinmind.sync.merge import Merged, continues, merge
from bearinmind.types import Memory, MemoryId, Provenance, UserId
from bearinmind.vault.keys import Key, Keyring
from bearinmind.vault.seal import SealingVault

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(days=1)


class OneKey:
    """A key, as every machine of a user has it."""

    where = "a test"

    def __init__(self, *keys: Key) -> None:
        self.keys = keys

    def load(self) -> Keyring | None:
        return Keyring(self.keys) if self.keys else None


def sealing(*keys: Key) -> Boundary:
    return Boundary(vault=SealingVault(OneKey(*keys), is_first_use=lambda: False), detects=False)


KEYED = sealing(Key(bytes(32)))
FIRST = Memory(
    id=MemoryId("000100000000"),
    owner=UserId("ada"),
    content="first",
    category="facts",
    tags=(),
    keywords=(),
    importance=0.5,
    sensitive=False,
    created_at=START,
    updated_at=START,
    deleted_at=None,
    valid_from=None,
    valid_to=None,
    provenance=Provenance(),
    version=1,
)


def written(history: History, **fields: object) -> History:
    """The history with one more version, as the write path makes it."""
    last = history.versions[-1]
    minutes = fields.pop("minutes", 1)
    at = last.updated_at + timedelta(minutes=float(str(minutes)))
    if fields.pop("deleted", False):
        fields["deleted_at"] = at
    made = replace(last, version=last.version + 1, updated_at=at, **fields)  # type: ignore[arg-type]
    if made.sensitive and "content" in fields:
        made, sealed = KEYED.guard(made)
        return History(versions=(*history.versions, made), sealed=(*history.sealed, *sealed))
    return History(versions=(*history.versions, made), sealed=history.sealed)


def said(history: History) -> list[str]:
    """What every version says, sealed or not."""
    return [
        KEYED.vault.open(record)
        if (record := record_of(history.sealed, memory.version)) and memory.sensitive
        else memory.content
        for memory in history.versions
    ]


ROOT = History(versions=(FIRST,))
SECRET_ROOT = written(ROOT, content="secret", sensitive=True)
EDITS = st.fixed_dictionaries(
    {"minutes": st.sampled_from([0.00001, 1, 90])},
    optional={
        "content": st.sampled_from(["red", "green", "blue"]),
        "tags": st.sampled_from([("zoo",), ("sea",)]),
        "importance": st.sampled_from([0.1, 0.9]),
        "deleted": st.just(value=True),
    },
)
LINES = st.lists(EDITS, max_size=4)
SECRET = st.booleans()


def line(edits: Sequence[dict[str, object]], *, secret: bool) -> History:
    """A history that grows from a common one."""
    history = SECRET_ROOT if secret else ROOT
    for edit in edits:
        history = written(replace_deleted(history), **edit)
    return history


def replace_deleted(history: History) -> History:
    """A deleted memory is restored before anything else is done with it."""
    if history.versions[-1].deleted_at is None:
        return history
    return written(history, deleted_at=None)


def both(ours: History, theirs: History) -> Merged:
    return merge(ours, theirs, KEYED, LATER)


@given(LINES, LINES, SECRET)
def test_nothing_that_either_side_said_is_lost(
    ours: list[dict[str, object]], theirs: list[dict[str, object]], secret: bool
) -> None:
    local, server = line(ours, secret=secret), line(theirs, secret=secret)
    merged = both(local, server)
    assert {*said(local), *said(server)} <= {*said(merged.history)}
    for side in (local, server):
        assert {x.tags for x in side.versions} <= {x.tags for x in merged.history.versions}


@given(LINES, LINES, SECRET)
def test_what_the_server_has_stays_as_it_is_and_the_rest_follows_in_order(
    ours: list[dict[str, object]], theirs: list[dict[str, object]], secret: bool
) -> None:
    server = line(theirs, secret=secret)
    merged = both(line(ours, secret=secret), server).history
    assert continues(merged, server)
    assert [x.version for x in merged.versions] == [*range(1, len(merged.versions) + 1)]
    times = [x.updated_at for x in merged.versions]
    assert times == sorted(times)
    digests = [*map(digest, merged.versions)]
    assert len({*digests}) == len(digests)


@given(LINES, LINES, SECRET)
def test_what_was_merged_and_sent_is_settled_on_both_sides(
    ours: list[dict[str, object]], theirs: list[dict[str, object]], secret: bool
) -> None:
    local, server = line(ours, secret=secret), line(theirs, secret=secret)
    merged = both(local, server)
    for side in (merged.history, server):
        again = both(side, merged.history)
        assert again.settled
        assert not again.fields
        assert [*map(digest, again.history.versions)] == [*map(digest, merged.history.versions)]


@given(LINES, SECRET)
def test_a_side_that_did_nothing_takes_what_the_other_did(
    theirs: list[dict[str, object]], secret: bool
) -> None:
    server, base = line(theirs, secret=secret), line([], secret=secret)
    assert both(base, server) == Merged(server, settled=True)
    assert both(server, base) == Merged(server, settled=not theirs)


def test_the_later_change_of_a_field_is_served_and_the_earlier_one_is_in_the_history() -> None:
    local = written(ROOT, content="here", minutes=5)
    server = written(ROOT, content="there", minutes=9)
    merged = both(local, server)
    assert said(merged.history) == ["first", "there", "here", "there"]
    assert merged.fields == ("content",)
    assert merged.served == digest(merged.history.versions[-1])
    assert merged.other == digest(merged.history.versions[-2])


def test_a_change_that_both_made_is_no_conflict_and_is_there_once() -> None:
    local = written(ROOT, content="the same", minutes=5)
    server = written(ROOT, content="the same", minutes=9)
    assert both(local, server) == Merged(server, settled=True)


def test_a_secret_that_is_numbered_anew_is_sealed_for_its_new_place() -> None:
    base = SECRET_ROOT
    local = written(base, content="here")
    server = written(base, content="there", minutes=0.5)
    merged = both(local, server).history
    assert said(merged) == ["first", "secret", "there", "here"]
    assert {record.version for record in merged.sealed} == {2, 3, 4}


def test_a_flag_that_one_side_raised_is_not_lost_in_the_other_sides_change() -> None:
    local = written(ROOT, content="found to be secret", sensitive=True, minutes=1)
    server = written(ROOT, content="another text", minutes=9)
    merged = both(local, server).history
    assert merged.versions[-1].sensitive
    assert said(merged)[-1] == "another text"


def test_a_flag_that_one_side_lowered_does_not_lay_the_others_secret_open() -> None:
    base = SECRET_ROOT
    local = written(base, content="another secret", minutes=1)
    server = written(base, content="secret", sensitive=False, minutes=9)
    merged = both(local, server).history
    assert "another secret" not in repr(merged.versions)
    assert said(merged)[-1] == "another secret"


def test_a_text_of_the_same_moment_is_not_taken_for_one_that_was_sealed() -> None:
    sealed, record = KEYED.guard(replace(FIRST, sensitive=True))
    elsewhere = History(versions=(replace(FIRST, content="another text"),))
    merged = both(elsewhere, History(versions=(sealed,), sealed=record))
    assert "another text" in said(merged.history)


def test_without_the_key_a_secret_is_not_numbered_anew() -> None:
    base = SECRET_ROOT
    local, server = written(base, tags=("here",)), written(base, tags=("there",))
    with pytest.raises(VaultKeyMissing):
        merge(local, server, sealing(), LATER)
