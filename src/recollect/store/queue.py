"""The durable queue of background work in a SQLite file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.protocols import Job, WorkCount, WorkState
from recollect.store import rows
from recollect.store.file import SqliteFile
from recollect.store.queries import SQLITE as SQL
from recollect.types import Space

if TYPE_CHECKING:
    from recollect.protocols import Vectors

ERROR_LENGTH = 500  # characters kept of why a job failed


class WorkInFile(SqliteFile):
    """Satisfies `recollect.protocols.Work`.

    A claim is told from a later one by the number of attempts: whoever gives back a job that was
    claimed again meanwhile changes nothing.
    """

    def claim(self, kinds: Sequence[str], limit: int, now: datetime, until: datetime) -> list[Job]:
        """Take the oldest jobs that are due, or whose claim has run out, until a moment."""
        asked = {"now": rows.from_time(now), "kinds": json.dumps([*kinds])}
        if not self._read("anything_due", asked):  # the usual answer needs no turn at writing
            return []
        taking = {"until": rows.from_time(until), "limit": limit}
        with self._write() as connection:
            taken = connection.execute(SQL["claim"], asked | taking).fetchall()
            numbers = json.dumps([number for [number] in taken])
            found = connection.execute(SQL["jobs"], {"numbers": numbers}).fetchall()
        return [_to_job(row) for row in found]

    def finish_embedding(self, space: Space, jobs: Sequence[Job], vectors: Vectors) -> int:
        """Keep the vectors and remove the jobs, in one transaction; how many were new."""
        from recollect.store import matrix  # noqa: PLC0415 (numpy is slow to import)

        encoded = matrix.encode(vectors, len(jobs), space.dimensions)
        with self._write() as connection:
            number = connection.execute(SQL["space_number"], (space.key,)).fetchone()
            if number is None:  # the space was dropped meanwhile, and its jobs with it
                return 0
            keeping = [
                {
                    "space": number[0],
                    "key": space.key,
                    "number": job.number,
                    "code": code,
                    "vector": vector,
                }
                for job, code, vector in zip(jobs, *encoded, strict=True)
            ]
            kept = connection.executemany(SQL["keep_code"], keeping).rowcount
            connection.executemany(SQL["keep_vector"], keeping)
            connection.executemany(SQL["finish_job"], [(job.number, space.key) for job in jobs])
        return kept

    def give_back(
        self, jobs: Sequence[Job], error: str, due: datetime, *, dead: bool = False
    ) -> None:
        """Put claimed jobs back for another attempt at a later time, or give them up.

        Without an error they were not tried, and it counts as no attempt.
        """
        common = {
            "state": WorkState.DEAD if dead else WorkState.WAITING,
            "due": rows.from_time(due),
            "error": error[:ERROR_LENGTH],
        }
        with self._write() as connection:
            connection.executemany(
                SQL["give_back"],
                [common | {"number": job.number, "attempts": job.attempts + 1} for job in jobs],
            )

    def revive(self, kind: str) -> int:
        """Make the dead jobs of a kind wait again; how many there were."""
        with self._write() as connection:
            return connection.execute(SQL["revive"], (kind,)).rowcount

    def work_counts(self, now: datetime) -> list[WorkCount]:
        """What is in the queue."""
        found = self._read("work_counts", {"now": rows.from_time(now)})
        return [
            WorkCount(kind, target, WorkState(state), jobs, error)
            for kind, target, state, jobs, error, _ in found
        ]

    def next_due(self, now: datetime, kinds: Sequence[str] | None = None) -> datetime | None:
        """When the next job, perhaps only of these kinds, can be claimed; None: nothing waits."""
        asked = {"kinds": None if kinds is None else json.dumps([*kinds])}
        [[due]] = self._read("next_due", asked)
        return None if due is None else max(now, rows.to_time(due))


def _to_job(row: tuple[object, ...]) -> Job:
    number, kind, target, attempts, *columns = row
    memory = rows.to_memory(columns)
    return Job(number, kind, target, memory.owner, memory, attempts)  # type: ignore[arg-type]
