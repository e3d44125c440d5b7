"""The numbered changes of a store, and what stands there now."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from bearinmind.changes import (
    Change,
    ConflictState,
    Feed,
    LinkState,
    ShareState,
    Subject,
    SubjectKind,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.protocols import Gone, History, Sealed, SubjectState
from bearinmind.receipts import Noted, marks
from bearinmind.store import rows
from bearinmind.store.database import OnDatabase, Owned, Parameters, Row
from bearinmind.types import Link, LinkKind, Memory, MemoryId, Scope, Share

Read = Callable[[str, Parameters], list[Row]]  #: all rows of a statement, for one owner
_CLOSING = (
    "close_feed",
    "forget_all_changes",
    "forget_peer",
    "forget_peer_numbers",
    "forget_conflicts",
)
_SEALED = slice(2, 6)  # the columns of `histories_of` that say what a version keeps sealed
_VERSION = slice(6, None)


class FeedsInDatabase(OnDatabase):
    """Satisfies the part of `bearinmind.protocols.Syncing` that tells what changed."""

    def open_feed(self, scope: Scope, epoch: str) -> Feed:
        """Number everything that is there, and every change from now on."""
        with self._writing(scope) as transaction:
            if transaction.change("open_feed", {"epoch": epoch}):
                transaction.change("number_everything")
                transaction.change("note_head")
            [known] = transaction.rows("feed")
        return _to_feed(known)

    def feed(self, scope: Scope) -> Feed | None:
        """The feed of a scope."""
        found = self._database.read("feed", {"owner": scope.user})
        return _to_feed(found[0]) if found else None

    def close_feed(self, scope: Scope) -> None:
        """Number no more changes, and forget the peer and what is known of it; memories stay."""
        with self._writing(scope) as transaction:
            for statement in _CLOSING:
                transaction.change(statement)

    def changes(self, scope: Scope, after: int, limit: int) -> list[Change]:
        """The changes behind a number, in order; each thing once, under its last number."""
        asked = {"owner": scope.user, "after": after, "limit": limit}
        found = self._database.read("changes_after", asked)
        return [
            Change(Subject(SubjectKind(kind), name), number, tuple(json.loads(gone)), refused)
            for kind, name, number, gone, refused in found
        ]

    def numbers(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, int]:
        """The numbers of those things that have one."""
        return numbers_in("change_numbers", self._reading(scope), subjects)

    def states(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, SubjectState]:
        """What stands there now for each of these things."""
        return states_in(self._reading(scope), subjects)

    def _reading(self, scope: Scope) -> Read:
        """Reads what belongs to the owner of a scope."""
        return lambda statement, asked: self._database.read(
            statement, {**asked, "owner": scope.user}
        )


def _to_feed(row: Row) -> Feed:
    epoch, head = row
    return Feed(epoch=epoch, head=head)


def by_kind(subjects: Iterable[Subject]) -> dict[SubjectKind, list[str]]:
    """The names of these things, each once, by what they are."""
    names: dict[SubjectKind, list[str]] = defaultdict(list)
    for kind, name in dict.fromkeys(subjects):
        names[kind].append(name)
    return names


def numbers_in(statement: str, read: Read, subjects: Iterable[Subject]) -> dict[Subject, int]:
    """The numbers of these things that a statement gives."""
    return {
        Subject(kind, name): number
        for kind, names in by_kind(subjects).items()
        for name, number in read(statement, {"kind": kind, "names": names})
    }


# ---- what stands there now ----------------------------------------------------------------------


def states_in(read: Read, subjects: Iterable[Subject]) -> dict[Subject, SubjectState]:
    """What stands there now; the things of one kind are all seen at the same moment."""
    found: dict[Subject, SubjectState] = {}
    reads = {
        SubjectKind.MEMORY: _memories_in,
        SubjectKind.LINK: _links_in,
        SubjectKind.SHARE: _shares_in,
        SubjectKind.CONFLICT: _conflicts_in,
    }
    for kind, names in by_kind(subjects).items():
        found.update(reads[kind](read, names))
    return found


def _memories_in(read: Read, names: list[str]) -> dict[Subject, SubjectState]:
    found = _by_name(read, "histories_of", names)
    return {Subject(SubjectKind.MEMORY, name): _to_state(found[name]) for name in names}


def _by_name(read: Read, statement: str, names: list[str]) -> dict[str, list[Row]]:
    rows_by_name: dict[str, list[Row]] = defaultdict(list)
    for row in read(statement, {"names": names}):
        rows_by_name[row[0]].append(row)
    return rows_by_name


def _to_state(found: Sequence[Row]) -> History | Gone:
    """A memory from its rows of `histories_of`; there is one without a version if none is left."""
    if found[0][_VERSION][0] is None:
        return Gone(tuple(json.loads(found[0][1] or "[]")))
    versions = [rows.to_memory(row[_VERSION]) for row in found]
    sealed = [
        _to_sealed(memory, row[_SEALED])
        for memory, row in zip(versions, found, strict=True)
        if row[_SEALED][0] is not None
    ]
    return History(versions=tuple(versions), sealed=tuple(sealed))


def _to_sealed(memory: Memory, record: Sequence[Any]) -> Sealed:
    key_id, nonce, ciphertext, fingerprint = record
    return Sealed(
        owner=memory.owner,
        id=memory.id,
        version=memory.version,
        key_id=key_id,
        nonce=nonce,
        ciphertext=ciphertext,
        fingerprint=fingerprint,
    )


def _links_in(read: Read, names: list[str]) -> dict[Subject, SubjectState]:
    found = _by_name(read, "links_named", names)
    return {
        Subject(SubjectKind.LINK, name): LinkState(
            tuple(rows.to_link(link) for _, *link in found[name])
        )
        for name in names
    }


def _shares_in(read: Read, names: list[str]) -> dict[Subject, SubjectState]:
    found = _by_name(read, "shares_named", names)
    held = {name: rows.to_share(share[1:]) for name, [share] in found.items() if share}
    return {Subject(SubjectKind.SHARE, name): ShareState(held.get(name)) for name in names}


def _conflicts_in(read: Read, names: list[str]) -> dict[Subject, SubjectState]:
    found = _by_name(read, "conflicts_named", names)
    known = {name: rows.to_conflict(each[0][1:]) for name, each in found.items() if each}
    return {
        Subject(SubjectKind.CONFLICT, name): ConflictState(
            known[name]._replace(number=0) if name in known else None
        )
        for name in names
    }


# ---- noting changes: what follows runs inside a transaction of the caller -----------------------


def note(transaction: Owned, changed: Mapping[Subject, tuple[str, ...]]) -> dict[Subject, int]:
    """Number what changed, if the owner has a feed; the numbers that were given.

    Of a purged memory the digests of all its versions come with it.
    """
    advanced = transaction.row("advance_feed", {"count": len(changed)}) if changed else None
    if advanced is None:
        return {}
    first = advanced[0] - len(changed) + 1
    numbers = {subject: number for number, subject in enumerate(changed, first)}
    transaction.change_each(
        "note_change",
        [
            {
                "kind": subject.kind,
                "name": subject.name,
                "number": number,
                "gone": json.dumps(changed[subject]),
            }
            for subject, number in numbers.items()
        ],
    )
    return numbers


def note_written(
    transaction: Owned, ids: Iterable[MemoryId] = (), links: Iterable[Link] = ()
) -> None:
    """Number memories and links that were written."""
    written = [*map(memory_subject, ids), *map(linked, links)]
    note(transaction, dict.fromkeys(written, ()))


def note_share(transaction: Owned, share: Share) -> None:
    """Number that something is shared, or is not any more."""
    note(transaction, {shared(share): ()})


def about_to_go(transaction: Owned, ids: Sequence[MemoryId]) -> Noted:
    """What a purge of these memories changes, with the marks of their versions.

    Nothing if the owner has no feed: then nobody asks.
    """
    return going(transaction, ids) if transaction.row("feed") else {}


def going(transaction: Owned, ids: Sequence[MemoryId]) -> Noted:
    """The same, whether anybody asks or not."""
    states = states_in(transaction.rows, map(memory_subject, sorted({*ids})))
    parameters = {"ids": [*ids]}
    links = [
        link_subject(source, LinkKind(kind), target)
        for source, kind, target in transaction.rows("links_touching", parameters)
    ]
    shares = map(rows.to_share, transaction.rows("shares_of_these", parameters))
    return {
        **{x: marks(state) for x, state in states.items() if isinstance(state, History)},
        **dict.fromkeys([*sorted(links), *sorted(map(shared, shares))], ()),
    }


def linked(link: Link) -> Subject:
    """What a link is a state of."""
    return link_subject(link.source, link.kind, link.target)


def shared(share: Share) -> Subject:
    """What a share is a state of."""
    return share_subject(share.reader, share.memory, share.tag)
