"""An extractor for tests: it reads what a memory says in so many words.

A memory such as `Gannet | Heron, Ilse | Gannet > runs on > Heron` is about Gannet, names Heron and
Ilse, and states a relation. Every part may be empty. Its tags and keywords are mentioned as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from bearinmind.concepts import Alias, Extraction, Kind, Mention, Role, Statement
from bearinmind.protocols import Store
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


HOUR = timedelta(hours=1)
Make = Callable[..., Memory]
Read = Callable[..., int]


def mention(label: str, role: Role = Role.NAME, kind: Kind = Kind.NAME) -> Mention:
    return Mention(name_of(label), role, kind, label)


def states(source: str, kind: str, target: str, **fields: object) -> Statement:
    return Statement(mention(source), kind, mention(target), **fields)  # type: ignore[arg-type]


def extraction_of(memory: Memory) -> Extraction:
    """What a memory says."""
    subjects, names, statements = ([*_parts(memory.content)] + [[]] * 3)[:3]
    mentions = [
        *(mention(label, Role.SUBJECT) for label in subjects),
        *(mention(label) for label in names),
        *(mention(tag, Role.TAG, Kind.TOPIC) for tag in memory.tags),
        *(mention(keyword, Role.KEYWORD, Kind.TOPIC) for keyword in memory.keywords),
    ]
    said = [states(*(part.strip() for part in each.split(">"))) for each in statements]
    return Extraction(tuple(mentions), tuple(said))


def _parts(content: str) -> list[list[str]]:
    return [
        [each.strip() for each in part.split(",") if each.strip()] for part in content.split("|")
    ]


def read_all(store: Store, at: datetime) -> int:
    """Do every job that waits for the extractor; how many there were."""
    jobs = store.claim(["extract"], 999, at, at + HOUR)
    store.finish_extraction(jobs, [extraction_of(job.memory) for job in jobs], at)
    return len(jobs)


def after(memory: Memory, **changes: object) -> Memory:
    """The next version of a memory, written an hour later."""
    later = memory.updated_at + HOUR
    return replace(memory, version=memory.version + 1, updated_at=later, **changes)  # type: ignore[arg-type]


def deleted(memory: Memory) -> Memory:
    return after(memory, deleted_at=memory.updated_at + HOUR)
