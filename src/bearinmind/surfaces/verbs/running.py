"""Each verb once: from what is asked, by the application's own verb, to what is answered."""

from __future__ import annotations

from typing import Any

from bearinmind.app import Mind
from bearinmind.surfaces import cursors, for_agents, machine, times
from bearinmind.surfaces.verbs import answers as a
from bearinmind.surfaces.verbs import requests as r
from bearinmind.types import Memory, Query, Share, State, Stored


def store(app: Mind, asked: r.StoreRequest) -> a.StoreAnswer:
    """Remember something."""
    outcome = app.store(**asked.given())
    said = "stored" if isinstance(outcome, Stored) else "already_known"
    return a.StoreAnswer(outcome=said, memory=memory(app, outcome.memory))


def recall(app: Mind, asked: r.RecallRequest) -> a.RecallAnswer:
    """The memories that matter."""
    answer = app.recall(asked.query, **asked.given("query", "trace"))
    data = machine.answer(answer, with_trace=asked.trace)
    for hit, shown in zip(answer.hits, data["hits"], strict=True):
        shown["memory"] = _data(app, hit.memory)
        shown["attached"] = [_data(app, each) for each in hit.attached]
    if asked.trace:
        data["trace"]["query"] = _query(answer.query)
    return a.RecallAnswer.model_validate(data)


def why_not(app: Mind, asked: r.WhyNotRequest) -> a.WhyNotAnswer:
    """Why a memory is not in an answer."""
    reason = app.why_not(asked.query, asked.id, **asked.given("query", "id"))
    return a.WhyNotAnswer.model_validate(machine.why_not(reason))


def list_memories(app: Mind, asked: r.ListRequest) -> a.ListAnswer:
    """A page of memories."""
    after = cursors.read(asked.after) if asked.after else None
    fields = asked.given("after", "limit", "newest_first")
    # One more than is shown tells whether there is another page.
    page = app.list(limit=asked.limit + 1, after=after, newest_first=asked.newest_first, **fields)
    shown, more = page[: asked.limit], page[asked.limit :]
    return a.ListAnswer(
        memories=_memories(app, shown), next=cursors.write(shown[-1]) if more else None
    )


def get(app: Mind, asked: r.OneRequest) -> a.WholeAnswer:
    """One memory."""
    found = app.get(asked.id)
    own = found.owner == app.scope.user
    earlier = list(app.versions(found.id)[:-1]) if own else []
    links = app.links(found.id) if own else []
    [shown] = _memories(app, [found])
    return a.WholeAnswer(
        **shown.model_dump(),
        earlier=[memory(app, each) for each in earlier],
        links=[a.LinkAnswer.model_validate(_link(each)) for each in links],
    )


def update(app: Mind, asked: r.UpdateRequest) -> a.MemoryAnswer:
    """Change a memory."""
    return memory(app, app.update(asked.id, **asked.given("id")))


def delete(app: Mind, asked: r.DeleteRequest) -> a.MemoryAnswer:
    """Hide a memory."""
    return memory(app, app.delete(asked.id, **asked.given("id")))


def restore(app: Mind, asked: r.OneRequest) -> a.MemoryAnswer:
    """Bring a memory back."""
    return memory(app, app.restore(asked.id))


def link(app: Mind, asked: r.LinkRequest) -> a.LinkAnswer:
    """Link two memories."""
    return a.LinkAnswer.model_validate(_link(app.link(asked.source, asked.kind, asked.target)))


def unlink(app: Mind, asked: r.LinkRequest) -> a.LinkAnswer:
    """End a link."""
    return a.LinkAnswer.model_validate(_link(app.unlink(asked.source, asked.kind, asked.target)))


def why(app: Mind, asked: r.OneRequest) -> a.WhyAnswer:
    """What led to a memory."""
    found = app.why(asked.id)
    return a.WhyAnswer(
        memory=memory(app, found.memory),
        versions=[memory(app, each) for each in found.versions],
        steps=[
            a.WhyStepAnswer(
                depth=step.depth,
                link=a.LinkAnswer.model_validate(_link(step.link)),
                memory=memory(app, step.memory),
            )
            for step in found.steps
        ],
        superseded_by=[memory(app, each) for each in found.superseded_by],
    )


def timeline(app: Mind, asked: r.TimelineRequest) -> a.TimelineAnswer:
    """What was remembered around a moment."""
    around = times.anchor(asked.around)
    found = app.timeline(around, **asked.given("around"))
    return a.TimelineAnswer(
        moment=found.moment,
        anchor=None if found.anchor is None else memory(app, found.anchor),
        before=_memories(app, found.before),
        after=_memories(app, found.after),
    )


def stats(app: Mind, asked: r.Nothing) -> a.CountAnswer:  # noqa: ARG001  nothing is asked
    """Counts of what is stored."""
    return a.CountAnswer.model_validate(machine.statistics(app.stats()))


def secret_get(app: Mind, asked: r.SecretRequest) -> a.SecretAnswer:
    """What a sensitive memory says."""
    content = app.secrets.reveal(asked.id, version=asked.version)
    return a.SecretAnswer(id=app.get(asked.id).id, content=content)


def share(app: Mind, asked: r.ShareRequest) -> a.ShareAnswer:
    """Share a memory."""
    return _share(app.share(asked.id, asked.reader, asked.right))


def unshare(app: Mind, asked: r.UnshareRequest) -> a.ShareAnswer:
    """End the share of a memory."""
    return _share(app.unshare(asked.id, asked.reader))


def share_tag(app: Mind, asked: r.ShareTagRequest) -> a.ShareAnswer:
    """Share a tag."""
    return _share(app.share_tag(asked.tag, asked.reader, asked.right))


def unshare_tag(app: Mind, asked: r.UnshareTagRequest) -> a.ShareAnswer:
    """End the share of a tag."""
    return _share(app.unshare_tag(asked.tag, asked.reader))


def shared_with_me(app: Mind, asked: r.Nothing) -> a.SharesAnswer:  # noqa: ARG001  likewise
    """What others share."""
    return a.SharesAnswer(shares=[_share(each) for each in app.shared_with_me()])


def my_shares(app: Mind, asked: r.Nothing) -> a.SharesAnswer:  # noqa: ARG001  likewise
    """What is shared with others."""
    return a.SharesAnswer(shares=[_share(each) for each in app.my_shares()])


# ---- from nouns to answers -------------------------------------------------------------------


def is_data(app: Mind, value: Memory) -> bool:
    """Whether a text is data and never instructions: another user's, or from somewhere else."""
    return for_agents.is_data(value, app.scope.user)


def memory(app: Mind, value: Memory, state: State | None = None) -> a.MemoryAnswer:
    """A memory as it is shown to whoever asks."""
    return a.MemoryAnswer.model_validate(_data(app, value, state))


def _memories(app: Mind, values: Any) -> list[a.MemoryAnswer]:  # noqa: ANN401
    states = app.states(values)
    return [memory(app, each, states.get(each.id)) for each in values]


def _data(app: Mind, value: Memory, state: State | None = None) -> machine.Data:
    shown = machine.memory(value, state)
    shown.pop("record")
    return shown | {"owner": value.owner, "is_data": is_data(app, value)}


def _query(value: Query) -> machine.Data:
    asked = value.filter
    return {
        "user": asked.scope.user,
        "now": asked.now,
        "as_of": asked.as_of,
        "categories": sorted(asked.categories),
        "tags": sorted(asked.tags),
        "created_from": asked.created_from,
        "created_to": asked.created_to,
        "session": asked.session,
        "project": asked.project,
        "agent": asked.agent,
        "states": sorted(asked.states),
        "expanded": value.expanded,
        "focus": value.focus,
        "limit": value.limit,
        "pool": value.pool,
        "sort_by": value.sort_by,
        "budget_bytes": value.budget_bytes,
    }


def _link(value: Any) -> machine.Data:  # noqa: ANN401
    shown = machine.link(value)
    shown.pop("record")
    return shown


def _share(value: Share) -> a.ShareAnswer:
    return a.ShareAnswer(
        owner=value.owner,
        reader=value.reader,
        right=value.right,
        memory=value.memory,
        tag=value.tag,
        created_at=value.created_at,
        ended_at=value.ended_at,
    )
