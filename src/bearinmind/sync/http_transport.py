"""A server that a replica reaches over HTTP."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Self

import httpx

from bearinmind import codec
from bearinmind.changes import Refused, Verdict
from bearinmind.errors import InvalidChange, InvalidInput, InvalidUser, NotFound
from bearinmind.models import server_calls
from bearinmind.models.outbound_http import batches
from bearinmind.models.server_calls import API, JSON, Call, Server
from bearinmind.sync import wire
from bearinmind.sync.model import Operation, Pulled, SharedMemories, SharedPage
from bearinmind.types import MemoryId, UserId

_CHANGES = API + wire.CHANGES_PATH
_SHARED = API + wire.SHARED_PATH
_RETRIES = 2  # the next round comes soon
_PUSH_BYTES = 500_000  # of one request: half of what a server takes by default
_PUSH_COUNT = 200  # operations of one request


class HttpSyncServer:
    """Satisfies `bearinmind.sync.model.Server`, as the user whose key it has.

    No change is sent before the server has confirmed that this is the owner of the memories.
    """

    def __init__(self, url: str, key: str | None, owner: UserId, *, timeout: float) -> None:
        """Nothing is sent before the first call."""
        self._owner = owner
        self._known = False  # whether the server has confirmed the owner
        self._server = Server.at(
            url,
            key,
            timeout=timeout,
            retries=_RETRIES,
            patience=2 * timeout,
            hint="Give http://HOST:PORT, and the key with `--key-file`.",
        )
        self._http = httpx.Client(**self._server.http_options())

    def __repr__(self) -> str:
        return f"HttpSyncServer({self.url!r})"

    @property
    def url(self) -> str:
        """Where it is, without anything secret."""
        return self._server.where

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        """The changes behind a number, up to the first one that this release cannot read."""
        query = {"epoch": epoch, "after": str(after), "limit": str(limit)}
        if space is not None:
            query["space"] = space
        return wire.read_page(self._get(_CHANGES, query), self._owner).page

    def push(self, epoch: str, operations: Sequence[Operation]) -> Sequence[Verdict]:
        """Ask for changes; an operation that cannot be sent is refused, the others go on."""
        if not self._known:
            self.pull(epoch, after=0, limit=1)
        verdicts: list[Verdict] = []
        written = [codec.to_json(each) for each in operations]
        for batch in batches(written, len, most=_PUSH_COUNT, size=_PUSH_BYTES):
            verdicts += self._push(epoch, batch)
        return verdicts

    def shared(self, mark: str, after: str) -> SharedPage | None:
        """A page of what others share behind a place; None from a server that does not list it."""
        try:
            message = self._get(_SHARED, {"mark": mark, "after": after})
        except NotFound:
            return None
        return wire.read_shared_page(message).page

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        """Those of these memories that the user can see."""
        request = {"wire": wire.VERSION, "owner": owner, "memories": [*ids], "space": space}
        message = self._post(_SHARED, json.dumps(request).encode())
        return wire.read_shared_memories(message).found

    def check_writing(self, epoch: str) -> None:
        """Make sure that the key may write, by a push of nothing."""
        self._push(epoch, [])

    def close(self) -> None:
        """Release the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _push(self, epoch: str, batch: Sequence[bytes]) -> list[Verdict]:
        """Send operations; if the server cannot read them, send halves to find the one at fault."""
        head = f'{{"wire":{wire.VERSION},"epoch":{json.dumps(epoch)},"operations":['.encode()
        try:
            message = self._post(_CHANGES, head + b",".join(batch) + b"]}")
        except InvalidInput as exc:
            if not batch:
                raise
            if len(batch) == 1:
                return [Refused(exc)]
            half = len(batch) // 2
            return self._push(epoch, batch[:half]) + self._push(epoch, batch[half:])
        verdicts = wire.read_verdicts(message)
        if len(verdicts) != len(batch):
            raise InvalidChange(
                f"the server answered {len(batch)} operations with {len(verdicts)} verdicts"
            )
        return [*verdicts]

    def _get(self, path: str, query: dict[str, str]) -> wire.Data:
        fields = {"wire": str(wire.VERSION), **query}
        return self._message(
            Call(method="GET", path=path, query=tuple(fields.items()), repeatable=True)
        )

    def _post(self, path: str, body: bytes) -> wire.Data:
        # A push that was done already is stale when it is sent again: nothing happens twice.
        return self._message(
            Call(method="POST", path=path, body=body, headers=JSON, repeatable=True)
        )

    def _message(self, call: Call) -> wire.Data:
        """The answer of the server to a call, as the owner of the memories."""
        steps = server_calls.trying(call, self._server, time.monotonic)
        settled = server_calls.run(steps, self._http, self._server)
        if settled.error is not None:
            raise settled.error
        message = wire.read_message(settled.content)
        user = message.get("user")
        if user != self._owner:
            raise InvalidUser(
                f"the server at {self.url} knows the key as that of {user!r}, and these are the "
                f"memories of {str(self._owner)!r}",
                hint=wire.OTHER_USER.replace("NAME", str(user)),
            )
        self._known = True
        return message
