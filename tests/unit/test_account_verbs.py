"""What is done to accounts, and with their keys, is accounted for."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bearinmind.app import Mind
from bearinmind.app.accounts import Action
from bearinmind.errors import InvalidInput, InvalidKeyTerms, KeyNotFound, UserExists, UserNotFound
from bearinmind.protocols import AuditEntry
from bearinmind.testing import FixedClock
from bearinmind.types import Access, UserId


def test_the_first_key_is_that_of_an_administrator_and_is_made_once(memory: Mind) -> None:
    first = memory.first_key()
    assert first
    assert (first.key.user, first.key.access) == (memory.settings.user, Access.ADMIN)
    assert memory.gate().identify(first.text).user == memory.settings.user
    assert memory.first_key() is None


def test_where_somebody_is_known_there_is_no_first_key(memory: Mind) -> None:
    memory.add_user("ada")
    assert memory.first_key() is None
    assert memory.keys() == []


def test_what_an_administrator_does_names_them_and_their_key(
    memory: Mind, clock: FixedClock
) -> None:
    admin = memory.for_user("ada", "key-of-ada")
    admin.add_user("bea")
    made = admin.create_key("bea", access="read")
    expected = [
        (Action.CREATE_KEY, f"{made.key.id} read"),
        (Action.ADD_USER, None),
    ]
    bea = UserId("bea")
    assert memory.for_user("bea").audit_log() == [
        AuditEntry(clock(), bea, action, None, None, "ada", "key-of-ada", detail)
        for action, detail in expected
    ]
    assert admin.audit_log() == []
    assert admin.audit_log(1, everybody=True) == memory.for_user("bea").audit_log(1)


def test_whoever_reads_a_secret_by_a_key_is_known_by_it(memory: Mind) -> None:
    reader = memory.for_user("ada", "key-of-ada")
    id_ = reader.store("the wifi password is kelp9salt").memory.id
    reader.secret_get(id_, agent="helper")
    reader.update(id_, sensitive=False)
    entries = reader.audit_log()
    assert [(entry.action, entry.key) for entry in entries] == [
        ("unseal", "key-of-ada"),
        ("get", "key-of-ada"),
    ]
    assert memory.audit_log() == []


def test_nothing_is_done_to_whom_nobody_knows(memory: Mind) -> None:
    for attempt in (memory.disable_user, memory.enable_user, memory.create_key):
        with pytest.raises(UserNotFound, match="nobody"):
            attempt("nobody")
    for end in (memory.revoke_key, memory.renew_key):
        with pytest.raises(KeyNotFound, match="nothing"):
            end("nothing")
    assert memory.audit_log(everybody=True) == []


def test_what_is_refused_leaves_nothing_behind(memory: Mind) -> None:
    memory.add_user("ada")
    before = memory.audit_log(everybody=True)
    with pytest.raises(UserExists):
        memory.add_user("ada")
    with pytest.raises(InvalidKeyTerms, match="owner"):
        memory.create_key("ada", access="owner")
    with pytest.raises(InvalidInput):
        memory.create_key("ada b")
    with pytest.raises(InvalidInput):
        memory.audit_log(0)
    assert memory.keys() == []
    assert memory.audit_log(everybody=True) == before


def test_a_renewed_key_ends_a_day_later_when_nothing_is_said(
    memory: Mind, clock: FixedClock
) -> None:
    memory.add_user("ada")
    old = memory.create_key("ada", label="  the \n laptop ")
    new = memory.renew_key(old.key.id)
    first, second = memory.keys("ada")
    assert {first.id, second.id} == {old.key.id, new.key.id}
    ends = {key.id: key.revoked_at for key in (first, second)}
    assert ends == {old.key.id: clock() + timedelta(days=1), new.key.id: None}
    assert {first.label, second.label} == {"the laptop"}


def test_an_overlap_that_cannot_be_makes_no_key(memory: Mind) -> None:
    memory.add_user("ada")
    old = memory.create_key("ada")
    with pytest.raises(InvalidKeyTerms):
        memory.renew_key(old.key.id, overlap=timedelta(days=31))
    assert memory.keys() == [old.key]
