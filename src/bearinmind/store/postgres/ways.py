"""Which way of searching an owner's vectors is reckoned the fastest, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from bearinmind.store.postgres.costs import MOST_DIMENSIONS, Costs


class Way(StrEnum):
    """How vectors can be searched."""

    WHOLE = "exact"  #: all of the owner's are compared
    AMONG = "exact over what the filter admits"
    INDEX = "HNSW"


class Facts(NamedTuple):
    """What a database knows about an owner's vectors of a space without a look at them."""

    space: int  #: its number
    vectors: int  #: of the owner, past versions counted
    indexed: int | None = None  #: vectors of all owners in the index; None when there is no index


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is searched for, as far as it decides how."""

    facts: Facts
    dimensions: int
    limit: int
    filtered: bool  #: whether more is asked than that a version is present
    pointless: bool  #: the query has no direction


class Choice(NamedTuple):
    """A way, and what it was chosen by."""

    way: Way
    how: str  #: for the trace
    ef: int = 0  #: how wide an index is searched
    passed: float = 0.0  #: vectors of the index that are about to be passed


def chosen(costs: Costs, search: Search, *, admitted: float, passed: float) -> Choice:
    """The fastest way.

    Args:
        costs: what each takes.
        search: what is searched for.
        admitted: about so many vectors are admitted.
        passed: about so many of the owner's are nearer than the last one wanted.
    """
    vectors, indexed = search.facts.vectors, search.facts.indexed
    takes = {Way.WHOLE: costs.whole(vectors, search.dimensions, filtered=search.filtered)}
    if search.filtered:
        takes[Way.AMONG] = costs.among(vectors, admitted)
    ef = costs.ef(search.limit)
    # The vectors of other owners lie between those of this one.
    through = max(ef or 0.0, passed * max(1.0, (indexed or 0) / vectors))
    hindrance = _hindrance(costs, search, ef, passed, through)
    if not hindrance:
        takes[Way.INDEX] = costs.index(through, search.dimensions)
    way = min(takes, key=lambda each: takes[each])
    return Choice(way, _said(way, takes, hindrance, ef), ef or 0, through)


def _hindrance(costs: Costs, search: Search, ef: int | None, passed: float, through: float) -> str:
    """Why an index cannot be taken; empty when it can."""
    if search.dimensions > MOST_DIMENSIONS:
        return f"{search.dimensions:,} dimensions cannot be indexed"
    if search.facts.indexed is None:
        return "no index yet"
    if ef is None or search.pointless:
        return "too many are wanted for the index"
    if passed > costs.astray or through > costs.furthest:
        return f"the index would pass {through:,.0f}"
    return ""


def _said(way: Way, takes: Mapping[Way, float], hindrance: str, ef: int | None) -> str:
    """What was chosen and why, such as "HNSW with ef 400: about 9 ms, exact 97 ms"."""
    name = f"{way} with ef {ef}" if way is Way.INDEX else str(way)
    others = [f"{each} {_milliseconds(takes[each])}" for each in takes if each is not way]
    said = [f"about {_milliseconds(takes[way])}", *others]
    return f"{name}: {', '.join(said + [hindrance] * bool(hindrance))}"


def _milliseconds(microseconds: float) -> str:
    return f"{math.ceil(microseconds / 1e3):,} ms"
