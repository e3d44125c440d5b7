"""How long recalls take as a server grows, and how many there are as clients are added."""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import statistics
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event, Semaphore
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING

import psycopg

from bearinmind.protocols import Embedder
from bearinmind.store.postgres.binaries import programs_for
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import Space
from postgres.processors import APART, TOGETHER, Processors, placed, server_of
from postgres.recording import Scripts, recorded_scripts
from postgres.tenants import (
    ASKED,
    TENANTS,
    Given,
    asked_owner,
    fill_asked,
    grow,
    open_tenant,
    questions,
)

if TYPE_CHECKING:
    from bearinmind.protocols import Vector

QUESTIONS = 40
SENT = 12  # of them are sent again and again when it is counted how many there are a second
ROUNDS = 3
TURNS = 3  # of recalls and of pgbench, one after the other; the median counts
WARMING = 3.0  # seconds in which every connection prepares its statements; they do not count
_PROGRESS = re.compile(r"^progress: ([\d.]+) s, ([\d.]+) tps", re.MULTILINE)


def measure_growth(url: str, real: Embedder, sizes: Sequence[int]) -> dict[str, float]:
    """The p95 of the same tenants in each size, as multiples of that in the first."""
    store = PostgresStore(url)
    fill_asked(store, real)
    given = Given(real.space, questions(real, QUESTIONS))
    p95: dict[int, float] = {}
    before = 0
    for size in sizes:
        began = perf_counter()
        before = grow(url, before, size)
        held, bytes_ = _size(url)
        print(
            f"{held:,} memories of {TENANTS:,} tenants in {perf_counter() - began:.0f} s, "
            f"{bytes_ / held:,.0f} bytes each",
            flush=True,
        )
        times = _ask_all(store, given)
        p95[size] = _at(times, 0.95)
        print(
            f"{size:11,} recall p50 {_at(times, 0.5):6.2f} ms  p95 {p95[size]:6.2f} ms", flush=True
        )
    store.close()
    if len(sizes) == 1:
        return {}
    return {f"postgres-p95-{size}": p95[size] / p95[sizes[0]] for size in sizes[1:]}


def _ask_all(store: PostgresStore, given: Given) -> list[float]:
    """Milliseconds of every question to every tenant; of each the fastest of some rounds."""
    tenants = [open_tenant(store, asked_owner(number), given) for number in range(ASKED)]
    best = [float("inf")] * (ASKED * len(given.texts))
    for _ in range(ROUNDS):
        gc.disable()
        asked = [(tenant, text) for tenant in tenants for text in given.texts]
        for place, (tenant, text) in enumerate(asked):
            began = perf_counter()
            tenant.recall(text)
            best[place] = min(best[place], (perf_counter() - began) * 1e3)
        gc.enable()
    return best


def measure_throughput(
    url: str, real: Embedder, clients: Sequence[int], seconds: float
) -> dict[str, float]:
    """Recalls a second as a share of pgbench's, and whether more clients ever mean fewer.

    Twice: with all processors for everybody, and with half of them for the server and the other
    half for the clients, as if those were on a machine of their own.
    """
    vectors = questions(real, SENT)
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        scripts = recorded_scripts(Path(folder), url, Given(real.space, vectors))
        for name, places in (("together", TOGETHER), ("apart", APART)):
            rates, shares = [], []
            with placed(server_of(url), places.server):
                for count in clients:
                    turns = [
                        (
                            _recalls(url, real.space, vectors, count, seconds, places.clients),
                            _pgbench(url, scripts, count, seconds, places.clients),
                        )
                        for _ in range(TURNS)
                    ]
                    rates.append(statistics.median(rate for rate, _ in turns))
                    shares.append(statistics.median(rate / bench for rate, bench in turns))
                    print(
                        f"{name:8} {count:3} clients: {rates[-1]:7.1f} recalls a second, "
                        f"share of pgbench {shares[-1]:.2f}",
                        flush=True,
                    )
            best = accumulated_best(rates)
            kept = min(rate / so_far for rate, so_far in zip(rates, best, strict=True))
            figures[f"postgres-throughput-{name}"] = min(shares)
            figures[f"postgres-throughput-{name}-kept"] = kept
    return figures


def accumulated_best(rates: Sequence[float]) -> list[float]:
    """The best rate so far, at each count of clients."""
    return [max(rates[: place + 1]) for place in range(len(rates))]


def _recalls(
    url: str,
    space: Space,
    vectors: Mapping[str, Vector],
    clients: int,
    seconds: float,
    processors: Processors,
) -> float:
    """Recalls a second of so many clients, in as many processes as they have processors."""
    context = multiprocessing.get_context("spawn")
    processes = min(clients, len(processors))
    start = context.Event()
    done: Queue[int] = context.Queue()
    ready = context.Semaphore(0)
    workers = [
        context.Process(
            target=_recall_for,
            args=(url, space, dict(vectors), clients // processes, seconds, ready, start, done),
        )
        for _ in range(processes)
    ]
    with placed(os.getpid(), processors):  # which those that it starts inherit
        for worker in workers:
            worker.start()
    for _ in workers:
        ready.acquire()
    start.set()
    total = sum(done.get() for _ in workers)
    for worker in workers:
        worker.join()
    return total / seconds


def _recall_for(
    url: str,
    space: Space,
    vectors: dict[str, Vector],
    threads: int,
    seconds: float,
    ready: Semaphore,
    start: Event,
    done: Queue[int],
) -> None:
    store = PostgresStore(url, connections=2 * threads)
    given = Given(space, vectors)
    tenants = [open_tenant(store, asked_owner(number), given) for number in range(ASKED)]
    for text in given.texts:
        tenants[0].recall(text)
    counts = [0] * threads
    ending = threading.Event()

    def client(number: int) -> None:
        while not ending.is_set():
            text = given.texts[(number * 7 + counts[number]) % len(given.texts)]
            tenants[(number + counts[number]) % ASKED].recall(text)
            counts[number] += 1

    clients = [threading.Thread(target=client, args=(number,)) for number in range(threads)]
    ready.release()
    start.wait()
    for each in clients:
        each.start()
    sleep(WARMING)
    before = sum(counts)
    sleep(seconds)
    done.put(sum(counts) - before)
    ending.set()
    for each in clients:
        each.join()
    store.close()


def _pgbench(
    url: str, scripts: Scripts, clients: int, seconds: float, processors: Processors
) -> float:
    """Transactions a second, each of them the statements of one recall."""
    programs = programs_for(None)
    command = [programs.path("pgbench"), "-n", "-M", "prepared", "-c", str(clients)]
    command += [
        "-j",
        str(min(clients, len(processors))),
        "-T",
        str(round(WARMING + seconds)),
        "-P",
        "1",
    ]
    command += [part for script in scripts.files for part in ("-f", str(script))]
    command += [
        part for name, value in scripts.values.items() for part in ("-D", f"{name}={value}")
    ]
    with placed(os.getpid(), processors):
        told = subprocess.run([*command, url], capture_output=True, text=True, check=False)
    every = [(float(at), float(rate)) for at, rate in _PROGRESS.findall(told.stderr)]
    warm = [rate for at, rate in every if at > WARMING]
    if told.returncode or not warm:
        raise SystemExit(f"pgbench failed: {told.stderr[:500]}")
    return statistics.fmean(warm)


def _size(url: str) -> tuple[int, int]:
    with psycopg.connect(url) as connection:
        [row] = connection.execute(
            "SELECT (SELECT count(*) FROM memories), pg_database_size(current_database())"
        ).fetchall()
    return int(row[0]), int(row[1])


def _at(times: Sequence[float], share: float) -> float:
    return statistics.quantiles(times, n=100)[round(share * 100) - 1]
