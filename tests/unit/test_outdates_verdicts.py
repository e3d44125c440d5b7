"""Which memories are outdated, by the links between them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.outdates.verdicts import MARK, outdated, prevailing
from bearinmind.recall.groups import (
    Arranged,
    OrderWeights,
    Question,
    arrange,
    order_evidence,
    that_matter,
    to_be_read,
)
from bearinmind.trace import Asks, Judged, Span
from bearinmind.types import (
    Decider,
    Group,
    Judgement,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outdated,
    Provenance,
    Trust,
    UserId,
)

DAY = timedelta(days=1)
START = datetime(2025, 1, 1, tzinfo=UTC)
NAMES = "abcdefghi"


def memory(name: str, trust: Trust = Trust.AGENT, **fields: Any) -> Memory:
    """A memory that was stored on the day of its letter."""
    stored = START + NAMES.index(name) * DAY
    values: dict[str, Any] = {
        "id": MemoryId(name),
        "owner": UserId("ada"),
        "content": name,
        "category": "facts",
        "tags": (),
        "keywords": (),
        "importance": 0.5,
        "sensitive": False,
        "created_at": stored,
        "updated_at": stored,
        "deleted_at": None,
        "valid_from": None,
        "valid_to": None,
        "provenance": Provenance(trust=trust),
        "version": 1,
    }
    return Memory(**(values | fields))


def link(
    pair: str, by: Decider | None = Decider.SCORER, probability: float = MARK, day: int = 9
) -> Link:
    """The link "ba": b outdates a."""
    judgement = Judgement(probability=probability, by=by) if by else None
    newer, older = map(MemoryId, pair)
    made = START + day * DAY
    return Link(
        source=newer, target=older, kind=LinkKind.OUTDATES, created_at=made, judgement=judgement
    )


ALL = {MemoryId(name): memory(name) for name in NAMES}


def verdict(*links: Link, memories: dict[MemoryId, Memory] = ALL) -> dict[str, str]:
    """For each outdated memory, the one that outdates it, whatever the order of the links."""
    results = [prevailing(each, memories, 0.5) for each in permutations(links)]
    assert all(result == results[0] for result in results)
    return {older: each.source for older, each in results[0].items()}


def test_a_link_of_enough_probability_outdates() -> None:
    assert verdict(link("ba", probability=0.5)) == {"a": "b"}
    assert verdict(link("ba", probability=0.49)) == {}


def test_a_link_that_was_made_by_hand_is_a_persons_and_certain() -> None:
    by_hand = link("ba", by=None)
    assert outdated([by_hand], ALL, 0.5) == {
        "a": Outdated(
            by=MemoryId("b"),
            until=ALL[MemoryId("b")].created_at,
            probability=1.0,
            decided_by=Decider.PERSON,
        )
    }


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        (Decider.SCORER, Decider.MODEL),
        (Decider.MODEL, Decider.AGENT),
        (Decider.AGENT, Decider.PERSON),
        (Decider.AGENT, None),
    ],
)
def test_the_later_decider_prevails_in_either_direction(
    weaker: Decider, stronger: Decider | None
) -> None:
    assert verdict(link("ba", weaker, day=20), link("ab", stronger, probability=1)) == {"b": "a"}


def test_of_one_decider_the_later_link_prevails() -> None:
    person = Decider.PERSON
    assert verdict(link("ba", person, day=10), link("ab", person, day=11)) == {"b": "a"}


def test_somebody_who_says_that_both_hold_is_believed() -> None:
    assert verdict(link("ba"), link("ab", Decider.AGENT, probability=0)) == {}


@pytest.mark.parametrize("by", [Decider.SCORER, Decider.MODEL, Decider.AGENT])
def test_a_less_trusted_memory_outdates_none_unless_a_person_says_so(by: Decider) -> None:
    memories = ALL | {MemoryId("a"): memory("a", Trust.USER)}
    assert verdict(link("ba", by), memories=memories) == {}
    assert verdict(link("ba", Decider.PERSON), memories=memories) == {"a": "b"}
    # It does not stand against a link in the other direction either.
    assert verdict(link("ba", by), link("ab"), memories=memories) == {"b": "a"}


def test_of_several_that_outdate_a_memory_the_first_in_time_is_its_next_state() -> None:
    assert verdict(link("ca"), link("ba"), link("cb")) == {"a": "b", "b": "c"}


def test_a_memory_that_the_reader_does_not_see_outdates_nothing() -> None:
    seen = {id_: each for id_, each in ALL.items() if id_ != "b"}
    assert verdict(link("ba"), memories=seen) == {}
    assert verdict(link("ba"), link("ca"), memories=seen) == {"a": "c"}


@pytest.mark.parametrize("state", [{"sensitive": True}, {"deleted_at": START}])
def test_a_sealed_or_deleted_memory_outdates_nothing(state: dict[str, Any]) -> None:
    memories = ALL | {MemoryId("b"): memory("b", **state)}
    assert verdict(link("ba", Decider.PERSON), memories=memories) == {}


def test_a_circle_is_opened_at_its_weakest_link() -> None:
    sure = [link("ba", Decider.PERSON), link("cb", Decider.PERSON)]
    assert verdict(*sure, link("ac", Decider.AGENT)) == {"a": "b", "b": "c"}


LINKS = st.lists(
    st.builds(
        link,
        st.sampled_from(["".join(pair) for pair in permutations(NAMES, 2)]),
        by=st.sampled_from(Decider),
        probability=st.sampled_from([0.0, 0.6, 1.0]),
        day=st.integers(0, 3),
    ),
    unique_by=lambda each: (each.source, each.target),
)


@given(LINKS)
def test_no_memory_ever_comes_to_outdate_itself(links: list[Link]) -> None:
    newer = {older: each.source for older, each in prevailing(links, ALL, 0.5).items()}
    for older in newer:
        steps, here = 0, older
        while here in newer:
            here, steps = newer[here], steps + 1
            assert steps <= len(NAMES)


@given(LINKS, st.dictionaries(st.sampled_from(NAMES), st.sampled_from([0.0, 0.5, 0.9, 1.0])))
def test_links_that_do_not_matter_change_no_order(
    links: list[Link], scores: dict[str, float]
) -> None:
    judged = [Judged(MemoryId(x), scores[x], 1.0, {}, {}) for x in sorted(scores)]
    judged.sort(key=lambda each: -each.score)
    question = Question(Asks.NOW, {})
    mattering = that_matter(links, judged)
    for group in Group:
        every, few = (arrange(judged, x, ALL, question, group) for x in (links, mattering))
        assert few.judged == every.judged
        assert few.earlier == every.earlier
        for id_ in scores:
            assert few.outdated.get(MemoryId(id_)) == every.outdated.get(MemoryId(id_))


def test_a_current_state_that_scores_nothing_takes_the_score_of_the_earlier_one() -> None:
    judged = [
        Judged(MemoryId(name), score, 1.0, {}, {}) for name, score in (("a", 0.9), ("b", 0.0))
    ]
    decided = [link("ba", by=Decider.PERSON)]
    arranged = arrange(judged, decided, ALL, Question(Asks.NOW, {}), Group.STATES)
    assert [(each.id, each.score) for each in arranged.judged] == [("b", 0.9)]
    assert [state.memory.id for state in arranged.earlier[MemoryId("b")]] == ["a"]


@pytest.mark.parametrize("by", [Decider.SCORER, Decider.PERSON])
@pytest.mark.parametrize("group", Group)
def test_a_marked_state_comes_behind_the_current_one_wherever_that_stands(
    by: Decider, group: Group
) -> None:
    others = "cdefghi"
    judged = [Judged(MemoryId("a"), 0.9, 1.0, {}, {})]
    judged += [Judged(MemoryId(x), 0.1 - n / 100, 1.0, {}, {}) for n, x in enumerate(others)]
    judged.append(Judged(MemoryId("b"), 0.02, 1.0, {}, {}))
    marked = [link("ba", by=by, probability=0.94)]
    for asks, first in ((Asks.NONE, "b"), (Asks.THEN, "a")):
        arranged = arrange(judged, marked, ALL, Question(asks, {}), group)
        assert arranged.judged[0].id == first
    if by is Decider.PERSON:  # whatever the model that reads would say
        arranged = arrange(judged, marked, ALL, Question(Asks.NONE, {}), group, {})
        assert arranged.judged[0].id == "b"


def test_a_further_state_of_the_same_thing_does_not_speak_against_an_order() -> None:
    first, lower, third = (
        Judged(MemoryId(x), y, y, {}, {}) for x, y in zip("abc", (1.0, 0.9, 0.89), strict=True)
    )
    probabilities = {frozenset({first.id, lower.id}): 0.5}
    states = {**probabilities, frozenset({third.id, lower.id}): 0.5}
    judged = [first, lower, third]
    alone, with_states = (
        OrderWeights(base=0, probability=0, score=0, other=-1, days=0, states=0).odds(
            order_evidence(judged, lower, first, each, days=9)
        )
        for each in (probabilities, states)
    )
    assert alone < with_states


def scored(order: str) -> list[Judged]:
    """Candidates in this order."""
    return [Judged(MemoryId(x), 1 - place / 10, 1.0, {}, {}) for place, x in enumerate(order)]


def unsure(*pairs: str) -> list[Link]:
    return [link(pair, probability=0.4) for pair in pairs]


def test_a_pair_that_may_be_two_states_is_read_with_the_question() -> None:
    judged, links = scored("ab"), unsure("ba")
    [(older, newer)] = to_be_read(judged, links, ALL, Question(Asks.NONE, {}), {})
    assert (older.id, newer.id) == ("a", "b")


@pytest.mark.parametrize(
    ("order", "links", "asks"),
    [
        ("ba", unsure("ba"), Asks.NONE),  # it stands where its time says
        ("ab", unsure("ba"), Asks.THEN),  # the past is asked for
        ("ab", [link("ba", probability=0.95)], Asks.NONE),  # it is marked
        ("ab", [link("ba", probability=0.0)], Asks.NONE),  # somebody said that both hold
        ("ab", [], Asks.NONE),
    ],
)
def test_nothing_is_read_where_there_is_nothing_to_tell(
    order: str, links: list[Link], asks: Asks
) -> None:
    assert to_be_read(scored(order), links, ALL, Question(asks, {}), {}) == []


@pytest.mark.parametrize(("preference", "expected"), [(0.9, "ba"), (0.1, "ab")])
def test_the_reader_says_which_of_two_comes_first(preference: float, expected: str) -> None:
    preferences = {frozenset({MemoryId("a"), MemoryId("b")}): preference}
    arranged = arrange(
        scored("ab"), unsure("ba"), ALL, Question(Asks.NONE, {}), Group.STATES, preferences
    )
    assert "".join(each.id for each in arranged.judged) == expected


def test_a_memory_that_scores_far_lower_must_be_surely_preferred() -> None:
    """Turns of a dialogue look like states of one thing."""
    near, far = (
        [Judged(MemoryId(x), y, 1.0, {}, {}) for x, y in zip("ab", (1.0, score), strict=True)]
        for score in (0.95, 0.3)
    )
    preferences = {frozenset({MemoryId("a"), MemoryId("b")}): 0.95}
    orders = [
        arrange(judged, unsure("ba"), ALL, Question(Asks.NONE, {}), Group.STATES, preferences)
        for judged in (near, far)
    ]
    assert [each.judged[0].id for each in orders] == ["b", "a"]


def test_a_state_in_the_middle_is_not_lifted_above_the_present_one() -> None:
    preferences = {frozenset(map(MemoryId, pair)): 0.99 for pair in ("ab", "ac", "bc")}
    for order in map("".join, permutations("abc")):
        arranged = arrange(
            scored(order),
            unsure("ba", "ca", "cb"),
            ALL,
            Question(Asks.NONE, {}),
            Group.STATES,
            preferences,
        )
        assert "".join(each.id for each in arranged.judged) == "cba"


@pytest.mark.parametrize(
    ("days", "expected"),
    [((0.5, 1), "abc"), ((1, 1.5), "bac"), ((1.5, 2.5), "bac"), ((4, 5), "cba"), (None, "abc")],
)
def test_of_the_past_the_state_that_held_in_the_named_time_is_the_first(
    days: tuple[float, float] | None, expected: str
) -> None:
    span = Span(START + days[0] * DAY, START + days[1] * DAY) if days else None
    links = [link(pair) for pair in ("ba", "cb", "ca")]
    for order in map("".join, permutations("abc")):
        question = Question(Asks.THEN, {}, span)
        arranged = arrange(scored(order), links, ALL, question, Group.STATES, {})
        assert "".join(each.id for each in arranged.judged) == expected


def ordered(order: str, links: list[Link], preferences: Mapping[str, float]) -> str:
    """The candidates after the reader said how surely the newer of each pair is preferred."""
    preferred = {frozenset(map(MemoryId, pair)): x for pair, x in preferences.items()}
    question = Question(Asks.NONE, {})
    arranged = arrange(scored(order), links, ALL, question, Group.OFF, preferred)
    return "".join(each.id for each in arranged.judged)


def test_a_newer_state_from_further_down_comes_first_if_the_question_surely_prefers_it() -> None:
    links = [link("ha", probability=0.3)]
    [(older, newer)] = to_be_read(scored(NAMES), links, ALL, Question(Asks.NONE, {}), {})
    assert (older.id, newer.id) == ("a", "h")
    assert ordered(NAMES, links, {"ha": 0.97}) == "habcdefgi"
    assert ordered(NAMES, links, {"ha": 0.8}) == NAMES


def test_a_doubtful_newer_state_from_further_down_is_not_even_read() -> None:
    links = [link("ha", probability=0.025)]
    assert to_be_read(scored(NAMES), links, ALL, Question(Asks.NONE, {}), {}) == []


def test_of_several_states_that_come_before_one_the_newest_is_the_first() -> None:
    links = unsure("ca", "ha")
    assert ordered(NAMES, links, {"ca": 0.99, "ha": 0.99}) == "hcabdefgi"


def test_marked_states_below_the_best_are_in_order_without_a_look() -> None:
    links = [link("ih", probability=0.95)]
    assert to_be_read(scored(NAMES), links, ALL, Question(Asks.NONE, {}), {}) == []
    assert ordered(NAMES, links, {}) == "abcdefgih"


LONG = ALL | {MemoryId("b"): memory("b", content="The weather was fine. " * 30)}


@pytest.mark.parametrize(
    ("links", "is_read"),
    [([], True), ([link("ba", probability=0.0)], False)],  # somebody said that both hold
)
def test_a_long_memory_is_read_with_an_older_one_that_nobody_compared(
    links: list[Link], is_read: bool
) -> None:
    question = Question(Asks.NONE, {})
    assert bool(to_be_read(scored("ab"), links, LONG, question, {})) is is_read
    preferences = {frozenset({MemoryId("a"), MemoryId("b")}): 0.99}
    arranged = arrange(scored("ab"), links, LONG, question, Group.OFF, preferences)
    assert arranged.judged[0].id == ("b" if is_read else "a")


@pytest.mark.parametrize(
    ("order", "odds", "is_read"),
    [
        ("ab", (1.5, 2.0), True),
        ("ab", (1.5, 0.5), False),  # the newer one hardly answers
        ("ba", (1.5, 2.0), False),  # it stands where its time says
        ("acb", (1.5, 2.0), False),  # others stand between them
    ],
)
def test_the_first_two_are_read_together_if_both_answer(
    order: str, odds: tuple[float, float], is_read: bool
) -> None:
    told = dict(zip(map(MemoryId, "ab"), odds, strict=True))
    pairs = to_be_read(scored(order), [], ALL, Question(Asks.NONE, {}), told)
    assert [(older.id, newer.id) for older, newer in pairs] == [("a", "b")] * is_read


def test_of_two_that_nobody_compared_the_newer_is_first_only_if_it_is_surely_preferred() -> None:
    assert ordered("ab", [], {"ba": 0.9}) == "ba"
    assert ordered("ab", [], {"ba": 0.7}) == "ab"
    assert ordered("ab", unsure("ba"), {"ba": 0.7}) == "ba"


def test_a_memory_is_followed_by_the_states_that_it_was_put_before() -> None:
    pairs = [(MemoryId(first), MemoryId(second)) for first, second in ("cb", "ba", "dc")]
    arranged = Arranged(scored("cba"), before=pairs)
    assert arranged.behind(MemoryId("c")) == [*"cba"]
