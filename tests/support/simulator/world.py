"""One schedule: machines, a server, work and trouble; then peace, in which all comes out even."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from random import Random

from bearinmind.changes import SubjectKind
from bearinmind.protocols import Store
from bearinmind.remember.from_replica import Admission
from bearinmind.remember.secrets import Boundary
from bearinmind.sync.replica import SyncReport
from bearinmind.sync.server_side import ServerSide
from bearinmind.types import ID_ALPHABET, ID_LENGTH, MemoryId, Scope
from bearinmind.vault.keys import Key, Keyring
from bearinmind.vault.seal import SealingVault
from support.simulator.checks import (
    check_conflicts,
    check_decisions,
    check_histories,
    check_nothing_lost,
    check_same,
    found_in,
)
from support.simulator.clocks import Clock, Time
from support.simulator.crashes import Crash, Dying, Moment
from support.simulator.ledger import Broken, Ledger
from support.simulator.machine import Machine, remember_with
from support.simulator.neighbour import Neighbour
from support.simulator.network import Network, Wire
from support.simulator.stores import SERVER, Keeping

DETECTS = 6  # in every so many secrets are found, not flagged
KEYLESS = 8  # in every so many the last machine gets its key late
NEIGHBOURS = 6  # in every so many somebody else shares with the user
RESTORES = 10  # in every so many the server is restored from a backup
_ROUNDS_TO_PEACE = 30
_DEATHS = (Moment.BEFORE, Moment.INSIDE, Moment.INSIDE, Moment.AFTER)


class _OneKey:
    """Satisfies `bearinmind.vault.keys.KeySource`: the key that all machines of a user have."""

    where = "the key of the simulator"

    def __init__(self) -> None:
        self.is_here = True

    def load(self) -> Keyring | None:
        """The key, once somebody has brought it."""
        return Keyring((Key(bytes(range(32))),)) if self.is_here else None


class World:
    """Some machines of one user, and their server."""

    def __init__(self, seed: int, keeping: Keeping) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.keeping = keeping
        self.time = Time()
        self.ledger = Ledger(Scope(user=keeping.user))
        self.boundary = self._boundary(_OneKey())
        self.last_key = _OneKey()  #: of the last machine, where it may come later
        self.told: list[str] = []
        self.totals: Counter[str] = Counter()
        self.network = Network(self.random, self.ledger, lambda: self.server)
        self.new_id = _ids(self.random)
        self.marks = itertools.count()
        self.office = self._machine(SERVER)  #: whoever works on the server itself
        self.network.revive = lambda: self._revive(self.office)
        self.machines = [self._machine(f"m{n}") for n in range(self.random.choice((2, 2, 3, 4)))]
        self.machines[-1].boundary = self._boundary(self.last_key)
        self.has_backup = False
        self.is_meanwhile = False
        self.neighbour = self._neighbour() if seed % NEIGHBOURS == 3 else None

    @property
    def moments(self) -> Sequence[Moment]:
        """When the server dies, or loses its database where that is elsewhere."""
        return [*_DEATHS, *([Moment.CUT] if self.keeping.may_be_cut else [])]

    def _boundary(self, key: _OneKey) -> Boundary:
        vault = SealingVault(key, is_first_use=lambda: False)
        return Boundary(vault=vault, detects=self.seed % DETECTS == 1)

    def _machine(self, name: str) -> Machine:
        machine = Machine(
            name=name,
            store=Dying(self.keeping.store(name)),
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

    def _neighbour(self) -> Neighbour:
        """Somebody else on the server, whose shares the machines follow."""
        for machine in self.machines:
            machine.has_neighbour = True
        clock = Clock(self.time)
        return Neighbour(
            self.ledger.scope.user,
            self.random,
            clock,
            lambda: remember_with(self.office.store.as_store, clock, self.boundary, self.new_id),
        )

    @cached_property
    def server(self) -> ServerSide:
        """The server, as replicas reach it."""
        store, scope = self.office.store.as_store, self.ledger.scope
        remember = remember_with(store, Clock(self.time), self.boundary, self.new_id)
        admission = Admission(scope=scope, remember=remember)
        return ServerSide(store=store, scope=scope, admit=admission)

    # ---- the schedule --------------------------------------------------------------------------

    def run(self) -> None:
        """Work and trouble, then peace; raises `Broken` when something is not as it must be."""
        self._begin()
        self._bring_key(is_here=self.seed % KEYLESS != 2)
        self.network.trouble = self.random.choice((0.0, 0.3, 0.8))
        for _ in range(self.random.randrange(5, 40)):
            self._step()
        self.totals["lost connections"] = self.network.failures
        self._make_peace()
        self._check()

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
            (10, self._kill_server_soon),
            (4, self._cut),
            (2, self._lock_out),
            (4, lambda machine: machine.clock.jump(self.random)),
            (4, lambda _: self.network.deliver_late()),
            (3, self._grow_older),
            # What was written on the server alone is lost with it: no sync can help that.
            (0 if restores else 10, lambda _: self._work(self.office)),
            (12 if restores else 0, lambda _: self._back_up()),
            (40 if self.neighbour else 0, lambda _: self._work_next_door()),
        )
        weights, doing = zip(*does, strict=True)
        self.random.choices(doing, weights)[0](machine)

    def _work(self, machine: Machine) -> None:
        self.told.append(f"{machine.name} works at {machine.clock().isoformat()}")
        for _ in range(self.random.choice((1, 1, 2, 4))):
            self.time.pass_by(self.random)
            self._living(machine, machine.work)

    def _work_next_door(self) -> None:
        if self.neighbour is not None:
            for _ in range(self.random.choice((1, 2, 4))):
                self._living(self.office, self.neighbour.work)

    def _sync(self, machine: Machine) -> None:
        self.told.append(f"{machine.name} syncs")
        self._living(machine, lambda: self._note(machine.sync()))

    def _note(self, report: SyncReport) -> None:
        """Keep what came of a round, for a trace and for the totals."""
        said = {x.name: getattr(report, x.name) for x in dataclasses.fields(report)}
        self.told.append(f"  { ({name: value for name, value in said.items() if value}) }")
        self.totals.update({x: value for x, value in said.items() if isinstance(value, int)})
        self.totals["errors"] += report.error is not None

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
            self._revive(machine)
        finally:
            machine.store.live()

    def _revive(self, machine: Machine) -> None:
        """Begin a process anew that died; what it wrote is still there."""
        self.told.append(f"  {machine.name} dies")
        self.totals["crashes of the server" if machine is self.office else "crashes"] += 1
        machine.store.begin_anew(self.keeping.store(machine.name))

    def _die_soon(self, machine: Machine) -> None:
        """Die at one of the next writes, while working or syncing."""
        self._strike(machine)
        self.random.choice((self._sync, self._sync, self._work))(machine)

    def _kill_server_soon(self, machine: Machine) -> None:
        """Have the server die at one of its next writes, perhaps while a machine syncs."""
        self._strike(self.office)
        self.random.choice((self._sync, self._work))(machine)

    def _strike(self, machine: Machine) -> None:
        """Have a process die at one of its next writes; the server's at whoever's it is."""
        is_server = machine is self.office
        moment = self.random.choice(self.moments if is_server else _DEATHS)
        writes = self.random.randrange(2 if is_server else 6)
        machine.store.die(writes, moment, self.random.randrange(12))

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
        if self.has_backup:
            self.told.append("the server is restored from a backup")
            self.totals["restores"] += 1
            self.keeping.restore()
        else:
            self.keeping.back_up()
        store = self.keeping.store(SERVER)
        self.office.store.begin_anew(store)
        if self.has_backup:
            store.close_feed(self.ledger.scope)  # as the docs say, after a restore
        self.has_backup = not self.has_backup

    # ---- peace ---------------------------------------------------------------------------------

    def _make_peace(self) -> None:
        """Let every trouble end, and sync until nothing happens any more."""
        self.network.trouble = 0.0
        self.office.store.live()
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
        if report.error is not None:
            raise Broken(f"{machine.name} cannot sync: {report}")
        followed = report.copied or report.dropped
        return bool(followed or report.pulled or report.pushed or report.stale or report.refused)

    # ---- what must hold ------------------------------------------------------------------------

    def _stores(self) -> dict[str, Store]:
        return {machine.name: machine.store.store for machine in (self.office, *self.machines)}

    def _check(self) -> None:
        stores, vault = self._stores(), self.boundary.vault
        for machine in self.machines:
            pending = machine.store.changes(self.ledger.scope, 0, 10)
            if pending:
                raise Broken(f"{machine.name} still has pending changes: {pending}")
        scope = self.ledger.scope
        found = {name: found_in(store, vault, scope) for name, store in stores.items()}
        check_same(found)
        check_histories(self.ledger, found[SERVER])  # and so everywhere
        check_decisions(self.ledger, found[SERVER])
        conflicts = {x: store.conflicts(scope, 999, every=True) for x, store in stores.items()}
        check_nothing_lost(self.ledger, found[SERVER], conflicts[SERVER])
        check_conflicts(conflicts)
        if self.neighbour is not None:
            server = stores.pop(SERVER)
            self.neighbour.check(server, stores, {x: self.keeping.traces(x) for x in stores})
        self.keeping.check()


def _ids(random: Random) -> Callable[[], MemoryId]:
    def new_id() -> MemoryId:
        return MemoryId("".join(random.choices(ID_ALPHABET, k=ID_LENGTH)))

    return new_id
