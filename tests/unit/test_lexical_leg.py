from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from bearinmind.protocols import LexicalMatch, LexicalSearch, LexicalStatistics
from bearinmind.recall.lexical import MOST_TERMS, TELLING_TOTAL, LexicalLeg, information
from bearinmind.testing import TemporaryStore
from bearinmind.types import Candidate, Filter, Memory, Query, Scope, UserId

Make = Callable[..., Memory]
Ask = Callable[..., Query]
SCOPE = Scope(user=UserId("ada"))


@pytest.fixture
def keep(make: Make) -> Callable[..., tuple[TemporaryStore, list[Memory]]]:
    """A store that holds memories of these contents."""

    def keep_all(*contents: str) -> tuple[TemporaryStore, list[Memory]]:
        store = TemporaryStore()
        memories = [make(content) for content in contents]
        for memory in memories:
            store.put(SCOPE, memory)
        return store, memories

    return keep_all


Keep = Callable[..., tuple[TemporaryStore, list[Memory]]]


def ranked(store: LexicalSearch, query: Query) -> dict[str, Candidate]:
    ranking, _ = LexicalLeg(store)(query)
    return {candidate.id: candidate for candidate in ranking.candidates}


class Recorder:
    """A search that remembers how it was asked."""

    def __init__(self, store: TemporaryStore) -> None:
        self.store = store
        self.asked: list[tuple[bool, tuple[str, ...]]] = []

    def lexical_statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        return self.store.lexical_statistics(scope, terms)

    def lexical_matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        self.asked.append((every, tuple(terms)))
        return self.store.lexical_matches(filter, terms, every=every, limit=limit)


def test_a_memory_that_holds_every_word_is_certain(keep: Keep, ask: Ask) -> None:
    store, [both, one] = keep("walrus and seal", "walrus alone")
    found = ranked(store, ask("the walrus or a seal"))
    assert found[both.id].confidence == pytest.approx(1.0)
    assert found[one.id].confidence < 1.0


def test_confidence_is_the_share_of_the_querys_information(keep: Keep, ask: Ask) -> None:
    store, [one, *_] = keep("walrus", "seal", "seal otter", "otter seal whale")
    found = ranked(store, ask("walrus seal"))
    walrus, seal = information(1, TELLING_TOTAL), information(3, TELLING_TOTAL)
    assert found[one.id].confidence == pytest.approx(walrus / (walrus + seal))
    assert walrus > seal


def test_words_that_no_memory_holds_count_against_all(keep: Keep, ask: Ask) -> None:
    store, [one] = keep("walrus")
    walrus, unknown = information(1, TELLING_TOTAL), information(0, TELLING_TOTAL)
    found = ranked(store, ask("walrus unicorn"))
    assert found[one.id].confidence == pytest.approx(walrus / (walrus + unknown))


def test_a_word_said_twice_counts_once_for_confidence(keep: Keep, ask: Ask) -> None:
    store, [one, _] = keep("walrus", "seal")
    once = ranked(store, ask("walrus seal"))[one.id].confidence
    assert ranked(store, ask("walrus walrus walrus seal"))[one.id].confidence == once


@pytest.mark.parametrize("held", ["parseConfig", "parse_config", "the parse-config thing"])
def test_an_identifier_is_certain_in_every_spelling(keep: Keep, ask: Ask, held: str) -> None:
    store, [one] = keep(held)
    assert ranked(store, ask("parseConfig"))[one.id].confidence == pytest.approx(1.0)


def test_a_long_query_that_a_memory_holds_entirely_is_certain(keep: Keep, ask: Ask) -> None:
    words = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}q" for n in range(MOST_TERMS + 20)]
    store, [one, _] = keep(" ".join(words), "another")
    assert ranked(store, ask(" ".join(words)))[one.id].confidence == pytest.approx(1.0)


def test_a_whole_identifier_beats_its_parts(keep: Keep, ask: Ask) -> None:
    store, [parts, whole, *_] = keep(
        "parse the config and parse it", "we call parseConfig here", "x", "y", "z"
    )
    found = ranked(store, ask("parseConfig"))
    assert found[whole.id].score > found[parts.id].score


def test_neighbours_of_the_query_rank_above_the_same_words_apart(keep: Keep, ask: Ask) -> None:
    store, [apart, together, *_] = keep(
        "blue is the colour of a whale", "the blue whale has a colour", "x", "y", "z"
    )
    found = ranked(store, ask("blue whale"))
    assert found[together.id].score > found[apart.id].score


def test_the_querys_own_spelling_ranks_above_other_forms(keep: Keep, ask: Ask) -> None:
    store, [other, same, *_] = keep("deploying it", "deployed it", "x", "y", "z")
    found = ranked(store, ask("deployed"))
    assert found[same.id].score > found[other.id].score
    assert found[other.id].confidence == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("field", "value"),
    [("keywords", ("walrus",)), ("tags", ("walrus",)), ("category", "walrus")],
)
def test_keywords_tags_and_category_are_found_with_certainty(
    make: Make, ask: Ask, field: str, value: object
) -> None:
    store = TemporaryStore()
    memory = make(**{"content": "nothing", field: value})
    store.put(SCOPE, memory)
    store.put(SCOPE, make("another", category="x"))
    assert ranked(store, ask("walrus"))[memory.id].confidence == pytest.approx(1.0)


def test_content_ranks_above_keywords_above_category(make: Make, ask: Ask) -> None:
    store = TemporaryStore()
    content = make("walrus one two", category="x")
    keywords = make("one two", keywords=("walrus",), category="x")
    category = make("two one three", category="walrus")
    for memory in (category, keywords, content):
        store.put(SCOPE, memory)
    assert [*ranked(store, ask("walrus"))] == [content.id, keywords.id, category.id]


def test_expanded_words_find_more_but_count_less(keep: Keep, ask: Ask) -> None:
    store, [own, added, _] = keep("walrus", "seal", "otter")
    found = ranked(store, ask("walrus", expanded=("seal",)))
    assert found[own.id].score > found[added.id].score > 0
    assert found[own.id].confidence == pytest.approx(1.0)
    assert found[added.id].confidence == pytest.approx(0.5)


def test_words_that_only_the_expansion_has_are_found(keep: Keep, ask: Ask) -> None:
    store, [whale] = keep("the whale sings")
    assert {*ranked(store, ask("", expanded=("whale",)))} == {whale.id}


def test_words_in_a_long_memory_are_less_evidence(keep: Keep, ask: Ask) -> None:
    many = " ".join(f"word{n}" for n in range(300))
    others = [f"whale {n}" for n in range(600)]
    store, [short, long, *_] = keep("the whale sings", f"the whale sings {many}", *others)
    found = ranked(store, ask("whale sings", pool=1_000))
    assert found[long.id].confidence == found[short.id].confidence
    assert found[long.id].evidence < found[short.id].evidence


def test_words_of_a_question_say_less_when_they_stand_far_apart(keep: Keep, ask: Ask) -> None:
    filling = [f"filler{number}" for number in range(80)]
    together = " ".join(("whale", "sings", *filling))
    apart = " ".join(("whale", *filling, "sings"))
    store, [near, far] = keep(together, apart)
    found = ranked(store, ask("whale sings"))
    assert found[far.id].confidence == found[near.id].confidence
    assert 0 < found[far.id].evidence < 0.6 * found[near.id].evidence


def test_a_memory_so_long_that_it_holds_any_word_by_chance_is_found(keep: Keep, ask: Ask) -> None:
    many = " ".join(f"word{n}" for n in range(300))
    store, [long, *others] = keep(f"whale {many}", *(f"whale {n}" for n in range(1_100)))
    found = ranked(store, ask("whale", pool=2_000))
    assert found[long.id].evidence == 0.0
    assert {*found} == {long.id, *(memory.id for memory in others)}


def test_a_memory_that_holds_every_word_is_never_crowded_out(keep: Keep, ask: Ask) -> None:
    """AND first: short memories with one of the words must not fill the pool."""
    filler = " ".join(f"f{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(180))
    store, [long, *_] = keep(
        f"walrus seal {filler}",
        *(f"walrus {n}" for n in range(8)),
        *(f"seal {n}" for n in range(30)),
    )
    assert long.id in ranked(store, ask("walrus seal", pool=10, limit=10))


def test_one_term_is_asked_for_once_and_many_are_broadened(keep: Keep, ask: Ask) -> None:
    store, _ = keep("walrus seal", "walrus", "seal")
    ranking, report = LexicalLeg(store)(ask("walrus"))
    assert report.detail["broadened"] is False
    assert len(ranking.candidates) == report.found == 2
    _, report = LexicalLeg(store)(ask("walrus seal"))
    assert report.detail["broadened"] is True


def test_memories_with_every_word_that_fill_the_pool_are_enough(keep: Keep, ask: Ask) -> None:
    store, memories = keep(*(f"walrus seal {n}" for n in range(6)), "walrus")
    recorder = Recorder(store)
    ranking, report = LexicalLeg(recorder)(ask("walrus seal", pool=4, limit=4))
    assert [every for every, _ in recorder.asked] == [True]
    assert report.detail["broadened"] is False
    assert {c.id for c in ranking.candidates} <= {memory.id for memory in memories[:6]}


def test_only_the_rarest_terms_of_a_long_text_are_asked_for(keep: Keep, ask: Ask) -> None:
    words = [f"w{chr(97 + n // 26)}{chr(97 + n % 26)}q" for n in range(MOST_TERMS + 10)]
    common = words[:10]
    store, _ = keep(" ".join(words), *(" ".join(common) + f" {n}" for n in range(3)))
    recorder = Recorder(store)
    _, report = LexicalLeg(recorder)(ask(" ".join(words)))
    for _, terms in recorder.asked:
        assert len(terms) == MOST_TERMS
        assert not {*common} & {*terms}
    assert report.detail["left_out_terms"] == 10


def test_words_that_no_memory_holds_are_not_asked_for(keep: Keep, ask: Ask) -> None:
    store, _ = keep("walrus")
    recorder = Recorder(store)
    LexicalLeg(recorder)(ask("walrus unicorn"))
    assert {terms for _, terms in recorder.asked} == {("walrus",)}
    ranking, report = LexicalLeg(recorder)(ask("unicorn"))
    assert (ranking.candidates, report.found) == ((), 0)


@pytest.mark.parametrize(
    "text", ["", "   ", "?!", "\x00", '"', 'a" OR "b', "NEAR(", "*", "walrus*", "-"]
)
def test_any_text_is_safe_to_ask(keep: Keep, ask: Ask, text: str) -> None:
    store, _ = keep("walrus a b")
    ranking, report = LexicalLeg(store)(ask(text))
    assert report.error is None
    assert len(ranking.candidates) <= 1


def test_the_pool_bounds_the_ranking_and_equal_scores_break_on_the_id(keep: Keep, ask: Ask) -> None:
    store, memories = keep(*(f"walrus {n}" for n in range(9)))
    ranking, _ = LexicalLeg(store)(ask("walrus", pool=9))
    assert [c.id for c in ranking.candidates] == sorted(memory.id for memory in memories)
    ranking, _ = LexicalLeg(store)(ask("walrus", pool=4, limit=4))
    assert len(ranking.candidates) == 4


@pytest.mark.parametrize(("frequency", "total"), [(0, 0), (0, 9), (5, 9), (9, 9)])
def test_information_is_never_negative_and_falls_with_frequency(frequency: int, total: int) -> None:
    assert information(frequency, total) > 0
    assert information(frequency, total + 1) > information(frequency + 1, total + 1)
