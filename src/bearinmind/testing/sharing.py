"""What owners share in a store in memory, and what their readers see of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from bearinmind.changes import Subject, share_subject
from bearinmind.errors import MemoryNotFound, NotAllowed
from bearinmind.filters import admits
from bearinmind.mirrors import is_mirror, owner_of
from bearinmind.protocols import Sighting
from bearinmind.testing.feeds import FeedsInMemory
from bearinmind.testing.holdings import Holdings, Row
from bearinmind.types import Filter, Memory, MemoryId, Right, Scope, Share, UserId


class SharesInMemory(FeedsInMemory):
    """Keeps shares, and says which versions a filter admits, for a reader or for their owner."""

    _lock: threading.RLock
    _holdings: dict[UserId, Holdings]

    def __init__(self) -> None:
        super().__init__()
        self._shares: list[Share] = []

    # ---- shares --------------------------------------------------------------------------------

    def add_share(self, scope: Scope, share: Share) -> Share:
        """Keep a share of the scope's owner, in place of one of the same with the same reader."""
        with self._lock:
            held = self._holdings[scope.user].at(None)
            if share.memory is not None and share.memory not in held:
                raise MemoryNotFound(f"there is no memory {share.memory!r}")
            known = self._same(scope, share)
            if known is not None and known.right is share.right:
                return known
            self._end_known(known, share.created_at)
            self._shares.append(replace(share, owner=scope.user))
            self._note(scope, {shared(share): ()})
        return share

    def end_share(self, scope: Scope, share: Share) -> bool:
        """End the share of the same thing with the same reader; False when there is none."""
        with self._lock:
            known = self._same(scope, share)
            if known is None:
                return False
            self._end_known(known, share.ended_at or share.created_at)
            self._note(scope, {shared(share): ()})
        return True

    def _end_known(self, known: Share | None, at: datetime) -> None:
        if known is not None:
            self._shares[self._shares.index(known)] = replace(known, ended_at=at)

    def _same(self, scope: Scope, share: Share) -> Share | None:
        same = (scope.user, share.reader, share.memory, share.tag)
        return next((x for x in self._live() if (x.owner, x.reader, x.memory, x.tag) == same), None)

    def _live(self) -> Iterator[Share]:
        return (share for share in self._shares if share.ended_at is None)

    def _forget_shares(self, scope: Scope, ids: frozenset[MemoryId]) -> list[Subject]:
        """Remove every share of these memories; which of them held."""
        gone = [x for x in self._shares if x.owner == scope.user and x.memory in ids]
        self._shares = [share for share in self._shares if share not in gone]
        return sorted(shared(share) for share in gone if share.ended_at is None)

    def shares(self, scope: Scope) -> list[Share]:
        """What the scope's owner shares, oldest first; ended ones are left out."""
        with self._lock:
            own = [share for share in self._live() if share.owner == scope.user]
        return sorted(own, key=_age)

    def shared_with(self, reader: UserId) -> list[Share]:
        """What others share with somebody, by owner and then oldest first."""
        with self._lock:
            given = [share for share in self._live() if share.reader == reader]
        return sorted(given, key=lambda share: (share.owner, _age(share)))

    def sharers(self, reader: UserId) -> list[UserId]:
        """Who shares anything with somebody."""
        return [*dict.fromkeys(share.owner for share in self.shared_with(reader))]

    # ---- what a filter admits ------------------------------------------------------------------

    def _admitted(self, filter: Filter) -> list[Row]:
        """The versions that a filter admits, deleted ones too, in the order of writing."""
        held = self._held(filter)
        if filter.is_scope_alone:
            return held
        return [row for row in held if admits(filter, row.memory)]

    def _held(self, filter: Filter) -> list[Row]:
        """The versions that are there for whoever asks, whatever else a filter says of them."""
        with self._lock:
            owned = self._holdings[filter.scope.user]
            held = [*owned.at(filter.as_of).values()]
            if filter.reader is None:
                return held
            hidden = {link.target for link in owned.superseding(None)}
            return [
                row
                for row in held
                if filter.as_of is None
                and row.memory.deleted_at is None
                and row.memory.id not in hidden
                and self._right(filter, row.memory) is not None
            ]

    def _right(self, filter: Filter, memory: Memory) -> Right | None:
        """The most that the reader may do with the present version of a memory."""
        if memory.sensitive:
            return None
        given = [x for x in self._live() if (x.owner, x.reader) == (memory.owner, filter.reader)]
        rights = {x.right for x in given if x.memory == memory.id or x.tag in memory.tags}
        return max(rights, key=[*Right].index, default=None)

    def _require_write(self, filter: Filter, memory: Memory) -> None:
        """Make sure that the reader may make this the present version of a memory."""
        owned = self._holdings[filter.scope.user]
        held = owned.at(None).get(memory.id)
        present = held.memory if held else None
        hidden = {link.target for link in owned.superseding(None)}
        is_copy = is_mirror(filter.scope.user)
        is_seen = filter.as_of is None and not is_copy
        is_open = present is not None and is_seen and present.id not in hidden
        if present is None or not is_open or self._right(filter, present) is not Right.WRITE:
            raise NotAllowed(f"{filter.reader!r} may not write the memory {memory.id}")
        if (present.tags, present.sensitive) != (memory.tags, memory.sensitive):
            raise NotAllowed(f"only its owner may change the tags of the memory {memory.id}")

    def visible(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
        """Those of these memories that the filter, which has a reader, admits."""
        found = [row.memory for row in self._admitted(filter) if row.memory.id in ids]
        return {x.id: replace(x, owner=owner_of(x.owner)) for x in found}

    def visible_beginning(self, filter: Filter, prefix: str, limit: int = 5) -> list[MemoryId]:
        """The ids of visible memories that begin so, in order."""
        ids = (row.memory.id for row in self._admitted(filter))
        return sorted(id_ for id_ in ids if id_.startswith(prefix))[:limit]

    def visible_after(self, filter: Filter, after: str, limit: int) -> list[Sighting]:
        """The visible memories whose ids come behind one, in their order."""
        with self._lock:
            found = {x.memory.id: x.memory for x in self._admitted(filter) if x.memory.id > after}
            rights = self.rights(filter, [*found])
        return [
            Sighting(id_, found[id_].version, found[id_].updated_at, rights[id_])
            for id_ in sorted(found)
        ][:limit]

    def rights(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Right]:
        """The most that the reader may do with each of these memories, as far as visible."""
        with self._lock:
            rights = {
                row.memory.id: self._right(filter, row.memory)
                for row in self._admitted(filter)
                if row.memory.id in ids
            }
        return {id_: right for id_, right in rights.items() if right is not None}


def shared(share: Share) -> Subject:
    """What a share is a state of."""
    return share_subject(share.reader, share.memory, share.tag)


def _age(share: Share) -> datetime:
    return share.created_at
