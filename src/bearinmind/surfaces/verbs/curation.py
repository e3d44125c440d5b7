"""What waits for a decision, and deciding it, as asked for and answered over a server."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

from pydantic import Field

from bearinmind.app import Mind
from bearinmind.app.requests import MOST_PROPOSALS, PROPOSALS
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.surfaces.records import Moment
from bearinmind.surfaces.verbs.answers import Answer
from bearinmind.surfaces.verbs.requests import Id, Request


class ProposalsRequest(Request):
    """Which proposals, and how many at most."""

    states: Annotated[list[ProposalState], Field(min_length=1, max_length=10)] = Field(
        default_factory=lambda: [ProposalState.OPEN]
    )
    limit: Annotated[int, Field(ge=1, le=MOST_PROPOSALS)] = PROPOSALS


class ProposalRequest(Request):
    """One proposal."""

    id: Id


class ProposalAnswer(Answer):
    """A change that somebody is to decide on, or what became of it."""

    id: str
    kind: ProposalKind
    origin: str = Field(description="What found it, such as consolidation or learning.")
    memories: list[str] = Field(description="Ids of the memories that it is about.")
    reason: str
    evidence: dict[str, Any] = Field(description="Figures behind the reason.")
    change: dict[str, Any] = Field(description="A draft, or the fields to change.")
    digest: str = Field(description="Equal for the same proposal.")
    created_at: Moment
    state: ProposalState
    decided_at: Moment | None
    undo: dict[str, Any] = Field(description="What taking it back needs.")


class ProposalsAnswer(Answer):
    """Proposals, those that were made or decided last first."""

    proposals: list[ProposalAnswer]


def proposals(app: Mind, asked: ProposalsRequest) -> ProposalsAnswer:
    """The proposals in some states."""
    return ProposalsAnswer(proposals=[*map(_told, app.curation.proposals(**asked.given()))])


def proposal(app: Mind, asked: ProposalRequest) -> ProposalAnswer:
    """One of them."""
    return _told(app.curation.proposal(asked.id))


def apply_proposal(app: Mind, asked: ProposalRequest) -> ProposalAnswer:
    """Do what it says."""
    return _told(app.curation.apply(asked.id))


def dismiss_proposal(app: Mind, asked: ProposalRequest) -> ProposalAnswer:
    """Decide against it."""
    return _told(app.curation.dismiss(asked.id))


def undo_proposal(app: Mind, asked: ProposalRequest) -> ProposalAnswer:
    """Take back what it did."""
    return _told(app.curation.undo(asked.id))


def _told(value: Proposal) -> ProposalAnswer:
    return ProposalAnswer.model_validate(dataclasses.asdict(value))
