"""The page of the benchmark says and draws what the results hold, and nothing in them can act."""

from __future__ import annotations

import base64
import hashlib
import itertools
import re
from xml.etree.ElementTree import Element

import pytest

from bearinmind import errors
from bearinmind_bench.compare import Comparison
from bearinmind_bench.inference import Verdict
from bearinmind_bench.report.charts import tag
from bearinmind_bench.report.page import render
from bearinmind_bench.report.runs import labels
from bearinmind_bench.results import QueryRow, Result
from support.bench_runs import made_comparison, made_result, made_row, made_rows
from support.html_tree import attributes, by_id, parsed, text_of, with_class

HOSTILE = "</title></style><script>boom()</script><img src=x onerror='boom()'>\"'&amp;\x00\x1b"
SHOWN = HOSTILE.replace("\x00", "\N{REPLACEMENT CHARACTER}").replace(
    "\x1b", "\N{REPLACEMENT CHARACTER}"
)


@pytest.fixture(scope="module")
def two() -> list[Result]:
    return [
        made_result(made_rows(90, 1.0, unanswerable=20)),
        made_result(made_rows(90, 1.6, unanswerable=20), {"settings": {"pool": 100}}),
    ]


@pytest.fixture(scope="module")
def page(two: list[Result]) -> Element:
    return parsed(render(two, [made_comparison(*two)]))


def renamed(row: QueryRow, text: str) -> QueryRow:
    legs = {f"{leg} {text}": ranks for leg, ranks in row.legs.items()}
    update = {"query_id": f"{row.query_id} {text}", "stratum": f"{row.stratum} {text}"}
    return row.model_copy(update=update | {"legs": legs})


# ---- nothing in a result can act ----------------------------------------------------------------


def hostile_page() -> str:
    rows = [renamed(row, HOSTILE) for row in made_rows(40, unanswerable=5)]
    manifest = {
        "data": HOSTILE,
        "split": HOSTILE,
        "revision": HOSTILE,
        "retriever": HOSTILE,
        "settings": {HOSTILE: HOSTILE},
        "recipe": {HOSTILE: HOSTILE},
        "models": (HOSTILE,),
        "adaptations": (HOSTILE,),
    }
    changed = [renamed(row, HOSTILE) for row in made_rows(40, 1.5, unanswerable=5)]
    before = made_result(rows, manifest, warnings=(HOSTILE,))
    after = made_result(changed, manifest | {"settings": {}}, faults=(HOSTILE,))
    third = made_result(changed, manifest | {"settings": {"pool": 9}})
    return render([before, after, third], [made_comparison(before, third)])


def test_what_comes_from_data_is_text_wherever_it_stands() -> None:
    tree = parsed(hostile_page())

    assert [script.get("src") for script in tree.iter("script")] == [None]
    assert [text_of(style).count("boom") for style in tree.iter("style")] == [0]
    assert not [*tree.iter("img")]
    assert not [name for name, _ in attributes(tree) if name.startswith("on")]
    assert not [value for _, value in attributes(tree) if value.startswith("javascript:")]
    assert SHOWN in "".join(tree.itertext())


def test_script_and_style_cannot_be_made_of_data() -> None:
    for name in ("script", "style"):
        with pytest.raises(ValueError, match="asset"):
            tag(name, "alert(1)")


def test_only_the_script_of_the_package_may_run_and_nothing_is_fetched(page: Element) -> None:
    (script,) = page.iter("script")
    digest = base64.b64encode(hashlib.sha256((script.text or "").encode()).digest()).decode()
    (policy,) = (m.get("content", "") for m in page.iter("meta") if "http-equiv" in m.keys())  # noqa: SIM118  an element is a sequence of its children

    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy
    assert not [e.tag for e in page.iter() if {"src", "srcset"} & {*e.keys()}]
    assert all(link.get("href", "").startswith("#") for link in page.iter("a"))
    assert not re.search(r"url\(|@import|https?:", "".join(page.itertext()))


# ---- the page holds together ---------------------------------------------------------------------


def test_the_same_results_give_the_same_page(two: list[Result]) -> None:
    assert render(two) == render(two)


def test_ids_are_unique_and_whatever_points_at_one_finds_it(page: Element) -> None:
    ids = [value for name, value in attributes(page) if name == "id"]
    assert len({*ids}) == len(ids)
    for name, value in attributes(page):
        if name in ("aria-labelledby", "aria-describedby", "for"):
            assert value in ids
        if name == "href":
            assert value[1:] in ids


def test_every_chart_has_a_title_and_a_description(page: Element) -> None:
    charts = [svg for svg in page.iter("svg") if svg.get("aria-hidden") != "true"]
    assert len(charts) > 20
    for svg in charts:
        assert svg.get("role") == "img"
        assert [child.tag for child in svg][:2] == ["title", "desc"]
        assert all(text_of(child) for child in [*svg][:2])


def test_one_metric_is_chosen_in_every_chooser_and_the_headline_comes_first(page: Element) -> None:
    for chooser in with_class(page, "chooser"):
        chosen = [e.get("checked") is not None for e in chooser if e.tag == "input"]
        names = [text_of(e) for e in chooser if e.tag == "label"]
        assert chosen == [True] + [False] * (len(names) - 1)
        assert names[0] == "nDCG@10"
        assert {"recall@5", "all relevant@10", "MRR", "MAP", "answers@1"} <= {*names}


def test_three_runs_of_1500_queries_stay_below_two_megabytes() -> None:
    strata = [f"stratum {number}" for number in range(9)]
    runs = [
        made_result(made_rows(1_500, 1 + number / 10, strata), {"settings": {"pool": number}})
        for number in range(3)
    ]
    html = render(runs, [made_comparison(runs[0], run) for run in runs[1:]])
    assert len(html.encode()) < 2_000_000


def test_a_report_of_nothing_is_refused() -> None:
    with pytest.raises(errors.InvalidData):
        render([])


# ---- names ---------------------------------------------------------------------------------------


def test_a_label_says_what_tells_a_run_from_the_others() -> None:
    rows = made_rows(2)
    plain = made_result(rows)
    assert labels([plain]) == ("bearinmind",)
    assert labels(
        [
            plain,
            made_result(rows, {"settings": {"pool": 100, "leg_weights": {"dense": 0.5}}}),
            made_result(rows, {"retriever": "bm25s"}),
            made_result(rows, {"data": "other", "split": "dev"}),
        ]
    ) == (
        "household · all · bearinmind",
        "household · all · bearinmind · pool=100, leg_weights={dense: 0.5}",
        "household · all · bm25s",
        "other · dev · bearinmind",
    )


def test_settings_that_all_runs_share_are_not_in_their_labels() -> None:
    rows = made_rows(2)
    made = [made_result(rows, {"settings": {"pool": 9, "limit": n}}) for n in (1, 2)]
    assert labels(made) == ("bearinmind · limit=1", "bearinmind · limit=2")


def test_runs_that_differ_in_nothing_else_are_told_apart_by_revision_or_number() -> None:
    rows = made_rows(2)
    same = made_result(rows)
    assert labels([same, made_result(rows, {"revision": "beef"})]) == (
        "bearinmind · d8bb115aa01c",
        "bearinmind · beef",
    )
    assert labels([same, same]) == ("bearinmind (1)", "bearinmind (2)")


def test_long_names_are_shortened_and_whole_in_the_tooltip() -> None:
    name = "a stratum about everything that was ever said about the harbour"
    tree = parsed(render([made_result(made_rows(40, strata=(name,)))]))
    chart = by_id(tree, "strata-ndcg-10")
    (shown,) = (e for e in with_class(chart, "name", "text") if "…" in text_of(e))
    assert text_of(shown[0]) == name
    assert len((shown[0].tail or "").strip()) < 30


def test_thirty_runs_have_thirty_letters() -> None:
    rows = made_rows(3)
    tree = parsed(render([made_result(rows) for _ in range(30)]))
    letters = [text_of(with_class(card, "badge")[0]) for card in with_class(tree, "card")]
    assert len({*letters}) == 30


# ---- the top -------------------------------------------------------------------------------------


def test_the_top_tells_what_all_runs_share_once_and_the_rest_on_their_cards() -> None:
    runs = [made_result(made_rows(9), {"revision": revision}) for revision in ("aaa1", "bbb2")]
    (header,) = parsed(render(runs)).iter("header")
    facts, cards = with_class(header, "facts")[0], with_class(header, "card")
    assert "household" in text_of(facts)
    assert "f1f1f1f1f1f1" in text_of(facts)
    assert "2026-03-01 12:00 UTC" in text_of(facts)
    assert "aaa1" not in text_of(facts)
    own = [[text_of(fact) for fact in card.iter("dd")] for card in cards]
    assert ["aaa1" in each for each in own] == [True, False]
    assert ["bbb2" in each for each in own] == [False, True]
    assert not any("household" in each for each in own)


def test_warnings_broken_promises_and_adaptations_name_their_runs() -> None:
    rows = made_rows(9)
    runs = [
        made_result(rows, warnings=("slow disk", "old model")),
        made_result(rows, {"adaptations": ("limit raised",)}, warnings=("slow disk",)),
        made_result(rows, faults=("a memory stands in an answer twice (2 answers)",)),
    ]
    tree = parsed(render(runs))
    said = {
        aside.get("class", "").split()[1]: [text_of(item) for item in aside.iter("li")]
        for aside in tree.iter("aside")
    }
    assert said == {
        "faults": ["C a memory stands in an answer twice (2 answers)"],
        "warnings": ["AB slow disk", "A old model"],
        "adaptations": ["B limit raised"],
    }


def test_settings_that_differ_are_side_by_side() -> None:
    rows = made_rows(9)
    runs = [made_result(rows, {"settings": each}) for each in ({}, {"pool": 7}, {"pool": 8})]
    (header,) = parsed(render(runs)).iter("header")
    table = [[text_of(cell) for cell in row] for row in header.iter("tr")]
    assert table == [["", "A", "B", "C"], ["settings.pool", "default", "7", "8"]]


def test_the_manifest_is_there_in_full() -> None:
    result = made_result(made_rows(3), {"settings": {"decay_days": {"facts": 30.5}}})
    section = text_of(by_id(parsed(render([result])), "manifests"))
    for name, field in result.manifest.model_dump().items():
        assert name in section
        for value in field.values() if isinstance(field, dict) else [field]:
            if isinstance(value, str | int):
                assert str(value) in section
    assert '{"facts": 30.5}' in section


def tables_of(tree: Element) -> dict[str, list[list[str]]]:
    """What the cells of every table say, by its caption."""
    return {
        text_of(next(table.iter("caption"))): [
            [text_of(cell) for cell in row] for row in table.iter("tr")
        ][1:]
        for table in tree.iter("table")
    }


# ---- tables --------------------------------------------------------------------------------------


def test_every_metric_of_every_run_is_in_the_overall_table(
    two: list[Result], page: Element
) -> None:
    (table,) = by_id(page, "overall").iter("table")
    rows = [[text_of(cell) for cell in row] for row in table.iter("tr")][1:]
    assert rows[0][0].startswith("nDCG@10")
    assert len(rows) == len(two[0].overall) - 1  # all but the number of queries
    for column, result in enumerate(two, start=1):
        low, high = result.intervals["overall"]["ndcg@10"]
        assert rows[0][column] == f"{result.overall['ndcg@10']:.3f}{low:.3f} – {high:.3f}"  # noqa: RUF001  an en dash


def test_all_four_verdicts_are_said_in_words(two: list[Result]) -> None:
    made = made_comparison(*two)
    said = [Verdict.BETTER, Verdict.WORSE, Verdict.CANNOT_TELL, Verdict.TOO_FEW]
    overall = [row for row in made.rows if row.metric == "ndcg@10"]
    rows = [
        type(row)(
            stratum=row.stratum,
            metric=row.metric,
            difference=row.difference,
            corrected_p=0.0123,
            verdict=verdict,
        )
        for row, verdict in zip(overall, said, strict=False)
    ]
    tree = parsed(render(two, [Comparison(rows=tuple(rows), minimum=30)]))
    chosen = [text_of(cell) for cell in with_class(tree, "said")]
    assert chosen == ["▲ better", "▼ worse", "· cannot tell", "– too few queries"]  # noqa: RUF001
    (line,) = with_class(tree, "verdict")
    found = rows[0].difference
    assert text_of(line).startswith("B is better than A: nDCG@10")
    assert f"{found.before:.3f} → {found.after:.3f}" in text_of(line)
    assert "corrected p 0.012 on 90 queries" in text_of(line)


def test_the_queries_that_changed_most_are_named_with_both_values() -> None:
    def answered(number: int, rank: int) -> QueryRow:
        row = made_row(number)
        ranked = tuple(f"f{place}" for place in range(1, rank)) + tuple(row.grades)
        metrics = dict.fromkeys(row.metrics, 1 / rank)
        return row.model_copy(update={"ranked": ranked, "metrics": metrics})

    before = made_result([answered(n, 2) for n in range(30)])
    after = made_result([answered(n, {4: 1, 5: 4}.get(n, 2)) for n in range(30)])
    tree = parsed(render([before, after]))
    tables = tables_of(tree)
    assert tables["Most gained in nDCG@10"] == [
        ["q0004", "single fact", "0.500", "1.000", "+0.500"]
    ]
    assert tables["Most lost in nDCG@10"] == [
        ["q0005", "single fact", "0.500", "0.250", "\N{MINUS SIGN}0.250"]
    ]
    said = [text_of(line) for line in with_class(tree, "meaning")]
    assert "B is ahead on 1 query, A on 1; 28 are tied." in said


def test_every_query_is_listed_with_its_first_relevant_rank_and_what_differs_most_first() -> None:
    before, after = made_rows(40), made_rows(40, 2.0)
    rows = tables_of(parsed(render([made_result(before), made_result(after)])))["Queries"]
    assert len(rows) == 40
    gaps = [abs(float(row[2]) - float(row[5])) for row in rows]
    assert all(one >= other - 0.0011 for one, other in itertools.pairwise(gaps))
    by_query = {row.query_id: row for row in before}
    for id_, stratum, value, rank, milliseconds, *_ in rows:
        row = by_query[id_]
        assert stratum == row.stratum
        assert value == f"{row.metrics['ndcg@10']:.3f}"
        assert milliseconds == f"{row.milliseconds:.1f}"
        found = [str(place) for place, hit in enumerate(row.ranked, 1) if hit in row.grades]
        assert rank == (found[0] if found else "–")  # noqa: RUF001  an en dash


def test_one_run_lists_what_went_worst_first() -> None:
    rows = tables_of(parsed(render([made_result(made_rows(40))])))["Queries"]
    values = [float(row[2]) for row in rows]
    assert values == sorted(values)


def test_what_each_leg_found_is_a_number_and_a_share_of_all_relevant_memories(
    two: list[Result], page: Element
) -> None:
    rows = tables_of(page)["Contribution of each leg"]
    total = sum(len(row.grades) for row in two[0].rows)
    assert [row[:2] for row in rows] == [
        [leg, run] for leg in ("lexical", "dense") for run in ("A", "B")
    ]
    brought = two[0].legs["lexical"]
    for cell, number in zip(
        rows[0][2:5], (brought.found, brought.alone, brought.first_ten), strict=True
    ):
        assert cell == f"{number} {number / total:.0%}"
    assert rows[0][5] == "1.50 ms"


def test_times_and_sizes_are_in_units_that_people_read(page: Element) -> None:
    tables = tables_of(page)
    assert {row[0]: row[1] for row in tables["Corpus and store"]} == {
        "taking in the corpus": "3.40 s",
        "memories per second": "1,603",
        "memories": "5,452",
        "merged: said the same as another": "2",
        "refused": "0",
        "users": "1",
        "content": "2.1 MB",
        "store": "9.8 MB",
        "peak memory of the process": "212 MB",
    }
    assert [row[0] for row in tables["Time of one recall"]][:3] == ["p50", "p90", "p95"]
