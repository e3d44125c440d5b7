"""The verbs of the page about a server and its users: one row each, with what it takes and gives.

None is a tool: an agent has no use for them, and must not make keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from http import HTTPStatus
from typing import Annotated

from pydantic import Field

from bearinmind.accounts.keys import NewKey
from bearinmind.app import Mind
from bearinmind.app.accounts import Erasure
from bearinmind.app.server import Bucket, Density, Report, Sizes, Traffic, WholeTraffic
from bearinmind.errors import VersionConflict
from bearinmind.protocols import AgentSession, DeadJob, Step, User
from bearinmind.remember.pipeline import PurgePlan
from bearinmind.surfaces.verbs import requests as r
from bearinmind.surfaces.verbs import verb as v
from bearinmind.surfaces.verbs.requests import WHOLE
from bearinmind.surfaces.verbs.verb import MadeOfResult, Nothing, Request, Verb, reads, writes
from bearinmind.types import Access, Key
from bearinmind.work.status import WorkStatus

_MOST_PURGED = 500  # memories of one request

Ids = Annotated[list[r.Id], Field(min_length=1, max_length=_MOST_PURGED)]
Number = Annotated[int, Field(ge=0, le=1_000_000_000), WHOLE]


class PurgePlanRequest(Request):
    """Deleted memories."""

    ids: Ids


class PurgeRequest(PurgePlanRequest):
    """Deleted memories, and what the plan said of them: it is refused if that has changed."""

    versions: Number
    links: Number


class EraseRequest(r.UserRequest):
    """A user, and how many memories the plan said they have: it is refused if that has changed."""

    memories: Number


class DensityRequest(Request):
    """In which spans of time memories are counted."""

    bucket: Bucket = Bucket.DAY


class TrafficRequest(Request):
    """In which steps: by minute for a day, by hour for 90 days."""

    step: Step = Step.MINUTE


class RenewMyKeyRequest(Request):
    """For how long the key stays good beside the new one."""

    overlap_hours: Annotated[float, Field(ge=0, le=720)] = 24.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Purged:
    """What was removed for good."""

    plan: PurgePlan
    traces_may_remain: bool  #: for a while: another process reads the file, or a server keeps them


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSessionsAnswer(MadeOfResult):
    """The sessions of agents, the latest first."""

    sessions: tuple[AgentSession, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadAnswer(MadeOfResult):
    """Jobs that were given up, the youngest first."""

    jobs: tuple[DeadJob, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried:
    """How many jobs are tried again."""

    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportsAnswer(MadeOfResult):
    """Benchmark reports, the youngest first."""

    reports: tuple[Report, ...]


def purge(mind: Mind, request: PurgeRequest) -> Purged:
    """Remove deleted memories for good, if the plan is still what was agreed to."""
    plan = mind.plan_purge(request.ids)
    if (plan.versions, plan.links) != (request.versions, request.links):
        raise VersionConflict(
            f"the purge would remove {plan.versions:,} versions and {plan.links:,} links by now, "
            f"not {request.versions:,} and {request.links:,}",
            hint="Look at the plan again.",
        )
    return Purged(plan=plan, traces_may_remain=not mind.purge(plan))


def renew_my_key(mind: Mind, request: RenewMyKeyRequest) -> NewKey:
    """Make a key in place of the one that was sent."""
    return mind.accounts.renew_my_key(overlap=timedelta(hours=request.overlap_hours))


def retry_dead(mind: Mind, _: Nothing) -> Retried:
    """Try again what was given up."""
    return Retried(jobs=mind.work.retry_dead())


_admin = partial(Verb, access=Access.ADMIN, method="GET")

#: What every user may ask about what is theirs.
OWN_VERBS: tuple[Verb, ...] = (
    reads(
        name="plan_purge",
        says="What purging deleted memories would remove for good.",
        takes=PurgePlanRequest,
        gives=PurgePlan,
        path="/purge",
        command="purge --dry-run",
    ),
    writes(
        name="purge",
        says="Remove deleted memories for good, as planned; this cannot be undone.",
        function=purge,
        path="/purge",
        example={"ids": ["k7f29qmxt4hd"], "versions": 2, "links": 0},
    ),
    reads(
        name="server.density",
        says="How many of your memories were made when, by category.",
        takes=DensityRequest,
        gives=Density,
        path="/density",
        command="timeline",
    ),
    reads(
        name="server.agent_sessions",
        says="The sessions of agents in which your memories were made, the latest first.",
        takes=r.LatestRequest,
        gives=AgentSessionsAnswer,
        path="/sessions",
        command="timeline",
    ),
    reads(
        name="server.traffic",
        says="Your requests, recalls, stores and errors on the server over time.",
        takes=TrafficRequest,
        gives=Traffic,
        path="/traffic",
        command="traffic",
    ),
    reads(
        name="accounts.my_keys",
        says="Your keys, and how much of their quotas is used today.",
        gives=v.KeysAnswer,
        path="/me/keys",
        command="key list",
    ),
    writes(
        name="accounts.renew_my_key",
        says="Make a key in place of the one that you use, which stays good for a while.",
        function=renew_my_key,
        path="/me/key/renew",
        command="key rotate",
        status=HTTPStatus.CREATED,
        example={"overlap_hours": 24},
    ),
    writes(
        name="accounts.revoke_my_key",
        says="Revoke one of your keys.",
        takes=r.KeyRequest,
        gives=Key,
        method="DELETE",
        path="/me/keys/{id}",
        command="key revoke",
    ),
    reads(
        name="accounts.my_audit",
        says="What was done with your secrets, shares and keys, youngest first.",
        takes=r.LatestRequest,
        gives=v.AuditAnswer,
        path="/me/audit",
        command="audit",
    ),
)

#: What only an administrator may ask about everybody.
SERVER_VERBS: tuple[Verb, ...] = (
    _admin(
        name="server.whole_traffic",
        says="Everybody's requests, recalls, stores and errors over time.",
        takes=TrafficRequest,
        gives=WholeTraffic,
        path="/traffic/all",
        command="traffic --everybody",
    ),
    _admin(
        name="accounts.plan_erasure",
        says="What erasing a user would remove for good.",
        takes=r.UserRequest,
        gives=Erasure,
        path="/users/{name}/erasure",
        command="user erase --dry-run",
    ),
    _admin(
        name="accounts.erase_user",
        says="Remove everything of a user for good, as planned; this cannot be undone.",
        takes=EraseRequest,
        gives=Erasure,
        method="POST",
        path="/users/{name}/erasure",
        command="user erase",
        example={"memories": 12},
    ),
    _admin(
        name="server.shares",
        says="What everybody shares.",
        gives=v.SharesAnswer,
        path="/shares/all",
        command="share list --everybody",
    ),
    _admin(
        name="server.sizes",
        says="How large the store is, and who has how much.",
        gives=Sizes,
        path="/sizes",
        command="doctor",
    ),
    _admin(
        name="server.reports",
        says="The benchmark reports that the server can show.",
        gives=ReportsAnswer,
        path="/reports",
        command="bench report",
    ),
    _admin(
        name="work.status",
        says="How far background work is.",
        gives=WorkStatus,
        path="/work",
        command="work --status",
    ),
    _admin(
        name="work.dead",
        says="The jobs of background work that were given up, and why.",
        takes=r.LatestRequest,
        gives=DeadAnswer,
        path="/work/dead",
        command="work --status",
    ),
    _admin(
        name="work.retry_dead",
        says="Try again the jobs of background work that were given up.",
        function=retry_dead,
        method="POST",
        path="/work/retry",
        command="work --retry-dead",
    ),
)


# ---- users and keys ------------------------------------------------------------------------------


def renew_key(mind: Mind, request: r.RenewKeyRequest) -> NewKey:
    """Make a key in place of another one."""
    return mind.accounts.renew_key(request.id, overlap=timedelta(hours=request.overlap_hours))


def audit_log(mind: Mind, request: r.LatestRequest) -> v.AuditAnswer:
    """What everybody did."""
    return v.AuditAnswer(entries=tuple(mind.accounts.audit(request.limit, everybody=True)))


_change = partial(Verb, access=Access.ADMIN, method="POST")

ACCOUNT_VERBS: tuple[Verb, ...] = (
    _admin(
        name="accounts.users",
        says="Every user whom the server knows.",
        gives=v.UsersAnswer,
        path="/users",
        command="user list",
    ),
    _change(
        name="accounts.add_user",
        says="Add a user.",
        takes=r.UserRequest,
        gives=User,
        path="/users",
        command="user add",
        status=HTTPStatus.CREATED,
        example={"name": "grace"},
    ),
    _change(
        name="accounts.disable_user",
        says="Stop letting a user in; their memories and keys stay.",
        takes=r.UserRequest,
        gives=User,
        path="/users/{name}/disable",
        command="user disable",
    ),
    _change(
        name="accounts.enable_user",
        says="Let a user in again.",
        takes=r.UserRequest,
        gives=User,
        path="/users/{name}/enable",
        command="user enable",
    ),
    _admin(
        name="accounts.keys",
        says="The keys of a user, or of everybody.",
        takes=r.KeysRequest,
        gives=v.KeysAnswer,
        path="/keys",
        command="key list",
    ),
    _change(
        name="accounts.create_key",
        says="Make a key; its text is seen only in this answer.",
        takes=r.CreateKeyRequest,
        gives=NewKey,
        path="/keys",
        command="key create",
        status=HTTPStatus.CREATED,
        example={"user": "grace", "access": "write", "label": "laptop"},
    ),
    _change(
        name="accounts.renew_key",
        says="Make a key with the terms of another one, which stays good for a while.",
        function=renew_key,
        path="/keys/{id}/renew",
        command="key rotate",
        status=HTTPStatus.CREATED,
        example={"overlap_hours": 24},
    ),
    _change(
        name="accounts.revoke_key",
        says="Revoke a key.",
        takes=r.KeyRequest,
        gives=Key,
        method="DELETE",
        path="/keys/{id}",
        command="key revoke",
    ),
    _admin(
        name="accounts.audit",
        says="What was done with secrets, shares, users and keys, youngest first.",
        function=audit_log,
        path="/audit",
        command="audit",
    ),
)
