"""A server under load: 64 clients store and recall for a minute, on each store.

    python benchmarks/server/load.py [--seconds 60] [--clients 64] [--keep]

The same verbs are called in this process, by as many threads, and the two rates are compared.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, sleep
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import marks
from http_server import Serving, serving
from own_server import own_server
from recollect import Recollect
from recollect.config import Configuration
from recollect.interfaces.verbs.requests import RecallRequest, StoreRequest
from recollect.interfaces.verbs.table import BY_NAME
from varied import VariedSet

SET = Path(__file__).parents[1] / "data" / "agent-store"
FILLED = 500  # memories that are there before
STORES = 4  # every so many requests store; the others recall
USERS = 8
GROWN = 1.25  # times the memory of the first third, at most, in the last third
_OVERLOAD = 400  # clients


@dataclass
class Tally:
    """What came of the requests of all clients."""

    stored: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    patient: int = 0  # refusals that said when to come again

    @property
    def failed(self) -> int:
        """Requests that were answered by anything but success."""
        return sum(count for status, count in self.statuses.items() if status >= 400)


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


def _serve(place: str, clients: int, seconds: float) -> tuple[float, bool]:
    """Requests a second of a server, and whether all of them came out well."""
    contents = VariedSet(SET)
    copies = contents.copies()
    lock = threading.Lock()
    with serving(place) as server:
        keys = [server.key(f"user-{number}", "write") for number in range(USERS)]
        for number in range(FILLED):
            _ask(_connected(server), keys[number % USERS], "/memories", {"content": next(copies)})
        tally = Tally()
        sizes: list[int] = []

        def next_content() -> str:
            with lock:
                return next(copies)

        began = perf_counter()
        threads = [
            threading.Thread(
                target=_client,
                args=(server, keys[n % USERS], n, began + seconds, contents, next_content, tally),
            )
            for n in range(clients)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            sizes.append(_resident(server.pid))
            sleep(1.0)
        taken = perf_counter() - began
        kept = sum(_live(server, key) for key in keys)
        lost = FILLED + len(tally.stored) - kept
        third = max(1, len(sizes) // 3)
        growth = statistics.median(sizes[-third:]) / statistics.median(sizes[third : 2 * third])
        print(
            f"  {sum(tally.statuses.values()):,} requests, {tally.failed} failed, "
            f"{len(tally.stored):,} stored, {lost} lost, memory x{growth:.2f}",
            flush=True,
        )
        overloaded = _overload(server, keys[0], contents)
        sound = not tally.failed and not lost and growth <= GROWN and overloaded
        return sum(tally.statuses.values()) / taken, sound


def _client(
    server: Serving,
    key: str,
    number: int,
    until: float,
    contents: VariedSet,
    next_content: Callable[[], str],
    tally: Tally,
) -> None:
    """Store and recall until it is time."""
    connection = _connected(server)
    questions = contents.questions
    turn = number
    while perf_counter() < until:
        if turn % STORES == 0:
            status, answer, _ = _ask(connection, key, "/memories", {"content": next_content()})
            if status == http.client.CREATED:
                tally.stored.append(answer["memory"]["id"])
        else:
            asked = {"query": questions[turn % len(questions)]}
            status, _, _ = _ask(connection, key, "/recall", asked)
        tally.statuses[status] += 1
        turn += 1


def _overload(server: Serving, key: str, contents: VariedSet) -> bool:
    """Whether a flood is refused in words, and the server answers afterwards."""
    tally = Tally()

    def flood() -> None:
        try:
            connection = _connected(server)
            status, _, later = _ask(connection, key, "/recall", {"query": contents.questions[0]})
        except OSError:
            return  # the system itself did not let it in
        tally.statuses[status] += 1
        tally.patient += bool(later)

    threads = [threading.Thread(target=flood) for _ in range(_OVERLOAD)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    refused = tally.statuses[429] + tally.statuses[503]
    status, _, _ = _ask(_connected(server), key, "/recall", {"query": contents.questions[0]})
    print(f"  flood of {_OVERLOAD}: {dict(tally.statuses)}, {tally.patient} say when", flush=True)
    others = tally.failed - refused
    return status == http.client.OK and not others and tally.patient == refused


def _in_process(place: str, clients: int, seconds: float) -> float:
    """The same verbs a second, called by as many threads of this process."""
    contents = VariedSet(SET)
    copies = contents.copies()
    lock = threading.Lock()
    settings = Configuration.load({"store": place}).settings
    done = [0] * clients
    store, recall = BY_NAME["store"], BY_NAME["recall"]
    with Recollect.build(settings, background=settings.worker == "auto") as app:
        users = [app.for_user(f"user-{number}") for number in range(USERS)]
        for number in range(FILLED):
            store.run(users[number % USERS], StoreRequest(content=next(copies)))
        until = perf_counter() + seconds

        def client(number: int) -> None:
            turn = number
            while perf_counter() < until:
                if turn % STORES == 0:
                    with lock:
                        content = next(copies)
                    store.run(users[number % USERS], StoreRequest(content=content))
                else:
                    query = contents.questions[turn % len(contents.questions)]
                    recall.run(users[number % USERS], RecallRequest(query=query))
                done[number] += 1
                turn += 1

        threads = [threading.Thread(target=client, args=(n,)) for n in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return sum(done) / seconds


def _connected(server: Serving) -> http.client.HTTPConnection:
    place = urlsplit(server.url)
    return http.client.HTTPConnection(place.hostname or "", place.port, timeout=120)


def _ask(
    connection: http.client.HTTPConnection, key: str, path: str, body: dict[str, object] | None
) -> tuple[int, dict[str, dict[str, str]], str | None]:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    sent = None if body is None else json.dumps(body).encode()
    connection.request("GET" if body is None else "POST", f"/api/v1{path}", sent, headers)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"{}"), answer.getheader("Retry-After")


def _live(server: Serving, key: str) -> int:
    """How many memories a user has."""
    connection = _connected(server)
    _, answer, _ = _ask(connection, key, "/stats", None)
    return int(str(answer["live"]))


def _resident(pid: int) -> int:
    """Kilobytes of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:")))


if __name__ == "__main__":
    sys.exit(main())
