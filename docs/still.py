# ruff: noqa: INP001  a script beside the docs
"""The `recollect` command with ids that follow from its arguments and an even stopwatch.

The examples of the docs run it, so that they come out the same on every machine.
"""

from __future__ import annotations

import itertools
import random
import sys
from unittest import mock

STEP = 0.000_2  # seconds from one look at the stopwatch to the next


def run() -> None:
    """Run the command line with what would differ from run to run held still."""
    chance = random.Random(" ".join(sys.argv[1:]))  # noqa: S311  the same ids every time
    ticks = itertools.count()
    with (
        mock.patch("secrets.randbits", chance.getrandbits),
        mock.patch("time.perf_counter", lambda: next(ticks) * STEP),
    ):
        from recollect.interfaces.cli import main  # noqa: PLC0415  takes the stopwatch as it is now

        main()


if __name__ == "__main__":
    run()
