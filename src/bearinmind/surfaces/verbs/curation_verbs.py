"""The verbs of curation: one row each."""

from __future__ import annotations

from bearinmind.app import Mind
from bearinmind.curate.review import Review
from bearinmind.proposals import Proposal
from bearinmind.surfaces.verbs import answers as a
from bearinmind.surfaces.verbs import requests as r
from bearinmind.surfaces.verbs.verb import Tool, Verb, reads, writes


def proposals(mind: Mind, request: r.ProposalsRequest) -> a.ProposalsAnswer:
    """The proposals in some states."""
    listed = tuple(mind.curation.proposals(**request.given()))
    memories = tuple(mind.curation.memories(listed).values())
    as_data = a.as_data(mind.scope.user, memories)
    return a.ProposalsAnswer(proposals=listed, memories=memories, as_data=as_data)


CURATION_VERBS: tuple[Verb, ...] = (
    writes(
        name="curation.review",
        says="Review all memories for what could be tidied up, perhaps into the inbox.",
        takes=r.ReviewRequest,
        gives=Review,
        path="/curation/review",
        command="curate",
        example={"propose": True},
        tool_text=Tool(
            name="inbox_review",
            says="Put duplicates, contradictions and outdated memories into the inbox.",
            fields={"propose": "false: only say what they are"},
            extra=True,
        ),
    ),
    reads(
        name="curation.proposals",
        says="What waits for a decision, or was decided.",
        function=proposals,
        path="/proposals",
        command="curate inbox",
        tool_text=Tool(
            name="inbox_list",
            says="List proposed changes that wait for a decision.",
            fields={"limit": ""},
        ),
    ),
    reads(
        name="curation.proposal",
        says="One proposal.",
        takes=r.OneRequest,
        gives=Proposal,
        path="/proposals/{id}",
        command="curate show",
    ),
    writes(
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
    writes(
        name="curation.dismiss",
        says="Decide against a proposal; it is not made again.",
        takes=r.DismissRequest,
        gives=Proposal,
        path="/proposals/{id}/dismiss",
        command="curate dismiss",
        example={"trust": "user"},
        tool_text=Tool(name="inbox_dismiss", says="Decide against a proposal.", fields={"id": ""}),
    ),
    writes(
        name="curation.undo",
        says="Take back what a proposal did.",
        takes=r.OneRequest,
        gives=Proposal,
        path="/proposals/{id}/undo",
        command="curate undo",
        tool_text=Tool(
            name="inbox_undo", says="Take back a decision.", fields={"id": ""}, extra=True
        ),
    ),
)
