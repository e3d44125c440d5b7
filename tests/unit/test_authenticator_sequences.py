"""Whatever is done to users and keys in whatever order, only the valid keys are accepted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bearinmind.accounts.keys import Authenticator, Bearer, NewKey
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import InvalidKeyTerms, NotAllowed, NotAuthenticated
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import Access

NAMES = ("ada", "bea", "cid")
ORDER = [Access.READ, Access.WRITE, Access.ADMIN]
hours = st.integers(1, 72).map(lambda count: timedelta(hours=count))


@dataclass
class Expected:
    """What a key should be good for, as plainly as can be said."""

    made: NewKey
    user: str
    access: Access
    ends: list[datetime]

    def is_good(self, now: datetime, disabled: set[str]) -> bool:
        return self.user not in disabled and all(now < end for end in self.ends)


class Keys(RuleBasedStateMachine):
    """Does random things to users and keys, and tries every key after each."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FixedClock()
        self.memory = Mind(TemporaryStore(), Settings(embedder="none"), clock=self.clock)
        self.authenticator: Authenticator = self.memory.accounts.authenticator()
        self.disabled: set[str] = set()
        self.keys: list[Expected] = []
        for name in NAMES:
            self.memory.accounts.add_user(name)

    def teardown(self) -> None:
        self.memory.close()

    def chosen(self, number: int) -> Expected:
        return self.keys[number % len(self.keys)]

    @rule(name=st.sampled_from(NAMES), access=st.sampled_from(Access), span=st.none() | hours)
    def create(self, name: str, access: Access, span: timedelta | None) -> None:
        expires = None if span is None else self.clock() + span
        made = self.memory.accounts.create_key(name, access=access, expires_at=expires)
        self.keys.append(Expected(made, name, access, [] if expires is None else [expires]))

    @precondition(lambda self: self.keys)
    @rule(number=st.integers(0, 99), overlap=st.just(timedelta(0)) | hours)
    def renew(self, number: int, overlap: timedelta) -> None:
        old = self.chosen(number)
        now = self.clock()
        try:
            made = self.memory.accounts.renew_key(old.made.key.id, overlap=overlap)
        except InvalidKeyTerms:
            assert any(end <= now for end in old.ends)
            return
        assert all(now < end for end in old.ends)
        expires = made.key.expires_at
        assert expires == old.made.key.expires_at
        self.keys.append(Expected(made, old.user, old.access, [expires] if expires else []))
        old.ends.append(now + overlap)

    @precondition(lambda self: self.keys)
    @rule(number=st.integers(0, 99))
    def revoke(self, number: int) -> None:
        expected = self.chosen(number)
        self.memory.accounts.revoke_key(expected.made.key.id)
        expected.ends.append(self.clock())

    @rule(name=st.sampled_from(NAMES))
    def disable(self, name: str) -> None:
        self.memory.accounts.disable_user(name)
        self.disabled.add(name)

    @rule(name=st.sampled_from(NAMES))
    def enable(self, name: str) -> None:
        self.memory.accounts.enable_user(name)
        self.disabled.discard(name)

    @rule(span=hours)
    def wait(self, span: timedelta) -> None:
        self.clock.advance(seconds=span.total_seconds())

    @invariant()
    def just_the_good_keys_are_let_in(self) -> None:
        for expected in self.keys:
            try:
                caller = self.authenticator.identify(f"Bearer {expected.made.text}")
            except NotAuthenticated:
                assert not expected.is_good(self.clock(), self.disabled)
                continue
            assert expected.is_good(self.clock(), self.disabled)
            assert (caller.user, caller.access) == (expected.user, expected.access)
            assert caller.key_id == expected.made.key.id
            for needed in Access:
                try:
                    self.authenticator.require(caller, needed)
                except NotAllowed:
                    assert ORDER.index(needed) > ORDER.index(expected.access)
                else:
                    assert ORDER.index(needed) <= ORDER.index(expected.access)

    @invariant()
    def no_secret_opens_the_key_of_another(self) -> None:
        for one, other in zip(self.keys, self.keys[1:], strict=False):
            ours, theirs = Bearer.read(one.made.text), Bearer.read(other.made.text)
            assert ours
            assert theirs
            try:
                self.authenticator.identify(Bearer(ours.id, theirs.secret).text)
            except NotAuthenticated:
                continue
            raise AssertionError("a key was opened by the secret of another one")

    @invariant()
    def all_that_was_done_is_in_the_audit(self) -> None:
        assert len(self.memory.accounts.keys()) == len(self.keys)
        entries = self.memory.accounts.audit(10_000, everybody=True)
        made = [entry for entry in entries if entry.action in {"create key", "renew key"}]
        assert len(made) == len(self.keys)


TestKeys = Keys.TestCase
TestKeys.settings = settings(max_examples=40, stateful_step_count=25)
