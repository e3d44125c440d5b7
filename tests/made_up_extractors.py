"""Extractors for tests: small, exact and, where a test wants it, troublesome."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from bearinmind.concepts import Alias, Extraction, Kind, Mention, Role
from bearinmind.text.names import name_of
from bearinmind.types import Memory

_TITLE = re.compile(r"(?P<title>[^:]+): ")
_NAME = re.compile(r"(?:[A-Z][a-z]+ ?)+")
_ALIAS = re.compile(r"(?P<of>[A-Z][\w ]+?) \((?P<name>[A-Z]{2,})\)")


class TitleExtractor:
    """A memory is about what stands before its colon, and names what is capitalised behind it."""

    def __init__(
        self,
        name: str = "titles",
        trouble: Callable[[Sequence[Memory]], object] = lambda _: None,
        *,
        batch: int = 200,
        leaves_machine: bool = False,
    ) -> None:
        self.key = name
        self.batch = batch
        self.leaves_machine = leaves_machine
        self.trouble = trouble
        self.seen: list[str] = []
        self.batches: list[int] = []
        self.closed = 0

    def __call__(self, memories: Sequence[Memory]) -> list[Extraction]:
        self.trouble(memories)
        self.seen += [memory.content for memory in memories]
        self.batches.append(len(memories))
        return [self._read(memory.content) for memory in memories]

    def close(self) -> None:
        self.closed += 1

    def _read(self, content: str) -> Extraction:
        title = _TITLE.match(content)
        about = [_mention(title["title"], Role.SUBJECT)] if title else []
        named = _NAME.findall(content[title.end() :] if title else content)
        stated = [(found["name"], found["of"]) for found in _ALIAS.finditer(content)]
        names = [*named, *(text for pair in stated for text in pair)]
        return Extraction(
            mentions=(*about, *(_mention(text.strip(), Role.NAME) for text in names)),
            aliases=tuple(Alias(name_of(name), name_of(of), "said so") for name, of in stated),
        )


def _mention(text: str, role: Role) -> Mention:
    return Mention(name_of(text), role, Kind.NAME, text)
