"""The smallest change to a query, or to a setting, that admits a memory. Each one was tried.

The fewest changes that do are looked for first, each loosened as far as it goes; then each is
tightened to the smallest that still does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypedDict, cast

from bearinmind.recall.parse import LARGEST_LIMIT
from bearinmind.recall.pipeline import Recall
from bearinmind.trace import Answer, SaysTheSame
from bearinmind.types import Hit, Memory, Query, SortBy, State


class Changes(TypedDict, total=False):
    """What is loosened; a name that is missing stays as it was. The likeliest come first."""

    limit: int
    pool: int
    budget_bytes: int | None
    least_confidence: float
    near_duplicates: float
    states: frozenset[State]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedies:
    """Looks for the smallest change, by recalling again and again."""

    recall: Recall
    query: Query
    memory: Memory
    state: State  #: the memory's, at the moment asked about
    pools: Sequence[int]  #: at each of these one more leg proposes it, ascending
    _answers: dict[frozenset[tuple[str, object]], Answer] = field(default_factory=dict)

    def smallest(self) -> str | None:
        """The change in words; None when there is none."""
        loosened = self._loosened()
        beyond = self.pools[0] > self.query.pool
        for count in range(1, len(loosened) + 1):
            for names in combinations(loosened, count):
                if beyond and "pool" not in names:
                    continue
                changes = self._admitting(_only(loosened, names))
                if changes is not None:
                    return " and ".join(_in_words(self._tightened(changes)))
        return None

    def _loosened(self) -> Changes:
        """Whatever could stand in the way, out of the way."""
        selection, states = self.recall.selection, self.query.filter.states
        changes: Changes = {"limit": LARGEST_LIMIT}
        if self.pools[-1] > self.query.pool:
            changes["pool"] = self.pools[-1]
        if self.query.budget_bytes is not None:
            changes["budget_bytes"] = None
        if selection.least_confidence:
            changes["least_confidence"] = 0.0
        if selection.near_duplicates:
            changes["near_duplicates"] = 0.0
        if self.state not in states:
            changes["states"] = states | {self.state}
        return changes

    def _admitting(self, changes: Changes) -> Changes | None:
        """The changes, if they admit the memory; with a limit of the right magnitude.

        A limit beyond the pool deepens the pool too, so that the largest is not the most admitting.
        """
        if "limit" not in changes:
            return changes if self._hit(changes) else None
        limit = self.query.limit
        while limit < LARGEST_LIMIT:
            limit = min(2 * limit, LARGEST_LIMIT)
            trial: Changes = {**changes, "limit": limit}
            if self._hit(trial):
                return trial
        return None

    def _tightened(self, changes: Changes) -> Changes:
        """The changes, none of them larger than it has to be."""
        if "pool" in changes:
            changes = self._with_least_pool(changes)
        if "least_confidence" in changes:
            changes = self._with_highest_floor(changes)
        if "near_duplicates" in changes:
            changes = self._with_highest_share(changes)
        if "budget_bytes" in changes:
            changes = self._with_least_budget(changes)
        if "limit" in changes:
            changes = self._with_least_limit(changes)
        return changes

    def _with_least_pool(self, changes: Changes) -> Changes:
        deeper = [pool for pool in self.pools if pool > self.query.pool]
        trials: list[Changes] = [{**changes, "pool": pool} for pool in deeper]
        return next(filter(self._hit, trials), changes)

    def _with_highest_floor(self, changes: Changes) -> Changes:
        hit = self._hit(changes)
        if hit is None:
            return changes
        # Rounded down, so that the number shown lets it in.
        floor = math.floor(hit.confidence * 100) / 100
        return self._if_it_admits({**changes, "least_confidence": floor}, changes)

    def _with_highest_share(self, changes: Changes) -> Changes:
        """Just above what the memory has in common with those that speak for it."""
        share = self.recall.selection.near_duplicates
        while share <= 1:
            trial: Changes = {**changes, "near_duplicates": share}
            if self._hit(trial):
                return trial
            reasons = dict(self._ask(trial).trace.dropped)
            twin = reasons.get(self.memory.id)
            if not isinstance(twin, SaysTheSame):
                break
            share = (math.floor(twin.shared * 100) + 1) / 100
        return changes

    def _with_least_budget(self, changes: Changes) -> Changes:
        hits, hit = self._ask(changes).hits, self._hit(changes)
        if hit is None or self.query.budget_bytes is None:
            return changes
        sizes = [len(each.memory.content.encode()) for each in hits[: hit.rank]]
        enough: Changes = {**changes, "budget_bytes": sum(sizes)}
        least: Changes = {**changes, "budget_bytes": least_budget(sizes, self.query.budget_bytes)}
        return self._if_it_admits(least, self._if_it_admits(enough, changes))

    def _with_least_limit(self, changes: Changes) -> Changes:
        low, high = self.query.limit, changes["limit"]  # the one does not admit it, the other does
        pool = changes.get("pool", self.query.pool)
        hit = self._hit(changes)
        guess = hit.rank if hit else high
        while high - low > 1:
            limit = guess if low < guess < high else (low + high) // 2
            hit = self._hit({**changes, "limit": limit})
            if hit is None:
                low = limit
                continue
            high, guess = limit, hit.rank
            if hit.rank == limit <= pool:  # one less would leave everything else as it is
                break
        return {**changes, "limit": high}

    def _if_it_admits(self, changes: Changes, otherwise: Changes) -> Changes:
        return changes if self._hit(changes) else otherwise

    def _hit(self, changes: Changes) -> Hit | None:
        hits = self._ask(changes).hits
        return next((hit for hit in hits if hit.memory.id == self.memory.id), None)

    def _ask(self, changes: Changes) -> Answer:
        """The answer to the query with these changes, by relevance."""
        asked = frozenset(changes.items())
        if asked not in self._answers:
            self._answers[asked] = self._recalled(changes)
        return self._answers[asked]

    def _recalled(self, changes: Changes) -> Answer:
        query, selection = self.query, self.recall.selection
        changed = replace(
            query,
            sort_by=SortBy.RELEVANCE,
            filter=replace(query.filter, states=changes.get("states", query.filter.states)),
            pool=changes.get("pool", query.pool),
            limit=changes.get("limit", query.limit),
            budget_bytes=changes.get("budget_bytes", query.budget_bytes),
        )
        looser = replace(
            selection,
            least_confidence=changes.get("least_confidence", selection.least_confidence),
            near_duplicates=changes.get("near_duplicates", selection.near_duplicates),
        )
        return replace(self.recall, selection=looser)(changed)


def least_budget(sizes: Sequence[int], budget: int) -> int:
    """The smallest budget, from this one on, that has room for the last of these sizes.

    What does not fit is passed over, so that a larger budget may leave less for the last.
    """
    while True:
        left = budget
        lacking = []  # how many bytes each that was passed over is short of
        for size in sizes:
            if size <= left:
                left -= size
                lacking.append(0)
            else:
                lacking.append(size - left)
        if not lacking[-1]:
            return budget
        budget += min(filter(None, lacking))  # with less, exactly the same fit


def _only(changes: Changes, names: Sequence[str]) -> Changes:
    given = cast("Mapping[str, object]", changes)
    return cast("Changes", {name: given[name] for name in names})


def _in_words(changes: Changes) -> Iterator[str]:
    if "states" in changes:
        yield f"ask for the states {', '.join(sorted(changes['states']))}"
    if "least_confidence" in changes:
        yield f"a least confidence of {changes['least_confidence']:.2f} or lower"
    if "near_duplicates" in changes:
        share = changes["near_duplicates"]
        yield f"near_duplicates = {share:.2f}" if share else "near_duplicates = 0, which is off"
    if "pool" in changes:
        yield f"a pool of {changes['pool']}"
    if "budget_bytes" in changes:
        size = changes["budget_bytes"]
        yield "no budget" if size is None else f"a budget of {size} bytes"
    if "limit" in changes:
        yield f"a limit of {changes['limit']}"
