"""Changing a memory: the next version of it, sealed if it is or becomes sensitive."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bearinmind import errors
from bearinmind.outdates.verdicts import is_less
from bearinmind.protocols import AuditEntry, Sealed, Store
from bearinmind.remember.admit import Rules, admit, draft_values
from bearinmind.remember.secrets import UNSEAL, Boundary, Reveal, record_of, under_present_key
from bearinmind.types import Draft, Filter, Memory, MemoryId, Provenance, Scope, Trust

_TICK = timedelta(microseconds=1)
_SEALED = "sealed"  # is admitted in the place of a content that cannot be read here
#: Only the owner changes these: they decide who sees a memory, or how far it is relied on.
_OWNERS = ("tags", "sensitive", "provenance")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What an update changes; None leaves a field as it is."""

    content: str | None = None
    category: str | None = None
    tags: tuple[str, ...] | None = None
    keywords: tuple[str, ...] | None = None
    importance: float | None = None
    sensitive: bool | None = None  #: True seals every version of it, False makes it an ordinary one
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    always_valid: bool = False  #: take the valid-from / valid-to span away
    provenance: Provenance | None = None
    trust: Trust | None = None  #: whose the change is, if that is known; it never raises the trust


def next_version(memory: Memory, now: datetime) -> Memory:
    """The next version, written now; never before the last, whatever the clock says."""
    return replace(
        memory, version=memory.version + 1, updated_at=max(now, memory.updated_at + _TICK)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted(Memory):
    """A memory that was deleted, and what became of those that it had superseded."""

    live_again: tuple[MemoryId, ...] = ()  #: nothing supersedes them any more
    deleted_too: tuple[MemoryId, ...] = ()


def deleted_version(memory: Memory, now: datetime) -> Memory:
    """The next version, deleted."""
    if memory.deleted_at is not None:
        raise errors.AlreadyDeleted(f"memory {memory.id} is deleted already")
    deleted = next_version(memory, now)
    return replace(deleted, deleted_at=deleted.updated_at)


def restored_version(memory: Memory, now: datetime) -> Memory:
    """The next version, no longer deleted."""
    if memory.deleted_at is None:
        raise errors.NotDeleted(
            f"memory {memory.id} is not deleted: there is nothing to restore",
            hint="Nothing needs to be done; `bearinmind get ID` shows its state.",
        )
    return next_version(replace(memory, deleted_at=None), now)


def draft_of(memory: Memory) -> Draft:
    """The draft that a version could have been made of."""
    return Draft(**draft_values(memory))


def with_draft(memory: Memory, draft: Draft) -> Memory:
    """The memory with the values of a draft."""
    created_at = draft.created_at or memory.created_at
    return replace(memory, **(draft_values(draft) | {"created_at": created_at}))


def apply(changes: Changes, draft: Draft) -> Draft:
    """The draft with the changes made."""
    values = {
        name: value
        for name in Changes.__dataclass_fields__
        if name not in ("always_valid", "trust") and (value := getattr(changes, name)) is not None
    }
    spans = {"valid_from": None, "valid_to": None} if changes.always_valid else {}
    return replace(draft, **(spans | values))


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Changes memories."""

    store: Store
    rules: Rules
    clock: Callable[[], datetime]
    boundary: Boundary
    reveal: Reveal

    def update(
        self, scope: Scope, memory: Memory, changes: Changes, expected_version: int | None = None
    ) -> Memory:
        """Change a memory; the version before stays readable. Changing nothing writes nothing.

        A secret in the new content makes it sensitive and seals the earlier versions that hold one;
        the flag seals every earlier version.
        """
        check_present(memory, expected_version)
        _check_trust(memory, changes)
        draft = apply(changes, draft_of(memory))
        self.boundary.refuse_in_clear_fields(draft)
        if memory.sensitive and changes.content is None:
            if draft.sensitive:  # its content stays sealed: that needs no key
                admitted = admit(replace(draft, content=_SEALED), self.rules, self.clock())
                around = with_draft(memory, replace(admitted, content=memory.content))
                return self._write(scope, memory, around)
            draft = replace(draft, content=self.reveal(scope, memory, action=UNSEAL))
        changed = with_draft(memory, admit(draft, self.rules, self.clock()))
        detect = changes.sensitive is not False and changes.content is not None
        if changed != memory and (
            changed.sensitive or (detect and self.boundary.kinds(changed.content))
        ):
            every = changes.sensitive is True
            return under_present_key(
                self.boundary.vault, lambda: self._seal(scope, memory, changed, every=every)
            )
        return self._write(scope, memory, changed)

    def _write(self, scope: Scope, memory: Memory, changed: Memory) -> Memory:
        if changed == memory:
            return memory
        changed = next_version(changed, self.clock())
        self.store.replace(scope, changed)
        return changed

    def _seal(self, scope: Scope, memory: Memory, changed: Memory, *, every: bool) -> Memory:
        """Write a sensitive version, and seal earlier ones: every one, or those with a secret."""
        kept, sealed = self.boundary.guard(
            next_version(replace(changed, sensitive=True), self.clock())
        )
        if memory.sensitive and self._says_the_same(scope, memory, kept, sealed):
            return memory
        concealed: list[Memory] = []
        records = [*sealed]
        for version in self.store.versions(scope, memory.id):
            if not version.sensitive and (every or self.boundary.kinds(version.content)):
                earlier, record = self.boundary.guard(replace(version, sensitive=True))
                concealed.append(earlier)
                records += record
        self.store.replace(scope, kept, sealed=records, concealed=concealed)
        if concealed and not self.store.scrub():
            _log.warning("traces of the text may remain in the store until they are overwritten")
        return kept

    def _says_the_same(
        self, scope: Scope, memory: Memory, kept: Memory, sealed: Sequence[Sealed]
    ) -> bool:
        """Whether a new version of a sensitive memory would change nothing."""
        before = record_of(self.store.sealed(scope, memory.id), memory.version)
        same = replace(
            kept, content=memory.content, version=memory.version, updated_at=memory.updated_at
        )
        return (
            same == memory
            and before is not None
            and [before.fingerprint] == [record.fingerprint for record in sealed]
        )


def _check_trust(memory: Memory, changes: Changes) -> None:
    """Refuse somebody who is trusted less to replace what a memory says, or to end it."""
    times = (changes.valid_from, changes.valid_to)
    replaces = changes.content is not None or any(x is not None for x in times)
    trust = changes.trust
    if trust is not None and replaces and is_less(trust, memory.provenance.trust):
        raise errors.PersonDecides(
            f"memory {memory.id} has the trust {memory.provenance.trust}, and the change {trust}",
            hint="Store the new text with `supersedes`: it is a claim that a person decides about.",
        )


def check_present(memory: Memory, expected_version: int | None) -> None:
    """Refuse to change a memory that is deleted, or is not what the caller read."""
    if memory.deleted_at is not None:
        raise errors.AlreadyDeleted(f"memory {memory.id} is deleted and cannot be changed")
    check_version(memory, expected_version)


def check_version(memory: Memory, expected: int | None) -> None:
    """Refuse to go on with a memory that is not what the caller read."""
    if expected is not None and expected != memory.version:
        raise errors.VersionConflict(
            f"memory {memory.id} has version {memory.version}, not {expected}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeShared:
    """Writes memories of others. The store checks the right again, in the same transaction."""

    own: Update  #: of the one who asks
    key: str | None = None  #: the id of the key by which it is asked

    def update(
        self, filter: Filter, memory: Memory, changes: Changes, expected_version: int | None = None
    ) -> Memory:
        """Change a memory; the version before stays readable to its owner.

        Its owner did not write the new text, so its trust class becomes external, until the owner
        changes that.
        """
        check_present(memory, expected_version)
        draft = apply(changes, draft_of(memory))
        self.own.boundary.refuse_in_clear_fields(draft)
        self._refuse_secrets(memory, changes)
        changed = with_draft(memory, admit(draft, self.own.rules, self.own.clock()))
        for name in _OWNERS:
            if getattr(changed, name) != getattr(memory, name):
                raise errors.NotAllowed(
                    f"only {memory.owner!r}, the owner of memory {memory.id}, changes its {name}",
                    hint="Leave that as it is, or ask the owner.",
                )
        if changed == memory:
            return memory
        source = f"the user {filter.reader}"
        provenance = replace(memory.provenance, trust=Trust.EXTERNAL, source=source)
        changed = next_version(replace(changed, provenance=provenance), self.own.clock())
        self._write(filter, changed, "update")
        return changed

    def delete(self, filter: Filter, memory: Memory) -> Memory:
        """Hide a memory from everybody; it can be restored."""
        deleted = deleted_version(memory, self.own.clock())
        self._write(filter, deleted, "delete")
        return deleted

    def restore(self, filter: Filter, memory: Memory) -> Memory:
        """Bring a deleted memory back."""
        restored = restored_version(memory, self.own.clock())
        self._write(filter, restored, "restore")
        return restored

    def _refuse_secrets(self, memory: Memory, changes: Changes) -> None:
        """Refuse a secret: it would have to be sealed for an owner who did not write it."""
        kinds = self.own.boundary.kinds(changes.content) if changes.content else ()
        if kinds:
            raise errors.NotAllowed(
                f"the new text of memory {memory.id} holds a secret ({', '.join(kinds)}), which "
                f"only its owner, {memory.owner!r}, may put there",
                hint="Nothing was changed. Leave it out, or store it as a memory of your own.",
            )

    def _write(self, filter: Filter, memory: Memory, action: str) -> None:
        """Write a version, and note in the owner's audit who wrote it."""
        self.own.store.replace_shared(filter, memory)
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
        self.own.store.note(entry)
