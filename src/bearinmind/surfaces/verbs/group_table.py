"""The rows of the verbs of the concept graph and of curation."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

from bearinmind.concepts import Merge
from bearinmind.proposals import Proposal
from bearinmind.surfaces.verbs import functions as f
from bearinmind.surfaces.verbs import graph_verbs as g
from bearinmind.surfaces.verbs import requests as r
from bearinmind.surfaces.verbs.verb import Tool, Verb
from bearinmind.types import Access

_read = partial(Verb, access=Access.READ, method="GET")
_write = partial(Verb, access=Access.WRITE, method="POST")

GRAPH_VERBS: tuple[Verb, ...] = (
    _read(
        name="graph.neighbours",
        says="What is one step away from a concept.",
        function=g.neighbours,
        path="/graph/neighbours",
        command="graph neighbours",
        tool_text=Tool(
            name="graph_neighbours",
            says="Show what a concept (a person, a service) is connected to.",
            fields={"concept": "", "limit": "", "as_of": ""},
        ),
    ),
    _read(
        name="graph.path",
        says="The shortest way from a concept to another.",
        function=g.path,
        path="/graph/path",
        command="graph path",
        tool_text=Tool(
            name="graph_path",
            says="Show how two concepts are connected.",
            fields={"start": "", "goal": "", "as_of": ""},
        ),
    ),
    _read(
        name="graph.concept",
        says="A concept with its memories and relations.",
        function=g.concept,
        path="/graph/concept",
        command="graph show",
        tool_text=Tool(
            name="graph_concept",
            says="Show a concept with its relations and its memories.",
            fields={"concept": "", "limit": "", "as_of": ""},
            extra=True,
        ),
    ),
    _read(
        name="graph.hubs",
        says="The concepts that most memories mention.",
        function=g.hubs,
        path="/graph/hubs",
        command="graph hubs",
        tool_text=Tool(
            name="graph_hubs",
            says="List the concepts that most memories mention.",
            fields={"containing": "part of a name", "limit": ""},
            extra=True,
        ),
    ),
    _read(
        name="graph.subgraph",
        says="The concepts within some steps of one, and what joins them.",
        function=g.subgraph,
        path="/graph/subgraph",
        command="graph subgraph",
    ),
    _read(
        name="graph.counts",
        says="How many concepts, relations and mentions the graph holds.",
        function=g.counts,
        path="/graph/counts",
        command="graph stats",
    ),
    _read(
        name="graph.contradictions",
        says="Relations that cannot both hold, each with what would resolve it.",
        function=g.contradictions,
        path="/graph/contradictions",
        command="graph contradictions",
    ),
    _write(
        name="graph.resolve",
        says="Do what is proposed for a contradiction, by the number of its older relation.",
        function=g.resolve,
        path="/graph/contradictions/{number}/resolve",
        command="graph resolve",
    ),
    _write(
        name="graph.retract",
        says="Stop believing a relation; it stays readable as of before.",
        function=g.retract,
        path="/graph/relations/{number}/retract",
        command="graph retract",
    ),
    _write(
        name="graph.merge",
        says="Treat a concept as another one until that is undone.",
        takes=g.MergeRequest,
        gives=Merge,
        path="/graph/merges",
        command="graph merge",
        status=HTTPStatus.CREATED,
        example={"alias": "Postgres", "into": "PostgreSQL"},
    ),
    _write(
        name="graph.unmerge",
        says="Undo a merge.",
        function=g.unmerge,
        path="/graph/merges/undo",
        command="graph unmerge",
        example={"alias": "Postgres"},
    ),
    _read(
        name="graph.merges",
        says="The merges that hold, oldest first.",
        function=g.merges,
        path="/graph/merges",
        command="graph merges",
    ),
    _read(
        name="graph.likely_merges",
        says="Concepts that may be one, the surest first; nothing is merged.",
        function=g.likely_merges,
        path="/graph/merges/likely",
        command="graph merges --likely",
    ),
)

CURATION_VERBS: tuple[Verb, ...] = (
    _write(
        name="curation.review",
        says="Review all memories for what could be tidied up, perhaps into the inbox.",
        function=f.review,
        path="/curation/review",
        command="curate",
        example={"propose": True},
        tool_text=Tool(
            name="inbox_review",
            says="Look for duplicates, contradictions and outdated memories.",
            fields={"propose": "put them into the inbox"},
            extra=True,
        ),
    ),
    _read(
        name="curation.hygiene",
        says="What is untidy among the memories.",
        function=f.hygiene,
        path="/curation/hygiene",
        command="curate report",
    ),
    _read(
        name="curation.proposals",
        says="What waits for a decision, or was decided.",
        function=f.proposals,
        path="/proposals",
        command="curate inbox",
        tool_text=Tool(
            name="inbox_list",
            says="List proposed changes that wait for a decision.",
            fields={"limit": ""},
        ),
    ),
    _read(
        name="curation.proposal",
        says="One proposal.",
        takes=r.ProposalRequest,
        gives=Proposal,
        path="/proposals/{id}",
        command="curate show",
    ),
    _write(
        name="curation.apply",
        says="Do what a proposal says, or say which of two memories holds; it can be undone.",
        takes=r.ApplyRequest,
        gives=Proposal,
        path="/proposals/{id}/apply",
        command="curate apply",
        example={"resolution": "newer"},
        tool_text=Tool(
            name="inbox_apply",
            says="Do what a proposal says, once the user agrees.",
            fields={"id": "", "resolution": "which of two memories holds"},
        ),
    ),
    _write(
        name="curation.dismiss",
        says="Decide against a proposal; it is not made again.",
        takes=r.DismissRequest,
        gives=Proposal,
        path="/proposals/{id}/dismiss",
        command="curate dismiss",
        example={"trust": "user"},
        tool_text=Tool(name="inbox_dismiss", says="Decide against a proposal.", fields={"id": ""}),
    ),
    _write(
        name="curation.undo",
        says="Take back what a proposal did.",
        takes=r.ProposalRequest,
        gives=Proposal,
        path="/proposals/{id}/undo",
        command="curate undo",
        tool_text=Tool(
            name="inbox_undo", says="Take back a decision.", fields={"id": ""}, extra=True
        ),
    ),
)
