"""What an error means on each surface: one table, by type, never by the text of a message."""

from __future__ import annotations

from http import HTTPStatus
from typing import NamedTuple

from bearinmind import errors
from bearinmind.errors import MindError


class InternalError(MindError):
    """Bear in Mind did something that it was not meant to do."""

    hint = "This is a bug: please report it, with what `--debug` before the command prints."


class Meaning(NamedTuple):
    """How surfaces tell an error."""

    error: type[MindError]
    exit_code: int  #: of a command
    status: HTTPStatus
    rpc_code: int  #: of a protocol error of MCP; a tool says an error in its result


_PARSE_ERROR = -32700
_INVALID_REQUEST = -32600
_INVALID_PARAMS = -32602  # of JSON-RPC
_NOT_FOUND = -32002  # of MCP: no such resource
_SERVER = -32000  # the first of those that JSON-RPC leaves to servers

#: The first row that an error belongs to says what it means.
MEANINGS: tuple[Meaning, ...] = (
    Meaning(errors.RequestTooLarge, 2, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _INVALID_PARAMS),
    Meaning(errors.UnreadableRequest, 2, HTTPStatus.BAD_REQUEST, _PARSE_ERROR),
    Meaning(errors.WrongMediaType, 2, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, _INVALID_REQUEST),
    Meaning(errors.MethodNotAllowed, 2, HTTPStatus.METHOD_NOT_ALLOWED, _INVALID_REQUEST),
    Meaning(errors.AddressTooLong, 2, HTTPStatus.REQUEST_URI_TOO_LONG, _INVALID_REQUEST),
    Meaning(errors.HeadTooLong, 2, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, _INVALID_REQUEST),
    Meaning(errors.InvalidInput, 2, HTTPStatus.UNPROCESSABLE_ENTITY, _INVALID_PARAMS),
    Meaning(errors.NotFound, 3, HTTPStatus.NOT_FOUND, _NOT_FOUND),
    Meaning(errors.VersionConflict, 4, HTTPStatus.PRECONDITION_FAILED, _SERVER - 1),
    Meaning(errors.Conflict, 4, HTTPStatus.CONFLICT, _SERVER - 1),
    Meaning(errors.StoreFailure, 5, HTTPStatus.SERVICE_UNAVAILABLE, _SERVER - 2),
    Meaning(errors.NotAuthenticated, 6, HTTPStatus.UNAUTHORIZED, _SERVER - 3),
    Meaning(errors.Later, 6, HTTPStatus.TOO_MANY_REQUESTS, _SERVER - 4),
    Meaning(errors.AccessDenied, 6, HTTPStatus.FORBIDDEN, _SERVER - 3),
    Meaning(errors.TimedOut, 7, HTTPStatus.GATEWAY_TIMEOUT, _SERVER - 5),
    Meaning(errors.ServerFailure, 7, HTTPStatus.SERVICE_UNAVAILABLE, _SERVER - 5),
    Meaning(errors.VaultFailure, 1, HTTPStatus.SERVICE_UNAVAILABLE, _SERVER - 6),
    Meaning(errors.ModelFailure, 1, HTTPStatus.SERVICE_UNAVAILABLE, _SERVER - 6),
    Meaning(errors.MindError, 1, HTTPStatus.INTERNAL_SERVER_ERROR, _SERVER),
)


def meaning_of(error: MindError | type[MindError]) -> Meaning:
    """How surfaces tell this error."""
    kind = error if isinstance(error, type) else type(error)
    return next(each for each in MEANINGS if issubclass(kind, each.error))
