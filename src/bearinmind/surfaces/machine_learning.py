"""What was learned, for machines."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bearinmind.learn.turns import Learned


def learned(answer: Learned) -> dict[str, Any]:
    """What a turn taught, and what became of it."""
    return asdict(answer)
