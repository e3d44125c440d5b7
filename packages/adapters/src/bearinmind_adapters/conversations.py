"""Conversations of any length, message by message, kept as memories."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from bearinmind_adapters.documents import Document, Documents, Memories


class Conversation:
    """The messages of one session, in their order, as JSON."""

    def __init__(
        self,
        mind: Memories,
        application: str,
        session: str,
        **options: Any,  # noqa: ANN401  those of `Documents`
    ) -> None:
        """Keep the messages of a session in a memory."""
        self._documents = Documents(mind, application, **options)
        self._session = session

    def messages(self, limit: int | None = None) -> list[Any]:
        """The messages, or the last ones of them."""
        texts = [json.loads(document.text) for document in self._ordered()]
        return texts if limit is None else texts[max(0, len(texts) - limit) :]

    def add(self, messages: Iterable[Any]) -> None:
        """Add messages."""
        before = self._ordered()
        following = _number(before[-1]) + 1 if before else 0
        for number, message in enumerate(messages, following):
            self._documents.put(
                (self._session, f"{number:08d}"),
                json.dumps(message, ensure_ascii=False),
                session=self._session,
            )

    def pop(self) -> Any:  # noqa: ANN401  whatever was added
        """Remove the last message and return it; None if there is none."""
        ordered = self._ordered()
        if not ordered:
            return None
        self._documents.delete(ordered[-1])
        return json.loads(ordered[-1].text)

    def clear(self) -> None:
        """Remove every message; the memories can be restored."""
        for document in self._ordered():
            self._documents.delete(document)

    def _ordered(self) -> list[Document]:
        return sorted(self._documents.below((self._session,)), key=_number)


def _number(document: Document) -> int:
    return int(document.path[-1])
