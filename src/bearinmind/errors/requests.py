"""A request to the server cannot be accepted as it was sent."""

from __future__ import annotations

from collections.abc import Sequence

from bearinmind.errors.input import InvalidInput


class InvalidRequest(InvalidInput):
    """The request cannot be accepted as it is."""

    hint = "/openapi.json of the server describes every field."
    #: Of each field at fault: its name, the kind of fault, and what is wrong.
    fields: Sequence[tuple[str, str, str]] = ()


class UnreadableRequest(InvalidInput):
    """The request cannot be read."""

    hint = "Send one JSON object, in UTF-8."


class HeadTooLong(InvalidInput):
    """The head of the request is longer than the server reads."""

    hint = "Send shorter headers."


class WrongMediaType(InvalidInput):
    """The body of the request is of another kind than the server reads."""

    hint = "Send JSON, with `Content-Type: application/json`."


class MethodNotAllowed(InvalidInput):
    """The path is not asked with this method."""

    hint = "The `Allow` header of the answer names the methods."


class AddressTooLong(InvalidInput):
    """The address of the request is longer than the server reads."""

    hint = "Ask for less at once."


class RequestTooLarge(InvalidInput):
    """The request is larger than the server takes."""

    hint = "Send less at once, or raise the `request_bytes` setting of the server."
