"""The concept graph on the command line: what is read of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import typer.main

from bearinmind.surfaces.cli import app
from bearinmind.surfaces.cli.graph import COMMANDS

Run = Callable[..., Any]
Ids = dict[str, str]
GROUP: Any = typer.main.get_command(app)

pytestmark = pytest.mark.usefixtures("by_words")

MEMORIES = {
    "dana": ("Dana Okafor owns the orders service.", "people"),
    "cache": ("The orders cache is Valkey 7 on cache-02.internal.", "decisions"),
    "page": ("Yuki Tanaka reviews everything that touches payments.", "people"),
}
SECRET = "the wifi password of the Kingfisher room is kelp9salt"  # noqa: S105  made up


def line(memory: str, *triples: list[str], entities: tuple[str, ...] = ()) -> str:
    return json.dumps({"memory": memory, "triples": triples, "entities": entities})


@pytest.fixture
def ids(run: Run, remember: Callable[..., str]) -> Ids:
    """Three memories with what they mention and state."""
    stored = {
        name: remember(content, "--category", category)
        for name, (content, category) in MEMORIES.items()
    }
    lines = [
        line(stored["dana"], ["Dana Okafor", "owns", "orders"]),
        line(
            stored["cache"], ["Valkey", "runs on", "cache-02"], entities=("orders", "orders cache")
        ),
        line(stored["page"], entities=("Yuki Tanaka", "payments")),
    ]
    assert run("graph", "import", "-", stdin="\n".join(lines)).code == 0
    return stored


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_an_example(run: Run, name: str) -> None:
    command = GROUP.commands["graph"].commands[name]

    assert [param.name for param in command.params if not param.help] == []
    assert any("--json" in param.opts for param in command.params)
    assert f"Example: bearinmind graph {name}" in " ".join(command.help.split())
    assert "..." not in run("graph", "--help").out.partition("Commands:")[2]


def test_what_the_worker_read_leads_from_memory_to_memory(
    run: Run, remember: Callable[..., str]
) -> None:
    owner = remember("Dana Okafor owns the service Kestrel.")
    place = remember("Kestrel is deployed on kestrel-01.internal.")
    run("work")

    shown = run("graph", "path", "Dana Okafor", "kestrel-01.internal").out

    assert owner in shown
    assert place in shown


# ---- walks -------------------------------------------------------------------------------------


def test_neighbours_show_relations_and_what_is_mentioned_together(run: Run, ids: Ids) -> None:
    answer = run("graph", "neighbours", "ORDERS", "--json").json

    assert answer["concept"]["name"] == "orders"
    found = {each["concept"]["name"]: each for each in answer["found"]}
    assert answer["found"][0]["concept"]["label"] == "Dana Okafor"
    assert found["dana okafor"]["relations"][0]["type"] == "owns"
    assert found["valkey"]["memories"] == [ids["cache"]]
    shown = run("graph", "neighbours", "orders").out
    assert "← owns" in shown
    assert "Dana Okafor" in shown


def test_a_path_shows_every_step_and_the_memory_it_goes_by(run: Run, ids: Ids) -> None:
    answer = run("graph", "path", "Dana Okafor", "cache-02", "--json").json

    assert answer["found"]
    assert [step["target"] for step in answer["steps"]] == ["orders", "cache-02"]
    shown = run("graph", "path", "Dana Okafor", "cache-02").out
    assert "owns →" in shown
    assert ids["cache"] in shown


def test_that_there_is_no_path_is_an_answer(run: Run, ids: Ids) -> None:
    ran = run("graph", "path", "Dana Okafor", "payments")

    assert ran.code == 0
    assert "No way to payments within 4 steps." in ran.out
    assert run("graph", "path", "Dana Okafor", "payments", "--json").json["steps"] == []


def test_a_subgraph_names_its_concepts_and_what_joins_them(run: Run, ids: Ids) -> None:
    answer = run("graph", "subgraph", "Valkey", "--hops", "2", "--json").json

    names = [each["name"] for each in answer["concepts"]]
    assert names[0] == "valkey"
    assert "dana okafor" in names
    assert "yuki tanaka" not in names
    assert {relation["type"] for relation in answer["relations"]} == {"owns", "runs on"}
    assert "Valkey runs on cache-02" in run("graph", "subgraph", "Valkey").out


def test_hubs_are_the_concepts_that_most_memories_mention(run: Run, ids: Ids) -> None:
    answer = run("graph", "hubs", "--json").json

    assert (answer["concepts"][0]["name"], answer["concepts"][0]["memories"]) == ("orders", 2)
    shown = run("graph", "hubs", "--containing", "cache").out
    assert [row.split()[1] for row in shown.splitlines()] == ["cache-02", "orders"]
    assert len(run("graph", "hubs", "--limit", "1", "--json").json["concepts"]) == 1


def test_a_concept_is_shown_with_its_relations_and_memories(run: Run, ids: Ids) -> None:
    answer = run("graph", "show", "orders", "--json").json

    assert {memory["id"] for memory in answer["memories"]} == {ids["dana"], ids["cache"]}
    assert [relation["source"] for relation in answer["relations"]] == ["dana okafor"]
    shown = run("graph", "show", "orders").out
    assert "← owns Dana Okafor" in shown
    assert MEMORIES["cache"][0] in shown


def test_the_graph_is_counted(run: Run, ids: Ids) -> None:
    counts = run("graph", "stats", "--json").json

    assert counts["relations"] == 2
    assert counts["concepts"] == 7
    assert "relations" in run("graph", "stats").out


# ---- what is meant -----------------------------------------------------------------------------


def test_filters_leave_out_what_other_memories_say(run: Run, ids: Ids) -> None:
    people = run("graph", "neighbours", "orders", "--category", "people", "--json").json

    assert [each["concept"]["name"] for each in people["found"]] == ["dana okafor"]
    ran = run("graph", "neighbours", "Valkey", "--category", "people")
    assert ran.code == 3
    assert "no memory that is meant here mentions 'Valkey'" in ran.err


def test_asked_as_of_before_the_graph_has_nothing(run: Run, ids: Ids) -> None:
    assert run("graph", "hubs", "--as-of", "2020-01-01", "--json").json == {"concepts": []}
    assert run("graph", "show", "orders", "--as-of", "2020-01-01").code == 3


def test_users_do_not_see_each_others_concepts(run: Run, ids: Ids, place: Path) -> None:
    for command in (
        ["graph", "neighbours", "orders"],
        ["graph", "show", "orders"],
        ["graph", "path", "orders", "Valkey"],
        ["graph", "merge", "orders", "Valkey"],
    ):
        ran = run("--user", "mallory", *command)
        assert ran.code == 3
        assert "Valkey" not in ran.err.replace("'Valkey'", "")
    assert run("--user", "mallory", "graph", "hubs", "--json").json == {"concepts": []}
    assert run("--user", "mallory", "graph", "stats", "--json").json["concepts"] == 0
    exported = run("--user", "mallory", "graph", "export", "--format", "json").json
    assert exported["nodes"] == []


def test_an_unknown_concept_is_answered_with_what_may_be_meant(run: Run, ids: Ids) -> None:
    ran = run("graph", "show", "Dana Okafr")

    assert ran.code == 3
    assert "hint: Did you mean `Dana Okafor`?" in ran.err
    error = run("graph", "show", "Dana Okafr", "--json").error
    assert error["code"] == "concept_not_found"


def test_without_a_store_nothing_is_made(run: Run, place: Path) -> None:
    assert run("graph", "hubs", "--json").json == {"concepts": []}
    assert run("graph", "stats", "--json").json["concepts"] == 0
    assert run("graph", "contradictions", "--json").json == {"contradictions": []}
    assert run("graph", "merges", "--json").json == {"merges": []}
    for command in (["show", "x"], ["path", "x", "y"], ["export"], ["merge", "x", "y"]):
        assert run("graph", *command).code == 3
    assert not place.exists()


# ---- beside a memory ---------------------------------------------------------------------------


def test_get_and_why_show_what_a_memory_mentions_and_states(run: Run, ids: Ids) -> None:
    for command in ("get", "why"):
        answer = run(command, ids["dana"], "--json").json
        assert {each["name"] for each in answer["concepts"]} == {"dana okafor", "orders"}
        assert [each["type"] for each in answer["relations"]] == ["owns"]
        shown = run(command, ids["dana"]).out
        assert "concepts" in shown
        assert "Dana Okafor owns orders" in shown
    assert run("get", ids["page"], "--json").json["relations"] == []


def test_nothing_sensitive_is_in_the_graph(
    run: Run, remember: Callable[..., str], ids: Ids
) -> None:
    secret = remember(SECRET)
    refused = run("graph", "import", "-", stdin=line(secret, entities=("Kingfisher",)))
    assert refused.code == 2
    assert "sensitive" in refused.err
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    quoted = run("graph", "import", "-", stdin=line(ids["page"], ["ci", "uses", token]))
    assert quoted.code == 2
    assert token not in quoted.err

    for command in (["hubs"], ["export"], ["export", "--format", "json"], ["stats"]):
        out = run("graph", *command).out
        for word in ("Kingfisher", "kelp9salt", token):
            assert word.lower() not in out.lower()
    assert run("get", secret, "--json").json["concepts"] == []


# ---- export ------------------------------------------------------------------------------------


def test_the_export_is_read_by_networkx_in_both_formats(run: Run, ids: Ids, tmp_path: Path) -> None:
    assert run("graph", "export", "--output", "graph.graphml").code == 0
    assert run("graph", "export", "--format", "json", "--output", "graph.json").code == 0

    written = json.loads((tmp_path / "graph.json").read_text(encoding="utf-8"))
    for graph in (
        nx.read_graphml(tmp_path / "graph.graphml"),
        nx.node_link_graph(written, edges="edges"),
    ):
        assert nx.has_path(graph.to_undirected(), "concept:dana okafor", "concept:cache-02")
        memory = graph.nodes[f"memory:{ids['page']}"]
        assert memory["label"] == MEMORIES["page"][0]
        assert graph.nodes["concept:orders"]["memories"] == 2
        types = {facts["type"] for _, _, facts in graph.edges(data=True)}
        assert types == {"mentions", "owns", "runs on"}


def test_an_export_may_hold_concepts_and_relations_alone(run: Run, ids: Ids) -> None:
    answer = run("graph", "export", "--format", "json", "--no-memories").json

    assert {node["type"] for node in answer["nodes"]} == {"concept"}
    assert len(answer["edges"]) == 2


def test_an_export_goes_by_the_filters(run: Run, ids: Ids) -> None:
    people = run("graph", "export", "--format", "json", "--category", "people").json

    assert "concept:valkey" not in {node["id"] for node in people["nodes"]}
