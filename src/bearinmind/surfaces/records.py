"""The records in which memories and links arrive and leave: one shape for export, import and JSON.

A record that Bear in Mind wrote has every field. One from elsewhere needs only `content`; what is
missing or null takes its default, and keys with no meaning here are ignored.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
    model_validator,
)

from bearinmind import ids
from bearinmind.errors import InvalidRecord, SelfLink
from bearinmind.protocols import Sealed
from bearinmind.remember.admit import check_moment
from bearinmind.surfaces import times
from bearinmind.types import Link, LinkKind, Memory, MemoryId, Provenance, Trust, UserId

FORMAT = 1  # raised when an older release could no longer read what is written

_MOST_VERSIONS = 2**31 - 1  # a number that every store can hold


def _moment(value: object) -> object:
    """A moment in UTC, from ISO 8601."""
    if isinstance(value, str):
        return times.parse(value, "the time")
    return check_moment(value, "the time") if isinstance(value, datetime) else value


def _words(value: object) -> object:
    """Words given as a list, or as one text with commas between them."""
    if isinstance(value, str):
        return tuple(word for part in value.split(",") if (word := part.strip()))
    return tuple(value) if isinstance(value, list) else value


def _decoded(value: object) -> object:
    """Bytes, from base64."""
    return base64.b64decode(value, validate=True) if isinstance(value, str) else value


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


Encoded = Annotated[bytes, BeforeValidator(_decoded), PlainSerializer(_encoded, return_type=str)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
Words = Annotated[tuple[str, ...], BeforeValidator(_words)]


class Record(BaseModel):
    """Anything that is one line of an export."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        return {key: item for key, item in value.items() if item is not None}


class HeaderRecord(Record):
    """The first line of an export."""

    record: Literal["bearinmind-export"] = "bearinmind-export"
    format: int = Field(ge=1)
    version: str = ""
    exported_at: Moment | None = None
    memories: int = 0
    shared: int = 0  #: memories of others that the user can see, which are not in it


class LinkRecord(Record):
    """A link between two memories."""

    record: Literal["link"] = "link"
    source: str
    target: str
    kind: Annotated[LinkKind, Field(strict=False)]
    created_at: Moment
    removed_at: Moment | None = None

    @classmethod
    def of(cls, link: Link) -> LinkRecord:
        """The record of a link."""
        return cls.model_construct(
            record="link",
            source=link.source,
            target=link.target,
            kind=link.kind,
            created_at=link.created_at,
            removed_at=link.removed_at,
        )

    def link(self) -> Link:
        """The link that the record describes.

        Raises:
            InvalidRecord: an end is not the whole id of a memory.
            SelfLink: both ends are the same.
        """
        for end in (self.source, self.target):
            if not is_id(end):
                raise InvalidRecord(f"{end!r} is not the id of a memory")
        if self.source == self.target:
            raise SelfLink(f"memory {self.source} cannot be linked to itself")
        return Link(
            source=MemoryId(self.source),
            target=MemoryId(self.target),
            kind=self.kind,
            created_at=self.created_at,
            removed_at=self.removed_at,
        )


class SecretRecord(Record):
    """What a sensitive memory says from one version on, encrypted; its memory comes behind it."""

    record: Literal["secret"] = "secret"
    id: str
    version: int = Field(ge=1, le=_MOST_VERSIONS)
    owner: str  #: whom it was sealed for
    key_id: str
    nonce: Encoded
    ciphertext: Encoded
    fingerprint: Encoded

    @classmethod
    def of(cls, sealed: Sealed) -> SecretRecord:
        """The record of something sealed."""
        return cls.model_construct(record="secret", **asdict(sealed))

    def sealed(self) -> Sealed:
        """What the record holds.

        Raises:
            InvalidRecord: it does not belong to a memory.
        """
        if not is_id(self.id):
            raise InvalidRecord(f"{self.id!r} is not the id of a memory")
        return Sealed(
            owner=UserId(self.owner),
            id=MemoryId(self.id),
            version=self.version,
            key_id=self.key_id,
            nonce=self.nonce,
            ciphertext=self.ciphertext,
            fingerprint=self.fingerprint,
        )


class VersionRecord(Record):
    """One version of a memory."""

    content: str
    category: str | None = None
    tags: Words = ()
    keywords: Words = ()
    importance: float = 0.5
    sensitive: bool = False
    created_at: Moment | None = None
    updated_at: Moment | None = None
    deleted_at: Moment | None = None
    valid_from: Moment | None = None
    valid_to: Moment | None = None
    agent: str | None = None
    session: str | None = None
    project: str | None = None
    source: str | None = None
    trust: Annotated[Trust, Field(strict=False)] = Trust.AGENT
    version: int = Field(default=1, ge=1, le=_MOST_VERSIONS)

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, value: object) -> object:
        if not isinstance(value, Mapping) or value.get("keywords") is not None:
            return value
        return {**value, "keywords": value.get("expanded_keywords")}

    def memory(self, id: MemoryId, category: str, now: datetime) -> Memory:
        """The version as a memory; a category and a time of its own come before these."""
        created_at = self.created_at or now
        return Memory(
            id=id,
            owner=UserId(""),  # whoever admits it becomes its owner
            content=self.content,
            category=self.category if self.category is not None else category,
            tags=self.tags,
            keywords=self.keywords,
            importance=self.importance,
            sensitive=self.sensitive,
            created_at=created_at,
            updated_at=self.updated_at or created_at,
            deleted_at=self.deleted_at,
            valid_from=self.valid_from,
            valid_to=self.valid_to,
            provenance=Provenance(
                agent=self.agent,
                session=self.session,
                project=self.project,
                source=self.source,
                trust=self.trust,
            ),
            version=self.version,
        )


class Named(Record):
    """What is a memory and may have an id."""

    record: Literal["memory"] = "memory"
    id: Any = None  #: another program's ids may be of any type


class MemoryRecord(VersionRecord, Named):
    """A memory with every version of it; the fields are those of the present one."""

    earlier: tuple[VersionRecord, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _from_elsewhere(cls, value: object) -> object:
        """Another program may mean anything by `record`, and its lists are JSON lists."""
        if not isinstance(value, Mapping):
            return value
        kept = {key: item for key, item in value.items() if key != "record"}
        if isinstance(kept.get("earlier"), list):
            kept["earlier"] = tuple(kept["earlier"])
        return kept

    @classmethod
    def of(cls, memory: Memory, earlier: Sequence[Memory] = ()) -> MemoryRecord:
        """The record of a memory and its earlier versions."""
        return cls.model_construct(
            record="memory",
            id=memory.id,
            earlier=tuple(VersionRecord.model_construct(**_fields(version)) for version in earlier),
            **_fields(memory),
        )

    @property
    def is_from_elsewhere(self) -> bool:
        """Whether its id is none of ours, so that one is made for it."""
        return not (isinstance(self.id, str) and is_id(self.id))

    def versions(self, category: str, now: datetime) -> list[Memory]:
        """Every version, the present one last, under the id that the memory will have here."""
        id_ = self._own_id()
        return [version.memory(id_, category, now) for version in (*self.earlier, self)]

    def _own_id(self) -> MemoryId:
        """The id if it is one of ours; else one made from the record.

        The same record gives the same id, so that importing a file again adds nothing, not even
        what was deleted or changed since.
        """
        if not self.is_from_elsewhere:
            return MemoryId(self.id)
        key = json.dumps([self.id, self.content]).encode()
        return ids.derived(hashlib.blake2b(key, digest_size=8).digest())


def is_id(text: str) -> bool:
    """Whether a text is a whole memory id, as stored."""
    return len(text) == ids.LENGTH and set(text) <= set(ids.ALPHABET)


def read(value: object) -> HeaderRecord | LinkRecord | SecretRecord | MemoryRecord:
    """The record that a line of JSON holds.

    Raises:
        InvalidRecord: it holds none; the first thing that is wrong is named.
    """
    if not isinstance(value, dict):
        raise InvalidRecord("the line is not a JSON object", hint=_HINT)
    model = _MODELS.get(str(value.get("record")), MemoryRecord)
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        problem = exc.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, problem["loc"]))
        message = problem["msg"][:1].lower() + problem["msg"][1:]
        raise InvalidRecord(f"{where}: {message}", hint=_HINT) from exc


_MODELS: dict[str, type[HeaderRecord | LinkRecord | SecretRecord | MemoryRecord]] = {
    "bearinmind-export": HeaderRecord,
    "link": LinkRecord,
    "secret": SecretRecord,
}
_HINT = 'A record is one JSON object on one line with at least {"content": "..."}.'


def _fields(memory: Memory) -> dict[str, Any]:
    origin = memory.provenance
    return {
        "content": memory.content,
        "category": memory.category,
        "tags": memory.tags,
        "keywords": memory.keywords,
        "importance": memory.importance,
        "sensitive": memory.sensitive,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "deleted_at": memory.deleted_at,
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "agent": origin.agent,
        "session": origin.session,
        "project": origin.project,
        "source": origin.source,
        "trust": origin.trust,
        "version": memory.version,
    }
