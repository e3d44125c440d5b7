"""The baselines that the product is measured against, and how a retriever is found by its name."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bearinmind.errors import InvalidRetriever
from bearinmind_bench.baselines import (
    BASELINES,
    Baseline,
    Bm25Library,
    ExactCosine,
    Fts5AndOr,
    Fts5Porter,
    ReciprocalRankFusion,
    best_first,
)
from bearinmind_bench.corpus import default_cache
from bearinmind_bench.evaluation import Record
from bearinmind_bench.retrievers import load
from research.baselines import (
    EarlierAsItWas,
    EarlierLexical,
    EarlierReference,
    LexicalFusion,
)

LEXICAL: dict[str, type[Baseline]] = {
    "earlier": EarlierLexical,
    "rrf-lexical": LexicalFusion,
    **{name: BASELINES[name] for name in ("fts5-and-or", "fts5-porter", "bm25s")},
}
CORPUS: list[Record] = [
    {"id": "a", "content": "The harbour office closes at noon on Fridays."},
    {"id": "b", "content": "Runa is walking the dog along the harbour."},
    {"id": "c", "content": "The museum pays its invoices in March."},
    {"id": "d", "content": "Invoices of the harbour office are paid in March."},
    {"id": "e", "content": "Nothing in here is about any of it."},
]


@pytest.fixture(autouse=True)
def _path_and_modules() -> Iterator[None]:
    """Whatever a test imports is forgotten afterwards."""
    path, modules = [*sys.path], {*sys.modules}
    yield
    sys.path[:] = path
    for name in {*sys.modules} - modules:
        file = Path(getattr(sys.modules[name], "__file__", None) or "")
        if file.name == f"{name}.py" and str(file.parent) not in path:
            del sys.modules[name]


def ids(
    kind: type[Baseline], query: str, corpus: Sequence[Record] = CORPUS, k: int = 10
) -> list[str]:
    """The ids that a baseline gives back."""
    baseline = kind(corpus)
    try:
        return [id_ for id_, _ in baseline.retrieve(query, k)]
    finally:
        baseline.close()


# What all of them promise


@pytest.mark.parametrize("name", LEXICAL)
def test_a_baseline_ranks_the_memory_with_more_of_the_words_first(name: str) -> None:
    assert ids(LEXICAL[name], "When are the invoices of the harbour office paid?")[0] == "d"


@pytest.mark.parametrize("name", LEXICAL)
def test_scores_fall_and_no_more_than_k_memories_come_back(name: str) -> None:
    baseline = LEXICAL[name](CORPUS)
    ranked = baseline.retrieve("harbour office invoices March", 2)
    baseline.close()
    assert len(ranked) == 2
    assert [score for _, score in ranked] == sorted((s for _, s in ranked), reverse=True)


@pytest.mark.parametrize("name", LEXICAL)
def test_equal_memories_come_in_the_order_of_their_ids(name: str) -> None:
    twins = [{"id": id_, "content": "The ferry leaves at nine."} for id_ in ("t3", "t1", "t2")]
    corpus = [*twins, *CORPUS]
    assert ids(LEXICAL[name], "When does the ferry leave?", corpus, k=2) == ["t1", "t2"]


@pytest.mark.parametrize("name", LEXICAL)
@pytest.mark.parametrize(
    "query",
    ["", "   ", "?!", '"', "' OR 1=1 --", "NEAR(", "content:", "___", "a AND", "\0", "*", "🐙"],
)
def test_no_query_is_taken_for_syntax(name: str, query: str) -> None:
    assert len(ids(LEXICAL[name], query)) <= len(CORPUS)


@pytest.mark.parametrize("name", LEXICAL)
def test_a_very_long_query_is_answered(name: str) -> None:
    assert "a" in ids(LEXICAL[name], " ".join(f"word{n}" for n in range(3_000)) + " harbour")


@pytest.mark.parametrize("name", LEXICAL)
def test_nobody_is_found_by_words_that_no_memory_has(name: str) -> None:
    assert ids(LEXICAL[name], "zeppelin quartz") == []


@pytest.mark.parametrize("name", LEXICAL)
def test_an_empty_corpus_and_one_without_words_answer_nothing(name: str) -> None:
    assert ids(LEXICAL[name], "harbour", []) == []
    assert ids(LEXICAL[name], "harbour", [{"id": "x", "content": "…"}]) == []


@pytest.mark.parametrize("name", LEXICAL)
def test_a_baseline_says_what_it_takes_up(name: str) -> None:
    baseline = LEXICAL[name](CORPUS)
    assert baseline.facts()["store_bytes"] > 0
    baseline.close()


@pytest.mark.parametrize("name", LEXICAL)
def test_the_memories_of_others_count_in_the_statistics_and_never_come_back(name: str) -> None:
    # Of the own memories fewer swim than are about Anna; of all memories most swim.
    own = [
        {"id": "1", "content": "Anna sings."},
        {"id": "2", "content": "Anna reads."},
        {"id": "3", "content": "Boris swims."},
    ]
    others = [{"id": f"o{n}", "content": f"Carla swims lane {n}."} for n in range(40)]
    alone, among = LEXICAL[name](own), LEXICAL[name](own, others=others)
    before, after = alone.retrieve("Anna swims", 3), among.retrieve("Anna swims", 50)
    alone.close()
    among.close()
    assert [id_ for id_, _ in before] == ["3", "1", "2"]
    assert [id_ for id_, _ in after] == ["1", "2", "3"]


# What makes each of them what it is


def test_porter_finds_other_forms_of_a_word_and_unicode61_does_not() -> None:
    assert ids(Fts5Porter, "walks") == ["b"]
    assert ids(Fts5AndOr, "walks") == []
    assert ids(Bm25Library, "walks") == ["b"]


def test_bm25s_has_stop_words_and_fts5_does_not() -> None:
    assert ids(Bm25Library, "the of in") == []
    assert ids(Fts5Porter, "the of in")


def test_a_word_that_is_asked_twice_counts_once_under_fts5() -> None:
    baseline = Fts5Porter(CORPUS)
    once, twice = (baseline.retrieve(q, 5) for q in ("harbour March", "harbour March HARBOUR"))
    baseline.close()
    assert once == twice


def test_memories_with_every_word_come_before_those_with_any() -> None:
    corpus = [
        {"id": "any", "content": "ferry ferry ferry"},
        {"id": "every", "content": "The ferry to the island, on which " + "much else is told " * 9},
        *CORPUS,
        *({"id": f"i{n}", "content": "An island is near."} for n in range(9)),
    ]
    assert ids(Fts5Porter, "ferry island", corpus)[0] == "any"
    assert ids(Fts5AndOr, "ferry island", corpus)[:2] == ["every", "any"]


def test_any_of_the_words_will_do_only_where_too_few_have_every_word() -> None:
    assert ids(Fts5AndOr, "invoices March", k=2) == ["c", "d"]
    corpus = [*CORPUS, {"id": "f", "content": "March is cold."}]
    assert ids(Fts5AndOr, "invoices March", corpus, k=2) == ["c", "d"]
    assert "f" in ids(Fts5AndOr, "invoices March", corpus, k=3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tags", "boats,keys"),
        ("tags", ["keys", "boats"]),
        ("expanded_keywords", "keys, boats"),
        ("expanded_keywords", ["boats"]),
        ("category", "boats"),
    ],
)
def test_only_the_earlier_system_reads_tags_keywords_and_category(
    field: str, value: object
) -> None:
    corpus = [*CORPUS, {"id": "tagged", "content": "The tin is blue.", field: value}]
    assert ids(EarlierLexical, "boats", corpus) == ["tagged"]
    for kind in (Fts5AndOr, Fts5Porter, Bm25Library):
        assert ids(kind, "boats", corpus) == []


def test_the_earlier_system_blends_the_share_of_the_best_bm25_with_importance() -> None:
    corpus: list[Record] = [
        {"id": "long", "content": "The ferry, " + "and so on " * 9, "importance": 1.0},
        {"id": "short", "content": "The ferry.", "importance": 0.2},
        {"id": "unsaid", "content": "A ferry."},
        *CORPUS,
    ]
    plain, blended = Fts5AndOr(corpus), EarlierLexical(corpus)
    bm25 = dict(plain.retrieve("ferry", 3))
    expected = {
        id_: 0.7 * bm25[id_] / max(bm25.values()) + 0.3 * importance
        for id_, importance in {"long": 1.0, "short": 0.2, "unsaid": 0.5}.items()
    }
    assert dict(blended.retrieve("ferry", 3)) == pytest.approx(expected)
    plain.close()
    blended.close()


def test_the_earlier_system_looks_no_deeper_than_fifty() -> None:
    filler = [
        {"id": f"{n:02}", "content": "The ferry is late.", "importance": 0.0} for n in range(60)
    ]
    vital = {"id": "vital", "content": "The ferry is late again.", "importance": 1.0}
    assert "vital" not in ids(EarlierLexical, "ferry", [*filler, vital], k=10)
    assert ids(EarlierLexical, "ferry", [*filler[:40], vital], k=10)[0] == "vital"


def test_fused_scores_are_sums_of_reciprocal_ranks() -> None:
    query = "harbour office invoices"
    places = [
        {id_: rank for rank, id_ in enumerate(ids(kind, query), start=1)}
        for kind in (EarlierLexical, Bm25Library)
    ]
    fused = LexicalFusion(CORPUS)
    scores = dict(fused.retrieve(query, 10))
    fused.close()
    assert scores == pytest.approx(
        {
            id_: sum(1 / (60 + of_leg[id_]) for of_leg in places if id_ in of_leg)
            for id_ in places[0].keys() | places[1].keys()
        }
    )


def test_the_best_come_first_and_ties_break_on_the_id() -> None:
    assert best_first([("b", 1.0), ("c", 2.0), ("a", 1.0)], 2) == [("c", 2.0), ("a", 1.0)]


# Finding a retriever


def test_a_baseline_is_found_by_its_name() -> None:
    assert {*BASELINES} >= {"fts5-porter", "fts5-and-or", "bm25s", "cosine", "rrf"}
    assert load("fts5-porter") is Fts5Porter
    assert load("research.baselines:EarlierLexical") is EarlierLexical


def test_a_class_in_the_current_folder_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("own_retriever.py").write_text(
        "class Last:\n"
        "    def __init__(self, corpus):\n"
        "        self.ids = [record['id'] for record in corpus]\n"
        "    def retrieve(self, query, k):\n"
        "        return self.ids[::-1][:k]\n",
        encoding="utf-8",
    )
    assert load("own_retriever:Last")(CORPUS).retrieve("", 2) == ["e", "d"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("porter", "'porter' is neither a baseline nor module:Class"),
        ("", "'' is neither a baseline nor module:Class"),
        (":Class", "':Class' is neither a baseline nor module:Class"),
        ("json:", "'json:' is neither a baseline nor module:Class"),
        ("no_such_module:Class", "the module 'no_such_module' cannot be imported"),
        (".relative:Class", "the module '.relative' cannot be imported"),
        (
            "odd_retriever:Class",
            "cannot be imported: ModuleNotFoundError: No module named 'not_installed'",
        ),
        (
            "bad_retriever:Class",
            "the module 'bad_retriever' cannot be imported: SyntaxError: invalid syntax",
        ),
        ("json:Missing", "the module 'json' has no class 'Missing'"),
        ("json:dumps", "'json:dumps' does not take (corpus, query, k)"),
        ("json:codecs", "the module 'json' has a module, not a class, 'codecs'"),
        ("json:JSONDecoder", "the class 'json:JSONDecoder' has no method `retrieve"),
    ],
)
def test_what_is_wrong_with_the_name_of_a_retriever_is_said(
    name: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("odd_retriever.py").write_text("import not_installed\n", encoding="utf-8")
    Path("bad_retriever.py").write_text("def (:\n", encoding="utf-8")
    with pytest.raises(InvalidRetriever, match=re.escape(said)) as raised:
        load(name)
    assert raised.value.hint


# The baselines that know meanings


SHORE: list[Record] = [
    {"id": "doctor", "content": "Pell has an appointment with the paediatrician on Tuesday."},
    {"id": "ferry", "content": "The last boat to the island leaves at nine in the evening."},
    {"id": "port", "content": "Halyard listens on port 7443, TLS only."},
    {"id": "food", "content": "Idris cannot eat shellfish: it makes him ill."},
]


def test_the_cosine_finds_what_shares_no_word_with_the_query() -> None:
    cosine = ExactCosine(SHORE)
    ranked = cosine.retrieve("Which seafood is he allergic to?", 2)
    assert ranked[0][0] == "food"
    assert len(ranked) == 2
    assert ranked[0][1] > ranked[1][1]
    assert len(cosine.retrieve("anything", 10)) == len(SHORE)
    assert cosine.facts()["store_bytes"] == len(SHORE) * 384 * 4
    assert ExactCosine(SHORE, others=SHORE).facts()["store_bytes"] == 2 * len(SHORE) * 384 * 4
    assert cosine.facts()["models"][0].startswith("all-MiniLM-L6-v2 53aa51172d14.")


def test_equal_cosines_come_in_the_order_of_their_ids() -> None:
    twins: list[Record] = [
        {"id": id_, "content": "The tide is high."} for id_ in ("t3", "t1", "t2")
    ]
    ranked = ExactCosine([*twins, *SHORE]).retrieve("Is the tide high?", 2)
    assert [id_ for id_, _ in ranked] == ["t1", "t2"]


def test_embeddings_of_the_corpus_are_kept_for_the_next_run() -> None:
    first = ExactCosine(SHORE)
    assert default_cache().is_file()
    again = ExactCosine(SHORE)
    assert again.retrieve("boats", 4) == first.retrieve("boats", 4)


def test_the_fusion_takes_both_the_words_and_the_meaning() -> None:
    fused = ReciprocalRankFusion(SHORE)
    assert fused.retrieve("Halyard 7443", 1)[0][0] == "port"
    assert fused.retrieve("seafood allergy", 1)[0][0] == "food"
    assert fused.facts()["models"]
    fused.close()


def test_the_earlier_path_as_it_was_broadens_only_where_no_memory_has_every_word() -> None:
    corpus: list[Record] = [
        {"id": "both", "content": "the ferry boat"},
        {"id": "one", "content": "the ferry", "importance": 1.0},
    ]
    assert ids(EarlierAsItWas, "ferry boat", corpus) == ["both"]
    assert ids(EarlierLexical, "ferry boat", corpus) == ["both", "one"]
    assert ids(EarlierAsItWas, "ferry harbour", corpus)[0] == "one"
    assert ids(EarlierReference, "ferry boat", corpus) == ["both", "one"]


def test_the_earlier_path_as_it_was_adds_importance_to_raw_bm25() -> None:
    corpus: list[Record] = [
        {"id": "nearer", "content": "ferry ferry ferry", "importance": 0.0},
        {"id": "weightier", "content": "ferry", "importance": 1.0},
    ]
    assert ids(EarlierAsItWas, "ferry", corpus) == ["weightier", "nearer"]  # BM25 is tiny here
    assert ids(EarlierReference, "ferry", corpus) == ["nearer", "weightier"]
    twins: list[Record] = [
        {"id": "a", "content": "ferry", "importance": 0.1},
        {"id": "b", "content": "ferry", "importance": 0.9},
    ]
    assert ids(EarlierReference, "ferry", twins) == ["b", "a"]
