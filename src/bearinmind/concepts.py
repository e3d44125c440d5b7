"""The nouns of the concept graph: concepts, where they are mentioned, how they relate.

A concept is known by its name, folded so that spellings which readers take for the same are the
same: `Ilse Navrat`, `Ilse Navrat's` and `ILSE NAVRAT` are `ilse navrat`. The name is the identity:
it is the same on every replica, and nobody has to hand out numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, NewType

from bearinmind.types import MemoryId

ConceptName = NewType("ConceptName", str)


class Role(StrEnum):
    """What a memory does with a concept."""

    SUBJECT = "subject"  #: it is about it
    NAME = "name"  #: it names it
    TAG = "tag"  #: it is tagged with it
    KEYWORD = "keyword"  #: it has it as a keyword


class Kind(StrEnum):
    """What a concept is, as far as an extractor can tell."""

    NAME = "name"  #: a proper name of whatever
    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"
    WORK = "work"  #: a book, a film, a product
    EVENT = "event"
    IDENTIFIER = "identifier"  #: of code, a ticket, a version, a path
    HOST = "host"
    TOPIC = "topic"  #: a tag, a keyword, a noun phrase


class Mention(NamedTuple):
    """A concept in a memory."""

    name: ConceptName
    role: Role
    kind: Kind
    label: str  #: as it was written


class Statement(NamedTuple):
    """A relation that a memory states, before it is a row."""

    source: Mention
    type: str  #: a few words in lower case, such as "runs on"
    target: Mention
    weight: float = 1.0  #: 0..1, how sure the extractor is
    valid_from: datetime | None = None
    valid_to: datetime | None = None


class Alias(NamedTuple):
    """Two names that a memory says are the same, such as "Continuous Integration (CI)"."""

    name: ConceptName
    of: ConceptName
    reason: str


class Extraction(NamedTuple):
    """What an extractor read in a memory."""

    mentions: tuple[Mention, ...] = ()
    statements: tuple[Statement, ...] = ()
    aliases: tuple[Alias, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Concept:
    """An entity or idea that recurs across memories."""

    name: ConceptName
    label: str  #: as it was written first
    kind: Kind
    memories: int  #: present versions of memories that mention it
    subjects: int  #: of those, how many are about it
    aliases: tuple[ConceptName, ...] = ()  #: names that were merged into it


class Mentioned(NamedTuple):
    """A memory that mentions a concept."""

    id: MemoryId
    concept: ConceptName  #: after merges
    role: Role
    memories: int  #: present versions of memories that mention the concept
    subjects: int  #: of those, how many are about it


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A typed, directed edge between two concepts, with the memories that say so.

    It held from `valid_from` to `valid_to`; it was believed from `recorded_at` to `retracted_at`.
    """

    number: int  #: by which it is named to a store; 0 for one that is not stored yet
    source: ConceptName
    type: str
    target: ConceptName
    weight: float
    valid_from: datetime | None
    valid_to: datetime | None
    recorded_at: datetime
    retracted_at: datetime | None
    origin: str  #: which extractor found it, or "import"
    evidence: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Two concepts that are taken for one, until that is undone."""

    alias: ConceptName
    into: ConceptName
    reason: str
    score: float  #: 0..1, how sure
    merged_at: datetime
    undone_at: datetime | None = None
