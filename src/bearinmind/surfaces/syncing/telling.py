"""From the nouns of syncing to what is sent."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from bearinmind.changes import (
    ConflictState,
    LinkState,
    Refused,
    ShareState,
    Stale,
    Subject,
    Taken,
    Verdict,
)
from bearinmind.errors import InvalidChange, MindError
from bearinmind.protocols import Gone, History, Sealed, SubjectState
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.syncing import wire as w
from bearinmind.sync.transport import Arrived, Operation, Pulled, SharedMemories, SharedPage
from bearinmind.types import Link, Memory, MemoryId, Share, UserId

if TYPE_CHECKING:  # numpy
    from bearinmind.protocols import Vector

HALF = "<f2"  #: float16, little-endian


def page(pulled: Pulled, user: UserId) -> w.PullAnswer:
    """A stretch of a server's changes."""
    return w.PullAnswer.model_construct(
        user=user,
        epoch=pulled.epoch,
        changes=[change(each) for each in pulled.changes],
        cursor=pulled.cursor,
        more=pulled.more,
        vectors=[_vector(id, *found) for id, found in pulled.vectors.items()],
    )


def change(arrived: Arrived) -> w.SyncChange:
    """A change of a server."""
    return w.SyncChange.model_construct(
        subject=_subject(arrived.subject), number=arrived.number, state=_state(arrived.state)
    )


def operation(asked: Operation) -> w.SyncOperation:
    """A change that a replica asks for."""
    return w.SyncOperation.model_construct(
        subject=_subject(asked.subject), base=asked.base, state=_state(asked.state)
    )


def verdicts(found: Sequence[Verdict], user: UserId) -> w.PushAnswer:
    """What became of operations; messages quote what they refuse, so secrets are masked."""
    return w.PushAnswer.model_construct(user=user, verdicts=[_verdict(each) for each in found])


def shared(found: SharedPage, user: UserId) -> w.SharedAnswer:
    """A page of what others share with a user."""
    return w.SharedAnswer.model_construct(
        user=user,
        unchanged=found.unchanged,
        seen=[
            w.SyncSeen.model_construct(
                owner=each.owner,
                memory=each.id,
                version=each.version,
                updated_at=each.updated_at,
                right=each.right,
            )
            for each in found.seen
        ],
        cursor=found.cursor,
    )


def shared_memories(found: SharedMemories, owner: UserId, user: UserId) -> w.SharedMemoriesAnswer:
    """Memories that an owner shares with a user."""
    return w.SharedMemoriesAnswer.model_construct(
        user=user,
        owner=owner,
        settled=found.settled,
        memories=[
            w.SyncSharedMemory.model_construct(memory=each.id, version=_version(each))
            for each in found.memories
        ],
        vectors=[_vector(id, *carried) for id, carried in found.vectors.items()],
    )


# ---- the parts ---------------------------------------------------------------------------------


def _subject(subject: Subject) -> w.SyncSubject:
    return w.SyncSubject.model_construct(kind=subject.kind.value, name=[*subject.parts])


def _state(state: SubjectState) -> w.SyncState:
    match state:
        case History():
            return w.SyncHistory.model_construct(
                what="history",
                versions=[_version(each) for each in state.versions],
                secrets=[_secret(each) for each in state.sealed],
            )
        case Gone():
            return w.SyncGone.model_construct(what="gone", digests=[*state.digests])
        case LinkState():
            links = [_link(each) for each in state.links]
            return w.SyncLinks.model_construct(what="links", links=links)
        case ShareState():
            share = None if state.share is None else _share(state.share)
            return w.SyncShared.model_construct(what="share", share=share)
        case ConflictState():
            return _contradiction(state)


def _version(memory: Memory) -> w.SyncVersion:
    origin = memory.provenance
    return w.SyncVersion.model_construct(
        content=memory.content,
        category=memory.category,
        tags=[*memory.tags],
        keywords=[*memory.keywords],
        importance=memory.importance,
        sensitive=memory.sensitive,
        created_at=memory.created_at,
        updated_at=memory.updated_at,
        deleted_at=memory.deleted_at,
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        agent=origin.agent,
        session=origin.session,
        project=origin.project,
        source=origin.source,
        trust=origin.trust,
        version=memory.version,
    )


def _secret(sealed: Sealed) -> w.SyncSecret:
    return w.SyncSecret.model_construct(
        version=sealed.version,
        owner=sealed.owner,
        key_id=sealed.key_id,
        nonce=_base64(sealed.nonce),
        ciphertext=_base64(sealed.ciphertext),
        fingerprint=_base64(sealed.fingerprint),
    )


def _link(link: Link) -> w.SyncLink:
    return w.SyncLink.model_construct(
        source=link.source,
        target=link.target,
        kind=link.kind,
        created_at=link.created_at,
        removed_at=link.removed_at,
    )


def _share(share: Share) -> w.SyncShare:
    return w.SyncShare.model_construct(
        reader=share.reader,
        right=share.right,
        memory=share.memory,
        tag=share.tag,
        created_at=share.created_at,
        ended_at=share.ended_at,
    )


def _contradiction(state: ConflictState) -> w.SyncContradiction:
    found = state.conflict
    if found is None:
        raise InvalidChange("a conflict that is not known cannot be told")
    return w.SyncContradiction.model_construct(
        what="conflict", detail=found.detail, at=found.at, resolved_at=found.resolved_at
    )


def _vector(id: MemoryId, digest: str, vector: Vector) -> w.SyncVector:
    return w.SyncVector.model_construct(
        memory=id, digest=digest, values=_base64(vector.astype(HALF).tobytes())
    )


def _verdict(verdict: Verdict) -> w.SyncVerdict:
    match verdict:
        case Taken(number):
            return _told("taken", number)
        case Stale(number):
            return _told("stale", number)
        case Refused(error):
            return _told("refused", None, error)


def _told(
    said: Literal["taken", "stale", "refused"],
    number: int | None,
    error: MindError | None = None,
) -> w.SyncVerdict:
    return w.SyncVerdict.model_construct(
        verdict=said,
        number=number,
        code=error.code if error else None,
        message=masked(error.message) if error else None,
        hint=error.hint if error else None,
    )


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
