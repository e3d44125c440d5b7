"""Whoever asks may not, or not now."""

from __future__ import annotations

from bearinmind.errors.base import MindError


class AccessDenied(MindError):
    """Whoever asks may not have this."""


class NotAuthenticated(AccessDenied):
    """There is no key, or it is not good any more."""

    hint = "Send `Authorization: Bearer KEY`; `bearinmind key create` makes a key."


class NotAllowed(AccessDenied):
    """This key, or this user, may not do that."""

    hint = "Ask the owner of the memory for the right, or use a key with more access."


class Later(AccessDenied):
    """It may be asked again after a while."""

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after  #: seconds


class TooManyRequests(Later):
    """The key has been used too often in the last minute."""

    hint = "Wait as long as `Retry-After` says."


class QuotaUsedUp(Later):
    """The key has been used for as many writes as it may be in a day."""

    hint = "Wait until tomorrow (UTC), or have the quota of the key raised."
