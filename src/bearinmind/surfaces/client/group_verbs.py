"""The groups of verbs of a server: the inbox, the concept graph, users and keys, secrets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Unpack

from bearinmind import errors
from bearinmind.accounts.keys import OVERLAP, Bearer, NewKey
from bearinmind.app.accounts import Erasure
from bearinmind.app.requests import PROPOSALS, FilterFields
from bearinmind.app.server import Bucket, Density, Report, Sizes, Traffic, WholeTraffic
from bearinmind.concepts import Concept, Merge
from bearinmind.curate.review import Review
from bearinmind.graph.lookup import MemoryCard
from bearinmind.graph.walk import Neighbours, Subgraph
from bearinmind.models.server_calls import Steps
from bearinmind.proposals import Proposal, ProposalState
from bearinmind.protocols import AgentSession, AuditEntry, DeadJob, Step, User
from bearinmind.remember.admit import check_user
from bearinmind.surfaces.client.verb_calls import Group, Way, verb
from bearinmind.surfaces.verbs.graph_verbs import ConceptAnswer, PathAnswer
from bearinmind.text import ids
from bearinmind.types import Access, Key, Resolution, Share, Trust, choose
from bearinmind.work.status import WorkStatus

_HOUR = timedelta(hours=1)


class CurationVerbs(Group[Way]):
    """Proposals to change memories, and the decisions about them."""

    @verb
    def proposals(
        self,
        states: Iterable[ProposalState | str] = (ProposalState.OPEN,),
        *,
        limit: int = PROPOSALS,
    ) -> Steps[Sequence[Proposal]]:
        """The proposals in these states, those that were made or decided last first."""
        chosen = [choose(ProposalState, state, errors.InvalidInput) for state in states]
        return self._calls.part("proposals", "curation.proposals", states=chosen, limit=limit)

    @verb
    def proposal(self, id: str) -> Steps[Proposal]:
        """One proposal."""
        return self._calls.answer("curation.proposal", id=ids.normalise(id))

    @verb
    def review(
        self, *, propose: bool = False, since: datetime | None = None, ask: bool = False
    ) -> Steps[Review]:
        """Review all memories for what could be changed; with `propose` into the inbox."""
        return self._calls.answer("curation.review", propose=propose, since=since, ask=ask)

    @verb
    def apply(
        self,
        id: str,
        resolution: Resolution | str | None = None,
        *,
        trust: Trust | str = Trust.USER,
    ) -> Steps[Proposal]:
        """Do what a proposal says, or say which of two memories holds; it can be undone."""
        word = None if resolution is None else choose(Resolution, resolution, errors.InvalidInput)
        return self._calls.answer(
            "curation.apply", id=ids.normalise(id), resolution=word, trust=_trust(trust)
        )

    @verb
    def dismiss(self, id: str, *, trust: Trust | str = Trust.USER) -> Steps[Proposal]:
        """Decide against a proposal; it is not made again."""
        return self._calls.answer("curation.dismiss", id=ids.normalise(id), trust=_trust(trust))

    @verb
    def undo(self, id: str) -> Steps[Proposal]:
        """Take back what a proposal did."""
        return self._calls.answer("curation.undo", id=ids.normalise(id))


class GraphVerbs(Group[Way]):
    """The concepts that the memories mention, and their relations."""

    @verb
    def hubs(
        self, *, limit: int = 20, containing: str | None = None, **fields: Unpack[FilterFields]
    ) -> Steps[Sequence[Concept]]:
        """The concepts that most memories mention, perhaps only those with a text in the name."""
        return self._calls.part(
            "concepts", "graph.hubs", limit=limit, containing=containing, **fields
        )

    @verb
    def neighbours(
        self, concept: str, *, limit: int = 20, **fields: Unpack[FilterFields]
    ) -> Steps[Neighbours]:
        """What is one step away from a concept: by relation first, then by memories."""
        return self._calls.part(
            "neighbours", "graph.neighbours", concept=concept, limit=limit, **fields
        )

    @verb
    def concept(
        self, concept: str, *, limit: int = 20, **fields: Unpack[FilterFields]
    ) -> Steps[ConceptAnswer]:
        """A concept with its memories and its relations, past ones included."""
        return self._calls.answer("graph.concept", concept=concept, limit=limit, **fields)

    @verb
    def subgraph(
        self, centre: str, *, hops: int = 1, limit: int = 30, **fields: Unpack[FilterFields]
    ) -> Steps[Subgraph]:
        """The concepts within some steps of one, and what joins them."""
        return self._calls.answer("graph.subgraph", centre=centre, hops=hops, limit=limit, **fields)

    @verb
    def path(
        self, start: str, goal: str, *, longest: int = 4, **fields: Unpack[FilterFields]
    ) -> Steps[PathAnswer]:
        """The shortest way from a concept to another."""
        return self._calls.answer("graph.path", start=start, goal=goal, longest=longest, **fields)

    @verb
    def of_memory(self, id: str) -> Steps[MemoryCard]:
        """What a memory mentions, and the relations that it is evidence for."""
        return self._calls.answer("graph.of_memory", id=ids.canonical(id))

    @verb
    def merges(self, *, undone: bool = False) -> Steps[Sequence[Merge]]:
        """The merges that hold, oldest first; with `undone` also those that were undone."""
        return self._calls.part("merges", "graph.merges", undone=undone)

    @verb
    def merge(self, alias: str, into: str, *, reason: str = "said so") -> Steps[Merge]:
        """Treat a concept as another one until `unmerge`; nothing is rewritten."""
        return self._calls.answer("graph.merge", alias=alias, into=into, reason=reason)

    @verb
    def unmerge(self, alias: str) -> Steps[str]:
        """Undo a merge; the name of the concept that is separate again."""
        return self._calls.part("name", "graph.unmerge", alias=alias)


class AccountVerbs(Group[Way]):
    """Users, their keys, and the audit, for a key with admin access."""

    @verb
    def users(self) -> Steps[Sequence[User]]:
        """Every user, by name."""
        return self._calls.part("users", "accounts.users")

    @verb
    def add_user(self, name: str) -> Steps[User]:
        """Add a user."""
        return self._calls.answer("accounts.add_user", name=check_user(name))

    @verb
    def disable_user(self, name: str) -> Steps[User]:
        """Stop letting a user in; their memories and keys stay."""
        return self._calls.answer("accounts.disable_user", name=check_user(name))

    @verb
    def enable_user(self, name: str) -> Steps[User]:
        """Let a user in again."""
        return self._calls.answer("accounts.enable_user", name=check_user(name))

    @verb
    def plan_erasure(self, name: str) -> Steps[Erasure]:
        """What erasing a user would remove for good; nothing is changed."""
        return self._calls.answer("accounts.plan_erasure", name=check_user(name))

    @verb
    def erase_user(self, name: str, *, memories: int) -> Steps[Erasure]:
        """Remove everything of a user for good, if they have as many memories as was agreed to."""
        return self._calls.answer("accounts.erase_user", name=check_user(name), memories=memories)

    @verb
    def keys(self, user: str | None = None) -> Steps[Sequence[Key]]:
        """The keys of a user, or of everybody, oldest first; their hashes stay on the server."""
        return self._calls.part(
            "keys", "accounts.keys", user=None if user is None else check_user(user)
        )

    @verb
    def create_key(
        self,
        user: str,
        *,
        access: Access | str = Access.WRITE,
        label: str = "",
        expires_at: datetime | None = None,
        per_minute: int | None = None,
        per_day: int | None = None,
    ) -> Steps[NewKey]:
        """A new key of a user. Only now can its text be seen."""
        made = yield from self._calls.answer(
            "accounts.create_key",
            user=check_user(user),
            access=choose(Access, access, errors.InvalidKeyTerms),
            label=label,
            expires_at=expires_at,
            per_minute=per_minute,
            per_day=per_day,
        )
        return _with_hash(made)

    @verb
    def renew_key(self, id: str, *, overlap: timedelta = OVERLAP) -> Steps[NewKey]:
        """A new key with the same terms; the old one stays good for as long as the overlap."""
        terms = {"id": _key_id(id), "overlap_hours": overlap / _HOUR}
        return _with_hash((yield from self._calls.answer("accounts.renew_key", **terms)))

    @verb
    def revoke_key(self, id: str) -> Steps[Key]:
        """Revoke a key."""
        return self._calls.answer("accounts.revoke_key", id=_key_id(id))

    @verb
    def my_keys(self) -> Steps[Sequence[Key]]:
        """Your keys, oldest first."""
        return self._calls.part("keys", "accounts.my_keys")

    @verb
    def renew_my_key(self, *, overlap: timedelta = OVERLAP) -> Steps[NewKey]:
        """A new key in place of the one that you use, which stays good as long as the overlap."""
        hours = overlap / _HOUR
        made = yield from self._calls.answer("accounts.renew_my_key", overlap_hours=hours)
        return _with_hash(made)

    @verb
    def revoke_my_key(self, id: str) -> Steps[Key]:
        """Revoke one of your keys."""
        return self._calls.answer("accounts.revoke_my_key", id=_key_id(id))

    @verb
    def my_audit(self, limit: int = 100) -> Steps[Sequence[AuditEntry]]:
        """What was done with your secrets, shares and keys, youngest first."""
        return self._calls.part("entries", "accounts.my_audit", limit=limit)

    @verb
    def audit(self, limit: int = 100) -> Steps[Sequence[AuditEntry]]:
        """What was done with secrets, shares, users and keys, youngest first."""
        return self._calls.part("entries", "accounts.audit", limit=limit)


class CountVerbs(Group[Way]):
    """Counts over time; sizes, shares and reports for a key with admin access."""

    @verb
    def density(self, bucket: Bucket | str = Bucket.DAY) -> Steps[Density]:
        """How many of your memories were made in each day, week or month."""
        chosen = choose(Bucket, bucket, errors.InvalidInput)
        return self._calls.answer("server.density", bucket=chosen)

    @verb
    def agent_sessions(self, limit: int = 100) -> Steps[Sequence[AgentSession]]:
        """The sessions of agents in which your memories were made, the latest first."""
        return self._calls.part("sessions", "server.agent_sessions", limit=limit)

    @verb
    def traffic(self, step: Step | str = Step.MINUTE) -> Steps[Traffic]:
        """What you did: by minute for a day, by hour for 90 days."""
        return self._calls.answer("server.traffic", step=choose(Step, step, errors.InvalidInput))

    @verb
    def whole_traffic(self, step: Step | str = Step.MINUTE) -> Steps[WholeTraffic]:
        """What everybody did: by minute for a day, by hour for 90 days."""
        chosen = choose(Step, step, errors.InvalidInput)
        return self._calls.answer("server.whole_traffic", step=chosen)

    @verb
    def sizes(self) -> Steps[Sizes]:
        """How large the store is, and who has how much."""
        return self._calls.answer("server.sizes")

    @verb
    def shares(self) -> Steps[Sequence[Share]]:
        """What everybody shares, by owner."""
        return self._calls.part("shares", "server.shares")

    @verb
    def reports(self) -> Steps[Sequence[Report]]:
        """The benchmark reports that the server can show, the youngest first."""
        return self._calls.part("reports", "server.reports")


class WorkVerbs(Group[Way]):
    """Background work, for a key with admin access."""

    @verb
    def status(self) -> Steps[WorkStatus]:
        """The vector spaces of the store, its extractor, and its queue."""
        return self._calls.answer("work.status")

    @verb
    def dead(self, limit: int = 100) -> Steps[Sequence[DeadJob]]:
        """The jobs that were given up, the youngest first."""
        return self._calls.part("jobs", "work.dead", limit=limit)

    @verb
    def retry_dead(self) -> Steps[int]:
        """Try again the jobs that were given up; how many they are."""
        return self._calls.part("jobs", "work.retry_dead")


class SecretVerbs(Group[Way]):
    """Sensitive memories."""

    @verb
    def reveal(self, id: str, *, version: int | None = None) -> Steps[str]:
        """The text of a sensitive memory; each call is written to the audit log."""
        return self._calls.part("content", "secrets.reveal", id=ids.canonical(id), version=version)


def _trust(trust: Trust | str) -> Trust:
    return choose(Trust, trust, errors.InvalidProvenance)


def _key_id(text: str) -> str:
    """The id of a key; were the whole of it given, its secret would be in the path."""
    bearer = Bearer.read(text)
    return bearer.id if bearer else text


def _with_hash(made: NewKey) -> NewKey:
    """A new key with the hash of its text, which is never sent."""
    bearer = Bearer.read(made.text)
    if bearer is None:
        raise errors.InvalidAnswer("the server answered a new key that is none")
    return replace(made, key=replace(made.key, hash=bearer.hash))
