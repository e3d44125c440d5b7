"""Keys are random, are kept as hashes, and are shown by nothing but their own text."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bearinmind.accounts.keys import (
    LABEL_LIMIT,
    OVERLAP_LIMIT,
    PER_DAY_LIMIT,
    PER_MINUTE_LIMIT,
    Bearer,
    NewKey,
    Terms,
    check_overlap,
    ended_at,
    make_key,
    renewed,
)
from bearinmind.errors import InvalidKeyTerms
from bearinmind.remember.secrets import find, masked
from bearinmind.types import Access, UserId

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def key_with(**terms: object) -> NewKey:
    return make_key(UserId("ada"), Terms(**terms), NOON)  # type: ignore[arg-type]


def test_a_key_is_written_and_read_back() -> None:
    bearer = Bearer.new()
    assert Bearer.read(bearer.text) == bearer
    assert bearer.text == f"bim_{bearer.id}_{bearer.secret}"
    assert (len(bearer.id), len(bearer.secret)) == (12, 43)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:-1],
        lambda text: text + "A",
        lambda text: " " + text,
        lambda text: text + "\n",
        lambda text: text.upper(),
        lambda text: text.replace("bim_", "rcl-"),
        lambda text: text[:-1] + "\u0660",  # a digit, but none of ours
        lambda _: "",
    ],
)
def test_what_is_not_quite_a_key_is_none(spoil: object) -> None:
    text = Bearer.new().text
    assert callable(spoil)
    assert Bearer.read(spoil(text)) is None


def test_no_two_keys_are_alike() -> None:
    made = [Bearer.new() for _ in range(200)]
    assert len({bearer.id for bearer in made}) == len({bearer.secret for bearer in made}) == 200


def test_only_a_hash_of_the_secret_is_kept() -> None:
    made = key_with()
    bearer = Bearer.read(made.text)
    assert bearer is not None
    assert made.key.hash == hashlib.sha256(bearer.secret.encode()).digest()
    assert bearer.secret not in repr(made.key)


def test_a_key_is_opened_by_its_own_secret_alone() -> None:
    made = key_with()
    bearer = Bearer.read(made.text)
    assert bearer is not None
    assert bearer.opens(made.key)
    assert not replace(bearer, secret=Bearer.new().secret).opens(made.key)
    assert not bearer.opens(key_with().key)
    assert not bearer.opens(None)


def test_neither_secret_nor_hash_is_in_what_is_printed_of_a_key() -> None:
    made = key_with(label="laptop")
    bearer = Bearer.read(made.text)
    assert bearer is not None
    for shown in (repr(bearer), str(bearer), repr(made), str(made), repr(made.key), str(made.key)):
        assert made.key.id in shown
        assert bearer.secret not in shown
        assert made.text not in shown
        assert repr(made.key.hash) not in shown


def test_a_key_has_the_terms_that_were_agreed_on() -> None:
    tomorrow = NOON + timedelta(days=1)
    key = key_with(
        access=Access.READ, label="laptop", expires_at=tomorrow, per_minute=60, per_day=1_000
    ).key
    assert (key.user, key.access, key.label) == ("ada", Access.READ, "laptop")
    assert (key.created_at, key.expires_at, key.revoked_at) == (NOON, tomorrow, None)
    assert (key.per_minute, key.per_day) == (60, 1_000)


@pytest.mark.parametrize(
    ("terms", "named"),
    [
        ({"expires_at": NOON}, "2026-03-01T12:00"),
        ({"expires_at": NOON - HOUR}, "2026-03-01T11:00"),
        ({"per_minute": 0}, "1,000,000"),
        ({"per_minute": PER_MINUTE_LIMIT + 1}, "1,000,001"),
        ({"per_day": -1}, "-1"),
        ({"per_day": PER_DAY_LIMIT + 1}, "writes a day"),
        ({"label": "x" * (LABEL_LIMIT + 1)}, "101"),
    ],
)
def test_terms_that_cannot_be_are_refused_with_the_value(
    terms: dict[str, object], named: str
) -> None:
    with pytest.raises(InvalidKeyTerms) as refused:
        key_with(**terms)
    assert named in refused.value.message
    assert refused.value.hint


def test_a_renewed_key_has_the_same_terms_and_another_secret() -> None:
    old = key_with(access=Access.ADMIN, label="laptop", per_day=5, expires_at=NOON + HOUR)
    new = renewed(old.key, NOON + HOUR / 2)
    expected = replace(old.key, id=new.key.id, hash=new.key.hash, created_at=NOON + HOUR / 2)
    assert new.key == expected
    assert new.key.id != old.key.id
    assert new.key.hash != old.key.hash


def test_a_key_that_is_about_to_end_is_renewed_without_its_end() -> None:
    ending = replace(key_with().key, revoked_at=NOON + HOUR)
    assert renewed(ending, NOON).key.revoked_at is None


@pytest.mark.parametrize("ended", [{"revoked_at": NOON}, {"expires_at": NOON}])
def test_a_key_that_is_not_good_any_more_is_not_renewed(ended: dict[str, datetime]) -> None:
    key = replace(key_with().key, **ended)  # type: ignore[arg-type]
    with pytest.raises(InvalidKeyTerms, match=key.id):
        renewed(key, NOON)


@pytest.mark.parametrize("overlap", [timedelta(seconds=-1), OVERLAP_LIMIT + timedelta(seconds=1)])
def test_an_overlap_is_neither_negative_nor_endless(overlap: timedelta) -> None:
    with pytest.raises(InvalidKeyTerms):
        check_overlap(overlap)
    assert check_overlap(OVERLAP_LIMIT) == OVERLAP_LIMIT


def test_a_key_ends_when_the_first_of_its_ends_comes() -> None:
    key = key_with().key
    assert ended_at(key) is None
    assert ended_at(replace(key, expires_at=NOON)) == NOON
    assert ended_at(replace(key, expires_at=NOON, revoked_at=NOON - HOUR)) == NOON - HOUR


@pytest.mark.parametrize("form", ["{}", "my key is {}.", "KEY={}", "'{}'", "a_{}", "x/{}?y"])
def test_our_own_keys_are_found_in_texts(form: str) -> None:
    text = form.format(key_with().text)
    assert find(text)
    bearer = Bearer.read(text[text.index("bim_") :][:60])
    assert bearer is not None
    assert bearer.secret not in masked(text)


def test_every_key_that_is_made_is_found() -> None:
    assert all(find(Bearer.new().text) for _ in range(300))


def test_the_id_of_a_key_is_no_secret() -> None:
    assert not find(f"the key bim_{Bearer.new().id} is used by the laptop")
