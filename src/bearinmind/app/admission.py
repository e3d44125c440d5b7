"""What a server takes from a replica: the same rules as for anything from elsewhere, and no key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from bearinmind.changes import ConflictState, ShareState
from bearinmind.errors import InvalidChange, UserNotFound, VaultKeyMissing
from bearinmind.protocols import History, Sealed, Store, SubjectState
from bearinmind.remember.admit import check_tag, check_user
from bearinmind.remember.pipeline import Remember
from bearinmind.types import MemoryId, Scope, Share, UserId

_LONGEST_DETAIL = 1_000  # characters


@dataclass(frozen=True, kw_only=True)
class Admission:
    """Holds what a replica sends to the rules."""

    store: Store
    scope: Scope
    remember: Remember

    def __call__(self, state: SubjectState) -> SubjectState:
        """The state as it may be kept; what would have to be changed is not what was sent.

        Raises:
            MindError: it may not be kept at all.
        """
        if isinstance(state, History):
            return self._keyless.admit_history(self.scope, state.versions, state.sealed)
        if isinstance(state, ShareState) and state.share is not None:
            return ShareState(self._share(state.share))
        if isinstance(state, ConflictState) and state.conflict is not None:
            self._check_detail(state.conflict.detail)
        return state

    def _check_detail(self, detail: str) -> None:
        """What a conflict is about is said in the words of a replica, and kept in clear."""
        if len(detail) > _LONGEST_DETAIL:
            raise InvalidChange(
                f"a conflict is told in {len(detail)} characters; {_LONGEST_DETAIL} are the most"
            )
        self.remember.boundary.refuse_in_clear("the conflict", detail)

    @cached_property
    def _keyless(self) -> Remember:
        """Without a key: records stay as the replica sealed them, and nothing is sealed here."""
        boundary = replace(self.remember.boundary, vault=_NoKey())
        return replace(self.remember, boundary=boundary)

    def _share(self, share: Share) -> Share:
        reader = check_user(share.reader)
        known = [user.name for user in self.store.users()]
        if known and reader not in known:
            raise UserNotFound(f"nobody has the name {reader!r} on the server")
        if share.tag is not None:
            self.remember.boundary.refuse_in_clear("the tag", share.tag)
            share = replace(share, tag=check_tag(share.tag))
        return replace(share, owner=self.scope.user)


class _NoKey:
    """Satisfies `bearinmind.protocols.Vault` for whoever must not seal or open anything."""

    def seal(self, owner: UserId, id: MemoryId, version: int, content: str) -> Sealed:  # noqa: ARG002
        """There is nothing to seal: a secret that comes in clear is turned away."""
        raise InvalidChange(
            f"version {version} of memory {id} holds a secret in clear",
            hint=f"Have it sealed where it was written: `bearinmind update {id} --sensitive`.",
        )

    def open(self, sealed: Sealed) -> str:
        """Nothing is opened."""
        raise VaultKeyMissing(f"memory {sealed.id} is not opened here")

    def fingerprint(self, owner: UserId, content: str) -> bytes:  # noqa: ARG002
        """Nothing is compared."""
        raise VaultKeyMissing

    def refresh(self) -> None:
        """There are no keys."""
