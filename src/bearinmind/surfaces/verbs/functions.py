"""The verbs whose answer is more than what the method of `Mind` returns."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from bearinmind.accounts.keys import NewKey
from bearinmind.app import Mind
from bearinmind.learn.model import Learned, Message
from bearinmind.surfaces import cursors, for_agents, times
from bearinmind.surfaces.verbs import answers as a
from bearinmind.surfaces.verbs import requests as r
from bearinmind.trace import WhyNot
from bearinmind.types import Memory, MemoryId


def as_data(mind: Mind, memories: Iterable[Memory]) -> tuple[MemoryId, ...]:
    """The ids of those memories whose text is data and never instructions."""
    user = mind.scope.user
    return tuple(dict.fromkeys(x.id for x in memories if for_agents.is_data(x, user)))


# ---- memories ------------------------------------------------------------------------------------


def recall(mind: Mind, request: r.RecallRequest) -> a.RecallAnswer:
    """The memories that matter for a question."""
    answer = mind.recall(request.query, **request.given("query", "trace"))
    return a.RecallAnswer(
        query=answer.query.text,
        hits=answer.hits,
        degraded=answer.trace.degraded,
        as_data=as_data(mind, (x for hit in answer.hits for x in (hit.memory, *hit.attached))),
        understood=answer.query if request.trace else None,
        trace=answer.trace if request.trace else None,
    )


def why_not(mind: Mind, request: r.WhyNotRequest) -> WhyNot:
    """Why a memory is not in an answer."""
    return mind.why_not(request.query, request.id, **request.given("query", "id"))


def list_memories(mind: Mind, request: r.ListRequest) -> a.ListAnswer:
    """A page of memories."""
    after = cursors.read(request.after) if request.after else None
    fields = request.given("after", "limit", "newest_first")
    # One more than is shown tells whether there is another page.
    page = mind.list(
        limit=request.limit + 1, after=after, newest_first=request.newest_first, **fields
    )
    shown, more = page[: request.limit], page[request.limit :]
    return a.ListAnswer(
        memories=tuple(shown),
        states=mind.states(shown),
        as_data=as_data(mind, shown),
        next=cursors.write(shown[-1]) if more else None,
    )


def get(mind: Mind, request: r.OneRequest) -> a.GetAnswer:
    """One memory."""
    memory = mind.get(request.id)
    own = memory.owner == mind.scope.user
    return a.GetAnswer(
        memory=memory,
        state=mind.states([memory])[memory.id],
        earlier=tuple(mind.versions(memory.id)[:-1]) if own else (),
        links=tuple(mind.links(memory.id)) if own else (),
        as_data=as_data(mind, [memory]),
    )


def why(mind: Mind, request: r.OneRequest) -> a.WhyAnswer:
    """What led to a memory."""
    why = mind.why(request.id)
    memories = (why.memory, *why.versions, *(x.memory for x in why.steps), *why.superseded_by)
    return a.WhyAnswer(
        memory=why.memory,
        versions=why.versions,
        steps=why.steps,
        superseded_by=why.superseded_by,
        as_data=as_data(mind, memories),
    )


def timeline(mind: Mind, request: r.TimelineRequest) -> a.TimelineAnswer:
    """What was remembered around a moment."""
    timeline = mind.timeline(times.anchor(request.around), **request.given("around"))
    anchor = () if timeline.anchor is None else (timeline.anchor,)
    memories = (*timeline.before, *anchor, *timeline.after)
    return a.TimelineAnswer(
        moment=timeline.moment,
        anchor=timeline.anchor,
        before=timeline.before,
        after=timeline.after,
        states=mind.states(memories),
        as_data=as_data(mind, memories),
    )


def secret_get(mind: Mind, request: r.SecretRequest) -> a.SecretAnswer:
    """What a sensitive memory says."""
    content = mind.secrets.reveal(request.id, version=request.version)
    return a.SecretAnswer(id=mind.get(request.id).id, content=content)


# ---- shares --------------------------------------------------------------------------------------


def shared_with_me(mind: Mind, _: r.Nothing) -> a.SharesAnswer:
    """What others share."""
    return a.SharesAnswer(shares=tuple(mind.shared_with_me()))


def my_shares(mind: Mind, _: r.Nothing) -> a.SharesAnswer:
    """What is shared with others."""
    return a.SharesAnswer(shares=tuple(mind.my_shares()))


# ---- learning and curation -----------------------------------------------------------------------


def learn(mind: Mind, request: r.LearnRequest) -> Learned:
    """Learn from a turn."""
    messages = [Message(role=each.role, text=each.text) for each in request.messages]
    return mind.learn(messages, **request.given("messages"))


def brief(mind: Mind, request: r.BriefRequest) -> a.BriefAnswer:
    """What a session begins with."""
    memories = tuple(mind.brief(**request.given()))
    return a.BriefAnswer(memories=memories, as_data=as_data(mind, memories))


def proposals(mind: Mind, request: r.ProposalsRequest) -> a.ProposalsAnswer:
    """The proposals in some states."""
    return a.ProposalsAnswer(proposals=tuple(mind.curation.proposals(**request.given())))


# ---- users and keys ------------------------------------------------------------------------------


def users(mind: Mind, _: r.Nothing) -> a.UsersAnswer:
    """Every user."""
    return a.UsersAnswer(users=tuple(mind.accounts.users()))


def keys(mind: Mind, request: r.KeysRequest) -> a.KeysAnswer:
    """The keys of a user, or of everybody."""
    return a.KeysAnswer(keys=tuple(mind.accounts.keys(request.user)))


def renew_key(mind: Mind, request: r.RenewKeyRequest) -> NewKey:
    """Make a key in place of another one."""
    return mind.accounts.renew_key(request.id, overlap=timedelta(hours=request.overlap_hours))


def audit_log(mind: Mind, request: r.AuditRequest) -> a.AuditAnswer:
    """What everybody did."""
    return a.AuditAnswer(entries=tuple(mind.accounts.audit(request.limit, everybody=True)))
