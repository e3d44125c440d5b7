"""The verbs whose answer is more than what the method of `Mind` returns."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

from bearinmind.accounts.keys import NewKey
from bearinmind.app import Mind
from bearinmind.learn.model import Learned, Message
from bearinmind.remember.update import Deleted
from bearinmind.surfaces.verbs import answers as a
from bearinmind.surfaces.verbs import requests as r
from bearinmind.trace import WhyNot
from bearinmind.types import Link

# ---- memories ------------------------------------------------------------------------------------


def recall(mind: Mind, request: r.RecallRequest) -> a.RecallAnswer:
    """The memories that matter for a question."""
    answer = mind.recall(request.query, **request.given("query", "trace"))
    conflicts = mind.curation.conflicts((hit.memory for hit in answer.hits), request.as_of)
    return a.RecallAnswer.of(answer, conflicts, with_trace=request.trace)


def why_not(mind: Mind, request: r.WhyNotRequest) -> WhyNot:
    """Why a memory is not in an answer."""
    return mind.why_not(request.query, request.id, **request.given("query", "id"))


def list_memories(mind: Mind, request: r.ListRequest) -> a.ListAnswer:
    """A page of memories."""
    after = a.read_cursor(request.after) if request.after else None
    filters = request.given("after", "limit")
    # One more than is shown tells whether there is another page; by importance there is none.
    more = 0 if request.by_importance else 1
    page = mind.list(limit=request.limit + more, after=after, **filters)
    return a.ListAnswer.of(mind, page, request.limit, request.as_of)


def delete(mind: Mind, request: r.DeleteRequest) -> Deleted:
    """Hide a memory."""
    memory = mind.delete(request.id, **request.given("id"))
    if isinstance(memory, Deleted):
        return memory
    return Deleted(**{each.name: getattr(memory, each.name) for each in fields(memory)})


def timeline(mind: Mind, request: r.TimelineRequest) -> a.TimelineAnswer:
    """What was remembered around a moment."""
    timeline = mind.timeline(**request.given())
    return a.TimelineAnswer.of(mind, timeline, request.as_of)


def secret_get(mind: Mind, request: r.SecretRequest) -> a.SecretAnswer:
    """What a sensitive memory says."""
    content = mind.secrets.reveal(request.id, version=request.version)
    return a.SecretAnswer(id=mind.get(request.id).id, content=content)


def link(mind: Mind, request: r.NewLinkRequest) -> Link:
    """Link two memories."""
    return mind.link(request.source, request.kind, request.target, trust=request.trust)


# ---- learning and curation -----------------------------------------------------------------------


def learn(mind: Mind, request: r.LearnRequest) -> Learned:
    """Learn from a turn."""
    messages = [Message(role=each.role, text=each.text) for each in request.messages]
    return mind.learn(messages, **request.given("messages"))


def proposals(mind: Mind, request: r.ProposalsRequest) -> a.ProposalsAnswer:
    """The proposals in some states."""
    listed = tuple(mind.curation.proposals(**request.given()))
    memories = tuple(mind.curation.memories(listed).values())
    as_data = a.as_data(mind.scope.user, memories)
    return a.ProposalsAnswer(proposals=listed, memories=memories, as_data=as_data)


# ---- users and keys ------------------------------------------------------------------------------


def renew_key(mind: Mind, request: r.RenewKeyRequest) -> NewKey:
    """Make a key in place of another one."""
    return mind.accounts.renew_key(request.id, overlap=timedelta(hours=request.overlap_hours))


def audit_log(mind: Mind, request: r.LatestRequest) -> a.AuditAnswer:
    """What everybody did."""
    return a.AuditAnswer(entries=tuple(mind.accounts.audit(request.limit, everybody=True)))
