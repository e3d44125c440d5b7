from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bearinmind.errors import InvalidTime
from bearinmind.remember.admit import check_moment, check_past, is_time

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-15", datetime(2026, 11, 15, tzinfo=UTC)),
        (" 2026-11-15T09:30 ", datetime(2026, 11, 15, 9, 30, tzinfo=UTC)),
        ("2026-11-15 09:30:00Z", datetime(2026, 11, 15, 9, 30, tzinfo=UTC)),
        ("2026-11-15T09:30:00+01:00", datetime(2026, 11, 15, 8, 30, tzinfo=UTC)),
        ("30m", datetime(2026, 11, 15, 11, 30, tzinfo=UTC)),
        ("12h", datetime(2026, 11, 15, tzinfo=UTC)),
        ("3d", datetime(2026, 11, 12, 12, tzinfo=UTC)),
        ("2w", datetime(2026, 11, 1, 12, tzinfo=UTC)),
        ("yesterday", datetime(2026, 11, 14, 12, tzinfo=UTC)),
        ("Last week", datetime(2026, 11, 8, 12, tzinfo=UTC)),
        ("2 weeks ago", datetime(2026, 11, 1, 12, tzinfo=UTC)),
        ("an hour ago", datetime(2026, 11, 15, 11, tzinfo=UTC)),
    ],
)
def test_a_time_is_a_date_a_moment_or_how_long_ago(text: str, expected: datetime) -> None:
    assert check_past(text, "--since", NOW) == expected


@pytest.mark.parametrize("text", ["", "now", "3", "d", "3 d", "-3d", "3y", "15.11.2026", "9" * 30])
def test_anything_else_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidTime) as refused:
        check_past(text, "--since", NOW)

    assert "--since" in refused.value.message
    assert "3d" in refused.value.hint


def test_how_long_ago_is_only_for_the_past() -> None:
    with pytest.raises(InvalidTime):
        check_moment("3d", "--valid-to")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2026-11-15", True), ("3d", True), ("k7f29qmxt4hd", False), ("20261115", False)],
)
def test_a_time_is_told_from_an_id(text: str, expected: bool) -> None:
    assert is_time(text) is expected
