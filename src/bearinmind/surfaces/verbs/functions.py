"""One function for each verb: from its request, by the method of `Mind`, to its answer."""

from __future__ import annotations

from datetime import timedelta

from bearinmind.accounts.keys import NewKey
from bearinmind.app import Mind
from bearinmind.learn.model import Learned, Message
from bearinmind.proposals import Proposal
from bearinmind.protocols import Statistics, User
from bearinmind.surfaces import times
from bearinmind.surfaces.verbs import answers as a
from bearinmind.surfaces.verbs import requests as r
from bearinmind.trace import WhyNot
from bearinmind.types import Key, Link, Memory, Outcome, Share

# ---- memories ------------------------------------------------------------------------------------


def store(mind: Mind, request: r.StoreRequest) -> Outcome:
    """Remember something."""
    return mind.store(**request.given())


def recall(mind: Mind, request: r.RecallRequest) -> a.RecallAnswer:
    """The memories that matter for a question."""
    answer = mind.recall(request.query, **request.given("query", "trace"))
    return a.RecallAnswer.of(answer, with_trace=request.trace)


def why_not(mind: Mind, request: r.WhyNotRequest) -> WhyNot:
    """Why a memory is not in an answer."""
    return mind.why_not(request.query, request.id, **request.given("query", "id"))


def list_memories(mind: Mind, request: r.ListRequest) -> a.ListAnswer:
    """A page of memories."""
    after = a.read_cursor(request.after) if request.after else None
    fields = request.given("after", "limit", "newest_first")
    # One more than is shown tells whether there is another page.
    page = mind.list(
        limit=request.limit + 1, after=after, newest_first=request.newest_first, **fields
    )
    return a.ListAnswer.of(mind, page, request.limit)


def get(mind: Mind, request: r.OneRequest) -> a.GetAnswer:
    """One memory."""
    return a.GetAnswer.of(mind, mind.get(request.id))


def update(mind: Mind, request: r.UpdateRequest) -> Memory:
    """Change a memory."""
    return mind.update(request.id, **request.given("id"))


def delete(mind: Mind, request: r.DeleteRequest) -> Memory:
    """Hide a memory."""
    return mind.delete(request.id, **request.given("id"))


def restore(mind: Mind, request: r.OneRequest) -> Memory:
    """Bring a memory back."""
    return mind.restore(request.id)


def link(mind: Mind, request: r.LinkRequest) -> Link:
    """Link two memories."""
    return mind.link(request.source, request.kind, request.target)


def unlink(mind: Mind, request: r.LinkRequest) -> Link:
    """End a link."""
    return mind.unlink(request.source, request.kind, request.target)


def why(mind: Mind, request: r.OneRequest) -> a.WhyAnswer:
    """What led to a memory."""
    return a.WhyAnswer.of(mind, mind.why(request.id))


def timeline(mind: Mind, request: r.TimelineRequest) -> a.TimelineAnswer:
    """What was remembered around a moment."""
    timeline = mind.timeline(times.anchor(request.around), **request.given("around"))
    return a.TimelineAnswer.of(mind, timeline)


def stats(mind: Mind, _: r.Nothing) -> Statistics:
    """Counts of what is stored."""
    return mind.stats()


def secret_get(mind: Mind, request: r.SecretRequest) -> a.SecretAnswer:
    """What a sensitive memory says."""
    content = mind.secrets.reveal(request.id, version=request.version)
    return a.SecretAnswer(id=mind.get(request.id).id, content=content)


# ---- shares --------------------------------------------------------------------------------------


def share(mind: Mind, request: r.ShareRequest) -> Share:
    """Share a memory."""
    return mind.share(request.id, request.reader, request.right)


def unshare(mind: Mind, request: r.UnshareRequest) -> Share:
    """End the share of a memory."""
    return mind.unshare(request.id, request.reader)


def share_tag(mind: Mind, request: r.ShareTagRequest) -> Share:
    """Share a tag."""
    return mind.share_tag(request.tag, request.reader, request.right)


def unshare_tag(mind: Mind, request: r.UnshareTagRequest) -> Share:
    """End the share of a tag."""
    return mind.unshare_tag(request.tag, request.reader)


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
    return a.BriefAnswer.of(mind, mind.brief(**request.given()))


def proposals(mind: Mind, request: r.ProposalsRequest) -> a.ProposalsAnswer:
    """The proposals in some states."""
    return a.ProposalsAnswer(proposals=tuple(mind.curation.proposals(**request.given())))


def proposal(mind: Mind, request: r.ProposalRequest) -> Proposal:
    """One proposal."""
    return mind.curation.proposal(request.id)


def apply_proposal(mind: Mind, request: r.ProposalRequest) -> Proposal:
    """Do what a proposal says."""
    return mind.curation.apply(request.id)


def dismiss_proposal(mind: Mind, request: r.ProposalRequest) -> Proposal:
    """Decide against a proposal."""
    return mind.curation.dismiss(request.id)


def undo_proposal(mind: Mind, request: r.ProposalRequest) -> Proposal:
    """Take back what a proposal did."""
    return mind.curation.undo(request.id)


# ---- users and keys ------------------------------------------------------------------------------


def users(mind: Mind, _: r.Nothing) -> a.UsersAnswer:
    """Every user."""
    return a.UsersAnswer(users=tuple(mind.accounts.users()))


def add_user(mind: Mind, request: r.UserRequest) -> User:
    """Add a user."""
    return mind.accounts.add_user(request.name)


def disable_user(mind: Mind, request: r.UserRequest) -> User:
    """Stop letting a user in."""
    return mind.accounts.disable_user(request.name)


def enable_user(mind: Mind, request: r.UserRequest) -> User:
    """Let a user in again."""
    return mind.accounts.enable_user(request.name)


def keys(mind: Mind, request: r.KeysRequest) -> a.KeysAnswer:
    """The keys of a user, or of everybody."""
    return a.KeysAnswer(keys=tuple(mind.accounts.keys(request.user)))


def create_key(mind: Mind, request: r.CreateKeyRequest) -> NewKey:
    """Make a key."""
    return mind.accounts.create_key(request.user, **request.given("user"))


def renew_key(mind: Mind, request: r.RenewKeyRequest) -> NewKey:
    """Make a key in place of another one."""
    return mind.accounts.renew_key(request.id, overlap=timedelta(hours=request.overlap_hours))


def revoke_key(mind: Mind, request: r.KeyRequest) -> Key:
    """Revoke a key."""
    return mind.accounts.revoke_key(request.id)


def audit_log(mind: Mind, request: r.AuditRequest) -> a.AuditAnswer:
    """What everybody did."""
    return a.AuditAnswer(entries=tuple(mind.accounts.audit(request.limit, everybody=True)))
