"""The formats of a graph, read back by a library that was written by others."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

import networkx as nx
import pytest

from bearinmind.graph.export import Arc, Node, graphml, node_link

ODD = "a <b> & \"c\" 'd' \x00\x0b\ud800\uffff — ü 🦉 ]]>"


def graph() -> list[Node | Arc]:
    return [
        Node("concept:orders", {"type": "concept", "label": "orders", "memories": 3}),
        Node("concept:db-1", {"type": "concept", "label": ODD, "memories": 1}),
        Node("memory:k7", {"type": "memory", "label": "orders runs on db-1"}),
        Arc("memory:k7", "concept:orders", "subject", {"type": "mentions", "role": "subject"}),
        Arc("memory:k7", "concept:orders", "tag", {"type": "mentions", "role": "tag"}),
        Arc("concept:orders", "concept:db-1", "relation 7", {"type": "runs on", "weight": 0.5}),
        Arc("concept:orders", "concept:db-1", "relation 9", {"type": "uses", "weight": 1.0}),
    ]


def read_graphml(written: Iterable[Node | Arc]) -> Any:
    return nx.read_graphml(io.BytesIO(b"".join(graphml(written))), force_multigraph=True)


def read_json(written: Iterable[Node | Arc]) -> Any:
    return nx.node_link_graph(json.loads(b"".join(node_link(written))), edges="edges")


@pytest.mark.parametrize("read", [read_graphml, read_json])
def test_networkx_reads_every_node_and_every_edge_with_its_type(read: Any) -> None:
    found = read(graph())

    assert found.is_directed()
    assert found.nodes["concept:orders"]["memories"] == 3
    assert {*found.nodes} == {"concept:orders", "concept:db-1", "memory:k7"}
    edges = {(source, target, facts["type"]) for source, target, facts in found.edges(data=True)}
    assert edges == {
        ("memory:k7", "concept:orders", "mentions"),
        ("concept:orders", "concept:db-1", "runs on"),
        ("concept:orders", "concept:db-1", "uses"),
    }
    assert found.number_of_edges() == 4
    weights = {f["type"]: f["weight"] for _, _, f in found.edges(data=True) if "weight" in f}
    assert weights == {"runs on": 0.5, "uses": 1.0}


def test_what_xml_cannot_hold_is_replaced_and_the_rest_stays() -> None:
    label = read_graphml(graph()).nodes["concept:db-1"]["label"]

    assert label.startswith("a <b> & \"c\" 'd' ")
    assert label.endswith("— ü 🦉 ]]>")
    assert label.count("\N{REPLACEMENT CHARACTER}") == 4


@pytest.mark.parametrize("read", [read_graphml, read_json])
def test_an_empty_graph_is_a_graph(read: Any) -> None:
    assert read([]).number_of_nodes() == 0
    assert read(graph()[:1]).number_of_edges() == 0
