"""What keeps secrets, and what seals them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from bearinmind.protocols.memories import Sealed
from bearinmind.types import Memory, MemoryId, Scope, UserId


class AuditEntry(NamedTuple):
    """That somebody did something that is to be accounted for."""

    at: datetime
    owner: UserId
    action: str  #: such as "get" of a secret, or "share"
    id: MemoryId | None
    version: int | None
    agent: str | None  #: who asked, as far as it is known
    key: str | None = None  #: the id of the key by which it was asked
    detail: str | None = None


class Secrets(Protocol):
    """Keeps what sensitive memories say, encrypted, and who asked for it.

    What a sensitive version says is in the youngest record of its memory that is not younger than
    the version: a version that changes nothing but a tag needs no record of its own. Records come
    with their versions, by `Memories`, and go with them.
    """

    def sealed(self, scope: Scope, id: MemoryId) -> list[Sealed]:
        """Every record of a memory, oldest first."""

    def sensitive(self, scope: Scope) -> list[Memory]:
        """The sensitive memories that are not deleted, newest first."""

    def sealed_under(self) -> dict[str, int]:
        """By key id: how many records of the whole store it opens."""

    def retire_keys(self, key_ids: Sequence[str], now: datetime) -> None:
        """Take no more records that are sealed under these keys."""

    def retired_keys(self) -> frozenset[str]:
        """The keys under which no more records are taken."""

    def sealed_otherwise(self, key_id: str, after: Sealed | None, limit: int) -> list[Sealed]:
        """Records of the whole store under any other key, in an order, behind one of them."""

    def reseal(self, pairs: Sequence[tuple[Sealed, Sealed]]) -> int:
        """Put the second of each pair in the place of the first, in one transaction; how many.

        A record that is gone, or is no longer the first of its pair, is left alone.
        """

    def scrub(self) -> bool:
        """Overwrite what removed text has left behind.

        False when that is not so yet: another process is just reading the file, or a server
        overwrites it in its own time.
        """

    def note(self, entry: AuditEntry) -> None:
        """Keep an audit entry, durably."""

    def audit(
        self, scope: Scope, limit: int, actions: Sequence[str] | None = None
    ) -> list[AuditEntry]:
        """The youngest audit entries of a scope, perhaps only of these actions, youngest first."""


class Vault(Protocol):
    """Encrypts and decrypts what sensitive memories say."""

    def seal(self, owner: UserId, id: MemoryId, version: int, content: str) -> Sealed:
        """Encrypt a content for one version of one memory of one owner.

        Raises:
            VaultFailure: there is no key, or it cannot be had.
        """

    def open(self, sealed: Sealed) -> str:
        """The content.

        Raises:
            VaultFailure: its key is not here, or it was sealed for something else.
        """

    def fingerprint(self, owner: UserId, content: str) -> bytes:
        """The same for the same content of an owner; tells nothing to whoever lacks the key.

        Raises:
            VaultFailure: there is no key, or it cannot be had.
        """

    def refresh(self) -> None:
        """Read the keys anew: another process may have changed them."""
