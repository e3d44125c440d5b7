"""What becomes of what a turn teaches: known, stored, or proposed. Nothing is ever overwritten."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bearinmind import ids, requests
from bearinmind.config import Settings
from bearinmind.curate.deciding import Decision, What, decide
from bearinmind.errors import WorkFailure
from bearinmind.learn import rules
from bearinmind.learn.configured import ConfiguredReader
from bearinmind.learn.turns import (
    CATEGORIES,
    Candidate,
    Learned,
    Message,
    Mode,
    Reading,
    Refusal,
    Refused,
    Taken,
)
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.protocols import Store
from bearinmind.remember import once
from bearinmind.remember.pipeline import Remember
from bearinmind.remember.secrets import find, masked
from bearinmind.requests import DraftFields
from bearinmind.types import Draft, Memory, MemoryId, Scope, Stored, Trust

ORIGIN = "learning"
SOURCE = "turn"
TAG = "learned"
_NEIGHBOURS = 8  # memories that a new one is compared with
_LONGEST_SHOWN = 200  # characters of a sentence that is not kept
# A name and a password before a host, which nobody calls a secret in so many words.
_LOGIN = re.compile(r"\S:\S+@\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a turn was said."""

    agent: str | None = None
    session: str | None = None
    project: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """Learns from one turn for one user."""

    store: Store
    scope: Scope
    settings: Settings
    clock: Callable[[], datetime]
    remember: Remember
    nearest: Callable[[str, int], Sequence[Memory]]  #: to a text, the nearest first
    reader: ConfiguredReader
    origin: Origin
    dry_run: bool

    def __call__(self, messages: Sequence[Message]) -> Learned:
        """What a turn teaches, and what became of it."""
        mode = Mode(self.settings.learn)
        if mode is Mode.OFF:
            note = "learning is off: nothing was read (setting `learn`)"
            return Learned(mode=mode, read_by="nobody", dry_run=self.dry_run, notes=(note,))
        reading, read_by, notes = self._read(messages, mode)
        learned = Learned(mode=mode, read_by=read_by, dry_run=self.dry_run, notes=notes)
        refused = [_shown(each) for each in reading.refused]
        for candidate in reading.candidates:
            reason = self._refusal(candidate)
            if reason is None:
                learned = self._take(candidate, learned)
            else:
                refused.append(_shown(Refused(said=candidate.said, reason=reason)))
        return replace(learned, refused=tuple(refused))

    # ---- reading -------------------------------------------------------------------------------

    def _read(
        self, messages: Sequence[Message], mode: Mode
    ) -> tuple[Reading, str, tuple[str, ...]]:
        """What was found, who has read, and what went otherwise than it should."""
        by_rules = rules.read(messages)
        if mode is not Mode.MODEL:
            return by_rules, "rules", ()
        try:
            return self._read_by_model(messages, by_rules)
        except WorkFailure as exc:
            return by_rules, "rules", (f"rules alone have read: {masked(exc.message)}",)

    def _read_by_model(
        self, messages: Sequence[Message], by_rules: Reading
    ) -> tuple[Reading, str, tuple[str, ...]]:
        from bearinmind.learn.model import readable  # noqa: PLC0415  only where a model reads

        reader = self.reader.configured()
        if reader is None:  # for the type checker: the mode says that there is one
            return by_rules, "rules", ()
        turn = readable(messages, _is_secret)
        if not turn:
            return by_rules, "rules", ()
        if reader.knows(turn):
            return by_rules, "rules", (f"{reader.name} has read this turn before",)
        by_model = reader.read(turn, keep=not self.dry_run)
        said = {each.said.casefold() for each in by_rules.candidates}
        more = [each for each in by_model.candidates if each.said.casefold() not in said]
        return (
            Reading(
                candidates=(*by_rules.candidates, *more),
                refused=(*by_rules.refused, *by_model.refused),
            ),
            f"rules and {reader.name}",
            (),
        )

    # ---- judging -------------------------------------------------------------------------------

    def _refusal(self, candidate: Candidate) -> Refusal | None:
        if _is_secret(candidate.said) or _is_secret(candidate.text):
            return Refusal.SECRET
        if len(candidate.text) > self.settings.content_limit:
            return Refusal.LONG
        return None

    def _take(self, candidate: Candidate, learned: Learned) -> Learned:
        """What was learned so far, and this."""
        fields = self._fields(candidate)
        draft = requests.draft(candidate.text, fields, self.settings)
        self.remember.boundary.refuse_in_clear_fields(draft)
        taken = Taken(text=candidate.text, lesson=candidate.lesson, category=draft.category)
        before = self._before(candidate)
        if before is not None:
            known = replace(taken, id=before, reason="it was learned from this turn before")
            return replace(learned, known=(*learned.known, known))
        decision = self._decide(draft)
        if decision.kind is What.NOOP and decision.memory is not None:
            known = replace(taken, id=decision.memory.id, reason=decision.reason)
            return replace(learned, known=(*learned.known, known))
        is_sure = candidate.sure and learned.mode is not Mode.INBOX
        if decision.kind is What.ADD and is_sure:
            return self._stored(draft, candidate, taken, learned)
        return self._proposed(fields, decision, candidate, taken, learned)

    def _decide(self, draft: Draft) -> Decision:
        """What is to be done with a draft, beside what is known for its project or for all."""
        project = draft.provenance.project
        near = [
            each
            for each in self.nearest(draft.content, _NEIGHBOURS)
            if each.owner == self.scope.user and each.provenance.project in (project, None)
        ]
        decision = decide(draft.content, draft.category, near)
        memory = decision.memory
        if memory is None or decision.kind is What.NOOP or memory.provenance.project == project:
            return decision
        # What holds for one project does not end what holds for all.
        return Decision(What.ADD, None, decision.reason)

    def _before(self, candidate: Candidate) -> MemoryId | None:
        """The memory that was made of this sentence of this turn before, whatever became of it."""
        id_ = once.id_of(self.scope.user, self._key(candidate))
        return id_ if self.store.versions(self.scope, id_) else None

    # ---- keeping -------------------------------------------------------------------------------

    def _stored(
        self, draft: Draft, candidate: Candidate, taken: Taken, learned: Learned
    ) -> Learned:
        if self.dry_run:
            return replace(learned, stored=(*learned.stored, taken))
        outcome = self.remember.add(self.scope, draft, idempotency_key=self._key(candidate))
        kept = replace(taken, id=outcome.memory.id)
        if isinstance(outcome, Stored):
            return replace(learned, stored=(*learned.stored, kept))
        return replace(learned, known=(*learned.known, replace(kept, reason="it is known")))

    def _proposed(
        self,
        fields: DraftFields,
        decision: Decision,
        candidate: Candidate,
        taken: Taken,
        learned: Learned,
    ) -> Learned:
        proposal = self._proposal(fields, decision, candidate)
        taken = replace(taken, reason=_why_not_stored(candidate, decision))
        if not self.dry_run:
            made = self.store.propose(self.scope, [proposal])
            if not made:
                again = replace(taken, id=proposal.id, reason="it was proposed before")
                return replace(learned, known=(*learned.known, again))
            taken = replace(taken, id=made[0].id)
        return replace(learned, proposed=(*learned.proposed, taken))

    def _proposal(self, fields: DraftFields, decision: Decision, candidate: Candidate) -> Proposal:
        """The same lesson of the same project is the same proposal, whoever taught it when."""
        memories = () if decision.memory is None else (decision.memory.id,)
        is_update = decision.kind is What.UPDATE
        said = "\0".join((ORIGIN, self.origin.project or "", candidate.text.casefold(), *memories))
        digest = hashlib.sha256(said.encode(errors="surrogatepass")).digest()
        change = {"content": candidate.text}
        return Proposal(
            id=ids.derived(digest),
            kind=ProposalKind.UPDATE if is_update else ProposalKind.STORE,
            origin=ORIGIN,
            memories=memories,
            reason=_because(candidate, decision),
            evidence={"said": candidate.said, "lesson": candidate.lesson.value},
            change=change if is_update else {**change, **fields},
            digest=digest.hex(),
            created_at=self.clock(),
            state=ProposalState.OPEN,
        )

    # ---- what these are made of ----------------------------------------------------------------

    def _fields(self, candidate: Candidate) -> DraftFields:
        category = CATEGORIES[candidate.lesson]
        if category not in self.settings.categories:
            category = self.settings.categories[0]
        return {
            "category": category,
            "tags": [TAG, candidate.lesson.value],
            "importance": candidate.importance,
            "agent": self.origin.agent,
            "session": self.origin.session,
            "project": self.origin.project,
            "source": SOURCE,
            "trust": Trust(candidate.trust).value,
        }

    def _key(self, candidate: Candidate) -> str:
        """The same for the same sentence of the same session."""
        origin = self.origin
        said = (origin.session or "", origin.project or "", candidate.text.casefold())
        return (
            f"turn-{hashlib.sha256(chr(0).join(said).encode(errors='surrogatepass')).hexdigest()}"
        )


def _is_secret(text: str) -> bool:
    """Whether a text holds a secret, or what might be one: neither is learned."""
    return bool(find(text)) or bool(_LOGIN.search(text))


def _shown(refused: Refused) -> Refused:
    """A sentence that is not kept, fit to be shown."""
    said = _LOGIN.sub("[login]", masked(refused.said))
    reason = Refusal.SECRET if said != refused.said else refused.reason
    return Refused(said=said[:_LONGEST_SHOWN], reason=reason)


def _because(candidate: Candidate, decision: Decision) -> str:
    who = "the user said" if candidate.trust is Trust.USER else "the user agreed"
    more = "" if decision.kind is What.ADD else f" ({decision.reason})"
    return f"a {candidate.lesson} in a turn, {who}: {candidate.text}{more}"


def _why_not_stored(candidate: Candidate, decision: Decision) -> str:
    if decision.kind is not What.ADD:
        return decision.reason
    return "" if candidate.sure else "it may be about this task alone"
