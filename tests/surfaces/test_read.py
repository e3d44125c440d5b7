from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bearinmind.surfaces.cli import terminal

Run = Callable[..., Any]


@pytest.fixture
def three(remember: Run) -> list[str]:
    """Three memories, oldest first."""
    return [
        remember(
            f"Fact number {day}.", "--created-at", f"2026-01-0{day}", "--session", f"s{day % 2}"
        )
        for day in (1, 2, 3)
    ]


def test_a_list_begins_with_the_newest(run: Run, three: list[str]) -> None:
    answer = run("list", "--json").json

    assert [memory["id"] for memory in answer["memories"]] == three[::-1]
    assert answer["states"] == dict.fromkeys(three, "live")
    assert answer["next"] is None


def test_a_list_can_be_turned_round_and_continued(run: Run, three: list[str]) -> None:
    answer = run("list", "--oldest-first", "--limit", 2, "--json").json
    page = answer["memories"]

    for after in (page[-1]["id"], answer["next"]):
        rest = run("list", "--oldest-first", "--after", after, "--json").json["memories"]
        assert [memory["id"] for memory in page + rest] == three


def test_people_see_a_line_per_memory(run: Run, three: list[str]) -> None:
    run("delete", three[0])

    out = run("list", "--state", "live", "--state", "deleted").out

    assert [line.split()[0] for line in out.splitlines()[::2]] == three[::-1]
    assert "facts · 2026-01-01 · deleted" in out


def test_what_is_to_come_is_not_called_expired(run: Run, remember: Run) -> None:
    coming = remember("The gannet cluster moves to Bergen.", "--valid-from", "2999-01-01")
    gone = remember("The gannet cluster is in Oslo.", "--valid-to", "2020-01-01")

    for id_, state in ((coming, "not yet valid"), (gone, "expired")):
        assert f" {state}\n" in run("get", id_).out
        assert f" {state}\n" in run("list", "--state", "expired").out
    counts = run("stats", "--json").json
    assert (counts["live"], counts["expired"], counts["not_yet_valid"]) == (0, 1, 1)
    assert "not yet valid     1" in run("stats").out


def test_a_list_takes_the_filters_of_recall(run: Run, three: list[str]) -> None:
    for options, expected in (
        (["--since", "2026-01-02", "--until", "2026-01-03"], three[1:2]),
        (["--session", "s1", "--oldest-first"], [three[0], three[2]]),
        (["--category", "people"], []),
        (["--as-of", "2026-01-01T12:00:00Z"], three[:1]),
    ):
        listed = run("list", *options, "--json").json["memories"]
        assert [memory["id"] for memory in listed] == expected


def test_an_empty_list_says_so(run: Run, three: list[str]) -> None:
    assert run("list", "--tag", "none").out == "No memory matches.\n"


def test_a_memory_is_shown_whole(run: Run, remember: Run) -> None:
    other = remember("The other one.")
    id_ = remember("The one.", "--tag", "a", "--keyword", "solo", "--agent", "coder")
    run("link", id_, "see-also", other)
    run("update", id_, "The only one.")

    human = run("get", id_[:6], "--versions").out
    machine = run("get", id_[:6], "--json").json

    for part in (id_, "The only one.", "live", "solo", "coder", "v1", "The one.", "see-also → "):
        assert part in human
    assert machine["state"] == "live"
    assert machine["memory"]["version"] == 2
    assert [version["content"] for version in machine["earlier"]] == ["The one."]
    assert [link["target"] for link in machine["links"]] == [other]


def test_why_walks_back_to_the_origins(run: Run, remember: Run) -> None:
    cause = remember("The disk was full.", "--source", "syslog")
    origin = remember("Writes failed on Monday.")
    id_ = remember("Alert when the disk is 80 % full.")
    run("link", id_, "derives-from", origin)
    run("link", cause, "causes", origin)
    run("update", id_, "Alert when the disk is 85 % full.")

    human = run("why", id_).out
    machine = run("why", id_, "--json").json

    assert f"derives from {origin}" in human
    assert f"caused by {cause}" in human
    assert "source syslog" in human
    assert "80 % full" in human
    assert [(step["depth"], step["memory"]["id"]) for step in machine["steps"]] == [
        (1, origin),
        (2, cause),
    ]
    assert [version["version"] for version in machine["versions"]] == [1, 2]


def test_a_timeline_goes_both_ways_from_a_memory(run: Run, three: list[str]) -> None:
    answer = run("timeline", three[1], "--json").json

    assert answer["anchor"]["id"] == three[1]
    assert [memory["id"] for memory in answer["before"]] == [three[0]]
    assert [memory["id"] for memory in answer["after"]] == [three[2]]


def test_a_timeline_may_begin_at_a_moment(run: Run, three: list[str]) -> None:
    answer = run("timeline", "2026-01-02T12:00", "--before", 1, "--after", 0, "--json").json

    assert answer["anchor"] is None
    assert [memory["id"] for memory in answer["before"]] == [three[1]]
    assert answer["after"] == []
    human = run("timeline", "2026-01-02T12:00").out
    assert [line.split()[0] for line in human.splitlines()] == [
        "2026-01-01",
        "2026-01-02",
        "2026-01-02",
        "2026-01-03",
    ]


def test_a_timeline_without_a_place_ends_now(run: Run, three: list[str]) -> None:
    answer = run("timeline", "--json").json

    assert [memory["id"] for memory in answer["before"]] == three


@pytest.mark.parametrize("option", [["--session", "s1"], ["--same-session"]])
def test_a_timeline_can_keep_to_one_session(run: Run, three: list[str], option: list[str]) -> None:
    answer = run("timeline", three[0], *option, "--json").json

    assert [memory["id"] for memory in answer["after"]] == [three[2]]


def test_stats_count_every_state(run: Run, three: list[str], place: Path) -> None:
    run("delete", three[0])
    run("link", three[2], "supersedes", three[1])

    machine = run("stats", "--json").json
    human = run("stats").out

    assert machine["store"] == str(place)
    assert machine["bytes"] > 0
    assert (machine["live"], machine["superseded"], machine["deleted"]) == (1, 1, 1)
    assert (machine["earlier_versions"], machine["links"]) == (1, 1)
    assert machine["categories"] == {"facts": 1}
    assert "superseded        1" in human


@pytest.mark.parametrize(
    ("args", "empty"),
    [
        (["recall", "anything"], "hits"),
        (["list"], "memories"),
        (["stats"], "categories"),
        (["timeline"], "before"),
    ],
)
def test_reading_a_store_that_is_not_there_finds_nothing_and_makes_nothing(
    run: Run, place: Path, args: list[str], empty: str
) -> None:
    human, machine = run(*args), run(*args, "--json").json

    assert human.code == 0
    assert human.out.startswith("Nothing is stored yet.")
    assert not machine[empty]
    assert not place.exists()


@pytest.mark.parametrize(
    "args",
    [
        ["get", "k7f2"],
        ["why", "k7f2"],
        ["timeline", "k7f2"],
        ["recall", "x", "--why-not", "k7f2"],
        ["update", "k7f2", "new"],
        ["delete", "k7f2"],
        ["restore", "k7f2"],
        ["purge", "k7f2"],
        ["link", "k7f2", "see-also", "k7f3"],
        ["export"],
    ],
)
def test_asking_for_a_memory_of_a_store_that_is_not_there_makes_nothing(
    run: Run, place: Path, args: list[str]
) -> None:
    ran = run(*args)

    assert ran.code == 3
    assert not ran.out
    assert ran.err.startswith("error: ")
    assert not place.exists()


# ---- where there is no store, and where nobody looks -------------------------------------------

READERS = [["list"], ["recall", "x"], ["stats"], ["get", "x"], ["graph", "hubs"], ["work"]]


@pytest.mark.parametrize("args", READERS)
def test_a_store_in_a_folder_that_does_not_exist_is_an_error(
    run: Run, tmp_path: Path, args: list[str]
) -> None:
    folder = tmp_path / "no" / "such"
    ran = run(*args, store=folder / "memories.db")

    assert ran.code == 3
    assert not ran.out
    assert f"the folder of the store does not exist: {str(folder)!r}" in ran.err
    assert "hint: Check --store and BEARINMIND_STORE" in ran.err
    assert not folder.exists()


def test_the_doctor_says_that_the_folder_of_the_store_does_not_exist(
    run: Run, tmp_path: Path
) -> None:
    ran = run("doctor", store=tmp_path / "nowhere" / "memories.db")

    assert ran.code == 5
    assert "the folder of the store does not exist" in ran.out


def test_the_folder_of_the_default_store_need_not_exist_yet(run: Run) -> None:
    assert run("list", store=None).out.startswith("Nothing is stored yet.")
    assert run("store", "The first.", store=None).code == 0
    assert "The first." in run("list", store=None).out


def test_what_is_piped_is_neither_wrapped_nor_cut_off(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = " ".join(f"word{n}" for n in range(150))
    id_ = remember(content, "--tag", ",".join(f"a-rather-long-tag-{n}" for n in range(9)))
    monkeypatch.setenv("COLUMNS", "40")

    for args in (["list"], ["recall", "word7"], ["get", id_], ["timeline"]):
        assert content in run(*args).out


def test_a_terminal_gets_lines_that_fit(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(" ".join(f"word{n}" for n in range(150)))
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)

    for args in (["list"], ["recall", "word7"]):
        assert max(map(len, run(*args).out.splitlines())) <= 40


def test_a_list_by_importance_a_short_why_and_a_chain_that_is_deleted(
    run: Run, remember: Run
) -> None:
    first = remember("Backups run at two.", "--importance", "0.1")
    second = remember("Backups run at three.", "--supersedes", first)
    third = remember("Backups run at four.", "--supersedes", second)
    other = remember("The gateway answers E4017.", "--importance", "0.9")

    listed = run("list", "--by-importance", "--json").json

    assert [each["id"] for each in listed["memories"]] == [other, third]
    assert len(run("why", third, "--depth", "1", "--json").json["steps"]) == 1
    assert f"live again, which {third} superseded: {second}" in run("delete", third).err
    run("restore", third)
    assert f"deleted with {third}: {second}, {first}" in run("delete", third, "--with-earlier").err
