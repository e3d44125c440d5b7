"""The nouns of syncing that stores keep: what changed, under which number, and its present state.

And the rules by which every store takes states of others, and knows purged versions again.

A store that takes part numbers the changes of a scope; each thing that can change (a memory, a
link, a share, a conflict) is kept once, under the number of its last change. Replicas ask a server
for these numbers, and a replica must have seen the last one before it may change a thing. On a
replica they name what the server does not have yet.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from enum import StrEnum
from operator import attrgetter
from typing import NamedTuple

from bearinmind.errors import InvalidChange, MindError
from bearinmind.types import (
    Decider,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Resolution,
    Share,
    UserId,
)

MOST_CONFLICTS = 100_000  # between machines, that are read together
_as_json = json.JSONEncoder(ensure_ascii=False).encode  # `dumps` would make one for every text


class SubjectKind(StrEnum):
    """What can change."""

    MEMORY = "memory"  #: named by its id
    LINK = "link"  #: named by its source, kind and target
    SHARE = "share"  #: named by its reader and what is shared
    CONFLICT = "conflict"  #: named by its kind, what it is about and both versions


class Subject(NamedTuple):
    """One thing that can change; its name is a JSON list of texts."""

    kind: SubjectKind
    name: str

    @property
    def parts(self) -> tuple[str, ...]:
        """What the name is made of."""
        return tuple(json.loads(self.name))

    @property
    def is_sound(self) -> bool:
        """Whether such a thing can have this name, and it is spelled as we spell it."""
        try:
            parts = json.loads(self.name)
        except (ValueError, RecursionError):
            return False
        if not isinstance(parts, list) or not all(isinstance(x, str) for x in parts):
            return False
        if self.kind is SubjectKind.CONFLICT:
            return _names_conflict(parts) and _subject(self.kind, *parts) == self
        if self.kind is SubjectKind.MEMORY:
            fits = len(parts) == 1
        else:
            middle = [*LinkKind] if self.kind is SubjectKind.LINK else ["memory", "tag"]
            fits = len(parts) == 3 and parts[1] in middle  # noqa: PLR2004 (as they are made below)
        return fits and all(parts) and _subject(self.kind, *parts) == self

    @property
    def label(self) -> str:
        """What it is, for people."""
        if self.kind is SubjectKind.CONFLICT:
            _, kind, name, *_ = self.parts
            return f"{self.kind} about {Subject(SubjectKind(kind), name).label}"
        return f"{self.kind} {' '.join(self.parts)}"


def _names_conflict(parts: list[str]) -> bool:
    """Whether a conflict can have this name; versions that it does not have are empty.

    One of decisions is about a link, and has a word of each in their place.
    """
    if len(parts) != 5 or parts[0] not in {*ConflictKind}:  # noqa: PLR2004 (as they are made below)
        return False
    conflict, kind, name, *words = parts
    if conflict == ConflictKind.DECIDED and (kind != SubjectKind.LINK or {*words} - {*Resolution}):
        return False
    about = Subject(SubjectKind(kind), name) if kind in {*SubjectKind} else None
    return about is not None and about.kind is not SubjectKind.CONFLICT and about.is_sound


def memory_subject(id: MemoryId) -> Subject:
    """A memory: every version of it."""
    return _subject(SubjectKind.MEMORY, id)


def link_subject(source: MemoryId, kind: LinkKind, target: MemoryId) -> Subject:
    """A link between two memories, whether it exists now or not."""
    return _subject(SubjectKind.LINK, source, kind, target)


def share_subject(reader: UserId, memory: MemoryId | None, tag: str | None) -> Subject:
    """A share with a reader, whether it exists now or not."""
    what = ("memory", memory) if memory is not None else ("tag", tag or "")
    return _subject(SubjectKind.SHARE, reader, *what)


def conflict_subject(conflict: SyncConflict) -> Subject:
    """A conflict between two replicas, whether it is decided or not."""
    about, versions = conflict.subject, (conflict.served, conflict.other)
    return _subject(SubjectKind.CONFLICT, conflict.kind, about.kind, about.name, *versions)


def _subject(kind: SubjectKind, *parts: str) -> Subject:
    return Subject(kind, _as_json(parts))


class Change(NamedTuple):
    """The last change of a thing, under its number."""

    subject: Subject
    number: int
    #: Of a memory that was purged: the digests of every version that it had.
    gone: tuple[str, ...] = ()
    refused: str | None = None  #: why the server does not take it, on a replica


def digest(memory: Memory) -> str:
    """The hash of a version, the same in every store, under whatever number it is kept there.

    It does not hash the secret of a sensitive version: two of one digest are the same only if
    their sealed records are equal too.
    """
    values = [*map(_plain, _hashed(memory))]
    return hashlib.sha256(_as_json(values).encode()).hexdigest()[:32]


def is_same_version(one: Memory, other: Memory) -> bool:
    """Whether two versions have the same digest; comparing them first is much quicker."""
    return one == other or digest(one) == digest(other)


#: All of a version but its number, which may differ from store to store, and its owner.
_hashed = attrgetter(
    *(x.name for x in fields(Memory) if x.name not in {"owner", "version", "provenance"}),
    *(f"provenance.{x.name}" for x in fields(Provenance)),
)


def _plain(value: object) -> object:
    """A value of a field as JSON can hold it, the same for equal values."""
    if isinstance(value, datetime):
        in_utc = value if value.tzinfo is UTC else value.astimezone(UTC)
        return in_utc.isoformat(timespec="microseconds")
    return float(value) if type(value) is int else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """The numbering of the changes of a scope."""

    epoch: str  #: another one when the numbering began anew: numbers of two are never compared
    head: int  #: the number of the last change


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """The server with which a replica syncs, and how far it has come."""

    url: str
    user: UserId  #: who the replica is there
    epoch: str = ""  #: of the server's feed; empty before the first pull
    cursor: int = 0  #: up to which number of it everything was taken
    pulled_at: datetime | None = None
    pushed_at: datetime | None = None
    pull_error: str | None = None  #: why the last attempt failed, if it did
    push_error: str | None = None
    shared_at: datetime | None = None  #: when it was last looked at what others share
    shared_error: str | None = None


class ConflictKind(StrEnum):
    """How two replicas contradicted each other."""

    EDITED = "edited"  #: both changed the same part of a memory
    PURGED = "purged"  #: one purged what the other changed; it is kept
    LINKED = "linked"  #: a link that another one makes impossible; it is dropped
    DECIDED = "decided"  #: both decided about two memories, neither knowing of the other


class SyncConflict(NamedTuple):
    """A conflict between two replicas; both versions are in the history.

    Of two decisions `served` is the later one, as a word about the first memory of the link.
    """

    number: int  #: 0 before it is kept
    kind: ConflictKind
    subject: Subject
    served: str  #: the digest of the version that is served; empty for a link
    other: str  #: the digest of the one that is not
    detail: str  #: which fields, or why
    at: datetime
    resolved_at: datetime | None = None

    @property
    def pair(self) -> frozenset[str]:
        """The two memories that were decided about; of other conflicts none."""
        return frozenset(self.subject.parts[::2] if self.kind is ConflictKind.DECIDED else ())

    def joined(self, other: SyncConflict) -> SyncConflict:
        """One conflict as two sides know it: the later state, decided if either is."""
        if self.at != other.at:
            return max(self, other, key=lambda conflict: conflict.at)
        ends = [x.resolved_at for x in (self, other) if x.resolved_at is not None]
        return self._replace(resolved_at=min(ends, default=None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """The content of a sensitive memory from one version on, encrypted and bound to its place."""

    owner: UserId
    id: MemoryId
    version: int
    key_id: str  #: which key opens it
    nonce: bytes
    ciphertext: bytes
    fingerprint: bytes  #: equal for equal texts of an owner; tells nothing without the key


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """A memory as it travels between stores: every version, the present one last."""

    versions: tuple[Memory, ...]
    sealed: tuple[Sealed, ...] = ()  #: what its sensitive versions say


class Gone(NamedTuple):
    """A memory that was purged, or never was."""

    digests: tuple[str, ...] = ()  #: that identify its versions


class ConflictState(NamedTuple):
    """The state of a conflict, if it is known; each store gives it a number of its own."""

    conflict: SyncConflict | None


class LinkState(NamedTuple):
    """Every link there ever was between two memories, of one kind, oldest first."""

    links: tuple[Link, ...]


class ShareState(NamedTuple):
    """The share that holds, if one does."""

    share: Share | None


SubjectState = History | Gone | LinkState | ShareState | ConflictState


class Received(NamedTuple):
    """A state that a subject is to have."""

    subject: Subject
    state: SubjectState
    expected: int  #: the number that it must have here; 0: it never changed or is not pending
    settled: bool = False  #: the server has exactly this state already (a replica)
    peer_number: int | None = None  #: the number that it has on the server (a replica)
    conflict: SyncConflict | None = None  #: to be kept and sent with it


class Settled(NamedTuple):
    """A change of a replica that its server has taken."""

    subject: Subject
    number: int  #: under which it was pending here
    peer_number: int  #: that it has there now


class Taken(NamedTuple):
    """A change was taken; its thing has this number now."""

    number: int


class Stale(NamedTuple):
    """A change was not taken: its thing has another number than the sender knew."""

    number: int


class Refused(NamedTuple):
    """A change was not taken, and will not be as it is."""

    error: MindError


Verdict = Taken | Stale | Refused


# ---- histories ----------------------------------------------------------------------------------


def versions_kept(present: History, received: History) -> int:
    """How many versions stay as they are when a history takes the place of another.

    Those that both begin with, the last of them only if it ends at the same moment in both.
    """
    common = _common_length(present, received)
    if common == len(present.versions):
        return common
    after = received.versions[common : common + 1]
    ends_alike = bool(after) and after[0].updated_at == present.versions[common].updated_at
    return common if ends_alike else max(common - 1, 0)


def last_kept(history: History, kept: int) -> int:
    """The number of the last version of those that stay; 0 when none does."""
    return history.versions[kept - 1].version if kept else 0


def _common_length(present: History, received: History) -> int:
    """How many versions both begin with, their sealed records included."""
    sealed, arrived = ({x.version: x for x in each.sealed} for each in (present, received))
    count = 0
    for old, new in zip(present.versions, received.versions, strict=False):
        if old.version != new.version or not is_same_version(old, new):
            break
        if sealed.get(old.version) != arrived.get(new.version):
            break
        count += 1
    return count


# ---- purged versions ----------------------------------------------------------------------------

# A purge holds for the versions that were known where it was made. A version that was written
# elsewhere meanwhile is another one, and two sealed versions may differ in nothing but their
# secret: so a mark also names the key and the fingerprint of the sealed text. Under another key
# the fingerprint is another one, and says nothing.

_BETWEEN = ":"  # the parts of a mark
_FINGERPRINT = 8  # bytes of it


def marks(history: History) -> tuple[str, ...]:
    """One for each version of a memory, oldest first."""
    records = {record.version: record for record in history.sealed}
    marked: list[str] = []
    record: Sealed | None = None  # a version without one has the text of the version before
    for memory in history.versions:
        record = records.get(memory.version, record)
        parts = [digest(memory)]
        if memory.sensitive and record is not None:
            parts += [record.key_id, record.fingerprint[:_FINGERPRINT].hex()]
        marked.append(_BETWEEN.join(parts))
    return tuple(marked)


def covers(purged: Iterable[str], history: History) -> bool:
    """Whether these marks name every version of a memory."""
    known: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
    for version, key, text in map(_parts_of, purged):
        known[version].setdefault(key, set()).add(text)
    return all(
        version in known and text in known[version].get(key, {text})
        for version, key, text in map(_parts_of, marks(history))
    )


def _parts_of(mark: str) -> tuple[str, str, str]:
    """The digest of a version, the key and the fingerprint of what it sealed."""
    version, _, sealed = mark.partition(_BETWEEN)
    key, _, text = sealed.rpartition(_BETWEEN)
    return version, key, text


# ---- states that cannot be ----------------------------------------------------------------------

NAME_LIMIT = 100  # characters of the thing and of the aspect that a judgement names
EVIDENCE_LIMIT = 5  # texts of a judgement
TEXT_LIMIT = 200  # characters of each of them
_SHOWN = 200  # characters of a name that an error repeats


def flaw_of(owner: UserId, received: Received) -> InvalidChange | None:
    """Why a state cannot be that of its subject, if it cannot."""
    kind, state = received.subject.kind, received.state
    if not received.subject.is_sound:
        flaw: str | None = "cannot have that name"
    elif kind is SubjectKind.MEMORY and isinstance(state, History):
        flaw = _flaw_of_history(owner, received.subject, state)
    elif kind is SubjectKind.MEMORY and isinstance(state, Gone):
        flaw = None
    elif kind is SubjectKind.LINK and isinstance(state, LinkState):
        flaw = _flaw_of_links(received.subject, state)
    elif kind is SubjectKind.SHARE and isinstance(state, ShareState):
        flaw = _flaw_of_share(owner, received.subject, state)
    elif kind is SubjectKind.CONFLICT and isinstance(state, ConflictState):
        flaw = _flaw_of_conflict(received.subject, state)
    else:
        flaw = f"is given a {type(state).__name__}"
    return InvalidChange(f"the {kind} {received.subject.name[:_SHOWN]} {flaw}") if flaw else None


def _flaw_of_history(owner: UserId, subject: Subject, state: History) -> str | None:
    numbers = [memory.version for memory in state.versions]
    if not numbers or numbers[0] < 1 or numbers != sorted({*numbers}):
        return f"has versions numbered {numbers[:20]}, which do not rise from 1 or more"
    ids = {x.id for x in state.versions} | {x.id for x in state.sealed}
    if {*map(memory_subject, ids)} != {subject}:
        return "is given versions of another memory"
    sealed = [record.version for record in state.sealed]
    if len({*sealed}) < len(sealed) or not {*sealed} <= {*numbers}:
        return f"has sealed records for its versions {sealed[:20]}, and not each has one of these"
    others = [record.owner for record in state.sealed if record.owner != owner]
    if others:
        return f"is sealed for {others[0]!r}, not for {owner!r}"
    return None


def _flaw_of_links(subject: Subject, state: LinkState) -> str | None:
    if any(link_subject(x.source, x.kind, x.target) != subject for x in state.links):
        return "is given links between other memories"
    if len({link.removed_at for link in state.links}) < len(state.links):
        return "is there twice at the same time"
    source, _, target = subject.parts
    if source == target:
        return "links a memory to itself"
    flaws = (flaw_of_judgement(link) for link in state.links)
    return next((f"is given a judgement that {flaw}" for flaw in flaws if flaw), None)


def flaw_of_judgement(link: Link) -> str | None:
    """Why a link cannot have its judgement, if it cannot; wherever the link comes from."""
    judgement = link.judgement
    if judgement is None:
        return None
    is_decided = judgement.by in (Decider.AGENT, Decider.PERSON)
    if link.kind is not LinkKind.OUTDATES and not (link.kind is LinkKind.SUPERSEDES and is_decided):
        return f"only links of the kind {LinkKind.OUTDATES} have, not {link.kind}"
    if not 0 <= judgement.probability <= 1:
        return f"has the probability {judgement.probability}, which is not between 0 and 1"
    evidence = judgement.evidence
    if len(evidence) > EVIDENCE_LIMIT:
        return f"has {len(evidence):,} pieces of evidence; at most {EVIDENCE_LIMIT} are kept"
    names = [("a thing", judgement.thing), ("an aspect", judgement.aspect)]
    texts = [(what, text, NAME_LIMIT) for what, text in names]
    texts += [("evidence", text, TEXT_LIMIT) for text in evidence]
    for what, text, limit in texts:
        if len(text) > limit:
            return f"has {what} of {len(text):,} characters; at most {limit} are kept"
    return None


def _flaw_of_share(owner: UserId, subject: Subject, state: ShareState) -> str | None:
    share = state.share
    if share is None:
        return None
    if share_subject(share.reader, share.memory, share.tag) != subject:
        return "is given another share"
    if share.reader == owner:
        return f"shares with {owner!r}, whose memories these are"
    return "is given a share that has ended" if share.ended_at else None


def _flaw_of_conflict(subject: Subject, state: ConflictState) -> str | None:
    if state.conflict is None:
        return "is given no conflict"
    return None if conflict_subject(state.conflict) == subject else "is given another conflict"
