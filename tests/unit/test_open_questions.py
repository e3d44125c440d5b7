"""The measurements of docs/explanation/open-questions.md, against small sets and local servers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bearinmind.config import Settings
from bearinmind.protocols import Passage
from bearinmind.types import MemoryId
from bearinmind_bench.evaluation import EvaluationQuery
from questions import encoders, found, precision, reader
from questions.rerankers import Diverse, Words
from support import chat_server, embedding_server
from support.bench_sets import small_set
from support.embedders import WordEmbedder


@pytest.mark.parametrize(
    "form", ["openai:text-embedding-3-small", "voyage:voyage-3.5", "cohere:embed-v4.0"]
)
def test_a_published_encoder_is_measured_up_to_the_call(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small_set(tmp_path / "harbour", 10)
    monkeypatch.setattr(encoders, "kept", lambda embedder, **_: embedder)  # the cache of benchmarks
    with embedding_server.serving() as server:
        server.dimensions = 1024 if "voyage" in form else 1536
        monkeypatch.setenv("BEARINMIND_EMBEDDER_URL", server.url)
        monkeypatch.setenv("BEARINMIND_EMBEDDER_KEY", "no-secret")
        result = encoders.measure(folder, [form])
    assert result["alone"][form]["queries"] == result["queries"] == 5  # those of `dev`
    assert result["beside"][form]["verdict"] == "too few queries"
    assert result["costs"][form]["bytes"] == 4 * server.dimensions
    assert {seen.key for seen in server.seen} == {"Bearer no-secret"}


def test_the_published_encoders_are_forms_that_the_settings_take() -> None:
    for form in encoders.PUBLISHED:
        assert Settings(embedder=form).embedder == form


def test_precisions_lose_little_of_a_vector() -> None:
    vectors = np.random.default_rng(1).normal(size=(50, 64)).astype(np.float32)
    for way, most in ((precision.halves, 1e-2), (precision.codes, 5e-2)):
        assert np.abs(way(vectors) - vectors).max() < most


def passages(*texts: str) -> list[Passage]:
    return [Passage(MemoryId(str(number)), text) for number, text in enumerate(texts)]


def test_words_that_stand_together_and_in_order_score_higher() -> None:
    given = passages(
        "The ferry leaves early, and much later the night train.",
        "The night ferry leaves at ten.",
        "Nothing of it.",
    )
    scores = Words()("when does the night ferry leave", given, 1.0)
    assert [*np.argsort(scores)[::-1]] == [1, 0, 2]


def test_a_question_for_a_number_prefers_a_text_that_has_one() -> None:
    given = passages("The ferry has red seats.", "The ferry has 40 seats.")
    first, second = Words()("how many seats has the ferry", given, 1.0)
    assert second > first


def test_mmr_puts_something_else_before_the_second_of_two_twins() -> None:
    given = passages("the ferry leaves at ten", "the ferry leaves at ten", "a seal sings")
    scores = Diverse(WordEmbedder())("ferry", given, 1.0)
    assert [*np.argsort(scores)[::-1]] == [0, 2, 1]


def test_the_reader_answers_with_the_sentence_that_holds_the_question() -> None:
    memories = ["It rained. The ferry leaves at ten.", "The seal sings."]
    assert reader.sentence("When does the ferry leave?", memories) == "The ferry leaves at ten."
    assert reader.sentence("When?", []) == ""
    assert reader.share("at ten", "The ferry leaves at ten.") == 1.0
    assert reader.f1("ten", "ten o'clock") < reader.f1("ten", "ten") == 1.0


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_a_chat_model_reads_the_same_memories(dialect: str) -> None:
    queries = [EvaluationQuery(id="q", text="When does the ferry leave?")]
    given = {reader.SHIPPED: [["The ferry leaves at ten."]], reader.NEWEST: [["The seal sings."]]}

    def answer(handler: chat_server.Handler, seen: chat_server.Seen) -> None:
        asked = json.dumps(seen.body)
        said = json.dumps({"answer": "at ten" if "at ten" in asked else ""})
        handler.reply(chat_server.wrapped(handler.server, seen.path, said))

    with chat_server.serving() as server:
        server.always = answer
        settings = Settings(llm_url=server.url, llm_model="small", llm_dialect=dialect)
        told = reader.with_model(["model", "price=1/10"], queries, ["at ten"], given, settings)
    assert told["f1"][reader.SHIPPED] == 1.0
    assert told["f1"]["arms"][reader.NEWEST]["after"] == 0.0
    assert told["tokens"] == {"in": 200, "out": 100}
    assert told["cost"] == pytest.approx(200 / 1e6 + 1000 / 1e6)


def test_what_was_found_in_a_tree_with_changes_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(found, "FILE", tmp_path / "found.json")
    monkeypatch.setattr(found, "revision", lambda: "0123456789ab+changes")
    with pytest.raises(SystemExit, match="has changes"):
        found.keep("encoders", "harbour", {})
    monkeypatch.setattr(found, "revision", lambda: "0123456789ab")
    found.keep("encoders", "harbour", {"queries": 3})
    kept = json.loads((tmp_path / "found.json").read_text("utf-8"))["encoders"]["harbour"]
    assert (kept["revision"], kept["queries"]) == ("0123456789ab", 3)
