"""Admission of changes from a replica: the rules of every import, without a vault key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from bearinmind.changes import ConflictState, LinkState, ShareState
from bearinmind.errors import InvalidChange, UserNotFound, VaultKeyMissing
from bearinmind.protocols import History, Sealed, SubjectState
from bearinmind.remember.admit import check_tag, check_user
from bearinmind.remember.pipeline import Remember
from bearinmind.types import MemoryId, Scope, Share, UserId

_LONGEST_DETAIL = 1_000  # characters


@dataclass(frozen=True, kw_only=True)
class Admission:
    """Checks what a replica sends."""

    scope: Scope
    remember: Remember

    def __call__(self, state: SubjectState) -> SubjectState:
        """The state as it may be stored; a rule may change what was sent, or refuse it."""
        if isinstance(state, History):
            return self._keyless.admit_history(self.scope, state.versions, state.sealed)
        if isinstance(state, ShareState) and state.share is not None:
            return ShareState(self._share(state.share))
        for link in state.links if isinstance(state, LinkState) else ():
            self.remember.check_judgement(link)
        if isinstance(state, ConflictState) and state.conflict is not None:
            self._check_detail(state.conflict.detail)
        return state

    def _check_detail(self, detail: str) -> None:
        """The detail of a conflict is text of the replica, and is stored in clear."""
        if len(detail) > _LONGEST_DETAIL:
            raise InvalidChange(
                f"the detail of a conflict has {len(detail):,} characters; "
                f"at most {_LONGEST_DETAIL:,} are allowed"
            )
        self.remember.boundary.refuse_in_clear("the conflict", detail)

    @cached_property
    def _keyless(self) -> Remember:
        """The write path without a key: records stay sealed as they came."""
        boundary = replace(self.remember.boundary, vault=_NoKey())
        return replace(self.remember, boundary=boundary)

    def _share(self, share: Share) -> Share:
        reader = check_user(share.reader)
        users = [user.name for user in self.remember.store.users()]
        if users and reader not in users:
            raise UserNotFound(f"nobody has the name {reader!r} on the server")
        if share.tag is not None:
            self.remember.boundary.refuse_in_clear("the tag", share.tag)
            share = replace(share, tag=check_tag(share.tag))
        return replace(share, owner=self.scope.user)


class _NoKey:
    """Satisfies `bearinmind.protocols.Vault` where nothing may be sealed or opened."""

    def seal(self, owner: UserId, id: MemoryId, version: int, content: str) -> Sealed:  # noqa: ARG002
        """Refuse a secret that arrives in clear."""
        raise InvalidChange(
            f"version {version} of memory {id} holds a secret in clear",
            hint=f"Seal it on the machine that wrote it: `bearinmind update {id} --sensitive`.",
        )

    def open(self, sealed: Sealed) -> str:
        """Refuse to open a record."""
        raise VaultKeyMissing(f"memory {sealed.id} cannot be opened here")

    def fingerprint(self, owner: UserId, content: str) -> bytes:  # noqa: ARG002
        """Refuse to compare a content."""
        raise VaultKeyMissing

    def refresh(self) -> None:
        """There are no keys."""
