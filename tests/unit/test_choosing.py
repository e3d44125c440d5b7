"""Adjustment, selection and supersession: the pure stages after fusion."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.recall.scores import Adjustments
from bearinmind.recall.selection import Budget, Selection, heads, present
from bearinmind.trace import BelowLimit, Judged, OverBudget, SaysTheSame, Span
from bearinmind.types import (
    Decider,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outdated,
    Placing,
    Provenance,
    Query,
    SortBy,
    Trust,
)

Make = Callable[..., Memory]
Ask = Callable[..., Query]

# ---- adjust ------------------------------------------------------------------------------------


def test_only_importance_counts_by_default(make: Make, ask: Ask, noon: datetime) -> None:
    memory = make("walrus", importance=0.5, created_at=noon - timedelta(days=999))
    assert Adjustments()(ask("walrus"), memory, noon) == {"importance": 0.85}


@given(low=st.floats(0, 1), high=st.floats(0, 1), weight=st.floats(0.01, 1))
def test_a_more_important_memory_is_never_adjusted_lower(
    make: Make, ask: Ask, noon: datetime, low: float, high: float, weight: float
) -> None:
    low, high = sorted((low, high))
    adjust = Adjustments(importance=weight)
    less, more = (adjust(ask(), make(importance=i), noon)["importance"] for i in (low, high))
    assert 0 <= less <= more <= 1 + 1e-9


def test_full_importance_changes_nothing_and_none_keeps_the_rest(
    make: Make, ask: Ask, noon: datetime
) -> None:
    adjust = Adjustments(importance=0.3)
    assert adjust(ask(), make(importance=1.0), noon)["importance"] == pytest.approx(1.0)
    assert adjust(ask(), make(importance=0.0), noon)["importance"] == pytest.approx(0.7)
    assert Adjustments(importance=0.0)(ask(), make(), noon) == {}


@pytest.mark.parametrize(
    ("text", "applies"), [("The Walrus", True), ("  walrus sings ", True), ("walrus sang", False)]
)
def test_the_exact_bonus_needs_the_query_word_for_word(
    make: Make, ask: Ask, noon: datetime, text: str, applies: bool
) -> None:
    factors = Adjustments(exact=0.5)(ask(text), make("See how the walrus sings."), noon)
    assert ("exact" in factors) is applies
    assert factors.get("exact", 1.5) == 1.5


def test_focus_counts_once_for_tags_or_category(make: Make, ask: Ask, noon: datetime) -> None:
    adjust = Adjustments(importance=0, focus=0.2)
    both = make(tags=("red",), category="people")
    assert adjust(ask(focus=("red", "people")), both, noon) == {"focus": 1.2}
    assert adjust(ask(focus=("people",)), both, noon) == {"focus": 1.2}
    assert adjust(ask(focus=("blue",)), both, noon) == {}


def test_decay_fades_by_category_and_never_rewards_the_future(
    make: Make, ask: Ask, noon: datetime
) -> None:
    adjust = Adjustments(importance=0, decay_days={"facts": 7.0})
    week = timedelta(days=7)
    assert adjust(ask(), make(created_at=noon - week), noon)["decay"] == pytest.approx(1 / math.e)
    assert adjust(ask(), make(created_at=noon + week), noon)["decay"] == 1.0
    assert adjust(ask(), make(category="people", created_at=noon - week), noon) == {}


MAY = Span(datetime(2025, 5, 1, tzinfo=UTC), datetime(2025, 6, 1, tzinfo=UTC))
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("moment", "factor"),
    [
        (MAY.start, 2.0),
        (MAY.end - DAY, 2.0),
        (MAY.end, 1.5),  # it is often stored some days later
        (MAY.end + 6 * DAY, 1.5),
        (MAY.end + 7 * DAY, None),
        (MAY.end - 40 * DAY, None),
    ],
)
def test_a_memory_from_the_time_that_is_asked_about_counts_more(
    make: Make, ask: Ask, noon: datetime, moment: datetime, factor: float | None
) -> None:
    adjust = Adjustments(importance=0, time=1.0)
    factors = adjust(ask(), make(created_at=moment), noon, MAY)
    assert factors.get("time") == factor
    assert (factor or 1) <= adjust.most(ask(), MAY)


def test_a_memory_is_from_every_time_at_which_it_is_valid(
    make: Make, ask: Ask, noon: datetime
) -> None:
    adjust = Adjustments(importance=0, time=1.0)
    was_valid = make(created_at=MAY.end - 200 * DAY, valid_to=MAY.end - 10 * DAY)
    ended = make(created_at=MAY.end - 200 * DAY, valid_to=MAY.start)
    begins_later = make(created_at=MAY.end - DAY, valid_from=MAY.end)
    assert adjust(ask(), was_valid, noon, MAY) == {"time": 2.0}
    assert adjust(ask(), ended, noon, MAY) == {}
    assert adjust(ask(), begins_later, noon, MAY) == {}


def test_a_longer_span_says_less_and_an_open_one_nothing(
    make: Make, ask: Ask, noon: datetime
) -> None:
    adjust = Adjustments(importance=0, time=1.0)
    memory = make(created_at=MAY.end - DAY)
    ten_months = Span(MAY.end - 310 * DAY, MAY.end)
    assert adjust(ask(), memory, noon, ten_months)["time"] == pytest.approx(1.1)
    assert adjust.most(ask(), ten_months) == pytest.approx(1.1)
    assert adjust.most(ask(), Span(None, MAY.end)) == 1.0
    assert adjust(ask(), memory, noon, Span(None, MAY.end)) == {}
    assert Adjustments(importance=0, time=0)(ask(), memory, noon, MAY) == {}


def test_a_short_decay_is_known_to_lock_out_older_memories(
    make: Make, ask: Ask, noon: datetime
) -> None:
    """With tau = 7 days a perfect hit of 9 days ago loses to one a third as good: so it is off."""
    adjust = Adjustments(importance=0, decay_days={"facts": 7.0})
    perfect = 1.0 * adjust(ask(), make(created_at=noon - timedelta(days=9)), noon)["decay"]
    poor = 0.3 * adjust(ask(), make(created_at=noon), noon)["decay"]
    assert perfect < poor
    assert Adjustments().decay_days == {}


def test_trust_counts_by_class(make: Make, ask: Ask, noon: datetime) -> None:
    adjust = Adjustments(importance=0, trust={Trust.EXTERNAL: 0.5})
    external = make(provenance=Provenance(trust=Trust.EXTERNAL))
    assert adjust(ask(), external, noon) == {"trust": 0.5}
    assert adjust(ask(), make(), noon) == {}


# ---- select ------------------------------------------------------------------------------------


def judged(memories: list[Memory]) -> list[Judged]:
    """The memories as candidates, best first."""
    return [
        Judged(memory.id, 1.0 / rank, 1.0 / rank, {"lexical": Placing(rank, 1.0, 1.0)}, {})
        for rank, memory in enumerate(memories, start=1)
    ]


def choose(
    memories: list[Memory], query: Query, selection: Selection | None = None
) -> tuple[list[MemoryId], dict[MemoryId, object]]:
    held = {memory.id: memory for memory in memories}
    budget = Budget(query.budget_bytes)
    chosen, dropped = (selection or Selection())(query, judged(memories), held, budget, {})
    return [each.id for each in chosen], {each.id: each.reason for each in dropped}


def test_the_limit_takes_the_best_and_names_the_others(make: Make, ask: Ask) -> None:
    a, b, c = make(), make(), make()
    below = BelowLimit(limit=1)
    assert choose([a, b, c], ask(limit=1)) == ([a.id], {b.id: below, c.id: below})


def test_a_memory_fits_the_budget_whole_or_not_at_all(make: Make, ask: Ask) -> None:
    six, four, two = make("sixsix"), make("äé"), make("to")
    chosen, dropped = choose([six, four, two], ask(budget_bytes=8))
    assert chosen == [six.id, two.id]
    assert dropped == {four.id: OverBudget(size=4, left=2)}
    assert choose([six], ask(budget_bytes=5)) == ([], {six.id: OverBudget(size=6, left=5)})
    assert choose([six], ask(budget_bytes=6)) == ([six.id], {})


def test_an_outdated_memory_fits_with_the_one_that_outdates_it_or_not_at_all(
    make: Make, ask: Ask
) -> None:
    old, new, other = make("sixsix"), make("four"), make("two")
    held = {memory.id: memory for memory in (old, new, other)}
    mark = Outdated(by=new.id, until=new.created_at, probability=1.0, decided_by=Decider.PERSON)
    for most, expected in ((9, [new, other]), (10, [old, new]), (13, [old, new, other])):
        chosen, dropped = Selection()(
            ask(), judged([old, new, other]), held, Budget(most), {old.id: mark}
        )
        assert [each.id for each in chosen] == [each.id for each in expected]
        assert len(chosen) + len(dropped) == len(held)


def test_the_same_words_are_chosen_once(make: Make, ask: Ask) -> None:
    first, twin, other = make("The walrus\nsings"), make("the WALRUS  sings"), make("a seal")
    assert choose([first, twin, other], ask()) == (
        [first.id, other.id],
        {twin.id: SaysTheSame(by=first.id)},
    )


def test_a_memory_speaks_for_those_with_the_same_words_only_if_it_is_given(
    make: Make, ask: Ask
) -> None:
    long, short = make("a   walrus"), make("a walrus")
    chosen, dropped = choose([long, short], ask(budget_bytes=8))
    assert chosen == [short.id]
    assert dropped == {long.id: OverBudget(size=10, left=8)}


NEARLY = "deploys run after the nightly backup and take long"


def test_near_duplicates_are_chosen_once_when_that_is_on(make: Make, ask: Ask) -> None:
    first, near = make(NEARLY), make(f"{NEARLY} here")
    share = 2 * 9 / 19
    assert choose([first, near], ask()) == ([first.id, near.id], {})
    for threshold in (0.5, share):
        chosen, dropped = choose([first, near], ask(), Selection(near_duplicates=threshold))
        assert chosen == [first.id]
        [reason] = dropped.values()
        assert reason == SaysTheSame(by=first.id, shared=share)
        assert str(reason) == f"says nearly the same as {first.id}: 95% of the words"
    assert choose([first, near], ask(), Selection(near_duplicates=share + 0.01))[1] == {}


@pytest.mark.parametrize("word", ["never", "3", "Oslo", "monday"])
def test_near_duplicates_that_differ_in_what_tells_are_both_chosen(
    make: Make, ask: Ask, word: str
) -> None:
    pair = [make(NEARLY), make(f"{NEARLY} {word}")]
    chosen, dropped = choose(pair, ask(), Selection(near_duplicates=0.1))
    assert (chosen, dropped) == ([each.id for each in pair], {})


def test_secrets_are_never_taken_for_each_other(make: Make, ask: Ask) -> None:
    """Their placeholders are alike; what they stand for is not."""
    pair = [
        make(f"[sensitive: password; bearinmind secret get {name}]", sensitive=True)
        for name in ("aa", "bb")
    ]
    assert choose(pair, ask(), Selection(near_duplicates=0.1))[1] == {}


@given(
    contents=st.lists(st.sampled_from(["a b c", "a b c d", "b a c", "a b c 7", "a"]), max_size=8),
    threshold=st.floats(0.01, 1),
)
def test_whoever_is_left_out_as_a_near_duplicate_has_one_that_is_given(
    make: Make, ask: Ask, contents: list[str], threshold: float
) -> None:
    memories = [make(content) for content in contents]
    held = {memory.id: memory for memory in memories}
    chosen, dropped = choose(memories, ask(), Selection(near_duplicates=threshold))
    for id_, reason in dropped.items():
        assert isinstance(reason, SaysTheSame)
        assert reason.by in chosen
        assert reason.shared >= threshold
        assert ("7" in held[id_].content) == ("7" in held[reason.by].content)


@given(
    contents=st.lists(st.sampled_from(["a", "A", "bb", "ccc", "dddd dddd"]), max_size=12),
    limit=st.integers(1, 6),
    budget=st.none() | st.integers(0, 25),
)
def test_every_candidate_is_chosen_or_dropped_exactly_once(
    make: Make,
    ask: Ask,
    contents: list[str],
    limit: int,
    budget: int | None,
) -> None:
    memories = [make(content) for content in contents]
    held = {memory.id: memory for memory in memories}
    candidates = judged(memories)
    query = ask(limit=limit, budget_bytes=budget)
    chosen, dropped = Selection()(query, candidates, held, Budget(budget), {})
    told = [each.id for each in chosen] + [each.id for each in dropped]
    assert sorted(told) == sorted(held)
    assert len(chosen) <= limit
    assert [each for each in candidates if each in chosen] == chosen
    if budget is not None:
        assert sum(len(held[each.id].content.encode()) for each in chosen) <= budget


def test_presenting_arranges_what_relevance_chose(make: Make, noon: datetime) -> None:
    a = make(importance=0.1, created_at=noon)
    b = make(importance=0.9, created_at=noon - timedelta(days=1))
    c = make(importance=0.9, created_at=noon + timedelta(days=1))
    held = {memory.id: memory for memory in (a, b, c)}

    def arranged(sort_by: SortBy) -> list[MemoryId]:
        return [each.id for each in present(judged([a, b, c]), held, sort_by)]

    assert arranged(SortBy.RELEVANCE) == [a.id, b.id, c.id]
    assert arranged(SortBy.IMPORTANCE) == [b.id, c.id, a.id]
    assert arranged(SortBy.RECENCY) == [c.id, a.id, b.id]


# ---- supersession ------------------------------------------------------------------------------

A, B, C = map(MemoryId, "abc")


def newer(source: MemoryId, target: MemoryId, hours: int = 0) -> Link:
    return Link(
        source=source,
        target=target,
        kind=LinkKind.SUPERSEDES,
        created_at=datetime.fromisoformat("2026-01-01T00:00:00+00:00") + timedelta(hours=hours),
    )


def test_the_newest_of_a_chain_is_served() -> None:
    assert heads([newer(A, B), newer(B, C)]) == {B: A, C: A}
    assert heads([]) == {}


def test_the_branch_that_was_linked_last_wins() -> None:
    assert heads([newer(A, C, hours=2), newer(B, C, hours=1)]) == {C: A}
    assert heads([newer(A, C, hours=1), newer(B, C, hours=1)]) == {C: B}


def test_a_circle_ends() -> None:
    served = heads([newer(A, B), newer(B, C), newer(C, A)])
    assert served.keys() == {A, B, C}


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef"), st.integers(0, 3))))
def test_the_order_of_links_does_not_matter(drawn: list[tuple[str, str, int]]) -> None:
    links = [newer(MemoryId(s), MemoryId(t), hours) for s, t, hours in drawn if s < t]
    served = heads(links)
    assert served == heads(reversed(links))
    assert served.keys() == {link.target for link in links}
    assert all(head not in served for head in served.values())
