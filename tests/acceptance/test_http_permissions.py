"""Nobody sees or changes over HTTP what the model of users, keys and shares does not allow."""

from __future__ import annotations

import os

import pytest

from support.http_server import serving
from support.permission_runs import Life

LIVES = int(
    os.environ.get("BEARINMIND_PERMISSION_LIVES", "16")
)  # `make bench-server` has thousands
STEPS = 40
FOUND = (283,)  # a writer's change of what superseded brings back what was superseded


@pytest.mark.long(seconds=10)
@pytest.mark.parametrize("half", range(2))
def test_nobody_sees_or_changes_what_was_not_shared_with_them(new_place: str, half: int) -> None:
    with (
        serving(new_place, key_failures_per_minute=1_000_000) as server,
        server.client("root", "admin") as admin,
    ):
        for seed in (*range(half, LIVES, 2), *FOUND[half:]):
            Life(admin, seed).run(STEPS)
