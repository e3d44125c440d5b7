"""What clients that wait and those that do not have in common when they send."""

from __future__ import annotations

import time
from typing import Any

import httpx

from bearinmind.calls import MOST_BYTES
from bearinmind.errors import InvalidSetting
from bearinmind.surfaces.client.calling import Answered, Lost, Send
from bearinmind.surfaces.client.server import Server

#: Seconds that an idle connection is kept: less than servers do, so that none ends under a call.
_KEPT = 3.0
_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def options(server: Server) -> dict[str, Any]:
    """How an `httpx.Client` or an `httpx.AsyncClient` for a server is made.

    Raises:
        InvalidSetting: no URL can be made of the address.
    """
    try:
        base = httpx.URL(server.where)
    except httpx.InvalidURL as exc:
        raise InvalidSetting(f"{server.where!r} is not the address of a server: {exc}") from None
    return {
        "base_url": base,
        "headers": server.headers(),
        "verify": server.address.scheme == "https",  # else certificates are read in vain
        "follow_redirects": False,  # a key goes to the server it was given for
        "trust_env": not server.is_local,  # a proxy has no business between us and us
        "limits": httpx.Limits(keepalive_expiry=_KEPT),
    }


def request(step: Send, server: Server) -> dict[str, Any]:
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


class Arriving:
    """An answer that comes piece by piece: within its time, and not without end."""

    def __init__(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        self._pieces: list[bytes] = []
        self._size = 0

    def goes_on(self, piece: bytes) -> bool:
        """Take a piece; False when no more are to come.

        Raises:
            httpx.ReadTimeout: the answer has had its time.
        """
        if time.monotonic() > self._deadline:
            raise httpx.ReadTimeout("the answer does not end")
        self._pieces.append(piece)
        self._size += len(piece)
        return self._size <= MOST_BYTES

    def answered(self, response: httpx.Response) -> Answered:
        """The whole of it; one that is too long is cut off, and so cannot be read."""
        return Answered(response.status_code, response.headers, b"".join(self._pieces))


def lost(error: httpx.HTTPError) -> Lost:
    """That no answer came, and why."""
    sent = not isinstance(error, _NEVER_SENT)
    if isinstance(error, httpx.TimeoutException):
        return Lost("does not answer in time", sent)
    if isinstance(error, httpx.ConnectError):
        return Lost(f"cannot be reached: {error}", sent)
    return Lost(f"broke off: {str(error) or type(error).__name__}", sent)
