"""The embedders of a process: the configured one, and those of the spaces of a store."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Self

from bearinmind.errors import EmbedderFailure, MindError
from bearinmind.models import encoder_socket, forks
from bearinmind.models.encoder_socket import SocketEmbedder
from bearinmind.protocols import Current, Embedder, ReadPairs, Spaces, Unavailable
from bearinmind.types import Space

#: Seconds after which a recall looks again which space is the active one. Until then it goes on
#: with the one before, whose vectors are kept.
LOOK = 1.0
#: Seconds that a recall waits for the model that reads memories with the question. A few texts
#: take a tenth of that, on a busy machine too.
READ_SECONDS = 3.0
_QUERIES_REMEMBERED = 32


class Embedders:
    """Makes each embedder once, when it is first needed.

    `choose` makes the configured one, None when semantic recall is off; `remake` makes that of a
    stored space, or raises a `MindError`.
    """

    def __init__(
        self, choose: Callable[[], Embedder | None], remake: Callable[[Space], Embedder]
    ) -> None:
        self._chosen = forks.MadeOnce(choose)
        self._remake = remake
        self._lock = forks.Lock()
        self._made: dict[str, Embedder] = {}

    @classmethod
    def among(cls, configured: Embedder | None, *others: Embedder) -> Self:
        """Embedders that were made already, and no others."""
        every = (configured, *others)
        made = {embedder.space.key: embedder for embedder in every if embedder}

        def find(space: Space) -> Embedder:
            if space.key not in made:
                raise EmbedderFailure(f"there is no embedder for the space of {space.model}")
            return made[space.key]

        return cls(lambda: configured, find)

    def configured(self) -> Embedder | None:
        """The embedder of the settings; None when semantic recall is off."""
        return self._chosen.configured()

    def of(self, space: Space) -> Embedder:
        """The embedder of a space; raises `EmbedderFailure` when it cannot be made."""
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
            made = [*self._made.values()]
            self._made.clear()
        for embedder in made:
            embedder.close()
        self._chosen.close()

    def _remade(self, space: Space) -> Embedder:
        """Make the embedder of a stored space; a folder, for example, only the settings name."""
        try:
            embedder = self._remake(space)
            present = embedder.space
        except MindError as exc:
            configured = self._matching(space)
            if configured is None:
                raise EmbedderFailure(f"{space.model}: {exc.message}", hint=exc.hint) from exc
            return configured
        if present != space:
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
            matches = configured is not None and configured.space == space
        except MindError:  # the reason why it cannot be remade matters more
            return None
        return configured if matches else None


class RecentQueries:
    """An embedder that remembers the vectors of the last few queries: a question may come again.

    It owns nothing: the embedder is closed by whoever made it.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.space = embedder.space
        self.embed_memories = embedder.embed_memories
        self.embed_query = lru_cache(_QUERIES_REMEMBERED)(embedder.embed_query)

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine."""
        return self.embedder.leaves_machine

    def close(self) -> None:
        """Forget all queries."""
        self.embed_query.cache_clear()


class ActiveSpace:
    """The space that answers semantic recall, which the store is asked for now and then.

    `sockets` are those of a worker that may have the model loaded already.
    """

    def __init__(
        self,
        spaces: Spaces,
        embedders: Embedders,
        *,
        off: bool = False,
        sockets: Sequence[Path] = (),
    ) -> None:
        self._spaces = spaces
        self._embedders = embedders
        self._off = off
        self._sockets = sockets
        self._remote: dict[str, RecentQueries] = {}
        self._recent: RecentQueries | None = None
        self._seen: Space | None = None
        self._looked = -LOOK

    def current(self) -> Current | Unavailable:
        """The active space and its embedder, or why there is none."""
        if self._off:
            return Unavailable("it is turned off", "Set `embedder` to turn it on.", expected=True)
        meaning_off = self._spaces.meaning_off()
        if meaning_off is not None:
            return meaning_off
        space = self._active()
        if space is None:
            return Unavailable("nothing is embedded yet", expected=True)
        if self._sockets:
            if space.key not in self._remote:
                make = partial(self._embedders.of, space)
                remote = SocketEmbedder(space, self._sockets, make)
                self._remote[space.key] = RecentQueries(remote)
            return Current(space, self._remote[space.key])
        try:
            embedder, recent = self._embedders.of(space), self._recent
            if recent is None or recent.embedder is not embedder:
                recent = self._recent = RecentQueries(embedder)
            return Current(space, recent)
        except EmbedderFailure as exc:
            return Unavailable(exc.message, exc.hint)

    def pair_reader(self) -> ReadPairs | None:
        """What reads texts together, if the store is one that a model reads."""
        from bearinmind.models.factory import pair_reader  # noqa: PLC0415  which makes embedders

        current = self.current()
        embedder = None if isinstance(current, Unavailable) else current.embedder
        own = pair_reader(embedder, READ_SECONDS)
        if own is None or not self._sockets:
            return own
        return partial(encoder_socket.read_pairs, self._sockets, own)

    def look_again(self) -> None:
        """Ask the store again at the next recall."""
        self._looked = -LOOK

    def _active(self) -> Space | None:
        now = time.monotonic()
        if self._seen is None or now - self._looked >= LOOK:
            self._seen = self._spaces.active_space()
            self._looked = now
        return self._seen
