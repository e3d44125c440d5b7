"""The sensitive boundary: a sensitive content is sealed before any other part sees it.

The text of a sensitive memory is in its sealed record and nowhere else. Its content is a
placeholder that names the kinds of secrets in it and how to get them, so that it can be shown,
indexed, embedded, exported or sent like any other content.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from bearinmind import errors
from bearinmind.protocols import AuditEntry, Sealed, Secrets, Vault
from bearinmind.remember import secrets
from bearinmind.remember.secrets import Kind
from bearinmind.types import Draft, Memory, MemoryId, Scope, UserId

Result = TypeVar("Result")

GET = "get"  #: it was read
UNSEAL = "unseal"  #: it was made an ordinary memory
ROTATE = "rotate"  #: everything was sealed under a new key
ACTIONS = (GET, UNSEAL, ROTATE)
_PLACEHOLDER = re.compile(r"\[sensitive(?:: (?P<kinds>[^;\]]+))?; bearinmind secret get \w+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """Decides what is sensitive, and seals it."""

    vault: Vault
    detects: bool = True

    def refuse_in_clear_fields(self, draft: Draft) -> None:
        """Make sure that nothing kept in clear holds a secret."""
        if self.detects:
            secrets.refuse_in_clear_fields(draft)

    def refuse_in_clear(self, name: str, text: str) -> None:
        """Make sure that a text which is kept in clear holds no secret."""
        if self.detects:
            secrets.refuse_in_clear(name, text)

    def kinds(self, content: str) -> tuple[Kind, ...]:
        """The kinds of secrets that a content holds."""
        return secrets.kinds_of(secrets.find(content)) if self.detects else ()

    def guard(self, memory: Memory) -> tuple[Memory, tuple[Sealed, ...]]:
        """The memory as it may be kept: sealed if it is flagged or a secret is found in it."""
        kinds = self.kinds(memory.content)
        if not kinds and not memory.sensitive:
            return memory, ()
        sealed = self.vault.seal(memory.owner, memory.id, memory.version, memory.content)
        return hidden(memory, kinds), (sealed,)

    def adopt(self, owner: UserId, records: Iterable[Sealed]) -> list[Sealed]:
        """Records from elsewhere, sealed anew for an owner here.

        Without their key they stay as they are, which is of use only to the same owner.
        """
        return [self._adopted(owner, record) for record in records]

    def _adopted(self, owner: UserId, record: Sealed) -> Sealed:
        try:
            content = self.vault.open(record)
        except errors.VaultKeyMissing:
            if record.owner == owner:
                return record
            raise errors.InvalidRecord(
                f"memory {record.id} is sealed for the user {record.owner!r} under the key "
                f"{record.key_id}, which is not here",
                hint="Bring the key, or import it as that user.",
            ) from None
        except errors.SealBroken as exc:
            raise errors.InvalidRecord(exc.message, hint=exc.hint) from None
        return self.vault.seal(owner, record.id, record.version, content)


def hidden(memory: Memory, kinds: Sequence[Kind]) -> Memory:
    """A memory with a placeholder for its content."""
    return replace(memory, content=placeholder(memory.id, kinds), sensitive=True)


def placeholder(id: MemoryId, kinds: Sequence[Kind]) -> str:
    """The text that is kept in the place of a sensitive content."""
    named = f": {', '.join(kinds)}" if kinds else ""
    return f"[sensitive{named}; bearinmind secret get {id}]"


def is_placeholder(content: str) -> bool:
    """Whether a content is a placeholder."""
    return bool(_PLACEHOLDER.fullmatch(content))


def named_kinds(content: str) -> tuple[Kind, ...]:
    """The kinds that a placeholder names; unknown words in it are left out."""
    match = _PLACEHOLDER.fullmatch(content)
    words = (match["kinds"] or "").split(", ") if match else []
    return tuple(Kind(word) for word in words if word in {*Kind})


def record_of(records: Sequence[Sealed], version: int) -> Sealed | None:
    """The record that holds the content of a version."""
    older = [record for record in records if record.version <= version]
    return max(older, key=lambda record: record.version, default=None)


def under_present_key(vault: Vault, write: Callable[[], Result]) -> Result:
    """Seal and write; once more if the key was rotated away since it was read."""
    try:
        return write()
    except errors.KeyRetired:
        vault.refresh()
        return write()


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
        """The content of a sensitive version; every call leaves an entry in the audit."""
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
