"""Every verb of a server, as steps: written once for clients that wait and for those that do not.

A verb has the arguments and gives the nouns of the same verb of `Mind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Unpack

from bearinmind import errors, ids
from bearinmind.app.requests import DraftFields, ListFields, Place, QueryFields
from bearinmind.protocols import Statistics
from bearinmind.recall.history import Timeline, Why
from bearinmind.recall.parse import LARGEST_POOL, check_number
from bearinmind.remember.admit import check_tag, check_user
from bearinmind.surfaces import cursors
from bearinmind.surfaces.client import nouns, recalled
from bearinmind.surfaces.client.asking import BY_NAME, request
from bearinmind.surfaces.client.calling import Steps
from bearinmind.surfaces.client.curation import CurationVerbs
from bearinmind.surfaces.client.problems import unreadable
from bearinmind.surfaces.verbs import answers as a
from bearinmind.surfaces.verbs import requests as r
from bearinmind.trace import Answer, WhyNot
from bearinmind.types import (
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


class ListPage(NamedTuple):
    """Some memories of a list, and where the next ones begin."""

    memories: Sequence[Memory]
    next: str | None  #: None on the last page


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerVerbs(CurationVerbs):
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
        said = {
            **_given(fields),
            "content": content,
            "supersedes": [*map(ids.normalise, supersedes)],
            "wait": wait,
            "idempotency_key": idempotency_key or self.new_key(),
        }
        got = yield from self.answer("store", r.StoreRequest, a.StoreAnswer, said)
        return nouns.outcome(got)

    def update(
        self,
        /,
        id: str,
        *,
        expected_version: int | None = None,
        **changes: Any,  # noqa: ANN401  as `Mind.update` has it
    ) -> Steps[Memory]:
        """Change a memory; with an expected version the change is safe to be sent again."""
        said = {**_given(changes), "id": ids.normalise(id), "expected_version": expected_version}
        wanted = request(r.UpdateRequest, said)
        settled = yield from self.settle(BY_NAME["update"], wanted)
        if settled.doubtful and isinstance(settled.error, errors.VersionConflict):
            present = yield from self.get(id)
            if present.version == (expected_version or 0) + 1 and _has(present, wanted):
                return present  # the try whose answer was lost has done it
        return nouns.memory(self.read(settled, a.MemoryAnswer))

    def delete(self, id: str, *, expected_version: int | None = None) -> Steps[Memory]:
        """Hide a memory from recall; it can be restored."""
        said = {"id": ids.normalise(id), "expected_version": expected_version}
        settled = yield from self.settle(BY_NAME["delete"], request(r.DeleteRequest, said))
        if settled.doubtful and isinstance(settled.error, _MAY_BE_DELETED):
            present = yield from self.get(id)
            if present.deleted_at is not None:
                return present  # likewise
        return nouns.memory(self.read(settled, a.MemoryAnswer))

    def restore(self, id: str) -> Steps[Memory]:
        """Bring a deleted memory back."""
        said = {"id": ids.normalise(id)}
        got = yield from self.answer("restore", r.OneRequest, a.MemoryAnswer, said)
        return nouns.memory(got)

    def link(self, source: str, kind: LinkKind | str, target: str) -> Steps[Link]:
        """Link two memories, read "source KIND target"."""
        got = yield from self.answer(
            "link", r.LinkRequest, a.LinkAnswer, _ends(source, kind, target)
        )
        return nouns.link(got)

    def unlink(self, source: str, kind: LinkKind | str, target: str) -> Steps[Link]:
        """End a link."""
        said = _ends(source, kind, target)
        got = yield from self.answer("unlink", r.LinkRequest, a.LinkAnswer, said)
        return nouns.link(got)

    # ---- the read path -------------------------------------------------------------------------

    def recall(self, text: str, **fields: Unpack[QueryFields]) -> Steps[Answer]:
        """The memories that matter for a text, best first, with the trace of how it found them."""
        said = {**_given(fields), "query": text, "trace": True}
        got = yield from self.answer("recall", r.RecallRequest, a.RecallAnswer, said)
        if got.trace is None:
            raise unreadable(self.server, "answered a question without the trace")
        with_trace = got.trace
        return self.made(lambda: recalled.answer(got, with_trace))

    def why_not(self, text: str, id: str, **fields: Unpack[QueryFields]) -> Steps[WhyNot]:
        """Why a memory is not in the answer to a query, and what would have let it in."""
        said = {**_given(fields), "query": text, "id": ids.normalise(id)}
        got = yield from self.answer("why_not", r.WhyNotRequest, a.WhyNotAnswer, said)
        return recalled.why_not(got)

    def get(self, id: str) -> Steps[Memory]:
        """The present version of a memory, deleted or not."""
        return nouns.memory((yield from self._whole(id)))

    def versions(self, id: str) -> Steps[Sequence[Memory]]:
        """Every version of a memory, oldest first; of another's memory the present one alone."""
        got = yield from self._whole(id)
        return nouns.memories([*got.earlier, got])

    def links(self, id: str) -> Steps[Sequence[Link]]:
        """The links that begin or end at a memory."""
        got = yield from self._whole(id)
        return tuple(map(nouns.link, got.links))

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
        found: list[Memory] = []
        left = check_number("limit", limit, LARGEST_POOL)
        cursor = cursors.behind(*after) if after else None
        while left:
            page = yield from self.page(
                limit=min(left, _PAGE), after=cursor, newest_first=newest_first, **fields
            )
            found += page.memories
            cursor, left = page.next, left - len(page.memories)
            if cursor is None or not page.memories:
                break
        return tuple(found)

    def page(
        self,
        *,
        limit: int,
        after: str | None,
        newest_first: bool = True,
        **fields: Unpack[ListFields],
    ) -> Steps[ListPage]:
        """A page of a list, and where the next one begins."""
        said = {**_given(fields), "limit": limit, "after": after, "newest_first": newest_first}
        got = yield from self.answer("list", r.ListRequest, a.ListAnswer, said)
        return ListPage(nouns.memories(got.memories), got.next)

    def why(self, id: str) -> Steps[Why]:
        """What led to a memory."""
        said = {"id": ids.normalise(id)}
        return nouns.why((yield from self.answer("why", r.OneRequest, a.WhyAnswer, said)))

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
        said = {**_given(fields), "around": place, "before": before, "after": after}
        got = yield from self.answer("timeline", r.TimelineRequest, a.TimelineAnswer, said)
        return nouns.timeline(got)

    def stats(self) -> Steps[Statistics]:
        """Counts of what is stored."""
        return nouns.statistics((yield from self.answer("stats", r.Nothing, a.CountAnswer, {})))

    def secret_get(self, id: str, *, version: int | None = None) -> Steps[str]:
        """What a sensitive memory says; that it was asked for is written down."""
        said = {"id": ids.normalise(id), "version": version}
        got = yield from self.answer("secret_get", r.SecretRequest, a.SecretAnswer, said)
        return got.content

    # ---- sharing -------------------------------------------------------------------------------

    def share(self, id: str, reader: str, right: Right | str = Right.READ) -> Steps[Share]:
        """Let another user see a memory, or change it."""
        said = {"id": ids.normalise(id), "reader": check_user(reader), "right": _right(right)}
        return nouns.share((yield from self.answer("share", r.ShareRequest, a.ShareAnswer, said)))

    def unshare(self, id: str, reader: str) -> Steps[Share]:
        """End the share of a memory."""
        said = {"id": ids.normalise(id), "reader": check_user(reader)}
        return nouns.share(
            (yield from self.answer("unshare", r.UnshareRequest, a.ShareAnswer, said))
        )

    def share_tag(self, tag: str, reader: str, right: Right | str = Right.READ) -> Steps[Share]:
        """Let another user see all memories with a tag, now and from now on."""
        said = {"tag": check_tag(tag), "reader": check_user(reader), "right": _right(right)}
        got = yield from self.answer("share_tag", r.ShareTagRequest, a.ShareAnswer, said)
        return nouns.share(got)

    def unshare_tag(self, tag: str, reader: str) -> Steps[Share]:
        """End the share of a tag."""
        said = {"tag": check_tag(tag), "reader": check_user(reader)}
        got = yield from self.answer("unshare_tag", r.UnshareTagRequest, a.ShareAnswer, said)
        return nouns.share(got)

    def shared_with_me(self) -> Steps[Sequence[Share]]:
        """What other users share with this one."""
        return nouns.shares(
            (yield from self.answer("shared_with_me", r.Nothing, a.SharesAnswer, {}))
        )

    def my_shares(self) -> Steps[Sequence[Share]]:
        """What this user shares with others."""
        return nouns.shares((yield from self.answer("my_shares", r.Nothing, a.SharesAnswer, {})))

    # ---- what they are made of -----------------------------------------------------------------

    def _whole(self, id: str) -> Steps[a.WholeAnswer]:
        said = {"id": ids.normalise(id)}
        return (yield from self.answer("get", r.OneRequest, a.WholeAnswer, said))


#: What a second delete may be told when the first was done.
_MAY_BE_DELETED = (errors.AlreadyDeleted, errors.VersionConflict, errors.MemoryNotFound)


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What was said; the words of a vocabulary are checked as they are in this process."""
    said = {name: value for name, value in fields.items() if value is not None}
    if "trust" in said:
        said["trust"] = choose(Trust, said["trust"], errors.InvalidProvenance)
    if "sort_by" in said:
        said["sort_by"] = choose(SortBy, said["sort_by"], errors.InvalidQuery)
    if "states" in said:
        said["states"] = [choose(State, each, errors.InvalidQuery) for each in said["states"]]
    return said


def _ends(source: str, kind: LinkKind | str, target: str) -> dict[str, Any]:
    return {
        "source": ids.normalise(source),
        "kind": choose(LinkKind, kind, errors.InvalidLink),
        "target": ids.normalise(target),
    }


def _right(right: Right | str) -> Right:
    return choose(Right, right, errors.InvalidShare)


def _has(memory: Memory, request: r.UpdateRequest) -> bool:
    """Whether a memory is as this update makes it."""
    wanted = request.given("id", "expected_version", "always_valid")
    return all(
        getattr(memory, name) == (tuple(value) if isinstance(value, list) else value)
        for name, value in wanted.items()
    )
