"""A server for an hour under all kinds of trouble: nothing acknowledged is lost, nothing grows.

    python benchmarks/server/soak.py [--minutes 60] [--clients 64] [--pause 5]

64 clients store, recall, get, update, delete, list, link and export, against a server process with
its default embedder and a Postgres cluster of two nodes that Patroni keeps. Meanwhile the server is
killed twice, the leader of the cluster is killed once, the disk of the leader is full once, and the
store is backed up and restored. Every memory and link that was acknowledged must be there at the
end as it was last acknowledged, and memory and descriptors of the server may not grow.
Needs root, which mounts a small disk for each node.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import ClassVar

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from bearinmind import Mind
from bearinmind.config import Configuration
from bearinmind.surfaces import transfer
from bearinmind_bench.runner import revision
from own_server import own_server
from server.load import Texts
from server.soak_clients import MIX, SHARED, Person
from support.full_store import rows
from support.http_server import Served, served
from support.other_user import shared_folder
from support.patroni import Cluster
from support.processes import free_ports, own

DISK = "1g"  # of each node
FULL_SECONDS = 45.0
AWAY_SECONDS = 40.0  # that a killed node is away
AFTERWARDS = 120.0  # seconds after a trouble in which a request may still fail: the patience of two
SAMPLE_SECONDS = 5.0
GROWN = 1.10  # times the memory of the second quarter, at most, in the last one
MORE_FILES = 16  # descriptors, likewise
SETTLE_SECONDS = 300.0  # for the background work to end
#: What a client may be told while there is trouble.
EXPECTED = {
    "ServerUnreachable",
    "TimedOut",
    "ServerOverloaded",
    "StoreUnavailable",
    "StoreBusy",
    "StoreFull",
    "StoreReadOnly",
    "HTTPStatusError",
    "RemoteProtocolError",
    "ConnectError",
    "ReadError",
    "ReadTimeout",
}


class SmallDisks(Cluster):
    """A cluster whose nodes have a small disk each."""

    def _make_folder(self, name: str) -> Path:
        folder = super()._make_folder(name)
        if name != "etcd":
            _run("mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder))
            folder.chmod(0o700)
            own(folder)
        return folder

    def stop(self) -> None:
        """Everything ends, and the disks are gone."""
        for node in self.nodes:
            node.kill()
            _run("umount", "--lazy", str(node.home))
        super().stop()


@dataclass
class Samples:
    """What a server process used, from its start on."""

    began: float
    kilobytes: list[int] = field(default_factory=list)
    files: list[int] = field(default_factory=list)

    def take(self, pid: int) -> None:
        """Look once."""
        process = Path(f"/proc/{pid}")
        try:
            told = dict(
                line.split(":", 1) for line in (process / "status").read_text().splitlines()
            )
            count = len([*(process / "fd").iterdir()])
        except OSError:
            return  # it was just killed
        if "VmRSS" in told:
            self.kilobytes.append(int(told["VmRSS"].split()[0]))
            self.files.append(count)


class Supervised:
    """A server process that is started again on the same port."""

    def __init__(self, place: str, folder: Path) -> None:
        self._place = place
        self._folder = folder
        [self._port] = free_ports(1)
        self._running = ExitStack()
        self.lives: list[Samples] = []
        self.logs: list[Path] = []
        self.seconds = 0.0  #: of processors, all lives together
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.logs.append(self._folder / f"server-{len(self.logs)}.log")
        context = served(
            self._place, self.logs[-1], server_port=self._port, embedder="local", worker="auto"
        )
        self.server: Served = self._running.enter_context(context)
        self.lives.append(Samples(time.monotonic()))

    def sample(self) -> None:
        """Look at what it uses."""
        self.lives[-1].take(self.server.process.pid)

    def kill(self) -> None:
        """Kill it with -9, and start it again."""
        self._note_seconds()
        self.server.process.kill()
        self._running.close()
        self.start()

    def stop(self) -> int:
        """Tell it to stop; its exit code."""
        self._note_seconds()
        code = self.server.stop()
        self._running.close()
        return code

    def _note_seconds(self) -> None:
        told = Path(f"/proc/{self.server.process.pid}/stat").read_text().rpartition(")")[2].split()
        self.seconds += (int(told[11]) + int(told[12])) / 100


@dataclass
class Troubles:
    """What happens to the server, each at its share of the time, and when it was over."""

    database: SmallDisks
    supervised: Supervised
    people: Sequence[Person]
    folder: Path
    spans: list[tuple[str, float, float]] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)

    PLAN: ClassVar[dict[str, float]] = {
        "kill": 0.10,
        "kill again": 0.20,
        "fail-over": 0.30,
        "full disk": 0.42,
        "backup": 0.55,
    }

    def run(self, began: float, seconds: float, ended: threading.Event) -> None:
        """One after the other."""
        for name, share in self.PLAN.items():
            if ended.wait(max(0.0, began + share * seconds - time.monotonic())):
                return
            start = time.monotonic()
            try:
                getattr(self, name.split()[0].replace("-", "_"))()
            except Exception as exc:  # noqa: BLE001  it is reported, and the soak goes on
                self.findings.append(f"{name}: {exc!r}")
            self.spans.append((name, start, time.monotonic()))
            print(f"  {name}: {time.monotonic() - start:.0f} s", flush=True)

    def kill(self) -> None:
        """The server dies."""
        self.supervised.kill()

    def fail_over(self) -> None:
        """The leader of the database dies, and comes back as a standby."""
        dead = self.database.kill_leader()
        time.sleep(AWAY_SECONDS)
        self.database.start_node(dead)
        self.database.wait_until_whole()

    def full(self) -> None:
        """The disk of the leader has no room."""
        filler = self.database.leader().home / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
            except OSError:
                pass
        time.sleep(FULL_SECONDS)
        filler.unlink()
        self.database.wait_until_whole()

    def backup(self) -> None:
        """A backup beside the clients, restored into an empty file, holds what was acknowledged."""
        begin = time.monotonic()
        file, restored = self.folder / "store.backup", self.folder / "restored.db"
        _command(self.database.url(), "backup", str(file))
        _command(str(restored), "restore-store", str(file))
        with _opened(str(restored)) as mind:
            for person in self.people:
                lines: list[bytes] = []
                user = mind.for_user(_name(person.number))
                transfer.export(user, lines.append, "0", lambda _: None)
                records = [json.loads(line) for line in lines]
                self.findings += [f"backup: {each}" for each in person.differences(records, begin)]


def main() -> int:
    """Run it; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--pause", type=float, default=5.0, help="mean seconds between requests")
    chosen = parser.parse_args()
    with ExitStack() as opened:
        opened.enter_context(shared_folder())
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        database = opened.enter_context(SmallDisks(times={}))
        database.start(2)
        with _opened(database.url()) as mind:
            keys = [_new_key(mind, _name(number)) for number in range(chosen.clients)]
            for number in range(chosen.clients):
                mind.for_user(_name(number)).share_tag(SHARED, _name((number + 1) % len(keys)))
        supervised = Supervised(database.url(), folder)
        texts = Texts()
        people = [
            Person(supervised.server.url, key, number, texts) for number, key in enumerate(keys)
        ]
        troubles = Troubles(database, supervised, people, folder)
        own_seconds = _soak(troubles, chosen.minutes * 60, chosen.pause)
        troubles.findings += _at_the_end(database.url(), supervised, people, folder)
        return _report(troubles, chosen.minutes * 60, own_seconds)


def _soak(troubles: Troubles, seconds: float, pause: float) -> float:
    """Let everybody go on for so long; the processor seconds of the clients."""
    ended = threading.Event()
    began, before = time.monotonic(), time.process_time()
    threads = [
        threading.Thread(target=person.go_on, args=(pause, ended)) for person in troubles.people
    ]
    threads.append(threading.Thread(target=troubles.run, args=(began, seconds, ended)))
    for thread in threads:
        thread.start()
    while time.monotonic() < began + seconds:
        time.sleep(SAMPLE_SECONDS)
        troubles.supervised.sample()
    ended.set()
    for thread in threads:
        thread.join()
    return time.process_time() - before


def _at_the_end(
    url: str, supervised: Supervised, people: Sequence[Person], folder: Path
) -> Iterator[str]:
    """What is not as it was acknowledged, and what is not sound."""
    for person in people:
        yield from (f"end: {each}" for each in person.differences(person.export()))
    with _opened(url) as mind:
        deadline = time.monotonic() + SETTLE_SECONDS
        while (status := mind.work.status()).waiting and time.monotonic() < deadline:
            time.sleep(1)
        if status.waiting or status.dead:
            yield f"end: {status.waiting} jobs wait, {status.dead} were given up"
        embedded = status.active.embedded if status.active else 0
        print(f"  {embedded:,} memories embedded", flush=True)
        yield from (f"end: {each.name}" for each in mind.check() if not each.good)
    if code := supervised.stop():
        yield f"end: the server stopped with {code}"
    _command(url, "backup", str(folder / "last.backup"))
    with own_server() as empty:
        _command(empty, "restore-store", str(folder / "last.backup"))
        before, after = rows(url), rows(empty)
        yield from (f"restore: {name} differs" for name in before if before[name] != after[name])
        print(f"  restored and compared: {sum(count for count, _ in before.values()):,} rows")


# ---- the report --------------------------------------------------------------------------------


def _report(troubles: Troubles, seconds: float, own_seconds: float) -> int:
    """Print what was found; the exit code."""
    people, lives = troubles.people, troubles.supervised.lives
    failed = [each for person in people for each in person.tally.errors]
    unexpected = [
        f"{name}: {kind}"
        for at, name, kind in failed
        if kind not in EXPECTED
        or not any(begin <= at <= end + AFTERWARDS for _, begin, end in troubles.spans)
    ]
    kept = [*chain.from_iterable(person.memories.values() for person in people)]
    wrong = sum((person.tally.wrong for person in people), Counter[str]())
    found = sum((person.tally.found for person in people), Counter[bool]())
    print(f"\nrevision {revision()}, {seconds / 60:.0f} minutes, {len(people)} clients")
    print("\n| request | answered | failed | p50 ms | p95 ms |\n|---|---|---|---|---|")
    for name in MIX:
        took = sorted(chain.from_iterable(person.tally.took[name] for person in people))
        count = sum(name == each for _, each, _ in failed)
        print(f"| {name} | {len(took):,} | {count} | {_at(took, 0.5)} | {_at(took, 0.95)} |")
    print(f"\nerrors: {dict(Counter(kind for _, _, kind in failed).most_common())}")
    begins = [begin for _, begin, _ in troubles.spans[1:]]
    for (name, begin, end), until in zip(troubles.spans, [*begins, float("inf")], strict=True):
        during = Counter(kind for at, _, kind in failed if begin <= at < until)
        print(f"  {name} ({end - begin:.0f} s): {dict(during.most_common())}")
    print(
        f"acknowledged: {len(kept):,} memories, {sum(each.deleted for each in kept):,} of them "
        f"deleted, {sum(bool(each.doubtful) for each in kept)} with a change of unknown outcome; "
        f"{sum(len(person.denied) for person in people)} times it was said that nothing was "
        f"changed; {sum(len(person.links) for person in people):,} links"
    )
    print(f"a memory among the first hits for its text: {found[True]:,} of {found.total():,}")
    print(
        f"processors: server {troubles.supervised.seconds / seconds:.2f}, "
        f"clients {own_seconds / seconds:.2f}"
    )
    growth = _growth(lives[-1])
    problems = {
        "not as acknowledged": Counter(troubles.findings) + +wrong,
        "unexpected errors": Counter(unexpected),
        "growth": Counter(growth),
    }
    for title, each in problems.items():
        print(f"{title}: {dict(each) or 'none'}")
    print(f"statuses: {dict(_statuses(troubles.supervised.logs))}")
    return int(any(problems.values()))


def _growth(life: Samples) -> list[str]:
    """What grew in the last life of the server, from its second quarter to its last one."""
    problems = []
    quarter = max(1, len(life.kilobytes) // 4)
    for name, values, times, more in (
        ("kilobytes", life.kilobytes, GROWN, 0),
        ("descriptors", life.files, 1, MORE_FILES),
    ):
        quarters = [
            statistics.median(values[start : start + quarter])
            for start in range(0, 4 * quarter, quarter)
        ]
        shown = " ".join(f"{each:,.0f}" for each in quarters)
        print(f"{name} in each quarter of {len(values) * SAMPLE_SECONDS / 60:.0f} min: {shown}")
        if quarters[3] > quarters[1] * times + more:
            problems.append(name)
    return problems


def _at(took: Sequence[float], share: float) -> str:
    return f"{took[int(share * (len(took) - 1))] * 1_000:,.0f}" if took else "-"


def _statuses(logs: Sequence[Path]) -> Counter[str]:
    """How often the server answered with each status, as its log has it."""
    lines = chain.from_iterable(log.read_text().splitlines() for log in logs)
    told = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
    return Counter(str(each["status"]) for each in told if "status" in each)


# ---- small things ------------------------------------------------------------------------------


def _name(number: int) -> str:
    return f"user-{number}"


def _new_key(mind: Mind, user: str) -> str:
    mind.accounts.add_user(user)
    return mind.accounts.create_key(user).text


@contextmanager
def _opened(place: str) -> Iterator[Mind]:
    settings = Configuration.load({"store": place, "worker": "off"}).settings
    with Mind.build(settings, background=False) as mind:
        yield mind


def _command(place: str, *arguments: str) -> None:
    _run(sys.executable, "-m", "bearinmind", "--store", place, *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} {command[-2:]}: {done.stderr[-500:]}")


if __name__ == "__main__":
    sys.exit(main())
