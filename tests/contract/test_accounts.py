"""Every store keeps users, keys, how often they were used, and what was done."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest

from bearinmind.errors import UserNotFound
from bearinmind.protocols import AuditEntry, Store, User
from bearinmind.types import Access, Key, MemoryId, Scope, UserId

HOUR = timedelta(hours=1)
ADA, BEA = UserId("ada"), UserId("bea")
TODAY = date(2026, 3, 1)


@pytest.fixture
def key_of(noon: datetime) -> Callable[..., Key]:
    """Makes a key; whatever is not given has a plain value."""

    def make_key(id: str, user: UserId = ADA, **fields: object) -> Key:
        plain: dict[str, object] = {
            "id": id,
            "user": user,
            "access": Access.WRITE,
            "hash": bytes(range(32)),
            "created_at": noon,
        }
        return Key(**(plain | fields))  # type: ignore[arg-type]

    return make_key


@pytest.fixture
def known(store: Store, noon: datetime) -> Store:
    """A store that knows ada and bea."""
    for name in (BEA, ADA):
        assert store.add_user(User(name, noon))
    return store


# ---- users -------------------------------------------------------------------------------------


def test_a_store_knows_nobody_at_first(store: Store) -> None:
    assert store.users() == []
    assert store.keys() == []


def test_users_are_listed_by_name(known: Store, noon: datetime) -> None:
    assert known.users() == [User(ADA, noon), User(BEA, noon)]


def test_a_name_is_given_once_and_case_counts(known: Store, noon: datetime) -> None:
    assert not known.add_user(User(ADA, noon + HOUR))
    assert known.add_user(User(UserId("Ada"), noon))
    assert known.users()[1] == User(ADA, noon)


def test_a_user_is_disabled_and_enabled_again(known: Store, noon: datetime) -> None:
    assert known.set_disabled(ADA, noon)
    assert known.users()[0] == User(ADA, noon, noon)
    assert known.set_disabled(ADA, None)
    assert known.users()[0] == User(ADA, noon)
    assert not known.set_disabled(UserId("nobody"), noon)


# ---- keys --------------------------------------------------------------------------------------


def test_a_key_is_kept_with_all_its_terms(
    known: Store, key_of: Callable[..., Key], noon: datetime
) -> None:
    plain = key_of("plain")
    full = key_of(
        "full",
        BEA,
        access=Access.ADMIN,
        label="laptop \u00b7 m\u00f8ose",
        created_at=noon + HOUR,
        expires_at=noon + 2 * HOUR,
        revoked_at=noon + 3 * HOUR,
        per_minute=60,
        per_day=2_000_000,
    )
    for key in (full, plain):
        known.add_key(key)
    assert known.key("plain") == plain
    assert known.key("full") == full
    assert known.keys() == [plain, full]
    assert known.keys(BEA) == [full]
    assert known.keys(UserId("nobody")) == []
    assert known.key("none") is None


def test_a_key_of_nobody_is_not_kept(known: Store, key_of: Callable[..., Key]) -> None:
    with pytest.raises(UserNotFound, match="nobody"):
        known.add_key(key_of("k", UserId("nobody")))
    assert known.keys() == []


def test_the_key_of_a_disabled_user_is_listed_and_lets_nobody_in(
    known: Store, key_of: Callable[..., Key], noon: datetime
) -> None:
    key = key_of("k")
    known.add_key(key)
    known.set_disabled(ADA, noon)
    assert known.key("k") is None
    assert known.keys() == [key]
    known.set_disabled(ADA, None)
    assert known.key("k") == key


def test_a_key_ends_at_the_earliest_moment_that_was_given(
    known: Store, key_of: Callable[..., Key], noon: datetime
) -> None:
    key, other = key_of("k"), key_of("other")
    for each in (key, other):
        known.add_key(each)
    for given, ends in ((2 * HOUR, 2 * HOUR), (3 * HOUR, 2 * HOUR), (HOUR, HOUR)):
        assert known.end_key("k", revoked_at=noon + given)
        assert known.key("k") == replace(key, revoked_at=noon + ends)
    assert known.key("other") == other
    assert not known.end_key("none", revoked_at=noon)


# ---- what they were used for -------------------------------------------------------------------


def test_so_many_writes_are_counted_a_day(known: Store, key_of: Callable[..., Key]) -> None:
    for id_ in ("k", "other"):
        known.add_key(key_of(id_))
    tomorrow = TODAY + timedelta(days=1)
    assert [known.count_writes("k", TODAY, 2) for _ in range(4)] == [True, True, False, False]
    assert known.count_writes("k", tomorrow, 2)
    assert known.count_writes("other", TODAY, 2)
    assert known.count_writes("k", TODAY, 3)  # what was refused was not counted
    assert not known.count_writes("k", TODAY, 0)
    assert not known.count_writes("none", TODAY, 5)


def test_many_writes_are_counted_together_or_not_at_all(
    known: Store, key_of: Callable[..., Key]
) -> None:
    known.add_key(key_of("k"))
    assert not known.count_writes("k", TODAY, 10, 11)
    assert known.count_writes("k", TODAY, 10, 9)
    assert not known.count_writes("k", TODAY, 10, 2)
    assert known.count_writes("k", TODAY, 10, 1)
    assert known.count_writes("k", TODAY, 10, -1)  # one is given back
    assert known.writes_with("k", TODAY) == 9
    assert known.writes_with("k", TODAY + timedelta(days=1)) == known.writes_with("j", TODAY) == 0


def test_writes_at_once_are_all_counted(known: Store, key_of: Callable[..., Key]) -> None:
    known.add_key(key_of("k"))
    with ThreadPoolExecutor(4) as pool:
        counted = [*pool.map(lambda _: known.count_writes("k", TODAY, 10), range(24))]
    assert counted.count(True) == 10


def test_a_minutes_worth_is_taken_once_by_however_many(store: Store, noon: datetime) -> None:
    def take(_: int) -> int:
        return sum(store.take_allowance("a", noon, 100, 3) for _ in range(10))

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(8))) == 100
    assert store.allowance_wait("a", noon, 100) == pytest.approx(0.6)
    assert store.take_allowance("b", noon, 100, 3) == 3
    assert store.allowance_wait("b", noon, 100) == 0


def test_an_allowance_grows_with_time_up_to_a_minutes_worth(store: Store, noon: datetime) -> None:
    assert store.take_allowance("a", noon, 60, 60) == 60
    assert store.take_allowance("a", noon + timedelta(seconds=2.5), 60, 60) == 2
    assert store.allowance_wait("a", noon + timedelta(seconds=2.5), 60) == pytest.approx(0.5)
    assert store.take_allowance("a", noon + HOUR, 60, 1_000) == 60


def test_who_has_rested_is_forgotten_and_who_has_not_is_kept(store: Store, noon: datetime) -> None:
    store.take_allowance("a", noon, 2, 1)
    store.forget_allowances(noon + timedelta(seconds=29))
    assert store.take_allowance("a", noon + timedelta(seconds=29), 2, 2) == 1
    store.forget_allowances(noon + HOUR)
    assert store.allowance_wait("a", noon, 2) == 0


def test_only_who_is_not_disabled_is_a_user_to_let_in(known: Store, noon: datetime) -> None:
    assert known.user(ADA) == User(ADA, noon)
    assert known.user(UserId("nobody")) is None
    known.set_disabled(ADA, noon)
    assert known.user(ADA) is None


# ---- the audit ---------------------------------------------------------------------------------


def test_the_audit_has_every_entry_whole_and_those_of_others_apart(
    store: Store, scope: Scope, noon: datetime
) -> None:
    bare = AuditEntry(noon, ADA, "get", MemoryId("m"), 2, None)
    whole = AuditEntry(noon + HOUR, BEA, "create key", None, None, "ada", "k", "other write")
    last = AuditEntry(noon + 2 * HOUR, ADA, "share", MemoryId("m"), None, None, "k", "with bea")
    for entry in (bare, whole, last):
        store.note(entry)
    assert store.audit(scope, 10) == [last, bare]
    assert store.audit(scope, 1) == [last]
    assert store.whole_audit(10) == [last, whole, bare]
    assert store.whole_audit(2) == [last, whole]


def test_the_audit_can_be_read_for_some_actions_alone(
    store: Store, scope: Scope, noon: datetime
) -> None:
    entries = [
        AuditEntry(noon + number * HOUR, ADA, action, None, None, None)
        for number, action in enumerate(("get", "share", "get", "rotate"))
    ]
    for entry in entries:
        store.note(entry)
    assert store.audit(scope, 10, ("get", "rotate")) == [entries[3], entries[2], entries[0]]
    assert store.audit(scope, 2, ("get", "rotate")) == [entries[3], entries[2]]
    assert store.audit(scope, 10, ("none",)) == []
