"""Changing another user's memory, by whoever it is shared with to write."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from bearinmind import errors
from bearinmind.protocols import AuditEntry, Store
from bearinmind.remember.admit import Rules, admit
from bearinmind.remember.sensitive import Boundary
from bearinmind.remember.update import check_present
from bearinmind.remember.versions import (
    Changes,
    apply,
    deleted_version,
    draft_of,
    next_version,
    restored_version,
    with_draft,
)
from bearinmind.types import Filter, Memory, Provenance, Trust, UserId

#: What an owner alone decides: who else sees a memory follows from it, or how far it is relied on.
_OWNERS = ("tags", "sensitive", "provenance")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeShared:
    """Writes memories of others. The store looks at the right again, in the same transaction."""

    store: Store
    rules: Rules
    clock: Callable[[], datetime]
    boundary: Boundary
    key: str | None = None  #: the id of the key by which it is asked

    def update(
        self,
        filter: Filter,
        memory: Memory,
        changes: Changes,
        expected_version: int | None = None,
    ) -> Memory:
        """Change a memory; the version before stays readable to its owner.

        The new text is nothing that its owner said, so from now on it is data to everybody: its
        trust class becomes external, until the owner says otherwise.
        """
        check_present(memory, expected_version)
        draft = apply(changes, draft_of(memory))
        self.boundary.refuse_in_clear_fields(draft)
        self._refuse_secrets(memory, changes)
        changed = with_draft(memory, admit(draft, self.rules, self.clock()))
        for name in _OWNERS:
            if getattr(changed, name) != getattr(memory, name):
                raise errors.NotAllowed(
                    f"only {memory.owner!r}, the owner of memory {memory.id}, changes its {name}",
                    hint="Leave that as it is, or ask the owner.",
                )
        if changed == memory:
            return memory
        changed = replace(changed, provenance=_by(memory.provenance, filter.reader))
        changed = next_version(changed, self.clock())
        self._write(filter, changed, "update")
        return changed

    def delete(self, filter: Filter, memory: Memory) -> Memory:
        """Hide a memory from everybody; it can be restored."""
        deleted = deleted_version(memory, self.clock())
        self._write(filter, deleted, "delete")
        return deleted

    def restore(self, filter: Filter, memory: Memory) -> Memory:
        """Bring a deleted memory back."""
        restored = restored_version(memory, self.clock())
        self._write(filter, restored, "restore")
        return restored

    def _refuse_secrets(self, memory: Memory, changes: Changes) -> None:
        """A secret would have to be sealed, for an owner who did not write it."""
        kinds = self.boundary.kinds(changes.content) if changes.content else ()
        if kinds:
            raise errors.NotAllowed(
                f"the new text of memory {memory.id} holds a secret ({', '.join(kinds)}), which "
                f"only its owner, {memory.owner!r}, may put there",
                hint="Nothing was changed. Leave it out, or store it as a memory of your own.",
            )

    def _write(self, filter: Filter, memory: Memory, action: str) -> None:
        """Write a version, and into the owner's audit who did."""
        self.store.replace_shared(filter, memory)
        entry = AuditEntry(
            at=memory.updated_at,
            owner=memory.owner,
            action=action,
            id=memory.id,
            version=memory.version,
            agent=None,
            key=self.key,
            detail=f"by {filter.reader}",
        )
        self.store.note(entry)


def _by(before: Provenance, writer: UserId | None) -> Provenance:
    """Where a version comes from that another user wrote."""
    return replace(before, trust=Trust.EXTERNAL, source=f"the user {writer}")
