"""Who may see and do what with whose memories, as it follows from what was done."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Kept:
    """A memory as the model knows it."""

    owner: str
    tags: tuple[str, ...]
    deleted: bool = False
    sensitive: bool = False
    external: bool = False  #: somebody else than its owner has written it
    newer: list[str] = field(default_factory=list)  #: what superseded it


@dataclass
class Held:
    """A key as the model knows it."""

    id: str
    text: str
    user: str
    access: str
    revoked: bool = False


@dataclass
class World:
    """What was done, and what follows from it."""

    memories: dict[str, Kept] = field(default_factory=dict)
    #: By owner, reader and what is shared (an id, or a tag with "#" before it): the right.
    shares: dict[tuple[str, str, str], str] = field(default_factory=dict)
    keys: list[Held] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    disabled: set[str] = field(default_factory=set)

    def right(self, user: str, id: str) -> str | None:
        """What a user may do with a memory, if anything: own, write or read."""
        memory = self.memories[id]
        if memory.owner == user:
            return "own"
        shared = {id, *(f"#{tag}" for tag in memory.tags)}
        rights = {self.shares.get((memory.owner, user, what)) for what in shared} - {None}
        return "write" if "write" in rights else ("read" if rights else None)

    def superseded(self, id: str) -> bool:
        """Whether something newer stands for a memory; what is deleted stands for nothing.

        What another user has written is trusted less, and stands for nothing that is not.
        """
        memory = self.memories[id]
        return any(
            not newer.deleted and (memory.external or not newer.external)
            for newer in map(self.memories.__getitem__, memory.newer)
        )

    def delete(self, user: str, id: str) -> None:
        """A user deletes a memory.

        When its owner does, what superseded it stands for what it had superseded.
        """
        deleted = self.memories[id]
        deleted.deleted = True
        if deleted.owner == user:
            for memory in self.memories.values():
                if id in memory.newer:
                    memory.newer += deleted.newer

    def sees(self, user: str, id: str) -> bool:
        """Whether a recall of a user may show a memory."""
        memory = self.memories[id]
        if memory.deleted or self.superseded(id):
            return False
        if memory.owner == user:
            return True
        return not memory.sensitive and self.right(user, id) is not None

    def gets(self, user: str, id: str) -> bool:
        """Whether a user who names a memory is shown it."""
        return self.memories[id].owner == user or self.sees(user, id)

    def shared(self, **with_: str) -> set[tuple[str, str, str, str]]:
        """The shares of an owner, or with a reader: owner, reader, what, right."""
        return {
            (owner, reader, what, right)
            for (owner, reader, what), right in self.shares.items()
            if with_ in ({"owner": owner}, {"reader": reader})
        }
