"""What people and programs see of a recall with two legs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from bearinmind.surfaces.cli import terminal

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def _hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An embedder that needs no model, and no third leg."""
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "hash")
    monkeypatch.setenv("BEARINMIND_LEG_WEIGHTS", "{graph = 0}")


@pytest.fixture
def harbour(run: Run, remember: Run) -> list[str]:
    """A dozen embedded memories of a harbour."""
    made = [remember(f"Boat {n} lies in the {'old ' * (n % 3)}harbour.") for n in range(12)]
    assert run("work").code == 0
    return made


def test_a_hit_says_how_probable_it_is(run: Run, harbour: list[str]) -> None:
    out = run("recall", "old harbour", "--limit", 1).out
    [hit] = run("recall", "old harbour", "--limit", 1, "--json").json["hits"]

    assert f" · {100 * hit['probability']:.0f} %" in out
    assert harbour


@pytest.mark.parametrize("focus", [(), ("--focus", "facts")])
def test_the_trace_of_two_legs_fits_a_hundred_columns(
    run: Run, harbour: list[str], monkeypatch: pytest.MonkeyPatch, focus: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)
    out = run("recall", "old harbour", "--limit", 3, "--trace", *focus).out

    assert max(map(len, out.splitlines())) <= 100
    table = out[out.index("Candidates") : out.index("Left out")].splitlines()
    assert table[2].split() == ["lexical", "dense"]
    assert table[3].count("rank score sure evid") == 2
    first = next(line for line in table if any(id_ in line for id_ in harbour))
    assert first.count("%") == 2
    for told in ("model hash", "searched 12", "embedding ", "deviation "):
        assert told in " ".join(out.split())


def test_json_has_the_evidence_of_each_leg_and_what_it_is_made_from(
    run: Run, harbour: list[str]
) -> None:
    traced = run("recall", "old harbour", "--trace", "--json").json["trace"]

    best = traced["judged"][0]
    assert best["id"] in harbour
    evidence = [best["placings"][leg]["evidence"] for leg in ("lexical", "dense")]
    assert best["fused"] == pytest.approx(sum(evidence))
    dense = traced["legs"][1]
    assert {"model", "space", "searched", "mean", "deviation", "embedding_ms"} <= {*dense["detail"]}
    assert (dense["error"], dense["partial"]) == (None, None)


def test_what_is_not_embedded_yet_is_said_and_is_no_failure(
    run: Run, remember: Run, harbour: list[str]
) -> None:
    remember("A late boat.")
    ran = run("recall", "harbour", "--trace")

    assert ran.code == 0
    assert ran.err == "note: 1 memory is not embedded yet; words find everything already\n"
    assert "1 memory is not embedded yet" in ran.out
    answer = run("recall", "harbour", "--json").json
    assert answer["degraded"] == ["1 memory is not embedded yet"]
    assert harbour


def test_before_anything_is_embedded_the_dense_leg_is_off_and_nothing_is_degraded(
    run: Run, remember: Run
) -> None:
    remember("A late boat.")
    ran = run("recall", "boat", "--trace")

    assert not ran.err
    assert "off nothing is embedded yet" in ran.out
    assert "sure evid" in ran.out
    assert run("recall", "boat", "--json").json["degraded"] == []


def test_why_not_shows_both_legs(run: Run, harbour: list[str]) -> None:
    given = run("recall", "old harbour", "--all", "--json").json["hits"]
    last = given[-1]["memory"]["id"]
    asked = ("recall", "old harbour", "--all", "--limit", 1, "--why-not", last)
    ran, answer = run(*asked), run(*asked, "--json").json

    assert last in harbour
    assert f"a limit of {len(given)}" in ran.out
    assert len(re.findall(r"sure \d+ %", ran.out)) == 2
    assert "deviations above the mean" in ran.out or "not above the mean" in ran.out
    for position in answer["positions"]:
        assert position["evidence"] == given[-1]["placings"][position["leg"]]["evidence"]


@pytest.mark.parametrize(
    ("asked", "old", "new", "told"),
    [
        (
            "where does the walrus live?",
            "The walrus lives in Oslo.",
            "The walrus lives in Bergen by the grey water.",
            "it may outdate another memory, and was put before it",
        ),
        (
            "where was the walrus before?",
            "The walrus lives in Oslo by the grey water.",
            "The walrus lives in Bergen.",
            "the past was asked for: it was put before another state of the same thing",
        ),
    ],
)
def test_the_trace_says_why_one_state_comes_before_another(
    run: Run, remember: Run, asked: str, old: str, new: str, told: str
) -> None:
    older, newer = remember(old), remember(new)
    run("resolve", newer, "newer", "--other", older)
    out = run("recall", asked, "--trace").out

    states = out[out.index("Lifted") :]
    assert told in states
    assert (newer if "does" in asked else older) in states


def test_the_doctor_warns_of_settings_that_lock_memories_out(
    run: Run, harbour: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no setting locks a leg or a memory out" in run("doctor").out

    monkeypatch.setenv("BEARINMIND_FUSION", "rrf")
    monkeypatch.setenv("BEARINMIND_LEG_WEIGHTS", "{dense = 0.35}")
    monkeypatch.setenv("BEARINMIND_DECAY_DAYS", "{facts = 7}")
    ran = run("doctor", "--json")

    assert ran.code == 5
    assert harbour
    told = "\n".join(
        check["detail"] for check in json.loads(ran.out)["checks"] if check["name"] == "ranking"
    )
    assert "the dense leg is locked out" in told
    assert "decay_days.facts = 7 locks out by age: after " in told
