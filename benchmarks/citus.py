"""A store that is spread over a real Citus cluster: how fast against plain Postgres, and kills.

`scripts/with-citus` starts the cluster. The plain store is a database without the extension on the
coordinator's own server: the same programs, settings, disk and processors, in turns.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import StoreFailure
from bearinmind.protocols import History
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.testing import TemporaryStore
from support.citus_cluster import URL, ClusterDatabases, Node, node_urls, run

CORPUS = Path(__file__).parent / "data" / "agent-store"
_AIMS = {"store": 1.5, "import": 1.5, "background work": 2.0, "recall": 1.5}
_IMPORTED, _STORED, _RECALLED = 100, 30, 60


def _lines(name: str) -> list[dict[str, str]]:
    text = (CORPUS / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def opened(url: str, user: str) -> Mind:
    """A memory of a user, without a model: the database is what is measured."""
    settings = Settings.model_validate({"embedder": "hash", "user": user})
    return Mind(PostgresStore(url, busy_timeout=60.0), settings)


@contextmanager
def plain_database() -> Iterator[str]:
    """The URL of a database on the coordinator that knows nothing of Citus."""
    run(URL, "CREATE DATABASE {} TEMPLATE template0", "plain")
    yield urlsplit(URL)._replace(path="/plain").geturl()
    run(URL, "DROP DATABASE {} WITH (FORCE)", "plain")


def _timed(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


def _life(url: str, user: str, texts: Sequence[str], questions: Sequence[str]) -> dict[str, float]:
    """Milliseconds that each thing takes a user: of one memory, or of one recall."""
    with opened(url, user) as memory:
        memory.work.run()  # the space and the extractor are in use before anything is measured
        imported, stored = texts[:_IMPORTED], texts[_IMPORTED:]
        with Mind(TemporaryStore(), memory.settings) as other:
            told = [other.store(text).memory for text in imported]
        histories = [History(versions=(each,)) for each in told]
        taken = {
            "import": _timed(lambda: memory.transfer.add(histories)) / len(imported),
            "store": _timed(lambda: [memory.store(text) for text in stored]) / len(stored),
            "background work": _timed(memory.work.wait) / len(texts),
        }
        memory.recall(questions[0])
        asked = [_timed(partial(memory.recall, question)) for question in questions]
        return {name: each * 1e3 for name, each in taken.items()} | {
            "recall": statistics.median(asked) * 1e3
        }


def ratios(rounds: int) -> None:
    """Print what a spread store takes against a plain one."""
    texts = [line["content"] for line in _lines("corpus.jsonl")]
    questions = [line["text"] for line in _lines("queries.jsonl")]
    databases = ClusterDatabases()
    spread = databases.migrated()
    chance = random.Random(1)
    taken: dict[str, list[dict[str, float]]] = {"plain": [], "citus": []}
    with plain_database() as plain:
        for number in range(rounds + 1):  # the first warms up
            own = chance.sample(texts, _IMPORTED + _STORED)
            asked = chance.sample(questions, _RECALLED)
            for name, url in (("plain", plain), ("citus", spread)):
                taken[name].append(_life(url, f"user-{number}", own, asked))
    databases.drop(spread)
    print(f"milliseconds of one memory or one recall, medians of {rounds} rounds in turns")
    for what, aim in _AIMS.items():
        plainly, spreadly = ([each[what] for each in taken[x][1:]] for x in ("plain", "citus"))
        ratio = statistics.median(b / a for a, b in zip(plainly, spreadly, strict=True))
        print(
            f"{what:16} plain {statistics.median(plainly):7.2f}   "
            f"Citus {statistics.median(spreadly):7.2f}   ratio {ratio:.2f} (aim {aim})"
        )


# ---- kills ---------------------------------------------------------------------------------------


class Storing(threading.Thread):
    """Stores one memory after another for a user, and notes what was said of each."""

    def __init__(self, url: str, user: str) -> None:
        super().__init__(daemon=True)
        self._url, self._user = url, user
        self.stopping = False
        self.acknowledged: list[str] = []
        self.unchanged: list[str] = []  #: texts of which "nothing was changed" was said
        self.unknown: list[str] = []

    def run(self) -> None:
        """Store until told to stop."""
        with opened(self._url, self._user) as memory:
            number = 0
            while not self.stopping:
                number += 1
                time.sleep(0.05)
                text = f"{self._user} keeps the note {number} of {time.time_ns()}"
                try:
                    self.acknowledged.append(memory.store(text).memory.content)
                except StoreFailure as exc:
                    known = "nothing was changed" in exc.message
                    (self.unchanged if known else self.unknown).append(text)


def kills(coordinator: int, worker: int, writers: int = 4) -> int:
    """Kill servers under load; print what was lost and what was said wrongly. The exit code."""
    for node in node_urls(URL):  # a killed process loses nothing that the system was given
        run(node, "ALTER SYSTEM SET fsync = off")
        run(node, "SELECT pg_reload_conf()")
    url = ClusterDatabases().migrated()
    chance = random.Random(2)
    with opened(url, "user-0") as memory:
        memory.work.run()
    threads = [Storing(url, f"user-{number}") for number in range(writers)]
    for thread in threads:
        thread.start()
    victims = [Node(0)] * coordinator + [Node(1 + n % 2) for n in range(worker)]
    chance.shuffle(victims)
    for victim in victims:
        time.sleep(chance.uniform(0.5, 1.5))
        victim.kill()
        time.sleep(chance.uniform(0.0, 0.5))
        victim.start()
    time.sleep(1.0)
    for thread in threads:
        thread.stopping = True
    for thread in threads:
        thread.join()
    return _judged(url, threads, len(victims))


def _judged(url: str, threads: Sequence[Storing], rounds: int) -> int:
    stored: set[str] = set()
    for number in range(len(threads)):
        with opened(url, f"user-{number}") as memory:
            page = memory.list(limit=1000)
            while page:
                stored |= {each.content for each in page}
                page = memory.list(limit=1000, after=page[-1].id) if len(page) == 1000 else []
    acknowledged = {text for thread in threads for text in thread.acknowledged}
    unchanged = {text for thread in threads for text in thread.unchanged}
    unknown = {text for thread in threads for text in thread.unknown}
    with opened(url, "user-0") as memory:
        before = [each.detail for each in memory.check() if not each.good]
        found = memory.work.retry_dead()  # as a worker does when it begins
        after = [each.detail for each in memory.check() if not each.good]
    lost, wrong = acknowledged - stored, unchanged & stored
    print(f"{rounds} kills, {len(acknowledged):,} acknowledged stores: {len(lost)} lost")
    print(f"'nothing was changed' {len(unchanged)} times, of which {len(wrong)} were stored")
    print(f"'not known' {len(unknown)} times, of which {len(unknown & stored)} were stored")
    print(f"before the sweep: {before or 'nothing missing'}")
    print(f"after it found {found} jobs: {after or 'nothing missing'}")
    return int(bool(lost or wrong or after))


def main() -> int:
    """Measure or kill; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["ratios", "kills"])
    parser.add_argument("--rounds", type=int, default=5, help="of ratios")
    parser.add_argument("--coordinator", type=int, default=25, help="kills of the coordinator")
    parser.add_argument("--worker", type=int, default=25, help="kills of workers")
    options = parser.parse_args()
    if options.what == "kills":
        return kills(options.coordinator, options.worker)
    ratios(options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
