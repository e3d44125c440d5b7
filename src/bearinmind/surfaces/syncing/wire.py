"""What replicas and servers send each other, as JSON.

Everything is said and nothing is left to a default: what one side keeps, the other one keeps byte
for byte. A field that is not known here is refused rather than dropped.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from bearinmind import ids
from bearinmind.surfaces.verbs.requests import Request
from bearinmind.sync.sightings import MOST_ASKED, MOST_SEEN
from bearinmind.types import LinkKind, Right, Trust

MOST_CHANGES = 1_000  # of one answer
MOST_OPERATIONS = 1_000  # of one request

_LARGEST = 2**53 - 1  # a number that every reader of JSON can hold
_MOST_VERSIONS = 2**31 - 1  # a number that every store can hold
_ID = rf"^[{ids.ALPHABET}]{{{ids.LENGTH}}}$"
_BASE64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


def _whole(value: object) -> object:
    """A whole number as such: to JSON, 3.0 and 3 are the same."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: Bytes in base64; they are decoded where they are read, which says what is wrong with them.
Base64 = Annotated[str, Field(json_schema_extra={"pattern": _BASE64})]
Id = Annotated[str, Field(json_schema_extra={"pattern": _ID})]
Number = Annotated[int, Field(ge=0, le=_LARGEST), BeforeValidator(_whole)]
Version = Annotated[int, Field(ge=1, le=_MOST_VERSIONS), BeforeValidator(_whole)]
Digest = Annotated[str, Field(max_length=64)]
Mark = Annotated[str, Field(max_length=200)]
Moment = AwareDatetime


class Part(BaseModel):
    """A part of what is sent, either way."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Answer(BaseModel):
    """What a server answers."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class SyncSubject(Part):
    """Something that can change."""

    kind: Literal["memory", "link", "share", "conflict"]
    name: list[str] = Field(
        min_length=1,
        max_length=5,
        description="Of a memory its id; of a link its source, kind and target; of a share its "
        "reader, `memory` or `tag`, and which; of a conflict its kind, the kind and name of what "
        "it is about, and the digests of the version that is served and of the other.",
    )


class SyncVersion(Part):
    """One version of a memory."""

    content: str
    category: str
    tags: list[str]
    keywords: list[str]
    importance: Annotated[float, Field(ge=0, le=1)]
    sensitive: bool
    created_at: Moment
    updated_at: Moment
    deleted_at: Moment | None
    valid_from: Moment | None
    valid_to: Moment | None
    agent: str | None
    session: str | None
    project: str | None
    source: str | None
    trust: Trust
    version: Version


class SyncSecret(Part):
    """What a sensitive memory says from one version on, encrypted."""

    version: Version
    owner: str = Field(description="Whom it was sealed for: the same user on both sides.")
    key_id: str
    nonce: Base64
    ciphertext: Base64
    fingerprint: Base64


class SyncHistory(Part):
    """Every version of a memory, the present one last."""

    what: Literal["history"]
    versions: list[SyncVersion] = Field(min_length=1)
    secrets: list[SyncSecret]


class SyncGone(Part):
    """That a memory was purged."""

    what: Literal["gone"]
    digests: list[Mark] = Field(description="Of the versions that it had.")


class SyncLink(Part):
    """A link between two memories."""

    source: Id
    target: Id
    kind: LinkKind
    created_at: Moment
    removed_at: Moment | None


class SyncLinks(Part):
    """Every link there ever was between two memories, of one kind, oldest first."""

    what: Literal["links"]
    links: list[SyncLink]


class SyncShare(Part):
    """That something is shared with somebody."""

    reader: str
    right: Right
    memory: Id | None
    tag: str | None
    created_at: Moment
    ended_at: Moment | None


class SyncShared(Part):
    """The share that holds, if one does."""

    what: Literal["share"]
    share: SyncShare | None


class SyncContradiction(Part):
    """That two machines changed the same thing differently."""

    what: Literal["conflict"]
    detail: Annotated[str, Field(max_length=1_000)]
    at: Moment
    resolved_at: Moment | None


SyncState = Annotated[
    SyncHistory | SyncGone | SyncLinks | SyncShared | SyncContradiction,
    Field(discriminator="what"),
]


class SyncChange(Part):
    """A change as a server tells it."""

    subject: SyncSubject
    number: Number
    state: SyncState


class SyncOperation(Part):
    """A change that a replica asks for."""

    subject: SyncSubject
    base: Number = Field(
        description="The number of the thing that the replica has seen; 0 when it has seen none."
    )
    state: SyncState


class SyncVector(Part):
    """The vector of the present version of a memory."""

    memory: Id
    digest: Digest = Field(description="Of the version that it belongs to.")
    values: Base64 = Field(description="Its numbers: float16, little-endian.")


# ---- pull --------------------------------------------------------------------------------------


class PullRequest(Request):
    """Which changes are wanted."""

    epoch: Annotated[str, Field(max_length=100)] = Field(
        default="", description="Of the numbers that are known; another one begins at the start."
    )
    after: Number = Field(default=0, description="The changes behind this number.")
    limit: Annotated[int, Field(ge=1, le=MOST_CHANGES)] = Field(
        default=200, description="Most changes of the answer; long ones are fewer."
    )
    space: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="The key of a vector space, to be sent vectors in it too."
    )


class PullAnswer(Answer):
    """A stretch of changes."""

    user: str = Field(description="Whose they are: whose key it is that asks.")
    epoch: str = Field(description="Numbers of two epochs have nothing to do with each other.")
    changes: list[SyncChange]
    cursor: Number = Field(description="Everything up to this number has been told.")
    more: bool
    vectors: list[SyncVector]


# ---- what others share -------------------------------------------------------------------------


class SharedRequest(Request):
    """Which page of what others share is wanted."""

    mark: Annotated[str, Field(max_length=64)] = Field(
        default="", description="Of what is known; if that is all there is, nothing is listed."
    )
    after: Annotated[str, Field(max_length=200)] = Field(
        default="", description="The cursor of the page before."
    )
    limit: Annotated[int, Field(ge=1, le=MOST_SEEN)] = Field(
        default=MOST_SEEN, description="Most memories of the answer."
    )


class SyncSeen(Part):
    """That a memory of another owner can be seen."""

    owner: str
    memory: Id
    version: Version
    updated_at: Moment
    right: Right


class SharedAnswer(Answer):
    """A page of what others share, by owner and then id."""

    user: str = Field(description="With whom it is shared: whose key it is that asks.")
    unchanged: bool = Field(description="The mark is that of all there is.")
    seen: list[SyncSeen]
    cursor: str = Field(description="Where the next page begins; empty behind the last one.")


class SharedMemoriesRequest(Request):
    """Which memories of another owner are wanted."""

    owner: Annotated[str, Field(max_length=64)]
    memories: list[Id] = Field(min_length=1, max_length=MOST_ASKED)
    space: Annotated[str, Field(max_length=100)] | None = Field(
        default=None, description="The key of a vector space, to be sent vectors in it too."
    )


class SyncSharedMemory(Part):
    """The present version of a memory of another owner."""

    memory: Id
    version: SyncVersion


class SharedMemoriesAnswer(Answer):
    """Those of the memories that can be seen; long ones are fewer."""

    user: str
    owner: str
    settled: Number = Field(
        description="So many of those that were asked for are answered; ask for the rest again."
    )
    memories: list[SyncSharedMemory]
    vectors: list[SyncVector]


# ---- push --------------------------------------------------------------------------------------


class PushRequest(Request):
    """What a replica wants to be so."""

    epoch: Annotated[str, Field(max_length=100)]
    operations: list[SyncOperation] = Field(max_length=MOST_OPERATIONS)

    @property
    def writes(self) -> int:
        """Each operation is one."""
        return max(1, len(self.operations))


class SyncVerdict(Answer):
    """What became of an operation."""

    verdict: Literal["taken", "stale", "refused"] = Field(
        description="`stale`: the thing has another number than `base`. Pull, merge, send again."
    )
    number: Number | None = Field(description="That the thing has now; of what is refused, none.")
    code: str | None = Field(description="Why it is refused, for machines.")
    message: str | None
    hint: str | None


class PushAnswer(Answer):
    """What became of the operations, in the same order."""

    user: str
    verdicts: list[SyncVerdict]
