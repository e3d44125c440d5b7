"""What every group of settings is."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict


class SettingsGroup(BaseModel):
    """Settings about one thing."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def must_name(setting: str, given: Iterable[str], known: Iterable[str], thing: str) -> None:
    """Make sure that a table names nothing but what there is.

    Raises:
        ValueError: it does.
    """
    allowed = [*known]
    if unknown := sorted({*given} - {*allowed}):
        named = ", ".join(unknown)
        raise ValueError(f"{setting} names {named}, not {thing} ({', '.join(allowed)})")
