"""Imports relations and mentions that were extracted elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bearinmind import ids
from bearinmind.concepts import Mention, Statement
from bearinmind.errors import (
    Conflict,
    InvalidInput,
    InvalidRecord,
    MindError,
    NotFound,
    SecretInClearField,
)
from bearinmind.graph import triples
from bearinmind.graph.triples import Given
from bearinmind.protocols import Store
from bearinmind.types import Memory, MemoryId, Scope

BATCH = 200  # lines of one transaction

ORIGIN = "import"  #: of a relation that was imported, not extracted here

#: The number of a line with its text, or with why it cannot be read.
Line = tuple[int, str | bytes | MindError]


@dataclass(frozen=True, slots=True, kw_only=True)
class BadLine:
    """A line that was not imported, and why."""

    line: int
    code: str
    message: str


@dataclass(slots=True)
class GraphImported:
    """How much an import added to the graph."""

    lines: int = 0
    relations: int = 0  #: that were new
    mentions: int = 0  #: that were new
    unusable: int = 0  #: triples and entities that name nothing, or join a concept to itself
    bad: int = 0
    problems: list[BadLine] = field(default_factory=list)


class GraphImport:
    """Adds numbered lines to the graph; a wrong line is left out and reported."""

    def __init__(
        self,
        store: Store,
        scope: Scope,
        now: datetime,
        *,
        find: Callable[[str], Memory],
        secret_kinds: Callable[[str], Sequence[str]],
        masked: Callable[[str], str],
        same_as: Mapping[str, str] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> None:
        self._store = store
        self._scope = scope
        self._now = now
        self._find = find
        self._secret_kinds = secret_kinds
        self._masked = masked
        self._same_as = same_as or {}
        self._advance = advance or (lambda _: None)
        self._result = GraphImported()
        self._waiting: list[tuple[Given, tuple[MemoryId, ...]]] = []

    def __call__(self, lines: Iterable[Line]) -> GraphImported:
        """Import numbered lines."""
        for number, line in lines:
            try:
                self._waiting.append(self._read(line))
            except (InvalidInput, NotFound, Conflict) as exc:
                self._refuse(number, exc)
            if len(self._waiting) >= BATCH:
                self._flush()
        self._flush()
        return self._result

    def _read(self, line: str | bytes | MindError) -> tuple[Given, tuple[MemoryId, ...]]:
        if isinstance(line, MindError):
            raise line
        given = triples.read(line)
        self._refuse_secrets(given)
        return given, tuple(self._memory(id_).id for id_ in given.memories)

    def _refuse_secrets(self, given: Given) -> None:
        """Concepts are stored in clear, so none may hold a secret.

        Raises:
            SecretInClearField: with the kind of the secret.
        """
        types = [statement.type for statement in given.statements]
        for text in [*types, *(mention.label for mention in given.mentions)]:
            kinds = self._secret_kinds(text)
            if kinds:
                raise SecretInClearField(f"a concept holds what looks like: {kinds[0]}")

    def _memory(self, text: str) -> Memory:
        """The memory with this id; a beginning such as 17 may mean anything elsewhere."""
        id_ = ids.normalise(self._same_as.get(text, text))
        if len(id_) != ids.LENGTH:
            raise InvalidRecord(f"{text!r} is not the whole id of a memory")
        memory = self._find(id_)
        if memory.sensitive:
            raise InvalidRecord(
                f"memory {memory.id} is sensitive", hint="Nothing of it is kept in the graph."
            )
        if memory.deleted_at is not None:
            raise InvalidRecord(
                f"memory {memory.id} is deleted", hint="Restore it first, or leave the line out."
            )
        return memory

    def _refuse(self, number: int, error: MindError) -> None:
        self._result.bad += 1
        message = self._masked(error.message)  # some messages quote what they refuse
        self._result.problems.append(BadLine(line=number, code=error.code, message=message))

    def _flush(self) -> None:
        batch, self._waiting = self._waiting, []
        if not batch:
            return
        stated: list[tuple[Statement, tuple[MemoryId, ...]]] = []
        mentions: dict[MemoryId, list[Mention]] = {}
        for given, memories in batch:
            stated += [(statement, memories) for statement in given.statements]
            for id_ in memories:
                mentions.setdefault(id_, []).extend(given.mentions)
            self._result.unusable += given.unusable
        self._result.mentions += self._store.add_mentions(self._scope, mentions, given=True)
        self._result.relations += self._store.add_statements(self._scope, stated, self._now, ORIGIN)
        self._result.lines += len(batch)
        self._advance(len(batch))
