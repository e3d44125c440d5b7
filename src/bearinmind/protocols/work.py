"""What waits in a store: jobs for workers, and proposals for people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bearinmind.proposals import Proposal, ProposalState
from bearinmind.types import Link, Memory, Scope, Space, UserId

if TYPE_CHECKING:
    from bearinmind.protocols.search import Vectors


class Job(NamedTuple):
    """A piece of background work on one version of a memory."""

    number: int
    kind: str  #: such as "embed"
    target: str  #: for "embed" the key of the space, for "extract" that of the extractor
    owner: UserId
    memory: Memory  #: the version that the work is about
    attempts: int  #: how often it was tried before


class WorkState(StrEnum):
    """The state of a job."""

    WAITING = "waiting"
    RUNNING = "running"  #: claimed, and the claim still holds
    DEAD = "dead"  #: given up after too many attempts


class WorkCount(NamedTuple):
    """How many jobs of a kind are in a state."""

    kind: str
    target: str
    state: WorkState
    jobs: int
    last_error: str | None


class Work(Protocol):
    """The durable queue: its jobs survive any crash, and are done at least once.

    It belongs to the whole store, not to one scope: only workers may use it.
    """

    def claim(self, kinds: Sequence[str], limit: int, now: datetime, until: datetime) -> list[Job]:
        """Take the oldest jobs that are due, or whose claim has run out, until a moment.

        Those for the active space come before those for the one that is being filled.
        The jobs of a purged memory are gone.
        """

    def finish_embedding(self, space: Space, jobs: Sequence[Job], vectors: Vectors) -> int:
        """Keep the vectors and remove the jobs, in one transaction; how many were new."""

    def finish_comparison(
        self, scope: Scope, jobs: Sequence[Job], new: Sequence[Link], ended: Sequence[Link]
    ) -> None:
        """Keep the inferred links, end others and remove the jobs, in one transaction.

        A new link is kept only between two live memories in clear, and only where none between
        them holds in either direction. When none of the jobs is there any more, nothing is changed.
        """

    def give_back(
        self, jobs: Sequence[Job], error: str, due: datetime, *, dead: bool = False
    ) -> None:
        """Put claimed jobs back for another attempt at a later time, or give them up.

        An attempt is counted when there is an error.
        """

    def revive(self, kind: str) -> int:
        """Make the dead jobs of a kind wait again; how many there were."""

    @property
    def may_lose_jobs(self) -> bool:
        """Whether a crash may leave a memory without its jobs: the queue is on another machine."""

    def queue_missing(self) -> int:
        """Queue the memories that are neither embedded nor read and have no job; how many jobs."""

    def work_counts(self, now: datetime) -> list[WorkCount]:
        """The jobs in the queue, counted by kind and state."""

    def next_due(self, now: datetime, kinds: Sequence[str] | None = None) -> datetime | None:
        """When the next job, of these kinds if given, can be claimed; None when nothing waits."""


class Inbox(Protocol):
    """Keeps proposals. None is ever removed: what was decided is the log of operations.

    A purge redacts the proposals that name the purged memory, and dismisses open ones.
    """

    def propose(self, scope: Scope, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Keep the new ones; one whose digest was proposed before, in any state, is not new."""

    def proposals(
        self, scope: Scope, states: Sequence[ProposalState], limit: int, after: str | None = None
    ) -> list[Proposal]:
        """Proposals in these states, by id, after one of them."""

    def proposal(self, scope: Scope, id: str) -> Proposal | None:
        """One proposal."""

    def decide(self, scope: Scope, proposal: Proposal, before: ProposalState) -> bool:
        """Keep state, time and undo of a proposal; False when it was not in `before`."""

    def proposal_counts(self, scope: Scope) -> dict[ProposalState, int]:
        """How many proposals there are in each state."""
