"""What `doctor` says about each thing that it looks at."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    good: bool
    detail: str
    remedy: str = ""
