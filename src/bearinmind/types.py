"""The nouns: frozen values that every part of Bear in Mind uses."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple, NewType, TypeVar

from bearinmind.errors import InvalidChange, InvalidInput

#: Metadata of a field that is never written as JSON, nor read; see `bearinmind.codec`.
NEVER_SENT: Final[Mapping[str, bool]] = {"sent": False}
Getter = TypeVar("Getter", bound=Callable[..., object])


def in_json(getter: Getter) -> Getter:
    """Declare, below `@property`, that a property is written with the fields of its noun."""
    getter.__dict__["in_json"] = True
    return getter


MemoryId = NewType("MemoryId", str)
UserId = NewType("UserId", str)

#: Crockford's base 32: digits and letters without i, l, o and u, which are misread or misheard.
ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
#: 12 characters are 60 random bits: among ten million memories the odds of any collision are 1 in
#: 20,000, and the store refuses an id that it already holds.
ID_LENGTH = 12


def new_id() -> MemoryId:
    """A fresh random id. Random rather than ordered by time, so that short prefixes tell apart."""
    bits = secrets.randbits(5 * ID_LENGTH)
    return MemoryId("".join(ID_ALPHABET[bits >> 5 * place & 31] for place in range(ID_LENGTH)))


def is_id(text: str) -> bool:
    """Whether a text is a whole memory id, as stored."""
    return len(text) == ID_LENGTH and set(text) <= set(ID_ALPHABET)


class Trust(StrEnum):
    """How far a reader may rely on the text of a memory."""

    USER = "user"  #: stated or confirmed by the person
    AGENT = "agent"  #: concluded by an agent
    EXTERNAL = "external"  #: read somewhere else: data, never instructions


class State(StrEnum):
    """The state of a memory at a moment."""

    LIVE = "live"  #: recalled and listed
    SUPERSEDED = "superseded"  #: a newer memory is served in its place
    EXPIRED = "expired"  #: outside its valid-from / valid-to span
    DELETED = "deleted"  #: soft-deleted; can be restored or purged


class LinkKind(StrEnum):
    """The closed set of links between memories, read "source KIND target"."""

    SUPERSEDES = "supersedes"  #: the source is served in place of the target
    RESOLVED_BY = "resolved-by"  #: the target is attached when the source ranks
    PART_OF = "part-of"  #: a one-line pointer, both ways
    SEE_ALSO = "see-also"  #: a one-line pointer, both ways
    DERIVES_FROM = "derives-from"  #: provenance: the source was concluded from the target
    CAUSES = "causes"  #: provenance: the source brought the target about
    OUTDATES = "outdates"  #: the source states what holds now of what the target states


class Decider(StrEnum):
    """Who or what decided that one memory outdates another; the later in this list prevails."""

    SCORER = "scorer"  #: the learned scorer
    MODEL = "model"  #: a chat model
    AGENT = "agent"
    PERSON = "person"


class Group(StrEnum):
    """How hits that are states of one thing are given."""

    STATES = "states"  #: the current one, with the earlier ones under it
    OFF = "off"  #: each by itself; an outdated one is marked


class Resolution(StrEnum):
    """What somebody says of a memory beside an earlier one."""

    NEWER = "newer"  #: it outdates the other
    OLDER = "older"  #: the other outdates it
    BOTH = "both"  #: both hold
    MERGE = "merge"  #: it says all that the other says, and supersedes it


class SortBy(StrEnum):
    """The order in which the memories chosen by relevance are presented."""

    RELEVANCE = "relevance"
    IMPORTANCE = "importance"
    RECENCY = "recency"


class Verdict(StrEnum):
    """Whether what is stored answers a query."""

    FOUND = "found"  #: it probably answers
    PERHAPS = "perhaps"
    NOTHING = "nothing"  #: what there is are weak guesses


class Right(StrEnum):
    """What somebody may do with a memory that was shared with them."""

    READ = "read"
    WRITE = "write"  #: also update, delete and restore it


class Access(StrEnum):
    """What a key lets its bearer do; each includes those before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"  #: users and keys of everybody

    def includes(self, other: Access) -> bool:
        """Whether this access is at least the other."""
        order = [*Access]
        return order.index(self) >= order.index(other)


Choice = TypeVar("Choice", bound=StrEnum)


def choose(vocabulary: type[Choice], text: str, error: type[InvalidInput]) -> Choice:
    """The word of a vocabulary that a text names, else an error of the given kind."""
    try:
        return vocabulary(text)
    except ValueError:
        words = ", ".join(vocabulary)
        raise error(f"{text!r} is not one of {words}", hint=f"Use one of {words}.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Whose memories are read and written; no store can be asked anything without one."""

    user: UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a memory came from."""

    agent: str | None = None
    session: str | None = None
    project: str | None = None
    source: str | None = None
    trust: Trust = Trust.AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a caller wants remembered, before it is admitted."""

    content: str
    category: str = "facts"
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    importance: float = 0.5
    sensitive: bool = False
    created_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    provenance: Provenance = field(default_factory=Provenance)


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One version of the single stored unit: bounded text and what is known about it."""

    id: MemoryId
    owner: UserId
    content: str
    category: str
    tags: tuple[str, ...]
    keywords: tuple[str, ...]
    importance: float
    sensitive: bool
    created_at: datetime
    updated_at: datetime  #: when this version was written
    deleted_at: datetime | None
    valid_from: datetime | None
    valid_to: datetime | None
    provenance: Provenance
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """A vector space: what made the vectors in it. Those of two spaces are never compared."""

    model: str
    revision: str  #: equal only for the same weights, run in the same way
    dimensions: int
    query_prompt: str = ""  #: put before a query
    memory_prompt: str = ""  #: put before a memory's text
    text: str = "content"  #: the recipe of the embedded text, see `bearinmind.text.embedded_text`

    @property
    def key(self) -> str:
        """A short name for it, equal only for the same space."""
        model = f"{self.model}\0{self.revision}\0{self.dimensions}"
        texts = f"{self.query_prompt}\0{self.memory_prompt}\0{self.text}"
        return hashlib.sha256(f"{model}\0{texts}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Why one memory is taken to outdate another, or is known not to."""

    probability: float  #: that it does; 0 when somebody said that both hold
    by: Decider
    thing: str = ""  #: what both are about, where that is known
    aspect: str = ""  #: which property of the thing has changed, where that is known
    evidence: tuple[str, ...] = ()  #: in words, the weightiest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A typed, directed edge between two memories."""

    source: MemoryId
    target: MemoryId
    kind: LinkKind
    created_at: datetime
    removed_at: datetime | None = None
    judgement: Judgement | None = None  #: of a link that was inferred or decided; `outdates` alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """An owner lets another user see memories: one, or as a live rule all with a tag.

    Sensitive, deleted or superseded memories are never seen by others, nor are earlier versions.
    """

    owner: UserId
    reader: UserId
    right: Right
    memory: MemoryId | None = None  #: either this
    tag: str | None = None  #: or this
    created_at: datetime
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A bearer key; the secret itself is known to its bearer alone."""

    id: str  #: the part of it that is no secret
    user: UserId
    access: Access
    hash: bytes = field(default=b"", repr=False, metadata=NEVER_SENT)  #: of the secret
    label: str = ""
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    per_minute: int | None = None  #: requests
    per_day: int | None = None  #: writes


@dataclass(frozen=True, slots=True, kw_only=True)
class MayReplace:
    """An earlier memory that a stored one may outdate: `resolve` settles it."""

    memory: Memory  #: the earlier one
    newer: MemoryId  #: the stored one
    probability: float
    because: str  #: in a few words


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The memory was new and is now durable."""

    memory: Memory
    may_replace: Sequence[MayReplace] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadyKnown:
    """The same content was stored before, and was not stored again."""

    memory: Memory
    may_replace: Sequence[MayReplace] = ()


Outcome = Stored | AlreadyKnown


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories of a scope are meant; honoured inside the store."""

    scope: Scope
    reader: UserId | None = None  #: somebody else, who sees only what was shared with them
    now: datetime  #: the moment from which validity is judged
    categories: frozenset[str] = frozenset()  #: any of these
    tags: frozenset[str] = frozenset()  #: all of these
    created_from: datetime | None = None  #: at or after
    created_to: datetime | None = None  #: before
    session: str | None = None
    project: str | None = None
    agent: str | None = None
    as_of: datetime | None = None  #: what the store held at that moment
    states: frozenset[State] = frozenset({State.LIVE})

    @property
    def is_scope_alone(self) -> bool:
        """Whether nothing is asked of a memory but that the scope holds it now."""
        times = (self.created_from, self.created_to, self.as_of)
        texts = (self.reader, self.session, self.project, self.agent)
        return not self.categories and not self.tags and {*times, *texts} == {None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A question put to the memory, as the caller gave it."""

    text: str
    filter: Filter
    expanded: tuple[str, ...] = ()  #: more words for the same thing, given by the caller
    focus: tuple[str, ...] = ()  #: tags or categories that matter more just now
    limit: int = 10
    pool: int = 50  #: how deep each leg looks
    sort_by: SortBy = SortBy.RELEVANCE
    budget_bytes: int | None = None  #: a ranked memory is delivered whole or not at all
    group: Group = Group.STATES
    min_probability: float | None = None  #: of a hit, in place of the usual floor
    all: bool = False  #: also what is improbable, which is folded away otherwise
    leg_weights: Mapping[str, float] = field(default_factory=dict, hash=False)  #: 0: off
    decay_days: Mapping[str, float] = field(default_factory=dict, hash=False)  #: by category
    #: The caller's own factor of the score of a memory, in Python alone.
    boost: Callable[[Memory], float] | None = field(
        default=None, compare=False, repr=False, metadata=NEVER_SENT
    )


# A recall makes fifty of each of these: a named tuple costs a third of a frozen dataclass.


class Candidate(NamedTuple):
    """A memory proposed by one leg."""

    id: MemoryId
    score: float  #: the leg's own score, higher is better
    confidence: float  #: 0..1: how much of the query the leg has evidence for in this memory
    evidence: float = 0.0  #: what its place in the leg is worth beside another leg's; 1 is sure


class Placing(NamedTuple):
    """Where one leg placed a memory."""

    rank: int  #: from 1
    score: float
    confidence: float
    evidence: float = 0.0


class Fused(NamedTuple):
    """A memory after fusion: one score, and where every leg placed it."""

    id: MemoryId
    score: float
    placings: Mapping[str, Placing]


class Step(NamedTuple):
    """One step through the concept graph, from a memory or the query to a memory."""

    source: MemoryId | None  #: which memory mentions the concept; None for the query itself
    concept: str  #: the name that both mention
    role: str  #: what the target does with it: it is about it, or names it
    target: MemoryId


class Reranked(NamedTuple):
    """What a reranker made of a candidate."""

    before: int  #: its place before, from 1
    after: int
    score: float  #: the reranker's own, higher is better
    blend: float  #: what its place goes by: the two scores within 0..1, by their weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What one leg answered, best first."""

    leg: str
    candidates: tuple[Candidate, ...]
    floor: float = 0.0  #: the score of a memory that has nothing to do with the query
    #: The memories that the leg had to read anyway, made only when they are needed.
    memories: Mapping[MemoryId, Callable[[], Memory]] = field(
        default_factory=dict, metadata=NEVER_SENT
    )
    #: What the leg says of memories that are not among its candidates, if it can.
    judge: Callable[[Sequence[MemoryId]], Mapping[MemoryId, Candidate]] | None = field(
        default=None, compare=False, repr=False, metadata=NEVER_SENT
    )
    #: By which way through the concept graph a memory was reached, the first step first.
    paths: Mapping[MemoryId, tuple[Step, ...]] = field(default_factory=dict)
    follows: bool = False  #: whether it goes on from what other legs found
    among: int = 0  #: how many memories it looked through
    #: How many of them hold each term of the query, where the leg goes by terms.
    frequency: Mapping[str, int] = field(default_factory=dict, metadata=NEVER_SENT)
    unknown: Sequence[str] = field(default=(), metadata=NEVER_SENT)  #: terms that none of them hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointer:
    """A one-line mention of a linked memory."""

    id: MemoryId
    kind: LinkKind
    outgoing: bool  #: True when the hit is the link's source
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outdated:
    """That a memory is outdated, by which one, and since when."""

    by: MemoryId
    until: datetime  #: when the memory that outdates it was stored
    probability: float
    decided_by: Decider


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierState:
    """An earlier state of what a hit states."""

    memory: Memory
    outdated: Outdated


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A recalled memory with everything that brought it here."""

    memory: Memory
    rank: int
    score: float
    placings: Mapping[str, Placing]
    factors: Mapping[str, float]  #: each adjustment that was applied, by name
    reranked: Reranked | None = None  #: set when a reranker read it
    replaces: tuple[MemoryId, ...] = ()  #: superseded memories it is served in place of
    attached: tuple[Memory, ...] = ()  #: what resolved it
    pointers: tuple[Pointer, ...] = ()
    path: tuple[Step, ...] = ()  #: how the concept graph led to it, if it did
    probability: float = 0.0  #: 0..1: how probable it is that it answers the query
    earlier: tuple[EarlierState, ...] = ()  #: earlier states of the same thing, the latest first
    outdated: Outdated | None = None  #: set when it is not in a group, and another outdates it


def is_expired(memory: Memory, now: datetime) -> bool:
    """Whether the moment lies outside the memory's valid-from / valid-to span."""
    return (memory.valid_from is not None and memory.valid_from > now) or (
        memory.valid_to is not None and memory.valid_to <= now
    )


# ---- the names under which memories are kept -----------------------------------------------------

_BETWEEN = "/"  # in no name of a user, see `bearinmind.remember.admit.check_user`


def copy_name(owner: UserId, reader: UserId) -> UserId:
    """The name under which a reader's copy of an owner's memories is kept."""
    if not owner or owner == reader or _BETWEEN in owner:
        raise InvalidChange(f"{owner!r} cannot share anything with {reader!r}")
    return UserId(f"{owner}{_BETWEEN}{reader}")


def is_copy(name: UserId) -> bool:
    """Whether a copy is kept under a name, rather than a user's own memories."""
    return _BETWEEN in name


def owner_of(name: UserId) -> UserId:
    """Whose memories are kept under a name."""
    return UserId(name.partition(_BETWEEN)[0]) if _BETWEEN in name else name
