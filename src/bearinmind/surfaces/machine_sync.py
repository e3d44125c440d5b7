"""Syncing as plain data for `--json`."""

from __future__ import annotations

import dataclasses

from bearinmind.changes import Peer, Subject
from bearinmind.surfaces import machine
from bearinmind.surfaces.machine import Data
from bearinmind.sync.model import ConflictDetail, SyncReport, SyncStatus


def peer(value: Peer) -> Data:
    """The server, and how far a replica has come with it."""
    return dataclasses.asdict(value)


def report(value: SyncReport) -> Data:
    """What a round did."""
    told = {
        field.name: getattr(value, field.name)
        for field in dataclasses.fields(value)
        if not field.name.endswith("_error")
    }
    return told | {
        "pull_error": value.pull_error and machine.error(value.pull_error)["error"],
        "push_error": value.push_error and machine.error(value.push_error)["error"],
        "shared_error": value.shared_error and machine.error(value.shared_error)["error"],
    }


def status(value: SyncStatus, *, every: float, has_key: bool) -> Data:
    """How a replica stands with its server."""
    return {
        "peer": peer(value.peer),
        "has_key": has_key,
        "every_seconds": every,
        "pending": {kind.value: count for kind, count in value.pending.items()},
        "refused": value.refused,
        "listed": [_subject(each.subject) | {"reason": each.reason} for each in value.listed],
        "conflicts": value.conflicts,
        "mirrored": dict(value.mirrored),
    }


def conflict(value: ConflictDetail) -> Data:
    """A conflict with both versions."""
    found = value.conflict
    return {
        "number": found.number,
        "kind": found.kind,
        **_subject(found.subject),
        "detail": found.detail,
        "at": found.at,
        "served": value.served and machine.memory(value.served),
        "other": value.other and machine.memory(value.other),
    }


def _subject(value: Subject) -> Data:
    return {"subject": value.kind, "name": value.parts}
