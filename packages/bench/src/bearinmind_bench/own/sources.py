"""Where questions come from, and whether one only repeats its memory: that measures copying."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from bearinmind.app import Mind
from bearinmind.recall.history import Whose
from bearinmind.recall.pipeline import LARGEST_POOL
from bearinmind.recall.query_log import CapturedQuery
from bearinmind.recall.selection import heads
from bearinmind.text import analysis
from bearinmind.types import Link, LinkKind, Memory, MemoryId, State

MOST_SHARED = (
    0.5  # of a question's words that its memory may have too, when both were written apart
)
LONGEST_RUN = 3  # words in a row that both may have
MOST_NAMES = 3  # a question about people and things has to name them, and not much more

_WORD = re.compile(r"[^\W_](?:[\w'\u2019./\\:@#+-]*[\w+#])?")
_NEW_SENTENCE = re.compile(r"(?:^|[.!?:;\n\"'\u201c(\[-])\s*$")
# Digits and signs, camelCase, a path, a file or a host; not "and/or".
_IDENTIFIER = re.compile(r"[\d_@#+]|[a-z][A-Z]|[/\\:].*[/\\:.]|[a-z]\.[a-z]")


def stems(*texts: str) -> frozenset[str]:
    """The stems of the words that say something; grammar is left out."""
    return frozenset(term for text in texts for term in analysis.index(text).terms)


def of_memory(memory: Memory) -> frozenset[str]:
    """The stems under which a memory is found, apart from its keywords."""
    return stems(memory.content, *memory.tags, memory.category)


def shared(question: str, memory: Memory) -> frozenset[str]:
    """The stems that a question has in common with a memory."""
    return stems(question) & of_memory(memory)


def copies(question: str, memory: Memory) -> bool:
    """Whether a text written apart from a memory still says it in the same words."""
    terms = analysis.index(question).terms
    if not terms:
        return True
    return len(shared(question, memory)) > MOST_SHARED * len({*terms}) or bool(
        _runs(terms) & _runs(analysis.index(memory.content).terms)
    )


def gives_away(question: str, memory: Memory) -> frozenset[str]:
    """The stems of a made-up question that come from its memory and are not names."""
    common = shared(question, memory)
    names = _names(question, memory.content)
    return common - names if len(common & names) <= MOST_NAMES else common


def _runs(terms: list[str]) -> set[tuple[str, ...]]:
    """Every stretch that is one word longer than may be shared."""
    length = LONGEST_RUN + 1
    return {tuple(terms[i : i + length]) for i in range(len(terms) - length + 1)}


def _names(question: str, content: str) -> frozenset[str]:
    """The stems of names and identifiers that both texts use.

    An identifier shows by its signs. A name has a capital wherever it stands, in at least one place
    where no sentence begins.
    """
    lower: set[str] = set()
    inner: set[str] = set()
    identifiers: set[str] = set()
    for text in (question, content):
        for match in _WORD.finditer(text):
            word = match[0].removesuffix("'s").removesuffix("\u2019s")
            if _IDENTIFIER.search(word):
                identifiers |= stems(word)
            elif word[0].isupper():
                if not _NEW_SENTENCE.search(text[: match.start()]):
                    inner |= stems(word)
            else:
                lower |= stems(word)
    return frozenset((identifiers | inner) - lower)


#: Links that say: a reader of the source will want the target.
TELLING = frozenset(LinkKind) - {LinkKind.SUPERSEDES}


@dataclass(frozen=True, slots=True, kw_only=True)
class Former:
    """A text that was true once, and the live memory that took its place."""

    text: str
    present: MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """The memories of one user, as they are now and as they were."""

    live: tuple[Memory, ...]
    links: tuple[Link, ...]  #: telling ones, between live memories
    former: tuple[Former, ...]
    sensitive: int  #: live memories that were left alone

    @property
    def by_id(self) -> Mapping[MemoryId, Memory]:
        """The live memories."""
        return {memory.id: memory for memory in self.live}


def holdings_of(app: Mind) -> Holdings:
    """Everything at once; a personal store fits into memory many times over."""
    everything = [*_listed(app, State.LIVE)]
    plain = [memory for memory in everything if not memory.sensitive]
    # Where two say the same, a corpus keeps one of them.
    live = tuple({analysis.fingerprint(m.content): m for m in reversed(plain)}.values())[::-1]
    ids = {memory.id for memory in live}
    links = [link for link in app.transfer.links() if link.removed_at is None]
    return Holdings(
        live=live,
        links=tuple(
            link
            for link in links
            if link.kind in TELLING and link.source in ids and link.target in ids
        ),
        former=(*_earlier_versions(app, live), *_superseded(app, links, ids)),
        sensitive=len(everything) - len(plain),
    )


def _listed(app: Mind, state: State) -> Iterator[Memory]:
    last = None
    while page := app.list(
        limit=LARGEST_POOL, after=last, newest_first=False, states=[state], owner=Whose.ME
    ):
        yield from page
        last = page[-1].id


def _earlier_versions(app: Mind, live: tuple[Memory, ...]) -> Iterator[Former]:
    for memory in live:
        if memory.version > 1:
            for version in app.versions(memory.id):
                if version.content != memory.content and not version.sensitive:
                    yield Former(text=version.content, present=memory.id)


def _superseded(app: Mind, links: list[Link], live: set[MemoryId]) -> Iterator[Former]:
    superseded = {memory.id: memory for memory in _listed(app, State.SUPERSEDED)}
    there = live | superseded.keys()  # a deleted memory supersedes nothing
    chains = (k for k in links if k.kind is LinkKind.SUPERSEDES and k.source in there)
    for id_, present in heads(chains).items():
        if id_ in superseded and present in live and not superseded[id_].sensitive:
            yield Former(text=superseded[id_].content, present=present)


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
        """Depends on the question alone, so that judgements outlive a new set."""
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
    """A text without differences of case and spaces."""
    return " ".join(text.split()).casefold()


def chance(seed: int, key: str) -> bytes:
    """A number that chance gave to a key."""
    return hashlib.sha256(f"{seed}:{key}".encode(errors="replace")).digest()


def repeats(question: Question, memory: Memory) -> bool:
    """Whether a question asks for a memory in the memory's own words."""
    match question.source:
        case Source.KEYWORDS:
            return bool(shared(question.text, memory))
        case Source.LLM:
            return bool(gives_away(question.text, memory))
        case Source.LINKS | Source.HISTORY:
            return copies(question.text, memory)
        case Source.CAPTURED:
            return False  # it was really asked like that, and says nothing of any memory


def captured(queries: Iterable[CapturedQuery], draw: Draw) -> Yielded:
    """What the user really asked; what is relevant to it only a judge can say."""
    distinct: dict[str, CapturedQuery] = {}
    rejected: Counter[str] = Counter()
    for query in queries:
        if not stems(query.text):
            rejected["says nothing"] += 1
            continue
        rejected["asked more than once"] += canonical(query.text) in distinct
        distinct[canonical(query.text)] = query
    chosen = draw.order(distinct.values(), lambda query: canonical(query.text))[: draw.most]
    return Yielded(
        source=Source.CAPTURED,
        questions=tuple(
            # Without halves of characters, which a recall takes for spaces too.
            Question(
                source=Source.CAPTURED,
                text=query.text.encode(errors="replace").decode(),
                hits=query.hits,
            )
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
        own = of_memory(memory)
        beside = [word for word in memory.keywords if (parts := stems(word)) and not parts & own][
            :MOST_KEYWORDS
        ]
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
        text = min(texts[id_], key=lambda text: len(shared(text, memory)))
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


def _telling(memory: Memory, question: str) -> frozenset[str]:
    """The keywords that would give the answer away: those with a word of the question."""
    words = stems(question)
    return frozenset(word for word in memory.keywords if stems(word) & words)
