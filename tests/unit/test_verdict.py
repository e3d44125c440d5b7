"""Whether what is stored answers a query, and how probable it is that a hit does."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from importlib.resources import files
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind import Mind
from bearinmind.recall import verdict
from bearinmind.recall.verdict import EXACT, FOUND, SIGNS, Floors
from bearinmind.surfaces.cli import terminal
from bearinmind.surfaces.cli.recall import answer_table
from bearinmind.surfaces.hooks.standalone import settings as hook_settings
from bearinmind.trace import Answer, Unlikely
from bearinmind.types import Verdict

Open = Callable[..., Mind]
STORE = (
    "The staging database is db-stage-3, and Ilse Navrat looks after it.",
    "Deploys of the parcel service run every Friday after the nightly backup.",
    "Gannet draws the labels of all parcels with Inkscape.",
    "Format the code with ruff before a commit.",
    "The canteen serves soup on Mondays.",
    "The API key of the map service is renewed in March.",
)


@pytest.fixture(params=["local", "none"])
def filled(open_memory: Open, request: pytest.FixtureRequest) -> Mind:
    """A small store, with vectors and without."""
    memory = open_memory(embedder=request.param)
    for content in STORE:
        memory.store(content)
    memory.work.wait()
    return memory


# ---- the weights -------------------------------------------------------------------------------


def test_the_weights_know_every_feature_and_keep_its_sign() -> None:
    assert {*verdict.models()} == {"both", "words", "meaning", "read"}
    for model in verdict.models().values():
        assert {*model.weights} <= {*SIGNS}
        assert all(weight * SIGNS[name] >= 0 for name, weight in model.weights.items())
        assert 0 < model.beside < FOUND
        assert 0 < model.perhaps < FOUND


def test_words_alone_have_no_weight_for_meaning_and_the_reverse() -> None:
    models = verdict.models()
    assert not [name for name in models["words"].weights if "meaning" in name]
    assert not [name for name in models["meaning"].weights if name.startswith("words")]


@given(
    name=st.sampled_from([name for name, sign in SIGNS.items() if sign]),
    values=st.lists(st.floats(0, 1.5), min_size=len(SIGNS), max_size=len(SIGNS)),
    more=st.floats(0, 1),
)
def test_more_evidence_never_lowers_a_probability(
    name: str, values: list[float], more: float
) -> None:
    features = dict(zip(SIGNS, values, strict=True))
    changed = features | {name: features[name] + more * SIGNS[name]}
    for model in verdict.models().values():
        before, after = model.probability(features), model.probability(changed)
        assert 0 <= before <= after <= 1


def test_the_hook_gives_what_a_recall_has_found() -> None:
    assert hook_settings.FOUND == FOUND


def test_the_page_calls_likely_what_a_recall_has_found() -> None:
    words = files("bearinmind.surfaces.page") / "static" / "parts" / "words.js"
    assert f'if (probability >= {FOUND}) return "Likely";' in words.read_text("utf-8")


def test_the_weights_are_one_small_file() -> None:
    text = (files("bearinmind.recall") / "verdict_weights.json").read_text("utf-8")
    assert len(text) < 10_000
    assert {*json.loads(text)} == {*verdict.models()}


# ---- what an answer says -----------------------------------------------------------------------


def test_an_empty_store_holds_nothing(memory: Mind) -> None:
    answer = memory.recall("where is the staging database?")
    assert (answer.verdict, answer.hits, answer.weak) == (Verdict.NOTHING, (), ())


def test_what_is_stored_is_found_and_what_is_not_is_nothing(filled: Mind) -> None:
    found = filled.recall("where is the staging database?")
    assert found.verdict is Verdict.FOUND
    assert found.hits[0].memory.content == STORE[0]
    assert found.hits[0].probability >= FOUND
    assert filled.recall("zzzqx").verdict is Verdict.NOTHING


def test_what_is_folded_away_is_weak_and_named_in_the_trace(filled: Mind) -> None:
    question = "where is the staging database?"
    folded, whole = filled.recall(question), filled.recall(question, all=True)
    assert whole.weak == ()
    assert {hit.memory.id for hit in (*folded.hits, *folded.weak)} == {
        hit.memory.id for hit in whole.hits
    }
    floor = whole.trace.floor
    assert floor == folded.trace.floor
    assert all(hit.probability >= floor for hit in folded.hits)
    assert all(hit.probability < floor for hit in folded.weak)
    unlikely = {x.id: x.reason for x in folded.trace.dropped if isinstance(x.reason, Unlikely)}
    assert unlikely == {
        hit.memory.id: Unlikely(probability=hit.probability, floor=floor) for hit in folded.weak
    }
    assert not [x for x in whole.trace.dropped if isinstance(x.reason, Unlikely)]
    ranks = [hit.rank for hit in (*folded.hits, *folded.weak)]
    assert ranks == [*range(1, len(ranks) + 1)]


def test_folding_changes_neither_the_verdict_nor_a_probability(filled: Mind) -> None:
    for question in ("who draws labels?", "zzzqx soup", "the dog's name", "ruff"):
        folded, whole = filled.recall(question), filled.recall(question, all=True)
        assert folded.verdict == whole.verdict
        assert {x.memory.id: x.probability for x in (*folded.hits, *folded.weak)} == {
            x.memory.id: x.probability for x in whole.hits
        }


def test_the_verdict_is_that_of_the_most_probable_hit() -> None:
    floors = Floors(perhaps=0.1, beside=0.05)
    assert floors.verdict(0.5) is Verdict.FOUND
    assert floors.verdict(0.1) is Verdict.PERHAPS
    assert floors.verdict(0.09) is Verdict.NOTHING


def test_beside_a_better_hit_less_is_folded_away() -> None:
    floors = Floors(perhaps=0.1, beside=0.05)
    assert floors.below(0.09) == 0.1
    assert floors.below(0.1) == 0.05


def test_one_of_a_few_memories_must_be_more_probable_than_one_of_many() -> None:
    model = verdict.models()["both"]
    few, thousand, many = (model.floors(decades).perhaps for decades in (0.7, 3.0, 4.0))
    assert few >= thousand >= many >= model.beside
    assert thousand == pytest.approx(max(model.perhaps, model.beside))


@pytest.mark.parametrize(
    "query",
    ["db-stage-3", 'who wrote "after the nightly backup"?', "\u201cGannet draws the labels\u201d"],
)
def test_an_identifier_or_a_phrase_that_a_memory_holds_whole_is_found(
    filled: Mind, query: str
) -> None:
    answer = filled.recall(query)
    assert answer.verdict is Verdict.FOUND
    assert answer.hits[0].probability >= EXACT


def test_a_memory_without_a_vector_is_judged_by_its_words(open_memory: Open) -> None:
    memory = open_memory()
    for content in STORE[1:]:
        memory.store(content)
    memory.work.wait()
    late = memory.store(STORE[0]).memory  # it is not embedded yet
    hit = memory.recall("which staging database does Ilse Navrat look after?").hits[0]
    assert hit.memory.id == late.id
    assert "dense" not in hit.placings
    assert hit.probability >= FOUND


def test_ten_hits_are_judged_in_less_than_a_millisecond_or_two(open_memory: Open) -> None:
    memory = open_memory(embedder="none")
    for number in range(60):
        memory.store(f"{STORE[number % len(STORE)]} This is note {number} of the parcel service.")
    question = "Which staging database of the parcel service does Ilse Navrat look after in March?"
    began = perf_counter()
    spent = [memory.recall(question).trace.milliseconds["verdict"] for _ in range(20)]
    assert min(spent) < (perf_counter() - began) * 1e3 / 20
    assert min(spent) < 5


# ---- what people read --------------------------------------------------------------------------


def shown(answer: Answer) -> list[str]:
    with redirect_stdout(io.StringIO()) as out:
        terminal.show([answer_table(answer, {})])
    return out.getvalue().splitlines()


def test_weak_guesses_are_counted_beside_hits_and_listed_without(filled: Mind) -> None:
    answer = filled.recall("which service has labels, a database and a backup?", all=True)
    first, *rest = answer.hits
    assert rest
    beside = shown(replace(answer, hits=(first,), weak=tuple(rest)))
    assert beside[0] == f"1  {first.memory.content}"
    assert f" {100 * first.probability:.0f} %" in beside[1]
    guesses = "1 weak guess" if len(rest) == 1 else f"{len(rest)} weak guesses"
    assert beside[-1] == f"+ {guesses} (--all)"
    assert "--all" not in "\n".join(shown(answer))

    head, *lines = shown(replace(answer, hits=(), weak=answer.hits))
    assert head == "Nothing relevant is stored. Weak guesses:"
    assert [line.split(" · ")[0] for line in lines] == [hit.memory.id for hit in answer.hits]
    assert shown(replace(answer, hits=())) == ["Nothing relevant is stored."]


def test_a_floor_that_leaves_out_the_answer_does_not_say_that_nothing_is_stored(
    filled: Mind,
) -> None:
    answer = filled.recall("which service has labels?", min_probability=0.995)
    assert answer.verdict is not Verdict.NOTHING
    head, best, *_ = shown(answer)
    assert head == "Nothing is as probable as 99.5 %. The best:"
    assert best.startswith(answer.weak[0].memory.id)
