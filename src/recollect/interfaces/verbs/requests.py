"""What can be asked, as it arrives from outside. The application verbs check what it says."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from recollect.interfaces.records import Moment
from recollect.types import LinkKind, Right, SortBy, State, Trust

Text = Annotated[str, Field(max_length=100_000)]  # the application has the limits that are told
Word = Annotated[str, Field(max_length=1_000)]
Words = Annotated[list[Word], Field(max_length=1_000)]
Id = Annotated[str, Field(min_length=1, max_length=100, description="An id, or its beginning.")]
User = Annotated[str, Field(min_length=1, max_length=64, description="The name of a user.")]
Count = Annotated[int, Field(ge=1, le=1_000)]

_Request = TypeVar("_Request", bound="Request")


class Request(BaseModel):
    """Anything that is asked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def given(self, *leave_out: str) -> dict[str, Any]:
        """What was said, by field; what was not takes the application's own default."""
        return self.model_dump(exclude_unset=True, exclude_none=True, exclude={*leave_out})


class Nothing(Request):
    """Nothing is said."""


class StoreRequest(Request):
    """Something to remember."""

    content: Text
    category: Word | None = None
    tags: Words = []
    keywords: Words = []
    importance: float | None = None
    sensitive: bool = False
    created_at: Moment | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    agent: Word | None = None
    session: Word | None = None
    project: Word | None = None
    source: Word | None = None
    trust: Trust | None = None
    supersedes: Annotated[list[Id], Field(max_length=100)] = []
    wait: bool = False


class FilterRequest(Request):
    """Which memories are meant."""

    categories: Words = []
    tags: Words = []
    created_from: Moment | None = None
    created_to: Moment | None = None
    session: Word | None = None
    project: Word | None = None
    agent: Word | None = None
    as_of: Moment | None = None
    states: list[State] = []


class QueryRequest(FilterRequest):
    """A question."""

    query: Text
    expanded: Words = []
    focus: Words = []
    limit: Count | None = None
    pool: Count | None = None
    sort_by: SortBy | None = None
    budget_bytes: Annotated[int, Field(ge=1)] | None = None


class RecallRequest(QueryRequest):
    """A question, perhaps with how it was answered."""

    trace: bool = False


class WhyNotRequest(QueryRequest):
    """Why a memory is not in the answer to a question."""

    id: Id


class ListRequest(FilterRequest):
    """Memories by creation time."""

    limit: Count = 20
    after: Word | None = Field(None, description="The `next` of the page before.")
    newest_first: bool = True


class OneRequest(Request):
    """One memory."""

    id: Id


class UpdateRequest(OneRequest):
    """What is to change about a memory; what is not said stays."""

    expected_version: Annotated[int, Field(ge=1)] | None = None
    content: Text | None = None
    category: Word | None = None
    tags: Words | None = None
    keywords: Words | None = None
    importance: float | None = None
    sensitive: bool | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    always_valid: bool = False


class LinkRequest(Request):
    """Two memories and what one is to the other, read "source KIND target"."""

    source: Id
    kind: LinkKind
    target: Id


class TimelineRequest(FilterRequest):
    """What was remembered around a memory or a moment."""

    around: Word = Field(description="The id of a memory, or a moment in ISO 8601.")
    before: Annotated[int, Field(ge=0, le=1_000)] = 5
    after: Annotated[int, Field(ge=0, le=1_000)] = 5


class SecretRequest(OneRequest):
    """What a sensitive memory says."""

    version: Annotated[int, Field(ge=1)] | None = None


class UnshareRequest(OneRequest):
    """A memory, and with whom it is shared."""

    reader: User


class ShareRequest(UnshareRequest):
    """A memory, and with whom to share it."""

    right: Right = Right.READ


class UnshareTagRequest(Request):
    """A tag, and with whom all memories that have it are shared."""

    tag: Word
    reader: User


class ShareTagRequest(UnshareTagRequest):
    """A tag, and with whom to share all memories that have it or will have it."""

    right: Right = Right.READ
