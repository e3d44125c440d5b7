"""How the statements of the two legs travel fastest: apart, side by side, or as one."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Any

import psycopg

from bearinmind.protocols import Embedder
from bearinmind.store.postgres.connection_pool import adapt
from bearinmind.store.postgres.queries import SQL
from bearinmind.store.postgres.store import PostgresStore
from postgres.recording import Sent, recording
from postgres.tenants import ASKED, Given, asked_owner, open_tenant, questions

ROUNDS = 5
LEGS = ("matches", "nearest")  # how the statements begin by which the legs find

Statement = tuple[str, dict[str, Any]]


def compare_legs(url: str, real: Embedder) -> None:
    """Milliseconds of the two statements, each way."""
    asked = _recorded(url, Given(real.space, questions(real, 40)))
    ways: dict[str, Callable[[list[Statement]], object]] = {}
    with (
        psycopg.connect(url, autocommit=True) as one,
        psycopg.connect(url, autocommit=True) as two,
        ThreadPoolExecutor(2) as threads,
    ):
        adapt(one)
        adapt(two)

        def apart(pair: list[Statement]) -> object:
            return [one.execute(*each).fetchall() for each in pair]

        def side_by_side(pair: list[Statement]) -> object:
            tasks = [
                threads.submit(lambda c, e: c.execute(*e).fetchall(), connection, each)
                for connection, each in zip((one, two), pair, strict=True)
            ]
            return [task.result() for task in tasks]

        def in_one_round_trip(pair: list[Statement]) -> object:
            with one.pipeline():
                cursors = [one.execute(*each) for each in pair]
            return [cursor.fetchall() for cursor in cursors]

        def as_one_statement(pair: list[Statement]) -> object:
            (first, said), (second, more) = pair
            renamed = {f"second_{name}": value for name, value in more.items()}
            second = second.replace("%(", "%(second_")
            both = (
                f"SELECT (SELECT json_agg(x) FROM ({first}) AS x ("
                + _columns(first, one, said)
                + ")), "
                f"(SELECT json_agg(y) FROM ({second}) AS y ("
                + _columns(second, one, renamed)
                + "))"
            )
            return one.execute(both, said | renamed).fetchall()

        ways = {
            "apart": apart,
            "side by side": side_by_side,
            "in one round trip": in_one_round_trip,
            "as one statement": as_one_statement,
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(ROUNDS):
            for pair in asked:
                for name, way in ways.items():
                    began = perf_counter()
                    way(pair)
                    times[name].append((perf_counter() - began) * 1e3)
    for name, taken in times.items():
        print(
            f"legs {name:20} p50 {statistics.median(taken):6.2f} ms  "
            f"p95 {statistics.quantiles(taken, n=20)[-1]:6.2f} ms",
            flush=True,
        )


_KNOWN: dict[str, str] = {}


def _columns(statement: str, connection: psycopg.Connection, said: dict[str, Any]) -> str:
    """Names for the columns of a statement: some have the same."""
    if statement not in _KNOWN:
        described = connection.execute(statement, said).description or []
        _KNOWN[statement] = ", ".join(f"c{place}" for place in range(len(described)))
    return _KNOWN[statement]


def _recorded(url: str, given: Given) -> list[list[Statement]]:
    """For each question the two statements by which the legs find."""
    store = PostgresStore(url)
    pairs = []
    with recording() as sent:
        for place, text in enumerate(given.texts):
            tenant = open_tenant(store, asked_owner(place % ASKED), given)
            sent.clear()
            tenant.recall(text)
            pair = [_found(sent, leg) for leg in LEGS]
            pairs.append([each for each in pair if each])
    store.close()
    return [pair for pair in pairs if len(pair) == len(LEGS)]


def _found(sent: Sent, leg: str) -> Statement | None:
    named = [(name, parameters) for _, name, parameters in sent if name.startswith(leg)]
    return (SQL[named[0][0]], dict(named[0][1])) if named else None
