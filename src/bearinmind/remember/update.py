"""Changing a memory: the next version of it, sealed if it is or becomes sensitive."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bearinmind import errors
from bearinmind.protocols import Sealed, Store
from bearinmind.remember.admit import Rules, admit
from bearinmind.remember.reveal import UNSEAL, Reveal
from bearinmind.remember.sensitive import Boundary, record_of, under_present_key
from bearinmind.remember.versions import Changes, apply, draft_of, next_version, with_draft
from bearinmind.types import Draft, Memory, Scope

_SEALED = "sealed"  # is admitted in the place of a content that nobody can read here
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Changes memories."""

    store: Store
    rules: Rules
    clock: Callable[[], datetime]
    boundary: Boundary
    reveal: Reveal

    def __call__(
        self,
        scope: Scope,
        memory: Memory,
        changes: Changes,
        expected_version: int | None = None,
    ) -> Memory:
        """Change a memory; the version before stays readable. Changing nothing writes nothing.

        Content that holds a secret makes it sensitive, and so does the flag; the flag seals all
        earlier versions too, a find those that hold a secret themselves.
        """
        check_present(memory, expected_version)
        draft = apply(changes, draft_of(memory))
        self.boundary.refuse_in_clear_fields(draft)
        if memory.sensitive and changes.content is None:
            if draft.sensitive:
                return self._update_around(scope, memory, draft)
            draft = replace(draft, content=self.reveal(scope, memory, action=UNSEAL))
        changed = with_draft(memory, admit(draft, self.rules, self.clock()))
        if changed == memory:
            return memory
        found = changes.sensitive is not False and changes.content is not None
        if changed.sensitive or (found and self.boundary.kinds(changed.content)):
            every = changes.sensitive is True
            return under_present_key(
                self.boundary.vault, lambda: self._seal(scope, memory, changed, every=every)
            )
        changed = next_version(changed, self.clock())
        self.store.replace(scope, changed)
        return changed

    def _update_around(self, scope: Scope, memory: Memory, draft: Draft) -> Memory:
        """Change a sensitive memory and leave what it says sealed: that needs no key."""
        admitted = admit(replace(draft, content=_SEALED), self.rules, self.clock())
        changed = with_draft(memory, replace(admitted, content=memory.content))
        if changed == memory:
            return memory
        changed = next_version(changed, self.clock())
        self.store.replace(scope, changed)
        return changed

    def _seal(self, scope: Scope, memory: Memory, changed: Memory, *, every: bool) -> Memory:
        """Write a sensitive version, and conceal earlier ones: every one, or those that tell."""
        kept, sealed = self.boundary.guard(
            next_version(replace(changed, sensitive=True), self.clock())
        )
        if memory.sensitive and self._says_the_same(scope, memory, kept, sealed):
            return memory
        concealed: list[Memory] = []
        records = [*sealed]
        for version in self.store.versions(scope, memory.id):
            tells = every or self.boundary.kinds(version.content)
            if not version.sensitive and tells:
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
