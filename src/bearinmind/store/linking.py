"""The links of a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from bearinmind import errors
from bearinmind.store import feeds, rows
from bearinmind.store.database import OnDatabase, Owned
from bearinmind.types import Link, LinkKind, MemoryId, Scope


class LinksInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Links`."""

    def add_link(self, scope: Scope, link: Link) -> None:
        """Keep a link; duplicates and supersede cycles are refused."""
        with self._writing(scope) as transaction:
            insert(transaction, link)
            feeds.note_written(transaction, links=[link])

    def remove_link(self, scope: Scope, link: Link) -> bool:
        """Close a link at `link.removed_at`; False when there is none to close."""
        with self._writing(scope) as transaction:
            removed = bool(transaction.change("remove_link", rows.from_link(link)))
            if removed:
                feeds.note_written(transaction, links=[link])
        return removed

    def has_links(self, scope: Scope) -> bool:
        """Whether a scope has any link, past or present."""
        return bool(self._database.read("has_links", {"owner": scope.user}))

    def links(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The links that begin or end at these memories, oldest first."""
        return self._links("links_of", scope, ids, as_of)

    def superseding(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The supersedes links above these memories, as far as their chains go."""
        return self._links("superseding", scope, ids, as_of)

    def _links(
        self, statement: str, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None
    ) -> list[Link]:
        found = self._database.read(
            statement, {"owner": scope.user, "ids": [*ids], "moment": rows.moment(as_of)}
        )
        return [*map(rows.to_link, found)]

    def all_links(self, scope: Scope) -> Iterator[Link]:
        """Every link ever made in a scope, removed ones too."""
        return map(rows.to_link, self._database.read("all_links", {"owner": scope.user}))


def insert(transaction: Owned, link: Link) -> None:
    """Keep a link, inside a transaction of the caller."""
    refuse_circle(transaction, link)
    if not transaction.change("insert_link", rows.from_link(link)):
        raise errors.DuplicateLink(f"{link.source} {link.kind} {link.target} is there already")


def refuse_circle(transaction: Owned, link: Link) -> None:
    """Make sure that a link makes no memory supersede itself.

    Raises:
        SupersedeCycle: it would.
    """
    if link.kind is LinkKind.SUPERSEDES and link.removed_at is None:
        reverse = rows.from_link(link) | {"source": link.target, "target": link.source}
        if transaction.row("supersedes_already", reverse):
            raise errors.SupersedeCycle(
                f"{link.target} already supersedes {link.source}, directly or by way of others"
            )
