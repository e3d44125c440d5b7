"""From what was sent to the nouns of syncing; whatever is wrong with it is named."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bearinmind import errors
from bearinmind.changes import (
    ConflictKind,
    ConflictState,
    LinkState,
    Refused,
    ShareState,
    Stale,
    Subject,
    SubjectKind,
    SyncConflict,
    Taken,
    Verdict,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.errors import InvalidChange, MindError
from bearinmind.protocols import Gone, History, Sealed, SubjectState
from bearinmind.remember.admit import check_user
from bearinmind.surfaces.records import is_id
from bearinmind.surfaces.syncing import wire as w
from bearinmind.surfaces.syncing.telling import HALF
from bearinmind.sync.transport import (
    Arrived,
    Operation,
    Pulled,
    Seen,
    SharedMemories,
    SharedPage,
)
from bearinmind.types import Link, LinkKind, Memory, MemoryId, Provenance, Share, UserId

if TYPE_CHECKING:  # numpy
    from bearinmind.protocols import Vector

#: What to do about two users that are not the same: secrets are sealed for one name.
OTHER_USER = (
    "Memories are synced between users of the same name. Move yours to that name, then connect "
    "as it: `bearinmind export - | bearinmind --user NAME import -`."
)


def pulled(answer: w.PullAnswer, owner: UserId) -> Pulled:
    """A stretch of a server's changes, as the memories of an owner.

    Raises:
        InvalidChange: something in it cannot be.
    """
    return Pulled(
        epoch=answer.epoch,
        changes=tuple(arrived(each, owner) for each in answer.changes),
        cursor=answer.cursor,
        more=answer.more,
        vectors=_vectors(answer.vectors),
    )


def shared(answer: w.SharedAnswer) -> SharedPage:
    """A page of what others share.

    Raises:
        InvalidChange: something in it cannot be.
    """
    return SharedPage(
        seen=tuple(
            Seen(
                _user(each.owner),
                _id(each.memory),
                each.version,
                _utc(each.updated_at),
                each.right,
            )
            for each in answer.seen
        ),
        cursor=answer.cursor,
        unchanged=answer.unchanged,
    )


def shared_with_ids(asked: w.SharedMemoriesRequest) -> tuple[UserId, list[MemoryId]]:
    """Whose memories a replica asks for, and which.

    Raises:
        InvalidChange: no memory has such an id.
    """
    return UserId(asked.owner), [*map(_id, asked.memories)]


def shared_memories(answer: w.SharedMemoriesAnswer) -> SharedMemories:
    """Memories of another owner.

    Raises:
        InvalidChange: something in it cannot be.
    """
    owner = _user(answer.owner)
    return SharedMemories(
        memories=tuple(_memory(_id(x.memory), x.version, owner) for x in answer.memories),
        settled=answer.settled,
        vectors=_vectors(answer.vectors),
    )


def arrived(change: w.SyncChange, owner: UserId) -> Arrived:
    """A change of a server.

    Raises:
        InvalidChange: it cannot be one.
    """
    subject, state = _checked(change.subject, change.state, owner)
    return Arrived(subject, change.number, state)


def operation(asked: w.SyncOperation, owner: UserId) -> Operation:
    """A change that a replica asks for.

    Raises:
        InvalidChange: it cannot be one.
    """
    subject, state = _checked(asked.subject, asked.state, owner)
    return Operation(subject, asked.base, state)


def verdict(told: w.SyncVerdict, kind_of: Callable[[str], type[MindError] | None]) -> Verdict:
    """What became of an operation; errors are known by their codes.

    Raises:
        InvalidChange: it is no verdict.
    """
    if told.verdict == "refused":
        kind = kind_of(told.code or "") or errors.Conflict
        return Refused(kind(told.message or "the server refuses it", hint=told.hint or ""))
    if told.number is None:
        raise InvalidChange(f"a verdict {told.verdict!r} without a number")
    return Taken(told.number) if told.verdict == "taken" else Stale(told.number)


# ---- a thing and what stands there -------------------------------------------------------------


def _checked(
    subject: w.SyncSubject, state: w.SyncState, owner: UserId
) -> tuple[Subject, SubjectState]:
    """Both, if they belong together."""
    name = subject.name
    match subject.kind, state, name:
        case "memory", w.SyncHistory(), [id]:
            return memory_subject(_id(id)), _history(_id(id), state, owner)
        case "memory", w.SyncGone(), [id]:
            return memory_subject(_id(id)), Gone(tuple(state.digests))
        case "link", w.SyncLinks(), [source, kind, target]:
            return _linked(_id(source), kind, _id(target), state)
        case "share", w.SyncShared(), [reader, "memory", id]:
            return _shared(share_subject(UserId(reader), _id(id), None), state, owner)
        case "share", w.SyncShared(), [reader, "tag", tag]:
            return _shared(share_subject(UserId(reader), None, tag), state, owner)
        case "conflict", w.SyncContradiction(), [kind, about, *rest]:
            return _contradicted(kind, about, rest, state)
    raise InvalidChange(
        f"{subject.kind} {name!r} with a state that is {state.what!r}: they do not go together"
    )


def _history(id: MemoryId, state: w.SyncHistory, owner: UserId) -> History:
    versions = [each.version for each in state.versions]
    if versions != sorted({*versions}):
        raise InvalidChange(f"the versions of memory {id} are not in order: {versions[:20]!r}")
    for secret in state.secrets:
        if secret.owner != owner:
            raise InvalidChange(
                f"memory {id} is sealed for {secret.owner!r}, not for {owner!r}", hint=OTHER_USER
            )
    return History(
        versions=tuple(_memory(id, each, owner) for each in state.versions),
        sealed=tuple(_sealed(id, each, owner) for each in state.secrets),
    )


def _memory(id: MemoryId, version: w.SyncVersion, owner: UserId) -> Memory:
    return Memory(
        id=id,
        owner=owner,
        content=version.content,
        category=version.category,
        tags=tuple(version.tags),
        keywords=tuple(version.keywords),
        importance=version.importance,
        sensitive=version.sensitive,
        created_at=_utc(version.created_at),
        updated_at=_utc(version.updated_at),
        deleted_at=_utc_or_none(version.deleted_at),
        valid_from=_utc_or_none(version.valid_from),
        valid_to=_utc_or_none(version.valid_to),
        provenance=Provenance(
            agent=version.agent,
            session=version.session,
            project=version.project,
            source=version.source,
            trust=version.trust,
        ),
        version=version.version,
    )


def _sealed(id: MemoryId, secret: w.SyncSecret, owner: UserId) -> Sealed:
    return Sealed(
        owner=owner,
        id=id,
        version=secret.version,
        key_id=secret.key_id,
        nonce=_bytes(secret.nonce, "nonce"),
        ciphertext=_bytes(secret.ciphertext, "ciphertext"),
        fingerprint=_bytes(secret.fingerprint, "fingerprint"),
    )


def _linked(
    source: MemoryId, kind: str, target: MemoryId, state: w.SyncLinks
) -> tuple[Subject, LinkState]:
    if kind not in {*LinkKind} or source == target:
        raise InvalidChange(f"there is no link {[source, kind, target]!r}")
    for link in state.links:
        if (link.source, link.kind.value, link.target) != (source, kind, target):
            raise InvalidChange(
                f"a link from {link.source!r} to {link.target!r} under the name of another"
            )
    links = tuple(
        Link(
            source=source,
            target=target,
            kind=LinkKind(kind),
            created_at=_utc(link.created_at),
            removed_at=_utc_or_none(link.removed_at),
        )
        for link in state.links
    )
    return link_subject(source, LinkKind(kind), target), LinkState(links)


def _shared(subject: Subject, state: w.SyncShared, owner: UserId) -> tuple[Subject, ShareState]:
    told = state.share
    if told is None:
        return subject, ShareState(None)
    if share_subject(UserId(told.reader), _id_or_none(told.memory), told.tag) != subject:
        raise InvalidChange(f"a share with {told.reader!r} under the name of another")
    share = Share(
        owner=owner,
        reader=UserId(told.reader),
        right=told.right,
        memory=_id_or_none(told.memory),
        tag=told.tag,
        created_at=_utc(told.created_at),
        ended_at=_utc_or_none(told.ended_at),
    )
    return subject, ShareState(share)


def _contradicted(
    kind: str, about: str, rest: Sequence[str], state: w.SyncContradiction
) -> tuple[Subject, ConflictState]:
    subject = Subject(SubjectKind.CONFLICT, json.dumps([kind, about, *rest], ensure_ascii=False))
    if not subject.is_sound:
        raise InvalidChange(f"there is no conflict {[kind, about, *rest]!r}")
    name, served, other = rest
    conflict = SyncConflict(
        number=0,
        kind=ConflictKind(kind),
        subject=Subject(SubjectKind(about), name),
        served=served,
        other=other,
        detail=state.detail,
        at=_utc(state.at),
        resolved_at=_utc_or_none(state.resolved_at),
    )
    return subject, ConflictState(conflict)


# ---- single values -----------------------------------------------------------------------------


def _id(text: str) -> MemoryId:
    if not is_id(text):
        raise InvalidChange(f"{text!r} is not the id of a memory")
    return MemoryId(text)


def _user(text: str) -> UserId:
    try:
        return check_user(text)
    except errors.InvalidUser as exc:
        raise InvalidChange(exc.message) from None


def _id_or_none(text: str | None) -> MemoryId | None:
    return None if text is None else _id(text)


def _utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidChange(f"the time {moment.isoformat()} is outside the years 1 to 9999") from (
            None
        )


def _utc_or_none(moment: datetime | None) -> datetime | None:
    return None if moment is None else _utc(moment)


def _bytes(text: str, what: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidChange(f"{what} is not in base64") from None


def _vectors(told: Sequence[w.SyncVector]) -> dict[MemoryId, tuple[str, Vector]]:
    return {_id(each.memory): (each.digest, _vector(each)) for each in told}


def _vector(told: w.SyncVector) -> Vector:
    import numpy as np  # noqa: PLC0415  most answers have no vectors

    data = _bytes(told.values, f"the vector of memory {told.memory}")
    if not data or len(data) % 2:
        raise InvalidChange(f"the vector of memory {told.memory} has {len(data)} bytes")
    found = np.frombuffer(data, HALF).astype(np.float32)
    length = float(np.linalg.norm(found))
    if not np.isfinite(length) or length == 0:
        raise InvalidChange(f"the vector of memory {told.memory} has no direction")
    return found / np.float32(length)
