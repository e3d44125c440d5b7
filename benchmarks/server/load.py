"""A server under load: 64 clients store and recall for a minute, on each store.

    python benchmarks/server/load.py [--seconds 60] [--clients 64] [--only STORE] [--keep]

The same verbs are called in this process, by as many threads, and the two rates are compared. They
recall by words alone: the less a verb does, the more of a request is the server's own work.
Nothing may fail, every memory that was acknowledged must be there afterwards, and the server may
not grow.
Then it is given more than it can do: it must say so (429 or 503 with Retry-After) and recover.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import marks
from bearinmind import Mind
from bearinmind.config import Configuration
from bearinmind.surfaces.verbs.requests import RecallRequest, StoreRequest
from bearinmind.surfaces.verbs.table import BY_NAME
from own_server import own_server
from support.http_server import PLAIN, Served, served
from varied import VariedSet

SET = Path(__file__).parents[1] / "data" / "agent-store"
FILLED = 500  # memories that are there before
STORES = 4  # every so many requests store; the others recall
USERS = 8
GROWN = 1.25  # times the memory of the middle third, at most, in the last third
FLOOD = 400  # clients at once, each with so many requests:
FLOOD_REQUESTS = 3
PER_MINUTE = 30  # requests of a key that has a limit
_GOOD = (http.client.OK, http.client.CREATED)
_LATER = (http.client.TOO_MANY_REQUESTS, http.client.SERVICE_UNAVAILABLE)
_BROKEN = 0  # in place of a status: the connection did not last


@dataclass
class Tally:
    """What came of requests."""

    stored: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    patient: int = 0  # refusals that said when to come again

    @property
    def requests(self) -> int:
        """How many there were."""
        return self.statuses.total()

    @property
    def failed(self) -> int:
        """Those that were answered by anything but success."""
        return self.requests - sum(self.statuses[status] for status in _GOOD)

    @property
    def refused(self) -> int:
        """Those that are to come again later."""
        return sum(self.statuses[status] for status in _LATER)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.stored + other.stored,
            self.statuses + other.statuses,
            self.patient + other.patient,
        )


class Texts:
    """Memories without end, handed to whichever thread asks, and questions."""

    def __init__(self) -> None:
        contents = VariedSet(SET)
        self._copies = contents.copies()
        self._lock = threading.Lock()
        self._questions = contents.questions

    def memory(self) -> str:
        """One that nobody has had."""
        with self._lock:
            return next(self._copies)

    def question(self, turn: int) -> str:
        """The question of a turn."""
        return self._questions[turn % len(self._questions)]


def main() -> int:
    """Load each store; fail when something was lost, failed or slower than published."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    good = True
    for store in [options.only] if options.only else ["sqlite", "postgres"]:
        with _place(store) as place:
            rate, sound = _serve(place, options.clients, options.seconds)
        with _place(store) as place:
            direct = _in_process(place, options.clients, options.seconds)
        figures[f"server-{store}"] = rate / direct
        good = good and sound
        print(f"{store}: {rate:.0f} requests a second, {direct:.0f} in process", flush=True)
    return int(not (marks.check(figures, keep=options.keep) and good))


@contextmanager
def _place(store: str) -> Iterator[str]:
    if store == "postgres":
        with own_server() as url:
            yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        yield str(Path(folder) / "memories.db")


@contextmanager
def _opened(place: str) -> Iterator[Mind]:
    """The store in this process, with the settings that the server has."""
    settings = Configuration.load({**PLAIN, "store": place}).settings
    with Mind.build(settings, background=False) as app:
        yield app


# ---- by a server -------------------------------------------------------------------------------


def _serve(place: str, clients: int, seconds: float) -> tuple[float, bool]:
    """Requests a second of a server, and whether all of them came out well."""
    with _opened(place) as app:
        keys = [_new_key(app, f"user-{number}") for number in range(USERS)]
        limited = _new_key(app, "in-a-hurry", per_minute=PER_MINUTE)
    texts = Texts()
    with (
        tempfile.TemporaryDirectory() as folder,
        served(place, Path(folder) / "server.log") as server,
    ):
        with closing(_connected(server)) as connection:
            for number in range(FILLED):
                _ask(connection, keys[number % USERS], "/memories", {"content": texts.memory()})
        sizes: list[int] = []
        began = perf_counter()
        tally = _together(
            [
                partial(_client, server, keys[n % USERS], n, began + seconds, texts)
                for n in range(clients)
            ],
            meanwhile=lambda: sizes.append(_resident(server.process.pid)),
        )
        taken = perf_counter() - began
        lost = FILLED + len(tally.stored) - sum(_live(server, key) for key in keys)
        third = max(1, len(sizes) // 3)
        growth = statistics.median(sizes[-third:]) / statistics.median(sizes[third : 2 * third])
        print(
            f"  {tally.requests:,} requests, {tally.failed} failed, {len(tally.stored):,} stored, "
            f"{lost} lost, memory x{growth:.2f} to {sizes[-1] // 1_024} MB",
            flush=True,
        )
        held_off = _flood(server, keys[0], texts) and _hurry(server, limited, keys[0], texts)
        sound = not tally.failed and not lost and growth <= GROWN and held_off
        return tally.requests / taken, sound


def _new_key(app: Mind, user: str, **terms: Any) -> str:  # noqa: ANN401  of a key
    app.accounts.add_user(user)
    return app.accounts.create_key(user, **terms).text


def _together(
    clients: Iterable[Callable[[], Tally]], *, meanwhile: Callable[[], object] | None = None
) -> Tally:
    """What all of them found, each on a thread; something else is done every second meanwhile."""
    tallies: list[Tally] = []
    threads = [
        threading.Thread(target=lambda client=client: tallies.append(client()))
        for client in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            if meanwhile:
                meanwhile()
            thread.join(1.0)
    return sum(tallies, Tally())


def _client(server: Served, key: str, number: int, until: float, texts: Texts) -> Tally:
    """Store and recall until it is time."""
    tally = Tally()
    turn = number
    with closing(_connected(server)) as connection:
        while perf_counter() < until:
            if turn % STORES == 0:
                asked = {"content": texts.memory()}
                status, answer, _ = _ask(connection, key, "/memories", asked)
                if status == http.client.CREATED:
                    tally.stored.append(answer["memory"]["id"])
            else:
                status, _, _ = _ask(connection, key, "/recall", {"query": texts.question(turn)})
            tally.statuses[status] += 1
            turn += 1
    return tally


# ---- more than it can do -----------------------------------------------------------------------


def _flood(server: Served, key: str, texts: Texts) -> bool:
    """Whether too many at once are told to come again, and let in afterwards."""
    begin = threading.Barrier(FLOOD)

    def flood(number: int) -> Tally:
        begin.wait()
        return _asking(server, key, texts, number, FLOOD_REQUESTS)

    tally = _together([partial(flood, number) for number in range(FLOOD)])
    return _held_off(f"flood of {FLOOD}", tally, server, key, texts)


def _hurry(server: Served, limited: str, key: str, texts: Texts) -> bool:
    """Whether a key that is used too often is told to wait, and others are not."""
    tally = _asking(server, limited, texts, 0, 2 * PER_MINUTE)
    return _held_off("a key in a hurry", tally, server, key, texts)


def _asking(server: Served, key: str, texts: Texts, number: int, times: int) -> Tally:
    """Recall so many times."""
    tally = Tally()
    with closing(_connected(server)) as connection:
        for turn in range(times):
            asked = {"query": texts.question(number + turn)}
            status, _, later = _ask(connection, key, "/recall", asked)
            tally.statuses[status] += 1
            tally.patient += later is not None
    return tally


def _held_off(what: str, tally: Tally, server: Served, key: str, texts: Texts) -> bool:
    """Whether some were refused, all of those in words, and the server answers others."""
    after = _asking(server, key, texts, 0, 1)
    print(
        f"  {what}: {dict(tally.statuses)}, {tally.patient} told when; then {dict(after.statuses)}",
        flush=True,
    )
    in_words = 0 < tally.refused == tally.failed == tally.patient
    return in_words and not after.failed


# ---- without one -------------------------------------------------------------------------------


def _in_process(place: str, clients: int, seconds: float) -> float:
    """The same verbs a second, called by as many threads of this process."""
    texts = Texts()
    store, recall = BY_NAME["store"], BY_NAME["recall"]
    with _opened(place) as app:
        users = [app.for_user(f"user-{number}") for number in range(USERS)]
        for number in range(FILLED):
            store.run(users[number % USERS], StoreRequest(content=texts.memory()))
        began = perf_counter()

        def client(number: int) -> Tally:
            tally = Tally()
            user = users[number % USERS]
            turn = number
            while perf_counter() < began + seconds:
                if turn % STORES == 0:
                    store.run(user, StoreRequest(content=texts.memory()))
                else:
                    recall.run(user, RecallRequest(query=texts.question(turn)))
                tally.statuses[http.client.OK] += 1
                turn += 1
            return tally

        tally = _together([partial(client, number) for number in range(clients)])
        return tally.requests / (perf_counter() - began)


# ---- asking ------------------------------------------------------------------------------------


def _connected(server: Served) -> http.client.HTTPConnection:
    place = urlsplit(server.url)
    return http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)


def _ask(
    connection: http.client.HTTPConnection, key: str, path: str, body: dict[str, str] | None
) -> tuple[int, Any, str | None]:
    """The status, what is answered, and when to come again."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    sent = None if body is None else json.dumps(body).encode()
    try:
        connection.request("GET" if body is None else "POST", f"/api/v1{path}", sent, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), answer.getheader("Retry-After")
    except (OSError, http.client.HTTPException):
        connection.close()  # the next request opens it again
        return _BROKEN, None, None


def _live(server: Served, key: str) -> int:
    """How many memories a user has."""
    with closing(_connected(server)) as connection:
        _, answer, _ = _ask(connection, key, "/stats", None)
    return int(answer["live"])


def _resident(pid: int) -> int:
    """Kilobytes of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")))


if __name__ == "__main__":
    sys.exit(main())
