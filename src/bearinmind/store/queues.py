"""What waits in a store: jobs for workers, and proposals for people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.protocols import Job, WorkCount, WorkState
from bearinmind.store import rows, writes
from bearinmind.store.database import Database, Row, Transaction
from bearinmind.store.rows import OnDatabase
from bearinmind.store.spaces import keep_vectors
from bearinmind.types import Link, Scope, Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vectors

ERROR_LENGTH = 500  # characters kept of why a job failed


class QueuesInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Work` and `bearinmind.protocols.Inbox`.

    The number of attempts tells a claim from a later one: giving back a job that was claimed again
    meanwhile changes nothing.
    """

    def claim(self, kinds: Sequence[str], limit: int, now: datetime, until: datetime) -> list[Job]:
        parameters = {"now": rows.from_time(now), "kinds": [*kinds]}
        # the usual answer needs no write transaction
        if not self._database.read("anything_due", parameters):
            return []
        taking = {"until": rows.from_time(until), "limit": limit}
        with self._database.writing() as transaction:
            taken = transaction.rows("claim", parameters | taking)
        return [_to_job(row) for row in self._jobs(taken)]

    def _jobs(self, taken: Sequence[Row]) -> list[Row]:
        """The jobs that were taken with their versions, in the order of their turn."""
        places = {"owners": [row[0] for row in taken], "numbers": [row[1] for row in taken]}
        return self._database.read("jobs", places)

    def finish_embedding(self, space: Space, jobs: Sequence[Job], vectors: Vectors) -> int:
        encoded = self._database.vector_parameters(space, vectors, len(jobs))
        with self._database.writing(*(job.owner for job in jobs)) as transaction:
            places = [{"owner": job.owner, "number": job.number} for job in jobs]
            return keep_vectors(self._database, transaction, space, places, encoded)

    def finish_comparison(
        self, scope: Scope, jobs: Sequence[Job], new: Sequence[Link], ended: Sequence[Link]
    ) -> None:
        with self._writing(scope) as transaction:
            numbers = [{"number": job.number} for job in jobs]
            if jobs and not transaction.change_each("finish_comparison", numbers):
                return  # the version is a past one by now, or somebody else compared it
            changed = [x for x in ended if transaction.change("remove_link", rows.from_noun(x))]
            changed += [
                x for x in new if transaction.change("infer_link", writes.link_row(transaction, x))
            ]
            writes.note_written(transaction, links=changed)

    def give_back(
        self, jobs: Sequence[Job], error: str, due: datetime, *, dead: bool = False
    ) -> None:
        common = {
            "state": WorkState.DEAD if dead else WorkState.WAITING,
            "due": rows.from_time(due),
            "error": error[:ERROR_LENGTH],
        }
        returned = [
            {**common, "owner": job.owner, "number": job.number, "attempts": job.attempts + 1}
            for job in jobs
        ]
        # The turn of an owner may be on a machine that is away; then each job goes back by itself,
        # and waits for another while it holds none.
        spread = self.may_lose_jobs
        owners = () if spread else tuple(job.owner for job in jobs)
        for part in [[each] for each in returned] if spread else [returned]:
            with self._database.writing(*owners) as transaction:
                transaction.change_each("give_back", part)

    def revive(self, kind: str) -> int:
        with self._database.writing(alone=True) as transaction:
            return transaction.change("revive", {"kind": kind})

    @property
    def may_lose_jobs(self) -> bool:
        return False

    def queue_missing(self) -> int:
        with self._database.writing(alone=not self.may_lose_jobs) as transaction:
            return queue_missing(self._database, transaction)

    def work_counts(self, now: datetime) -> list[WorkCount]:
        records = self._database.read("work_counts", {"now": rows.from_time(now)})
        return [
            WorkCount(kind, target, WorkState(state), jobs, error)
            for kind, target, state, jobs, error, _ in records
        ]

    def next_due(self, now: datetime, kinds: Sequence[str] | None = None) -> datetime | None:
        parameters = {"kinds": None if kinds is None else [*kinds]}
        [[due]] = self._database.read("next_due", parameters)
        return None if due is None else max(now, rows.to_time(due))

    # ---- proposals -----------------------------------------------------------------------------

    def propose(self, scope: Scope, proposals: Sequence[Proposal]) -> list[Proposal]:
        with self._writing(scope) as transaction:
            return [
                proposal
                for proposal in proposals
                if transaction.change("propose", _from_proposal(proposal))
            ]

    def proposals(
        self, scope: Scope, states: Sequence[ProposalState], limit: int, after: str | None = None
    ) -> list[Proposal]:
        place = {"states": [*states], "after": after or "", "limit": limit}
        return [*map(_to_proposal, self._read(scope, "proposals", **place))]

    def proposal(self, scope: Scope, id: str) -> Proposal | None:
        records = self._read(scope, "proposal", id=id)
        return _to_proposal(records[0]) if records else None

    def decide(self, scope: Scope, proposal: Proposal, before: ProposalState) -> bool:
        decided = _from_proposal(proposal) | {"before": before}
        with self._writing(scope) as transaction:
            return bool(transaction.change("decide", decided))

    def proposal_counts(self, scope: Scope) -> dict[ProposalState, int]:
        records = self._read(scope, "count_proposals")
        return {ProposalState(state): count for state, count in records}


def queue_missing(database: Database, transaction: Transaction) -> int:
    """Queue the versions that are neither embedded nor read and have no job; how many jobs."""
    queued = 0
    for number, key, _, turn in transaction.rows("spaces_in_use"):
        place = {"space": number, "key": key, "turn": turn}
        active = turn == 0
        for statement in ("queue_all", *(database.steps.unembedded if active else ())):
            queued += transaction.change(statement, place)
    for number, key in transaction.rows("extractor_in_use"):
        reading = {"extractor": number, "key": key, "again": False}
        queued += transaction.change("queue_readings", reading)
    return queued


def _to_job(row: tuple[object, ...]) -> Job:
    number, kind, target, attempts, *columns = row
    owner = columns[1]  # of a copy not the memory's: it is kept under another name
    return Job(number, kind, target, owner, rows.to_memory(columns), attempts)  # type: ignore[arg-type]


_OBJECTS = ("memories", "evidence", "change", "undo")  # kept as JSON


def _from_proposal(proposal: Proposal) -> dict[str, Any]:
    objects = {name: getattr(proposal, name) for name in _OBJECTS}
    encoded = {name: json.dumps(value, ensure_ascii=False) for name, value in objects.items()}
    return rows.from_noun(proposal) | encoded


def _to_proposal(row: Row) -> Proposal:
    decoded: dict[str, Any] = dict.fromkeys(_OBJECTS, json.loads)
    decoded["memories"] = lambda text: tuple(json.loads(text))
    return rows.to_noun(Proposal, row, kind=ProposalKind, state=ProposalState, **decoded)
