"""How much is told at once, and the space of the vectors that come along."""

from __future__ import annotations

from collections.abc import Sequence

from bearinmind.protocols import History, KnownSpace, SpaceState, SubjectState

PAGE_BYTES = 500_000  # of what changes say: an answer that any proxy lets through
_BESIDE_CONTENT = 500  # bytes of a version that are not its content, about


def active_space(spaces: Sequence[KnownSpace], key: str | None = None) -> KnownSpace | None:
    """The space that answers semantic recall, perhaps only if it is a certain one."""
    found = [each for each in spaces if each.state is SpaceState.ACTIVE]
    return next((each for each in found if key is None or each.space.key == key), None)


def size_of(state: SubjectState) -> int:
    """About how many bytes it takes to tell a state."""
    if not isinstance(state, History):
        return _BESIDE_CONTENT
    texts = sum(len(memory.content.encode()) for memory in state.versions)
    sealed = sum(len(record.ciphertext) for record in state.sealed)
    return texts + sealed * 2 + _BESIDE_CONTENT * (len(state.versions) + len(state.sealed))
