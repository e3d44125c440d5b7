"""What a replica asks of a server: rows of the same shape as those of every verb.

They are no verbs of a memory, and stand in no table of them: only replicas ask for this. The
operations of a push are read by `bearinmind.sync.wire`, which refuses what it does not know.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from pydantic import Field

from bearinmind.app import Mind
from bearinmind.changes import Refused, Verdict
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.verbs.requests import WHOLE
from bearinmind.surfaces.verbs.table import EVERY_VERB
from bearinmind.surfaces.verbs.verb import Request, Verb
from bearinmind.sync import wire
from bearinmind.sync.server_side import MOST_REQUESTED
from bearinmind.sync.shared_copies import MOST_SEEN
from bearinmind.types import ID_ALPHABET, ID_LENGTH, Access, MemoryId, UserId

_MOST_CHANGES = 1_000  # of one answer
_LARGEST = 2**53 - 1  # a number that every reader of JSON can hold
_ID = rf"^[{ID_ALPHABET}]{{{ID_LENGTH}}}$"
_ID_EXAMPLE, _OTHER_EXAMPLE = "k7f29qmxt4hd", "q2m8xt0vd5ja"

Name = Annotated[str, Field(max_length=100)]
Number = Annotated[int, Field(ge=0, le=_LARGEST), WHOLE]
Id = Annotated[str, Field(json_schema_extra={"pattern": _ID})]
Space = Annotated[
    Name | None, Field(description="The key of a vector space, to be sent vectors in it too.")
]


class SyncRequest(Request):
    """A request of a replica."""

    wire: Annotated[int, Field(ge=1, le=1_000_000), WHOLE] = Field(
        wire.VERSION, description="The version of the format in which both sides send."
    )


class PullRequest(SyncRequest):
    """Which changes are requested."""

    epoch: Name = Field("", description="Of the known numbers; with another one, all are sent.")
    after: Number = Field(0, description="The changes behind this number.")
    limit: Annotated[int, Field(ge=1, le=_MOST_CHANGES), WHOLE] = Field(
        200, description="Most changes of the answer; long ones are fewer."
    )
    space: Space = None


class PushRequest(SyncRequest):
    """What a replica wants to be kept."""

    epoch: Name
    operations: list[dict[str, Any]] = Field(
        max_length=wire.MOST_OPERATIONS,
        description="Each has the `subject`, the number `base` that the replica has seen of it (0: "
        "none), and the `state` that it is to have, as the changes of a pull have them.",
    )

    @property
    def writes(self) -> int:
        """Each operation is one."""
        return max(1, len(self.operations))


class SharedRequest(SyncRequest):
    """Which page of what others share is requested."""

    mark: Annotated[str, Field(max_length=64)] = Field(
        "", description="Of what is known; if that is all there is, nothing is listed."
    )
    after: Annotated[str, Field(max_length=200)] = Field(
        "", description="The cursor of the page before."
    )
    limit: Annotated[int, Field(ge=1, le=MOST_SEEN), WHOLE] = Field(
        MOST_SEEN, description="Most memories of the answer."
    )


class SharedMemoriesRequest(SyncRequest):
    """Which memories of another owner are requested."""

    owner: Annotated[str, Field(max_length=64)]
    memories: list[Id] = Field(min_length=1, max_length=MOST_REQUESTED)
    space: Space = None


def pull(mind: Mind, request: PullRequest) -> wire.PullAnswer:
    """The changes behind a number."""
    wire.check_version(request.wire)
    page = mind.sync.server().pull(request.epoch, request.after, request.limit, request.space)
    return wire.PullAnswer(wire.VERSION, mind.scope.user, page)


def push(mind: Mind, request: PushRequest) -> wire.PushAnswer:
    """Take changes."""
    wire.check_version(request.wire)
    operations = wire.read_operations(request.operations, mind.scope.user)
    verdicts = mind.sync.server().push(request.epoch, operations)
    return wire.PushAnswer(wire.VERSION, mind.scope.user, tuple(map(_masked, verdicts)))


def _masked(verdict: Verdict) -> Verdict:
    """A verdict whose message has no secret in clear: it may quote what it refuses."""
    if not isinstance(verdict, Refused):
        return verdict
    return Refused(type(verdict.error)(masked(verdict.error.message), hint=verdict.error.hint))


def shared(mind: Mind, request: SharedRequest) -> wire.SharedAnswer:
    """A page of what others share."""
    wire.check_version(request.wire)
    page = mind.sync.server().shared(request.mark, request.after, request.limit)
    return wire.SharedAnswer(wire.VERSION, mind.scope.user, page)


def shared_memories(mind: Mind, request: SharedMemoriesRequest) -> wire.SharedMemoriesAnswer:
    """Memories of another owner."""
    wire.check_version(request.wire)
    wire.check_ids(request.memories)
    found = mind.sync.server().shared_memories(
        UserId(request.owner), [*map(MemoryId, request.memories)], request.space
    )
    return wire.SharedMemoriesAnswer(wire.VERSION, mind.scope.user, found)


_sync = partial(Verb, command="sync")
_EXAMPLE: dict[str, Any] = {
    "wire": wire.VERSION,
    "epoch": "5f0c1d2e3a4b5c6d",
    "operations": [
        {
            "subject": {"kind": "link", "name": f'["{_OTHER_EXAMPLE}", "causes", "{_ID_EXAMPLE}"]'},
            "base": 0,
            "state": {
                "kind": "link_state",
                "links": [
                    {
                        "source": _OTHER_EXAMPLE,
                        "target": _ID_EXAMPLE,
                        "kind": "causes",
                        "created_at": "2026-11-15T12:00:00Z",
                        "removed_at": None,
                        "judgement": None,
                    }
                ],
            },
        }
    ],
}

SYNC_VERBS = (
    _sync(
        name="sync_pull",
        says="The changes that a replica has not seen yet.",
        function=pull,
        access=Access.READ,
        method="GET",
        path=wire.CHANGES_PATH,
    ),
    _sync(
        name="sync_push",
        says="Take the changes of a replica. Sent twice, each happens once: it is taken only while "
        "its thing has the number `base`, and has another one then.",
        function=push,
        access=Access.WRITE,
        method="POST",
        path=wire.CHANGES_PATH,
        example=_EXAMPLE,
    ),
    _sync(
        name="sync_shared",
        says="What others share with you, by owner and id: the version, and what you may do.",
        function=shared,
        access=Access.READ,
        method="GET",
        path=wire.SHARED_PATH,
    ),
    _sync(
        name="sync_shared_memories",
        says="The memories of another owner, as far as they are shared with you.",
        function=shared_memories,
        access=Access.READ,
        method="POST",
        path=wire.SHARED_PATH,
        example={"wire": wire.VERSION, "owner": "grace", "memories": [_ID_EXAMPLE]},
    ),
)
#: Everything that a server is asked for.
SERVED = (*EVERY_VERB, *SYNC_VERBS)
