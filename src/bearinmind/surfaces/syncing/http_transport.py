"""A server that a replica reaches over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Self, TypeVar

import pydantic_core
from pydantic import BaseModel, SecretStr, ValidationError

from bearinmind.changes import Refused, Verdict
from bearinmind.errors import InvalidChange, InvalidInput, InvalidUser, NotFound
from bearinmind.surfaces.client.calling import Call
from bearinmind.surfaces.client.clients import Client
from bearinmind.surfaces.client.problems import kind_of
from bearinmind.surfaces.client.trying import trying
from bearinmind.surfaces.syncing import reading, telling
from bearinmind.surfaces.syncing.asked import PATH, SHARED_PATH
from bearinmind.surfaces.syncing.wire import (
    PullAnswer,
    PushAnswer,
    SharedAnswer,
    SharedMemoriesAnswer,
    SharedMemoriesRequest,
)
from bearinmind.sync.transport import Operation, Pulled, SharedMemories, SharedPage
from bearinmind.types import MemoryId, UserId

_ROUTE = f"/api/v1{PATH}"
_SHARED = f"/api/v1{SHARED_PATH}"
_RETRIES = 2  # the next round comes soon
_PUSH_BYTES = 500_000  # of one request: half of what a server takes unless it is told otherwise
_PUSH_COUNT = 200  # operations of one request
_UPGRADE = (
    "The server is newer: upgrade Bear in Mind here. What was not sent yet is kept meanwhile."
)

Answer = TypeVar("Answer", bound=BaseModel)


class HttpSyncServer:
    """Satisfies `bearinmind.sync.transport.SyncServer`, as the user whose key it is.

    Nothing is sent before it is known that this is the user whose memories are synced.
    """

    def __init__(
        self, url: str, key: SecretStr | str | None, owner: UserId, *, timeout: float
    ) -> None:
        """Nothing is sent before the first call.

        Raises:
            InvalidSetting: the address or the key cannot be used.
        """
        self._owner = owner
        self._known = False  # whether the server says that this is the owner
        self._calls = _Calls(url, key, timeout=timeout, retries=_RETRIES, patience=2 * timeout)

    def __repr__(self) -> str:
        return f"HttpSyncServer({self._calls.where!r})"

    @property
    def url(self) -> str:
        """Where it is, without anything secret."""
        return self._calls.where

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        """The changes behind a number.

        Changes that this release does not know end the answer before them; when they come first,
        nothing can be taken.

        Raises:
            InvalidChange: the answer cannot be taken; the hint says whether to upgrade.
            InvalidUser: the key is somebody else's.
            MindError: the server does not answer, or refuses.
        """
        query = [("epoch", epoch), ("after", str(after)), ("limit", str(limit))]
        if space is not None:
            query.append(("space", space))
        call = Call(method="GET", path=_ROUTE, query=tuple(query), repeatable=True)
        page = _page(self._calls.content(call))
        self._check(page.user)
        return reading.pulled(page, self._owner)

    def push(self, epoch: str, operations: Sequence[Operation]) -> Sequence[Verdict]:
        """Ask for changes; an operation that cannot be sent is refused, the others go on.

        Raises:
            FeedRestarted: the epoch is not the server's.
            InvalidUser: the key is somebody else's.
            MindError: the server does not answer, or refuses.
        """
        if not self._known:
            self.pull(epoch, after=0, limit=1)
        found: list[Verdict] = []
        for batch in _batches([_Sent.of(each) for each in operations]):
            found += self._push(epoch, batch)
        return found

    def shared(self, mark: str, after: str) -> SharedPage | None:
        """A page of what others share behind a place; None from one of an earlier release.

        Raises:
            InvalidChange: the answer cannot be taken.
            InvalidUser: the key is somebody else's.
            MindError: the server does not answer, or refuses.
        """
        query = (("mark", mark), ("after", after))
        call = Call(method="GET", path=_SHARED, query=query, repeatable=True)
        try:
            answer = _read(SharedAnswer, self._calls.content(call))
        except NotFound:
            return None
        self._check(answer.user)
        return reading.shared(answer)

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        """What those of these memories say that can be seen.

        Raises:
            InvalidChange: the answer cannot be taken.
            InvalidUser: the key is somebody else's.
            MindError: the server does not answer, or refuses.
        """
        asked = SharedMemoriesRequest(owner=owner, memories=[*ids], space=space)
        call = Call(
            method="POST",
            path=_SHARED,
            body=asked.model_dump_json().encode(),
            headers={"Content-Type": "application/json"},
            repeatable=True,  # nothing is changed
        )
        answer = _read(SharedMemoriesAnswer, self._calls.content(call))
        self._check(answer.user)
        if answer.owner != owner:
            raise InvalidChange(f"asked for what {owner!r} shares, the server tells of another")
        return reading.shared_memories(answer)

    def check_writing(self, epoch: str) -> None:
        """Make sure that the key may write, by asking for nothing.

        Raises:
            NotAllowed: it may not.
        """
        self._push(epoch, [])

    def close(self) -> None:
        """Release the connections."""
        self._calls.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check(self, user: str) -> None:
        if user != self._owner:
            raise InvalidUser(
                f"the server at {self._calls.where} knows the key as that of {user!r}, and these "
                f"are the memories of {str(self._owner)!r}",
                hint=reading.OTHER_USER.replace("NAME", user),
            )
        self._known = True

    def _push(self, epoch: str, batch: Sequence[_Sent]) -> list[Verdict]:
        """Send these; when the server cannot read them, the halves, down to the one at fault."""
        operations = ",".join(each.text for each in batch)
        call = Call(
            method="POST",
            path=_ROUTE,
            body=f'{{"epoch":{json.dumps(epoch)},"operations":[{operations}]}}'.encode(),
            headers={"Content-Type": "application/json"},
            # What was done already is stale when it is asked again, and nothing happens twice.
            repeatable=True,
        )
        try:
            answer = _read(PushAnswer, self._calls.content(call))
        except InvalidInput as exc:
            if not batch:
                raise
            if len(batch) == 1:
                return [Refused(exc)]
            half = len(batch) // 2
            return self._push(epoch, batch[:half]) + self._push(epoch, batch[half:])
        if len(answer.verdicts) != len(batch):
            raise InvalidChange(
                f"the server answered {len(batch)} operations with {len(answer.verdicts)} verdicts"
            )
        return [reading.verdict(each, kind_of) for each in answer.verdicts]


class _Calls(Client):
    """A client that sends any call."""

    @property
    def where(self) -> str:
        """The server, without anything secret."""
        return self._server.where

    def content(self, call: Call) -> bytes:
        """What the server answers."""
        settled = self._run(trying(call, self._server, time.monotonic))
        if settled.error is not None:
            raise settled.error
        return settled.content


class _Sent:
    """An operation as it is sent."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.size = len(text.encode())

    @classmethod
    def of(cls, operation: Operation) -> Self:
        """How an operation is sent."""
        return cls(telling.operation(operation).model_dump_json())


def _batches(sent: Sequence[_Sent]) -> Iterator[Sequence[_Sent]]:
    """As many at once as a server takes."""
    batch: list[_Sent] = []
    size = 0
    for each in sent:
        if batch and (size + each.size > _PUSH_BYTES or len(batch) == _PUSH_COUNT):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += each.size
    if batch:
        yield batch


# ---- answers -----------------------------------------------------------------------------------


def _page(content: bytes) -> PullAnswer:
    """A stretch of changes, up to the first one that is not known here."""
    try:
        return PullAnswer.model_validate_json(content)
    except ValidationError as exc:
        known = _known_before(exc)
    if not known:
        return _read(PullAnswer, content)
    told = pydantic_core.from_json(content)
    told["changes"] = told["changes"][:known]
    told["cursor"] = told["changes"][-1].get("number")
    told["more"] = True
    return _read(PullAnswer, pydantic_core.to_json(told))


def _known_before(error: ValidationError) -> int:
    """How many changes come before the first one that cannot be read."""
    bad = [
        each["loc"][1]
        for each in error.errors(include_url=False, include_context=False, include_input=False)
        if len(each["loc"]) > 1 and each["loc"][0] == "changes"
    ]
    return min((at for at in bad if isinstance(at, int)), default=0)


def _read(kind: type[Answer], content: bytes) -> Answer:
    try:
        return kind.model_validate_json(content)
    except ValidationError as exc:
        found = exc.errors(include_url=False, include_context=False, include_input=False)
        where = ".".join(map(str, found[0]["loc"])) or "the whole"
        raise InvalidChange(
            f"what the server answered cannot be read: {where}: {found[0]['msg']}", hint=_UPGRADE
        ) from None
