"""Every verb that a server offers: one row each, from which all its surfaces are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from bearinmind.app import Mind
from bearinmind.surfaces.verbs import answers as a
from bearinmind.surfaces.verbs import curation, learning, running
from bearinmind.surfaces.verbs import requests as r
from bearinmind.types import Access


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """Something that can be asked of a memory, on every surface."""

    name: str  #: of the method of `Mind` and of the client
    says: str  #: what it does, in one line
    request: type[r.Request]
    answer: type[a.Answer]
    run: Callable[[Mind, Any], a.Answer]
    access: Access
    method: str  #: of HTTP
    path: str  #: under /api/v1; the fields of the request that it names are taken from it
    tool: str | None  #: of MCP; None where an agent has no use for it
    command: str  #: of the command line
    status: HTTPStatus = HTTPStatus.OK
    #: By header of HTTP: the field of the request that is taken from it.
    headers: Mapping[str, str] = field(default_factory=dict)


VERBS: tuple[Verb, ...] = (
    Verb(
        name="store",
        says="Remember something.",
        request=r.StoreRequest,
        answer=a.StoreAnswer,
        run=running.store,
        access=Access.WRITE,
        method="POST",
        path="/memories",
        tool="memory_store",
        command="store",
        status=HTTPStatus.CREATED,
        headers={"Idempotency-Key": "idempotency_key"},
    ),
    Verb(
        name="recall",
        says="The memories that matter for a question, best first.",
        request=r.RecallRequest,
        answer=a.RecallAnswer,
        run=running.recall,
        access=Access.READ,
        method="POST",
        path="/recall",
        tool="memory_recall",
        command="recall",
    ),
    Verb(
        name="why_not",
        says="Why a memory is not in the answer to a question, and what would have let it in.",
        request=r.WhyNotRequest,
        answer=a.WhyNotAnswer,
        run=running.why_not,
        access=Access.READ,
        method="POST",
        path="/why-not",
        tool=None,  # a question about Bear in Mind, not about what it holds
        command="recall --why-not",
    ),
    Verb(
        name="list",
        says="Memories by creation time, yours and those shared with you.",
        request=r.ListRequest,
        answer=a.ListAnswer,
        run=running.list_memories,
        access=Access.READ,
        method="GET",
        path="/memories",
        tool="memory_list",
        command="list",
    ),
    Verb(
        name="get",
        says="One memory with its earlier versions and its links.",
        request=r.OneRequest,
        answer=a.WholeAnswer,
        run=running.get,
        access=Access.READ,
        method="GET",
        path="/memories/{id}",
        tool="memory_get",
        command="get",
    ),
    Verb(
        name="update",
        says="Change a memory; the version before is kept.",
        request=r.UpdateRequest,
        answer=a.MemoryAnswer,
        run=running.update,
        access=Access.WRITE,
        method="PATCH",
        path="/memories/{id}",
        tool="memory_update",
        command="update",
        headers={"If-Match": "expected_version"},
    ),
    Verb(
        name="delete",
        says="Hide a memory from recall; it can be restored.",
        request=r.DeleteRequest,
        answer=a.MemoryAnswer,
        run=running.delete,
        access=Access.WRITE,
        method="DELETE",
        path="/memories/{id}",
        tool="memory_delete",
        command="delete",
        headers={"If-Match": "expected_version"},
    ),
    Verb(
        name="restore",
        says="Bring a deleted memory back.",
        request=r.OneRequest,
        answer=a.MemoryAnswer,
        run=running.restore,
        access=Access.WRITE,
        method="POST",
        path="/memories/{id}/restore",
        tool=None,  # an agent that deletes can update instead; people undo
        command="restore",
    ),
    Verb(
        name="link",
        says="Link two memories.",
        request=r.LinkRequest,
        answer=a.LinkAnswer,
        run=running.link,
        access=Access.WRITE,
        method="POST",
        path="/links",
        tool="memory_link",
        command="link",
        status=HTTPStatus.CREATED,
    ),
    Verb(
        name="unlink",
        says="End a link.",
        request=r.LinkRequest,
        answer=a.LinkAnswer,
        run=running.unlink,
        access=Access.WRITE,
        method="POST",
        path="/links/end",
        tool=None,  # likewise
        command="link --remove",
    ),
    Verb(
        name="why",
        says="What led to a memory.",
        request=r.OneRequest,
        answer=a.WhyAnswer,
        run=running.why,
        access=Access.READ,
        method="GET",
        path="/memories/{id}/why",
        tool="memory_why",
        command="why",
    ),
    Verb(
        name="timeline",
        says="What was remembered before and after a memory or a moment.",
        request=r.TimelineRequest,
        answer=a.TimelineAnswer,
        run=running.timeline,
        access=Access.READ,
        method="GET",
        path="/timeline",
        tool="memory_timeline",
        command="timeline",
    ),
    Verb(
        name="stats",
        says="Counts of your memories, and of what others share with you.",
        request=r.Nothing,
        answer=a.CountAnswer,
        run=running.stats,
        access=Access.READ,
        method="GET",
        path="/stats",
        tool="memory_count",
        command="stats",
    ),
    Verb(
        name="secret_get",
        says="What a sensitive memory says; that it was asked for is written down.",
        request=r.SecretRequest,
        answer=a.SecretAnswer,
        run=running.secret_get,
        access=Access.WRITE,  # it leaves a row in the audit log, and a reading agent needs none
        method="POST",
        path="/memories/{id}/secret",
        tool="secret_get",
        command="secret get",
    ),
    Verb(
        name="share",
        says="Let another user see a memory, or change it.",
        request=r.ShareRequest,
        answer=a.ShareAnswer,
        run=running.share,
        access=Access.WRITE,
        method="PUT",
        path="/memories/{id}/shares/{reader}",
        tool="memory_share",
        command="share memory",
    ),
    Verb(
        name="unshare",
        says="End the share of a memory.",
        request=r.UnshareRequest,
        answer=a.ShareAnswer,
        run=running.unshare,
        access=Access.WRITE,
        method="DELETE",
        path="/memories/{id}/shares/{reader}",
        tool="memory_unshare",
        command="share end",
    ),
    Verb(
        name="share_tag",
        says="Let another user see all memories with a tag, now and from now on.",
        request=r.ShareTagRequest,
        answer=a.ShareAnswer,
        run=running.share_tag,
        access=Access.WRITE,
        method="PUT",
        path="/tags/{tag}/shares/{reader}",
        tool="memory_share_tag",
        command="share tag",
    ),
    Verb(
        name="unshare_tag",
        says="End the share of a tag.",
        request=r.UnshareTagRequest,
        answer=a.ShareAnswer,
        run=running.unshare_tag,
        access=Access.WRITE,
        method="DELETE",
        path="/tags/{tag}/shares/{reader}",
        tool="memory_unshare_tag",
        command="share end --tag",
    ),
    Verb(
        name="shared_with_me",
        says="What other users share with you.",
        request=r.Nothing,
        answer=a.SharesAnswer,
        run=running.shared_with_me,
        access=Access.READ,
        method="GET",
        path="/shares/with-me",
        tool="memory_shared_with_me",
        command="share list --with-me",
    ),
    Verb(
        name="my_shares",
        says="What you share with other users.",
        request=r.Nothing,
        answer=a.SharesAnswer,
        run=running.my_shares,
        access=Access.READ,
        method="GET",
        path="/shares",
        tool="memory_my_shares",
        command="share list",
    ),
    Verb(
        name="learn",
        says="Learn preferences, decisions and corrections from what was said in a turn.",
        request=learning.LearnRequest,
        answer=learning.LearnAnswer,
        run=learning.learn,
        access=Access.WRITE,
        method="POST",
        path="/learn",
        tool=None,  # a hook sends turns; an agent that knows what it learned stores it
        command="learn",
    ),
    Verb(
        name="brief",
        says="What a session should begin with, for a project or at all.",
        request=learning.BriefRequest,
        answer=learning.BriefAnswer,
        run=learning.brief,
        access=Access.READ,
        method="GET",
        path="/brief",
        tool=None,  # a resource: what an agent begins with it does not ask for
        command="brief",
    ),
    Verb(
        name="proposals",
        says="What waits for a decision, or was decided.",
        request=curation.ProposalsRequest,
        answer=curation.ProposalsAnswer,
        run=curation.proposals,
        access=Access.READ,
        method="GET",
        path="/proposals",
        tool=None,  # the inbox is there for people to decide
        command="curate inbox",
    ),
    Verb(
        name="proposal",
        says="One proposal.",
        request=curation.ProposalRequest,
        answer=curation.ProposalAnswer,
        run=curation.proposal,
        access=Access.READ,
        method="GET",
        path="/proposals/{id}",
        tool=None,  # likewise
        command="curate show",
    ),
    Verb(
        name="apply_proposal",
        says="Do what a proposal says; it can be undone.",
        request=curation.ProposalRequest,
        answer=curation.ProposalAnswer,
        run=curation.apply_proposal,
        access=Access.WRITE,
        method="POST",
        path="/proposals/{id}/apply",
        tool=None,  # likewise
        command="curate apply",
    ),
    Verb(
        name="dismiss_proposal",
        says="Decide against a proposal; it is not made again.",
        request=curation.ProposalRequest,
        answer=curation.ProposalAnswer,
        run=curation.dismiss_proposal,
        access=Access.WRITE,
        method="POST",
        path="/proposals/{id}/dismiss",
        tool=None,  # likewise
        command="curate dismiss",
    ),
    Verb(
        name="undo_proposal",
        says="Take back what a proposal did.",
        request=curation.ProposalRequest,
        answer=curation.ProposalAnswer,
        run=curation.undo_proposal,
        access=Access.WRITE,
        method="POST",
        path="/proposals/{id}/undo",
        tool=None,  # likewise
        command="curate undo",
    ),
)

BY_NAME = {verb.name: verb for verb in VERBS}
