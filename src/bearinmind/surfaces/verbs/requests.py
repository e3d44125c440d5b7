"""The requests of all verbs. These models check their form; the methods of `Mind` their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, ValidationInfo

from bearinmind.app.requests import MOST_PROPOSALS, PROPOSALS
from bearinmind.errors import InvalidTime
from bearinmind.errors.flaws import whole
from bearinmind.learn.model import Role
from bearinmind.proposals import ProposalState
from bearinmind.recall.history import DEEPEST, USUAL_DEPTH
from bearinmind.remember.admit import (
    KEYWORD_LIMIT,
    KEYWORDS_LIMIT,
    PROVENANCE_LIMIT,
    TAG_LIMIT,
    TAGS_LIMIT,
    check_moment,
)
from bearinmind.surfaces.verbs.verb import Request
from bearinmind.types import Access, Group, LinkKind, Resolution, Right, SortBy, State, Trust


def _moment(value: object, info: ValidationInfo) -> object:
    """A moment in UTC, from ISO 8601; without a zone it is UTC."""
    if not isinstance(value, str | datetime):
        return value
    name = info.field_name or "the time"
    try:
        return check_moment(value, name)
    except InvalidTime as exc:
        exc.fields = [(name, exc.code, exc.message)]
        raise


MOST_DRAFTS = 100  #: of one request; more go through an import
WHOLE = BeforeValidator(whole)  #: stands behind the limits of a number: its schema has them then

# Limits that Pydantic checks here keep nonsense out. Those that are only described, `Mind` checks
# itself: it knows what it makes of spaces and dashes.


def _text(most: int, **described: Any) -> Any:  # noqa: ANN401  whatever a JSON schema can say
    return Field(max_length=most, json_schema_extra=described)


def _name(most: int, says: str, **described: Any) -> Any:  # noqa: ANN401  likewise
    return Field(
        min_length=1, max_length=most, description=says, json_schema_extra=described or None
    )


_PLAIN = r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"  # no control characters but line ends and tabs
_SOME = rf"^{_PLAIN}*[^\s\x00-\x1f\x7f]{_PLAIN}*$"
_NO_COMMA = r"[^,\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_TAG = rf"^{_NO_COMMA}*[^,\s\x00-\x1f\x7f]{_NO_COMMA}*$"
_ID = r"^([A-Za-z0-9._@-]+:)?(-*[0-9a-tv-zA-TV-Z]){1,12}-*$"
_USER = r"^[._@-]*[A-Za-z0-9][A-Za-z0-9._@-]*$"
_ID_TEXT = "An id or its beginning, perhaps with its owner: `anna:k7f29qmxt4hd`."
_OWNER_TEXT = "Whose: `me`, `others`, or a user who shares; all that you see if left out."
_KEY_TEXT = "Any text of your own: sent again with it, nothing is stored again."

Text = Annotated[str, Field(max_length=100_000)]
Content = Annotated[str, _text(100_000, minLength=1, pattern=_SOME)]
Word = Annotated[str, Field(max_length=1_000)]
Words = Annotated[list[Word], Field(max_length=1_000)]
Category = Annotated[str, _text(1_000, minLength=1)]
Tag = Annotated[str, _text(1_000, minLength=1, maxLength=TAG_LIMIT, pattern=_TAG)]
Tags = Annotated[list[Tag], _text(1_000, maxItems=TAGS_LIMIT)]
Keyword = Annotated[str, _text(1_000, maxLength=KEYWORD_LIMIT, pattern=f"^{_PLAIN}*$")]
Keywords = Annotated[list[Keyword], _text(1_000, maxItems=KEYWORDS_LIMIT)]
Origin = Annotated[str, _text(1_000, maxLength=PROVENANCE_LIMIT, pattern=f"^{_PLAIN}*$")]
Importance = Annotated[float, Field(json_schema_extra={"minimum": 0, "maximum": 1})]
Id = Annotated[str, _name(105, _ID_TEXT, maxLength=105, pattern=_ID)]
User = Annotated[str, _name(64, "The name of a user.", pattern=_USER)]
Owner = Annotated[str, _name(64, _OWNER_TEXT, pattern=_USER)]
IdempotencyKey = Annotated[str, _name(200, _KEY_TEXT)]
KeyId = Annotated[str, _name(100, "The id of a key.")]
Moment = Annotated[datetime, BeforeValidator(_moment)]
Count = Annotated[int, Field(ge=1, le=1_000), WHOLE]
Bytes = Annotated[int, Field(ge=1), WHOLE]
Version = Annotated[int, Field(ge=1, le=2**31 - 1), WHOLE]


class DraftRequest(Request):
    """Something to remember."""

    content: Content
    category: Category | None = None
    tags: Tags = []
    keywords: Keywords = []
    importance: Importance | None = None
    sensitive: bool = False
    created_at: Moment | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    agent: Origin | None = None
    session: Origin | None = None
    project: Origin | None = None
    source: Origin | None = None
    trust: Trust | None = None
    supersedes: Annotated[list[Id], Field(max_length=100)] = []


class StoreRequest(DraftRequest):
    """Something to remember, once."""

    wait: bool = False
    idempotency_key: IdempotencyKey | None = None


class StoreManyRequest(Request):
    """Things to remember, each stored by itself."""

    drafts: Annotated[list[DraftRequest], Field(min_length=1, max_length=MOST_DRAFTS)]
    idempotency_key: IdempotencyKey | None = None

    @property
    def writes(self) -> int:
        """Each draft is one."""
        return len(self.drafts)


class FilterRequest(Request):
    """Which memories are meant."""

    categories: Annotated[list[Category], Field(max_length=100)] = []
    tags: Tags = []
    created_from: Moment | None = None
    created_to: Moment | None = None
    session: Origin | None = None
    project: Origin | None = None
    agent: Origin | None = None
    as_of: Moment | None = None
    states: list[State] = []


class ListedRequest(FilterRequest):
    """Which memories are listed."""

    owner: Owner | None = None


class QueryRequest(FilterRequest):
    """A question."""

    called: ClassVar[Mapping[str, str]] = {"query": "text", "trace": ""}

    query: Text
    expanded: Words = []
    focus: Tags = []
    limit: Count | None = None
    pool: Count | None = None
    sort_by: SortBy | None = None
    budget_bytes: Bytes | None = None
    group: Group | None = Field(
        None, description="`off` gives every state of a thing as a hit of its own."
    )
    min_probability: float | None = Field(
        None, ge=0, le=1, description="The least probability of a hit, in place of the usual one."
    )
    all: bool | None = Field(None, description="Also hits that are unlikely to answer.")
    leg_weights: dict[str, float] = Field(
        {}, description="By leg (lexical, dense, graph), in place of the setting; 0 turns it off."
    )
    decay_days: dict[str, float] = Field(
        {}, description="By category: after how many days a score has faded to 1/e."
    )


class RecallRequest(QueryRequest):
    """A question, perhaps with how it was answered."""

    trace: bool = False


class WhyNotRequest(QueryRequest):
    """Why a memory is not in the answer to a question."""

    id: Id


class ListRequest(ListedRequest):
    """Memories by creation time."""

    limit: Count = 20
    after: Word | None = Field(None, description="The `next` of the page before.")
    newest_first: bool = True
    by_importance: bool = Field(
        False, description="The most important first, of those the newest; such a list has no next."
    )


class OneRequest(Request):
    """One memory, or one proposal."""

    id: Id


class WhyRequest(OneRequest):
    """One memory, and how many steps back from it."""

    depth: Annotated[int, Field(ge=1, le=DEEPEST), WHOLE] = USUAL_DEPTH


class DeleteRequest(OneRequest):
    """One memory, perhaps only if it still is as it was."""

    expected_version: Version | None = None
    with_earlier: bool = Field(
        False, description="Delete what it superseded, too, which would be live again otherwise."
    )


class UpdateRequest(OneRequest):
    """What is to change about a memory; what is not said stays."""

    expected_version: Version | None = None
    content: Content | None = None
    category: Category | None = None
    tags: Tags | None = None
    keywords: Keywords | None = None
    importance: Importance | None = None
    sensitive: bool | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    always_valid: bool = False
    trust: Trust | None = Field(
        None, description="Whose the change is; a lower trust changes no more trusted content."
    )


class LinkRequest(Request):
    """Two memories and what one is to the other, read "source KIND target"."""

    source: Id
    kind: LinkKind
    target: Id


class NewLinkRequest(LinkRequest):
    """Two memories, what one is to the other, and who says so."""

    trust: Trust = Field(
        Trust.AGENT, description="Who decides: `user` for a person, else an agent."
    )


class ResolveRequest(OneRequest):
    """What a memory is to others: to those named, else to all that it may replace."""

    resolution: Resolution
    other: Annotated[list[Id], Field(max_length=100)] = []
    trust: Trust | None = Field(
        None, description="Who decides: `user` for a person, else an agent."
    )


class HistoryRequest(Request):
    """Something whose states are wanted."""

    thing: Text
    limit: Count = Field(3, description="The most chains of states.")


class TimelineRequest(ListedRequest):
    """What was remembered around a memory or a moment."""

    around: Word = Field(description="The id of a memory, or a moment in ISO 8601.")
    before: Annotated[int, Field(ge=0, le=1_000), WHOLE] = 5
    after: Annotated[int, Field(ge=0, le=1_000), WHOLE] = 5


class SecretRequest(OneRequest):
    """What a sensitive memory says."""

    version: Version | None = None


class UnshareRequest(OneRequest):
    """A memory, and with whom it is shared."""

    reader: User


class ShareRequest(UnshareRequest):
    """A memory, and with whom to share it."""

    right: Right = Right.READ


class UnshareTagRequest(Request):
    """A tag, and with whom all memories that have it are shared."""

    tag: Tag
    reader: User


class ShareTagRequest(UnshareTagRequest):
    """A tag, and with whom to share all memories that have it or will have it."""

    right: Right = Right.READ


# ---- learning and curation -----------------------------------------------------------------------


class MessageRequest(Request):
    """A message of a turn; only those of users and assistants are learned from."""

    role: Role
    text: Text


class LearnRequest(Request):
    """The messages of a turn, oldest first, and where they were said."""

    messages: Annotated[list[MessageRequest], Field(max_length=500)]
    agent: Origin | None = None
    session: Origin | None = None
    project: Origin | None = None
    dry_run: bool = Field(False, description="Keep nothing: only say what would be learned.")


class BriefRequest(Request):
    """What a session begins for."""

    project: Origin | None = None
    session: Origin | None = None
    query: Text | None = None
    limit: Count = 10
    budget_bytes: Annotated[int, Field(ge=1, le=1_000_000), WHOLE] = 4_000


class ProposalsRequest(Request):
    """Which proposals, and how many at most."""

    states: Annotated[list[ProposalState], Field(min_length=1, max_length=10)] = Field(
        default_factory=lambda: [ProposalState.OPEN]
    )
    limit: Annotated[int, Field(ge=1, le=MOST_PROPOSALS), WHOLE] = PROPOSALS


class DismissRequest(OneRequest):
    """A proposal, and who decides on it."""

    trust: Trust | None = Field(
        None, description="Who decides: `agent` for an agent, else a person."
    )


class ApplyRequest(DismissRequest):
    """A proposal, and for one of the kind `outdate` which of two memories holds."""

    resolution: Resolution | None = Field(None, description="Without it the newer one holds.")


class ReviewRequest(Request):
    """How the memories are reviewed."""

    propose: bool = Field(False, description="Put what is new into the inbox.")
    since: Moment | None = Field(None, description="Only what was written since then.")
    ask: bool = Field(False, description="Ask the configured model about doubtful pairs: it costs.")


# ---- users and keys ------------------------------------------------------------------------------


class UserRequest(Request):
    """A user."""

    name: User


class KeysRequest(Request):
    """Whose keys are listed."""

    user: User | None = None


class CreateKeyRequest(Request):
    """The terms of a new key."""

    user: User
    access: Access = Access.WRITE
    label: Annotated[str, Field(max_length=100)] = ""
    expires_at: Moment | None = None
    per_minute: Annotated[int, Field(ge=1, le=1_000_000), WHOLE] | None = None
    per_day: Annotated[int, Field(ge=1, le=1_000_000_000), WHOLE] | None = None


class KeyRequest(Request):
    """A key."""

    id: KeyId


class RenewKeyRequest(KeyRequest):
    """A key, and for how long it stays good beside the new one."""

    overlap_hours: Annotated[float, Field(ge=0, le=720)] = 24.0


class LatestRequest(Request):
    """How many of the latest are listed."""

    limit: Count = 100
