"""What went wrong, as the same error that the verb raises in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from bearinmind import errors
from bearinmind.calls import wanted_pause
from bearinmind.errors import MindError
from bearinmind.surfaces.client.calling import Answered, Lost, Reply
from bearinmind.surfaces.client.server import Server
from bearinmind.surfaces.failures import MEANINGS

_LONGEST = 2_000  # characters of a message or a hint that are taken over
#: Statuses that others than Bear in Mind answer too, such as a proxy before it.
_BY_OTHERS: Mapping[int, type[MindError]] = {
    HTTPStatus.UNAUTHORIZED: errors.NotAuthenticated,
    HTTPStatus.FORBIDDEN: errors.NotAllowed,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: errors.RequestTooLarge,
    HTTPStatus.TOO_MANY_REQUESTS: errors.TooManyRequests,
    HTTPStatus.SERVICE_UNAVAILABLE: errors.ServerOverloaded,
    HTTPStatus.GATEWAY_TIMEOUT: errors.TimedOut,
}
_FROM_HERE = HTTPStatus.INTERNAL_SERVER_ERROR  # on, what is wrong is wrong with the server
#: What is wrong with a server until somebody sees to it.
_LASTING = (
    errors.StoreReadOnly,
    errors.StoreFull,
    errors.StoreDamaged,
    errors.StoreTooNew,
    errors.StoreUnfinished,
    errors.VaultFailure,
)
_BY_CODE: Mapping[str, type[MindError]] = {
    kind.code: kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, MindError)
}


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
        """The error that tells it, and why no more was tried."""
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
    kind, problem, hint = _told(reply, server)
    turned_away = issubclass(kind, errors.Later | errors.ServerOverloaded | errors.StoreBusy)
    return Trouble(
        kind=kind,
        problem=problem,
        hint=hint,
        retry_after=retry_after,
        passing=turned_away or (reply.status >= _FROM_HERE and not issubclass(kind, _LASTING)),
        # Whoever says when to come again has turned the call away.
        undone=turned_away and retry_after is not None,
    )


def kind_of(code: str) -> type[MindError] | None:
    """The error that a server means by a code, if this version knows it."""
    return _BY_CODE.get(code)


def unreadable(server: Server, problem: str) -> errors.InvalidAnswer:
    """An answer that says it is good, and is none."""
    return errors.InvalidAnswer(f"the server at {server.where} {server.shown(problem)}")


def _told(reply: Answered, server: Server) -> tuple[type[MindError], str, str]:
    """The kind of error, what was wrong, and what to do, by a problem document or the status."""
    document = _document(reply.content)
    code = document.get("code")
    if isinstance(code, str):
        kind = _BY_CODE.get(code) or _family(reply.status)
        message = _taken(document.get("detail"), server) or _taken(document.get("title"), server)
        return kind, message, _taken(document.get("hint"), server)
    named = _named(reply.status)
    where = f"the server at {server.where} answered {named}"
    if HTTPStatus.MULTIPLE_CHOICES <= reply.status < HTTPStatus.BAD_REQUEST:
        place = server.shown(reply.headers.get("location", ""))
        return errors.InvalidAnswer, f"{where} and points to {place!r}, which is not followed", ""
    said = server.shown(reply.content.decode(errors="replace")) or "nothing"
    kind = _BY_OTHERS.get(reply.status, errors.InvalidAnswer)
    if reply.status >= _FROM_HERE and kind is errors.InvalidAnswer:
        kind = errors.ServerFailure
    return kind, f"{where}: {said}", ""


def _family(status: int) -> type[MindError]:
    """What an error is that this version does not know, by its status."""
    if status >= _FROM_HERE:
        return errors.TimedOut if status == HTTPStatus.GATEWAY_TIMEOUT else errors.ServerFailure
    return next((each.error for each in MEANINGS if each.status == status), MindError)


def _document(content: bytes) -> Mapping[str, object]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _taken(text: object, server: Server) -> str:
    """A text of a problem document, without the key should it be there."""
    if not isinstance(text, str):
        return ""
    return server.hidden(text)[:_LONGEST]


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
