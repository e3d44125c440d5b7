"""The embedders of a process: the configured one, and those of the spaces that a store has."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Self

from bearinmind.errors import EmbedderFailure, MindError
from bearinmind.models.encoder_socket import SocketEmbedder
from bearinmind.protocols import (
    Current,
    Embedder,
    KnownSpace,
    Spaces,
    SpaceState,
    Unavailable,
)
from bearinmind.types import Space

#: Seconds after which a recall looks again which space is the active one. Until then it goes on
#: with the one before, whose vectors are kept.
LOOK = 1.0


class Embedders:
    """Makes each embedder once. Nothing is made, and no model loaded, before it is asked for.

    `choose` makes the configured one, None when semantic recall is off; `remake` makes that of a
    stored space, or raises a `MindError` that says why it cannot.
    """

    def __init__(
        self, choose: Callable[[], Embedder | None], remake: Callable[[Space], Embedder]
    ) -> None:
        self._choose = choose
        self._remake = remake
        self._lock = threading.Lock()
        self._chosen: Embedder | None = None
        self._has_chosen = False
        self._made: dict[str, Embedder] = {}

    @classmethod
    def among(cls, configured: Embedder | None, *others: Embedder) -> Self:
        """These and no other."""
        every = (configured, *others)
        made = {embedder.space.key: embedder for embedder in every if embedder}

        def find(space: Space) -> Embedder:
            if space.key not in made:
                raise EmbedderFailure(f"there is no embedder for the space of {space.model}")
            return made[space.key]

        return cls(lambda: configured, find)

    def configured(self) -> Embedder | None:
        """The embedder of the settings; None when there is to be none.

        Raises:
            MindError: it cannot be made, such as for want of a key.
        """
        with self._lock:
            if not self._has_chosen:
                self._chosen = self._choose()
                self._has_chosen = True
            return self._chosen

    def of(self, space: Space) -> Embedder:
        """The embedder whose vectors belong into a space.

        Raises:
            EmbedderFailure: there is none here.
        """
        with self._lock:
            made = self._made.get(space.key)
        if made is None:
            made = self._remade(space)
            with self._lock:
                made = self._made.setdefault(space.key, made)
        return made

    def close(self) -> None:
        """Release every model and connection."""
        with self._lock:
            made = [*self._made.values(), *filter(None, [self._chosen])]
            self._made.clear()
            self._chosen, self._has_chosen = None, False
        for embedder in made:
            embedder.close()

    def _remade(self, space: Space) -> Embedder:
        """What is stored says enough to make most of them; a folder, say, only settings name."""
        try:
            embedder = self._remake(space)
            found = embedder.space
        except MindError as exc:
            configured = self._matching(space)
            if configured is None:
                raise EmbedderFailure(f"{space.model}: {exc.message}", hint=exc.hint) from exc
            return configured
        if found != space:
            embedder.close()
            raise EmbedderFailure(
                f"{space.model} is not what it was when memories were embedded with it",
                hint="`bearinmind reembed` embeds them again with what is configured now.",
            )
        return embedder

    def _matching(self, space: Space) -> Embedder | None:
        """The configured embedder, if the space is its own."""
        try:
            configured = self.configured()
            found = configured.space if configured else None
        except MindError:  # it being unwell says nothing about the space
            return None
        return configured if found == space else None


class ActiveSpace:
    """Which space answers semantic recall. Reads only, and asks the store now and then.

    `borrow_at` are the sockets at which another process may have its model loaded already.
    """

    def __init__(
        self,
        spaces: Spaces,
        embedders: Embedders,
        *,
        off: bool = False,
        borrow_at: Sequence[Path] = (),
    ) -> None:
        self._spaces = spaces
        self._embedders = embedders
        self._off = off
        self._borrow_at = borrow_at
        self._borrowed: dict[str, SocketEmbedder] = {}
        self._seen: KnownSpace | None = None
        self._looked = -LOOK

    def current(self) -> Current | Unavailable:
        """The active space and its embedder, or why there is none."""
        if self._off:
            return Unavailable("it is turned off", "Set `embedder` to turn it on.", expected=True)
        meaning_off = self._spaces.meaning_off()
        if meaning_off is not None:
            return meaning_off
        active = self._active()
        if active is None:
            return Unavailable("nothing is embedded yet", expected=True)
        space, waiting = active.space, active.waiting
        if self._borrow_at:
            return Current(space, self._borrowing(space), waiting)
        try:
            return Current(space, self._embedders.of(space), waiting)
        except EmbedderFailure as exc:
            return Unavailable(exc.message, exc.hint)

    def look_again(self) -> None:
        """Ask the store anew at the next recall: what was seen last may be gone."""
        self._looked = -LOOK

    def _borrowing(self, space: Space) -> Embedder:
        if space.key not in self._borrowed:
            make = partial(self._embedders.of, space)
            self._borrowed[space.key] = SocketEmbedder(space, self._borrow_at, make)
        return self._borrowed[space.key]

    def _active(self) -> KnownSpace | None:
        now = time.monotonic()
        if self._seen is None or now - self._looked >= LOOK:
            active = [x for x in self._spaces.spaces() if x.state is SpaceState.ACTIVE]
            self._seen = active[0] if active else None
            self._looked = now
        return self._seen
