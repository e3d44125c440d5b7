"""Whoever has a good key is let in, as long as it is good and as far as it goes."""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from bearinmind.accounts.keys import Authenticator, Bearer, Caller
from bearinmind.app import Mind
from bearinmind.errors import (
    AccessDenied,
    NotAllowed,
    NotAuthenticated,
    QuotaUsedUp,
    TooManyRequests,
)
from bearinmind.protocols import Store
from bearinmind.store.sqlite import SqliteStore
from bearinmind.testing import FixedClock
from bearinmind.types import Access, Key

ELSEWHERE = "192.0.2.7"
FAILURES_PER_MINUTE = 30  # as it ships


def admit(authenticator: Authenticator, authorization: str | None, access: Access) -> Caller:
    """Let a request in that needs this access, as a server does."""
    caller = authenticator.identify(authorization)
    authenticator.require(caller, access)
    return caller


@pytest.fixture
def authenticator(memory: Mind, clock: FixedClock) -> Authenticator:
    """The authenticator of a store in which ada and bea are known."""
    for name in ("ada", "bea"):
        memory.accounts.add_user(name)
    return Authenticator(memory._parts.store, clock=clock)


def bearing(text: str) -> str:
    return f"Bearer {text}"


# ---- who is let in -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER   {} ", "{}"])
def test_a_key_says_whose_it_is_and_what_it_is_good_for(
    authenticator: Authenticator, memory: Mind, form: str
) -> None:
    made = memory.accounts.create_key("ada", access="read")
    caller = authenticator.identify(form.format(made.text))
    assert caller == Caller(user=made.key.user, access=Access.READ, key_id=made.key.id)
    assert made.text not in repr(caller)


@pytest.mark.parametrize("nothing", [None, "", "   "])
def test_without_a_key_nobody_is_let_in(authenticator: Authenticator, nothing: str | None) -> None:
    with pytest.raises(NotAuthenticated, match="no key"):
        authenticator.identify(nothing)


def test_what_is_no_key_of_this_store_opens_nothing(
    authenticator: Authenticator, memory: Mind
) -> None:
    made = memory.accounts.create_key("ada")
    other = memory.accounts.create_key("bea")
    own, others = Bearer.read(made.text), Bearer.read(other.text)
    assert own
    assert others
    basic = base64.b64encode(made.text.encode()).decode()
    for header in (
        bearing(Bearer.new().text),
        bearing(Bearer(own.id, Bearer.new().secret).text),
        bearing(Bearer(own.id, others.secret).text),
        bearing(made.text[:-1]),
        bearing(f"{made.text} {made.text}"),
        "Bearer",
        f"Basic {basic}",
        f"Digest {made.text}",
        "Bearer \x00\u00e9\ud800",
    ):
        with pytest.raises(NotAuthenticated) as refused:
            authenticator.identify(header)
        assert own.secret not in refused.value.message


def test_a_revoked_key_opens_nothing_from_that_moment_on(
    authenticator: Authenticator, memory: Mind
) -> None:
    made = memory.accounts.create_key("ada")
    authenticator.identify(bearing(made.text))
    memory.accounts.revoke_key(made.key.id)
    with pytest.raises(NotAuthenticated, match=f"{made.key.id} was revoked"):
        authenticator.identify(bearing(made.text))


def test_a_key_that_another_process_revoked_opens_nothing(
    authenticator: Authenticator, memory: Mind
) -> None:
    made = memory.accounts.create_key("ada")
    authenticator.identify(bearing(made.text))
    assert isinstance(memory._parts.store, SqliteStore)
    other = SqliteStore(memory._parts.store.path)
    other.end_key(made.key.id, revoked_at=made.key.created_at)
    other.close()
    with pytest.raises(NotAuthenticated):
        authenticator.identify(bearing(made.text))


def test_a_key_is_good_until_it_expires(
    authenticator: Authenticator, memory: Mind, clock: FixedClock
) -> None:
    made = memory.accounts.create_key("ada", expires_at=clock() + timedelta(hours=1))
    clock.advance(minutes=59.99)
    authenticator.identify(bearing(made.text))
    clock.advance(minutes=0.01)
    with pytest.raises(NotAuthenticated, match=f"{made.key.id} has expired"):
        authenticator.identify(bearing(made.text))


def test_old_and_new_key_are_both_good_while_they_overlap(
    authenticator: Authenticator, memory: Mind, clock: FixedClock
) -> None:
    old = memory.accounts.create_key("ada", access="read", per_day=7)
    new = memory.accounts.renew_key(old.key.id, overlap=timedelta(hours=2))
    clock.advance(hours=1.99)
    before, after = (
        authenticator.identify(bearing(old.text)),
        authenticator.identify(bearing(new.text)),
    )
    assert (before.user, before.access, before.per_day) == (after.user, after.access, after.per_day)
    clock.advance(hours=0.01)
    authenticator.identify(bearing(new.text))
    with pytest.raises(NotAuthenticated):
        authenticator.identify(bearing(old.text))


def test_a_key_that_was_revoked_is_not_revived_by_renewing_it(
    authenticator: Authenticator, memory: Mind, clock: FixedClock
) -> None:
    old = memory.accounts.create_key("ada")
    memory.accounts.renew_key(old.key.id, overlap=timedelta(hours=2))
    memory.accounts.revoke_key(old.key.id)
    with pytest.raises(NotAuthenticated):
        authenticator.identify(bearing(old.text))


def test_a_disabled_user_is_let_in_again_when_enabled(
    authenticator: Authenticator, memory: Mind
) -> None:
    made, other = memory.accounts.create_key("ada"), memory.accounts.create_key("bea")
    memory.accounts.disable_user("ada")
    with pytest.raises(NotAuthenticated):
        authenticator.identify(bearing(made.text))
    authenticator.identify(bearing(other.text))
    memory.accounts.enable_user("ada")
    authenticator.identify(bearing(made.text))


# ---- what for ----------------------------------------------------------------------------------


@pytest.mark.parametrize("has", Access)
@pytest.mark.parametrize("needs", Access)
def test_a_key_is_good_for_what_its_access_includes(
    authenticator: Authenticator, memory: Mind, has: Access, needs: Access
) -> None:
    made = memory.accounts.create_key("ada", access=has)
    order = [Access.READ, Access.WRITE, Access.ADMIN]
    if order.index(has) >= order.index(needs):
        assert admit(authenticator, bearing(made.text), needs).user == "ada"
    else:
        with pytest.raises(NotAllowed, match=f"needs a key with {needs} access"):
            admit(authenticator, bearing(made.text), needs)


# ---- how often ---------------------------------------------------------------------------------


def test_a_key_is_good_for_so_many_requests_a_minute(
    authenticator: Authenticator, memory: Mind, clock: FixedClock
) -> None:
    made, other = memory.accounts.create_key("ada", per_minute=3), memory.accounts.create_key("ada")
    for _ in range(3):
        authenticator.identify(bearing(made.text))
    with pytest.raises(TooManyRequests, match="3 times a minute") as refused:
        authenticator.identify(bearing(made.text))
    assert refused.value.retry_after == pytest.approx(20)
    authenticator.identify(bearing(other.text))
    clock.advance(seconds=20)
    authenticator.identify(bearing(made.text))


def test_a_key_without_a_limit_of_its_own_has_that_of_the_server(
    memory: Mind, clock: FixedClock
) -> None:
    memory.accounts.add_user("ada")
    authenticator = Authenticator(memory._parts.store, clock=clock, per_minute=2)
    made, freer = (
        memory.accounts.create_key("ada"),
        memory.accounts.create_key("ada", per_minute=50),
    )
    for _ in range(2):
        authenticator.identify(made.text)
    with pytest.raises(TooManyRequests):
        authenticator.identify(made.text)
    for _ in range(50):
        authenticator.identify(freer.text)


def test_a_key_is_good_for_so_many_writes_a_day(
    authenticator: Authenticator, memory: Mind, clock: FixedClock
) -> None:
    made = memory.accounts.create_key("ada", per_day=2)
    clock.advance(hours=20)
    for _ in range(2):
        admit(authenticator, made.text, Access.WRITE)
    with pytest.raises(QuotaUsedUp, match="2 writes a day") as refused:
        admit(authenticator, made.text, Access.WRITE)
    admit(authenticator, made.text, Access.READ)
    clock.advance(seconds=refused.value.retry_after - 1)
    with pytest.raises(QuotaUsedUp):
        admit(authenticator, made.text, Access.WRITE)
    clock.advance(seconds=1)
    admit(authenticator, made.text, Access.WRITE)


def test_what_is_written_at_once_is_counted_one_by_one(
    authenticator: Authenticator, memory: Mind
) -> None:
    made = memory.accounts.create_key("ada", per_day=100)
    caller = admit(authenticator, made.text, Access.WRITE)
    authenticator.count_writes(caller, 99)
    with pytest.raises(QuotaUsedUp):
        authenticator.count_writes(caller, 1)
    with pytest.raises(QuotaUsedUp):
        admit(authenticator, made.text, Access.WRITE)


def test_more_at_once_than_is_left_is_refused_with_what_is_left(
    authenticator: Authenticator, memory: Mind
) -> None:
    made = memory.accounts.create_key("ada", per_day=5)
    admit(authenticator, made.text, Access.WRITE)
    caller = admit(authenticator, made.text, Access.WRITE)
    with pytest.raises(
        QuotaUsedUp, match="5 writes a day: 4 are left today, and this is 6"
    ) as raised:
        authenticator.count_all(caller, 6)
    assert "at most 4 today" in raised.value.hint
    caller = admit(authenticator, made.text, Access.WRITE)  # what was refused was not counted
    authenticator.count_all(caller, 4)
    with pytest.raises(QuotaUsedUp):
        admit(authenticator, made.text, Access.WRITE)


def test_a_renewed_key_begins_with_what_was_written_that_day(
    authenticator: Authenticator, memory: Mind, clock: FixedClock
) -> None:
    made = memory.accounts.create_key("ada", per_day=3)
    for _ in range(2):
        admit(authenticator, made.text, Access.WRITE)
    renewed = memory.accounts.renew_key(made.key.id)
    admit(authenticator, renewed.text, Access.WRITE)
    with pytest.raises(QuotaUsedUp):
        admit(authenticator, renewed.text, Access.WRITE)
    clock.advance(days=1)
    admit(authenticator, renewed.text, Access.WRITE)


def test_a_renewed_key_and_those_in_its_place_have_one_quota_together(
    authenticator: Authenticator, memory: Mind, clock: FixedClock
) -> None:
    first = memory.accounts.create_key("ada", per_day=6)
    other = memory.accounts.create_key("ada", per_day=6, label="another machine")
    admit(authenticator, first.text, Access.WRITE)
    second = memory.accounts.renew_key(first.key.id, overlap=timedelta(days=3))
    third = memory.accounts.renew_key(second.key.id, overlap=timedelta(days=3))
    for _ in range(2):  # the second day is none on which it was renewed
        used = memory.accounts.writes_today().get(first.key.id, 0)
        for number in range(6 - used):
            admit(authenticator, (first, second, third)[number % 3].text, Access.WRITE)
        for each in (first, second, third):
            with pytest.raises(QuotaUsedUp, match="6 writes a day"):
                admit(authenticator, each.text, Access.WRITE)
        admit(authenticator, other.text, Access.WRITE)
        clock.advance(days=1)
    assert memory.accounts.renew_key(third.key.id, overlap=timedelta(0))
    assert memory.accounts.writes_today() == {}


def test_the_writes_of_a_day_are_counted_beyond_the_end_of_a_process(
    authenticator: Authenticator, memory: Mind, open_memory: Callable[..., Mind]
) -> None:
    made = memory.accounts.create_key("ada", per_day=1)
    admit(authenticator, made.text, Access.WRITE)
    with pytest.raises(QuotaUsedUp):
        admit(open_memory().accounts.authenticator(), made.text, Access.WRITE)


def test_a_caller_without_a_key_has_no_limits(authenticator: Authenticator, memory: Mind) -> None:
    local = Caller(user=memory.scope.user, access=Access.ADMIN)
    for access in Access:
        authenticator.require(local, access)


# ---- who guesses -------------------------------------------------------------------------------


def guess(
    authenticator: Authenticator, address: str | None = ELSEWHERE, times: int = FAILURES_PER_MINUTE
) -> None:
    for _ in range(times):
        with pytest.raises(NotAuthenticated):
            authenticator.identify(bearing(Bearer.new().text), address=address)


def test_who_guesses_is_told_to_wait_even_when_the_guess_is_right(
    authenticator: Authenticator, memory: Mind, clock: FixedClock
) -> None:
    made = memory.accounts.create_key("ada")
    guess(authenticator)
    with pytest.raises(TooManyRequests) as refused:
        authenticator.identify(bearing(made.text), address=ELSEWHERE)
    clock.advance(seconds=refused.value.retry_after)
    authenticator.identify(bearing(made.text), address=ELSEWHERE)


def test_who_guesses_keeps_nobody_else_out(authenticator: Authenticator, memory: Mind) -> None:
    made = memory.accounts.create_key("ada")
    guess(authenticator)
    authenticator.identify(bearing(made.text), address="192.0.2.8")


def test_a_key_that_was_good_before_is_let_in_beside_who_guesses(
    authenticator: Authenticator, memory: Mind
) -> None:
    made = memory.accounts.create_key("ada")
    authenticator.identify(bearing(made.text), address=ELSEWHERE)
    guess(authenticator)
    authenticator.identify(bearing(made.text), address=ELSEWHERE)


def test_a_revoked_key_is_held_off_like_any_other_that_is_none(
    authenticator: Authenticator, memory: Mind
) -> None:
    made = memory.accounts.create_key("ada")
    authenticator.identify(bearing(made.text), address=ELSEWHERE)
    memory.accounts.revoke_key(made.key.id)
    with pytest.raises(NotAuthenticated):
        authenticator.identify(bearing(made.text), address=ELSEWHERE)
    guess(authenticator, times=FAILURES_PER_MINUTE - 1)
    with pytest.raises(TooManyRequests):
        authenticator.identify(bearing(made.text), address=ELSEWHERE)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.7", "192.0.2.7", True),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("testclient", "another", False),
    ],
)
def test_the_addresses_of_one_network_count_as_one(
    authenticator: Authenticator, one: str, other: str, same: bool
) -> None:
    guess(authenticator, one)
    with pytest.raises(TooManyRequests if same else NotAuthenticated):
        authenticator.identify(bearing(Bearer.new().text), address=other)


def test_asking_without_a_key_is_no_guess(authenticator: Authenticator, memory: Mind) -> None:
    made = memory.accounts.create_key("ada")
    for _ in range(2 * FAILURES_PER_MINUTE):
        with pytest.raises(NotAuthenticated):
            authenticator.identify(None, address=ELSEWHERE)
    authenticator.identify(bearing(made.text), address=ELSEWHERE)


# ---- what it costs -----------------------------------------------------------------------------


class CountingStore(SqliteStore):
    """A store that counts how often it is asked for a key."""

    asked = 0

    def key(self, id: str) -> Key | None:
        self.asked += 1
        return super().key(id)


def test_a_request_asks_the_store_once_at_most(
    authenticator: Authenticator, memory: Mind, clock: FixedClock
) -> None:
    made = memory.accounts.create_key("ada", per_minute=5)
    assert isinstance(memory._parts.store, SqliteStore)
    counting = CountingStore(memory._parts.store.path)
    store: Store = counting
    watched = Authenticator(store, clock=clock)
    for header in (made.text, bearing(Bearer.new().text), "nonsense", None):
        counting.asked = 0
        with suppress(AccessDenied):
            admit(watched, header, Access.READ)
        assert counting.asked <= 1
    counting.close()
