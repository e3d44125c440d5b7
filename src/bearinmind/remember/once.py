"""What is sent twice is kept once: an idempotency key gives a memory its id."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from bearinmind import errors, ids
from bearinmind.protocols import Store, Vault
from bearinmind.remember.admit import check_text
from bearinmind.remember.sensitive import record_of
from bearinmind.types import Draft, Memory, MemoryId, Outcome, Scope, Stored, UserId

KEY_LIMIT = 255  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """Keeps a draft unless it was kept under the same key before.

    The id is made from the owner and the key. So whoever sends the same again, after whatever went
    wrong and to whichever process, meets the memory that was kept; no table of keys is needed.
    """

    store: Store
    vault: Vault

    def __call__(
        self, scope: Scope, draft: Draft, key: str, add: Callable[[MemoryId], Outcome]
    ) -> Outcome:
        """What became of the draft, now or when it was first sent.

        Raises:
            IdempotencyKeyReused: another draft was kept under this key.
        """
        id_ = id_of(scope.user, key)
        before = self._kept(scope, draft, id_)
        if before is not None:
            return before
        try:
            outcome = add(id_)
        except errors.IdTaken:
            meanwhile = self._kept(scope, draft, id_)
            if meanwhile is None:
                raise
            return meanwhile
        if outcome.memory.id == id_:  # known already when it was sent twice at the same time
            return Stored(memory=outcome.memory)
        return outcome

    def _kept(self, scope: Scope, draft: Draft, id_: MemoryId) -> Stored | None:
        """The memory that was kept under this id, as it is now."""
        versions = self.store.versions(scope, id_)
        if not versions:
            return None
        if not self._says(scope, versions[0], draft):
            raise errors.IdempotencyKeyReused(
                f"this idempotency key was used for another memory, {id_}"
            )
        return Stored(memory=versions[-1])

    def _says(self, scope: Scope, first: Memory, draft: Draft) -> bool:
        """Whether a draft is what the first version of a memory was made of."""
        return (
            self._holds(scope, first, draft.content)
            and (first.sensitive or not draft.sensitive)
            and draft.created_at in {None, first.created_at}
            and (first.category, first.tags, first.keywords, first.importance)
            == (draft.category, draft.tags, draft.keywords, draft.importance)
            and (first.valid_from, first.valid_to, first.provenance)
            == (draft.valid_from, draft.valid_to, draft.provenance)
        )

    def _holds(self, scope: Scope, first: Memory, content: str) -> bool:
        """Whether a version says this, in clear or sealed."""
        if not first.sensitive:
            return first.content == content
        record = record_of(self.store.sealed(scope, first.id), first.version)
        if record is None:
            return False
        return record.fingerprint == self.vault.fingerprint(scope.user, content)


def id_of(owner: UserId, key: str) -> MemoryId:
    """The id that an owner's idempotency key stands for."""
    if not key or len(key) > KEY_LIMIT:
        raise errors.InvalidRequest(
            f"the idempotency key has {len(key):,} characters; it has 1 to {KEY_LIMIT}",
            hint="Make one for every memory, such as a UUID.",
        )
    text = check_text(key, "the idempotency key")
    return ids.derived(hashlib.sha256(f"{owner}\0{text}".encode()).digest())
