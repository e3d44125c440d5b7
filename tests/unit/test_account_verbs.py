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
    first = memory.accounts.first_key()
    assert first
    assert (first.key.user, first.key.access) == (memory.settings.user, Access.ADMIN)
    assert memory.accounts.authenticator().identify(first.text).user == memory.settings.user
    assert memory.accounts.first_key() is None


def test_where_somebody_is_known_there_is_no_first_key(memory: Mind) -> None:
    memory.accounts.add_user("ada")
    assert memory.accounts.first_key() is None
    assert memory.accounts.keys() == []


def test_what_an_administrator_does_names_them_and_their_key(
    memory: Mind, clock: FixedClock
) -> None:
    admin = memory.for_user("ada", "key-of-ada")
    admin.accounts.add_user("bea")
    made = admin.accounts.create_key("bea", access="read")
    expected = [
        (Action.CREATE_KEY, f"{made.key.id} read"),
        (Action.ADD_USER, None),
    ]
    bea = UserId("bea")
    assert memory.for_user("bea").accounts.audit() == [
        AuditEntry(clock(), bea, action, None, None, "ada", "key-of-ada", detail)
        for action, detail in expected
    ]
    assert admin.accounts.audit() == []
    assert admin.accounts.audit(1, everybody=True) == memory.for_user("bea").accounts.audit(1)


def test_whoever_reads_a_secret_by_a_key_is_known_by_it(memory: Mind) -> None:
    reader = memory.for_user("ada", "key-of-ada")
    id_ = reader.store("the wifi password is kelp9salt").memory.id
    reader.secrets.reveal(id_, agent="helper")
    reader.update(id_, sensitive=False)
    entries = reader.accounts.audit()
    assert [(entry.action, entry.key) for entry in entries] == [
        ("unseal", "key-of-ada"),
        ("get", "key-of-ada"),
    ]
    assert memory.accounts.audit() == []


def test_nothing_is_done_to_whom_nobody_knows(memory: Mind) -> None:
    for attempt in (
        memory.accounts.disable_user,
        memory.accounts.enable_user,
        memory.accounts.create_key,
    ):
        with pytest.raises(UserNotFound, match="nobody"):
            attempt("nobody")
    for end in (memory.accounts.revoke_key, memory.accounts.renew_key):
        with pytest.raises(KeyNotFound, match="nothing"):
            end("nothing")
    assert memory.accounts.audit(everybody=True) == []


def test_what_is_refused_leaves_nothing_behind(memory: Mind) -> None:
    memory.accounts.add_user("ada")
    before = memory.accounts.audit(everybody=True)
    with pytest.raises(UserExists):
        memory.accounts.add_user("ada")
    with pytest.raises(InvalidKeyTerms, match="owner"):
        memory.accounts.create_key("ada", access="owner")
    with pytest.raises(InvalidInput):
        memory.accounts.create_key("ada b")
    with pytest.raises(InvalidInput):
        memory.accounts.audit(0)
    assert memory.accounts.keys() == []
    assert memory.accounts.audit(everybody=True) == before


def test_a_renewed_key_ends_a_day_later_when_nothing_is_said(
    memory: Mind, clock: FixedClock
) -> None:
    memory.accounts.add_user("ada")
    old = memory.accounts.create_key("ada", label="  the \n laptop ")
    new = memory.accounts.renew_key(old.key.id)
    first, second = memory.accounts.keys("ada")
    assert {first.id, second.id} == {old.key.id, new.key.id}
    ends = {key.id: key.revoked_at for key in (first, second)}
    assert ends == {old.key.id: clock() + timedelta(days=1), new.key.id: None}
    assert {first.label, second.label} == {"the laptop"}


def test_an_overlap_that_cannot_be_makes_no_key(memory: Mind) -> None:
    memory.accounts.add_user("ada")
    old = memory.accounts.create_key("ada")
    with pytest.raises(InvalidKeyTerms):
        memory.accounts.renew_key(old.key.id, overlap=timedelta(days=31))
    assert memory.accounts.keys() == [old.key]
