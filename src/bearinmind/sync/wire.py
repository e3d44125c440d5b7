"""What replicas and servers send each other over HTTP: the nouns of `sync.model` as JSON.

Both sides must keep the same, byte for byte. So every field is sent and none is left to a default,
and a field that is not known here is refused rather than dropped. Every message has the version of
this format.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeVar

import httpx

from bearinmind import codec
from bearinmind.changes import Refused, ShareState, Subject, SubjectKind, Verdict, flaw_of
from bearinmind.errors import InvalidChange, InvalidInput, InvalidJson, InvalidUser
from bearinmind.models import server_calls
from bearinmind.models.outbound_http import batches
from bearinmind.models.server_calls import API, JSON, Call, Server
from bearinmind.protocols import History, Received, SubjectState
from bearinmind.sync.model import Arrived, Operation, Pulled, SentVector, SharedMemories, SharedPage
from bearinmind.types import Memory, MemoryId, UserId, is_id

VERSION = 1  # of the format
CHANGES_PATH = "/sync/changes"
SHARED_PATH = "/sync/shared"
MOST_OPERATIONS = 1_000  # of one request

_LARGEST_NUMBER = 2**53 - 1  # every reader of JSON can hold it
_LARGEST_VERSION = 2**31 - 1  # every store can hold it
_LONGEST_MARK = 200  # characters of the mark of a purged version
_USER = re.compile(r"[A-Za-z0-9._@-]{1,64}")  # as `bearinmind.remember.admit` has it
_UPGRADE = (
    "The other side has another release: upgrade the older one. Nothing is lost: what was not sent "
    "yet is kept."
)
#: What to do about two users that are not the same: secrets are sealed for one name.
OTHER_USER = (
    "Memories are synced between users of the same name. Move yours to that name, then connect "
    "as it: `bearinmind export - | bearinmind --user NAME import -`."
)

_CHANGES = API + CHANGES_PATH
_SHARED = API + SHARED_PATH
_RETRIES = 2  # the next round comes soon
_PUSH_BYTES = 500_000  # of one request: half of what a server takes by default
_PUSH_COUNT = 200  # operations of one request

Data = dict[str, Any]
Message = TypeVar("Message")


class PullAnswer(NamedTuple):
    """A page of changes."""

    wire: int  #: the version of the format
    user: UserId  #: whose changes these are: the user of the key
    page: Pulled


class PushAnswer(NamedTuple):
    """The verdicts on the operations, in the same order."""

    wire: int
    user: UserId
    verdicts: tuple[Verdict, ...]


class SharedAnswer(NamedTuple):
    """A page of what others share, by owner and then id."""

    wire: int
    user: UserId  #: with whom it is shared
    page: SharedPage


class SharedMemoriesAnswer(NamedTuple):
    """Those of the requested memories that the user can see; long ones are fewer."""

    wire: int
    user: UserId
    found: SharedMemories


# ---- reading -----------------------------------------------------------------------------------


def read_message(content: bytes) -> Data:
    """An answer as decoded JSON. Its user must be checked before its parts are read."""
    try:
        message = json.loads(content)
    except (ValueError, RecursionError) as exc:
        raise InvalidChange(f"the answer is not JSON: {exc}") from None
    if not isinstance(message, dict):
        raise InvalidChange("the answer is not a JSON object")
    check_version(message.get("wire"))
    return message


def read_page(message: Data, owner: UserId) -> PullAnswer:
    """A page of an owner's changes, up to the first one that this release cannot read."""
    page = message.get("page")
    sent = page.get("changes") if isinstance(page, dict) else None
    if not isinstance(page, dict) or not isinstance(sent, list):
        return _exact(PullAnswer, message)  # which says what is wrong
    changes = [*_readable(sent)]
    answer = _exact(PullAnswer, {**message, "page": {**page, "changes": []}})
    whole = answer.page._replace(changes=tuple(changes))
    if len(changes) < len(sent):
        whole = whole._replace(cursor=changes[-1].number, more=True)
    for change in changes:
        check(change.subject, change.state, owner)
    _check_numbers(whole.cursor, *(change.number for change in changes))
    _check_vectors(whole.vectors)
    return answer._replace(page=whole)


def _readable(sent: Sequence[object]) -> Iterator[Arrived]:
    """The changes before the first one that cannot be read."""
    for number, each in enumerate(sent):
        try:
            yield _exact(Arrived, each)
        except InvalidChange as exc:
            if number == 0:
                raise InvalidChange(f"changes.0: {exc.message}", hint=exc.hint) from exc
            return


def read_shared_page(message: Data) -> SharedAnswer:
    """A page of what others share."""
    answer = _exact(SharedAnswer, message)
    for seen in answer.page.seen:
        if not _USER.fullmatch(seen.owner):
            owner = seen.owner[:_LONGEST_MARK]
            raise InvalidChange(f"{owner!r} cannot be the name of a user")
        for id_ in (seen.id, *(link.source for link in seen.decided)):
            _check_id(id_)
        _check_version(seen.id, seen.version)
    return answer


def read_shared_memories(message: Data) -> SharedMemoriesAnswer:
    """Memories of another owner."""
    answer = _exact(SharedMemoriesAnswer, message)
    for memory in answer.found.memories:
        _check_id(memory.id)
        _check_memory(memory)
    _check_vectors(answer.found.vectors)
    return answer


def read_verdicts(message: Data) -> tuple[Verdict, ...]:
    """The verdicts on operations."""
    verdicts = _exact(PushAnswer, message).verdicts
    _check_numbers(*(each.number for each in verdicts if not isinstance(each, Refused)))
    return verdicts


def read_operations(sent: Sequence[object], owner: UserId) -> list[Operation]:
    """The operations of a replica."""
    operations = [_exact(Operation, each) for each in sent]
    for operation in operations:
        check(operation.subject, operation.state, owner)
    _check_numbers(*(operation.base for operation in operations))
    return operations


def check_ids(texts: Sequence[str]) -> None:
    """Make sure that these are ids of memories."""
    for text in texts:
        _check_id(text)


def check_version(version: object) -> None:
    """Make sure that a message has the version of this format."""
    if version != VERSION:
        raise InvalidChange(
            f"the message has version {version!r} of the sync format, and {VERSION} is known here",
            hint=_UPGRADE,
        )


def _exact(type_: type[Message], sent: object) -> Message:
    """What was sent, if every field of it is known here and none is missing."""
    try:
        noun = codec.from_data(type_, sent)
    except (InvalidJson, OverflowError) as exc:
        reason = exc.message if isinstance(exc, InvalidJson) else f"a time is out of range: {exc}"
        raise InvalidChange(reason, hint=_UPGRADE) from exc
    if path := _difference(sent, codec.to_data(noun, type_)):
        raise InvalidChange(
            f"{path} is missing, or not known here, in what should be {type_.__name__}",
            hint=_UPGRADE,
        )
    return noun


def _difference(sent: object, kept: object, path: str = "") -> str | None:
    """Where what was sent has other fields than what is kept of it."""
    if isinstance(sent, Mapping) and isinstance(kept, Mapping):
        for name in sorted(sent.keys() ^ kept.keys()):
            return f"{path}{name}"
        pairs = [(f"{path}{name}.", value, kept[name]) for name, value in sent.items()]
    elif isinstance(sent, list) and isinstance(kept, list):
        items = enumerate(zip(sent, kept, strict=False))
        pairs = [(f"{path}{number}.", *pair) for number, pair in items]
    else:
        return None
    differences = (_difference(one, other, at) for at, one, other in pairs)
    return next(filter(None, differences), None)


# ---- checks ------------------------------------------------------------------------------------


def check(subject: Subject, state: SubjectState, owner: UserId) -> None:
    """Make sure that a state can be that of its subject, among the memories of an owner."""
    if flaw := flaw_of(owner, Received(subject, state, 0)):
        is_sealed = isinstance(state, History) and any(x.owner != owner for x in state.sealed)
        raise InvalidChange(flaw.message, hint=OTHER_USER if is_sealed else "")
    for id_ in _ids_in(subject):
        _check_id(id_)
    if isinstance(state, History):
        for memory in state.versions:
            _check_owner(subject, memory.owner, owner)
            _check_memory(memory)
    elif isinstance(state, ShareState) and state.share is not None:
        _check_owner(subject, state.share.owner, owner)
    elif any(len(mark) > _LONGEST_MARK for mark in getattr(state, "digests", ())):
        raise InvalidChange(f"the {subject.label} has a mark of more than {_LONGEST_MARK} letters")


def _ids_in(subject: Subject) -> Sequence[str]:
    """The parts of a name that are ids of memories."""
    parts = subject.parts
    if subject.kind is SubjectKind.MEMORY:
        return parts
    if subject.kind is SubjectKind.LINK:
        return parts[0], parts[2]
    return parts[2:] if subject.kind is SubjectKind.SHARE and parts[1] == "memory" else ()


def _check_id(id_: str) -> None:
    if not is_id(id_):
        raise InvalidChange(f"{id_!r} is not the id of a memory")


def _check_vectors(vectors: Iterable[SentVector]) -> None:
    for each in vectors:
        _check_id(each.memory)
        each.vector()  # raises an error if it has no direction


def _check_owner(subject: Subject, named: UserId, owner: UserId) -> None:
    if named != owner:
        raise InvalidChange(f"the {subject.label} belongs to {named!r}, not to {owner!r}")


def _check_memory(memory: Memory) -> None:
    _check_version(memory.id, memory.version)
    if not 0 <= memory.importance <= 1:
        raise InvalidChange(f"the importance of memory {memory.id} is {memory.importance}")


def _check_version(id_: MemoryId, version: int) -> None:
    if not 1 <= version <= _LARGEST_VERSION:
        raise InvalidChange(f"memory {id_} cannot have the version {version}")


def _check_numbers(*numbers: int) -> None:
    for number in numbers:
        if not 0 <= number <= _LARGEST_NUMBER:
            raise InvalidChange(f"{number} cannot be the number of a change")


# ---- the server, as a replica reaches it ---------------------------------------------------------


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
        return read_page(self._get(_CHANGES, query), self._owner).page

    def push(self, epoch: str, operations: Sequence[Operation]) -> Sequence[Verdict]:
        """Ask for changes; an operation that cannot be sent is refused, the others go on."""
        if not self._known:
            self.pull(epoch, after=0, limit=1)
        verdicts: list[Verdict] = []
        written = [codec.to_json(each) for each in operations]
        for batch in batches(written, len, most=_PUSH_COUNT, size=_PUSH_BYTES):
            verdicts += self._push(epoch, batch)
        return verdicts

    def shared(self, mark: str, after: str) -> SharedPage:
        """A page of what others share behind a place."""
        return read_shared_page(self._get(_SHARED, {"mark": mark, "after": after})).page

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        """Those of these memories that the user can see."""
        request = {"wire": VERSION, "owner": owner, "memories": [*ids], "space": space}
        message = self._post(_SHARED, json.dumps(request).encode())
        return read_shared_memories(message).found

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
        head = f'{{"wire":{VERSION},"epoch":{json.dumps(epoch)},"operations":['.encode()
        try:
            message = self._post(_CHANGES, head + b",".join(batch) + b"]}")
        except InvalidInput as exc:
            if not batch:
                raise
            if len(batch) == 1:
                return [Refused(exc)]
            half = len(batch) // 2
            return self._push(epoch, batch[:half]) + self._push(epoch, batch[half:])
        verdicts = read_verdicts(message)
        if len(verdicts) != len(batch):
            raise InvalidChange(
                f"the server answered {len(batch)} operations with {len(verdicts)} verdicts"
            )
        return [*verdicts]

    def _get(self, path: str, query: dict[str, str]) -> Data:
        fields = {"wire": str(VERSION), **query}
        return self._message(
            Call(method="GET", path=path, query=tuple(fields.items()), repeatable=True)
        )

    def _post(self, path: str, body: bytes) -> Data:
        # A push that was done already is stale when it is sent again: nothing happens twice.
        return self._message(
            Call(method="POST", path=path, body=body, headers=JSON, repeatable=True)
        )

    def _message(self, call: Call) -> Data:
        """The answer of the server to a call, as the owner of the memories."""
        steps = server_calls.trying(call, self._server, time.monotonic)
        settled = server_calls.run(steps, self._http, self._server)
        if settled.error is not None:
            raise settled.error
        message = read_message(settled.content)
        user = message.get("user")
        if user != self._owner:
            raise InvalidUser(
                f"the server at {self.url} knows the key as that of {user!r}, and these are the "
                f"memories of {str(self._owner)!r}",
                hint=OTHER_USER.replace("NAME", str(user)),
            )
        self._known = True
        return message
