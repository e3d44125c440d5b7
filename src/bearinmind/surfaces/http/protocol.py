"""How requests are read off the wire: by uvicorn, with bounds that it has not.

It reads a head of any length for as long as it takes, so that a few who never end theirs could
take all memory or all connections.
"""

from __future__ import annotations

import asyncio
import secrets
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bearinmind.errors import HeadTooLong, MindError, UnreadableRequest
from bearinmind.surfaces.http import problems

LONGEST_HEAD = 65_536  # bytes of a request line and headers
HEAD_SECONDS = 30.0  # for the first head of a connection


class BoundedProtocol(HttpToolsProtocol):
    """Reads requests whose heads are neither too long nor too late."""

    _in_head = True
    _head_bytes = 0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless this head is too long by now."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > LONGEST_HEAD and not self.transport.is_closing():
            self._refuse(
                HeadTooLong(f"the head of the request is longer than {LONGEST_HEAD:,} bytes")
            )

    def send_400_response(self, msg: str) -> None:
        """Tell somebody that what they sent is not HTTP."""
        self._refuse(UnreadableRequest(msg, hint="Send HTTP/1.1."))

    def _refuse(self, error: MindError) -> None:
        """Answer before anybody was asked, and end the connection."""
        told = problems.answer(error, secrets.token_hex(16), {"Connection": "close"})
        status = HTTPStatus(told.status_code)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
        lines += [name + b": " + value for name, value in told.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", told.body]))
        self.transport.close()

    def on_headers_complete(self) -> None:
        """What comes now is a body."""
        self._in_head = False
        self._arrived()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """What comes now is another head."""
        super().on_message_complete()
        self._in_head, self._head_bytes = True, 0

    def _arrived(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
