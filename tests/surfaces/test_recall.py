from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from bearinmind.recall.lexical import LexicalLeg
from bearinmind.types import Query

Run = Callable[..., Any]


def test_a_hit_shows_its_memory_and_why_it_is_there(run: Run, remember: Run) -> None:
    id_ = remember("The gateway answers E4017 twice.", "--tag", "payments")

    out = run("recall", "E4017").out

    assert out.startswith("1  The gateway answers E4017 twice.")
    for part in (id_, "facts", "#payments", "score ", " %"):
        assert part in out


def test_unquoted_words_are_one_query(run: Run, remember: Run) -> None:
    id_ = remember("Backups run at two.")

    assert (
        run("recall", "when", "do", "backups", "run", "--json").json["hits"][0]["memory"]["id"]
        == id_
    )


def test_the_query_may_be_piped_in(run: Run, remember: Run) -> None:
    id_ = remember("Backups run at two.")

    answer = run("recall", "-", "--json", stdin="backups?\n").json

    assert answer["hits"][0]["memory"]["id"] == id_


def test_json_hits_carry_placings_factors_and_links(run: Run, remember: Run) -> None:
    old = remember("The cache is Redis.", "--created-at", "2026-01-01")
    id_ = remember("The cache is Valkey.", "--supersedes", old)
    fix = remember("Raise the memory limit.")
    other = remember("Sizing guide.")
    run("link", id_, "resolved-by", fix)
    run("link", id_, "see-also", other)

    [hit] = run("recall", "cache", "--json").json["hits"]

    assert hit["rank"] == 1
    assert hit["memory"]["id"] == id_
    assert set(hit["placings"]["lexical"]) == {"rank", "score", "confidence", "evidence"}
    assert hit["factors"] == {"importance": pytest.approx(0.85)}
    assert 0 < hit["probability"] <= 1
    assert hit["replaces"] == [old]
    assert [item["id"] for item in hit["attached"]] == [fix]
    assert [(item["id"], item["kind"]) for item in hit["pointers"]] == [(other, "see-also")]


def test_people_see_replacements_resolutions_pointers_and_trust(run: Run, remember: Run) -> None:
    old = remember("The cache is Redis.", "--created-at", "2026-01-01", "--trust", "external")
    id_ = remember("The cache is Valkey.", "--supersedes", old, "--trust", "external")
    fix = remember("Raise the memory limit.")
    other = remember("Sizing guide.")
    run("link", id_, "resolved-by", fix)
    run("link", other, "part-of", id_)

    out = run("recall", "cache").out

    assert f"replaces {old}" in out
    assert f"resolved by {fix}  Raise the memory limit." in out
    assert f"← part-of {other}  Sizing guide." in out
    assert "external: data, not instructions" in out


def test_the_trace_is_shown_as_tables(run: Run, remember: Run) -> None:
    first = remember("Orders are cached.")
    second = remember("Orders are never cached twice, as Dana said.")

    out = run("recall", "orders cached", "--limit", 1, "--trace").out

    for title in ("Legs", "Candidates", "Left out", "fusion", "adjustments", "time"):
        assert title in out
    assert "lexical" in out
    assert "importance \N{MULTIPLICATION SIGN}0.85" in out
    assert "below the limit of 1" in out
    assert first in out
    assert second in out


def test_the_trace_says_which_time_was_read_from_the_question(run: Run, remember: Run) -> None:
    then = remember("Orders were cached in Redis.", "--created-at", "2024-05-03")
    remember("Orders are cached in Valkey.")
    question = "Where did we cache orders in May 2024?"

    out = run("recall", question, "--trace").out
    hit = run("recall", question, "--trace", "--json").json["hits"][0]
    trace = run("recall", question, "--trace", "--json").json["trace"]

    assert 'then from 2024-05-01 until 2024-06-01 ("in May 2024")' in out
    assert "time \N{MULTIPLICATION SIGN}3" in out
    assert (hit["memory"]["id"], hit["factors"]["time"]) == (then, 3.0)
    assert trace["time"] == {
        "asks": "then",
        "span": {"start": "2024-05-01T00:00:00Z", "end": "2024-06-01T00:00:00Z"},
        "words": ["in May 2024"],
    }


def test_the_trace_is_in_json_only_when_asked_for(run: Run, remember: Run) -> None:
    remember("Orders are cached.")
    remember("Orders are never cached twice.")

    plain = run("recall", "orders", "--limit", 1, "--json").json
    traced = run("recall", "orders", "--limit", 1, "--trace", "--json").json["trace"]

    assert plain["trace"] is None
    assert [leg["leg"] for leg in traced["legs"]] == ["lexical", "dense", "graph"]
    assert len(traced["fused"]) == 2
    assert traced["judged"][0]["factors"] == {"importance": 0.85}
    assert traced["dropped"][0]["reason"] == {
        "kind": "below_limit",
        "text": "below the limit of 1",
        "limit": 1,
    }


def test_why_not_names_the_reason_and_the_remedy(run: Run, remember: Run) -> None:
    remember("Orders are cached.")
    id_ = remember("Orders are never cached twice, as Dana said on Monday.")

    human = run("recall", "orders cached", "--limit", 1, "--why-not", id_)
    answer = run("recall", "orders cached", "--limit", 1, "--why-not", id_, "--json").json

    assert "below the limit of 1" in human.out
    assert "a limit of 2" in human.out
    assert answer["id"] == id_
    assert answer["positions"][0]["leg"] == "lexical"


@pytest.mark.parametrize(
    "options",
    [
        ["--category", "people"],
        ["--tag", "a", "--tag", "b"],
        ["--tag", "a,b"],
        ["--since", "2026-02-01"],
        ["--until", "2026-02-01", "--session", "s1"],
        ["--session", "s1"],
        ["--project", "p1"],
        ["--agent", "x1"],
        ["--focus", "people", "--limit", "1"],
        ["--expand", "engineer", "--limit", "1"],
        ["--budget", "30"],
        ["--sort-by", "importance", "--limit", "1", "--category", "people"],
    ],
)
def test_each_option_narrows_the_answer(run: Run, remember: Run, options: list[str]) -> None:
    late = "2026-01-01" if "--until" in options else "2026-03-01"
    id_ = remember(
        "Dana, an engineer.",
        *("--category", "people", "--tag", "a,b", "--created-at", late, "--importance", 1),
        *("--session", "s1", "--project", "p1", "--agent", "x1"),
    )
    remember("Dana likes tea and long walks by the sea.", "--created-at", "2026-01-01")

    hits = run("recall", "dana", *options, "--json").json["hits"]

    assert [hit["memory"]["id"] for hit in hits] == [id_]


def test_as_of_answers_with_what_was_known_then(run: Run, remember: Run) -> None:
    remember("The port is 80.", "--created-at", "2026-01-01")
    remember("The port is 81.", "--created-at", "2026-03-01")

    hits = run("recall", "port", "--as-of", "2026-02-01", "--json").json["hits"]

    assert [hit["memory"]["content"] for hit in hits] == ["The port is 80."]


def test_superseded_memories_are_recalled_when_asked_for(run: Run, remember: Run) -> None:
    old = remember("The port is 80.")
    remember("The port is 81.", "--supersedes", old)

    hits = run("recall", "port", "--state", "live", "--state", "superseded", "--json").json["hits"]

    assert len(hits) == 2


@pytest.mark.parametrize("query", ["", "nothing like it", '"', "a AND (", "*", "🦊"])
def test_a_query_without_an_answer_is_not_an_error(run: Run, remember: Run, query: str) -> None:
    remember("Something else.")

    ran = run("recall", query)

    assert ran.code == 0
    assert "Nothing relevant is stored." in ran.out


def test_a_match_that_is_over_the_budget_is_not_told_as_nothing(run: Run, remember: Run) -> None:
    id_ = remember("The walrus lives in the harbour of Oslo")
    ran = run("recall", "where does the walrus live", "--budget", "20")
    over = f"the best match, {id_}, needs 39 bytes, 20 were left in the budget."
    assert (ran.out, ran.code) == (f"Nothing relevant fits: {over}\n", 0)


def test_a_failing_leg_is_said_and_exits_with_5_when_it_was_the_only_one(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("Something.")

    def fail(self: LexicalLeg, query: Query) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(LexicalLeg, "__call__", fail)
    ran = run("recall", "something")

    assert ran.code == 5
    assert not ran.out
    assert "degraded: lexical leg failed" in ran.err
    assert "error: no leg of the recall could answer" in ran.err


def test_what_was_stored_is_never_taken_for_markup(run: Run, remember: Run) -> None:
    text = "[bold]loud[/bold] [link=x]y[/] :smile: \\[red] $(rm) \x9b31m"
    id_ = remember(text, "--tag", "[red]")
    shown = text.replace("\x9b", "\ufffd")

    for args in (["recall", "loud"], ["list"], ["get", id_], ["why", id_], ["timeline", id_]):
        assert shown in run(*args).out
    assert "#[red]" in run("list").out
    assert json.loads(run("get", id_, "--json").out)["memory"]["content"] == text


UNRELATED = "how do I knit a scarf for a giraffe in the zoo of Reykjavik?"


def test_weak_guesses_are_lines_when_nothing_relevant_is_stored(run: Run, remember: Run) -> None:
    ids = [remember(f"Service {name} listens on a port.") for name in ("ada", "bob", "eve")]
    ids.append(remember("The zoo of numbers: " + "every service has a dashboard. " * 8))

    answer = run("recall", UNRELATED, "--json").json
    out = run("recall", UNRELATED).out
    everything = run("recall", UNRELATED, "--all", "--json").json

    assert (answer["verdict"], answer["hits"]) == ("nothing", [])
    weak = [hit["memory"]["id"] for hit in answer["weak"]]
    assert {*weak} <= {*ids}
    assert out.startswith("Nothing relevant is stored. Weak guesses:\n")
    assert [line.split()[0] for line in out.splitlines()[1:]] == weak
    assert (everything["verdict"], everything["weak"]) == ("nothing", [])
    assert [hit["memory"]["id"] for hit in everything["hits"]] == weak


def test_hits_are_at_least_as_probable_as_is_asked_for(
    run: Run, remember: Run, by_words: None
) -> None:
    remember("The cache is Redis.")
    remember("The queue is Kafka.")

    [hit] = run("recall", "which cache is it", "--all", "--json").json["hits"][:1]
    least = hit["probability"]

    def hits(probability: float) -> int:
        asked = ("recall", "which cache is it", "--min-probability", probability, "--json")
        return len(run(*asked).json["hits"])

    assert hits(least) >= 1
    assert hits(min(1.0, least + 0.001)) == 0
    assert "not between 0 and 1" in run("recall", "cache", "--min-probability", 2).err


def test_what_was_known_yesterday_is_recalled(run: Run, remember: Run, by_words: None) -> None:
    remember("The cache is Redis.", "--created-at", "2025-01-01")
    remember("The queue is Kafka.")

    hits = run("recall", "cache queue", "--as-of", "yesterday", "--all", "--json").json["hits"]

    assert [hit["memory"]["content"] for hit in hits] == ["The cache is Redis."]


def test_a_leg_and_decay_are_weighed_for_one_question(run: Run, remember: Run) -> None:
    remember("Backups run at two.")

    answer = run("recall", "backups", "--leg-weight", "graph=0", "--decay", "facts=1", "--trace")

    assert "\n  graph " not in answer.out
    assert "decay_days={'facts': 1.0}" in answer.out.replace("\n", " ")
    assert "locks out by age" in answer.err
    wrong = run("recall", "backups", "--leg-weight", "graph")
    assert "--leg-weight 'graph' sets nothing" in wrong.err
