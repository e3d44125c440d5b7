"""Somebody else on the server, who shares with the user whose machines are simulated.

What is shared in the end must be on every machine, and of everything else not a word.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from bearinmind.errors import MindError
from bearinmind.protocols import Store
from bearinmind.remember.pipeline import Changes, Remember
from bearinmind.types import (
    Draft,
    Filter,
    Memory,
    MemoryId,
    Right,
    Scope,
    Share,
    Stored,
    UserId,
    copy_name,
    owner_of,
)
from support.simulator.clocks import START, Clock
from support.simulator.ledger import Broken, memories_of

_TAGS = ("blue", "yellow")
_ALL = 10_000


class Neighbour:
    """Works on the server, and shares with one reader."""

    def __init__(
        self, reader: UserId, random: Random, clock: Clock, remember: Callable[[], Remember]
    ) -> None:
        self.reader = reader
        self.scope = Scope(user=UserId(f"bob.{reader}"))
        self._random = random
        self._clock = clock
        self._remember = remember
        self._marks = itertools.count()
        self.written: set[str] = set()  #: the words that were ever said

    # ---- what is done on the server ------------------------------------------------------------

    def work(self) -> None:
        """Do one thing; what is refused was not done."""
        doing: Sequence[Callable[[Remember], object]] = (
            self._store,
            self._store,
            self._update,
            self._delete,
            self._purge,
            self._share,
            self._share,
            self._unshare,
        )
        try:
            self._random.choice(doing)(self._remember())
        except MindError:
            return

    def _text(self) -> str:
        mark = f"neighbourly{next(self._marks)}x"
        self.written.add(mark)
        return f"a word of the {mark}"

    def _some(self, remember: Remember, *, deleted: bool = False) -> Memory:
        held = memories_of(remember.store, self.scope)
        found = [memory for memory in held if (memory.deleted_at is not None) == deleted]
        return self._random.choice(found) if found else self._store(remember)

    def _store(self, remember: Remember) -> Memory:
        draft = Draft(content=self._text(), tags=(self._random.choice(_TAGS),))
        outcome = remember.add(self.scope, draft)
        assert isinstance(outcome, Stored)
        return outcome.memory

    def _update(self, remember: Remember) -> None:
        changes = (Changes(content=self._text()), Changes(tags=(self._random.choice(_TAGS),)))
        remember.update(self.scope, self._some(remember), self._random.choice(changes))

    def _delete(self, remember: Remember) -> None:
        remember.delete(self.scope, self._some(remember))

    def _purge(self, remember: Remember) -> None:
        gone = self._some(remember, deleted=True)
        remember.purge(self.scope, remember.plan_purge(self.scope, [gone]))

    def _share(self, remember: Remember) -> None:
        by_tag = self._random.random() < 0.4
        share = Share(
            owner=self.scope.user,
            reader=self.reader,
            right=self._random.choice([*Right]),
            memory=None if by_tag else self._some(remember).id,
            tag=self._random.choice(_TAGS) if by_tag else None,
            created_at=self._clock(),
        )
        remember.store.add_share(self.scope, share)

    def _unshare(self, remember: Remember) -> None:
        shares = remember.store.shares(self.scope)
        if shares:
            remember.store.end_share(self.scope, self._random.choice(shares))

    # ---- what must hold ------------------------------------------------------------------------

    def check(self, server: Store, machines: dict[str, Store], traces: dict[str, bytes]) -> None:
        """Every machine has what is shared now, and nothing else of it.

        Raises:
            Broken: it has more, or less.
        """
        view = Filter(scope=self.scope, reader=self.reader, now=START)
        ids = [seen.id for seen in server.visible_after(view, "", _ALL)]
        shared = server.visible(view, ids)
        mirror = Scope(user=copy_name(self.scope.user, self.reader))
        for name, store in machines.items():
            if _versions(store, mirror) != {id_: [shared[id_]] for id_ in ids}:
                raise Broken(f"{name} has something else than what is shared with its user")
        said = {word for memory in shared.values() for word in memory.content.split()}
        for name, found in traces.items():
            left = [word for word in self.written - said if word.encode() in found]
            if left:
                raise Broken(f"the file of {name} still holds {left}, which is not shared")


def _versions(store: Store, scope: Scope) -> dict[MemoryId, list[Memory]]:
    """Every version of what is kept under a name."""
    found: dict[MemoryId, list[Memory]] = {}
    for memory in memories_of(store, scope):
        versions = store.versions(scope, memory.id)
        found[memory.id] = [replace(each, owner=owner_of(each.owner)) for each in versions]
    return found
