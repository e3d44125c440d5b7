"""What a provider publishes is read seldom, and stays good for a while when it does not answer."""

from __future__ import annotations

import pytest

from bearinmind.accounts.openid import _Cached
from bearinmind.errors import ProviderFailure


class Published:
    """Something that is read, as of so many seconds; it may be out of reach."""

    def __init__(self) -> None:
        self.now = 0.0
        self.read = 0
        self.is_down = False

    def ticks(self) -> float:
        return self.now

    def __call__(self) -> int:
        self.read += 1
        if self.is_down:
            raise ProviderFailure("the provider does not answer")
        return self.read


@pytest.fixture
def published() -> Published:
    return Published()


@pytest.fixture
def cached(published: Published) -> _Cached:
    return _Cached(published, published.ticks, 300)


def test_it_is_read_once_and_again_after_a_while(cached: _Cached, published: Published) -> None:
    assert [cached(), cached()] == [1, 1]
    published.now = 300
    assert [cached(), cached()] == [2, 2]


def test_what_is_doubted_is_read_again_at_once(cached: _Cached, published: Published) -> None:
    cached()
    cached.is_doubted = True
    assert [cached(), cached()] == [2, 2]


def test_what_was_read_is_good_for_an_hour_while_nobody_answers(
    cached: _Cached, published: Published
) -> None:
    cached()
    published.is_down = True
    for published.now in (300, 1_000, 3_599):
        cached.is_doubted = True  # by a forged token: it must not lock others out
        assert cached() == 1
    published.now = 3_650
    with pytest.raises(ProviderFailure, match="does not answer"):
        cached()


def test_who_does_not_answer_is_not_asked_by_every_request(
    cached: _Cached, published: Published
) -> None:
    published.is_down = True
    for _ in range(5):
        with pytest.raises(ProviderFailure, match="does not answer"):
            cached()
    assert published.read == 1
    published.is_down = False
    published.now = 10
    assert cached() == 2
