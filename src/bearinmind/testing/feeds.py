"""The numbered changes of a store in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bearinmind.changes import Change, Subject, link_subject, memory_subject
from bearinmind.receipts import marks
from bearinmind.testing.holdings import Holdings
from bearinmind.types import Link, Scope, UserId


@dataclass(slots=True)
class NumberedChanges:
    """Everything of one user that changed, under the number of its last change."""

    epoch: str
    head: int = 0
    changes: dict[Subject, Change] = field(default_factory=dict)

    def note(self, changed: Mapping[Subject, tuple[str, ...]]) -> None:
        """Give the next numbers."""
        for subject, gone in changed.items():
            self.head += 1
            self.changes[subject] = Change(subject, self.head, gone)


class FeedsInMemory:
    """Numbers what is written, for those users who have a feed."""

    def __init__(self) -> None:
        super().__init__()
        self._feeds: dict[UserId, NumberedChanges] = {}

    def _note(self, scope: Scope, changed: Mapping[Subject, tuple[str, ...]]) -> None:
        if scope.user in self._feeds:
            self._feeds[scope.user].note(changed)

    def _note_written(self, scope: Scope, before: Holdings, after: Holdings) -> None:
        """Number what a transaction wrote."""
        if scope.user in self._feeds:
            self._note(scope, {**_memories(before, after), **_links(before, after)})


def _memories(before: Holdings, after: Holdings) -> dict[Subject, tuple[str, ...]]:
    known = {row.number: row for row in before.rows}
    left = {row.memory.id for row in after.rows}
    going = map(memory_subject, sorted({row.memory.id for row in known.values()} - left))
    gone = {subject: marks(before.history(subject)) for subject in going}
    written = {memory_subject(x.memory.id): () for x in after.rows if x.number not in known}
    return {**written, **gone}


def _links(before: Holdings, after: Holdings) -> dict[Subject, tuple[str, ...]]:
    old, new = frozenset(before.links), frozenset(after.links)
    written = [link for link in after.links if link not in old]
    gone = sorted(subject_of(link) for link in old - new)
    return dict.fromkeys([*map(subject_of, written), *gone], ())


def subject_of(link: Link) -> Subject:
    """What a link is a state of."""
    return link_subject(link.source, link.kind, link.target)
