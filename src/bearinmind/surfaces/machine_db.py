"""Answers about a database as plain data for `--json`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bearinmind.protocols import Unavailable
    from bearinmind.store.postgres.embedded import ServerStatus
    from bearinmind.store.postgres.indexes import SpaceIndex
    from bearinmind.store.postgres.schema import Opened
    from bearinmind.store.postgres.upkeep import DatabaseState, Distribution, StoreState

Data = dict[str, Any]


def server(value: ServerStatus) -> Data:
    """How an embedded server stands."""
    return value._asdict()


def database(value: DatabaseState) -> Data:
    """How a database stands."""
    data = asdict(value) | {"meaning_off": _reason(value.meaning_off)}
    return data | {"store": _store(value.store) if value.store else None}


def _store(value: StoreState) -> Data:
    return asdict(value) | {
        "tables": [each._asdict() for each in value.tables],
        "indexes": [index(each) for each in value.indexes],
        "building": value.building._asdict() if value.building else None,
        "queue": [each._asdict() for each in value.queue],
    }


def index(value: SpaceIndex) -> Data:
    """The vector index of a space."""
    return asdict(value)


def migrated(value: Opened) -> Data:
    """What a migration did."""
    return {
        "before": value.before,
        "schema": value.schema,
        "applied": [*value.applied],
        "meaning_off": _reason(value.meaning_off),
    }


def distributed(value: Distribution) -> Data:
    """How tables were spread."""
    return asdict(value)


def _reason(off: Unavailable | None) -> Data | None:
    return {"reason": off.reason, "hint": off.hint} if off else None
