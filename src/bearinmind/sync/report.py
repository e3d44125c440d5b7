"""What a sync did, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from bearinmind.changes import Peer, Subject, SubjectKind, SyncConflict
from bearinmind.errors import MindError
from bearinmind.types import Memory, UserId

NEVER_SENT = "not sent yet"
CHANGED = "changed since it was sent"


def said(error: MindError) -> str:
    """What is kept of an error for `sync status`."""
    return f"{error.message} {error.hint}".strip()


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """What a round of syncing did."""

    pulled: int = 0  #: changes of others that were taken
    pushed: int = 0  #: own changes that the server took
    merged: int = 0  #: of those pulled: what was changed here as well
    conflicts: int = 0  #: of those merged: where both sides contradicted each other
    stale: int = 0  #: own changes to a thing that somebody else changed first: they are merged
    refused: int = 0  #: own changes that the server does not take; `sync status` says why
    waiting: int = 0  #: what cannot be merged before its key is here
    joined: int = 0  #: memories that say the same and were made on two machines
    mirrored: int = 0  #: memories that others share, which are new here or changed
    unmirrored: int = 0  #: memories that others do not share any more: they are gone from here
    pull_error: MindError | None = None
    push_error: MindError | None = None
    shared_error: MindError | None = None

    @property
    def error(self) -> MindError | None:
        """Why a part of it could not be done, if one could not."""
        return self.pull_error or self.push_error or self.shared_error

    @property
    def failed(self) -> bool:
        """Whether any part of it could not be done."""
        return self.error is not None


class PendingChange(NamedTuple):
    """A change that the server does not have yet."""

    subject: Subject
    reason: str  #: why not


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncStatus:
    """How a replica stands with its server."""

    peer: Peer
    pending: Mapping[SubjectKind, int]  #: by kind: what the server has not been told yet
    refused: int  #: of those: what the server does not take as it is
    listed: tuple[PendingChange, ...]  #: the oldest of them, one by one; refused ones first
    conflicts: int  #: that nobody has resolved
    mirrored: Mapping[UserId, int] = field(default_factory=dict)  #: others' memories, by owner

    @property
    def waits(self) -> int:
        """How much the server has not been told yet."""
        return sum(self.pending.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictDetail:
    """A conflict with both versions, as far as they are still there."""

    conflict: SyncConflict
    served: Memory | None = None
    other: Memory | None = None
    present: Memory | None = None  #: what is served by now
