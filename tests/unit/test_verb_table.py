"""No verb is forgotten: each has its method, route, tool, command, client, line and errors."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import typer.main

from bearinmind import codec, errors
from bearinmind.errors import MindError
from bearinmind.surfaces.cli import app as command_line
from bearinmind.surfaces.failures import MEANINGS, meaning_of
from bearinmind.surfaces.http.routes import Parts
from bearinmind.surfaces.verbs.graph_verbs import GRAPH_VERBS
from bearinmind.surfaces.verbs.requests import Request
from bearinmind.surfaces.verbs.server_verbs import OWN_VERBS
from bearinmind.surfaces.verbs.table import ADMIN_VERBS, EVERY_VERB, VERBS
from bearinmind.surfaces.verbs.verb import Verb
from bearinmind.types import Access

ROOT = Path(__file__).parents[2]
COMMANDS: Any = typer.main.get_command(command_line)
#: What an agent has no use for, and why.
NO_TOOL = {
    "why_not": "a question about Bear in Mind, not about what it holds",
    "restore": "an agent that deletes can update instead; people undo",
    "unlink": "people undo",
    "learn": "a hook sends turns; an agent that knows what it learned stores it",
    "brief": "a resource: what an agent begins with it does not ask for",
    **dict.fromkeys(
        (verb.name for verb in VERBS if verb.name.startswith("curation.")),
        "the inbox is there for people to decide",
    ),
    **dict.fromkeys(
        (verb.name for verb in OWN_VERBS), "the page and the command line are for people"
    ),
    **dict.fromkeys(
        (verb.name for verb in GRAPH_VERBS),
        "a recall follows the graph by itself; people look around in it",
    ),
    **dict.fromkeys((verb.name for verb in ADMIN_VERBS), "an agent must not make keys"),
}
#: The tools of the specification, section 7, and those about what is true now.
SPECIFIED = {
    "memory_store",
    "memory_recall",
    "memory_list",
    "memory_get",
    "memory_update",
    "memory_delete",
    "memory_link",
    "memory_resolve",
    "memory_history",
    "memory_why",
    "memory_timeline",
    "memory_count",
    "secret_get",
    "memory_share",
    "memory_unshare",
    "memory_share_tag",
    "memory_unshare_tag",
    "memory_shared_with_me",
    "memory_my_shares",
}

every_verb = pytest.mark.parametrize("verb", EVERY_VERB, ids=lambda verb: verb.name)


@every_verb
def test_a_verb_reads_a_request_and_writes_an_answer(verb: Verb) -> None:
    assert issubclass(verb.request, Request)
    assert codec.schema(verb.answer)


@every_verb
def test_a_verb_has_a_route_of_its_own(verb: Verb) -> None:
    assert verb.path.startswith("/")
    assert [(v.method, v.path) for v in EVERY_VERB].count((verb.method, verb.path)) == 1
    assert {*Parts(verb).in_path, *verb.headers.values()} <= {*verb.request.model_fields}
    assert (verb.access is Access.READ) == (verb.method == "GET") or verb.name in {
        "recall",  # a question may be longer than an address
        "why_not",
    } | {each.name for each in ADMIN_VERBS}


@every_verb
def test_a_verb_is_a_tool_or_there_is_a_reason(verb: Verb) -> None:
    assert (verb.tool is None) == (verb.name in NO_TOOL)


def test_the_tools_are_those_of_the_specification() -> None:
    assert {verb.tool for verb in VERBS if verb.tool} == SPECIFIED


@every_verb
def test_a_tool_shows_fields_that_its_verb_takes(verb: Verb) -> None:
    if verb.tool_text is not None:
        assert {*verb.tool_text.fields} <= {*verb.request.model_fields}


@every_verb
def test_a_verb_is_a_command_that_exists(verb: Verb) -> None:
    words = [word for word in verb.command.split() if not word.startswith("-")]
    options = [word for word in verb.command.split() if word.startswith("-")]
    command = COMMANDS
    for word in words:
        command = command.commands[word]

    known = {option for parameter in command.params for option in parameter.opts}
    assert {*options} <= known


@every_verb
def test_a_verb_has_its_line_in_the_reference(verb: Verb) -> None:
    page = (ROOT / "docs/reference/verbs.md").read_text(encoding="utf-8")
    [line] = [line for line in page.splitlines() if line.startswith(f"| `{verb.name}` |")]

    assert f"`{verb.method} {verb.path}`" in line
    assert f"`bearinmind {verb.command}`" in line
    assert f"`{verb.tool}`" in line or verb.tool is None


def test_names_routes_and_tools_are_told_apart() -> None:
    names = [verb.name for verb in EVERY_VERB]
    assert len({*names}) == len(names)


def every_error() -> list[type[MindError]]:
    return [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, MindError)
    ]


@pytest.mark.parametrize("kind", every_error())
def test_every_error_means_something_on_every_surface(kind: type[MindError]) -> None:
    meaning = meaning_of(kind)

    assert meaning.exit_code in range(1, 8)
    assert 400 <= meaning.status <= 599
    assert meaning.rpc_code < -31_999
    if kind not in (MindError, errors.DownloadFailed):  # every other has a row of its own kind
        assert meaning.error is not MindError


def test_no_row_of_the_table_of_errors_is_hidden_by_one_before_it() -> None:
    for place, row in enumerate(MEANINGS):
        assert not [other for other in MEANINGS[:place] if issubclass(row.error, other.error)]
