"""Who sees whose memories, and the changes of a user to memories that may be another's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bearinmind.errors import InvalidShare, MemoryNotFound, NotAllowed, ShareNotFound, UserNotFound
from bearinmind.protocols import AuditEntry, Store
from bearinmind.recall import history, shared
from bearinmind.remember.admit import check_tag, check_user
from bearinmind.remember.pipeline import Changes, Remember
from bearinmind.remember.update import ChangeShared, check_version
from bearinmind.types import Filter, Memory, MemoryId, Right, Scope, Share, UserId, choose, owner_of

SHARE, UNSHARE = "share", "unshare"  #: the actions in the audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What one user shares with others, and the edits of that user."""

    store: Store
    scope: Scope
    clock: Callable[[], datetime]
    remember: Remember
    key: str | None  #: the id of the key with which the user came, for the audit

    def add(self, id: str, reader: str, right: Right | str) -> Share:
        """Share a memory with another user."""
        user = self._reader(reader)
        memory = history.find(self.store, self.scope, id)
        if memory.sensitive:
            raise InvalidShare(
                f"memory {memory.id} is sensitive: nobody but its owner ever sees it",
                hint="Share a memory that says what the other needs, without the secret.",
            )
        return self._add(user, choose(Right, right, InvalidShare), memory=memory.id)

    def end(self, id: str, reader: str) -> Share:
        """End the share of a memory."""
        own = history.find(self.store, self.scope, id).id
        return self._end(check_user(reader), f"memory {own}", memory=own)

    def add_tag(self, tag: str, reader: str, right: Right | str) -> Share:
        """Share a tag with another user."""
        user = self._reader(reader)
        self.remember.boundary.refuse_in_clear("the tag", tag)
        return self._add(user, choose(Right, right, InvalidShare), tag=check_tag(tag))

    def end_tag(self, tag: str, reader: str) -> Share:
        """End the share of a tag."""
        # The message quotes the tag as it was given: a secret is not recognised in the
        # canonical form, and would not be masked.
        return self._end(check_user(reader), f"the tag {tag!r}", tag=check_tag(tag))

    def received(self) -> Sequence[Share]:
        """What others share with this user."""
        shares = self.store.shared_with(self.scope.user)
        return [replace(share, owner=owner_of(share.owner)) for share in shares]

    def _reader(self, name: str) -> UserId:
        """Somebody to share with: another user and, where the store has users, one of them."""
        reader = check_user(name)
        if reader == self.scope.user:
            raise InvalidShare(
                "a memory cannot be shared with its owner", hint="Give the name of another user."
            )
        users = [user.name for user in self.store.users()]
        if users and reader not in users:
            raise UserNotFound(f"nobody has the name {reader!r}")
        return reader

    def _add(
        self,
        reader: UserId,
        right: Right,
        *,
        memory: MemoryId | None = None,
        tag: str | None = None,
    ) -> Share:
        share = Share(
            owner=self.scope.user,
            reader=reader,
            right=right,
            memory=memory,
            tag=tag,
            created_at=self.clock(),
        )
        kept = self.store.add_share(self.scope, share)
        self._note(SHARE, kept)
        return kept

    def _end(
        self, reader: UserId, what: str, *, memory: MemoryId | None = None, tag: str | None = None
    ) -> Share:
        shares = {(x.reader, x.memory, x.tag): x for x in self.store.shares(self.scope)}
        share = shares.get((reader, memory, tag))
        if share is None:
            raise ShareNotFound(f"{what} is not shared with {reader!r}")
        ended = replace(share, ended_at=self.clock())
        if not self.store.end_share(self.scope, ended):
            raise ShareNotFound(f"{what} is not shared with {reader!r} any more")
        self._note(UNSHARE, ended)
        return ended

    def _note(self, action: str, share: Share) -> None:
        """Write into the audit who gave or took a right."""
        tag = "" if share.tag is None else f"tag {share.tag}, "
        self.store.note(
            AuditEntry(
                at=self.clock(),
                owner=share.owner,
                action=action,
                id=share.memory,
                version=None,
                agent=None,
                key=self.key,
                detail=f"{tag}with {share.reader}, to {share.right}",
            )
        )

    # ---- memories, own or shared with the right to write -------------------------------------

    def update(self, id: str, changes: Changes, expected_version: int | None) -> Memory:
        """Change what a memory says."""
        memory = self._visible(id)
        if self._is_own(memory):
            return self.remember.update(self.scope, memory, changes, expected_version)
        view = self._writable(memory)
        return self._change_shared().update(view, memory, changes, expected_version)

    def delete(self, id: str, expected_version: int | None, *, with_earlier: bool) -> Memory:
        """Hide a memory from recall, with what it superseded if that is wanted."""
        memory = self._visible(id)
        check_version(memory, expected_version)
        if self._is_own(memory):
            return self.remember.delete(self.scope, memory, with_earlier=with_earlier)
        if with_earlier:
            raise NotAllowed(
                f"what memory {memory.id} superseded is {memory.owner}'s alone",
                hint="Delete the memory without its earlier ones.",
            )
        return self._change_shared().delete(self._writable(memory), memory)

    def restore(self, id: str) -> Memory:
        """Bring a deleted memory back."""
        memory = self.restorable(id)
        if self._is_own(memory):
            return self.remember.restore(self.scope, memory)
        view = shared.view_of(self.scope.user, memory.owner, self.clock())
        return self._change_shared().restore(view, memory)

    def restorable(self, id: str) -> Memory:
        """The memory that `restore` would bring back."""
        try:
            return history.find(self.store, self.scope, id)
        except MemoryNotFound:
            deleted = shared.find_deleted(self.store, self.scope.user, id)
            if deleted is not None:
                return deleted
            memory = self._visible(id)
            self._writable(memory)
            return memory

    def _visible(self, id: str) -> Memory:
        return shared.find(self.store, self.scope, id, self.clock())

    def _is_own(self, memory: Memory) -> bool:
        return memory.owner == self.scope.user

    def _writable(self, memory: Memory) -> Filter:
        return shared.check_writable(self.store, self.scope.user, memory, self.clock())

    def _change_shared(self) -> ChangeShared:
        return ChangeShared(own=self.remember, key=self.key)
