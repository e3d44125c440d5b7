"""The protocol over standard input and output, as a client starts it on its own machine."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from typing import TextIO

import anyio
from mcp.server.stdio import stdio_server

from bearinmind.surfaces.http import logs
from bearinmind.surfaces.http.middleware import Pool
from bearinmind.surfaces.mcp.server import build
from bearinmind.surfaces.mcp.tools import Context
from bearinmind.surfaces.verbs.verb import Request, Verb

_THREADS = 8  # one client, which seldom asks more at once
_QUEUE = 1_000  # calls that wait; a client that sends more is told to wait
_AHEAD = 64  # lines that are read before they are looked at
_STANDARD_INPUT = 0


def serve(
    ask: Callable[[Verb, Request], object],
    categories: Sequence[str] = (),
    *,
    with_extra: bool = False,
) -> None:
    """Answer one client until it closes the connection, or until a signal; `ask` may block.

    Nothing but the protocol is written to standard output.
    """
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(message)s")
    logs.set_up(sys.stderr)
    # A shell that starts it in the background may make it ignore this signal, and the other too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    pool = Pool("bearinmind-verb", threads=_THREADS, queue=_QUEUE, seconds=None)

    async def ask_in_thread(_: Context, verb: Verb, request: Request) -> object:
        return await pool.run(lambda: ask(verb, request))

    server = build(ask_in_thread, categories, with_extra=with_extra)
    lines = Lines(_taken_input())

    async def answer() -> None:
        async with stdio_server(stdin=lines) as (read, write):
            await server.run(read, write, server.create_initialization_options())

    try:
        anyio.run(answer)
    except BaseExceptionGroup as group:
        # A signal ended the server while a message was handed to it: the reader finds it gone.
        if group.split(anyio.BrokenResourceError)[1] is not None:
            raise
        raise KeyboardInterrupt from group
    finally:
        pool.close()


class Lines(anyio.AsyncFile[str]):
    """Lines that a thread reads for which nobody waits.

    A read that blocks ends only with its input. A thread that waits for it cannot be stopped.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[str]:
        """The lines, until the input ends."""
        lines: asyncio.Queue[str] = asyncio.Queue()
        room = threading.Semaphore(_AHEAD)
        loop = asyncio.get_running_loop()

        def read() -> None:
            with suppress(RuntimeError):  # nobody is there any more
                for line in self._stream:
                    room.acquire()
                    loop.call_soon_threadsafe(lines.put_nowait, line)
                loop.call_soon_threadsafe(lines.put_nowait, "")

        threading.Thread(target=read, name="bearinmind-input", daemon=True).start()
        while line := await lines.get():
            room.release()
            yield line


def _taken_input() -> TextIO:
    """Standard input, which from now on is empty for everybody else, such as a program we start."""
    ours = os.dup(_STANDARD_INPUT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _STANDARD_INPUT)
    os.close(nothing)
    return os.fdopen(ours, encoding="utf-8", errors="replace", closefd=False)
