"""Fills a store with everything that a store can hold, and reads everything back.

The lives are random, and the same for the same seed: two stores that led one answer alike.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from bearinmind.changes import (
    ConflictKind,
    Peer,
    ShareState,
    SyncConflict,
    memory_subject,
    share_subject,
)
from bearinmind.concepts import Merge, Role
from bearinmind.config import store_name
from bearinmind.errors import MindError
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.protocols import (
    AuditEntry,
    History,
    Page,
    Received,
    Sealed,
    Settled,
    Step,
    Store,
    TrafficCount,
    TrafficKind,
    User,
)
from bearinmind.store.factory import Access as Connecting
from bearinmind.store.factory import open_source
from bearinmind.store.migrate_store import Digest
from bearinmind.store.transfer import TABLES
from bearinmind.types import (
    Access,
    Decider,
    Filter,
    Judgement,
    Key,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Right,
    Scope,
    Share,
    Space,
    State,
    Trust,
    UserId,
    copy_name,
)
from support.extractors import HOUR, after, deleted, extraction_of, mention, states


def sync(store: Store, scope: Scope, now: datetime) -> None:
    """Be a replica that has come some way: settled, refused and contradicted."""
    first, second, third, *_ = store.changes(scope, 0, 99)
    peer = Peer(url="https://zoë.example", user=scope.user, epoch="theirs", cursor=41)
    peer = replace(peer, pulled_at=now, push_error="no answer", shared_at=now, shared_error="no")
    store.keep_peer(scope, peer)
    store.settle(scope, [Settled(first.subject, first.number, 17)])
    store.refuse(scope, second.subject, second.number, "too long")
    for number in (1, 2):
        about, other = third.subject, f"b{number}"
        conflict = SyncConflict(0, ConflictKind.EDITED, about, "a", other, "tags", now)
        [[subject, state]] = store.states(scope, [third.subject]).items()
        known = store.numbers(scope, [subject])[subject]
        store.receive(scope, [Received(subject, state, known, peer_number=9, conflict=conflict)])
        if number == 1:
            store.resolve_conflict(scope, number, now)


def copy_from_grace(store: Store, scope: Scope, now: datetime) -> None:
    """Have a copy of what somebody else shares, as it comes from a server."""
    mirror = Scope(user=copy_name(UserId("grace"), scope.user))
    own = store.browse(Filter(scope=scope, now=now), Page(limit=9))
    said = next(memory for memory in own if not memory.sensitive)
    share = Share(
        owner=mirror.user, reader=scope.user, right=Right.WRITE, memory=said.id, created_at=now
    )
    named = share_subject(share.reader, share.memory, None)
    copied = History(versions=(replace(said, version=7),))
    store.receive(mirror, [Received(memory_subject(said.id), copied, 0)])
    store.receive(mirror, [Received(named, ShareState(share), 0)])


def propose(store: Store, scope: Scope, now: datetime) -> None:
    """Have proposals in several states."""
    proposals = [
        Proposal(
            id=f"p{number}",
            kind=kind,
            origin="consolidation",
            memories=(MemoryId("ü"), MemoryId("two")),
            reason="zoë said so",
            evidence={"cosine": 0.5, "text": "日本語"},
            change={"tags": ["%_\\'\""]},
            digest=f"d{number}",
            created_at=now,
        )
        for number, kind in enumerate(ProposalKind)
    ]
    store.propose(scope, proposals)
    applied = replace(proposals[0], state=ProposalState.APPLIED, decided_at=now, undo={"x": 1})
    store.decide(scope, applied, ProposalState.OPEN)


def synced(store: Store, scope: Scope) -> Iterator[tuple[str, Any]]:
    """All that a store answers about it."""
    changes = store.changes(scope, 0, 999)
    subjects = [*(change.subject for change in changes), memory_subject(MemoryId("none"))]
    yield "feed", (store.feed(scope), changes, store.peer(scope))
    yield "server", store.peer_numbers(scope, subjects)
    yield "states", store.states(scope, subjects)
    yield "conflicts", store.conflicts(scope, 99, every=True)
    mirror = Scope(user=copy_name(UserId("grace"), scope.user))
    ids = [share.memory for share in store.shares(mirror) if share.memory]
    yield "copies", (store.shared_with(scope.user), store.get_many(mirror, ids))
    yield "proposals", store.proposals(scope, [*ProposalState], 99)


OWNERS = [Scope(user=UserId(name)) for name in ("ada", "eve", "Ørsted", "zoë 💾")]
FIRST = Space(model="first", revision="1", dimensions=24, query_prompt="query: ", text="content")
SECOND = Space(model="second", revision="2", dimensions=7)
THIRD = Space(model="third", revision="3", dimensions=5)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(days=99)
BIRDS = ["Gannet", "Heron", "Ilse", "Dunlin", "Größe", "Skua 2", "北", "Tern"]
WORDS = ["walrus", "otter", "parse_config", "3.11.7", "naïve", "日本語", "the", "%_\\'\""]
TAGS = ["red", "dark green", 'ü,"{}\\']
EVERY_STATE = frozenset(State)


class Life:
    """A random life of a store."""

    def __init__(self, store: Store, seed: int, memories: int = 60) -> None:
        self.store = store
        self.chance = random.Random(seed)
        self.vectors = np.random.default_rng(seed)
        self.memories = memories
        self.now = NOON
        self.kept: list[tuple[Scope, Memory]] = []

    def __call__(self) -> None:
        """Lead it."""
        store = self.store
        store.use_space(THIRD)
        store.use_extractor("plain")
        self._keep(self.memories // 3)
        self._work()
        store.use_space(FIRST)
        self._work()
        store.activate_filled()  # the third one is retired
        self._keep(self.memories // 3)
        self._change()
        self._work()
        self._weave()
        store.use_space(SECOND)  # and stays half filled
        self._keep(self.memories // 3)
        self._rotate()
        self._leave_work()
        for scope in OWNERS[:2]:
            store.open_feed(scope, f"epoch of {scope.user}")
        self._purge()
        self._share()
        self._let_in()
        for scope in OWNERS[:2]:
            sync(store, scope, self.now)
            copy_from_grace(store, scope, self.now)
            propose(store, scope, self.now)

    # ---- memories ------------------------------------------------------------------------------

    def _keep(self, count: int) -> None:
        for _ in range(count):
            scope = self.chance.choice(OWNERS)
            memory = self._made(scope)
            sealed = [_seal(memory)] if memory.sensitive else []
            before = [other for whose, other in self.kept if whose == scope]
            links = [self._link(memory, self.chance.choice(before))] if before else []
            if self.chance.random() < 0.3:
                second = after(memory, importance=0.75)
                self.store.put_many(scope, [History(versions=(memory, second), sealed=(*sealed,))])
                memory = second
            else:
                self.store.put(scope, memory, links[: self.chance.randrange(2)], sealed)
            self.kept.append((scope, memory))

    def _made(self, scope: Scope) -> Memory:
        number = len(self.kept)
        self.now += timedelta(minutes=7, microseconds=number)
        chance = self.chance
        birds = [", ".join(chance.sample(BIRDS, count)) for count in (1, 2)]
        said = f"{chance.choice(BIRDS)} > {chance.choice(['knows', 'runs on'])} > Lapwing"
        rest = f"{' '.join(chance.sample(WORDS, 3))} {number}"
        memory = Memory(
            id=MemoryId(f"m{number:04}{scope.user[0]}"),
            owner=scope.user,
            content=f"{birds[0]} | {birds[1]} | {said} | {rest}",
            category=chance.choice(["facts", "people"]),
            tags=tuple(chance.sample(TAGS, chance.randrange(3))),
            keywords=tuple(chance.sample(["beak", "NULL", "wing"], chance.randrange(3))),
            importance=chance.random(),
            sensitive=chance.random() < 0.15,
            created_at=self.now,
            updated_at=self.now,
            deleted_at=None,
            valid_from=chance.choice([None, NOON]),
            valid_to=chance.choice([None, LATER]),
            provenance=Provenance(
                agent=chance.choice([None, "claude"]),
                session=chance.choice([None, "s1"]),
                project=chance.choice([None, "p\t1\n2"]),
                source=chance.choice([None, "https://example.org/?a=1&b=\\x"]),
                trust=chance.choice([*Trust]),
            ),
            version=1,
        )
        return replace(memory, content=f"[sensitive: {number}]") if memory.sensitive else memory

    def _link(self, source: Memory, target: Memory) -> Link:
        kind = self.chance.choice([*LinkKind])
        link = Link(source=source.id, target=target.id, kind=kind, created_at=self.now)
        if kind is not LinkKind.OUTDATES or self.chance.random() < 0.2:
            return link
        judgement = Judgement(
            probability=self.chance.random(),
            by=self.chance.choice([*Decider]),
            thing=self.chance.choice(["", *WORDS]),
            aspect=self.chance.choice(["", "Größe"]),
            evidence=tuple(self.chance.sample(WORDS, 2)),
        )
        return replace(link, judgement=judgement)

    def _change(self) -> None:
        """Update, delete and restore; link and unlink, some of it twice."""
        for place, (scope, memory) in enumerate(self.kept):
            match self.chance.randrange(5):
                case 0:
                    changed = after(memory, content=f"{memory.content} now", tags=("new",))
                    self.store.replace(scope, changed, sealed=self._sealed(changed))
                case 1:
                    changed = after(memory, importance=0.25)
                    self.store.replace(scope, changed)
                case 2:
                    changed = deleted(memory)
                    self.store.replace(scope, changed)
                    if self.chance.random() < 0.5:
                        changed = after(changed, deleted_at=None)
                        self.store.replace(scope, changed)
                case 3 if not memory.sensitive:
                    changed = after(memory, content="[sensitive: hidden]", sensitive=True)
                    hidden = [
                        replace(version, content="[sensitive: past]", sensitive=True)
                        for version in self.store.versions(scope, memory.id)
                    ]
                    sealed = [*map(_seal, [*hidden, changed])]
                    self.store.replace(scope, changed, (), sealed, hidden)
                case _:
                    changed = memory
            self.kept[place] = (scope, changed)
        for scope in OWNERS:
            self._relink(scope)

    def _sealed(self, memory: Memory) -> list[Sealed]:
        return [_seal(memory)] if memory.sensitive else []

    def _relink(self, scope: Scope) -> None:
        for link in [*self.store.all_links(scope)]:
            if self.chance.random() < 0.5 and link.removed_at is None:
                self.now += HOUR
                self.store.remove_link(scope, replace(link, removed_at=self.now))
                if self.chance.random() < 0.5:
                    self._attempt(scope, replace(link, created_at=self.now + HOUR))

    def _attempt(self, scope: Scope, link: Link) -> None:
        with suppress(MindError):  # it may close a circle
            self.store.add_link(scope, link)

    def _rotate(self) -> None:
        for record in self.store.sealed_otherwise("key-2", None, 5):
            self.store.reseal([(record, _resealed(record))])
        self.store.retire_keys(["key-0", "key-1"], self.now)
        for number in range(9):
            scope, memory = self.chance.choice(self.kept)
            agent = self.chance.choice([None, "claude"])
            at = NOON + number * HOUR
            self.store.note(AuditEntry(at, scope.user, "get", memory.id, memory.version, agent))

    def _purge(self) -> None:
        for scope, memory in self.chance.sample(self.kept, 3):
            self.store.purge(scope, [memory.id])

    # ---- others --------------------------------------------------------------------------------

    def _share(self) -> None:
        """Share memories and tags, some with another right later, and end some of that."""
        for _ in range(30):
            owner, memory = self.chance.choice(self.kept)
            reader = self.chance.choice([scope for scope in OWNERS if scope != owner])
            by_tag = self.chance.random() < 0.5
            self.now += HOUR
            made = Share(
                owner=owner.user,
                reader=reader.user,
                right=self.chance.choice([*Right]),
                memory=None if by_tag else memory.id,
                tag=self.chance.choice(TAGS) if by_tag else None,
                created_at=self.now,
            )
            with suppress(MindError):  # it may be purged
                self.store.add_share(owner, made)
            if self.chance.random() < 0.3:
                self.store.end_share(owner, replace(made, ended_at=self.now + HOUR))

    def _let_in(self) -> None:
        """Users, some of them disabled, with keys, some of them revoked, that were used."""
        for number, scope in enumerate(OWNERS):
            self.store.add_user(User(scope.user, self.now))
            self.store.set_disabled(scope.user, self.now if number == 1 else None)
            key = Key(
                id=f"k{number}",
                user=scope.user,
                access=[*Access][number % 3],
                hash=bytes(range(number, 32 + number)),
                label="zoë's laptop",
                created_at=self.now,
                expires_at=[None, LATER][number % 2],
                per_minute=[None, 60][number % 2],
                per_day=[9, None][number % 2],
            )
            self.store.add_key(key)
            self.store.count_writes(key.id, self.now.date(), 9)
            self.store.count_writes(key.id, NOON.date(), 9)
            told = AuditEntry(self.now, scope.user, "share", None, None, None, key.id, "with eve")
            self.store.note(told)
            counted = TrafficCount(scope.user, [*TrafficKind][number % 4], self.now, 1 + number)
            self.store.count_traffic([counted], self.now)
        self.store.end_key("k2", revoked_at=LATER)

    # ---- background work and the graph ---------------------------------------------------------

    def _work(self) -> None:
        """Do all of it."""
        store, now = self.store, LATER
        known = {each.space.key: each.space for each in store.spaces()}
        while jobs := store.claim(["embed"], 1, now, now + HOUR):
            space = known[jobs[0].target]
            made = self.vectors.standard_normal((len(jobs), space.dimensions))
            store.finish_embedding(space, jobs, made.astype(np.float32))
        while jobs := store.claim(["extract"], 99, now, now + HOUR):
            store.finish_extraction(jobs, [extraction_of(job.memory) for job in jobs], now)

    def _leave_work(self) -> None:
        """Do some of it; leave the rest waiting, claimed, given back and given up."""
        store, now = self.store, LATER
        jobs = store.claim(["embed"], 60, now, now + HOUR)
        second = [job for job in jobs if job.target == SECOND.key][:2]
        made = self.vectors.standard_normal((len(second), SECOND.dimensions))
        store.finish_embedding(SECOND, second, made.astype(np.float32))
        left = [job for job in jobs if job not in second]
        store.give_back(left[:1], "no answer: 503\nbusy", now + HOUR)
        store.give_back(left[1:2], "refused", now, dead=True)
        read = store.claim(["extract"], 4, now, now + HOUR)
        store.finish_extraction(read[:2], [extraction_of(job.memory) for job in read[:2]], now)
        store.give_back(read[2:3], "not read", now, dead=True)

    def _weave(self) -> None:
        """Merge concepts and undo it, give mentions and relations, retract and end some."""
        store = self.store
        for scope in OWNERS:
            names = [concept.name for concept in store.hubs(scope, 5)]
            for alias, into, score in zip(names[1:], names, (0.9, 0.5, 1.0, 0.25), strict=False):
                merge = Merge(
                    alias=alias, into=into, reason="alike", score=score, merged_at=self.now
                )
                store.merge(scope, merge)
            if len(names) > 2:
                store.unmerge(scope, names[2], self.now + HOUR)
            present = [m for whose, m in self.kept if whose == scope]
            ids = [m.id for m in present if not m.sensitive and m.deleted_at is None][:2]
            found = {id_: [mention("Lapwing", Role.SUBJECT)] for id_ in ids}
            store.add_mentions(scope, found, given=True)
            held = states("Tern", "runs on", "Kestrel", weight=0.5, valid_from=NOON)
            store.add_statements(scope, [(held, ids), (held, [])], self.now, "import")
            for number, believed in enumerate(self._believed(scope)):
                if number % 3 == 0:
                    store.retract(scope, believed, self.now + 2 * HOUR)
                elif number % 3 == 1:
                    store.end_relation(scope, believed, NOON + HOUR, self.now + 2 * HOUR)

    def _believed(self, scope: Scope) -> list[int]:
        admitted = Filter(scope=scope, now=LATER, states=EVERY_STATE)
        return [relation.number for relation in self.store.all_relations(admitted)][:7]


def _seal(memory: Memory) -> Sealed:
    return Sealed(
        owner=memory.owner,
        id=memory.id,
        version=memory.version,
        key_id="key-1",
        nonce=f"{memory.id}{memory.version}".encode(),
        ciphertext=bytes(range(256)),
        fingerprint=f"{memory.id}{memory.version:>5}".encode(),
    )


def _resealed(record: Sealed) -> Sealed:
    return replace(
        record, key_id="key-2", nonce=record.nonce + b"\0", fingerprint=record.fingerprint + b"\xff"
    )


# ---- everything --------------------------------------------------------------------------------


def everything(store: Store) -> dict[str, Any]:
    """All that a store answers to anybody, numbers of relations aside."""
    whole = {
        "spaces": store.spaces(),
        "extractor": store.extractor(),
        "work": sorted(store.work_counts(LATER)),
        "next": store.next_due(LATER),
        "keys": (store.sealed_under(), store.retired_keys()),
        "users": store.users(),
        "bearers": store.keys(),
    }
    return whole | {scope.user: dict(_of(store, scope)) for scope in OWNERS}


def _of(store: Store, scope: Scope) -> Iterator[tuple[str, Any]]:
    admitted = Filter(scope=scope, now=LATER, states=EVERY_STATE)
    memories = store.browse(admitted, Page(limit=999))
    ids = [memory.id for memory in memories]
    yield "memories", memories
    yield "oldest", store.browse(admitted, Page(limit=999, newest_first=False))
    yield "versions", {id_: store.versions(scope, id_) for id_ in ids}
    yield "links", [*store.all_links(scope)]
    yield "newer", store.newer(scope, ids)
    yield "secrets", {id_: store.sealed(scope, id_) for id_ in ids}
    yield "sensitive", store.sensitive(scope)
    yield "audit", store.audit(scope, 99)
    yield "statistics", store.statistics(scope, LATER)
    yield "traffic", [store.traffic(scope, step, NOON - HOUR) for step in Step]
    for as_of in (None, NOON + 3 * HOUR):
        moment = replace(admitted, as_of=as_of)
        yield f"words {as_of}", {term: _matches(store, moment, term) for term in ("walru", "now")}
        yield f"near {as_of}", [_nearest(store, moment, space) for space in (FIRST, SECOND, THIRD)]
        yield f"mentions {as_of}", sorted(store.all_mentions(moment))
        relations = [replace(each, number=0) for each in store.all_relations(moment)]
        yield f"relations {as_of}", sorted(relations, key=repr)
    yield "hubs", store.hubs(scope, 99)
    yield "merges", store.merges(scope, undone=True)
    yield "graph", store.graph_counts(scope)
    yield "terms", store.lexical_statistics(scope, ["walru", "now"])
    yield "shares", store.shares(scope)
    yield "shared", store.shared_with(scope.user)
    yield from synced(store, scope)
    for owner in store.sharers(scope.user):
        seen = replace(admitted, scope=Scope(user=owner), reader=scope.user)
        yield f"seen of {owner}", (store.browse(seen, Page(limit=999)), store.rights(seen, ids))


def _matches(store: Store, filter: Filter, term: str) -> list[tuple[object, ...]]:
    found = store.lexical_matches(filter, [term], every=True, limit=99)
    return sorted((*match[:-1], repr(match.load())) for match in found)


def _nearest(store: Store, filter: Filter, space: Space) -> object:
    """The nearest; in the last place two kinds of stores may round a cosine differently."""
    query = np.linspace(-1, 1, space.dimensions).astype(np.float32)
    nearest = store.nearest(filter, space, query, 99).nearest
    return [(near.id, round(near.cosine, 4)) for near in nearest]


def rows(place: str) -> dict[str, tuple[int, str]]:
    """How many rows each table has, and a hash of all of them: of every column, numbers too."""
    found = {}
    with (
        open_source(store_name(place), Connecting(connections=2)) as end,
        end.snapshot() as snapshot,
    ):
        for table in TABLES:
            digest = Digest()
            for page in snapshot.pages(table, table.beginning, 500):
                digest.add(page)
            found[table.name] = digest.rows, str(digest)
    return found
