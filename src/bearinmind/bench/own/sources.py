"""Where questions come from: each source is a function, and a stratum of the evaluation set.

No source may ask for a memory in the memory's own words: that would measure copying. What a source
asks with was written apart from the memory (by the user, at another time, about something linked),
is left out of the corpus, and is turned down when it still says the same in the same words.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from bearinmind.bench.own import wording
from bearinmind.bench.own.holdings import Holdings
from bearinmind.recall.query_log import CapturedQuery
from bearinmind.types import Memory, MemoryId

MOST_KEYWORDS = 4  # of one question: nobody asks with twenty
MOST_ANSWERS = 5  # a word that half of the memories have is a topic and not a question
MOST_LEFT_OUT = 0.25  # of the memories, for being the question of a link
_DIGITS = 12  # of an id: 48 bits, so that no two questions of a set ever share one

Item = TypeVar("Item")


class Source(StrEnum):
    """Who asks."""

    KEYWORDS = "keywords"
    LINKS = "links"
    HISTORY = "history"
    LLM = "llm"
    CAPTURED = "captured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something to ask, and the memories known to be relevant because of where it comes from."""

    source: Source
    text: str
    relevant: tuple[MemoryId, ...] = ()
    hits: tuple[str, ...] = ()  #: what was given back when it was really asked

    @property
    def id(self) -> str:
        """The same for the same question, so that judgements outlive a new set."""
        digest = hashlib.sha256(canonical(self.text).encode()).hexdigest()
        return f"{self.source}-{digest[:_DIGITS]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """How many questions a source may give, and which: chosen by chance, the same every time."""

    seed: int
    most: int

    def order(self, items: Iterable[Item], key: Callable[[Item], str] = str) -> list[Item]:
        """The items shuffled; one that is added later does not move the others."""
        return sorted(items, key=lambda item: chance(self.seed, key(item)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Yielded:
    """What a source gave."""

    source: Source
    questions: tuple[Question, ...] = ()
    rejected: Mapping[str, int] = field(default_factory=dict)  #: by reason
    lacking: str  #: what there would have to be for it to give anything
    held_out: Mapping[MemoryId, frozenset[str]] = field(default_factory=dict)  #: keywords
    left_out: frozenset[MemoryId] = frozenset()  #: memories that are questions themselves


def canonical(text: str) -> str:
    """The same for texts that ask the same."""
    return " ".join(text.split()).casefold()


def chance(seed: int, key: str) -> bytes:
    """A number that chance gave to a key."""
    return hashlib.sha256(f"{seed}:{key}".encode(errors="replace")).digest()


def repeats(question: Question, memory: Memory) -> bool:
    """Whether a question asks for a memory in the memory's own words."""
    match question.source:
        case Source.KEYWORDS:
            return bool(wording.shared(question.text, memory))
        case Source.LLM:
            return bool(wording.gives_away(question.text, memory))
        case Source.LINKS | Source.HISTORY:
            return wording.copies(question.text, memory)
        case Source.CAPTURED:
            return False  # it was really asked like that, and says nothing of any memory


def captured(queries: Iterable[CapturedQuery], draw: Draw) -> Yielded:
    """What the user really asked; what is relevant to it only a judge can say."""
    asked: dict[str, CapturedQuery] = {}
    rejected: Counter[str] = Counter()
    for query in queries:
        if not wording.stems(query.text):
            rejected["says nothing"] += 1
            continue
        rejected["asked more than once"] += canonical(query.text) in asked
        asked[canonical(query.text)] = query
    chosen = draw.order(asked.values(), lambda query: canonical(query.text))[: draw.most]
    return Yielded(
        source=Source.CAPTURED,
        questions=tuple(
            Question(source=Source.CAPTURED, text=_writable(query.text), hits=query.hits)
            for query in chosen
        ),
        rejected=+rejected,
        lacking="no query was captured; the `capture_queries` setting turns capturing on",
    )


def keywords(memories: Sequence[Memory], draw: Draw) -> Yielded:
    """The other words by which the user wanted to find a memory, taken away from it."""
    rejected: Counter[str] = Counter()
    alike: dict[str, list[Memory]] = {}  # memories that the same words ask for
    for memory in memories:
        if not memory.keywords:
            continue
        own = wording.of_memory(memory)
        beside = [word for word in memory.keywords if _is_apart(word, own)][:MOST_KEYWORDS]
        if beside:
            alike.setdefault(" ".join(beside), []).append(memory)
        else:
            rejected["all keywords are the memory's own words"] += 1
    asking: dict[str, list[Memory]] = {}
    for text in draw.order(alike):
        if len(alike[text]) > MOST_ANSWERS:
            rejected[f"asks for more than {MOST_ANSWERS} memories"] += 1
        elif len(asking) < draw.most:
            asking[text] = alike[text]
    return Yielded(
        source=Source.KEYWORDS,
        questions=tuple(
            Question(source=Source.KEYWORDS, text=text, relevant=tuple(m.id for m in wanted))
            for text, wanted in asking.items()
        ),
        rejected=+rejected,
        lacking="no memory has keywords; `bearinmind store --keyword` adds them",
        held_out={m.id: _telling(m, text) for text, wanted in asking.items() for m in wanted},
    )


def links(holdings: Holdings, draw: Draw) -> Yielded:
    """A memory's text as the question, the memories it is linked to as the answer.

    The asking memory is left out of the corpus. There it would be the best match for its own words,
    take the first place from the answer in every arm, and hide what differs between them.
    """
    memories = holdings.by_id
    targets: dict[MemoryId, list[MemoryId]] = {}
    for link in holdings.links:
        targets.setdefault(link.source, []).append(link.target)
    room = int(len(memories) * MOST_LEFT_OUT)
    asking: dict[MemoryId, Question] = {}
    answering: set[MemoryId] = set()
    rejected: Counter[str] = Counter()
    for source in draw.order(targets):
        relevant = tuple(dict.fromkeys(targets[source]))
        question = Question(source=Source.LINKS, text=memories[source].content, relevant=relevant)
        if any(repeats(question, memories[id_]) for id_ in relevant):
            rejected["says the same as the linked memory, in the same words"] += 1
        elif source in answering or asking.keys() & {*relevant}:
            rejected["would leave out the answer to another question"] += 1
        elif len(asking) == room:
            rejected[f"would leave out more than {MOST_LEFT_OUT:.0%} of the memories"] += 1
        elif len(asking) < draw.most:
            asking[source] = question
            answering |= {*relevant}
    return Yielded(
        source=Source.LINKS,
        questions=tuple(asking.values()),
        rejected=+rejected,
        lacking="no two live memories are linked; `bearinmind link` does that",
        left_out=frozenset(asking),
    )


def history(holdings: Holdings, kept: Mapping[MemoryId, Memory], draw: Draw) -> Yielded:
    """What a memory said before it was changed or superseded, as the question for it."""
    texts: dict[MemoryId, list[str]] = {}
    for former in holdings.former:
        if former.present in kept:
            texts.setdefault(former.present, []).append(former.text)
    questions: list[Question] = []
    rejected: Counter[str] = Counter()
    for id_ in draw.order(texts):
        memory = kept[id_]
        text = min(texts[id_], key=lambda text: len(wording.shared(text, memory)))
        question = Question(source=Source.HISTORY, text=text, relevant=(id_,))
        if repeats(question, memory):
            rejected["says the same as the present memory, in the same words"] += 1
        elif len(questions) < draw.most:
            questions.append(question)
    return Yielded(
        source=Source.HISTORY,
        questions=tuple(questions),
        rejected=+rejected,
        lacking="no memory was ever changed or superseded",
    )


def _writable(text: str) -> str:
    """A text without halves of characters, which a recall takes for spaces too."""
    return text.encode(errors="replace").decode()


def _telling(memory: Memory, question: str) -> frozenset[str]:
    """The keywords that would give the answer away: those with a word of the question."""
    asked = wording.stems(question)
    return frozenset(word for word in memory.keywords if wording.stems(word) & asked)


def _is_apart(word: str, own: frozenset[str]) -> bool:
    found = wording.stems(word)
    return bool(found) and not found & own
