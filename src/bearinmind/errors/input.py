"""Errors of input that cannot be accepted; nothing was changed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from bearinmind.errors.base import MindError


class InvalidInput(MindError):
    """The input cannot be accepted."""

    #: Of each field at fault: its name, the kind of fault, and what is wrong.
    fields: Sequence[tuple[str, str, str]] = ()


class EmptyContent(InvalidInput):
    """A memory needs content: the text given is empty."""

    hint = "Say what is to be remembered, in a sentence or two."


class ContentTooLong(InvalidInput):
    """The content is longer than a memory may be."""

    hint = (
        "Split it by meaning into memories that each stand alone, "
        "or raise the `content_limit` setting."
    )


class InvalidText(InvalidInput):
    """The text holds characters that cannot be stored."""

    hint = "Send valid Unicode text (UTF-8) without NUL characters or lone surrogates."


class UnknownCategory(InvalidInput):
    """The category is not one of the configured ones."""


class InvalidTag(InvalidInput):
    """A tag cannot be accepted."""


class InvalidKeyword(InvalidInput):
    """A keyword cannot be accepted."""


class InvalidImportance(InvalidInput):
    """Importance is a number from 0 to 1."""

    hint = "Give a number from 0 (trivial) to 1 (vital); 0.5 is the default."


class InvalidTime(InvalidInput):
    """A time cannot be accepted."""

    hint = (
        "Use ISO 8601, such as 2026-11-15 or 2026-11-15T09:30:00+01:00 (UTC when no zone is given)."
    )


class InvalidProvenance(InvalidInput):
    """A provenance field cannot be accepted."""


class InvalidId(InvalidInput):
    """The text is not a memory id or the beginning of one."""

    hint = (
        "An id is 12 letters and digits, such as k7f29qmxt4hd; any unambiguous beginning will do."
    )


class InvalidQuery(InvalidInput):
    """The query cannot be accepted."""


class InvalidLink(InvalidInput):
    """The kind of link is none of the closed set, or it cannot be kept, or would have no effect."""


class InvalidRecord(InvalidInput):
    """A record of the import cannot be read."""


class InvalidSetting(InvalidInput):
    """A setting has a value it cannot have."""

    hint = "Correct it where it comes from; `bearinmind config` lists every setting."


class InvalidData(InvalidInput):
    """An evaluation set or a result cannot be used as it is."""

    hint = "`bearinmind bench data validate DIR` lists everything that is wrong with a set."


class InvalidJson(InvalidInput):
    """The JSON does not describe what it should."""

    hint = "Use the same release of Bear in Mind on both sides; the reference describes the shapes."


class InvalidRetriever(InvalidInput):
    """There is no such retriever."""

    hint = "Give module:Class, a class with `retrieve(query, k) -> ids`, or the name of a baseline."


class TooFewQueries(InvalidInput):
    """There are too few queries to conclude anything."""

    hint = "Add queries: the result of so few may be chance."


class MissingExtra(InvalidInput):
    """This needs an optional part of Bear in Mind that is not installed."""

    hint = "Install it: pip install 'bearinmind[bench]'."

    def __init__(self, message: str = "", *, extra: str = "", hint: str = "") -> None:
        wanted = f"Install it: {_installer(Path(sys.prefix))} 'bearinmind[{extra}]'."
        super().__init__(message, hint=" ".join(filter(None, (extra and wanted, hint))))


def _installer(environment: Path) -> str:
    """What adds to an environment: the program that made it and left its receipt there."""
    if (environment / "uv-receipt.toml").exists():
        return "uv tool install --force"
    if (environment / "pipx_metadata.json").exists():
        return "pipx install --force"
    return "pip install"


class SecretInClearField(InvalidInput):
    """A field that is kept in clear holds a secret."""

    hint = (
        "Nothing was stored. Put the secret into the content, which is encrypted, or leave it out."
    )


class InvalidVaultKey(InvalidInput):
    """The text is not a key of the vault."""

    hint = "A key is 32 random bytes in base64; `bearinmind secret key --new` prints one."


class InvalidUser(InvalidInput):
    """The text cannot be the name of a user."""

    hint = "A name is 1 to 64 letters, digits, dots, dashes, underscores or @."


class InvalidShare(InvalidInput):
    """This cannot be shared."""

    hint = "Share a memory of your own, or a tag, with another user: to read or to write."


class InvalidKeyTerms(InvalidInput):
    """A key cannot have these terms."""

    hint = "`bearinmind key create --help` says what a key may have."


class InvalidChange(InvalidInput):
    """A change from a replica or a server cannot be read, or does not belong there."""

    hint = "Use the same release of Bear in Mind on both sides."


class InvalidAgentFile(InvalidInput):
    """A settings file of an agent cannot be used as it is."""

    hint = "Correct the file by hand, or move it away, and try again."


class InvalidRequest(InvalidInput):
    """The request cannot be accepted as it is."""

    hint = "/openapi.json of the server describes every field."


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
    """The path does not allow this method."""

    hint = "The `Allow` header of the answer names the methods."


class AddressTooLong(InvalidInput):
    """The address of the request is longer than the server reads."""

    hint = "Ask for less at once."


class RequestTooLarge(InvalidInput):
    """The request is larger than the server takes."""

    hint = "Send less at once, or raise the `request_bytes` setting of the server."
