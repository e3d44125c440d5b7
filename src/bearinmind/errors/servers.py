"""A server does not answer, or not as it should, or nothing can be fetched from it."""

from __future__ import annotations

from bearinmind.errors.base import MindError


class ServerFailure(MindError):
    """The server does not answer, or not as it should."""


class ServerOverloaded(ServerFailure):
    """The server has as much to do as it can take on."""

    hint = "Try again after as long as `Retry-After` says."

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after  #: seconds


class TimedOut(ServerFailure):
    """The answer took longer than the server waits."""

    hint = "What was asked for may still be done: look before you ask again."


class ServerUnreachable(ServerFailure):
    """The server cannot be reached."""

    hint = "Check that it runs (`bearinmind serve`) and that the address is right."


class InvalidAnswer(ServerFailure):
    """The server's answer cannot be read."""

    hint = "Check that the address is that of a Bear in Mind server of the same version."


class DownloadFailed(MindError):
    """Something cannot be fetched from where it is published."""

    hint = "Check the connection; `--from` names another place."
