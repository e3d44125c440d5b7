"""Earlier states, outdated memories and what may be replaced, as each reader is shown them."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bearinmind import codec
from bearinmind.surfaces import for_agents
from bearinmind.surfaces.cli import terminal
from bearinmind.surfaces.cli.change import offers
from bearinmind.surfaces.cli.recall import hits_table
from bearinmind.surfaces.hooks.standalone import memory_text, prompt
from bearinmind.surfaces.hooks.standalone.memory_text import BEGIN
from bearinmind.surfaces.hooks.standalone.settings import HookSettings
from bearinmind.surfaces.hooks.standalone.turns import stored_id
from bearinmind.surfaces.mcp import texts
from bearinmind.surfaces.verbs.verb import RecallAnswer, as_data, memories_of
from bearinmind.types import (
    Decider,
    EarlierState,
    Hit,
    MayReplace,
    Memory,
    MemoryId,
    Outcome,
    Outdated,
    Provenance,
    Stored,
    Trust,
    UserId,
    Verdict,
)

JUNE = datetime(2025, 6, 3, tzinfo=UTC)
ADA = UserId("ada")


def memory(id_: str, content: str, trust: Trust = Trust.AGENT, **fields: Any) -> Memory:
    values: dict[str, Any] = {
        "id": MemoryId(id_),
        "owner": ADA,
        "content": content,
        "category": "facts",
        "tags": (),
        "keywords": (),
        "importance": 0.5,
        "sensitive": False,
        "created_at": JUNE,
        "updated_at": JUNE,
        "deleted_at": None,
        "valid_from": None,
        "valid_to": None,
        "provenance": Provenance(trust=trust),
        "version": 1,
    }
    return Memory(**(values | fields))


NEW = memory("new000000000", "Actions runs our builds.")
OLD = memory("old000000000", "Jenkins runs our builds.", created_at=JUNE.replace(year=2024))
OUTDATED = Outdated(by=NEW.id, until=JUNE, probability=0.9, decided_by=Decider.SCORER)


def hit(of: Memory, **fields: Any) -> Hit:
    plain: dict[str, Any] = {"rank": 1, "score": 1.0, "placings": {}, "factors": {}}
    return Hit(memory=of, **(plain | {"probability": 1.0} | fields))


GROUPED = hit(NEW, earlier=(EarlierState(memory=OLD, outdated=OUTDATED),))
ALONE = hit(OLD, outdated=OUTDATED)


def answer(*hits: Hit) -> RecallAnswer:
    memories = (each for one in hits for each in memories_of(one))
    return RecallAnswer(
        query="x",
        verdict=Verdict.FOUND,
        hits=hits,
        degraded=(),
        as_data=as_data(ADA, memories),
    )


def printed(*shown: Any) -> str:
    with redirect_stdout(io.StringIO()) as out:
        terminal.show(shown)
    return out.getvalue()


def test_people_see_the_present_state_first_and_the_earlier_ones_under_it() -> None:
    first, _, earlier = printed(hits_table([GROUPED], {})).splitlines()
    assert first == "1  Actions runs our builds."
    assert earlier == f"   until 3 June 2025: Jenkins runs our builds.  {OLD.id}"
    assert f"outdated since 3 June 2025 by {NEW.id}" in printed(hits_table([ALONE], {}))


def test_what_outdates_a_memory_is_not_said_to_resolve_it() -> None:
    fix = memory("fix000000000", "Jenkins got more memory.")
    beside = replace(ALONE, attached=(fix, NEW))
    shown, told = printed(hits_table([beside], {})), for_agents.rendered([beside], ADA)
    assert f"resolved by {fix.id}" in shown
    assert f"outdated by {NEW.id}" in shown
    assert f"resolved by [{fix.id}]" in told
    assert f"outdated by [{NEW.id}]" in told


def test_an_agent_reads_the_same() -> None:
    assert for_agents.rendered([GROUPED], ADA).splitlines()[1:] == [
        "Actions runs our builds.",
        f"until 3 June 2025 [{OLD.id}]: Jenkins runs our builds.",
    ]
    assert for_agents.rendered([ALONE], ADA).splitlines()[0] == (
        f"[{OLD.id}] 2024-06-03 facts, 100 % likely, "
        f"outdated since 3 June 2025, replaced by {NEW.id}"
    )
    data = texts.structured(answer(GROUPED), RecallAnswer)
    [state] = data["hits"][0]["earlier"]
    assert state["memory"]["content"] == OLD.content
    assert state["outdated"]["by"] == NEW.id
    assert "earlier" not in texts.structured(answer(hit(NEW)), RecallAnswer)["hits"][0]


def test_an_earlier_state_that_others_wrote_is_fenced_in() -> None:
    foreign = replace(OLD, provenance=Provenance(trust=Trust.EXTERNAL))
    grouped = replace(GROUPED, earlier=(EarlierState(memory=foreign, outdated=OUTDATED),))
    for text in (
        texts.of_answer(answer(grouped)),
        texts.structured(answer(grouped), RecallAnswer)["hits"][0]["earlier"][0]["memory"][
            "content"
        ],
    ):
        assert "| Jenkins runs our builds.\n<<<END OF DATA>>>" in text
    assert for_agents.PREAMBLE in texts.of_answer(answer(grouped))


OFFER = MayReplace(memory=OLD, newer=NEW.id, probability=0.8, because="another tool")
STORED = Stored(memory=NEW, may_replace=(OFFER,))


def test_whoever_stores_is_told_what_it_may_replace_and_how_to_say_so() -> None:
    shown = printed(*offers(STORED))
    assert f"May replace, stored 3 June 2024: Jenkins runs our builds.  {OLD.id}" in shown
    assert f"`bearinmind resolve {NEW.id} newer`" in shown
    told = texts.of_answer(STORED)
    assert f"May replace, stored 3 June 2024 [{OLD.id}]: Jenkins runs our builds." in told
    assert f"memory_resolve id={NEW.id}" in told
    data = texts.structured(STORED, Outcome)
    assert "content" not in data["memory"]
    [offer] = data["may_replace"]
    assert offer["memory"] == {
        "id": OLD.id,
        "content": OLD.content,
        "created_at": "2024-06-03T00:00:00Z",
    }


def test_of_several_that_may_be_replaced_each_is_settled_by_itself() -> None:
    dog = memory("dog000000000", "The dog is called Jenkins.")
    both = Stored(memory=NEW, may_replace=(OFFER, replace(OFFER, memory=dog)))
    assert f"`bearinmind resolve {NEW.id} newer --other {OLD.id}` settles the first" in " ".join(
        printed(*offers(both)).split()
    )
    told = texts.of_answer(both)
    for each in (OLD, dog):
        assert f"memory_resolve id={NEW.id} other={each.id} resolution=" in told


def test_what_was_found_about_another_memory_of_the_session_names_that_one() -> None:
    bananas = Stored(memory=memory("banana000000", "Bananas are yellow."), may_replace=(OFFER,))
    shown, told = printed(*offers(bananas)), texts.of_answer(bananas)
    assert f"{NEW.id} may replace, stored 3 June 2024: Jenkins" in shown
    assert f"`bearinmind resolve {NEW.id} newer`" in shown
    assert f"[{NEW.id}] may replace, stored 3 June 2024 [{OLD.id}]: Jenkins" in told
    assert f"memory_resolve id={NEW.id} other={OLD.id}" in told
    assert "id=banana000000" not in told


def test_nothing_is_told_where_nothing_may_be_replaced() -> None:
    plain = Stored(memory=NEW)
    assert printed(*offers(plain)) == ""
    assert texts.of_answer(plain) == f"Stored: {NEW.id}"
    assert "may_replace" not in texts.structured(plain, Outcome)


def test_what_may_be_replaced_is_fenced_in_when_it_is_data() -> None:
    foreign = replace(OLD, provenance=Provenance(trust=Trust.EXTERNAL))
    stored = Stored(memory=NEW, may_replace=(replace(OFFER, memory=foreign),))
    data = texts.structured(stored, Outcome)
    assert data["may_replace"][0]["memory"]["content"].startswith(BEGIN)
    assert data["notice"] == texts.NOTICE
    assert f"[{OLD.id}]:\n{BEGIN}" in texts.of_answer(stored)


def test_a_hook_knows_what_an_agent_stored_whatever_it_may_replace() -> None:
    assert stored_id(texts.of_answer(STORED)) == NEW.id
    assert stored_id(texts.of_answer(Stored(memory=replace(NEW, sensitive=True)))) == NEW.id
    assert stored_id(json.dumps(texts.structured(STORED, Outcome))) == NEW.id
    assert stored_id(f"Already known: {NEW.id}") == stored_id("[1]") == ""


# ---- the hook before a prompt ------------------------------------------------------------------


def recalled(*hits: Hit) -> dict[str, Any]:
    """An answer as the hook reads it."""
    data: dict[str, Any] = codec.to_data(answer(*hits))
    return data


def given(*hits: Hit, **limits: Any) -> list[dict[str, Any]]:
    every: dict[str, Any] = {"event": "x", "intro": "x", "most": 5, "limit": 8_000}
    return memory_text.fitting(prompt.given(recalled(*hits), 0.5), **(every | limits))


def test_a_hook_gives_the_earlier_states_under_the_present_one() -> None:
    out = memory_text.output("x", given(GROUPED), "intro")
    text = out["hookSpecificOutput"]["additionalContext"]
    assert "| Actions runs our builds.\n| until 2025-06-03: Jenkins runs our builds.\n" in text


def test_a_hook_gives_an_outdated_memory_only_after_what_outdates_it() -> None:
    assert given(ALONE) == []
    weak = hit(NEW, probability=0.1)
    assert [each["id"] for each in given(ALONE, weak)] == [NEW.id, OLD.id]
    assert [each["id"] for each in given(ALONE, weak, most=1)] == [NEW.id]
    long = hit(replace(NEW, content="long " * 200), probability=0.1)
    assert given(ALONE, long, limit=500) == []
    assert [each["id"] for each in given(ALONE, long, limit=500, known={NEW.id})] == [OLD.id]


@pytest.mark.parametrize(("give", "ids"), [("found", [NEW.id]), ("perhaps", [NEW.id, "more"])])
def test_a_hook_gives_what_is_found_or_also_what_is_perhaps(
    tmp_path: Path, give: str, ids: list[str]
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"give": give}))
    least = HookSettings(str(tmp_path / "config.json")).least_probability
    hits = recalled(hit(NEW), hit(memory("more", "Builds are cached."), probability=0.2))
    assert [each["id"] for each in prompt.given(hits, least)] == ids


@pytest.mark.parametrize("sensitive", [True, False])
def test_a_hook_gives_no_state_that_is_sealed(sensitive: bool) -> None:
    state = EarlierState(memory=replace(OLD, sensitive=sensitive), outdated=OUTDATED)
    out = memory_text.output("x", given(hit(NEW, earlier=(state,))), "intro")
    text = out["hookSpecificOutput"]["additionalContext"]
    assert ("Jenkins" in text) != sensitive
