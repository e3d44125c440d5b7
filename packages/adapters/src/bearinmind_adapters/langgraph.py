"""A store of LangGraph over memories, with search by words, meaning and connection."""

from __future__ import annotations

import asyncio
import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from bearinmind_adapters.documents import Document, Documents, Memories, Path

_UNINDEXED = "langgraph-unindexed"  # the tag of what no query is to find
_MOST = 1_000  # candidates of a query that filters choose from
_FIELD = re.compile(r"[\w.-]+")
_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class BearInMindStore(BaseStore):
    """Keeps what graphs remember across threads as memories.

    A value is kept as JSON, of any length; every version of it is kept. A search with a query ranks
    by the recall of Bear in Mind: `score` is the probability that an item answers the query. It
    needs no `index`: what is put with `index=False` is left out of such searches.
    """

    def __init__(self, mind: Memories, *, application: str = "langgraph", **options: Any) -> None:  # noqa: ANN401  those of `Documents`
        """Keep the items of one application in a memory."""
        self._documents = Documents(mind, application, **options)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of operations: first all that read, then all that write."""
        given = [*ops]
        for op in given:
            validate_op_namespace(op)
        results = [None if isinstance(op, PutOp) else self._read(op) for op in given]
        last = {(op.namespace, op.key): op for op in given if isinstance(op, PutOp)}
        for op in last.values():
            self._put(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The results of operations, without blocking the event loop."""
        return await asyncio.to_thread(self.batch, [*ops])

    def _read(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            document = self._documents.get((*op.namespace, op.key))
            return _item(document) if document else None
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"Unknown operation type: {type(op)}")

    def _put(self, op: PutOp) -> None:
        path = (*op.namespace, op.key)
        if op.value is None:
            document = self._documents.get(path)
            if document is not None:
                self._documents.delete(document)
            return
        tags = [_UNINDEXED] if op.index is False else []
        self._documents.put(path, json.dumps(op.value, ensure_ascii=False), tags, agent="langgraph")

    def _search(self, op: SearchOp) -> list[SearchItem]:
        prefix = tuple(op.namespace_prefix)
        scores: dict[Path, float] = {}
        if op.query:
            # What is left out afterwards must not take the places of what is wanted.
            wanted = _MOST if op.filter else min(_MOST, 2 * (op.offset + op.limit))
            ranked = self._documents.search(prefix, op.query, limit=wanted)
            scores = {document.path: probability for document, probability in ranked}
            documents = [document for document, _ in ranked if not _is_unindexed(document)]
        else:
            documents = self._documents.below(prefix)
            documents.sort(key=lambda each: each.updated_at, reverse=True)
        items = [_search_item(each, scores.get(each.path)) for each in documents]
        kept = [item for item in items if _passes(item.value, op.filter or {})]
        return kept[op.offset : op.offset + op.limit]

    def _namespaces(self, op: ListNamespacesOp) -> list[Path]:
        every = {document.path[:-1] for document in self._documents.below()}
        matching = {
            namespace[: op.max_depth]
            for namespace in every
            if all(_matches(namespace, each) for each in op.match_conditions or ())
        }
        return sorted(matching)[op.offset : op.offset + op.limit]


def _fields(document: Document) -> dict[str, Any]:
    return {
        "namespace": document.path[:-1],
        "key": document.path[-1],
        "value": json.loads(document.text),
        "created_at": document.created_at,
        "updated_at": document.updated_at,
    }


def _item(document: Document) -> Item:
    return Item(**_fields(document))


def _search_item(document: Document, score: float | None) -> SearchItem:
    return SearchItem(**_fields(document), score=score)


def _is_unindexed(document: Document) -> bool:
    return _UNINDEXED in document.parts[0].tags


def _passes(value: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    for name in filters:
        if not _FIELD.fullmatch(name):  # as LangGraph's own stores have it
            raise ValueError(f"Invalid filter key: {name!r}")
    return all(_compares(_field(value, name), wanted) for name, wanted in filters.items())


def _field(value: Any, name: str) -> Any:  # noqa: ANN401  whatever JSON can hold
    """A field of a value, perhaps of a value in it: `user.name`."""
    if isinstance(value, dict) and name in value:
        return value[name]
    first, _, rest = name.partition(".")
    inner = value.get(first) if isinstance(value, dict) else None
    return _field(inner, rest) if rest else None


def _compares(value: Any, wanted: Any) -> bool:  # noqa: ANN401  whatever JSON can hold
    """Whether a field of a value is as a filter wants it; nothing compares with what is missing."""
    if not (isinstance(wanted, dict) and any(str(name).startswith("$") for name in wanted)):
        return type(value) is type(wanted) and bool(value == wanted)
    for name, other in wanted.items():
        if name not in _COMPARISONS:
            raise ValueError(f"Unsupported operator: {name}")
        try:
            if not _COMPARISONS[name](value, other):
                return False
        except TypeError:
            return False
    return True


def _matches(namespace: Path, condition: MatchCondition) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))
