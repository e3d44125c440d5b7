"""Shares as plain data for `--json`."""

from __future__ import annotations

import dataclasses

from recollect.interfaces.machine import Data
from recollect.types import Share


def share(value: Share) -> Data:
    """That an owner shares something with somebody."""
    return dataclasses.asdict(value)
