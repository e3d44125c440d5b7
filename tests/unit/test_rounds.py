"""What is done again and again beside an open memory."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from bearinmind.errors import ServerUnreachable
from bearinmind.work import rounds
from bearinmind.work.rounds import Rounds


class Opened:
    """What the rounds go on with until nobody holds it any more."""


def test_a_round_that_did_nothing_forgets_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    over = threading.Event()

    class Wakeup:
        def wait(self, seconds: float) -> None:
            pauses.append(seconds)
            if not script:
                over.set()

        def set(self) -> None:
            pass

    script = ["fails", "skips", "fails", "does it", "fails"]

    def do(_: Opened, __: Callable[[], bool]) -> bool:
        word = script.pop(0)
        if not script:
            held.clear()  # the next round finds nothing to go on with
        if word == "fails":
            raise ServerUnreachable("it is away")
        return word == "does it"

    monkeypatch.setattr(rounds, "Wakeup", Wakeup)
    monkeypatch.setattr(rounds, "_JITTER", 0.0)
    held = [Opened()]
    Rounds(held[0], do, name="test", every=1.0)
    assert over.wait(60)
    assert pauses[:5] == [2.0, 2.0, 4.0, 1.0, 2.0]
