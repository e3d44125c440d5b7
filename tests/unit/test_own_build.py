from __future__ import annotations

import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bearinmind.app import Mind
from bearinmind.errors import InvalidData
from bearinmind.recall.query_log import QueryLog
from bearinmind.types import Memory, UserId
from bearinmind_bench import validation
from bearinmind_bench.own import build, judgements
from bearinmind_bench.own.folder import USER, About, Folder, Made
from bearinmind_bench.own.judgements import Texts

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOUNS = "harbour violin kettle glacier orchard lantern meadow saddle copper thistle".split()  # noqa: SIM905


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "own")


def make_set(app: Mind, folder: Folder, **recipe: Any) -> About:
    chosen = build.Recipe(**{"seed": 1, "most": 200, **recipe})
    return build.build(app, build.gather(app, chosen), folder, chosen)


def rows(folder: Folder, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder.path / f"{name}.jsonl").read_text().splitlines()]


def filled(app: Mind) -> dict[str, Memory]:
    """Memories that every source without a model finds something in."""
    made = {
        noun: app.store(f"The {noun} was mended.", keywords=[f"repair {i}"], importance=i / 10)
        for i, noun in enumerate(NOUNS)
    }
    found = {noun: outcome.memory for noun, outcome in made.items()}
    asking = app.store("Vera wants her things back.").memory
    app.link(asking.id, "see-also", found["violin"].id)
    app.update(found["kettle"].id, content="Tea water boils again.")
    log = QueryLog.beside(app.settings.beside, app.settings.user)
    log.append("what was broken?", NOON, [found["copper"].id, "gone"])
    return found | {"asking": asking}


def test_a_set_is_made_from_every_source_in_the_common_layout(memory: Mind, folder: Folder) -> None:
    found = filled(memory)

    about = make_set(memory, folder)

    data = folder.load()
    counts = {made.source: made.queries for made in about.sources}
    assert counts == {"keywords": 10, "links": 1, "history": 1, "llm": 0, "captured": 1}
    assert about.memories == len(data.corpus) == 10
    assert about.left_out == 1
    assert {query.stratum for query in data.queries} == {"keywords", "links", "history", "captured"}
    assert {query.split for query in data.queries} == {"dev", "test"}
    assert [p for p in validation.problems(data) if p.fatal] == []
    ids = {record["id"] for record in data.corpus}
    assert found["asking"].id not in ids
    by_stratum = {query.stratum: query for query in data.queries}
    assert by_stratum["links"].grades == {found["violin"].id: 1}
    assert by_stratum["links"].text == "Vera wants her things back."
    assert by_stratum["history"].text == "The kettle was mended."
    assert by_stratum["captured"].grades == {}


def test_held_out_keywords_are_not_in_the_corpus(memory: Mind, folder: Folder) -> None:
    memory.store("The kettle boils.", keywords=["tea", "kettles"], tags=["kitchen"])

    make_set(memory, folder)

    [record] = rows(folder, "corpus")
    assert record["expanded_keywords"] == ["kettles"]
    assert record["tags"] == ["kitchen"]


def test_what_was_given_back_when_it_was_asked_is_kept_for_the_pool(
    memory: Mind, folder: Folder
) -> None:
    found = filled(memory)

    make_set(memory, folder)

    [row] = [row for row in rows(folder, "queries") if row["stratum"] == "captured"]
    assert row["hits"] == [found["copper"].id]


def test_the_same_seed_makes_the_same_files(memory: Mind, folder: Folder, tmp_path: Path) -> None:
    filled(memory)
    other = Folder(tmp_path / "other")

    make_set(memory, folder, seed=4)
    make_set(memory, other, seed=4)

    assert folder.load().fingerprint == other.load().fingerprint
    make_set(memory, other, seed=5, most=3)
    assert folder.load().fingerprint != other.load().fingerprint


def test_no_source_gives_more_than_was_asked_for(memory: Mind, folder: Folder) -> None:
    filled(memory)

    about = make_set(memory, folder, most=3)

    assert max(made.queries for made in about.sources) == 3


def test_only_the_owner_may_look_inside(memory: Mind, folder: Folder) -> None:
    filled(memory)

    make_set(memory, folder)

    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    modes = {stat.S_IMODE(file.stat().st_mode) for file in folder.path.iterdir()}
    assert modes == {0o600}


def test_sensitive_memories_leave_no_trace(
    memory: Mind, folder: Folder, make: Callable[..., Memory]
) -> None:
    filled(memory)
    secret = make(
        "The password is swordfish.",
        id="zzzz00000000",
        owner=UserId("local"),
        sensitive=True,
        keywords=("login",),
    )
    memory._parts.store.put(memory.scope, secret)

    about = make_set(memory, folder)

    assert about.sensitive == 1
    everything = "".join(file.read_text() for file in folder.path.iterdir())
    assert "swordfish" not in everything
    assert "login" not in everything
    assert secret.id not in everything


def test_every_source_that_gave_nothing_says_why(memory: Mind, folder: Folder) -> None:
    memory.store("Tea is green.", keywords=["teas"])

    about = make_set(memory, folder)

    assert {made.source: made.why_none for made in about.sources} == {
        "keywords": "all were rejected (1: all keywords are the memory's own words)",
        "links": "no two live memories are linked; `bearinmind link` does that",
        "history": "no memory was ever changed or superseded",
        "llm": "no model was asked; --llm does that",
        "captured": "no query was captured; the `capture_queries` setting turns capturing on",
    }


def test_the_same_question_from_two_sources_is_asked_once(memory: Mind, folder: Folder) -> None:
    memory.store("The kettle boils.", keywords=["tea time"])
    QueryLog.beside(memory.settings.beside, "local").append("Tea time", NOON, [])

    about = make_set(memory, folder)

    assert Made(
        source="captured",
        queries=0,
        rejected={"asked already by keywords": 1},
        why_none="all were rejected (1: asked already by keywords)",
    ) in [*about.sources]


def test_all_questions_about_one_memory_are_in_the_same_split(memory: Mind, folder: Folder) -> None:
    for noun in NOUNS:
        stored = memory.store(f"The {noun} was mended {noun * 2}.", keywords=[f"re{noun}"]).memory
        memory.update(stored.id, content=f"All {noun[::-1]} is well.")

    make_set(memory, folder)

    sides: dict[str, set[str]] = {}
    for row in rows(folder, "queries"):
        sides.setdefault(row["relevant_ids"][0], set()).add(row["split"])
    assert max(map(len, sides.values())) == 1
    assert {side for found in sides.values() for side in found} == {"dev", "test"}


def test_an_empty_store_is_refused(memory: Mind) -> None:
    with pytest.raises(InvalidData, match="'local' has no live memories"):
        build.gather(memory, build.Recipe(seed=1, most=200))


def test_a_folder_with_something_else_in_it_is_left_alone(memory: Mind, folder: Folder) -> None:
    filled(memory)
    folder.path.mkdir(mode=0o755)
    (folder.path / "corpus.jsonl").write_text("mine")

    with pytest.raises(InvalidData, match="holds no evaluation set of one's own"):
        make_set(memory, folder)

    assert (folder.path / "corpus.jsonl").read_text() == "mine"
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o755


def test_a_place_that_cannot_be_written_is_named(memory: Mind, tmp_path: Path) -> None:
    filled(memory)
    (tmp_path / "file").write_text("")

    with pytest.raises(InvalidData, match=r"file.* cannot be used"):
        make_set(memory, Folder(tmp_path / "file" / "own"))


# ---- judgements --------------------------------------------------------------------------------


def judged(folder: Folder, *given: tuple[str, str, int | None]) -> dict[str, dict[str, int]]:
    """The grades that count after (query, judge, grade) for the first memory that is known."""
    texts = Texts.of(folder.load())
    for row in rows(folder, "queries"):
        for stratum, by, grade in given:
            if row["stratum"] == stratum and row.get("relevant_ids"):
                key = (row["query_id"], row["relevant_ids"][0])
                folder.add(judgements.judgement(texts, key, grade, by))
    judgements.settle(folder)
    return {query.stratum: dict(query.grades) for query in folder.load().queries}


@pytest.mark.parametrize(
    ("given", "counts"),
    [
        ([], 1),  # the store itself says that it is relevant
        ([("history", "m", 3)], 3),
        ([("history", "m", 0)], 1),  # a model does not overrule the user's own history
        ([("history", "m", 3), ("history", USER, 0)], 0),
        ([("history", USER, 2), ("history", "m", 3)], 2),
        ([("history", USER, 2), ("history", USER, None), ("history", "m", 3)], 3),
        ([("history", USER, 2), ("history", USER, 0)], 0),
        ([("history", "m", 2), ("history", "n", 3)], 3),
    ],
)
def test_the_users_grade_counts_before_a_judges_and_that_before_the_stores(
    memory: Mind, folder: Folder, given: list[tuple[str, str, int | None]], counts: int
) -> None:
    filled(memory)
    make_set(memory, folder)

    assert [*judged(folder, *given)["history"].values()] == [counts]


def test_judgements_outlive_a_new_set_unless_the_memory_changed(
    memory: Mind, folder: Folder
) -> None:
    found = filled(memory)
    make_set(memory, folder)
    assert judged(folder, ("links", USER, 3))["links"] == {found["violin"].id: 3}

    make_set(memory, folder)
    again = {query.stratum: query.grades for query in folder.load().queries}
    memory.update(found["violin"].id, content="The fiddle was mended.")
    make_set(memory, folder)
    changed = {query.stratum: query.grades for query in folder.load().queries}

    assert again["links"] == {found["violin"].id: 3}
    assert changed["links"] == {found["violin"].id: 1}


def test_a_line_that_was_cut_short_costs_only_itself(memory: Mind, folder: Folder) -> None:
    found = filled(memory)
    make_set(memory, folder)
    judged(folder, ("links", USER, 3))
    with (folder.path / "judgements.jsonl").open("a") as file:
        file.write('{"query_id": "half')

    make_set(memory, folder)

    assert {q.stratum: q.grades for q in folder.load().queries}["links"] == {found["violin"].id: 3}
