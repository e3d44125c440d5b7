"""Every verb of a server, as steps: written once for clients that wait and for those that do not.

A verb has the arguments and returns the nouns of the same verb of `Mind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Unpack

from bearinmind import errors
from bearinmind.accounts.keys import OVERLAP, Bearer, NewKey
from bearinmind.app.requests import PROPOSALS, DraftFields, ListFields, Place, QueryFields
from bearinmind.learn.model import Learned, Message
from bearinmind.models.server_calls import Steps
from bearinmind.proposals import Proposal, ProposalState
from bearinmind.protocols import AuditEntry, Statistics, User
from bearinmind.recall.history import Timeline, Why
from bearinmind.recall.pipeline import LARGEST_POOL, check_number
from bearinmind.remember.admit import check_tag, check_user
from bearinmind.surfaces.client.verb_calls import Requests, request_of
from bearinmind.surfaces.verbs.answers import write_cursor
from bearinmind.surfaces.verbs.requests import UpdateRequest
from bearinmind.surfaces.verbs.table import BY_NAME
from bearinmind.text import ids
from bearinmind.trace import Answer, WhyNot
from bearinmind.types import (
    Access,
    Key,
    Link,
    LinkKind,
    Memory,
    Outcome,
    Right,
    Share,
    SortBy,
    State,
    Trust,
    choose,
)

_PAGE = 1_000  # memories, the most that a server gives at once
_HOUR = timedelta(hours=1)
#: What a second delete may be answered when the first was done.
_MAY_BE_DELETED = (errors.AlreadyDeleted, errors.VersionConflict, errors.MemoryNotFound)


class ListPage(NamedTuple):
    """Some memories of a list, and where the next ones begin."""

    memories: Sequence[Memory]
    next: str | None  #: None on the last page


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerVerbs(Requests):
    """What can be asked of a server."""

    # ---- the write path ------------------------------------------------------------------------

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

        However often it has to be sent, it is stored once: by an idempotency key, which is made
        here unless it is given.
        """
        return self.answer(
            "store",
            **_checked(fields),
            content=content,
            supersedes=[*map(ids.normalise, supersedes)],
            wait=wait,
            idempotency_key=idempotency_key or self.new_key(),
        )

    def update(
        self,
        /,
        id: str,
        *,
        expected_version: int | None = None,
        **changes: Any,  # noqa: ANN401  as `Mind.update` has it
    ) -> Steps[Memory]:
        """Change a memory; with an expected version the change is safe to be sent again."""
        verb = BY_NAME["update"]
        named = {"id": ids.normalise(id), "expected_version": expected_version}
        request = request_of(verb, _checked(changes) | named)
        settled = yield from self.settle(verb, request)
        if settled.doubtful and isinstance(settled.error, errors.VersionConflict):
            present = yield from self.get(id)
            if present.version == (expected_version or 0) + 1 and _has(present, request):
                return present  # the try whose answer was lost has done it
        memory: Memory = self.read(settled, verb)
        return memory

    def delete(self, id: str, *, expected_version: int | None = None) -> Steps[Memory]:
        """Hide a memory from recall; it can be restored."""
        verb = BY_NAME["delete"]
        named = {"id": ids.normalise(id), "expected_version": expected_version}
        settled = yield from self.settle(verb, request_of(verb, named))
        if settled.doubtful and isinstance(settled.error, _MAY_BE_DELETED):
            present = yield from self.get(id)
            if present.deleted_at is not None:
                return present  # the try whose answer was lost has done it
        memory: Memory = self.read(settled, verb)
        return memory

    def restore(self, id: str) -> Steps[Memory]:
        """Bring a deleted memory back."""
        return self.answer("restore", id=ids.normalise(id))

    def link(self, source: str, kind: LinkKind | str, target: str) -> Steps[Link]:
        """Link two memories, read "source KIND target"."""
        return self.answer("link", **_ends(source, kind, target))

    def unlink(self, source: str, kind: LinkKind | str, target: str) -> Steps[Link]:
        """End a link."""
        return self.answer("unlink", **_ends(source, kind, target))

    # ---- the read path -------------------------------------------------------------------------

    def recall(self, text: str, **fields: Unpack[QueryFields]) -> Steps[Answer]:
        """The memories that matter for a text, best first, with the trace of how it found them."""
        answer = yield from self.answer("recall", **_checked(fields), query=text, trace=True)
        if answer.trace is None or answer.understood is None:
            raise self.server.unreadable("answered a question without the trace")
        return Answer(query=answer.understood, hits=answer.hits, trace=answer.trace)

    def why_not(self, text: str, id: str, **fields: Unpack[QueryFields]) -> Steps[WhyNot]:
        """Why a memory is not in the answer to a query, and what would have let it in."""
        return self.answer("why_not", **_checked(fields), query=text, id=ids.normalise(id))

    def get(self, id: str) -> Steps[Memory]:
        """The present version of a memory, deleted or not."""
        answer = yield from self.answer("get", id=ids.normalise(id))
        memory: Memory = answer.memory
        return memory

    def versions(self, id: str) -> Steps[Sequence[Memory]]:
        """Every version of a memory, oldest first; of another's memory the present one alone."""
        answer = yield from self.answer("get", id=ids.normalise(id))
        return *answer.earlier, answer.memory

    def links(self, id: str) -> Steps[Sequence[Link]]:
        """The links that begin or end at a memory."""
        return self._part("links", "get", id=ids.normalise(id))

    def list(
        self,
        *,
        limit: int = 20,
        after: str | Place | None = None,
        newest_first: bool = True,
        **fields: Unpack[ListFields],
    ) -> Steps[Sequence[Memory]]:
        """Memories by creation time, own and shared; `after` continues behind one, or a place."""
        if isinstance(after, str):
            last = yield from self.get(after)
            after = (last.created_at, last.id)
        memories: list[Memory] = []
        left = check_number("limit", limit, LARGEST_POOL)
        cursor = write_cursor(*after) if after else None
        while left:
            page = yield from self.page(
                limit=min(left, _PAGE), after=cursor, newest_first=newest_first, **fields
            )
            memories += page.memories
            cursor, left = page.next, left - len(page.memories)
            if cursor is None or not page.memories:
                break
        return tuple(memories)

    def page(
        self,
        *,
        limit: int,
        after: str | None,
        newest_first: bool = True,
        **fields: Unpack[ListFields],
    ) -> Steps[ListPage]:
        """A page of a list, and where the next one begins."""
        answer = yield from self.answer(
            "list", **_checked(fields), limit=limit, after=after, newest_first=newest_first
        )
        return ListPage(answer.memories, answer.next)

    def why(self, id: str) -> Steps[Why]:
        """What led to a memory."""
        answer = yield from self.answer("why", id=ids.normalise(id))
        return Why(**_same_fields(Why, answer))

    def timeline(
        self,
        around: str | datetime,
        *,
        before: int = 5,
        after: int = 5,
        **fields: Unpack[ListFields],
    ) -> Steps[Timeline]:
        """What was remembered before and after a memory or a moment."""
        place = ids.normalise(around) if isinstance(around, str) else around.isoformat()
        answer = yield from self.answer(
            "timeline", **_checked(fields), around=place, before=before, after=after
        )
        return Timeline(**_same_fields(Timeline, answer))

    def stats(self) -> Steps[Statistics]:
        """Counts of what is stored."""
        return self.answer("stats")

    def secret_get(self, id: str, *, version: int | None = None) -> Steps[str]:
        """What a sensitive memory says; each time is written to the audit log."""
        return self._part("content", "secret_get", id=ids.normalise(id), version=version)

    # ---- sharing -------------------------------------------------------------------------------

    def share(self, id: str, reader: str, right: Right | str = Right.READ) -> Steps[Share]:
        """Let another user see a memory, or change it."""
        return self.answer(
            "share", id=ids.normalise(id), reader=check_user(reader), right=_right(right)
        )

    def unshare(self, id: str, reader: str) -> Steps[Share]:
        """End the share of a memory."""
        return self.answer("unshare", id=ids.normalise(id), reader=check_user(reader))

    def share_tag(self, tag: str, reader: str, right: Right | str = Right.READ) -> Steps[Share]:
        """Let another user see all memories with a tag, now and from now on."""
        return self.answer(
            "share_tag", tag=check_tag(tag), reader=check_user(reader), right=_right(right)
        )

    def unshare_tag(self, tag: str, reader: str) -> Steps[Share]:
        """End the share of a tag."""
        return self.answer("unshare_tag", tag=check_tag(tag), reader=check_user(reader))

    def shared_with_me(self) -> Steps[Sequence[Share]]:
        """What other users share with this one."""
        return self._part("shares", "shared_with_me")

    def my_shares(self) -> Steps[Sequence[Share]]:
        """What this user shares with others."""
        return self._part("shares", "my_shares")

    # ---- learning and curation -----------------------------------------------------------------

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
        return self.answer(
            "learn",
            messages=[{"role": each.role, "text": each.text} for each in messages],
            agent=agent,
            session=session,
            project=project,
            dry_run=dry_run,
        )

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
        return self._part(
            "memories",
            "brief",
            project=project,
            session=session,
            query=query,
            limit=limit,
            budget_bytes=budget_bytes,
        )

    def proposals(
        self,
        states: Iterable[ProposalState | str] = (ProposalState.OPEN,),
        *,
        limit: int = PROPOSALS,
    ) -> Steps[Sequence[Proposal]]:
        """The proposals in these states, those that were made or decided last first."""
        chosen = [choose(ProposalState, state, errors.InvalidInput) for state in states]
        return self._part("proposals", "proposals", states=chosen, limit=limit)

    def proposal(self, id: str) -> Steps[Proposal]:
        """One proposal."""
        return self.answer("proposal", id=ids.normalise(id))

    def apply_proposal(self, id: str) -> Steps[Proposal]:
        """Do what a proposal says; it can be undone."""
        return self.answer("apply_proposal", id=ids.normalise(id))

    def dismiss_proposal(self, id: str) -> Steps[Proposal]:
        """Decide against a proposal; it is not made again."""
        return self.answer("dismiss_proposal", id=ids.normalise(id))

    def undo_proposal(self, id: str) -> Steps[Proposal]:
        """Take back what a proposal did."""
        return self.answer("undo_proposal", id=ids.normalise(id))

    # ---- users, keys and the audit log, for a key with admin access -----------------------------

    def users(self) -> Steps[Sequence[User]]:
        """Every user, by name."""
        return self._part("users", "users")

    def add_user(self, name: str) -> Steps[User]:
        """Add a user."""
        return self.answer("add_user", name=check_user(name))

    def disable_user(self, name: str) -> Steps[User]:
        """Stop letting a user in; their memories and keys stay."""
        return self.answer("disable_user", name=check_user(name))

    def enable_user(self, name: str) -> Steps[User]:
        """Let a user in again."""
        return self.answer("enable_user", name=check_user(name))

    def keys(self, user: str | None = None) -> Steps[Sequence[Key]]:
        """The keys of a user, or of everybody, oldest first; their hashes stay on the server."""
        return self._part("keys", "keys", user=None if user is None else check_user(user))

    def create_key(
        self,
        user: str,
        *,
        access: Access | str = Access.WRITE,
        label: str = "",
        expires_at: datetime | None = None,
        per_minute: int | None = None,
        per_day: int | None = None,
    ) -> Steps[NewKey]:
        """A new key of a user. Only now can its text be seen."""
        made = yield from self.answer(
            "create_key",
            user=check_user(user),
            access=choose(Access, access, errors.InvalidKeyTerms),
            label=label,
            expires_at=expires_at,
            per_minute=per_minute,
            per_day=per_day,
        )
        return _with_hash(made)

    def renew_key(self, id: str, *, overlap: timedelta = OVERLAP) -> Steps[NewKey]:
        """A new key with the same terms; the old one stays good for as long as the overlap."""
        hours = overlap / _HOUR
        return _with_hash(
            (yield from self.answer("renew_key", id=_key_id(id), overlap_hours=hours))
        )

    def revoke_key(self, id: str) -> Steps[Key]:
        """Revoke a key."""
        return self.answer("revoke_key", id=_key_id(id))

    def audit_log(self, limit: int = 100) -> Steps[Sequence[AuditEntry]]:
        """What was done with secrets, shares, users and keys, youngest first."""
        return self._part("entries", "audit_log", limit=limit)

    # ---- what they are made of -----------------------------------------------------------------

    def _part(self, part: str, verb: str, /, **fields: object) -> Steps[Any]:
        """One field of the answer to a verb."""
        return getattr((yield from self.answer(verb, **fields)), part)


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were given; the words of a vocabulary are checked as `Mind` checks them."""
    given = {name: value for name, value in fields.items() if value is not None}
    if "trust" in given:
        given["trust"] = choose(Trust, given["trust"], errors.InvalidProvenance)
    if "sort_by" in given:
        given["sort_by"] = choose(SortBy, given["sort_by"], errors.InvalidQuery)
    if "states" in given:
        given["states"] = [choose(State, each, errors.InvalidQuery) for each in given["states"]]
    return given


def _ends(source: str, kind: LinkKind | str, target: str) -> dict[str, object]:
    return {
        "source": ids.normalise(source),
        "kind": choose(LinkKind, kind, errors.InvalidLink),
        "target": ids.normalise(target),
    }


def _right(right: Right | str) -> Right:
    return choose(Right, right, errors.InvalidShare)


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


def _same_fields(kind: type[Why | Timeline], answer: object) -> dict[str, Any]:
    """The fields of a noun, taken from an answer that has more."""
    return {field.name: getattr(answer, field.name) for field in fields(kind)}


def _has(memory: Memory, request: UpdateRequest) -> bool:
    """Whether a memory is as this update makes it."""
    wanted = request.given("id", "expected_version", "always_valid")
    return all(
        getattr(memory, name) == (tuple(value) if isinstance(value, list) else value)
        for name, value in wanted.items()
    )
