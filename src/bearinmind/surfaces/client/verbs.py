"""Every verb of a server, as steps: written once for clients that wait and for those that do not.

A verb has the arguments and the answer of the same verb of `Mind`, and is in the same group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, NamedTuple, Unpack

from bearinmind import errors
from bearinmind.app.requests import DraftFields, ListFields, NotStored, Place, QueryFields
from bearinmind.learn.model import Learned, Message
from bearinmind.models.server_calls import Steps
from bearinmind.protocols import Statistics
from bearinmind.recall.history import USUAL_DEPTH, ThingHistory, Timeline, Why
from bearinmind.recall.pipeline import LARGEST_POOL, check_number
from bearinmind.remember.admit import check_tag, check_user
from bearinmind.remember.pipeline import PurgePlan
from bearinmind.remember.resolve import Resolved
from bearinmind.surfaces.client.group_verbs import (
    AccountVerbs,
    CountVerbs,
    CurationVerbs,
    GraphVerbs,
    SecretVerbs,
    WorkVerbs,
)
from bearinmind.surfaces.client.verb_calls import Group, Way, request_of, verb
from bearinmind.surfaces.verbs.answers import write_cursor
from bearinmind.surfaces.verbs.requests import UpdateRequest
from bearinmind.surfaces.verbs.table import BY_NAME
from bearinmind.surfaces.verbs.verb import Request, Verb
from bearinmind.text import ids
from bearinmind.trace import Answer, WhyNot
from bearinmind.types import Group as Grouping
from bearinmind.types import (
    Link,
    LinkKind,
    Memory,
    Outcome,
    Resolution,
    Right,
    Share,
    SortBy,
    State,
    Trust,
    choose,
)

_PAGE = 1_000  # memories, the most that a server gives at once
#: What a second delete may be answered when the first was done.
_MAY_BE_DELETED = (errors.AlreadyDeleted, errors.VersionConflict, errors.MemoryNotFound)


class ListPage(NamedTuple):
    """Some memories of a list, and where the next ones begin."""

    memories: Sequence[Memory]
    next: str | None  #: None on the last page


class ServerVerbs(Group[Way]):
    """The verbs of a server."""

    @verb
    def ask(self, verb: Verb, request: Request) -> Steps[Any]:
        """The answer to the request of a verb, as the row of the verb describes it."""
        return self._calls.ask(verb, request)

    # ---- the write path ------------------------------------------------------------------------

    @verb
    def store(
        self,
        content: str,
        *,
        supersedes: Iterable[str] = (),
        wait: bool = False,
        idempotency_key: str | None = None,
        **fields: Unpack[DraftFields],
    ) -> Steps[Outcome]:
        """Remember something: `Stored`, or `AlreadyKnown` when a live memory says the same.

        However often it has to be sent, it is stored once: by an idempotency key, which the client
        makes unless it is given.
        """
        return self._calls.answer(
            "store",
            **_checked(fields),
            content=content,
            supersedes=[*map(ids.canonical, supersedes)],
            wait=wait,
            idempotency_key=idempotency_key,
        )

    @verb
    def store_many(
        self, drafts: Iterable[Mapping[str, Any]], *, idempotency_key: str | None = None
    ) -> Steps[Sequence[Outcome | NotStored]]:
        """Store up to 100 drafts, each with the keywords of `store`, by one request."""
        checked = [_checked(draft) for draft in drafts]
        return self._calls.part(
            "outcomes", "store_many", drafts=checked, idempotency_key=idempotency_key
        )

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
        request = request_of(row, _checked(changes) | named)
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
    def restore(self, id: str) -> Steps[Memory]:
        """Bring a deleted memory back."""
        return self._calls.answer("restore", id=ids.canonical(id))

    @verb
    def plan_purge(self, ids: Iterable[str]) -> Steps[PurgePlan]:
        """What purging these deleted memories would remove."""
        return self._calls.answer("plan_purge", ids=_normalised(ids))

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

    @verb
    def link(
        self, source: str, kind: LinkKind | str, target: str, *, trust: str = Trust.USER
    ) -> Steps[Link]:
        """Link two memories, read "source KIND target", as a person or with another trust."""
        return self._calls.answer("link", trust=trust, **_ends(source, kind, target))

    @verb
    def unlink(self, source: str, kind: LinkKind | str, target: str) -> Steps[Link]:
        """End a link."""
        return self._calls.answer("unlink", **_ends(source, kind, target))

    @verb
    def resolve(
        self, id: str, resolution: str, other: str | Iterable[str] = (), *, trust: str = Trust.AGENT
    ) -> Steps[Resolved]:
        """Say which of two memories holds, that both do, or that the later replaces the earlier."""
        others = [other] if isinstance(other, str) else other
        return self._calls.answer(
            "resolve",
            id=ids.canonical(id),
            resolution=choose(Resolution, resolution, errors.InvalidLink),
            other=[*map(ids.canonical, others)],
            trust=choose(Trust, trust, errors.InvalidProvenance),
        )

    # ---- the read path -------------------------------------------------------------------------

    @verb
    def recall(self, text: str, **fields: Unpack[QueryFields]) -> Steps[Answer]:
        """The memories that matter for a text, best first, with the trace of how it found them."""
        answer = yield from self._calls.answer("recall", **_checked(fields), query=text, trace=True)
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
        return self._calls.answer("why_not", **_checked(fields), query=text, id=ids.canonical(id))

    @verb
    def get(self, id: str) -> Steps[Memory]:
        """The present version of a memory, deleted or not."""
        return self._memory(id)

    @verb
    def versions(self, id: str) -> Steps[Sequence[Memory]]:
        """Every version of a memory, oldest first; of another's memory the present one alone."""
        answer = yield from self._calls.answer("get", id=ids.canonical(id))
        return *answer.earlier, answer.memory

    @verb
    def links(self, id: str) -> Steps[Sequence[Link]]:
        """The links that begin or end at a memory."""
        return self._calls.part("links", "get", id=ids.canonical(id))

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
    def why(self, id: str, *, depth: int = USUAL_DEPTH) -> Steps[Why]:
        """What led to a memory, at most so many steps back."""
        answer = yield from self._calls.answer("why", id=ids.canonical(id), depth=depth)
        return Why(**_same_fields(Why, answer))

    @verb
    def timeline(
        self,
        around: str | datetime,
        *,
        before: int = 5,
        after: int = 5,
        **fields: Unpack[ListFields],
    ) -> Steps[Timeline]:
        """What was remembered before and after a memory or a moment."""
        place = ids.canonical(around) if isinstance(around, str) else around.isoformat()
        answer = yield from self._calls.answer(
            "timeline", **_checked(fields), around=place, before=before, after=after
        )
        return Timeline(**_same_fields(Timeline, answer))

    @verb
    def history(self, thing: str, *, limit: int = 3) -> Steps[ThingHistory]:
        """The states of a thing in order, with their spans; of at most so many chains."""
        answer = yield from self._calls.answer("history", thing=thing, limit=limit)
        return ThingHistory(**_same_fields(ThingHistory, answer))

    @verb
    def stats(self) -> Steps[Statistics]:
        """Counts of what is stored."""
        return self._calls.answer("stats")

    # ---- sharing -------------------------------------------------------------------------------

    @verb
    def share(self, id: str, reader: str, right: Right | str = Right.READ) -> Steps[Share]:
        """Let another user see a memory, or change it."""
        return self._calls.answer(
            "share", id=ids.canonical(id), reader=check_user(reader), right=_right(right)
        )

    @verb
    def unshare(self, id: str, reader: str) -> Steps[Share]:
        """End the share of a memory."""
        return self._calls.answer("unshare", id=ids.canonical(id), reader=check_user(reader))

    @verb
    def share_tag(self, tag: str, reader: str, right: Right | str = Right.READ) -> Steps[Share]:
        """Let another user see all memories with a tag, now and from now on."""
        return self._calls.answer(
            "share_tag", tag=check_tag(tag), reader=check_user(reader), right=_right(right)
        )

    @verb
    def unshare_tag(self, tag: str, reader: str) -> Steps[Share]:
        """End the share of a tag."""
        return self._calls.answer("unshare_tag", tag=check_tag(tag), reader=check_user(reader))

    @verb
    def shared_with_me(self) -> Steps[Sequence[Share]]:
        """What other users share with this one."""
        return self._calls.part("shares", "shared_with_me")

    @verb
    def my_shares(self) -> Steps[Sequence[Share]]:
        """What this user shares with others."""
        return self._calls.part("shares", "my_shares")

    # ---- learning and curation -----------------------------------------------------------------

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

    @verb
    def brief(
        self,
        *,
        project: str | None = None,
        session: str | None = None,
        query: str | None = None,
        limit: int = 10,
        budget_bytes: int = 4_000,
    ) -> Steps[Sequence[Memory]]:
        """What a session should begin with: what is important and new, for a project or at all."""
        return self._calls.part(
            "memories",
            "brief",
            project=project,
            session=session,
            query=query,
            limit=limit,
            budget_bytes=budget_bytes,
        )

    # ---- groups of verbs -----------------------------------------------------------------------

    @property
    def curation(self) -> CurationVerbs[Way]:
        """Proposals to change memories, and the decisions about them."""
        return CurationVerbs(self._calls, self._runner)

    @property
    def graph(self) -> GraphVerbs[Way]:
        """The concepts that the memories mention, and their relations."""
        return GraphVerbs(self._calls, self._runner)

    @property
    def accounts(self) -> AccountVerbs[Way]:
        """Users, their keys, and the audit, for a key with admin access."""
        return AccountVerbs(self._calls, self._runner)

    @property
    def server(self) -> CountVerbs[Way]:
        """Counts over time, sizes, shares and reports."""
        return CountVerbs(self._calls, self._runner)

    @property
    def work(self) -> WorkVerbs[Way]:
        """Background work, for a key with admin access."""
        return WorkVerbs(self._calls, self._runner)

    @property
    def secrets(self) -> SecretVerbs[Way]:
        """Sensitive memories."""
        return SecretVerbs(self._calls, self._runner)

    # ---- shared by the verbs -------------------------------------------------------------------

    def _memory(self, id: str) -> Steps[Memory]:
        return self._calls.part("memory", "get", id=ids.canonical(id))

    def _page(self, **fields: Any) -> Steps[ListPage]:  # noqa: ANN401  those of `page`
        answer = yield from self._calls.answer("list", **_checked(fields))
        return ListPage(answer.memories, answer.next)


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given; the words of a vocabulary are checked as `Mind` checks them."""
    given = {name: value for name, value in fields.items() if value is not None}
    if "trust" in given:
        given["trust"] = choose(Trust, given["trust"], errors.InvalidProvenance)
    if "sort_by" in given:
        given["sort_by"] = choose(SortBy, given["sort_by"], errors.InvalidQuery)
    if "group" in given:
        given["group"] = choose(Grouping, given["group"], errors.InvalidQuery)
    if "states" in given:
        given["states"] = [choose(State, each, errors.InvalidQuery) for each in given["states"]]
    return given


def _normalised(texts: Iterable[str]) -> list[str]:
    """Ids as a server knows them."""
    return [*map(ids.canonical, texts)]


def _ends(source: str, kind: LinkKind | str, target: str) -> dict[str, object]:
    return {
        "source": ids.canonical(source),
        "kind": choose(LinkKind, kind, errors.InvalidLink),
        "target": ids.canonical(target),
    }


def _right(right: Right | str) -> Right:
    return choose(Right, right, errors.InvalidShare)


def _same_fields(kind: type[Why | Timeline | ThingHistory], answer: object) -> dict[str, Any]:
    """The fields of a noun, taken from an answer that has more."""
    return {field.name: getattr(answer, field.name) for field in fields(kind)}


def _has(memory: Memory, request: UpdateRequest) -> bool:
    """Whether a memory is as this update makes it."""
    wanted = request.given("id", "expected_version", "always_valid")
    return all(
        getattr(memory, name) == (tuple(value) if isinstance(value, list) else value)
        for name, value in wanted.items()
    )
