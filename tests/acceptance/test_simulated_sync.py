"""Replicas and their server come out even, whatever happens to them; seeded, and played again.

`python benchmarks/sync/simulate.py --seed N --trace` shows one schedule. `make bench-sync` runs
20,000 of them.
"""

from __future__ import annotations

import os

import pytest

from simulating.ledger import Broken
from simulating.planted import FAULTS
from simulating.world import IN_FILES, run

SCHEDULES = int(os.environ.get("RECOLLECT_SYNC_SCHEDULES", "2000"))
CHUNKS = 20  # so that they spread over the processors


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_happens_all_machines_come_to_the_same_and_nothing_is_lost(chunk: int) -> None:
    for seed in range(chunk, SCHEDULES, CHUNKS):
        run(seed)


def _run_all_in_memory() -> None:
    """Files take longer, and have the same faults."""
    for seed in range(SCHEDULES):
        if seed % IN_FILES != IN_FILES - 1:
            run(seed)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught(fault: str) -> None:
    with FAULTS[fault](), pytest.raises(Broken, match=r"simulate\.py --seed"):
        _run_all_in_memory()
