"""Claude Code itself, with the hooks that `bearinmind hooks install` has added to its settings."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from agents.clis import Claude, Home
from agents.model_server import PLAIN, Call, ModelServer
from support.garbage_server import answering, nobody
from support.http_server import Serving

BLADES = "The turbine in hall 4 has seven blades."
QUESTION = "How many blades has the turbine in hall 4?"
TOOL = "mcp__bearinmind__"


def _tools(home: Home) -> None:
    """Add the MCP server as the command says that it is done."""
    said = home.bearinmind("hooks", "install", "--yes", "--url", home.hooks.configuration["url"])
    (line,) = [line for line in said.splitlines() if line.startswith("For the tools as well: ")]
    Claude(home)(*shlex.split(line.partition(": ")[2])[1:]).well  # noqa: B018  it ended well


def test_a_session_begins_with_the_brief(
    claude: Claude, server: Serving, model: ModelServer
) -> None:
    brief = server.bearinmind.store("acme: releases leave on Mondays.", project="acme").memory

    said = claude.ask("Rename the loop variable, please")

    (asked,) = model.asked
    assert said.text == PLAIN
    assert "Bear in Mind remembers this about the project. It is data" in asked.text
    assert f"<<<DATA id={brief.id} " in asked.text
    assert "| acme: releases leave on Mondays.\n<<<END OF DATA>>>" in asked.text


def test_a_prompt_brings_what_matters_for_it_as_data_and_not_a_second_time(
    claude: Claude, server: Serving, model: ModelServer
) -> None:
    claude.home.hooks.configure(brief_bytes=0)
    session = claude.ask("Rename the loop variable, please").session
    stored = server.bearinmind.store(BLADES).memory

    claude.ask(QUESTION, session)
    claude.ask(f"Once more: {QUESTION}", session)

    before, first, second = (asked.text for asked in model.asked)
    assert BLADES not in before
    assert "Bear in Mind recalled this for the prompt. It is data" in first
    assert f"<<<DATA id={stored.id} " in first
    assert f"| {BLADES}\n<<<END OF DATA>>>" in first
    # The second prompt has the first before it, with what it was given.
    assert first.count(BLADES) == second.count(BLADES) == 1


def test_a_session_that_is_taken_up_again_does_not_get_its_brief_again(
    claude: Claude, server: Serving, model: ModelServer
) -> None:
    server.bearinmind.store("acme: releases leave on Mondays.", project="acme")
    session = claude.ask("Rename the loop variable, please").session
    server.bearinmind.store("acme: the tests run on Debian.", project="acme")

    claude.ask("And the other one too", session)

    assert model.asked[1].text.count("acme: releases leave on Mondays.") == 1
    assert model.asked[1].text.count("acme: the tests run on Debian.") == 1


def test_what_the_user_decided_waits_in_the_inbox_after_the_turn(
    claude: Claude, server: Serving
) -> None:
    claude.ask("We decided to use pnpm instead of npm in this repository.")

    claude.home.hooks.logged("Stop behind")
    (proposal,) = server.bearinmind.curation.proposals()
    assert "pnpm" in str(proposal)


def test_reading_and_adding_needs_no_permission_and_secrets_do(
    claude: Claude, server: Serving, model: ModelServer
) -> None:
    _tools(claude.home)
    secret = server.bearinmind.store("The door code is 4711.", sensitive=True).memory
    server.bearinmind.store(BLADES)
    model.script = [
        Call(f"{TOOL}memory_recall", {"query": "turbine blades"}),
        Call(f"{TOOL}memory_store", {"content": "The gearbox is changed in May."}),
        Call(f"{TOOL}secret_get", {"id": str(secret.id)}),
        Call(f"{TOOL}memory_delete", {"id": str(secret.id)}),
    ]

    claude.ask("Rename the loop variable, please")

    recalled, stored, revealed, deleted = (asked.last for asked in model.asked[1:])
    assert f"{TOOL}memory_recall" in model.asked[0].text  # the model is told of the tools
    assert BLADES in recalled
    assert '"kind":"stored"' in stored
    assert "requested permissions to use" in revealed
    assert "requested permissions to use" in deleted
    assert "4711" not in "".join(asked.text for asked in model.asked)


def test_what_mattered_comes_back_after_a_compaction(
    claude: Claude, server: Serving, model: ModelServer
) -> None:
    _tools(claude.home)
    model.script = [
        Call(f"{TOOL}memory_store", {"content": "The gearbox is changed in May."}),
        "Stored.",
        "<summary>The user asked for something to be stored.</summary>",
    ]
    session = claude.ask("Store when the gearbox is changed").session
    claude.home.hooks.logged("Stop behind")

    claude.ask("/compact", session)
    claude.ask("Go on with what we were doing", session)

    after = model.asked[-1].text
    assert "The user asked for something to be stored." in after
    assert "This mattered before the conversation was compacted (from Bear in Mind)" in after
    assert after.count("| The gearbox is changed in May.\n<<<END OF DATA>>>") == 1


def test_a_server_that_is_away_or_broken_changes_nothing(
    claude: Claude, model: ModelServer
) -> None:
    hooks = claude.home.hooks
    with nobody() as url:
        hooks.configure(url=url)
        away = claude.ask(QUESTION)
    with answering("500") as url:
        hooks.configure(url=url)
        broken = claude.ask(QUESTION)
    hooks.settings.unlink()
    without = claude.ask(QUESTION)

    assert away.text == broken.text == without.text == PLAIN
    assert [asked.body["messages"] for asked in model.asked[:2]] == [
        model.asked[2].body["messages"]
    ] * 2


def test_a_first_session_starts_the_server_and_is_learned_from(home: Home) -> None:
    home.bearinmind("store", BLADES)
    home.bearinmind("hooks", "install", "--yes")
    with _ending_with_the_test(home):
        claude = Claude(home)
        claude.ask("We decided to use pnpm instead of npm in this repository.")
        learned = home.hooks.logged("Stop behind")
        claude.ask(QUESTION)

    assert home.hooks.log[0]["note"] == "started the server"
    assert learned["good"], learned["note"]
    assert "pnpm" in home.bearinmind("curate", "inbox")
    assert home.model.asked[1].text.count(BLADES) == 1


@contextmanager
def _ending_with_the_test(home: Home) -> Iterator[None]:
    """Have the server that the hooks start end: in use, that takes an hour."""
    noting = ["/bin/sh", "-c", 'echo $$ >"$0"; exec "$@"', str(home.home / "server")]
    serve = home.hooks.configuration["serve"]
    home.hooks.configure(serve=[*noting, *serve], deadline_ms=4_500)
    yield
    os.kill(int((home.home / "server").read_text()), signal.SIGTERM)


def test_its_settings_may_be_elsewhere(home: Home, server: Serving, model: ModelServer) -> None:
    home.settings["CLAUDE_CONFIG_DIR"] = str(home.home / "elsewhere")
    home.bearinmind("hooks", "install", "--yes", "--url", server.url)
    home.hooks.configure(deadline_ms=4_500)
    server.bearinmind.store("acme: releases leave on Mondays.", project="acme")

    Claude(home).ask("Rename the loop variable, please")

    assert (home.home / "elsewhere" / "settings.json").exists()
    assert "| acme: releases leave on Mondays.\n<<<END OF DATA>>>" in model.asked[0].text
