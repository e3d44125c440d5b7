"""The rules by which every store takes states that it receives, and knows purged versions again.

A purge holds for the versions that were known where it was made. A version that was written
elsewhere meanwhile is another one, and two sealed versions may differ in nothing but their secret:
so a mark also names the key and the fingerprint of the sealed text. Under another key the
fingerprint is another one, and says nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from bearinmind.changes import (
    ConflictState,
    LinkState,
    Refused,
    ShareState,
    Stale,
    Subject,
    SubjectKind,
    Taken,
    Verdict,
    conflict_subject,
    digest,
    is_same_version,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.errors import InvalidChange, MindError
from bearinmind.protocols import Gone, History, Received, Sealed
from bearinmind.types import Decider, Link, LinkKind, UserId

Noted = dict[Subject, tuple[str, ...]]  #: what changed, in order; of a purged memory its digests


NAME_LIMIT = 100  # characters of the thing and of the aspect that a judgement names
EVIDENCE_LIMIT = 5  # texts of a judgement
TEXT_LIMIT = 200  # characters of each of them

_BETWEEN = ":"  # the parts of a mark
_FINGERPRINT = 8  # bytes of it
_SHOWN = 200  # characters of a name that an error repeats


class Receipts:
    """Says which of the received states are taken, and what is to be numbered for it.

    Whether a thing changed meanwhile goes by the numbers from before all of them: what one of them
    brings about, such as a purge that ends links, does not make the others stale.
    """

    def __init__(self, numbers: Mapping[Subject, int]) -> None:
        self._before = numbers
        self._verdicts: list[tuple[Subject, Callable[[int], Verdict]]] = []  # by the new number
        self._pending: dict[Subject, bool] = {}  # of what was taken: whether it has a new number
        self._noted: dict[Subject, tuple[str, ...] | None] = {}  # None: settled

    def is_stale(self, received: Received) -> bool:
        """Whether a subject has another number than the sender of its state knew."""
        if self._pending.get(received.subject):
            return True  # it was taken a moment ago, and nobody knows its new number yet
        before = self._before.get(received.subject, 0)
        return received.expected != (0 if received.subject in self._pending else before)

    def stale(self, received: Received) -> None:
        """Refuse a state whose subject has another number by now."""
        self._verdicts.append((received.subject, Stale))

    def refuse(self, received: Received, error: MindError) -> None:
        """Refuse a state that cannot be taken as it is."""
        self._verdicts.append((received.subject, lambda _: Refused(error)))

    def take(
        self, received: Received, gone: Sequence[str] = (), besides: Sequence[Subject] = ()
    ) -> None:
        """Take a state; `besides` changed with it, as the links of a purged memory do."""
        self._verdicts.append((received.subject, Taken))
        self._pending[received.subject] = not received.settled
        self._note(received.subject, None if received.settled else tuple(gone))
        for subject in besides:
            self._note(subject, ())

    def _note(self, subject: Subject, gone: tuple[str, ...] | None) -> None:
        self._noted.pop(subject, None)  # its place is that of its last change
        self._noted[subject] = gone

    @property
    def noted(self) -> Noted:
        """The changes that get the next numbers."""
        return {subject: gone for subject, gone in self._noted.items() if gone is not None}

    @property
    def settled(self) -> list[Subject]:
        """The subjects that lose their numbers."""
        return [subject for subject, gone in self._noted.items() if gone is None]

    def verdicts(self, given: Mapping[Subject, int]) -> list[Verdict]:
        """A verdict for each, once the next numbers were given."""
        after = {**self._before, **dict.fromkeys(self.settled, 0), **given}
        return [verdict(after.get(subject, 0)) for subject, verdict in self._verdicts]


def versions_kept(present: History, received: History) -> int:
    """How many versions stay as they are when a history takes the place of another.

    Those that both begin with, the last of them only if it ends at the same moment in both.
    """
    common = _common(present, received)
    if common == len(present.versions):
        return common
    after = received.versions[common : common + 1]
    ends_alike = bool(after) and after[0].updated_at == present.versions[common].updated_at
    return common if ends_alike else max(common - 1, 0)


def last_kept(history: History, kept: int) -> int:
    """The number of the last version of those that stay; 0 when none does."""
    return history.versions[kept - 1].version if kept else 0


def _common(present: History, received: History) -> int:
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
    for version, key, text in map(_parts, purged):
        known[version].setdefault(key, set()).add(text)
    return all(
        version in known and text in known[version].get(key, {text})
        for version, key, text in map(_parts, marks(history))
    )


def _parts(mark: str) -> tuple[str, str, str]:
    """The digest of a version, the key and the fingerprint of what it sealed."""
    version, _, sealed = mark.partition(_BETWEEN)
    key, _, text = sealed.rpartition(_BETWEEN)
    return version, key, text


# ---- states that cannot be ----------------------------------------------------------------------


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
    of_person = link.kind is LinkKind.SUPERSEDES and judgement.by is Decider.PERSON
    if link.kind is not LinkKind.OUTDATES and not of_person:
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
