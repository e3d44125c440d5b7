"""Trouble: processes that die between two writes, and a network that loses, repeats and delays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from recollect.changes import Verdict
from recollect.errors import FeedRestarted, NotAuthenticated, ServerUnreachable, TimedOut
from recollect.protocols import Store
from recollect.sync.transport import Operation, Pulled, SyncServer

if TYPE_CHECKING:
    from simulating.ledger import Ledger

WRITES = frozenset(
    {
        "put",
        "put_many",
        "replace",
        "purge",
        "add_link",
        "remove_link",
        "add_share",
        "end_share",
        "note",
        "open_feed",
        "close_feed",
        "receive",
        "keep_peer",
        "settle",
        "refuse",
        "carry_vectors",
    }
)


class Crash(BaseException):
    """The process is killed here; nobody catches it, as nobody catches a kill."""


class Dying:
    """A store whose process is killed before or after one of its next writes.

    Every write of a store is one transaction: those are the boundaries that there are.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._left: int | None = None
        self._after = False

    def die(self, writes: int, *, after: bool) -> None:
        """Be killed at the write behind so many."""
        self._left, self._after = writes, after

    def live(self) -> None:
        """Be killed no more."""
        self._left = None

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        return self._watched(found) if name in WRITES else found

    def _watched(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            dies = self._left == 0
            if self._left is not None:
                self._left -= 1
            if dies and not self._after:
                raise Crash
            written = write(*args, **kwargs)
            if dies:
                raise Crash
            return written

        return watched

    @property
    def as_store(self) -> Store:
        """What it is to everybody else."""
        return cast("Store", self)


class Late(NamedTuple):
    """A message that arrives when nobody waits for it any more."""

    epoch: str
    operations: tuple[Operation, ...]


class Network:
    """What is between the machines and the server."""

    def __init__(self, random: Random, server: Callable[[], SyncServer], ledger: Ledger) -> None:
        self.random = random
        self.server = server
        self.ledger = ledger
        self.trouble = 0.0  #: how probable it is that a message gets into any
        self.late: list[Late] = []

    def deliver_late(self) -> None:
        """One of the messages that were delayed arrives, in any order."""
        if self.late:
            epoch, operations = self.late.pop(self.random.randrange(len(self.late)))
            with suppress(FeedRestarted):  # whoever sent it is long gone
                self.server().push(epoch, operations)


class Wire:
    """The server as one machine reaches it; satisfies `SyncServer`."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.is_cut = False  #: a partition
        self.is_locked_out = False  #: the key was revoked
        self.meanwhile: Callable[[], None] | None = None  #: what is done while a message travels

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        """Ask for changes; small pages, so that there are many."""
        self._before()
        limit = min(limit, self.network.random.choice((1, 3, 200)))
        page = self.network.server().pull(epoch, after, limit, space)
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
        verdicts = self.network.server().push(epoch, operations)
        if self._happens(0.3):
            verdicts = self.network.server().push(epoch, operations)  # it arrives twice
        self._go_on()
        if self._happens(0.3):
            raise TimedOut("the answer is lost")
        return verdicts

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
