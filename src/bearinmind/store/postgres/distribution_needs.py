"""What a Citus cluster must have before tables are spread over it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from bearinmind import errors
from bearinmind.store.postgres.facts import LEAST_VECTOR, is_recent, look

if TYPE_CHECKING:
    from bearinmind.store.postgres.pool import Pool

#: The oldest Citus whose rules the schema and the statements were written by.
LEAST_CITUS = 12

_PAGE = "docs/explanation/beyond-one-machine.md"
_INSTALL = (
    "Install Citus on every machine, put it first in shared_preload_libraries, run CREATE "
    "EXTENSION citus; there, and name the machines with citus_set_coordinator_host and "
    f"citus_add_node: {_PAGE}."
)


class Node(NamedTuple):
    """A machine of the cluster."""

    address: str
    coordinates: bool
    may_hold_rows: bool


def check(pool: Pool) -> str:
    """Raise unless the cluster is ready; the version of its Citus.

    Raises:
        InvalidInput: something is missing, all of which is said.
    """
    found = pool.read("citus_version")
    if not found:
        raise errors.InvalidInput(f"{pool.place} does not have the extension citus", hint=_INSTALL)
    version: str = found[0][0]
    missing = [*_missing(pool, version)]
    if missing:
        said = "; ".join(problem for problem, _ in missing)
        raise errors.InvalidInput(
            f"{pool.place} cannot be spread yet: {said}; nothing was changed",
            hint=" ".join(remedy for _, remedy in missing),
        )
    return version


def _missing(pool: Pool, version: str) -> Iterator[tuple[str, str]]:
    """What is missing, and what to do about each."""
    if int((re.match(r"\d+", version) or ["0"])[0]) < LEAST_CITUS:
        yield (
            f"it has Citus {version}, and {LEAST_CITUS} or newer is needed",
            "Install a newer Citus on every machine and run ALTER EXTENSION citus UPDATE; there.",
        )
    nodes = [Node(*each) for each in pool.read("citus_nodes")]
    if not any(node.coordinates for node in nodes):
        yield (
            "the coordinator is not one of the machines that Citus knows",
            "Run SELECT citus_set_coordinator_host('its name'); there.",
        )
    if not any(node.may_hold_rows for node in nodes):
        yield (
            "no machine may hold rows",
            "Run SELECT citus_add_node('its name', 5432); for each worker.",
        )
    if look(pool).vector is not None and any(not node.coordinates for node in nodes):
        yield from _without_vector(pool)


def _without_vector(pool: Pool) -> Iterator[tuple[str, str]]:
    """The workers that cannot be asked, or cannot keep vectors."""
    for address, answered, answer in pool.read("vector_on_workers"):
        if not answered:
            yield (
                f"the worker {address} does not answer: {answer.strip().partition(chr(10))[0]}",
                f"Let the coordinator connect to {address} as the role that owns the tables.",
            )
        elif not is_recent(answer or None):
            yield (
                f"the worker {address} offers {f'pgvector {answer}' if answer else 'no pgvector'}",
                f"Install pgvector {LEAST_VECTOR} or newer on {address}.",
            )
