"""Trouble: a network that loses, repeats and delays, to a server that may die."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import NamedTuple, TypeVar

from bearinmind.changes import Verdict
from bearinmind.errors import (
    FeedRestarted,
    NotAuthenticated,
    ServerUnreachable,
    StoreFailure,
    TimedOut,
)
from bearinmind.sync.model import Operation, Pulled, Server, SharedMemories, SharedPage
from bearinmind.types import MemoryId, UserId
from support.simulator.crashes import Crash
from support.simulator.ledger import Ledger

Answer = TypeVar("Answer")


class Late(NamedTuple):
    """A message that arrives when nobody waits for it any more."""

    epoch: str
    operations: tuple[Operation, ...]


class Network:
    """What is between the machines and the server."""

    def __init__(self, random: Random, ledger: Ledger, server: Callable[[], Server]) -> None:
        self.random = random
        self.ledger = ledger
        self.server = server
        self.revive: Callable[[], None] = lambda: None  #: begins the server anew that died
        self.failures = 0  #: of the server, which lost its database and lives on
        self.trouble = 0.0  #: how probable it is that a message gets into any
        self.late: list[Late] = []

    def ask(self, question: Callable[[Server], Answer]) -> Answer:
        """What the server says, unless it dies of it."""
        try:
            return question(self.server())
        except StoreFailure:
            self.failures += 1
            raise
        except Crash:
            self.revive()
        raise ServerUnreachable("the server died")

    def deliver_late(self) -> None:
        """One of the messages that were delayed arrives, in any order."""
        if self.late:
            late = self.late.pop(self.random.randrange(len(self.late)))
            # Whoever sent it is long gone, and hears of nothing.
            with suppress(FeedRestarted, ServerUnreachable, StoreFailure):
                self.ask(lambda server: server.push(*late))


class Wire:
    """The server as one machine reaches it; satisfies `Server`."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.is_cut = False  #: a partition
        self.is_locked_out = False  #: the key was revoked
        self.meanwhile: Callable[[], None] | None = None  #: what is done while a message travels

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        """Ask for changes; small pages, so that there are many."""
        self._before()
        limit = min(limit, self.network.random.choice((1, 3, 200)))
        page = self.network.ask(lambda server: server.pull(epoch, after, limit, space))
        self.network.ledger.heard(page)
        self._go_on()
        if self._happens(0.3):
            raise TimedOut("the answer is lost")
        return page

    def push(self, epoch: str, operations: Sequence[Operation]) -> Sequence[Verdict]:
        """Ask for changes."""
        self._before()
        self.network.ledger.heard(operations)
        if self._happens(0.3):
            self.network.late.append(Late(epoch, tuple(operations)))
            raise TimedOut("it takes too long")
        verdicts = self.network.ask(lambda server: server.push(epoch, operations))
        if self._happens(0.3):  # it arrives twice
            verdicts = self.network.ask(lambda server: server.push(epoch, operations))
        self.network.ledger.heard(repr(verdicts))
        self._go_on()
        if self._happens(0.3):
            raise TimedOut("the answer is lost")
        return verdicts

    def shared(self, mark: str, after: str) -> SharedPage:
        """Ask what others share."""
        return self._read(lambda server: server.shared(mark, after))

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        """Ask for memories of others."""
        return self._read(lambda server: server.shared_memories(owner, ids, space))

    def _read(self, question: Callable[[Server], Answer]) -> Answer:
        """Ask what changes nothing."""
        self._before()
        answer = self.network.ask(question)
        self._go_on()
        if self._happens(0.3):
            raise TimedOut("the answer is lost")
        return answer

    def _before(self) -> None:
        if self.is_locked_out:
            raise NotAuthenticated
        if self.is_cut or self._happens(0.3):
            raise ServerUnreachable("there is no connection")

    def _go_on(self) -> None:
        """Nobody on the machine waits for an answer: work goes on."""
        if self.meanwhile is not None and self.network.random.random() < 0.2:
            self.meanwhile()

    def _happens(self, probability: float) -> bool:
        return self.network.random.random() < self.network.trouble * probability
