from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.protocols import Fusion
from bearinmind.recall.scores import Calibrated, ConvexCombination, ReciprocalRank
from bearinmind.types import Candidate, MemoryId, Placing, Ranking

FUSIONS: list[Fusion] = [
    Calibrated(),
    Calibrated(weights={"lexical": 0.35, "dense": 2.0}),
    ConvexCombination(),
    ConvexCombination(weights={"lexical": 0.35, "dense": 2.0}),
    ReciprocalRank(),
    ReciprocalRank(k=1, weights={"lexical": 0.35, "dense": 2.0}),
]
every_fusion = pytest.mark.parametrize("fusion", FUSIONS, ids=repr)
IDS = [MemoryId(letter) for letter in "abcdefghij"]
LEGS = ["lexical", "dense", "graph"]


@st.composite
def rankings(draw: st.DrawFn, leg: str, least: int = 0) -> Ranking:
    """What a leg may answer: each memory once, best first."""
    chosen = draw(st.lists(st.sampled_from(IDS), unique=True, min_size=least))
    scores = draw(
        st.lists(st.floats(0.001, 1_000), min_size=len(chosen), max_size=len(chosen), unique=True)
    )
    surest = draw(st.floats(0.001, 1.5))
    best = max(scores, default=1.0)
    pairs = zip(chosen, sorted(scores, reverse=True), strict=True)
    candidates = [Candidate(id_, score, 0.5, surest * score / best) for id_, score in pairs]
    return Ranking(leg=leg, candidates=tuple(candidates))


several = st.tuples(*(rankings(leg) for leg in LEGS))


def order(fusion: Fusion, given_: Sequence[Ranking]) -> list[MemoryId]:
    return [fused.id for fused in fusion(given_)]


@every_fusion
@given(ranking=rankings("lexical"))
def test_one_leg_keeps_its_order(fusion: Fusion, ranking: Ranking) -> None:
    assert order(fusion, [ranking]) == [candidate.id for candidate in ranking.candidates]


@every_fusion
@given(ranking=rankings("lexical"), other=rankings("dense"))
def test_an_empty_leg_changes_nothing(fusion: Fusion, ranking: Ranking, other: Ranking) -> None:
    empty = Ranking(leg="graph", candidates=())
    assert order(fusion, [ranking, other, empty]) == order(fusion, [ranking, other])


@every_fusion
@given(given_=several)
def test_nothing_is_lost_or_invented(fusion: Fusion, given_: Sequence[Ranking]) -> None:
    proposed = {candidate.id for ranking in given_ for candidate in ranking.candidates}
    fused = fusion(given_)
    assert {each.id for each in fused} == proposed
    assert len(fused) == len(proposed)


@every_fusion
@given(given_=several)
def test_the_order_of_the_legs_does_not_matter(fusion: Fusion, given_: Sequence[Ranking]) -> None:
    answers = [[*fusion(permuted)] for permuted in itertools.permutations(given_)]
    assert all(answer == answers[0] for answer in answers)


@every_fusion
@given(given_=several)
def test_the_best_come_first_and_ties_break_on_the_id(
    fusion: Fusion, given_: Sequence[Ranking]
) -> None:
    fused = [*fusion(given_)]
    assert fused == sorted(fused, key=lambda each: (-each.score, each.id))


@every_fusion
@given(given_=several)
def test_every_placing_travels_with_its_memory(fusion: Fusion, given_: Sequence[Ranking]) -> None:
    for each in fusion(given_):
        for ranking in given_:
            ids = [candidate.id for candidate in ranking.candidates]
            if each.id in ids:
                place = ids.index(each.id)
                _, *found = ranking.candidates[place]
                assert each.placings[ranking.leg] == Placing(place + 1, *found)
            else:
                assert ranking.leg not in each.placings


@every_fusion
@given(given_=several, data=st.data())
def test_a_better_place_in_a_leg_never_hurts(
    fusion: Fusion, given_: Sequence[Ranking], data: st.DataObject
) -> None:
    first, *others = given_
    if len(first.candidates) < 2:
        return
    place = data.draw(st.integers(1, len(first.candidates) - 1))
    ids = [candidate.id for candidate in first.candidates]
    ids[place - 1], ids[place] = ids[place], ids[place - 1]
    promoted = tuple(
        candidate._replace(id=id_) for candidate, id_ in zip(first.candidates, ids, strict=True)
    )
    before = order(fusion, given_)
    after = order(fusion, [Ranking(leg=first.leg, candidates=promoted), *others])
    assert after.index(ids[place - 1]) <= before.index(ids[place - 1])


@pytest.mark.parametrize("weight", [0.05, 0.35, 1.0])
@pytest.mark.parametrize("kind", [ConvexCombination, ReciprocalRank])
@given(given_=st.tuples(rankings("lexical", least=1), rankings("graph", least=1)))
def test_a_leg_of_any_weight_above_zero_can_decide(
    kind: type[ConvexCombination | ReciprocalRank],
    weight: float,
    given_: tuple[Ranking, Ranking],
) -> None:
    """Every candidate competes in one pool: agreeing with another leg always counts."""
    lexical, graph = given_
    fusion = kind(weights={"graph": weight})
    scores = {fused.id: fused.score for fused in fusion(given_)}
    alone = {
        fused.id: fused.score for fused in fusion([lexical, Ranking(leg="graph", candidates=())])
    }
    for candidate in graph.candidates:
        assert scores[candidate.id] > alone.get(candidate.id, 0.0)


def test_the_first_of_a_light_leg_ranks_above_weak_candidates_of_a_heavy_one() -> None:
    """The lock-out of the prototype (0.35/61 below 1/110) cannot happen with scores."""
    heavy = Ranking(
        leg="lexical",
        candidates=tuple(Candidate(MemoryId(f"h{n:02}"), 50.0 - n, 1.0) for n in range(50)),
    )
    light = Ranking(leg="graph", candidates=(Candidate(MemoryId("light"), 7.0, 1.0),))
    ranked = order(ConvexCombination(weights={"graph": 0.35}), [heavy, light])
    assert ranked.index(MemoryId("light")) < 40


def test_reciprocal_ranks_are_known_to_lock_out_a_light_leg() -> None:
    """Reported rather than impossible: why the convex combination is the default."""
    heavy = Ranking(
        leg="lexical",
        candidates=tuple(Candidate(MemoryId(f"h{n:02}"), 50.0 - n, 1.0) for n in range(50)),
    )
    light = Ranking(leg="graph", candidates=(Candidate(MemoryId("light"), 7.0, 1.0),))
    ranked = order(ReciprocalRank(weights={"graph": 0.35}), [heavy, light])
    assert ranked[-1] == "light"
    assert order(ReciprocalRank(), [heavy, light]).index(MemoryId("light")) <= 1


def test_a_leg_with_little_evidence_adds_little_however_well_its_ranking_looks() -> None:
    """The heart of it: chance matches by words cannot bury what another leg is sure of."""
    chance = Ranking(
        leg="lexical",
        candidates=tuple(Candidate(MemoryId(f"w{n}"), 9.0 - n, 0.2, 0.04) for n in range(8)),
    )
    sure = Ranking(leg="dense", candidates=(Candidate(MemoryId("meant"), 0.8, 0.9, 0.9),))
    assert order(Calibrated(), [chance, sure])[0] == "meant"
    assert Calibrated()([chance, sure])[0].score == 0.9
    # Reciprocal ranks cannot tell: the first by chance is as good as the one that is sure.
    tied = ReciprocalRank()([chance, sure])
    assert tied[0].score == tied[1].score


@pytest.mark.parametrize("fusion", [Calibrated(), ConvexCombination()])
def test_scores_count_from_the_floor_of_their_leg(fusion: Fusion) -> None:
    """Cosines lie close together: from zero, a prior would decide instead of them."""
    dense = Ranking(
        leg="dense",
        floor=0.7,
        candidates=(
            Candidate(IDS[3], 0.9, 1.0, 1.0),
            Candidate(IDS[2], 0.8, 0.5, 0.5),
            Candidate(IDS[1], 0.6, 0.0, 0.0),
            Candidate(IDS[0], 0.5, 0.0, 0.0),
        ),
    )
    fused = fusion([dense])
    assert [each.id for each in fused] == [IDS[3], IDS[2], IDS[1], IDS[0]]
    assert [each.score for each in fused] == pytest.approx([1.0, 0.5, 0.0, 0.0], abs=1e-6)


def test_legs_that_agree_add_up() -> None:
    lexical = Ranking(leg="lexical", candidates=(Candidate(IDS[0], 5.0, 0.6, 0.5),))
    dense = Ranking(
        leg="dense",
        candidates=(Candidate(IDS[1], 0.9, 0.7, 0.7), Candidate(IDS[0], 0.8, 0.4, 0.4)),
    )
    fused = Calibrated(weights={"lexical": 2.0})([lexical, dense])
    assert [(each.id, each.score) for each in fused] == [(IDS[0], 1.4), (IDS[1], 0.7)]


def test_a_leg_that_answers_alone_keeps_its_order_and_says_how_sure_it_is() -> None:
    """A long memory may score best and yet cover less of the query than another."""
    lexical = Ranking(
        leg="lexical",
        candidates=(Candidate(IDS[0], 8.0, 0.5, 0.4), Candidate(IDS[1], 4.0, 0.9, 0.6)),
    )
    silent = Ranking(leg="dense", candidates=())
    fused = Calibrated()([lexical, silent])
    assert [(each.id, each.score) for each in fused] == [(IDS[0], 0.6), (IDS[1], 0.3)]


def test_scores_keep_their_proportions() -> None:
    ranking = Ranking(
        leg="lexical",
        candidates=(Candidate(IDS[0], 8.0, 1.0), Candidate(IDS[1], 4.0, 1.0)),
    )
    first, second = ConvexCombination()([ranking])
    assert (first.score, second.score) == (1.0, 0.5)


def test_reciprocal_rank_is_the_published_formula() -> None:
    lexical = Ranking(leg="lexical", candidates=(Candidate(IDS[0], 8.0, 1.0),))
    dense = Ranking(
        leg="dense", candidates=(Candidate(IDS[1], 0.9, 1.0), Candidate(IDS[0], 0.8, 1.0))
    )
    fused = ReciprocalRank(weights={"dense": 2.0})([lexical, dense])
    assert [each.id for each in fused] == IDS[:2]
    assert [each.score for each in fused] == pytest.approx([1 / 61 + 2 / 62, 2 / 61])


@pytest.mark.parametrize("fusion", [Calibrated(), ConvexCombination(), ReciprocalRank()])
def test_scores_of_zero_and_no_legs_are_no_problem(fusion: Fusion) -> None:
    zero = Ranking(leg="lexical", candidates=(Candidate(IDS[1], 0.0, 0.0),))
    assert order(fusion, [zero]) == [IDS[1]]
    assert [*fusion([])] == []


def test_the_repr_is_the_recipe() -> None:
    assert repr(ReciprocalRank(weights={"dense": 2.0})) == (
        "ReciprocalRank(k=60, weights={'dense': 2.0})"
    )
    assert repr(Calibrated()) == "Calibrated(weights={})"
    assert repr(ConvexCombination()) == "ConvexCombination(weights={})"
