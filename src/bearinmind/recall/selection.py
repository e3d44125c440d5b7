"""Which candidates are served, and why the others are not.

First those that may be; after the adjustments the best of them, none twice, as many as there is
room for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from bearinmind.outdates.verdicts import is_less_trusted
from bearinmind.protocols import Readable
from bearinmind.text.analysis import FUNCTION_WORDS, fold
from bearinmind.text.distinguishing_words import BEFORE, BEHIND, DATES, NEGATIONS, NUMBERS
from bearinmind.trace import (
    BelowLimit,
    Dropped,
    Expired,
    Gone,
    Judged,
    NotAskedFor,
    OverBudget,
    Reason,
    SaysTheSame,
    Superseded,
)
from bearinmind.types import (
    Filter,
    Fused,
    Link,
    Memory,
    MemoryId,
    Outdated,
    Query,
    Ranking,
    SortBy,
    State,
    Trust,
    UserId,
    is_expired,
)

_CONTRACTED = re.compile("n['\u2019]t$")

#: The parts of a filter that look at the memory alone, by the name of their field.
CONDITIONS: dict[str, Callable[[Filter, Memory], bool]] = {
    "categories": lambda f, m: not f.categories or m.category in f.categories,
    "tags": lambda f, m: f.tags.issubset(m.tags),
    "created_from": lambda f, m: f.created_from is None or m.created_at >= f.created_from,
    "created_to": lambda f, m: f.created_to is None or m.created_at < f.created_to,
    "session": lambda f, m: f.session is None or m.provenance.session == f.session,
    "project": lambda f, m: f.project is None or m.provenance.project == f.project,
    "agent": lambda f, m: f.agent is None or m.provenance.agent == f.agent,
}


def refusals(filter: Filter, memory: Memory) -> list[str]:
    """The names of the conditions that a memory does not meet."""
    return [name for name, met in CONDITIONS.items() if not met(filter, memory)]


def admits(filter: Filter, memory: Memory) -> bool:
    """Whether a memory of the scope meets every condition; its state is not looked at."""
    return not refusals(filter, memory)


class MemoryReader:
    """The memories of a recall, each read once: by a leg that had to, else from the store."""

    def __init__(self, store: Readable, filter: Filter, rankings: Sequence[Ranking]) -> None:
        self._store = store
        self._filter = filter
        self._at_hand = {id_: load for r in rankings for id_, load in r.memories.items()}
        self._read: dict[MemoryId, Memory] = {}

    def get(
        self, ids: Sequence[MemoryId], likely: Sequence[MemoryId] = ()
    ) -> dict[MemoryId, Memory]:
        """All memories read so far; these are read, and the likely ones if the store is asked."""
        read, at_hand = self._read, self._at_hand
        missing = []
        for id_ in ids:
            if id_ not in read:
                load = at_hand.get(id_)
                if load is None:
                    missing.append(id_)
                else:
                    read[id_] = load()
        if missing:
            missing += [id_ for id_ in likely if id_ not in read and id_ not in at_hand]
            read |= self._store.get_many(self._filter.scope, missing, self._filter.as_of)
        return read


class Eligibility:
    """The fused candidates as memories: the newest of each chain, and none that has expired."""

    def __init__(
        self,
        filter: Filter,
        fused: Sequence[Fused],
        superseded: Mapping[MemoryId, MemoryId],
        reader: MemoryReader,
    ) -> None:
        self._filter = filter
        self._superseded = superseded
        self.dropped: list[Dropped] = []
        self.replaced: dict[MemoryId, tuple[MemoryId, ...]] = {}
        self._serves_old = State.SUPERSEDED in filter.states
        served = {} if self._serves_old else superseded
        self.memories = reader.get([served.get(candidate.id, candidate.id) for candidate in fused])
        self.kept: list[Fused] = self._keep(fused)

    def _keep(self, fused: Sequence[Fused]) -> list[Fused]:
        """Candidates under the id that is served, each once, at its best place, in order."""
        kept: dict[MemoryId, Fused] = {}
        for candidate in fused:
            id_ = candidate.id
            if id_ in self._superseded and not self._serves_old:
                # The newest memory of the chain is served in its place, if the filter admits it.
                head = self._superseded[id_]
                served = self._refusal(head) is None and admits(self._filter, self.memories[head])
                self.dropped.append(Dropped(id_, Superseded(by=head, served=served)))
                if served:
                    self.replaced[head] = (*self.replaced.get(head, ()), id_)
                    kept.setdefault(head, candidate._replace(id=head))
                continue
            reason = self._refusal(id_)
            if reason is not None:
                self.dropped.append(Dropped(id_, reason))
            else:
                kept.setdefault(id_, candidate)
        return [*kept.values()]

    def servable(self, reader: MemoryReader, links: Sequence[Link]) -> Mapping[MemoryId, Memory]:
        """The memories of these links that may be served, those that are no candidates included."""
        ends = [*dict.fromkeys(end for link in links for end in (link.source, link.target))]
        if not ends:
            return {}
        self.memories = reader.get(ends)
        return {id_: self.memories[id_] for id_ in ends if self._refusal(id_) is None}

    def _refusal(self, id_: MemoryId) -> Reason | None:
        """Why a memory may not be served; None if it may."""
        memory = self.memories.get(id_)
        if memory is None or memory.deleted_at is not None:
            return Gone()
        if id_ in self._superseded:
            state = State.SUPERSEDED
        else:
            state = State.EXPIRED if is_expired(memory, self._filter.now) else State.LIVE
        if state in self._filter.states:
            return None
        return Expired() if state is State.EXPIRED else NotAskedFor(state=state)


def heads(links: Iterable[Link]) -> dict[MemoryId, MemoryId]:
    """For each superseded memory the newest memory of its chain.

    Where a chain branches, the branch that was linked last wins; equal times break on the id.
    """
    newer: dict[MemoryId, Link] = {}
    for link in links:
        rival = newer.get(link.target)
        if rival is None or (link.created_at, link.source) > (rival.created_at, rival.source):
            newer[link.target] = link
    newest = {}
    for id_ in newer:
        head, seen = id_, {id_}
        while head in newer and newer[head].source not in seen:
            head = newer[head].source
            seen.add(head)
        newest[id_] = head
    return newest


# ---- the best of them ----------------------------------------------------------------------------


class Budget:
    """What is left of the bytes that a query asks for; a memory that is given twice counts once."""

    def __init__(self, most: int | None) -> None:
        self._left = most
        self._given: set[MemoryId] = set()

    def take(self, *memories: Memory) -> OverBudget | None:
        """Take room for these, for all or for none; why there is none, else None."""
        if self._left is None:
            return None
        new = {each.id: each for each in memories if each.id not in self._given}
        size = sum(len(each.content.encode()) for each in new.values())
        if size > self._left:
            return OverBudget(size=size, left=self._left)
        self._left -= size
        self._given |= new.keys()
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The rules of selection; its repr is the recipe that a trace shows."""

    near_duplicates: float = 0.0  #: of common words: from this share on one is dropped; 0 off

    def __call__(
        self,
        query: Query,
        judged: Iterable[Judged],
        memories: Mapping[MemoryId, Memory],
        budget: Budget,
        outdated: Mapping[MemoryId, Outdated],
    ) -> tuple[list[Judged], list[Dropped]]:
        """The chosen, best first, and the others with the reason why not.

        What is `outdated` has room only together with the memory that outdates it.
        """
        chosen: list[Judged] = []
        dropped: list[Dropped] = []
        texts = _ChosenTexts(self.near_duplicates)
        below = BelowLimit(limit=query.limit)
        for candidate in judged:
            if len(chosen) == query.limit:
                dropped.append(Dropped(candidate.id, below))
                continue
            memory = memories[candidate.id]
            by = outdated[memory.id].by if memory.id in outdated else memory.id
            reason = texts.twin(memory)
            if isinstance(reason, SaysTheSame) and texts.yields(reason.by, memory, query):
                place = next(n for n, each in enumerate(chosen) if each.id == reason.by)
                dropped.append(Dropped(reason.by, replace(reason, by=candidate.id)))
                chosen[place] = candidate
                texts.replace(reason.by, memory)
                continue
            reason = reason or budget.take(memory, memories.get(by, memory))
            if reason:
                dropped.append(Dropped(candidate.id, reason))
                continue
            chosen.append(candidate)
            texts.add(memory)
        return chosen, dropped


class _ChosenTexts:
    """The texts of the memories chosen so far."""

    def __init__(self, near: float) -> None:
        self._near = near
        self._memories: dict[MemoryId, Memory] = {}
        self._same: dict[str, MemoryId] = {}
        self._wordings: list[tuple[MemoryId, Wording]] = []

    def yields(self, by: MemoryId, memory: Memory, query: Query) -> bool:
        """Whether a chosen memory gives its place to a more trusted one that says the same."""
        user = query.filter.scope.user
        return _is_less_trusted(self._memories[by], memory, user)

    def replace(self, by: MemoryId, memory: Memory) -> None:
        """Choose a memory in place of another one."""
        self._same = {text: id_ for text, id_ in self._same.items() if id_ != by}
        self._wordings = [each for each in self._wordings if each[0] != by]
        self.add(memory)

    def add(self, memory: Memory) -> None:
        self._memories[memory.id] = memory
        self._same[_without_form(memory.content)] = memory.id
        if self._near and not memory.sensitive:
            self._wordings.append((memory.id, wording_of(memory.content)))

    def twin(self, memory: Memory) -> Reason | None:
        """The chosen memory that says the same as this one, or nearly."""
        by = self._same.get(_without_form(memory.content))
        if by is not None:
            return SaysTheSame(by=by)
        if not self._near or memory.sensitive:  # placeholders are alike; what they hide is not
            return None
        mine = wording_of(memory.content)
        for id_, other in self._wordings:
            share = word_overlap(mine, other)
            if share >= self._near and not differ_in_meaning(mine, other):
                return SaysTheSame(by=id_, shared=share)
        return None


def _is_less_trusted(one: Memory, other: Memory, user: UserId) -> bool:
    """Whether a user trusts one memory less: others' memories are data, like external ones."""
    if (one.owner == user) != (other.owner == user):
        return other.owner == user and other.provenance.trust is not Trust.EXTERNAL
    return is_less_trusted(one, other)


def _without_form(content: str) -> str:
    """The words alone: white space and capitals say nothing."""
    return " ".join(content.casefold().split())


def present(
    chosen: Sequence[Judged], memories: Mapping[MemoryId, Memory], sort_by: SortBy
) -> list[Judged]:
    """The chosen in the order asked for. Relevance chooses; this only arranges."""
    match sort_by:
        case SortBy.RELEVANCE:
            return [*chosen]
        case SortBy.IMPORTANCE:
            return sorted(chosen, key=lambda c: -memories[c.id].importance)
        case SortBy.RECENCY:
            return sorted(chosen, key=lambda c: memories[c.id].created_at, reverse=True)


class Wording(NamedTuple):
    """The words of a text, as they are compared with those of another."""

    words: tuple[str, ...]  #: folded, in order
    marked: Mapping[str, str]  #: those that are numbers, negations, dates or names, and which


def wording_of(text: str) -> Wording:
    """The words of a text, without punctuation and case."""
    words: list[str] = []
    marked: dict[str, str] = {}
    for piece in text.split():
        word = piece.lstrip(BEFORE).rstrip(BEHIND)
        if word:
            words.append(fold(word))
            mark = _mark(word, words[-1])
            if mark:
                marked[words[-1]] = mark
    return Wording(tuple(words), marked)


def word_overlap(one: Wording, other: Wording) -> float:
    """The share of their words that two texts have in common (Dice 1945), repeated ones counted."""
    total = len(one.words) + len(other.words)
    common = (Counter(one.words) & Counter(other.words)).total()
    return 2 * common / total if total else 0.0


def differ_in_meaning(one: Wording, other: Wording) -> bool:
    """Whether two texts differ in a marked word, or in the order of the words that both have."""
    mine, others = Counter(one.words), Counter(other.words)
    if _marks(one, mine - others) != _marks(other, others - mine):
        return True
    return _in_common(one.words, mine & others) != _in_common(other.words, mine & others)


def _mark(word: str, folded: str) -> str:
    """What a word is known by if it is a number, a negation, a date or a name; else nothing.

    A capital makes a name, at the beginning of a sentence too: there it may be one.
    """
    if folded in NEGATIONS or _CONTRACTED.search(folded):
        return "not"
    is_marked = (
        folded in NUMBERS
        or folded in DATES
        or any(map(str.isnumeric, word))
        or (any(map(str.isupper, word)) and folded not in FUNCTION_WORDS)
    )
    return folded if is_marked else ""


def _marks(text: Wording, only: Counter[str]) -> Counter[str]:
    """The marks of those words that only this text has."""
    return Counter(text.marked[word] for word in only.elements() if word in text.marked)


def _in_common(words: tuple[str, ...], common: Counter[str]) -> list[str]:
    """The words that both texts have, in the order of this one."""
    left = common.copy()
    kept = []
    for word in words:
        if left[word] > 0:
            left[word] -= 1
            kept.append(word)
    return kept
