"""A server, as a machine reaches it whose release does not know every kind of change."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence

from bearinmind import codec
from bearinmind.changes import SubjectKind, Verdict
from bearinmind.sync import wire
from bearinmind.sync.model import Operation, Pulled, Server, SharedMemories, SharedPage
from bearinmind.types import MemoryId, UserId


class OlderRelease:
    """Satisfies `Server`; what the machine does not know comes under a kind that nobody knows."""

    def __init__(self, server: Server, owner: UserId, kinds: Container[SubjectKind]) -> None:
        self._server, self._owner, self._kinds = server, owner, kinds

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        """The changes up to the first one that cannot be read, as they come over HTTP."""
        page = self._server.pull(epoch, after, limit, space)
        answer = wire.PullAnswer(wire.VERSION, self._owner, page)
        message = json.loads(codec.to_json(answer))
        for change in message["page"]["changes"]:
            if change["subject"]["kind"] not in self._kinds:
                change["subject"]["kind"] = "riddle"
        return wire.read_page(message, self._owner).page

    def push(self, epoch: str, operations: Sequence[Operation]) -> Sequence[Verdict]:
        """Ask for changes."""
        return self._server.push(epoch, operations)

    def shared(self, mark: str, after: str) -> SharedPage:
        """Ask what others share."""
        return self._server.shared(mark, after)

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        """Ask for memories of others."""
        return self._server.shared_memories(owner, ids, space)
