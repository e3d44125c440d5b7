"""The verbs of sharing, and those on memories that may be another user's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from bearinmind.errors import InvalidShare, MemoryNotFound, ShareNotFound, UserNotFound
from bearinmind.mirrors import owner_of
from bearinmind.protocols import AuditEntry, Store
from bearinmind.recall import history, visible
from bearinmind.remember.admit import check_tag, check_user
from bearinmind.remember.pipeline import Changes, Remember
from bearinmind.remember.shared import ChangeShared
from bearinmind.remember.update import check_version
from bearinmind.types import Filter, Memory, MemoryId, Right, Scope, Share, UserId, choose
from bearinmind.work.background import Background

SHARE = "share"  #: how the audit calls it
UNSHARE = "unshare"


class SharingVerbs:
    """What a Bear in Mind does about who sees whose memories.

    A shared memory is one that somebody else owns. It is seen as it is now; its past, its links and
    what led to it are its owner's alone.
    """

    scope: Scope
    _key: str | None  #: the id of the key by which everything here is asked
    _store: Store
    _clock: Callable[[], datetime]
    _remember: Remember
    _background: Background

    # ---- who sees what -------------------------------------------------------------------------

    def share(self, id: str, reader: str, right: Right | str = Right.READ) -> Share:
        """Let another user see a memory, or change it; a share that is there gets the new right.

        Raises:
            InvalidShare: it is sensitive, or the reader is its owner.
        """
        who = self._reader(reader)
        memory = self._own(id)
        if memory.sensitive:
            raise InvalidShare(
                f"memory {memory.id} is sensitive: nobody but its owner ever sees it",
                hint="Share a memory that says what the other needs, without the secret.",
            )
        return self._add(who, choose(Right, right, InvalidShare), memory=memory.id)

    def unshare(self, id: str, reader: str) -> Share:
        """End the share of a memory; a tag of it may still be shared.

        Raises:
            ShareNotFound: it is not shared with the reader by itself.
        """
        own = self._own(id).id
        return self._end(check_user(reader), f"memory {own}", memory=own)

    def share_tag(self, tag: str, reader: str, right: Right | str = Right.READ) -> Share:
        """Let another user see all memories with a tag, those that get it later included.

        Raises:
            SecretInClearField: the tag holds a secret, so that no memory can have it.
        """
        who = self._reader(reader)
        self._remember.boundary.refuse_in_clear("the tag", tag)
        return self._add(who, choose(Right, right, InvalidShare), tag=check_tag(tag))

    def unshare_tag(self, tag: str, reader: str) -> Share:
        """End the share of a tag; a memory that has it may still be shared by itself.

        Raises:
            ShareNotFound: the tag is not shared with the reader.
        """
        # As it was written: in its canonical form a secret would not be known for one.
        return self._end(check_user(reader), f"the tag {tag!r}", tag=check_tag(tag))

    def shared_with_me(self) -> list[Share]:
        """What others share with this user, by owner and then oldest first.

        Of what came from a server, every memory by itself.
        """
        found = self._store.shared_with(self.scope.user)
        return [replace(share, owner=owner_of(share.owner)) for share in found]

    def my_shares(self) -> list[Share]:
        """What this user shares with others, oldest first."""
        return self._store.shares(self.scope)

    # ---- memories, own and shared --------------------------------------------------------------

    def get(self, id: str) -> Memory:
        """The present version of a memory, deleted or not; of a shared one while it can be seen."""
        return visible.find(self._store, self.scope, id, self._clock())

    def update(
        self,
        id: str,
        *,
        expected_version: int | None = None,
        **changes: Any,  # noqa: ANN401
    ) -> Memory:
        """Change a memory; the keywords are the fields of `Changes`.

        Raises:
            NotAllowed: it is another's, and shared to read, or only its owner may change that.
        """
        memory, asked = self.get(id), Changes(**changes)
        if self._is_own(memory):
            changed = self._remember.update(self.scope, memory, asked, expected_version)
        else:
            view = self._writable(memory)
            changed = self._change_shared().update(view, memory, asked, expected_version)
        self._background.nudge()
        return changed

    def delete(self, id: str, *, expected_version: int | None = None) -> Memory:
        """Hide a memory from recall; it can be restored.

        Raises:
            NotAllowed: it is another's, and shared to read.
        """
        memory = self.get(id)
        check_version(memory, expected_version)
        if self._is_own(memory):
            return self._remember.delete(self.scope, memory)
        return self._change_shared().delete(self._writable(memory), memory)

    def restore(self, id: str) -> Memory:
        """Bring a deleted memory back.

        Raises:
            NotAllowed: it is another's, and shared to read.
        """
        memory = self.restorable(id)
        if self._is_own(memory):
            restored = self._remember.restore(self.scope, memory)
        else:
            view = visible.eyes(self.scope.user, memory.owner, self._clock())
            restored = self._change_shared().restore(view, memory)
        self._background.nudge()
        return restored

    def restorable(self, id: str) -> Memory:
        """The memory that `restore` is about: an own one, or one that was shared to be written.

        Raises:
            NotAllowed: it is another's, and shared to read.
        """
        try:
            return self._own(id)
        except MemoryNotFound:
            deleted = visible.find_deleted(self._store, self.scope.user, id)
            if deleted is not None:
                return deleted
            memory = self.get(id)
            self._writable(memory)
            return memory

    # ---- what these are made of ----------------------------------------------------------------

    def _own(self, id: str) -> Memory:
        """A memory of this user."""
        return history.find(self._store, self.scope, id)

    def _is_own(self, memory: Memory) -> bool:
        return memory.owner == self.scope.user

    def _writable(self, memory: Memory) -> Filter:
        return visible.check_writable(self._store, self.scope.user, memory, self._clock())

    def _change_shared(self) -> ChangeShared:
        remember = self._remember
        return ChangeShared(
            store=self._store,
            rules=remember.rules,
            clock=self._clock,
            boundary=remember.boundary,
            key=self._key,
        )

    def _reader(self, name: str) -> UserId:
        """Somebody to share with: another one, and where users are known, one of them."""
        reader = check_user(name)
        if reader == self.scope.user:
            raise InvalidShare(
                "a memory cannot be shared with its owner", hint="Give the name of another user."
            )
        known: Sequence[UserId] = [user.name for user in self._store.users()]
        if known and reader not in known:
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
            created_at=self._clock(),
        )
        kept = self._store.add_share(self.scope, share)
        self._note(SHARE, kept)
        return kept

    def _end(
        self,
        reader: UserId,
        what: str,
        *,
        memory: MemoryId | None = None,
        tag: str | None = None,
    ) -> Share:
        now = self._clock()
        found = [
            each
            for each in self._store.shares(self.scope)
            if (each.reader, each.memory, each.tag) == (reader, memory, tag)
        ]
        if not found:
            raise ShareNotFound(f"{what} is not shared with {reader!r}")
        ended = replace(found[0], ended_at=now)
        if not self._store.end_share(self.scope, ended):
            raise ShareNotFound(f"{what} is not shared with {reader!r} any more")
        self._note(UNSHARE, ended)
        return ended

    def _note(self, action: str, share: Share) -> None:
        """Write down who gave or took a right."""
        what = "" if share.tag is None else f"tag {share.tag}, "
        detail = f"{what}with {share.reader}, to {share.right}"
        self._store.note(
            AuditEntry(
                at=self._clock(),
                owner=share.owner,
                action=action,
                id=share.memory,
                version=None,
                agent=None,
                key=self._key,
                detail=detail,
            )
        )
