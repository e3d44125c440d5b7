"""How much a server takes on: so many requests at once, so many in wait, so long each."""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import TypeVar

from starlette.requests import ClientDisconnect, Request

from bearinmind.errors import RequestTooLarge, ServerOverloaded, TimedOut

Result = TypeVar("Result")

_LOOK = 0.2  # seconds after which a thread that waits looks whether it is to end


class Pool:
    """Threads that work on requests, and a queue before them that is never longer than it may be.

    Verbs block: they read and write files and ask servers. The loop that talks to clients never
    waits for one. Only that loop calls `run`, so counting needs no lock.
    """

    def __init__(self, name: str, *, threads: int, queue: int, seconds: float | None) -> None:
        self.threads = threads
        self.running = 0  #: requests in hand, those that wait included
        self._most = threads + queue
        self._running_of: Counter[str] = Counter()
        self._most_of_one = max(1, (threads + queue) // 2)
        self._seconds = seconds
        self._closing = False
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)

    @property
    def waiting(self) -> int:
        """Requests that wait for a thread."""
        return max(0, self.running - self.threads)

    async def run(self, job: Callable[[], Result], *, seconds: float | None = None) -> Result:
        """Have a thread do something, and wait for so long, or for as long as the pool waits."""
        begun = self.begin(job)
        answer = asyncio.wrap_future(begun)
        # An error that comes when nobody waits for the answer any more is looked at, too.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        seconds = seconds or self._seconds
        try:
            async with asyncio.timeout(seconds) as patience:
                return await asyncio.shield(answer)
        except TimeoutError:
            if not patience.expired():  # the job's own
                raise
            raise _timed_out(seconds, never_begun=begun.cancel()) from None

    def begin(self, job: Callable[[], Result], *, user: str | None = None) -> Future[Result]:
        """Have a thread do something, and wait for nothing; a user has half of the places."""
        if user is not None and self._running_of[user] >= self._most_of_one:
            raise ServerOverloaded(
                f"{self._running_of[user]:,} requests of {user} are in hand, as many as may be",
                hint="Wait for them to end.",
            )
        if self.running >= self._most:
            raise ServerOverloaded(f"{self.running:,} requests are in hand, as many as may be")
        loop = asyncio.get_running_loop()
        self.running += 1
        try:
            begun = self._executor.submit(contextvars.copy_context().run, job)
        except RuntimeError:  # it is being closed
            self.running -= 1
            raise ServerOverloaded("the server is about to stop") from None
        if user is not None:
            self._running_of[user] += 1
        begun.add_done_callback(lambda _: loop.call_soon_threadsafe(self._leave, user))
        return begun

    def _leave(self, user: str | None) -> None:
        self.running -= 1
        if user is not None:
            self._running_of[user] -= 1

    def wait_for(self, awaited: Future[Result], seconds: float) -> Result:
        """What the loop answers to a thread of this pool; no thread waits on when it is closed."""
        until = monotonic() + seconds
        while True:
            try:
                return awaited.result(_LOOK)
            except TimeoutError:
                if awaited.done() or self._closing or monotonic() > until:
                    awaited.cancel()
                    raise

    def close(self) -> None:
        """Finish what was begun, except for what waits for a client."""
        self._closing = True
        self._executor.shutdown(wait=True)


def _timed_out(seconds: float | None, *, never_begun: bool) -> TimedOut:
    if never_begun:
        return TimedOut(
            f"the request waited {seconds:g} seconds for its turn, and was not begun",
            hint="Try again later; the server has much to do.",
        )
    return TimedOut(
        f"the answer took longer than {seconds:g} seconds",
        hint="What was asked for may still be done. Look before you ask again, or send an "
        "Idempotency-Key; `request_seconds` sets how long the server waits.",
    )


async def body_of(request: Request, *, most: int, seconds: float) -> bytes:
    """The body of a request."""
    said = request.headers.get("Content-Length", "")
    if said.isdigit() and int(said) > most:
        raise _too_large(most)
    found = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                found += part
                if len(found) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise TimedOut(
            f"the body of the request did not arrive within {seconds:g} seconds",
            hint="Send it again, faster or in smaller parts.",
        ) from None
    except ClientDisconnect:
        raise TimedOut("the client left before its request was whole") from None
    return bytes(found)


def _too_large(most: int) -> RequestTooLarge:
    return RequestTooLarge(f"the body of the request is longer than {most:,} bytes")
