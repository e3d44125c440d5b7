"""The facts that every writer of files stores; no two are alike, and all are made up.

Each writer runs inside the environment of its program, with PYTHONPATH=benchmarks, so it needs the
standard library alone. `python benchmarks/peers/files/facts.py` prints the facts as JSON, for the
writer that is no Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

COUNT = 210
_TOPICS = ("billing", "search", "checkout", "invoices", "login", "reports", "exports")
_FACTS = (
    "The {topic} service of region {n} listens on port {port}.",
    "Runbook {n} for {topic} says to drain the queue before a restart.",
    "We agreed that {topic} ticket {n} waits for the audit.",
    "Team {n} owns the {topic} dashboard and reviews it on Mondays.",
    "Customer {n} asked for a {topic} trial of {port} days.",
)


class Fact(NamedTuple):
    """Something to store."""

    number: int
    topic: str
    text: str


def facts(count: int = COUNT) -> Iterator[Fact]:
    """That many facts, in an order that never changes."""
    for n in range(count):
        topic = _TOPICS[n % len(_TOPICS)]
        text = _FACTS[n % len(_FACTS)].format(topic=topic, n=n, port=7000 + n)
        yield Fact(n, topic, text)


if __name__ == "__main__":
    print(json.dumps([fact._asdict() for fact in facts()]))
