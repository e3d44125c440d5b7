"""Sensitive memories and the key that seals them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bearinmind.changes import memory_subject
from bearinmind.protocols import AuditEntry, Sealed, Store
from bearinmind.recall import history
from bearinmind.recall.pipeline import LARGEST_POOL, check_number
from bearinmind.remember.pipeline import Remember
from bearinmind.remember.secrets import ACTIONS, ROTATE
from bearinmind.sync.replica import resend
from bearinmind.types import Memory, Scope
from bearinmind.vault.seal import Rotated, SealingVault, VaultStatus, examine, rotate


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """The sensitive memories of one user, and the vault of the store."""

    store: Store
    scope: Scope
    clock: Callable[[], datetime]
    vault: SealingVault
    remember: Remember

    def reveal(self, id: str, *, version: int | None = None, agent: str | None = None) -> str:
        """What a sensitive memory says; the audit records who read it."""
        memory = history.find(self.store, self.scope, id)
        if version is not None:
            memory = history.version_of(self.store, self.scope, memory.id, version)
        return self.remember.reveal(self.scope, memory, agent=agent)

    def list(self) -> Sequence[Memory]:
        """The sensitive memories, newest first, with placeholders for what they say."""
        return self.store.sensitive(self.scope)

    def sealed(self, id: str) -> Sequence[Sealed]:
        """The versions of a memory, encrypted."""
        return self.store.sealed(self.scope, history.find(self.store, self.scope, id).id)

    def audit(self, limit: int = 100) -> Sequence[AuditEntry]:
        """Who read secrets, youngest entry first."""
        count = check_number("limit", limit, LARGEST_POOL)
        return self.store.audit(self.scope, count, ACTIONS)

    def rotate_key(
        self,
        *,
        drop_old: bool = False,
        agent: str | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Rotated:
        """Seal everything in the store under a new key; it resumes where it was interrupted."""
        now = self.clock()
        rotated = rotate(self.vault, self.store, now, drop_old=drop_old, advance=advance)
        key = self.remember.reveal.key
        self.store.note(AuditEntry(now, self.scope.user, ROTATE, None, None, agent, key))
        if self.store.peer(self.scope) is not None:  # the server has what the old key sealed
            resend(self.store, self.scope, (memory_subject(x.id) for x in self.list()))
        return rotated

    def count_by_key(self) -> dict[str, int]:
        """By key id: how many secrets of the whole store it opens."""
        return self.store.sealed_under()

    def status(self) -> VaultStatus:
        """Where the key is, whether it can be read, and which secrets it opens."""
        return examine(self.vault, self.store.sealed_under())

    def scrub(self) -> bool:
        """Overwrite the text that memories left in the store when they became sensitive.

        False when some of it is still there: another process reads the file at the moment, or the
        database server overwrites it later.
        """
        return self.store.scrub()
