"""What a store holds that questions can be made from. Sensitive memories are never looked at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bearinmind import analysis
from bearinmind.app import Mind
from bearinmind.recall.parse import LARGEST_POOL
from bearinmind.recall.supersession import heads
from bearinmind.types import Link, LinkKind, Memory, MemoryId, State, Whose

#: Links that say: whoever reads the source will want the target.
TELLING = frozenset(LinkKind) - {LinkKind.SUPERSEDES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """A text that was true once, and the live memory that took its place."""

    text: str
    present: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """The memories of one user, as they are now and as they were."""

    live: tuple[Memory, ...]
    links: tuple[Link, ...]  #: telling ones, between live memories
    former: tuple[Former, ...]
    sensitive: int  #: live memories that were left alone

    @property
    def by_id(self) -> Mapping[MemoryId, Memory]:
        """The live memories."""
        return {memory.id: memory for memory in self.live}


def read(app: Mind) -> Holdings:
    """Everything at once; a personal store fits into memory many times over."""
    everything = [*_listed(app, State.LIVE)]
    plain = [memory for memory in everything if not memory.sensitive]
    # Where two say the same, a corpus keeps one of them.
    live = tuple({analysis.fingerprint(m.content): m for m in reversed(plain)}.values())[::-1]
    ids = {memory.id for memory in live}
    links = [link for link in app.transfer.links() if link.removed_at is None]
    return Holdings(
        live=live,
        links=tuple(
            link
            for link in links
            if link.kind in TELLING and link.source in ids and link.target in ids
        ),
        former=(*_earlier_versions(app, live), *_superseded(app, links, ids)),
        sensitive=len(everything) - len(plain),
    )


def _listed(app: Mind, state: State) -> Iterator[Memory]:
    last = None
    while page := app.list(
        limit=LARGEST_POOL, after=last, newest_first=False, states=[state], owner=Whose.ME
    ):
        yield from page
        last = page[-1].id


def _earlier_versions(app: Mind, live: tuple[Memory, ...]) -> Iterator[Former]:
    for memory in live:
        if memory.version > 1:
            for version in app.versions(memory.id):
                if version.content != memory.content and not version.sensitive:
                    yield Former(text=version.content, present=memory.id)


def _superseded(app: Mind, links: list[Link], live: set[MemoryId]) -> Iterator[Former]:
    superseded = {memory.id: memory for memory in _listed(app, State.SUPERSEDED)}
    there = live | superseded.keys()  # a deleted memory supersedes nothing
    chains = (k for k in links if k.kind is LinkKind.SUPERSEDES and k.source in there)
    for id_, present in heads(chains).items():
        if id_ in superseded and present in live and not superseded[id_].sensitive:
            yield Former(text=superseded[id_].content, present=present)
