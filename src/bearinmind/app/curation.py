"""Curation: what could be changed about the memories, and the inbox where people decide.

What a turn of an agent teaches goes into the same inbox.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from bearinmind import errors
from bearinmind.app import requests
from bearinmind.app.requests import MOST_PROPOSALS, PROPOSALS, DraftFields
from bearinmind.app.wiring import Parts, llm_options
from bearinmind.config import Settings
from bearinmind.curate import hygiene, review
from bearinmind.curate.apply import ProposalDecider, Verbs, judge, judgements, settled
from bearinmind.curate.review import ChatJudge, Review, decide
from bearinmind.learn import lasting
from bearinmind.learn.chat_reader import ConfiguredReader
from bearinmind.learn.lasting import Embed
from bearinmind.learn.learner import Learner, LearningStatus, Origin, status
from bearinmind.learn.learner import Verbs as LearningVerbs
from bearinmind.learn.model import Mode
from bearinmind.models.embedders import Embedders
from bearinmind.models.outbound_http import Patience
from bearinmind.models.token_budget import MeteredChat
from bearinmind.outdates.verdicts import (
    Finder,
    is_decided,
    judgement_of,
    prevailing_of_pairs,
)
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.protocols import Store
from bearinmind.recall.pipeline import check_number
from bearinmind.remember import pipeline, secrets
from bearinmind.remember.admit import check_origin, check_time
from bearinmind.remember.pipeline import Changes, Remember
from bearinmind.text import ids
from bearinmind.types import (
    Decider,
    Draft,
    Link,
    MayReplace,
    Memory,
    MemoryId,
    Outcome,
    Resolution,
    Scope,
    Trust,
    choose,
)
from bearinmind.work.rounds import Rounds

if TYPE_CHECKING:
    from bearinmind.app.mind import Mind

_OVERLAP = timedelta(minutes=10)  # clocks differ; what is seen twice is proposed once
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Curation:
    """Proposals to change the memories of one user, and the decisions about them.

    A review changes nothing. A proposal is applied by the ordinary verbs, so it stays in the
    history and can be undone. A proposal is given by its id, or any unambiguous beginning of it.
    """

    store: Store
    scope: Scope
    settings: Settings
    clock: Callable[[], datetime]
    remember: Remember
    nudge: Callable[[], None]  #: says that a job was queued
    turn_reader: ConfiguredReader

    def review(
        self, *, propose: bool = False, since: datetime | None = None, ask: bool = False
    ) -> Review:
        """Review all memories of this user for what could be changed; nothing is changed.

        With `propose`, what is new goes into the inbox, and only that is in the answer. With
        `since`, only what was written since then is compared, with what is near to it. With `ask`,
        the model of the `llm_` settings compares pairs that may say the same or of which one may be
        out of date, which costs tokens; pairs that it takes for different are left out. With
        `propose`, what it decides is kept, and proposals that were settled elsewhere are closed.
        """
        options = review.Options(
            cosine=self.settings.curate_cosine,
            temporary_days=self.settings.curate_temporary_days,
            categories=self.settings.categories,
            since=since,
        )
        with closing(_judge_of(self.settings)) if ask else nullcontext() as model:
            reviewed = review.review_memories(self.store, self.scope, self.clock(), options, model)
        if not propose:
            return reviewed
        for link in reviewed.judged:
            pair = (link.source, link.target)
            # Somebody may have decided while the model was asked.
            if not any(map(is_decided, judgements(self.store, self.scope, pair))):
                judge(self.store, self.scope, pair, [link], self.clock())
        opened = [*review.all_proposals(self.store, self.scope, ProposalState.OPEN)]
        for each in settled(self.store, self.scope, opened):
            self._decider().close(each)
        added = self.store.propose(self.scope, reviewed.proposals)
        return replace(reviewed, proposals=tuple(added), known=frozenset())

    def hygiene(self) -> hygiene.Report:
        """What is untidy among the memories of this user."""
        limit, categories = self.settings.content_limit, self.settings.categories
        return hygiene.report(self.store, self.scope, self.clock(), limit, categories)

    def proposals(
        self,
        states: Iterable[ProposalState | str] = (ProposalState.OPEN,),
        *,
        limit: int = PROPOSALS,
    ) -> Sequence[Proposal]:
        """The proposals in these states, those that were made or decided last first.

        Open ones about memories of which somebody decided elsewhere are left out.
        """
        check_number("limit", limit, MOST_PROPOSALS)
        chosen = [choose(ProposalState, state, errors.InvalidInput) for state in states]
        proposals = [*review.all_proposals(self.store, self.scope, *chosen)]
        done = {each.id for each in settled(self.store, self.scope, proposals)}
        proposals = [each for each in proposals if each.id not in done]
        proposals.sort(key=lambda one: (one.decided_at or one.created_at, one.id), reverse=True)
        return proposals[:limit]

    def proposal(self, id: str) -> Proposal:
        """One proposal."""
        prefix = ids.normalise(id)
        exact = self.store.proposal(self.scope, prefix)
        if exact is not None:
            return exact
        proposals = review.all_proposals(self.store, self.scope, *ProposalState)
        matches = [proposal for proposal in proposals if proposal.id.startswith(prefix)]
        if not matches:
            raise errors.ProposalNotFound(f"no proposal has an id that begins with {id!r}")
        if len(matches) > 1:
            names = ", ".join(proposal.id for proposal in matches[:5])
            raise errors.AmbiguousId(f"{id!r} is the beginning of {names}")
        return matches[0]

    def counts(self) -> Mapping[ProposalState, int]:
        """How many proposals are in each state."""
        return self.store.proposal_counts(self.scope)

    def memories(self, proposals: Iterable[Proposal]) -> Mapping[MemoryId, Memory]:
        """The memories that proposals are about."""
        ids = [*{id_ for each in proposals for id_ in each.memories}]
        return self.store.get_many(self.scope, ids) if ids else {}

    def because(self, proposal: Proposal) -> Sequence[str]:
        """What was judged about the two memories of a proposal, in words, the weightiest first.

        It is read from the link between them: a proposal holds nothing that its memories say.
        """
        if proposal.kind is not ProposalKind.OUTDATE:
            return ()
        newer, older = proposal.memories
        links = prevailing_of_pairs(judgements(self.store, self.scope, (newer, older)))
        return [word for link in links for word in judgement_of(link).evidence]

    def apply(
        self,
        id: str,
        resolution: Resolution | str | None = None,
        *,
        trust: Trust | str = Trust.USER,
    ) -> Proposal:
        """Do what a proposal says, unless the last retrievable copy of a fact would be lost.

        Of two memories that may be states of one thing, a resolution says which of them holds:
        `newer`, as without one, `older`, `both`, or `merge`: the newer says all of it. With the
        trust `agent` it is the decision of an agent, which a person can overturn.
        """
        word = None if resolution is None else choose(Resolution, resolution, errors.InvalidInput)
        applied = self._decider(trust).apply(self.proposal(id), word)
        self.nudge()
        return applied

    def dismiss(self, id: str, *, trust: Trust | str = Trust.USER) -> Proposal:
        """Decide against a proposal; it is not made again. Of two memories both hold then."""
        return self._decider(trust).dismiss(self.proposal(id))

    def undo(self, id: str) -> Proposal:
        """Take back a decision, unless what it changed was changed since; another can be made."""
        undone = self._decider().undo(self.proposal(id))
        self.nudge()
        return undone

    def learning_status(self) -> LearningStatus:
        """How learning from turns is set up, and what it has cost today."""
        settings = self.settings
        return status(settings.learn, self.turn_reader, settings.learn_daily_tokens)

    def _decider(self, trust: Trust | str = Trust.USER) -> ProposalDecider:
        remember, scope = self.remember, self.scope
        is_person = choose(Trust, trust, errors.InvalidProvenance) is Trust.USER
        by = Decider.PERSON if is_person else Decider.AGENT

        def change(memory: Memory, fields: Mapping[str, Any], version: int) -> Memory:
            typed = _typed(fields)
            spans = {"valid_from", "valid_to"} & typed.keys()
            changes = Changes(**typed, always_valid=any(typed[name] is None for name in spans))
            return remember.update(scope, memory, changes, version)

        def add(fields: Mapping[str, Any], supersedes: Sequence[Memory]) -> Outcome:
            typed = _typed(fields)
            content = str(typed.pop("content", ""))
            draft = requests.draft(content, cast("DraftFields", typed), self.settings)
            return replace(remember, by_person=is_person).add(scope, draft, supersedes)

        def resolve(newer: Memory, older: Memory, resolution: Resolution) -> Link:
            return remember.resolve(scope, newer, [older], resolution, by).links[0]

        verbs = Verbs(
            link=partial(remember.link, scope, by=by),
            unlink=partial(remember.unlink, scope),
            delete=partial(remember.delete, scope),
            change=change,
            add=add,
            resolve=resolve,
        )
        return ProposalDecider(store=self.store, scope=scope, verbs=verbs, clock=self.clock)


def _typed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a stored proposal, in the types that the verbs take."""
    typed: dict[str, Any] = {}
    for name, value in fields.items():
        if name in ("valid_from", "valid_to", "created_at") and isinstance(value, str):
            typed[name] = datetime.fromisoformat(value)
        else:
            typed[name] = tuple(value) if isinstance(value, list) else value
    return typed


def embed_of(embedders: Embedders) -> Embed:
    """The vectors of sentences by the encoder that the scorer of learning knows."""

    def embed(sentence: str) -> Sequence[float] | None:
        try:
            embedder = embedders.configured()
            is_known = embedder is not None and embedder.space.model == lasting.MODEL
            return embedder.embed_query(sentence).tolist() if embedder and is_known else None
        except errors.EmbedderFailure:  # as recall, which says so, learning goes on by words
            return None

    return embed


def learner_of(
    parts: Parts,
    nearest: Callable[[str, int], Sequence[Memory]],
    origin: Origin,
    *,
    inbox: bool,
    dry_run: bool,
) -> Learner:
    """The learner for one turn of one user; with `inbox` it proposes, whatever the setting."""
    store, scope, settings, remember = parts.store, parts.scope, parts.settings, parts.remember

    def draft(text: str, fields: Mapping[str, Any]) -> Draft:
        draft = requests.draft(text, cast("DraftFields", fields), settings)
        remember.boundary.refuse_in_clear_fields(draft)
        return draft

    def kept_under(key: str) -> MemoryId | None:
        id_ = pipeline.id_of(scope.user, key)
        return id_ if store.versions(scope, id_) else None

    def may_replace(draft: Draft) -> Sequence[MayReplace]:
        memory = remember.unstored(scope, draft)
        return Finder(store).offers(scope, memory, memory.updated_at)

    return Learner(
        store=store,
        scope=scope,
        verbs=LearningVerbs(
            draft=draft,
            add=lambda draft, key: remember.add(scope, draft, idempotency_key=key),
            kept_under=kept_under,
            nearest=nearest,
            decide=decide,
            may_replace=may_replace,
            masked=secrets.masked,
        ),
        categories=settings.categories,
        content_limit=settings.content_limit,
        embed=embed_of(parts.embedders),
        mode=Mode.INBOX if inbox else Mode(settings.learn),
        clock=parts.clock,
        reader=parts.turn_reader,
        origin=origin,
        dry_run=dry_run,
    )


def origin_of(names: Mapping[str, str | None], said_at: datetime | None) -> Origin:
    """Where and when a turn was said, checked."""
    checked = {name: check_origin(value, name) for name, value in names.items()}
    return Origin(**checked, said_at=check_time(said_at, "said_at"))


def curation_rounds(mind: Mind, seconds: float) -> Rounds[Mind]:
    """Start to review what is new of every user in the background."""
    since: datetime | None = None  # the first round looks at everything

    def review(mind: Mind, stopping: Callable[[], bool]) -> bool:
        nonlocal since
        began = datetime.now(UTC)
        try:
            users = sorted({mind.scope.user, *(user.name for user in mind.accounts.users())})
        except errors.MindError as exc:  # its message may quote what is stored, as those below
            _log.warning("curation could not list the users: %s", exc.code)
            return False
        for user in users:
            if stopping():
                return False
            try:
                mind.for_user(user).curation.review(propose=True, since=since)
            except errors.MindError as exc:
                _log.warning("curation failed: %s", exc.code)
        since = began - _OVERLAP
        return True

    return Rounds(mind, review, name="curate", every=seconds, at_once=False)


def _judge_of(settings: Settings) -> ChatJudge:
    """The chat model that compares memories where no rule is sure; nothing is sent yet."""
    return ChatJudge(
        MeteredChat(
            llm_options(settings),
            "--ask",
            otherwise="or leave --ask out",
            purpose="curation by ",
            patience=Patience(answer=60.0, total=90.0, tries=2, longest_pause=5.0),
        )
    )
