"""Texts of any length under paths, kept as memories: what frameworks store under keys.

A memory is bounded, and its text is folded to one canonical form. A text is kept exactly all the
same: it is cut between its lines into parts that fit, and a part that would be folded is written as
a string of JSON. Each part is a memory that says where it belongs, so that it can be recalled; a
change of a text changes its parts, and the versions before are kept.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import quote, unquote

from bearinmind import Client, Mind
from bearinmind.remember.admit import CONTENT_LIMIT
from bearinmind.types import Memory, State

Path = tuple[str, ...]
Memories = Mind | Client  #: a store of this process, or the client of a server

_PRESENT = (State.LIVE, State.SUPERSEDED, State.EXPIRED)
_PAGE = 1_000  # memories that are read at once
_END = "\n[end]"  # without it the spaces at the end of a text would be lost
_HEADING = re.compile(r"\[(?P<number>\d+)(?P<json>, json)?\] (?P<path>\S+)\n")
_FOLDED = re.compile("[\r\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_SHORTEST = 100  # characters of a part; with a longer path than that leaves, there is no room


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A text under a path, and the memories that hold it."""

    path: Path
    text: str
    parts: tuple[Memory, ...]

    @property
    def created_at(self) -> datetime:
        """When it was first stored."""
        return min(part.created_at for part in self.parts)

    @property
    def updated_at(self) -> datetime:
        """When it was changed last."""
        return max(part.updated_at for part in self.parts)


class Documents:
    """The texts that one application keeps in a memory."""

    def __init__(
        self, mind: Memories, application: str, *, content_limit: int = CONTENT_LIMIT
    ) -> None:
        """Keep texts in a memory; the content limit is that of the store."""
        self._mind: Any = mind  # whose keywords are checked by itself
        self._application = application
        self._limit = content_limit

    def get(self, path: Path) -> Document | None:
        """The text under a path."""
        documents = _assembled(self._parts(self._tag("at", path)))
        return documents[0] if documents else None

    def put(self, path: Path, text: str, tags: Iterable[str] = (), **fields: Any) -> Document:  # noqa: ANN401  those of `Mind.store`
        """Keep a text under a path, in place of the one that is there."""
        return self._write(path, self.get(path), text, [*self._tags(path), *tags], fields)

    def move(self, document: Document, path: Path) -> Document:
        """Keep a text under another path, with all its versions."""
        return self._write(path, document, document.text, self._tags(path), {})

    def delete(self, document: Document) -> None:
        """Hide a text; its memories can be restored."""
        for part in document.parts:
            self._mind.delete(part.id)

    def below(self, folder: Path = ()) -> list[Document]:
        """The texts whose path begins with a folder, those that were stored last first."""
        return _assembled(self._parts(self._tag("in", folder)))

    def tagged(self, tag: str) -> list[Document]:
        """The texts that were put with a tag."""
        return _assembled(self._parts(tag))

    def search(
        self,
        folder: Path,
        query: str,
        *,
        limit: int,
        **fields: Any,  # noqa: ANN401  those of `Mind.recall`
    ) -> list[tuple[Document, float]]:
        """The texts of a folder that answer a query, each with the probability that it does."""
        answer = self._mind.recall(
            query,
            **{"tags": [self._tag("in", folder)], "limit": limit, "pool": limit}
            | {"all": True, "group": "off", **fields},
        )
        best: dict[Path, float] = {}
        for hit in answer.hits:
            path = _path_of(hit.memory)
            best[path] = max(best.get(path, 0.0), hit.probability)
        found = [(self.get(path), probability) for path, probability in best.items()]
        return [(document, probability) for document, probability in found if document]

    def _write(
        self,
        path: Path,
        before: Document | None,
        text: str,
        tags: Sequence[str],
        fields: Mapping[str, Any],
    ) -> Document:
        parts = [*before.parts] if before else []
        written: list[Memory] = []
        for number, content in enumerate(self._contents(path, text)):
            if number < len(parts):
                changes = {"content": content, "tags": [*tags]}
                written.append(self._mind.update(parts[number].id, **changes))
            else:
                written.append(self._mind.store(content, tags=[*tags], **fields).memory)
        for surplus in parts[len(written) :]:
            self._mind.delete(surplus.id)
        return Document(path=path, text=text, parts=tuple(written))

    def _contents(self, path: Path, text: str) -> Iterator[str]:
        """The contents of the memories that hold a text."""
        name = "/".join(quote(part, safe="") for part in path)
        room = max(_SHORTEST, self._limit - len(f"[999999, json] {name}\n{_END}"))
        for number, part in enumerate(_cut(text, room)):
            folded = _FOLDED.search(part) or unicodedata.normalize("NFC", part) != part
            mark = ", json" if folded else ""
            yield f"[{number}{mark}] {name}\n{json.dumps(part) if folded else part}{_END}"

    def _parts(self, tag: str) -> Iterator[Memory]:
        """The memories with a tag."""
        after: Any = None
        while True:
            page = self._mind.list(tags=[tag], states=_PRESENT, limit=_PAGE, after=after)
            for memory in page:
                yield self._revealed(memory)
            if len(page) < _PAGE:
                return
            after = page[-1].created_at, page[-1].id

    def _revealed(self, memory: Memory) -> Memory:
        """A memory with its text; that of a sensitive one is revealed, which the audit notes."""
        if not memory.sensitive:
            return memory
        return replace(memory, content=self._mind.secrets.reveal(memory.id))

    def _tags(self, path: Path) -> list[str]:
        folders = [self._tag("in", path[:depth]) for depth in range(len(path))]
        return [*folders, self._tag("at", path)]

    def _tag(self, kind: str, path: Path) -> str:
        """The tag of a folder or of a text: tags are folded and short, and paths are neither."""
        digest = hashlib.sha256(json.dumps(path).encode()).hexdigest()[:20]
        return f"{self._application}-{kind}-{digest}"


def _cut(text: str, room: int) -> Iterator[str]:
    """A text in pieces that fit, cut between lines where that can be; an empty one is one piece."""
    piece = ""
    for line in text.splitlines(keepends=True) or [""]:
        if piece and _size(piece + line) > room:
            yield piece
            piece = ""
        piece += line
        while _size(piece) > room:
            count = room if _size(piece[:room]) <= room else room // 6  # each may become \uXXXX
            yield piece[:count]
            piece = piece[count:]
    if piece or not text:
        yield piece


def _size(text: str) -> int:
    """The most characters that a text takes in a memory."""
    folded = _FOLDED.search(text) or unicodedata.normalize("NFC", text) != text
    return len(json.dumps(text)) if folded else len(text)


def _path_of(memory: Memory) -> Path:
    heading = _HEADING.match(memory.content)
    name = heading["path"] if heading else ""
    return tuple(unquote(part) for part in name.split("/"))


def _assembled(memories: Iterable[Memory]) -> list[Document]:
    """The texts that memories hold, in the order of their first part."""
    parts: dict[Path, dict[int, tuple[Memory, str]]] = {}
    for memory in memories:
        heading = _HEADING.match(memory.content)
        if heading is None:  # somebody changed it by hand
            continue
        body = memory.content[heading.end() :].removesuffix(_END)
        text = json.loads(body) if heading["json"] else body
        parts.setdefault(_path_of(memory), {})[int(heading["number"])] = memory, text
    return [
        Document(
            path=path,
            text="".join(text for _, (_, text) in sorted(held.items())),
            parts=tuple(memory for _, (memory, _) in sorted(held.items())),
        )
        for path, held in parts.items()
    ]
