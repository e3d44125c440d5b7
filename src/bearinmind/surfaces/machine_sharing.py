"""Shares as plain data for `--json`."""

from __future__ import annotations

import dataclasses

from bearinmind.surfaces.machine import Data
from bearinmind.types import Share


def share(value: Share) -> Data:
    """That an owner shares something with somebody."""
    return dataclasses.asdict(value)
