"""What waits in a store: jobs for workers, and proposals for people."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from bearinmind.proposals import REDACTED, Proposal, ProposalKind, ProposalState
from bearinmind.protocols import Job, WorkCount, WorkState
from bearinmind.store import rows, sync_feed
from bearinmind.store.database import (
    Database,
    OnDatabase,
    Owned,
    Parameters,
    Row,
    Transaction,
    Version,
)
from bearinmind.text.ids import new_id
from bearinmind.types import Link, Memory, MemoryId, Scope, Space

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
                x for x in new if transaction.change("infer_link", link_row(transaction, x))
            ]
            sync_feed.note_written(transaction, links=changed)

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


def queue_versions(
    transaction: Owned,
    versions: Sequence[Version],
    embedded: Container[int] = (),
    read_by: int | None = None,
) -> None:
    """Queue the jobs that embed, read and compare inserted versions.

    `embedded` are the spaces that have their vectors already, `read_by` is the extractor that has
    read them. Past versions come last, and are not compared.
    """
    plain = [each for each in versions if not each.memory.sensitive]
    if not plain:
        return
    for space, key, _, turn in transaction.rows("spaces_in_use"):
        if space not in embedded:
            transaction.insert("insert_job", [_job("embed", x, key, turn) for x in plain])
    for extractor, key in transaction.rows("extractor_in_use"):
        if extractor != read_by:
            transaction.insert("insert_job", [_job("extract", x, key) for x in plain])
    transaction.insert("insert_job", [_job("compare", x) for x in plain if not x.past])


def _job(kind: str, version: Version, target: str = "", turn: int = 0) -> dict[str, object]:
    place = 2 if version.past else turn
    return {"kind": kind, "target": target, "row": version.row, "turn": place}


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


def keep_vectors(
    database: Database,
    transaction: Transaction,
    space: Space,
    jobs: Sequence[Parameters],
    vectors: Sequence[Parameters],
) -> int:
    """Keep the vectors of jobs, which name their owners, and remove these; how many were new.

    Inside a transaction of the caller.
    """
    number = transaction.row("space_number", {"key": space.key})
    if number is None:  # the space was dropped meanwhile, and its jobs with it
        return 0
    place = {"space": number[0], "key": space.key}
    keeping = [{**place, **job, **vector} for job, vector in zip(jobs, vectors, strict=True)]
    statements = database.steps.keep_vector
    kept, *_ = [transaction.change_each(each, keeping) for each in statements]
    transaction.change_each("finish_job", keeping)
    return kept


def _to_job(row: tuple[object, ...]) -> Job:
    number, kind, target, attempts, *columns = row
    owner = columns[1]  # of a copy not the memory's: it is kept under another name
    return Job(number, kind, target, owner, rows.to_memory(columns), attempts)  # type: ignore[arg-type]


_DIGEST = 32  # bytes
_OBJECTS = ("memories", "evidence", "change", "undo")  # kept as JSON


def redact_proposals(transaction: Owned, ids: Sequence[MemoryId], reason: str = REDACTED) -> None:
    """Remove what proposals say of these memories, inside a transaction of the caller.

    Their ids and digests too, for random ones: they are made from the text, and a short text can be
    guessed from them. So the same may be proposed again.
    """
    named = [_json(id_) for id_ in ids]  # as they stand in the JSON that is kept
    redacted = [
        {"id": id_, "new_id": new_id(), "digest": token_hex(_DIGEST), "reason": reason}
        for [id_] in transaction.rows("proposals_naming", {"named": named})
    ]
    transaction.change_each("redact_proposal", redacted)


def _from_proposal(proposal: Proposal) -> dict[str, Any]:
    encoded = {name: _json(getattr(proposal, name)) for name in _OBJECTS}
    return rows.from_noun(proposal) | encoded


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _to_proposal(row: Row) -> Proposal:
    decoded: dict[str, Any] = dict.fromkeys(_OBJECTS, json.loads)
    decoded["memories"] = lambda text: tuple(json.loads(text))
    return rows.to_noun(Proposal, row, kind=ProposalKind, state=ProposalState, **decoded)


# ---- judgements of links, without their texts where a memory is sensitive ------------------------


def link_row(transaction: Owned, link: Link) -> dict[str, Any]:
    """A link as parameters, without texts about a memory that has a sensitive version.

    They quote it. Every store leaves them out by the same rule, so that need not be synced.
    """
    judgement = link.judgement
    ends = {"ids": [link.source, link.target]}
    if judgement is not None and transaction.rows("sensitive_among", ends):
        link = replace(link, judgement=replace(judgement, thing="", aspect="", evidence=()))
    return rows.from_link(link)


def conceal_judgements(transaction: Owned, versions: Iterable[Memory]) -> None:
    """Remove the texts of what was judged about memories that are sensitive."""
    for id_ in dict.fromkeys(memory.id for memory in versions if memory.sensitive):
        transaction.change("conceal_judgements", {"id": id_})
