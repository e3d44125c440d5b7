"""The verbs about what is sensitive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from bearinmind.changes import memory_subject
from bearinmind.protocols import AuditEntry, Sealed, Store
from bearinmind.recall import history
from bearinmind.recall.parse import LARGEST_POOL, check_number
from bearinmind.remember.reveal import ACTIONS, ROTATE, Reveal
from bearinmind.sync.push import resend
from bearinmind.types import Memory, Scope
from bearinmind.vault.rotate import Rotated, rotate
from bearinmind.vault.seal import SealingVault
from bearinmind.vault.status import VaultStatus, examine


class SecretVerbs:
    """What a Bear in Mind does about sensitive memories."""

    scope: Scope
    vault: SealingVault
    _store: Store
    _clock: Callable[[], datetime]
    _reveal: Reveal

    def secret_get(self, id: str, *, version: int | None = None, agent: str | None = None) -> str:
        """What a sensitive memory says; that it was asked for is written down."""
        memory = history.find(self._store, self.scope, id)
        if version is not None:
            memory = history.version_of(self._store, self.scope, memory.id, version)
        return self._reveal(self.scope, memory, agent=agent)

    def sensitive(self) -> Sequence[Memory]:
        """The sensitive memories, newest first, with placeholders for what they say."""
        return self._store.sensitive(self.scope)

    def sealed(self, id: str) -> Sequence[Sealed]:
        """What the versions of a memory say, encrypted."""
        return self._store.sealed(self.scope, history.find(self._store, self.scope, id).id)

    def secret_audit(self, limit: int = 100) -> Sequence[AuditEntry]:
        """Who asked for secrets, youngest first."""
        count = check_number("limit", limit, LARGEST_POOL)
        return self._store.audit(self.scope, count, ACTIONS)

    def rotate_key(
        self,
        *,
        drop_old: bool = False,
        agent: str | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Rotated:
        """Seal everything in the store under a new key; goes on where it was interrupted."""
        now = self._clock()
        done = rotate(self.vault, self._store, now, drop_old=drop_old, advance=advance)
        key = self._reveal.key
        self._store.note(AuditEntry(now, self.scope.user, ROTATE, None, None, agent, key))
        if self._store.peer(self.scope) is not None:  # the server has what the old key sealed
            resend(self._store, self.scope, (memory_subject(x.id) for x in self.sensitive()))
        return done

    def secrets_by_key(self) -> dict[str, int]:
        """By key id: how many secrets of the whole store it opens."""
        return self._store.sealed_under()

    def vault_status(self) -> VaultStatus:
        """Where the key is, whether it is there, and which secrets it opens."""
        return examine(self.vault, self._store.sealed_under())

    def scrub(self) -> bool:
        """Overwrite what text that became sensitive has left behind.

        False when that is not so yet: another process is just reading the file, or a server
        overwrites it in its own time.
        """
        return self._store.scrub()
