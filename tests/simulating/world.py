"""One schedule: machines, a server, work and trouble; then peace, in which all comes out even."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from recollect import ids
from recollect.app.admission import Admission
from recollect.changes import SubjectKind
from recollect.protocols import Store
from recollect.remember.sensitive import Boundary
from recollect.store.sqlite.store import SqliteStore
from recollect.sync.report import SyncReport
from recollect.sync.server import ServerSide
from recollect.testing import MemoryStore
from recollect.types import MemoryId, Scope, UserId
from recollect.vault.keys import Key, Keyring
from recollect.vault.seal import SealingVault
from simulating.clocks import Clock, Time
from simulating.faults import Crash, Dying, Network, Wire
from simulating.ledger import (
    SECRET,
    Broken,
    Ledger,
    check_histories,
    check_nothing_lost,
    check_same,
)
from simulating.machine import Machine, remember_with

IN_FILES = 40  # every so many schedules are on SQLite files
DETECTS = 6  # in every so many secrets are found, not flagged
KEYLESS = 8  # in every so many the last machine gets its key late
RESTORES = 10  # in every so many the server is restored from a backup
_ROUNDS_TO_PEACE = 30


class _OneKey:
    """Satisfies `recollect.vault.sources.KeySource`: the key that all machines of a user have."""

    where = "the key of the simulator"

    def __init__(self) -> None:
        self.is_here = True

    def load(self) -> Keyring | None:
        """The key, once somebody has brought it."""
        return Keyring((Key(bytes(range(32))),)) if self.is_here else None


class World:
    """Some machines of one user, and their server."""

    def __init__(self, seed: int, folder: Path | None = None) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.folder = folder
        self.time = Time()
        self.ledger = Ledger(Scope(user=UserId("ada")))
        self.boundary = self._boundary(_OneKey())
        self.last_key = _OneKey()  #: of the last machine, where it may come later
        self.told: list[str] = []
        self.totals: Counter[str] = Counter()
        self.network = Network(self.random, self.server, self.ledger)
        self.new_id = _ids(self.random)
        self.marks = itertools.count()
        self.office = self._machine("server")  #: whoever works on the server itself
        self.machines = [self._machine(f"m{n}") for n in range(self.random.choice((2, 2, 3, 4)))]
        self.machines[-1].boundary = self._boundary(self.last_key)
        self.backup: Callable[[], None] | None = None
        self.is_meanwhile = False

    def _boundary(self, key: _OneKey) -> Boundary:
        vault = SealingVault(key, is_first_use=lambda: False)
        return Boundary(vault=vault, detects=self.seed % DETECTS == 1)

    def _store(self, name: str) -> Store:
        return SqliteStore(self.folder / f"{name}.db") if self.folder else MemoryStore()

    def _machine(self, name: str) -> Machine:
        machine = Machine(
            name=name,
            store=Dying(self._store(name)),
            wire=Wire(self.network),
            clock=Clock(self.time),
            boundary=self.boundary,
            ledger=self.ledger,
            random=self.random,
            new_id=self.new_id,
            new_mark=lambda: f"w{next(self.marks)}",
            told=self.told,
        )
        machine.wire.meanwhile = lambda: self._meanwhile(machine)
        return machine

    @property
    def server_store(self) -> Store:
        """What the server stands on."""
        return self.office.store.store

    def server(self) -> ServerSide:
        """The server, as it is now."""
        remember = remember_with(self.server_store, Clock(self.time), self.boundary, self.new_id)
        admission = Admission(store=self.server_store, scope=self.ledger.scope, remember=remember)
        return ServerSide(store=self.server_store, scope=self.ledger.scope, admit=admission)

    # ---- the schedule --------------------------------------------------------------------------

    def run(self) -> None:
        """Work and trouble, then peace; raises `Broken` when something is not as it must be."""
        try:
            self._begin()
            self._bring_key(is_here=self.seed % KEYLESS != 2)
            self.network.trouble = self.random.choice((0.0, 0.3, 0.8))
            for _ in range(self.random.randrange(5, 40)):
                self._step()
            self._make_peace()
            self._check()
        finally:
            for store in self._stores().values():
                store.close()

    def _begin(self) -> None:
        """A few memories that every machine has: most work is on what others work on as well."""
        self.machines[0].begin()
        for machine in self.machines:
            self._sync(machine)

    def _bring_key(self, *, is_here: bool) -> None:
        """Bring the key to the last machine, or take it away."""
        self.last_key.is_here = is_here
        self.machines[-1].boundary.vault.refresh()

    def _step(self) -> None:
        self.time.pass_by(self.random)
        machine = self.random.choice(self.machines)
        restores = self.seed % RESTORES == 0
        does: tuple[tuple[int, Callable[[Machine], None]], ...] = (
            (50, self._work),
            (30, self._sync),
            (20, self._die_soon),
            (4, self._cut),
            (2, self._lock_out),
            (4, lambda machine: machine.clock.jump(self.random)),
            (4, lambda _: self.network.deliver_late()),
            (3, self._grow_older),
            # What was written on the server alone is lost with it: no sync can help that.
            (0 if restores else 10, lambda _: self._work(self.office)),
            (12 if restores else 0, lambda _: self._back_up()),
        )
        weights, doing = zip(*does, strict=True)
        self.random.choices(doing, weights)[0](machine)

    def _work(self, machine: Machine) -> None:
        self.told.append(f"{machine.name} works at {machine.clock().isoformat()}")
        for _ in range(self.random.choice((1, 1, 2, 4))):
            self.time.pass_by(self.random)
            self._living(machine, machine.work)

    def _sync(self, machine: Machine) -> None:
        self.told.append(f"{machine.name} syncs")
        self._living(machine, lambda: self._note(machine.sync()))

    def _note(self, report: SyncReport) -> None:
        """Keep what came of a round, for a trace and for the totals."""
        said = {x.name: getattr(report, x.name) for x in dataclasses.fields(report)}
        self.told.append(f"  { ({name: value for name, value in said.items() if value}) }")
        self.totals.update({x: value for x, value in said.items() if isinstance(value, int)})
        self.totals["errors"] += report.failed

    def _meanwhile(self, machine: Machine) -> None:
        """While a message travels, work goes on here, or another machine syncs."""
        if self.is_meanwhile:
            return
        self.is_meanwhile = True
        try:
            if self.random.random() < 0.5:
                machine.work()
            else:
                self._sync(self.random.choice([x for x in self.machines if x is not machine]))
        finally:
            self.is_meanwhile = False

    def _living(self, machine: Machine, do: Callable[[], object]) -> None:
        """Do something on a machine that may die of it, and begins anew then."""
        try:
            do()
        except Crash:
            self.told.append("  dies")
            self.totals["crashes"] += 1
            if self.folder:
                machine.store.store.close()
                machine.store.store = SqliteStore(self.folder / f"{machine.name}.db")
        finally:
            machine.store.live()

    def _die_soon(self, machine: Machine) -> None:
        """Die at one of the next writes, while working or syncing."""
        machine.store.die(self.random.randrange(6), after=self.random.random() < 0.5)
        self.random.choice((self._sync, self._sync, self._work))(machine)

    def _cut(self, machine: Machine) -> None:
        machine.wire.is_cut = not machine.wire.is_cut

    def _lock_out(self, machine: Machine) -> None:
        machine.wire.is_locked_out = not machine.wire.is_locked_out

    def _grow_older(self, machine: Machine) -> None:
        """Have an older release on a machine, which knows no shares; or upgrade it."""
        knows_all = len(machine.kinds) == len(SubjectKind)
        machine.kinds = frozenset(SubjectKind) - ({SubjectKind.SHARE} if knows_all else set())

    def _back_up(self) -> None:
        """Make a backup of the server; or restore the one that there is."""
        if self.backup is None:
            self.backup = backup(self.server_store)
        else:
            self.told.append("the server is restored from a backup")
            self.totals["restores"] += 1
            self.backup()
            self.backup = None
            self.server_store.close_feed(self.ledger.scope)  # as the docs say, after a restore

    # ---- peace ---------------------------------------------------------------------------------

    def _make_peace(self) -> None:
        """Let every trouble end, and sync until nothing happens any more."""
        self.network.trouble = 0.0
        self._bring_key(is_here=True)
        for machine in self.machines:
            machine.wire.is_cut = machine.wire.is_locked_out = False
            machine.wire.meanwhile = None
            machine.kinds = frozenset(SubjectKind)
        while self.network.late:
            self.network.deliver_late()
        for _ in range(_ROUNDS_TO_PEACE):
            self.time.pass_by(self.random)
            moved = [self._moves(machine) for machine in self.machines]
            if not any(moved):
                return
        raise Broken("the machines do not come to rest")

    def _moves(self, machine: Machine) -> bool:
        report = machine.sync()
        self.told.append(f"{machine.name} in peace")
        self._note(report)
        if report.failed:
            raise Broken(f"{machine.name} cannot sync: {report}")
        return bool(report.pulled or report.pushed or report.stale or report.refused)

    # ---- what must hold ------------------------------------------------------------------------

    def _stores(self) -> dict[str, Store]:
        return {
            "server": self.server_store,
            **{machine.name: machine.store.store for machine in self.machines},
        }

    def _check(self) -> None:
        stores, vault = self._stores(), self.boundary.vault
        for machine in self.machines:
            pending = machine.store.changes(self.ledger.scope, 0, 10)
            if pending:
                raise Broken(f"{machine.name} still has pending changes: {pending}")
        for store in stores.values():
            check_histories(store, vault, self.ledger)
        check_same(stores, self.ledger.scope)
        conflicts = [
            x for store in stores.values() for x in store.conflicts(self.ledger.scope, 999)
        ]
        check_nothing_lost(self.ledger, self.server_store, vault, conflicts)
        if self.folder and any(SECRET.encode() in x.read_bytes() for x in self.folder.iterdir()):
            raise Broken("a file holds a secret in clear")


def _ids(random: Random) -> Callable[[], MemoryId]:
    def new_id() -> MemoryId:
        return MemoryId("".join(random.choices(ids.ALPHABET, k=ids.LENGTH)))

    return new_id


def backup(store: Store) -> Callable[[], None]:
    """What puts a store in memory back to what it is now."""
    if not isinstance(store, MemoryStore):
        return lambda: None
    kept = {name: copy.deepcopy(vars(store)[name]) for name in ("_holdings", "_shares", "_feeds")}

    def restore() -> None:
        vars(store).update(copy.deepcopy(kept))

    return restore


@contextmanager
def world(seed: int) -> Iterator[World]:
    """The schedule of a seed."""
    if seed % IN_FILES != IN_FILES - 1:
        yield World(seed)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield World(seed, Path(folder))


def replay(seed: int) -> str:
    """How to see a schedule again."""
    return f"python benchmarks/sync/simulate.py --seed {seed} --trace"


def run(seed: int) -> Counter[str]:
    """Run the schedule of a seed; what happened in it.

    Raises:
        Broken: something does not hold; the message says how to replay it.
    """
    with world(seed) as each:
        try:
            each.run()
        except Exception as error:
            raise Broken(f"seed {seed}: {error!r}\nReplay it: {replay(seed)}") from error
        return each.totals
