"""Every verb of a server, as steps: written once for clients that wait and for those that do not.

A verb has the arguments and the answer of the same verb of `Mind`, and is in the same group. Most
name that method, and how the answer is read; the others are those that a server answers otherwise,
or that take more than one call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from datetime import timedelta
from enum import StrEnum
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, TypeVar, Unpack

from bearinmind import errors
from bearinmind.accounts.keys import OVERLAP, Bearer, NewKey
from bearinmind.app import Mind
from bearinmind.app.accounts import Accounts
from bearinmind.app.curation import Curation
from bearinmind.app.graph import Graph
from bearinmind.app.requests import FilterFields, ListFields, Place, QueryFields
from bearinmind.app.server import Bucket, Server
from bearinmind.app.work import Work
from bearinmind.learn.model import Learned, Message
from bearinmind.models.server_calls import Steps
from bearinmind.proposals import ProposalState
from bearinmind.protocols import AuditEntry, Step
from bearinmind.recall.history import ThingHistory, Timeline, Why
from bearinmind.recall.pipeline import LARGEST_POOL, check_number
from bearinmind.remember.admit import check_tag, check_user
from bearinmind.remember.pipeline import PurgePlan
from bearinmind.surfaces.client.verb_calls import (
    Checks,
    Group,
    Requests,
    Way,
    checked,
    request_of,
    same_as,
    verb,
)
from bearinmind.surfaces.verbs.graph_verbs import ConceptAnswer, PathAnswer
from bearinmind.surfaces.verbs.requests import UpdateRequest
from bearinmind.surfaces.verbs.table import BY_NAME
from bearinmind.surfaces.verbs.verb import Request, Verb, write_cursor
from bearinmind.text import ids
from bearinmind.trace import Answer, WhyNot
from bearinmind.types import (
    Access,
    LinkKind,
    Memory,
    Resolution,
    Right,
    SortBy,
    State,
    Trust,
    choose,
)
from bearinmind.types import Group as Grouping

_PAGE = 1_000  # memories, the most that a server gives at once
_HOUR = timedelta(hours=1)
#: What a second delete may be answered when the first was done.
_MAY_BE_DELETED = (errors.AlreadyDeleted, errors.VersionConflict, errors.MemoryNotFound)

Word = TypeVar("Word", bound=StrEnum)
Noun = TypeVar("Noun", Why, Timeline, ThingHistory)


def _word(vocabulary: type[Word], error: type[errors.InvalidInput]) -> Callable[[str], Word]:
    return lambda text: choose(vocabulary, text, error)


def _each(check: Callable[[str], object]) -> Callable[[Iterable[str]], list[object]]:
    return lambda texts: [check(text) for text in texts]


def _ids(texts: str | Iterable[str]) -> list[str]:
    return [*map(ids.canonical, [texts] if isinstance(texts, str) else texts)]


def _only(noun: type[Noun]) -> Callable[[object], Noun]:
    """Reads a noun from an answer that has more fields."""
    names = [field.name for field in fields(noun)]
    return lambda answer: noun(**{name: getattr(answer, name) for name in names})


#: Of the arguments of all verbs but those of a group that says otherwise.
_CHECKS: Checks = {
    **dict.fromkeys(("id", "source", "target"), ids.canonical),
    **dict.fromkeys(("ids", "other", "supersedes"), _ids),
    "around": lambda it: ids.canonical(it) if isinstance(it, str) else it.isoformat(),
    **dict.fromkeys(("user", "name", "reader"), check_user),
    "tag": check_tag,
    "kind": _word(LinkKind, errors.InvalidLink),
    "resolution": _word(Resolution, errors.InvalidLink),
    "right": _word(Right, errors.InvalidShare),
    "trust": _word(Trust, errors.InvalidProvenance),
    "sort_by": _word(SortBy, errors.InvalidQuery),
    "group": _word(Grouping, errors.InvalidQuery),
    "states": _each(_word(State, errors.InvalidQuery)),
    "drafts": lambda drafts: [checked(draft, _CHECKS) for draft in drafts],
}


class CurationVerbs(Group[Way]):
    """Proposals to change memories, and the decisions about them."""

    row = "curation."
    checks: ClassVar[Checks] = {
        **_CHECKS,
        "id": ids.normalise,
        "resolution": _word(Resolution, errors.InvalidInput),
        "states": _each(_word(ProposalState, errors.InvalidInput)),
    }

    proposals = same_as(Curation.proposals, attrgetter("proposals"))
    proposal = same_as(Curation.proposal)
    review = same_as(Curation.review)
    apply = same_as(Curation.apply)
    dismiss = same_as(Curation.dismiss)
    undo = same_as(Curation.undo)


class GraphVerbs(Group[Way]):
    """The concepts that the memories mention, and their relations."""

    row = "graph."
    checks = _CHECKS

    hubs = same_as(Graph.hubs, attrgetter("concepts"))
    neighbours = same_as(Graph.neighbours, attrgetter("neighbours"))
    subgraph = same_as(Graph.subgraph)
    of_memory = same_as(Graph.of_memory)
    merges = same_as(Graph.merges, attrgetter("merges"))
    merge = same_as(Graph.merge)
    unmerge = same_as(Graph.unmerge, attrgetter("name"))

    @verb
    def concept(
        self, concept: str, *, limit: int = 20, **fields: Unpack[FilterFields]
    ) -> Steps[ConceptAnswer]:
        """A concept with its memories and its relations, past ones included."""
        given = checked(fields, self.checks)
        return self._calls.answer("graph.concept", concept=concept, limit=limit, **given)

    @verb
    def path(
        self, start: str, goal: str, *, longest: int = 4, **fields: Unpack[FilterFields]
    ) -> Steps[PathAnswer]:
        """The shortest way from a concept to another."""
        given = checked(fields, self.checks)
        return self._calls.answer("graph.path", start=start, goal=goal, longest=longest, **given)


def _key_id(text: str) -> str:
    """The id of a key; were the whole of it given, its secret would be in the path."""
    bearer = Bearer.read(text)
    return bearer.id if bearer else text


def _with_hash(made: NewKey) -> NewKey:
    """A new key with the hash of its text, which is never sent."""
    bearer = Bearer.read(made.text)
    if bearer is None:
        raise errors.InvalidAnswer("the server answered a new key that is none")
    return replace(made, key=replace(made.key, hash=bearer.hash))


class AccountVerbs(Group[Way]):
    """Users, their keys, and the audit, for a key with admin access."""

    row = "accounts."
    checks: ClassVar[Checks] = {
        **_CHECKS,
        "id": _key_id,
        "access": _word(Access, errors.InvalidKeyTerms),
    }

    users = same_as(Accounts.users, attrgetter("users"))
    add_user = same_as(Accounts.add_user)
    disable_user = same_as(Accounts.disable_user)
    enable_user = same_as(Accounts.enable_user)
    plan_erasure = same_as(Accounts.plan_erasure)
    erase_user = same_as(Accounts.erase_user)
    keys = same_as(Accounts.keys, attrgetter("keys"))
    create_key = same_as(Accounts.create_key, _with_hash)
    revoke_key = same_as(Accounts.revoke_key)
    my_keys = same_as(Accounts.my_keys, attrgetter("keys"))
    revoke_my_key = same_as(Accounts.revoke_my_key)
    my_audit = same_as(Accounts.my_audit, attrgetter("entries"))

    @verb
    def renew_key(self, id: str, *, overlap: timedelta = OVERLAP) -> Steps[NewKey]:
        """A new key with the same terms; the old one stays good for as long as the overlap."""
        terms = {"id": _key_id(id), "overlap_hours": overlap / _HOUR}
        return _with_hash((yield from self._calls.answer("accounts.renew_key", **terms)))

    @verb
    def renew_my_key(self, *, overlap: timedelta = OVERLAP) -> Steps[NewKey]:
        """A new key in place of the one that you use, which stays good as long as the overlap."""
        hours = overlap / _HOUR
        made = yield from self._calls.answer("accounts.renew_my_key", overlap_hours=hours)
        return _with_hash(made)

    @verb
    def audit(self, limit: int = 100) -> Steps[Sequence[AuditEntry]]:
        """What was done with secrets, shares, users and keys, youngest first."""
        return self._calls.part("entries", "accounts.audit", limit=limit)


class CountVerbs(Group[Way]):
    """Counts over time; sizes, shares and reports for a key with admin access."""

    row = "server."
    checks: ClassVar[Checks] = {
        "bucket": _word(Bucket, errors.InvalidInput),
        "step": _word(Step, errors.InvalidInput),
    }

    density = same_as(Server.density)
    agent_sessions = same_as(Server.agent_sessions, attrgetter("sessions"))
    traffic = same_as(Server.traffic)
    whole_traffic = same_as(Server.whole_traffic)
    sizes = same_as(Server.sizes)
    shares = same_as(Server.shares, attrgetter("shares"))
    reports = same_as(Server.reports, attrgetter("reports"))


class WorkVerbs(Group[Way]):
    """Background work, for a key with admin access."""

    row = "work."

    status = same_as(Work.status)
    dead = same_as(Work.dead, attrgetter("jobs"))
    retry_dead = same_as(Work.retry_dead, attrgetter("jobs"))


class SecretVerbs(Group[Way]):
    """Sensitive memories."""

    @verb
    def reveal(self, id: str, *, version: int | None = None) -> Steps[str]:
        """The text of a sensitive memory; each call is written to the audit log."""
        return self._calls.part("content", "secrets.reveal", id=ids.canonical(id), version=version)


class ListPage(NamedTuple):
    """Some memories of a list, and where the next ones begin."""

    memories: Sequence[Memory]
    next: str | None  #: None on the last page


class ServerVerbs(Group[Way]):
    """The verbs of a server, and their groups.

    However often something has to be sent to be stored, it is stored once: by an idempotency key,
    which the client makes unless it is given. Of another's memory `versions` is the present one.
    """

    checks = _CHECKS

    def __init__(self, calls: Requests, runner: Way) -> None:
        super().__init__(calls, runner)
        self.curation = CurationVerbs(calls, runner)
        self.graph = GraphVerbs(calls, runner)
        self.accounts = AccountVerbs(calls, runner)
        self.server = CountVerbs(calls, runner)
        self.work = WorkVerbs(calls, runner)
        self.secrets = SecretVerbs(calls, runner)

    store = same_as(Mind.store)
    store_many = same_as(Mind.store_many, attrgetter("outcomes"))
    restore = same_as(Mind.restore)
    plan_purge = same_as(Mind.plan_purge)
    link = same_as(Mind.link)
    unlink = same_as(Mind.unlink)
    resolve = same_as(Mind.resolve)
    why = same_as(Mind.why, _only(Why))
    timeline = same_as(Mind.timeline, _only(Timeline))
    history = same_as(Mind.history, _only(ThingHistory))
    stats = same_as(Mind.stats)
    get = same_as(Mind.get, attrgetter("memory"))
    versions = same_as(Mind.versions, lambda answer: (*answer.earlier, answer.memory), "get")
    links = same_as(Mind.links, attrgetter("links"), "get")
    share = same_as(Mind.share)
    unshare = same_as(Mind.unshare)
    share_tag = same_as(Mind.share_tag)
    unshare_tag = same_as(Mind.unshare_tag)
    shared_with_me = same_as(Mind.shared_with_me, attrgetter("shares"))
    my_shares = same_as(Mind.my_shares, attrgetter("shares"))
    brief = same_as(Mind.brief, attrgetter("memories"))

    @verb
    def ask(self, verb: Verb, request: Request) -> Steps[Any]:
        """The answer to the request of a verb, as the row of the verb describes it."""
        return self._calls.ask(verb, request)

    # ---- the write path ------------------------------------------------------------------------

    @verb
    def update(
        self,
        /,
        id: str,
        *,
        expected_version: int | None = None,
        **changes: Any,  # noqa: ANN401  as `Mind.update` has it
    ) -> Steps[Memory]:
        """Change a memory; with an expected version the change is safe to be sent again."""
        row = BY_NAME["update"]
        named = {"id": ids.canonical(id), "expected_version": expected_version}
        request = request_of(row, checked(changes, _CHECKS) | named)
        settled = yield from self._calls.settle(row, request)
        if settled.doubtful and isinstance(settled.error, errors.VersionConflict):
            present = yield from self._memory(id)
            if present.version == (expected_version or 0) + 1 and _has(present, request):
                return present  # the try whose answer was lost has done it
        memory: Memory = self._calls.read(settled, row)
        return memory

    @verb
    def delete(
        self, id: str, *, expected_version: int | None = None, with_earlier: bool = False
    ) -> Steps[Memory]:
        """Hide a memory from recall; it can be restored. The answer names what is live again."""
        row = BY_NAME["delete"]
        named = {"id": ids.canonical(id), "expected_version": expected_version}
        named |= {"with_earlier": True} if with_earlier else {}  # earlier servers do not know it
        settled = yield from self._calls.settle(row, request_of(row, named))
        if settled.doubtful and isinstance(settled.error, _MAY_BE_DELETED):
            present = yield from self._memory(id)
            if present.deleted_at is not None:
                return present  # the try whose answer was lost has done it
        memory: Memory = self._calls.read(settled, row)
        return memory

    @verb
    def purge(self, plan: PurgePlan) -> Steps[bool]:
        """Remove for good what a plan names; False when traces of the text may remain a while."""
        done = yield from self._calls.answer(
            "purge",
            ids=[memory.id for memory in plan.memories],
            versions=plan.versions,
            links=plan.links,
        )
        return not done.traces_may_remain

    # ---- the read path -------------------------------------------------------------------------

    @verb
    def recall(self, text: str, **fields: Unpack[QueryFields]) -> Steps[Answer]:
        """The memories that matter for a text, best first, with the trace of how it found them."""
        answer = yield from self._calls.answer(
            "recall", **checked(fields, _CHECKS), query=text, trace=True
        )
        if answer.trace is None or answer.understood is None:
            raise self._calls.server.unreadable("answered a question without the trace")
        return Answer(
            query=answer.understood,
            verdict=answer.verdict,
            hits=answer.hits,
            weak=answer.weak,
            trace=answer.trace,
        )

    @verb
    def why_not(self, text: str, id: str, **fields: Unpack[QueryFields]) -> Steps[WhyNot]:
        """Why a memory is not in the answer to a query, and what would have let it in."""
        return self._calls.answer(
            "why_not", **checked(fields, _CHECKS), query=text, id=ids.canonical(id)
        )

    @verb
    def list(
        self,
        *,
        limit: int = 20,
        after: str | Place | None = None,
        newest_first: bool = True,
        by_importance: bool = False,
        **fields: Unpack[ListFields],
    ) -> Steps[Sequence[Memory]]:
        """Memories by creation time, own and shared; `after` continues behind one, or a place.

        With `by_importance` the most important first: one page, of at most 1,000.
        """
        if isinstance(after, str):
            last = yield from self._memory(after)
            after = (last.created_at, last.id)
        memories: list[Memory] = []
        left = check_number("limit", limit, LARGEST_POOL)
        cursor = write_cursor(*after) if after else None
        while left:
            page = yield from self._page(
                limit=min(left, _PAGE),
                after=cursor,
                newest_first=newest_first,
                by_importance=by_importance or None,
                **fields,
            )
            memories += page.memories
            cursor, left = page.next, left - len(page.memories)
            if cursor is None or not page.memories:
                break
        return tuple(memories)

    @verb
    def page(
        self,
        *,
        limit: int,
        after: str | None,
        newest_first: bool = True,
        **fields: Unpack[ListFields],
    ) -> Steps[ListPage]:
        """A page of a list, and where the next one begins."""
        return self._page(limit=limit, after=after, newest_first=newest_first, **fields)

    @verb
    def learn(
        self,
        messages: Iterable[Message],
        *,
        agent: str | None = None,
        session: str | None = None,
        project: str | None = None,
        dry_run: bool = False,
    ) -> Steps[Learned]:
        """Learn from what was said in a turn, as the server's setting `learn` has it."""
        return self._calls.answer(
            "learn",
            messages=[{"role": each.role, "text": each.text} for each in messages],
            agent=agent,
            session=session,
            project=project,
            dry_run=dry_run,
        )

    # ---- shared by the verbs -------------------------------------------------------------------

    def _memory(self, id: str) -> Steps[Memory]:
        return self._calls.part("memory", "get", id=ids.canonical(id))

    def _page(self, **fields: Any) -> Steps[ListPage]:  # noqa: ANN401  those of `page`
        answer = yield from self._calls.answer("list", **checked(fields, _CHECKS))
        return ListPage(answer.memories, answer.next)


def _has(memory: Memory, request: UpdateRequest) -> bool:
    """Whether a memory is as this update makes it."""
    wanted = request.given("id", "expected_version", "always_valid")
    return all(
        getattr(memory, name) == (tuple(value) if isinstance(value, list) else value)
        for name, value in wanted.items()
    )
