"""When a standby is recent enough to be read."""

from __future__ import annotations

from math import inf

import pytest

from bearinmind.errors import InvalidSetting
from bearinmind.store.postgres.connection_pool import Connections
from bearinmind.store.postgres.replica import (
    Position,
    Replica,
    Sample,
    Source,
    known_as_of,
    source_of,
)

SAMPLES = [Sample(10.0, Position(1, 500)), Sample(12.0, Position(1, 800))]


@pytest.mark.parametrize(
    ("shown", "as_of"),
    [
        (Position(1, 499), -inf),
        (Position(1, 500), 10.0),
        (Position(1, 799), 10.0),
        (Position(1, 800), 12.0),
    ],
)
def test_a_standby_has_everything_as_of_the_last_question_whose_answer_it_reached(
    shown: Position, as_of: float
) -> None:
    assert known_as_of(shown, SAMPLES) == as_of


def test_an_idle_primary_makes_no_standby_old() -> None:
    """The log does not grow: what a standby shows stays all there is, however long ago it came."""
    samples = [Sample(moment, Position(1, 500)) for moment in (10.0, 1_000.0)]
    assert known_as_of(Position(1, 500), samples) == 1_000.0


def test_more_of_another_timeline_says_nothing() -> None:
    """A standby that followed the old leader too far has not what the new one acknowledged."""
    assert known_as_of(Position(1, 900), [Sample(10.0, Position(2, 700))]) == -inf


@pytest.mark.parametrize(
    ("as_of", "source"),
    [
        (-inf, Source.BEHIND),
        (94.9, Source.BEHIND),
        (95.0, Source.OWN_WRITES),
        (97.9, Source.OWN_WRITES),
        (98.0, Source.REPLICA),
    ],
)
def test_a_standby_is_read_when_it_is_recent_and_has_our_own_writes(
    as_of: float, source: Source
) -> None:
    assert source_of(as_of, now=100.0, wrote_at=98.0, staleness=5.0) is source


def test_a_url_that_cannot_be_read_is_refused_without_its_password() -> None:
    primary = Connections("postgresql://localhost/bearinmind", most=1, patience=1)
    with pytest.raises(InvalidSetting) as raised:
        Replica("postgresql://ana:se%cret@host/bearinmind", primary, staleness=5)
    assert "cret" not in str(raised.value)
