"""A machine with a replica, and somebody who works on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from random import Random

from bearinmind.changes import Peer, SubjectKind
from bearinmind.errors import MindError
from bearinmind.outdates.verdicts import MARK
from bearinmind.protocols import Store
from bearinmind.remember.admit import Rules
from bearinmind.remember.pipeline import Changes, Remember
from bearinmind.remember.secrets import Boundary, Reveal
from bearinmind.sync.replica import Replica, SyncReport
from bearinmind.sync.shared_copies import SharedCopies
from bearinmind.types import (
    Decider,
    Draft,
    Judgement,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Right,
    Scope,
    Share,
    Stored,
    UserId,
)
from support.older_release import OlderRelease
from support.simulator.clocks import Clock
from support.simulator.crashes import Dying
from support.simulator.ledger import SECRET, Ledger, memories_of, words_of
from support.simulator.network import Wire

READERS = (UserId("bob"), UserId("eve"))
TAGS = ("red", "green")
_KINDS = (LinkKind.SUPERSEDES, LinkKind.SUPERSEDES, LinkKind.SEE_ALSO)


def remember_with(
    store: Store, clock: Clock, boundary: Boundary, new_id: Callable[[], MemoryId]
) -> Remember:
    """The write path on a store."""
    reveal = Reveal(store=store, vault=boundary.vault, clock=clock)
    return Remember(
        store=store, rules=Rules(), clock=clock, new_id=new_id, boundary=boundary, reveal=reveal
    )


@dataclass
class Machine:
    """A machine that works whether or not the server can be reached."""

    name: str
    store: Dying
    wire: Wire
    clock: Clock
    boundary: Boundary
    ledger: Ledger
    random: Random
    new_id: Callable[[], MemoryId]
    new_mark: Callable[[], str]
    kinds: frozenset[SubjectKind] = frozenset(SubjectKind)
    told: list[str] = field(default_factory=list)  #: what was done last, for a trace
    has_neighbour: bool = False  #: whether somebody else shares with its user

    @property
    def scope(self) -> Scope:
        """Whose memories they are."""
        return self.ledger.scope

    @cached_property
    def remember(self) -> Remember:
        """What writes here."""
        return remember_with(self.store.as_store, self.clock, self.boundary, self.new_id)

    def connect(self) -> None:
        """Become a replica, or go on with becoming one."""
        if self.store.peer(self.scope) is None:
            self.store.open_feed(self.scope, self.name)
            self.store.keep_peer(self.scope, Peer(url="https://server", user=self.scope.user))

    def sync(self) -> SyncReport:
        """One round."""
        self.connect()
        replica = Replica(
            store=self.store.as_store,
            scope=self.scope,
            server=OlderRelease(self.wire, self.scope.user, self.kinds),
            sealing=self.boundary,
            clock=self.clock,
        )
        report = replica.round()
        if self.has_neighbour:
            copies = SharedCopies(
                store=self.store.as_store, scope=self.scope, server=self.wire, clock=self.clock
            )
            copies.sync(report)
        return report

    def begin(self) -> None:
        """Store some memories of every sort."""
        for store in (self._store, self._store, self._store_same, self._store_secret):
            store()

    # ---- what somebody does here ---------------------------------------------------------------

    def work(self) -> None:
        """Do one thing; what is refused was not done."""
        verbs: Sequence[tuple[int, Callable[[], None]]] = (
            (6, self._store),
            (2, self._store_same),
            (3, self._store_secret),
            (8, self._update),
            (2, self._change_secret),
            (2, self._flag),
            (2, self._unseal),
            (4, self._delete),
            (3, self._restore),
            (2, self._purge),
            (5, self._link),
            (2, self._unlink),
            (4, self._infer),
            (6, self._decide),
            (2, self._share),
            (1, self._unshare),
            (1 if self.store.conflicts(self.scope, 1) else 0, self._resolve),
        )
        weights, doing = zip(*verbs, strict=True)
        try:
            self.random.choices(doing, weights)[0]()
        except MindError as error:
            self.told.append(f"  refused: {error.message}")

    def _some(self, *, deleted: bool = False, sensitive: bool | None = None) -> Memory | None:
        found = [
            memory
            for memory in memories_of(self.store.as_store, self.scope)
            if (memory.deleted_at is not None) == deleted
            and (sensitive is None or memory.sensitive == sensitive)
        ]
        # Most work is on a few memories: that is where machines contradict each other.
        busy = found if self.random.random() < 0.3 else sorted(found, key=_name)[:3]
        return self.random.choice(busy) if busy else None

    def _add(self, draft: Draft, mark: str) -> None:
        outcome = self.remember.add(self.scope, draft)
        if isinstance(outcome, Stored):
            self.ledger.acknowledge(mark, outcome.memory.id)
            self.told.append(f"  stored {outcome.memory.id} {mark}")

    def _store(self) -> None:
        mark = self.new_mark()
        self._add(Draft(content=f"a text {mark}", tags=(self.random.choice(TAGS),)), mark)

    def _store_same(self) -> None:
        mark = self.new_mark()
        text = f"said on every machine {self.random.randrange(2)}"
        self._add(Draft(content=text, keywords=(mark,)), mark)

    def _store_secret(self) -> None:
        mark = self.new_mark()
        flag = not self.boundary.detects  # or else it is found
        self._add(Draft(content=_secret(mark), sensitive=flag), mark)

    def _update(self) -> None:
        memory = self._some()
        if memory is None:
            return
        mark = self.new_mark()
        changes = self.random.choice(
            (
                Changes(tags=(mark, self.random.choice(TAGS))),
                Changes(keywords=(mark,)),
                Changes(content=_text(memory, mark)),
                Changes(importance=self.random.choice((0.1, 0.9)), keywords=(mark,)),
            )
        )
        self._change(memory, changes, mark)

    def _change_secret(self) -> None:
        memory = self._some(sensitive=None if self.boundary.detects else True)
        if memory is not None:
            mark = self.new_mark()
            self._change(memory, Changes(content=_secret(mark)), mark)

    def _flag(self) -> None:
        """Seal a memory with all its versions."""
        memory = self._some(sensitive=False)
        if memory is not None:
            self.told.append(f"  seals {memory.id} v{memory.version}")
            self.remember.update(self.scope, memory, Changes(sensitive=True))
            self.ledger.flagged.add(memory.id)

    def _unseal(self) -> None:
        """Lay a memory open again that was sealed; no secret is in it as far as is known here."""
        memory = self._some(sensitive=True)
        if memory is None or SECRET in repr(self._words(memory)):
            return
        self.told.append(f"  unseals {memory.id} v{memory.version}")
        self.ledger.unsealed.add(memory.id)
        self.remember.update(self.scope, memory, Changes(sensitive=False))

    def _words(self, memory: Memory) -> list[list[str]]:
        store, vault = self.store.as_store, self.boundary.vault
        return words_of(store, vault, self.scope, store.versions(self.scope, memory.id))

    def _change(self, memory: Memory, changes: Changes, mark: str) -> None:
        self.told.append(f"  updates {memory.id} v{memory.version} {mark} {changes}")
        self.remember.update(self.scope, memory, changes)
        self.ledger.acknowledge(mark, memory.id)

    def _delete(self) -> None:
        memory = self._some()
        if memory is not None:
            self.told.append(f"  deletes {memory.id}")
            self.remember.delete(self.scope, memory)
            self.ledger.deleted.add(memory.id)

    def _restore(self) -> None:
        memory = self._some(deleted=True)
        if memory is not None:
            self.told.append(f"  restores {memory.id}")
            self.remember.restore(self.scope, memory)

    def _purge(self) -> None:
        memory = self._some(deleted=True)
        if memory is not None:
            self.told.append(f"  purges {memory.id}")
            self.ledger.purge(self.store.as_store, self.boundary.vault, memory.id)
            self.remember.purge(self.scope, self.remember.plan_purge(self.scope, [memory]))

    def _link(self) -> None:
        source, target = self._some(), self._some()
        if source is not None and target is not None and source.id != target.id:
            kind = self.random.choice(_KINDS)
            self.told.append(f"  links {source.id} {kind} {target.id}")
            link = self.remember.link(self.scope, source, kind, target)
            self.ledger.linked[source.id, kind.value, target.id] = link

    def _unlink(self) -> None:
        links = [x for x in self._links() if x.kind is not LinkKind.OUTDATES]
        if links:
            link = self.random.choice(links)
            self.told.append(f"  unlinks {link.source} {link.kind} {link.target}")
            self.ledger.unlinked.add((link.source, link.kind.value, link.target))
            self.remember.unlink(self.scope, link.source, link.kind, link.target)

    def _links(self) -> list[Link]:
        return [x for x in self.store.all_links(self.scope) if x.removed_at is None]

    def _infer(self) -> None:
        """Do a job of comparing, as a worker does; every machine infers the same."""
        now = self.clock()
        for job in self.store.claim(["compare"], 1, now, now + timedelta(seconds=1)):
            scope, other = Scope(user=job.owner), self._some(sensitive=False)
            ended = [x for x in self._links() if x.judgement and x.judgement.by is Decider.SCORER]
            new = []
            if other is not None and job.owner == self.scope.user and other.id != job.memory.id:
                new.append(_inferred(*sorted((job.memory, other), key=_age)))
            ended = [
                replace(link, removed_at=now)
                for link in ended
                if job.memory.id in (link.source, link.target) and self.random.random() < 0.3
            ]
            self.told.append(f"  infers {[(x.source, x.target) for x in new]}, ends {len(ended)}")
            self.store.finish_comparison(scope, [job], new, ended)

    def _decide(self) -> None:
        """Say which of two memories holds, mostly where that was inferred or decided before."""
        judged = [x for x in self._links() if x.kind is LinkKind.OUTDATES]
        if judged and self.random.random() < 0.7:
            link = self.random.choice(judged)
            ends = self.random.sample((link.source, link.target), 2)
        else:
            some = [x.id for x in (self._some(), self._some()) if x is not None]
            ends = [*dict.fromkeys(some)]
        live = self.store.get_many(self.scope, ends)
        if len(ends) < 2 or len(live) < 2 or any(x.deleted_at for x in live.values()):
            return
        between = [x for x in judged if {x.source, x.target} == {*ends}]
        by = self.random.choice((Decider.AGENT, Decider.PERSON))
        if by is Decider.AGENT and Decider.PERSON in [
            x.judgement.by for x in between if x.judgement
        ]:
            return  # which a person decided
        self._keep_decision(ends, by, between)

    def _keep_decision(self, ends: Sequence[MemoryId], by: Decider, before: list[Link]) -> None:
        mark = self.new_mark()
        probability = int(mark[1:]) / 2**20  # no other decision has it
        judgement = Judgement(probability=probability, by=by, evidence=(f"because of {mark}",))
        link = Link(
            source=ends[0],
            target=ends[1],
            kind=LinkKind.OUTDATES,
            created_at=self.clock(),
            judgement=judgement,
        )
        known = [x for x in self.store.all_links(self.scope) if {x.source, x.target} == {*ends}]
        self.told.append(f"  {by} decides {link.source} outdates {link.target} {mark}")
        ended = [replace(each, removed_at=link.created_at) for each in before]
        self.store.change_links(self.scope, ended, [link])  # or it dies, and overrules nothing
        self.ledger.overruled |= {x.judgement.probability for x in known if x.judgement}
        decided = self.ledger.decided.setdefault(frozenset(ends), {})
        decided[probability] = by

    def _share(self) -> None:
        memory = self._some(sensitive=False)
        by_tag = memory is None or self.random.random() < 0.5
        share = Share(
            owner=self.scope.user,
            reader=self.random.choice(READERS),
            right=self.random.choice([*Right]),
            memory=None if by_tag or memory is None else memory.id,
            tag=self.random.choice(TAGS) if by_tag else None,
            created_at=self.clock(),
        )
        self.told.append(f"  shares {share.memory or share.tag} with {share.reader} {share.right}")
        self.store.add_share(self.scope, share)

    def _unshare(self) -> None:
        shares = self.store.shares(self.scope)
        if shares:
            share = self.random.choice(shares)
            self.told.append(f"  unshares {share.memory or share.tag} with {share.reader}")
            self.store.end_share(self.scope, share)

    def _resolve(self) -> None:
        """Decide on a conflict, as whoever lists it may."""
        found = self.random.choice(self.store.conflicts(self.scope, 99))
        self.told.append(f"  resolves {found.kind} {found.subject.label}")
        self.store.resolve_conflict(self.scope, found.number, self.clock())


def _age(memory: Memory) -> tuple[object, str]:
    return memory.updated_at, memory.id


def _inferred(older: Memory, newer: Memory) -> Link:
    """What every machine infers of these versions of two memories."""
    return Link(
        source=newer.id,
        target=older.id,
        kind=LinkKind.OUTDATES,
        created_at=newer.updated_at,
        judgement=Judgement(probability=MARK, by=Decider.SCORER, evidence=("it says so",)),
    )


def _name(memory: Memory) -> tuple[object, str]:
    return memory.created_at, memory.id


def _text(memory: Memory, mark: str) -> str:
    return _secret(mark) if memory.sensitive else f"another text {mark}"


def _secret(mark: str) -> str:
    return f"the password is {SECRET}{mark} {mark}"
