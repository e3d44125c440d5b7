"""The commands of curation, on the real command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("by_words")

Run = Callable[..., Any]
Remember = Callable[..., str]

LONG = "The staging database listens on port 5433. It is small."
SHORT = "Staging DB listens on port 5433"


@pytest.fixture
def pair(remember: Remember) -> tuple[str, str]:
    return remember(LONG), remember(SHORT)


@pytest.fixture
def proposed(run: Run, pair: tuple[str, str]) -> str:
    """The id of a proposal to supersede."""
    [found] = run("curate", "--propose", "--json").json["proposals"]
    assert found["kind"] == "supersede"
    return str(found["id"])


def _inbox(run: Run, *options: str) -> list[Any]:
    found: list[Any] = run("curate", "inbox", *options, "--json").json["proposals"]
    return found


def _live(run: Run) -> set[str]:
    return {each["id"] for each in run("list", "--json").json["memories"]}


def test_curate_is_dry_unless_it_is_told_to_propose(run: Run, pair: tuple[str, str]) -> None:
    look = run("curate", "--json").json
    assert (look["memories"], look["by_meaning"], look["proposed"]) == (2, False, False)
    [found] = look["proposals"]
    assert tuple(found["memories"]) == pair
    assert found["contents"] == {pair[0]: LONG, pair[1]: SHORT}
    assert _inbox(run) == []
    shown = run("curate").out
    assert "nothing was changed" in shown
    assert LONG in shown
    assert "1 proposal went into the inbox" in run("curate", "--propose").out
    assert [each["id"] for each in _inbox(run)] == [found["id"]]
    assert _live(run) == {*pair}


def test_a_proposal_is_shown_applied_and_undone(
    run: Run, pair: tuple[str, str], proposed: str
) -> None:
    shown = run("curate", "show", proposed[:5]).out
    assert all(text in shown for text in (*pair, LONG, SHORT, "shared_words"))
    assert run("curate", "apply", proposed[:5]).out.startswith(f"Applied {proposed}")
    assert _live(run) == {pair[0]}
    assert run("curate", "inbox").out == "No proposals.\n"
    [logged] = run("curate", "log", "--json").json["proposals"]
    assert (logged["state"], logged["id"]) == ("applied", proposed)
    undone = run("curate", "undo", proposed, "--json").json
    assert [each["state"] for each in undone["decided"]] == ["undone"]
    assert _live(run) == {*pair}
    assert "undone" in run("curate", "log").out


def test_all_of_a_kind_are_decided_at_once_and_reviews_are_not(
    run: Run, remember: Remember, pair: tuple[str, str]
) -> None:
    remember("Use the fallback until 2020-01-01.")
    remember("The staging database listens on port 5432.")
    run("curate", "--propose")
    kinds = sorted(each["kind"] for each in _inbox(run))
    assert kinds == ["expire", "outdate", "supersede"]
    assert run("curate", "apply", "--all-of", "review").code == 2
    assert run("curate", "apply", "--all-of", "outdate").code == 2
    assert run("curate", "apply", "--all-of", "supersede").code == 0
    assert run("curate", "dismiss", "--all-of", "expire").code == 0
    assert [each["kind"] for each in _inbox(run)] == ["outdate"]
    states = {each["kind"]: each["state"] for each in _inbox(run, "--all")}
    assert states == {"outdate": "open", "supersede": "applied", "expire": "dismissed"}
    assert run("curate", "apply", "--all-of", "outdate", "--as", "newer").code == 0
    assert _inbox(run) == []


def test_which_of_two_memories_holds_is_decided_in_a_word_and_undone(
    run: Run, remember: Remember
) -> None:
    older = remember("The staging database listens on port 5432.", "--created-at", "2025-01-01")
    newer = remember("The staging database listens on port 5433.", "--created-at", "2025-02-01")
    [found] = run("curate", "--propose", "--json").json["proposals"]
    id_ = found["id"]
    assert found["memories"] == [newer, older]
    shown = run("curate", "show", id_).out
    for word in ("newer", "older", "both", "merge"):
        assert f"bearinmind curate apply {id_} --as {word}: " in shown
    assert run("curate", "apply", id_, "--as", "sideways").code == 2
    decided = run("curate", "apply", id_, "--as", "older").out
    assert decided.startswith(f"Applied {id_}  outdate, older: ")
    [link] = run("get", newer, "--json").json["links"]
    assert (link["source"], link["kind"], link["target"]) == (older, "outdates", newer)
    assert run("curate", "undo", id_).code == 0
    assert run("get", newer, "--json").json["links"] == []


def test_the_end_of_an_outdated_memory_is_proposed_from_what_outdates_it(
    run: Run, remember: Remember
) -> None:
    older = remember("The staging database listens on port 5432.", "--created-at", "2025-01-01")
    remember("The staging database listens on port 5433.", "--created-at", "2025-02-01")
    [found] = run("curate", "--propose", "--json").json["proposals"]
    assert run("curate", "apply", found["id"]).code == 0
    command = f"update {older} --valid-to 2025-02-01"
    assert f"bearinmind {command}: " in run("curate", "show", found["id"]).out
    assert run(*command.split()).code == 0
    assert older not in _live(run)


def test_what_cannot_be_done_is_explained_and_the_rest_is_done(
    run: Run, pair: tuple[str, str], proposed: str
) -> None:
    assert run("update", pair[0], "The staging database listens on port 1.").code == 0
    refused = run("curate", "apply", proposed, "--json")
    assert (refused.code, refused.error["code"]) == (4, "would_lose_fact")
    assert refused.error["hint"]
    both = run("curate", "dismiss", proposed, "zzzz")
    assert both.code == 3
    assert f"Dismissed {proposed}" in both.out
    assert "Not done zzzz" in both.out


@pytest.mark.parametrize(
    ("args", "status", "code"),
    [
        (("apply",), 2, "invalid_input"),
        (("apply", "zzzz"), 3, "proposal_not_found"),
        (("show", "not an id!"), 2, "invalid_id"),
        (("undo", "ID"), 4, "cannot_undo"),
        (("apply", "ID", "--all-of", "supersede"), 2, "invalid_input"),
    ],
)
def test_a_wrong_request_gets_a_clear_answer(
    run: Run, proposed: str, args: tuple[str, ...], status: int, code: str
) -> None:
    ran = run("curate", *(proposed if each == "ID" else each for each in args), "--json")
    assert (ran.code, ran.error["code"]) == (status, code)


def test_a_report_counts_what_is_untidy(run: Run, remember: Remember) -> None:
    remember("part 1 of 3 of the minutes", "--tag", "x")
    answer = run("curate", "report", "--json").json
    counts = {each["name"]: each["count"] for each in answer["found"]}
    assert counts["fragments"] == 1
    assert sum(counts.values()) == 1
    shown = run("curate", "report").out
    assert "1 live memory" in shown
    assert "1  fragments" in shown


def test_without_a_store_there_is_nothing_to_curate(run: Run) -> None:
    assert run("curate", "--json").json == {"memories": 0, "proposals": []}
    assert run("curate", "inbox", "--json").json == {"proposals": []}
    assert run("curate", "report", "--json").json["found"] == []
    assert run("curate", "show", "zzzz", "--json").error["code"] == "proposal_not_found"


def test_every_command_of_curation_explains_itself(run: Run) -> None:
    for name in ("inbox", "log", "show", "apply", "dismiss", "undo", "report"):
        ran = run("curate", name, "--help")
        assert ran.code == 0
        assert "--json" in ran.out
