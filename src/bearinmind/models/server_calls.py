"""Calls to a Bear in Mind server over HTTP: how they are sent, tried again and answered.

A call is a generator of steps (`Send`, `Pause`), so that it is written once for programs that wait
and for programs that do not. The clients and the transport of syncing take the steps with httpx.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import count
from typing import Any, NamedTuple, Self, TypeVar
from urllib.parse import SplitResult

import httpx

from bearinmind import codec, errors
from bearinmind.errors import InvalidSetting, MindError
from bearinmind.models.outbound_http import MOST_BYTES, GivenUp, Patience, pause_after, wanted_pause
from bearinmind.text.addresses import is_loopback, split_url

API = "/api/v1"
JSON = {"Content-Type": "application/json"}

_HIDDEN = "***"
_SHOWN = 200  # characters of what a server said
_LONGEST = 2_000  # characters of a message or a hint that are taken over
_CONNECT = 5.0  # seconds
_FIRST_PAUSE = 0.1  # seconds: a server that restarts is back soon
_LONGEST_PAUSE = 30.0  # seconds
_HOW_TO_GIVE = "Give http://HOST:PORT; the key comes apart, as `key` or the setting `server_key`."
_LEAST = 0.001  # seconds: a time-out of nothing would mean none at all
#: Seconds that an idle connection is kept: less than servers do, so that none ends under a call.
_KEPT = 3.0
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


# ---- the server --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """A server as a client knows it; neither its repr nor a message holds the key."""

    address: SplitResult
    key: str | None = field(repr=False)
    patience: Patience

    @classmethod
    def at(
        cls,
        url: str,
        key: str | None = None,
        *,
        timeout: float,
        retries: int,
        patience: float,
        hint: str = _HOW_TO_GIVE,
    ) -> Self:
        """A server at an address; the hint says how to give it, and the key."""
        address = split_url(url)
        if address is None or "@" in address.netloc or address.query or address.fragment:
            shown = url.rpartition("@")[2].partition("?")[0]  # without a password
            raise InvalidSetting(f"{shown!r} is not the address of a server", hint=hint)
        for name, value, least in (
            ("timeout", timeout, 0.001),
            ("retries", retries, 0),
            ("patience", patience, 0.001),
        ):
            if not isinstance(value, int | float) or not value >= least:
                raise InvalidSetting(
                    f"{name} = {value!r} is not allowed: it is at least {least}",
                    hint="Give seconds, and a number of retries.",
                )
        return cls(
            address=address,
            key=_checked(key),
            patience=Patience(
                connect=_CONNECT,
                answer=timeout,
                total=patience,
                tries=retries + 1,
                first_pause=_FIRST_PAUSE,
                longest_pause=_LONGEST_PAUSE,
            ),
        )

    @property
    def where(self) -> str:
        """The address, as messages name it."""
        base = self.address.path.rstrip("/")  # where a server is not at the root
        return f"{self.address.scheme}://{self.address.netloc}{base}"

    def shown(self, text: str) -> str:
        """The beginning of what a server said, on one line, without the key."""
        return self.hidden(" ".join(text.split()))[:_SHOWN]

    def hidden(self, text: str) -> str:
        """A text in which the key is replaced."""
        return text.replace(self.key, _HIDDEN) if self.key else text

    def unreadable(self, problem: str) -> errors.InvalidAnswer:
        """The error for a good status with an answer that cannot be read."""
        return errors.InvalidAnswer(f"the server at {self.where} {self.shown(problem)}")

    def http_options(self) -> dict[str, Any]:
        """The arguments of an `httpx.Client` or an `httpx.AsyncClient` for this server."""
        try:
            base = httpx.URL(self.where)
        except httpx.InvalidURL as exc:
            raise InvalidSetting(f"{self.where!r} is not the address of a server: {exc}") from None
        bearer = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return {
            "base_url": base,
            "headers": {"Accept": "application/json", **bearer},
            "verify": self.address.scheme == "https",  # else certificates are read in vain
            "follow_redirects": False,  # a key goes to the server it was given for
            "trust_env": not is_loopback(self.address.hostname or ""),  # no proxy on the way to us
            "limits": httpx.Limits(keepalive_expiry=_KEPT),
        }


def _checked(key: str | None) -> str | None:
    text = (key or "").strip()
    if text and not (text.isascii() and text.isprintable()):
        raise InvalidSetting(
            "server_key has characters that cannot be sent",
            hint="Copy the key again; it is plain ASCII.",
        )
    return text or None


# ---- steps -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """An HTTP request without its server and its key."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = field(default=None, repr=False)  # it may hold a secret
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool  #: to do it twice changes no more than to do it once


class Send(NamedTuple):
    """Send this, and wait so many seconds for its answer."""

    call: Call
    seconds: float


class Pause(NamedTuple):
    """Wait before going on."""

    seconds: float


class Answered(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Lost(NamedTuple):
    """The server did not answer, or the answer was cut off."""

    problem: str  #: "does not answer in time", "cannot be reached: …"
    sent: bool  #: whether the server may have got the request


class Paused(NamedTuple):
    """The pause is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How a call ended: with an answer, or with an error."""

    content: bytes = b""
    error: MindError | None = None
    doubtful: bool = False  #: an earlier try may have been done, though its answer was lost


Reply = Answered | Lost
Result = TypeVar("Result")
#: Says step by step what to do, gets the reply to each step, and returns the result in the end.
Steps = Generator[Send | Pause, Reply | Paused, Result]


def trying(call: Call, server: Server, clock: Callable[[], float]) -> Steps[Settled]:
    """Try a call until it is answered, or until another try is of no use.

    What may have been done is tried again only if doing it twice changes no more than once.
    """
    patience = server.patience
    deadline = clock() + patience.total
    doubtful = False
    for tried in count(1):
        reply = yield Send(call, min(patience.answer, max(_LEAST, deadline - clock())))
        if isinstance(reply, Paused):
            raise TypeError("a call was sent, and a pause came of it")
        outcome = judged(reply, server)
        if not isinstance(outcome, Trouble):
            return Settled(content=outcome, doubtful=doubtful)
        try:
            pause = _pause(call, outcome, tried, patience, left=deadline - clock())
        except GivenUp as why:
            return Settled(error=outcome.error(str(why)), doubtful=doubtful)
        doubtful = doubtful or not outcome.undone
        yield Pause(pause)
    raise AssertionError("tries are counted without end")


def _pause(call: Call, trouble: Trouble, tried: int, patience: Patience, *, left: float) -> float:
    """How long to wait before the call is tried again."""
    if not trouble.passing:
        raise GivenUp
    if not (call.repeatable or trouble.undone):
        raise GivenUp("; whether it was done is not known, and it is not tried again")
    if tried == patience.tries:
        raise GivenUp(f" ({tried} tries)" if tried > 1 else "")
    return pause_after(tried, patience, wanted=trouble.retry_after, left=left)


# ---- steps, taken with httpx -------------------------------------------------------------------


def run(steps: Steps[Result], http: httpx.Client, server: Server) -> Result:
    """Take the steps of a call, one after the other."""
    try:
        step = next(steps)
        while True:
            step = steps.send(_taken(step, http, server))
    except StopIteration as done:
        result: Result = done.value
        return result


def _taken(step: Send | Pause, http: httpx.Client, server: Server) -> Reply | Paused:
    if isinstance(step, Pause):
        time.sleep(step.seconds)
        return Paused()
    incoming = Incoming(step.seconds)
    try:
        with http.stream(**stream_arguments(step, server)) as response:
            for piece in response.iter_bytes():
                if not incoming.add(piece):
                    break
    except httpx.HTTPError as exc:
        return lost(exc)
    return incoming.answered(response)


def stream_arguments(step: Send, server: Server) -> dict[str, Any]:
    """The arguments of `stream` for a step."""
    call, seconds = step
    return {
        "method": call.method,
        "url": call.path,
        "params": call.query or None,
        "content": call.body,
        "headers": dict(call.headers),
        "timeout": httpx.Timeout(seconds, connect=min(server.patience.connect, seconds)),
    }


class Incoming:
    """An answer that comes piece by piece, with a limit of time and of size."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._pieces: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> bool:
        """Take a piece; False when no more are to come."""
        if time.monotonic() > self._deadline:
            raise httpx.ReadTimeout("the answer does not end")
        self._pieces.append(piece)
        self._size += len(piece)
        return self._size <= MOST_BYTES

    def answered(self, response: httpx.Response) -> Answered:
        """The whole of it; one that is too long is cut off, and so cannot be read."""
        return Answered(response.status_code, response.headers, b"".join(self._pieces))


def lost(error: httpx.HTTPError) -> Lost:
    """Why no answer came."""
    sent = not isinstance(error, _NEVER_SENT)
    if isinstance(error, httpx.TimeoutException):
        return Lost("does not answer in time", sent)
    if isinstance(error, httpx.ConnectError):
        return Lost(f"cannot be reached: {error}", sent)
    return Lost(f"broke off: {str(error) or type(error).__name__}", sent)


# ---- from answers to errors --------------------------------------------------------------------

#: Statuses that others than Bear in Mind answer too, such as a proxy before it.
_BY_OTHERS: Mapping[int, type[MindError]] = {
    HTTPStatus.UNAUTHORIZED: errors.NotAuthenticated,
    HTTPStatus.FORBIDDEN: errors.NotAllowed,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: errors.RequestTooLarge,
    HTTPStatus.TOO_MANY_REQUESTS: errors.TooManyRequests,
    HTTPStatus.SERVICE_UNAVAILABLE: errors.ServerOverloaded,
    HTTPStatus.GATEWAY_TIMEOUT: errors.TimedOut,
}
#: What an error is whose code this release does not know.
_FAMILIES: Mapping[int, type[MindError]] = {
    HTTPStatus.BAD_REQUEST: errors.UnreadableRequest,
    HTTPStatus.UNAUTHORIZED: errors.NotAuthenticated,
    HTTPStatus.FORBIDDEN: errors.AccessDenied,
    HTTPStatus.NOT_FOUND: errors.NotFound,
    HTTPStatus.CONFLICT: errors.Conflict,
    HTTPStatus.PRECONDITION_FAILED: errors.VersionConflict,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: errors.RequestTooLarge,
    HTTPStatus.UNPROCESSABLE_ENTITY: errors.InvalidInput,
    HTTPStatus.TOO_MANY_REQUESTS: errors.Later,
    HTTPStatus.GATEWAY_TIMEOUT: errors.TimedOut,
}
_FROM_HERE = HTTPStatus.INTERNAL_SERVER_ERROR  # on, the fault is the server's
#: Faults of a server that last until somebody sees to it.
LASTING = (
    errors.StoreReadOnly,
    errors.StoreFull,
    errors.StoreDamaged,
    errors.StoreTooNew,
    errors.StoreUnfinished,
    errors.VaultFailure,
)
#: By which a server turns a call away.
TURNED_AWAY = (errors.Later, errors.ServerOverloaded, errors.StoreBusy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why a call has no answer that can be used."""

    kind: type[MindError]
    problem: str
    hint: str = ""
    retry_after: float | None = None  #: seconds that the server asked for
    passing: bool = False  #: the same call may do better after a while
    undone: bool = False  #: the server has done nothing about it, for certain

    def error(self, why: str = "") -> MindError:
        """The error, and why no more was tried."""
        error = self.kind(self.problem + why, hint=self.hint)
        if isinstance(error, errors.Later | errors.ServerOverloaded) and self.retry_after:
            error.retry_after = self.retry_after
        return error


def judged(reply: Reply, server: Server) -> bytes | Trouble:
    """The content of a good answer, or what is wrong."""
    if isinstance(reply, Lost):
        return Trouble(
            kind=errors.ServerUnreachable,
            problem=f"the server at {server.where} {server.shown(reply.problem)}",
            passing=True,
            undone=not reply.sent,
        )
    if HTTPStatus.OK <= reply.status < HTTPStatus.MULTIPLE_CHOICES:
        return reply.content
    retry_after = wanted_pause(reply.headers.get("retry-after", ""))
    kind, problem, hint = _problem(reply, server)
    turned_away = issubclass(kind, TURNED_AWAY)
    return Trouble(
        kind=kind,
        problem=problem,
        hint=hint,
        retry_after=retry_after,
        passing=turned_away or (reply.status >= _FROM_HERE and not issubclass(kind, LASTING)),
        # A server that says when to come again has turned the call away.
        undone=turned_away and retry_after is not None,
    )


def _problem(reply: Answered, server: Server) -> tuple[type[MindError], str, str]:
    """The kind of error, what was wrong, and what to do, by a problem document or the status."""
    document = _document(reply.content)
    code = document.get("code")
    if isinstance(code, str):
        said = [document.get(name) for name in ("detail", "title", "hint")]
        # The key is hidden, should it be there.
        texts = [server.hidden(x)[:_LONGEST] if isinstance(x, str) else "" for x in said]
        unknown = errors.ServerFailure if reply.status >= _FROM_HERE else MindError
        kind = codec.error_of(code) or _FAMILIES.get(reply.status, unknown)
        return kind, texts[0] or texts[1], texts[2]
    where = f"the server at {server.where} answered {_named(reply.status)}"
    if HTTPStatus.MULTIPLE_CHOICES <= reply.status < HTTPStatus.BAD_REQUEST:
        place = server.shown(reply.headers.get("location", ""))
        return errors.InvalidAnswer, f"{where} and points to {place!r}, which is not followed", ""
    excerpt = server.shown(reply.content.decode(errors="replace")) or "nothing"
    unknown = errors.ServerFailure if reply.status >= _FROM_HERE else errors.InvalidAnswer
    return _BY_OTHERS.get(reply.status, unknown), f"{where}: {excerpt}", ""


def _document(content: bytes) -> Mapping[str, object]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
