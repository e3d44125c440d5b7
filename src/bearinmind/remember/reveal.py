"""The only way from a sensitive memory to what it says; it leaves an entry in the audit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bearinmind import errors
from bearinmind.protocols import AuditEntry, Secrets, Vault
from bearinmind.remember.sensitive import record_of
from bearinmind.types import Memory, Scope

GET = "get"  #: somebody read it
UNSEAL = "unseal"  #: it was made an ordinary memory
ROTATE = "rotate"  #: everything was sealed under a new key
ACTIONS = (GET, UNSEAL, ROTATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reveal:
    """Opens sensitive memories for their owner."""

    store: Secrets
    vault: Vault
    clock: Callable[[], datetime]
    key: str | None = None  #: the id of the key by which it is asked, where there is one

    def __call__(
        self, scope: Scope, memory: Memory, *, agent: str | None = None, action: str = GET
    ) -> str:
        """What a version says; nobody gets it without an entry in the audit.

        Raises:
            NotSensitive: there is nothing to reveal.
            VaultFailure: its key is not here, or it is not what was sealed.
        """
        if not memory.sensitive:
            raise errors.NotSensitive(f"memory {memory.id} is not sensitive")
        record = record_of(self.store.sealed(scope, memory.id), memory.version)
        if record is None:
            raise errors.SealBroken(f"what memory {memory.id} says is not in the store")
        content = self.vault.open(record)
        self.store.note(
            AuditEntry(self.clock(), scope.user, action, memory.id, memory.version, agent, self.key)
        )
        return content
