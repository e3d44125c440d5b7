"""A memory with all its verbs: construction and delegation only, no logic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from bearinmind.app import requests, wiring
from bearinmind.app.requests import (
    Boost,
    DraftFields,
    FilterFields,
    ListFields,
    Place,
    QueryFields,
    checks_arguments,
)
from bearinmind.app.shares import Shares
from bearinmind.app.states import HITS
from bearinmind.app.wiring import VerbGroups
from bearinmind.config import Configuration, Settings
from bearinmind.errors import Closed, InvalidLink
from bearinmind.proposals import Conflict
from bearinmind.protocols import Finding, Page, Statistics, Store, StoreFacts
from bearinmind.recall import history, lockout, shared
from bearinmind.recall.explain import why_not
from bearinmind.recall.history import Listing, ThingHistory, Timeline, Why
from bearinmind.recall.owned_ids import as_seen_by, bare, with_bare_id
from bearinmind.recall.pipeline import LARGEST_LIMIT, LARGEST_POOL, Recall, check_number
from bearinmind.recall.query_log import QueryLog
from bearinmind.remember.admit import check_origin, check_time, check_user
from bearinmind.remember.pipeline import PurgePlan
from bearinmind.remember.resolve import Resolved
from bearinmind.remember.secrets import masked
from bearinmind.text.addresses import StoreName
from bearinmind.trace import Answer, WhyNot
from bearinmind.types import (
    Filter,
    Group,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Outdated,
    Query,
    Right,
    Scope,
    Share,
    State,
    Trust,
    choose,
)

if TYPE_CHECKING:
    from bearinmind.learn.model import Learned, Message
    from bearinmind.work.rounds import Rounds

_WAIT = 5.0  # seconds that `store` waits for another attempt when it is to wait


@checks_arguments
class Mind(VerbGroups):
    """A memory: store what was learned, recall what matters.

    An id may be given by any unambiguous beginning of it. `owner` says whose memories are listed:
    `me`, `others`, or the name of a user who shares some; all visible ones without it. A verb that
    fails raises a `MindError` with a code and a hint: `NotAllowed` for a change to a memory that
    another user shares to read.
    """

    def __init__(
        self, store: Store, settings: Settings | None = None, **options: Unpack[wiring.Options]
    ) -> None:
        """Put the verbs over a store."""
        self._open_parts = wiring.parts_of(store, settings or Settings(), **options)
        self._rounds: Sequence[Rounds[Mind]] = ()
        self._is_lent = False

    @classmethod
    def open(
        cls,
        store: Path | str | StoreName | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> Self:
        """Open the memories of a store, by default the one that the settings name.

        A thread of this process embeds what is stored, and extracts concepts from it, unless
        `worker` is off.
        """
        chosen = Configuration.load({"store": store, **settings}).settings
        return cls.build(chosen, background=chosen.worker == "auto")

    @classmethod
    def build(
        cls,
        settings: Settings,
        *,
        create: bool = True,
        background: bool = False,
        borrow: bool = False,
        by_person: bool = False,
    ) -> Self:
        """Open the memories that these settings describe."""
        store = wiring.store_of(settings, create=create)
        wanted, beside = settings.capture_queries, settings.beside
        capture = QueryLog.beside(beside, settings.user) if wanted else None
        mind = cls(
            store,
            settings,
            capture=capture,
            background=background,
            borrow=borrow,
            by_person=by_person,
        )
        if background:
            mind._rounds = wiring.start_rounds(mind)
        return mind

    def for_user(self, user: str, key: str | None = None) -> Self:
        """The same memory as another user sees it, while this one is open; nothing is captured."""
        name = self.scope.user if user == self.scope.user else check_user(user)
        other = copy(self)  # which nobody else has yet
        vars(other).update(_open_parts=self._parts.for_user(name, key), _is_lent=True)
        return other

    def close(self) -> None:
        """Release the store; what waits to be done in the background stays in its queue."""
        if not self._is_lent:
            for rounds in self._rounds:
                rounds.close()
            self._open_parts.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def _parts(self) -> wiring.Parts:
        if self._open_parts.closed.is_set():
            raise Closed("this memory is closed")
        return self._open_parts

    @property
    def scope(self) -> Scope:
        """Whose memories these are."""
        return self._open_parts.scope

    @property
    def settings(self) -> Settings:
        """The settings, with the name of this user."""
        return self._open_parts.settings

    # ---- write ---------------------------------------------------------------------------------

    def store(
        self,
        content: str,
        *,
        supersedes: Iterable[str] = (),
        wait: bool = False,
        idempotency_key: str | None = None,
        **fields: Unpack[DraftFields],
    ) -> Outcome:
        """Remember something: `Stored`, or `AlreadyKnown` when a live memory says the same.

        With `wait`, it returns when this memory and all that waited before it are embedded and in
        the graph, or have failed. A draft that is sent again with the same `idempotency_key` is
        stored once: the answer is its memory as it is now.
        """
        draft = requests.draft(content, fields, self.settings)
        replaced = [self._own(id_) for id_ in supersedes]
        outcome = self._parts.remember.add(
            self.scope, draft, replaced, idempotency_key=idempotency_key
        )
        self._parts.nudge()
        if wait:
            self._parts.background.worker().finish(patience=_WAIT)
            self._parts.active_space.look_again()
        if replaced:
            trust = draft.provenance.trust
            self._parts.states.propose_claims(outcome.memory, replaced, trust)
        return self._parts.offers.added_to(outcome, replaced)

    def store_many(
        self, drafts: Iterable[Mapping[str, Any]], *, idempotency_key: str | None = None
    ) -> Sequence[Outcome | requests.NotStored]:
        """Store drafts, each with the keywords of `store`; a refused one does not stop the rest."""
        return requests.store_each(self.store, drafts, idempotency_key)

    def update(
        self,
        id: str,
        *,
        expected_version: int | None = None,
        **changes: Any,  # noqa: ANN401
    ) -> Memory:
        """Change a memory by fields of `Changes`; tags, sensitivity, provenance are the owner's."""
        changed = self._shares.update(id, requests.changes(changes), expected_version)
        self._parts.nudge()
        return changed

    def delete(
        self, id: str, *, expected_version: int | None = None, with_earlier: bool = False
    ) -> Memory:
        """Hide a memory from recall; it can be restored.

        An own one is a `Deleted`, which names what it had superseded and is `live_again`. With
        `with_earlier` those are deleted, too.
        """
        return self._shares.delete(id, expected_version, with_earlier=with_earlier)

    def restore(self, id: str) -> Memory:
        """Bring a deleted memory back."""
        restored = self._shares.restore(id)
        self._parts.nudge()
        return restored

    def restorable(self, id: str) -> Memory:
        """The memory that `restore` would bring back: an own one, or one shared to be written."""
        return self._shares.restorable(id)

    def plan_purge(self, ids: Iterable[str]) -> PurgePlan:
        """What purging these deleted memories would remove."""
        return self._parts.remember.plan_purge(self.scope, [self._own(id_) for id_ in ids])

    def purge(self, plan: PurgePlan) -> bool:
        """Remove for good what a plan names; False when traces may remain until overwritten."""
        return self._parts.remember.purge(self.scope, plan)

    def link(
        self, source: str, kind: LinkKind | str, target: str, *, trust: str = Trust.USER
    ) -> Link:
        """Link two memories, read "source KIND target"; with another trust not as a person."""
        return self._parts.states.link(source, kind, target, trust)

    def unlink(self, source: str, kind: LinkKind | str, target: str) -> Link:
        """End a link."""
        start, end = self._own(source).id, self._own(target).id
        chosen = choose(LinkKind, kind, InvalidLink)
        return self._parts.remember.unlink(self.scope, start, chosen, end)

    def resolve(
        self, id: str, resolution: str, other: str | Iterable[str] = (), *, trust: str = Trust.AGENT
    ) -> Resolved:
        """Say that a memory is `newer` or `older` than others, holds as they do, or merges them.

        Without others, those that it may replace are meant. `id` may be a proposal's, which names
        both. What a person decided, with the trust `user`, no agent overturns.
        """
        return self._parts.states.resolve(id, resolution, other, trust)

    # ---- recall --------------------------------------------------------------------------------

    def recall(
        self, text: str, *, boost: Boost | None = None, **fields: Unpack[QueryFields]
    ) -> Answer:
        """The memories that matter for a text, best first, with the trace of the search.

        `boost` is a function of a memory to a factor of its score, 1 where it changes nothing.
        """
        query = self._query(text, fields, boost)
        recall = self._recall_for(query)
        answer = shared.recalled(recall, self._parts.store, query)
        if query.leg_weights or query.decay_days or query.boost:
            answer = lockout.noted(recall, answer)
        if self._parts.capture:
            hits = [hit.memory.id for hit in answer.hits]
            self._parts.capture.append(answer.query.text, self._parts.clock(), hits)
        return answer

    def why_not(
        self, text: str, id: str, *, boost: Boost | None = None, **fields: Unpack[QueryFields]
    ) -> WhyNot:
        """Why a memory is not in the answer to a query, and what would have let it in."""
        query = self._query(text, fields, boost)
        sees = shared.seen_by(self._recall_for(query), self._parts.store, query.filter)
        memory = as_seen_by(self.scope, self.get(id))
        return replace(why_not(sees, query, memory), id=bare(memory.id))

    def masked(self, text: str) -> str:
        """A query without the secrets in it: they go to no model, and into no file."""
        return masked(text) if self.settings.detect_secrets else text

    # ---- read ----------------------------------------------------------------------------------

    def get(self, id: str) -> Memory:
        """The present version of a memory: an own one, deleted or not, or one that is shared."""
        return shared.find(self._parts.store, self.scope, id, self._parts.clock())

    def list(
        self,
        *,
        limit: int = 20,
        after: str | Place | None = None,
        newest_first: bool = True,
        by_importance: bool = False,
        **fields: Unpack[ListFields],
    ) -> Sequence[Memory]:
        """Memories by creation time, own and shared, behind `after`: an id, or time and id.

        With `by_importance` the most important first, and of those the newest: one page.
        """
        place = requests.place(after, self.get, by_importance=by_importance)
        page = Page(
            limit=check_number("limit", limit, LARGEST_POOL),
            after=place,
            newest_first=newest_first,
            by_importance=by_importance,
        )
        return self._listing(fields).browse(page)

    def timeline(
        self,
        around: str | datetime,
        *,
        before: int = 5,
        after: int = 5,
        **fields: Unpack[ListFields],
    ) -> Timeline:
        """What was remembered before and after a memory or a moment, own and shared."""
        anchor = requests.anchor(around, self._parts.clock(), self.get)
        return history.timeline(
            self._listing(fields).browse,
            anchor,
            before=check_number("before", before, LARGEST_LIMIT, least=0),
            after=check_number("after", after, LARGEST_LIMIT, least=0),
        )

    def versions(self, id: str) -> Sequence[Memory]:
        """Every version of a memory, oldest first."""
        return self._parts.store.versions(self.scope, self._own(id).id)

    def links(self, id: str) -> Sequence[Link]:
        """The links that begin or end at a memory."""
        return self._parts.store.links(self.scope, [self._own(id).id])

    def why(self, id: str, *, depth: int = history.USUAL_DEPTH) -> Why:
        """What led to a memory, at most so many steps back."""
        return history.why(self._parts.store, self.scope, self._own(id), depth)

    def states(self, memories: Sequence[Memory]) -> dict[MemoryId, State]:
        """The present state of each of these memories."""
        return history.states(self._parts.store, self.scope, memories, self._parts.clock())

    def outdated(
        self, memories: Sequence[Memory], as_of: datetime | str | None = None
    ) -> dict[MemoryId, Outdated]:
        """Which of these memories are outdated now or at a moment, by which one, since when."""
        return self._parts.states.outdated(memories, check_time(as_of, "as_of"))

    def conflicts(
        self, memories: Iterable[Memory], as_of: datetime | None = None
    ) -> Sequence[Conflict]:
        """The undecided conflicts of these own memories with each other or with other live ones."""
        own = [each.id for each in memories if each.owner == self.scope.user]
        links = self._parts.store.links(self.scope, own, as_of) if own else ()
        outdates = [link for link in links if link.kind is LinkKind.OUTDATES]  # most have none
        return self._parts.states.conflicts(outdates, as_of) if outdates else ()

    def history(self, thing: str, *, limit: int = 3) -> ThingHistory:
        """The states of a thing in order, with their spans; of at most so many chains."""
        query = self._query(thing, {"group": Group.OFF, "limit": HITS, "all": True})
        return self._parts.states.history(query, limit)

    def stats(self) -> Statistics:
        """Counts of what is stored, and of what others share."""
        return history.statistics(self._parts.store, self.scope, self._parts.clock())

    # ---- share ---------------------------------------------------------------------------------

    def share(self, id: str, reader: str, right: Right | str = Right.READ) -> Share:
        """Let another user read or write a memory, unless it is sensitive; or change the right."""
        return self._shares.add(id, reader, right)

    def unshare(self, id: str, reader: str) -> Share:
        """End the share of a memory; a tag of it may still be shared."""
        return self._shares.end(id, reader)

    def share_tag(self, tag: str, reader: str, right: Right | str = Right.READ) -> Share:
        """Let another user see all memories with a tag, those that get it later included."""
        return self._shares.add_tag(tag, reader, right)

    def unshare_tag(self, tag: str, reader: str) -> Share:
        """End the share of a tag; a memory that has it may still be shared by itself."""
        return self._shares.end_tag(tag, reader)

    def shared_with_me(self) -> Sequence[Share]:
        """What others share with this user, by owner, oldest first; what sync brought by itself."""
        return self._shares.received()

    def my_shares(self) -> Sequence[Share]:
        """What this user shares with others, oldest first."""
        return self._parts.store.shares(self.scope)

    # ---- sessions of agents --------------------------------------------------------------------

    def brief(
        self,
        *,
        project: str | None = None,
        session: str | None = None,
        query: str | None = None,
        limit: int = 10,
        budget_bytes: int = 4_000,
    ) -> Sequence[Memory]:
        """What a session should begin with: important and new memories of a project, or of none.

        Memories of `session` come first, then those that answer `query`. No memory of another
        project is in it, no sensitive one, and no more bytes than `budget_bytes`.
        """
        request = history.BriefRequest(
            project=check_origin(project, "project"),
            session=check_origin(session, "session"),
            query=query,
            limit=limit,
            budget_bytes=budget_bytes,
        )
        return history.brief(self._parts.store, self._filter({}), request, self._nearest)

    def learn(
        self,
        messages: Iterable[Message],
        *,
        agent: str | None = None,
        session: str | None = None,
        project: str | None = None,
        said_at: datetime | None = None,
        inbox: bool = False,
        dry_run: bool = False,
    ) -> Learned:
        """Learn from the messages of a turn, as the setting `learn` says; with `inbox`, propose.

        A turn that is given again teaches nothing new. With `dry_run` nothing is stored.
        """
        from bearinmind.app.curation import learner_of, origin_of  # noqa: PLC0415  (slow)

        origin = origin_of({"agent": agent, "session": session, "project": project}, said_at)
        learner = learner_of(self._parts, self._nearest, origin, inbox=inbox, dry_run=dry_run)
        learned = learner([*messages])
        if learned.stored and not dry_run:
            self._parts.nudge()
        return learned

    # ---- checks --------------------------------------------------------------------------------

    def check(self) -> Sequence[Finding]:
        """Look for damage in the store."""
        return self._parts.store.check()

    def store_facts(self) -> StoreFacts:
        """How large the store is, and on what it runs."""
        return self._parts.store.facts()

    def locked_out(self) -> dict[str, str]:
        """By leg or setting: which memories no query can recall because of it."""
        return lockout.warnings(self._parts.recall, self.settings.limit)

    # ---- shared by the verbs -------------------------------------------------------------------

    @property
    def _shares(self) -> Shares:
        return self._parts.group(Shares)

    def _own(self, id: str) -> Memory:
        return history.find(self._parts.store, self.scope, id)

    def _filter(self, fields: FilterFields) -> Filter:
        return requests.filter_of(fields, self.scope, self.settings, self._parts.clock())

    def _query(self, text: str, fields: QueryFields, boost: Boost | None = None) -> Query:
        if "expanded" in fields:
            fields = {**fields, "expanded": [*map(self.masked, fields["expanded"])]}
        query = requests.query(self.masked(text), self._filter(fields), fields, self.settings)
        return query if boost is None else replace(query, boost=lambda x: boost(with_bare_id(x)))

    def _recall_for(self, query: Query) -> Recall:
        """The read path; made anew only for a query with weights of its own."""
        has_weights = query.leg_weights or query.decay_days
        return self._parts.recall_with_weights(query) if has_weights else self._parts.recall

    def _listing(self, fields: ListFields) -> Listing:
        return history.listing(self._parts.store, self._filter(fields), requests.owner(fields))

    def _nearest(self, text: str, limit: int) -> Sequence[Memory]:
        """The own memories nearest to a text; the query is not captured."""
        recall = replace(self._parts.recall, rerank=None)  # that may cost money
        query = Query(text=masked(text), filter=self._filter({}), limit=limit, all=True)
        return [hit.memory for hit in recall(query).hits]
