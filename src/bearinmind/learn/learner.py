"""Learns from a turn: each lesson is known, stored or proposed. No memory is overwritten."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from bearinmind.errors import WorkFailure
from bearinmind.learn import rules
from bearinmind.learn.chat_reader import ConfiguredReader, readable
from bearinmind.learn.lasting import Embed
from bearinmind.learn.model import (
    CATEGORIES,
    Candidate,
    Learned,
    LearnedItem,
    Lesson,
    Message,
    Mode,
    Refusal,
    Refused,
    TurnFindings,
)
from bearinmind.proposals import Action, Decision, Proposal, ProposalKind, ProposalState
from bearinmind.protocols import Store
from bearinmind.text import ids
from bearinmind.types import Draft, MayReplace, Memory, MemoryId, Outcome, Scope, Stored, Trust

ORIGIN = "learning"
SOURCE = "turn"
TAG = "learned"
_NEIGHBOURS = 8  # memories that a new one is compared with
_LONGEST_SHOWN = 200  # characters of a sentence that is not kept
# A name and a password before a host: the detection of secrets does not know this form.
_LOGIN = re.compile(r"\S:\S+@\S")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where and when a turn was said."""

    agent: str | None = None
    session: str | None = None
    project: str | None = None
    said_at: datetime | None = None  #: now without it


class LearningStatus(NamedTuple):
    """How learning is set up, and what it has cost today."""

    mode: Mode
    model: str | None  #: that reads turns, if one does
    leaves_machine: bool  #: whether turns are sent to another machine
    spent: int  #: tokens today
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbs:
    """The ordinary verbs of one user."""

    #: A draft of a memory; a secret in its clear fields is refused.
    draft: Callable[[str, Mapping[str, Any]], Draft]
    #: Stores a draft under an idempotency key.
    add: Callable[[Draft, str], Outcome]
    #: The memory that was stored under an idempotency key, deleted or not.
    kept_under: Callable[[str], MemoryId | None]
    #: So many memories, the nearest to a text first.
    nearest: Callable[[str, int], Sequence[Memory]]
    #: What to do with a text of a category, compared with its neighbours.
    decide: Callable[[str, str, Sequence[Memory]], Decision]
    #: The memories that a draft may outdate, the likeliest first.
    may_replace: Callable[[Draft], Sequence[MayReplace]]
    #: A text with its secrets replaced by their kinds.
    masked: Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Learner:
    """Learns from one turn for one user."""

    store: Store
    scope: Scope
    verbs: Verbs
    categories: Sequence[str]  #: that are allowed, the default first
    content_limit: int  #: characters of a memory
    embed: Embed
    mode: Mode
    clock: Callable[[], datetime]
    reader: ConfiguredReader
    origin: Origin
    dry_run: bool

    def __call__(self, messages: Sequence[Message]) -> Learned:
        """The lessons of a turn, and what became of each."""
        if self.mode is Mode.OFF:
            note = "learning is off: nothing was read (setting `learn`)"
            return Learned(mode=self.mode, read_by="nobody", dry_run=self.dry_run, notes=(note,))
        findings, read_by, notes = self._read(messages)
        learned = Learned(mode=self.mode, read_by=read_by, dry_run=self.dry_run, notes=notes)
        refused = [self._shown(sentence) for sentence in findings.refused]
        for candidate in findings.candidates:
            reason = self._refusal(candidate)
            if reason is None:
                learned = self._take(candidate, learned)
            else:
                refused.append(self._shown(Refused(said=candidate.sentence, reason=reason)))
        return replace(learned, refused=tuple(refused))

    def _read(self, messages: Sequence[Message]) -> tuple[TurnFindings, str, tuple[str, ...]]:
        """The candidates of a turn, who read it, and notes about what went wrong."""
        by_rules = rules.read(messages, self.embed)
        if self.mode is not Mode.MODEL:
            return by_rules, "rules", ()
        try:
            return self._read_by_model(messages, by_rules)
        except WorkFailure as exc:
            note = f"only rules have read: {self.verbs.masked(exc.message)}"
            return by_rules, "rules", (note,)

    def _read_by_model(
        self, messages: Sequence[Message], by_rules: TurnFindings
    ) -> tuple[TurnFindings, str, tuple[str, ...]]:
        reader = self.reader.configured()
        if reader is None:  # for the type checker: the mode says that there is one
            return by_rules, "rules", ()
        turn = readable(messages, self._is_secret)
        if not turn:
            return by_rules, "rules", ()
        if reader.knows(turn):
            return by_rules, "rules", (f"{reader.name} has read this turn before",)
        by_model = reader.read(turn, keep=not self.dry_run)
        sentences = {candidate.sentence.casefold() for candidate in by_rules.candidates}
        more = [each for each in by_model.candidates if each.sentence.casefold() not in sentences]
        return (
            TurnFindings(
                candidates=(*by_rules.candidates, *more),
                refused=(*by_rules.refused, *by_model.refused),
            ),
            f"rules and {reader.name}",
            (),
        )

    def _refusal(self, candidate: Candidate) -> Refusal | None:
        if self._is_secret(candidate.sentence) or self._is_secret(candidate.text):
            return Refusal.SECRET
        if len(candidate.text) > self.content_limit:
            return Refusal.LONG
        return None

    def _take(self, candidate: Candidate, learned: Learned) -> Learned:
        """What was learned so far, with this candidate added."""
        fields = self._fields(candidate)
        draft = self.verbs.draft(candidate.text, fields)
        item = LearnedItem(text=candidate.text, lesson=candidate.lesson, category=draft.category)
        before = self.verbs.kept_under(self._key(candidate))
        if before is not None:
            known = replace(item, id=before)
            return _known(learned, known, "it was learned from this turn before")
        decision = self._decide(draft)
        if candidate.lesson is Lesson.UPDATE and decision.kind is Action.ADD:
            decision = self._replacing(draft) or decision
        if decision.kind is Action.NOOP and decision.memory is not None:
            return _known(learned, replace(item, id=decision.memory.id), decision.reason)
        is_sure = candidate.sure and learned.mode is not Mode.INBOX
        if decision.kind is Action.ADD and is_sure:
            return self._stored(draft, candidate, item, learned)
        proposal = self._proposal(fields, decision, candidate)
        doubt = "" if candidate.sure else "it may be about this task alone"
        item = replace(item, reason=doubt if decision.kind is Action.ADD else decision.reason)
        return self._proposed(proposal, item, learned)

    def _decide(self, draft: Draft) -> Decision:
        """What is to be done with a draft, compared with its project and with what has none."""
        project = draft.provenance.project
        near = [
            memory
            for memory in self.verbs.nearest(draft.content, _NEIGHBOURS)
            if memory.owner == self.scope.user and memory.provenance.project in (project, None)
        ]
        decision = self.verbs.decide(draft.content, draft.category, near)
        memory = decision.memory
        if memory is None or decision.kind is Action.NOOP or memory.provenance.project == project:
            return decision
        # A fact about one project does not end a fact about all projects.
        return Decision(Action.ADD, None, decision.reason)

    def _replacing(self, draft: Draft) -> Decision | None:
        """What an update may replace in its project; None when that is not known."""
        for offer in self.verbs.may_replace(draft):
            memory = offer.memory
            if memory.provenance.project == draft.provenance.project:
                reason = f"it may replace {memory.id}: {offer.because}"
                return Decision(Action.SUPERSEDE, memory, reason)
        return None

    def _stored(
        self, draft: Draft, candidate: Candidate, item: LearnedItem, learned: Learned
    ) -> Learned:
        if self.dry_run:
            return replace(learned, stored=(*learned.stored, item))
        outcome = self.verbs.add(draft, self._key(candidate))
        item = replace(item, id=outcome.memory.id)
        if isinstance(outcome, Stored):
            return replace(learned, stored=(*learned.stored, item))
        return _known(learned, item, "it is known")

    def _proposed(self, proposal: Proposal, item: LearnedItem, learned: Learned) -> Learned:
        if self.dry_run:
            is_new = self.store.proposal(self.scope, proposal.id) is None
        else:
            is_new = bool(self.store.propose(self.scope, [proposal]))
            item = replace(item, id=proposal.id)
        if not is_new:
            return _known(learned, replace(item, id=proposal.id), "it was proposed before")
        return replace(learned, proposed=(*learned.proposed, item))

    def _proposal(
        self, fields: Mapping[str, Any], decision: Decision, candidate: Candidate
    ) -> Proposal:
        """The same lesson of the same project is the same proposal, in every session."""
        memories = () if decision.memory is None else (decision.memory.id,)
        is_update = decision.kind is Action.UPDATE
        project = self.origin.project or ""
        digest = _digest((ORIGIN, project, candidate.text.casefold(), *memories))
        change = {"content": candidate.text}
        who = "the user said" if candidate.trust is Trust.USER else "the user agreed"
        more = "" if decision.kind is Action.ADD else f" ({decision.reason})"
        return Proposal(
            id=ids.derived(digest),
            kind=ProposalKind.UPDATE if is_update else ProposalKind.STORE,
            origin=ORIGIN,
            memories=memories,
            reason=f"{candidate.lesson} in a turn, {who}: {candidate.text}{more}",
            evidence={"said": candidate.sentence, "lesson": candidate.lesson.value},
            change=change if is_update else {**change, **fields},
            digest=digest.hex(),
            created_at=self.clock(),
            state=ProposalState.OPEN,
        )

    def _fields(self, candidate: Candidate) -> dict[str, Any]:
        category = CATEGORIES[candidate.lesson]
        if category not in self.categories:
            category = self.categories[0]
        return {
            "category": category,
            "tags": [TAG, candidate.lesson.value],
            "importance": candidate.importance,
            "agent": self.origin.agent,
            "session": self.origin.session,
            "project": self.origin.project,
            "source": SOURCE,
            "trust": Trust(candidate.trust).value,
        } | ({"created_at": said_at.isoformat()} if (said_at := self.origin.said_at) else {})

    def _key(self, candidate: Candidate) -> str:
        """An idempotency key: the same sentence of the same session has the same one."""
        origin = self.origin
        parts = (origin.session or "", origin.project or "", candidate.text.casefold())
        return f"turn-{_digest(parts).hex()}"

    def _is_secret(self, text: str) -> bool:
        """Whether a text holds a secret, or what might be one: neither is learned."""
        return self.verbs.masked(text) != text or bool(_LOGIN.search(text))

    def _shown(self, refused: Refused) -> Refused:
        """A sentence that is not kept, without its secrets."""
        sentence = _LOGIN.sub("[login]", self.verbs.masked(refused.said))
        reason = Refusal.SECRET if sentence != refused.said else refused.reason
        return Refused(said=sentence[:_LONGEST_SHOWN], reason=reason)


def _known(learned: Learned, item: LearnedItem, reason: str) -> Learned:
    return replace(learned, known=(*learned.known, replace(item, reason=reason)))


def _digest(parts: Sequence[str]) -> bytes:
    return hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).digest()


def status(mode: str, reader: ConfiguredReader, limit: int) -> LearningStatus:
    """How learning is set up, and what it has cost today."""
    model = reader.configured()
    return LearningStatus(
        mode=Mode(mode),
        model=model.name if model else None,
        leaves_machine=model.leaves_machine if model else False,
        spent=model.tokens.spent() if model else 0,
        limit=limit,
    )
