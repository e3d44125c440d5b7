"""Random writes of our own and of others: every store numbers and keeps them as a model does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import count

import hypothesis.strategies as st
import numpy as np
from hypothesis import given, settings

from bearinmind.changes import (
    Change,
    LinkState,
    ShareState,
    Subject,
    Taken,
    digest,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.protocols import Gone, History, Received, Settled, Store, SubjectState
from bearinmind.types import (
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Provenance,
    Right,
    Scope,
    Share,
    Space,
    UserId,
)
from support.extractors import HOUR, after, extraction_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SPACE = Space(model="made up", revision="1", dimensions=2)
IDS = [MemoryId(f"id{number}") for number in range(4)]
LINKS = [(IDS[0], IDS[1]), (IDS[1], IDS[2]), (IDS[0], IDS[3])]
WORDS = ["heron | grey", "gannet | sea | gannet > eats > fish", "otter"]
BOB = UserId("bob")
scopes = (Scope(user=UserId(f"user{number}")) for number in count())
Numbers = st.integers(0, 7)
Write = tuple[str, int, int, int]
VERBS = ["put", "edit", "delete", "purge", "link", "unlink", "share", "unshare"]
OF_OTHERS = ["arrive", "take", "settle"]
one_write = st.tuples(st.sampled_from(VERBS + OF_OTHERS), Numbers, Numbers, Numbers)
writes = st.lists(one_write, min_size=20, max_size=40)


@dataclass
class Model:
    """What every store should hold, by subject, and under which numbers."""

    scope: Scope
    states: dict[Subject, SubjectState] = field(default_factory=dict)
    numbered: dict[Subject, Change] = field(default_factory=dict)
    head: int = 0
    time: datetime = NOON
    words: count[int] = field(default_factory=count)

    def note(self, *subjects: Subject, gone: Sequence[str] = ()) -> None:
        for subject in subjects:
            self.head += 1
            kept = tuple(gone) if subject == subjects[0] else ()
            self.numbered[subject] = Change(subject, self.head, kept)

    def versions(self, id: MemoryId) -> tuple[Memory, ...]:
        state = self.states.get(memory_subject(id))
        return state.versions if isinstance(state, History) else ()

    def links(self, subject: Subject) -> tuple[Link, ...]:
        state = self.states.get(subject)
        return state.links if isinstance(state, LinkState) else ()

    def share(self, subject: Subject) -> Share | None:
        state = self.states.get(subject)
        return state.share if isinstance(state, ShareState) else None

    def new(self, id: MemoryId, word: int) -> Memory:
        # each text once: that two say the same is no matter of numbering
        text = f"w{next(self.words)}, {WORDS[word % len(WORDS)]}"
        return Memory(
            id=id,
            owner=self.scope.user,
            content=text,
            category="facts",
            tags=(),
            keywords=(),
            importance=0.5,
            sensitive=False,
            created_at=NOON,
            updated_at=NOON,
            deleted_at=None,
            valid_from=None,
            valid_to=None,
            provenance=Provenance(),
            version=1,
        )

    def after_purge(self, id: MemoryId) -> list[Subject]:
        """Forget a memory with its links and shares; which those are."""
        touched = [
            subject
            for subject, state in self.states.items()
            if (isinstance(state, LinkState) and state.links and id in subject.parts)
            or (isinstance(state, ShareState) and state.share and state.share.memory == id)
        ]
        for subject in touched:
            self.states[subject] = LinkState(()) if subject.kind == "link" else ShareState(None)
        self.states[memory_subject(id)] = Gone()
        return sorted(touched, key=lambda subject: (subject.kind == "share", subject))


class Writer:
    """Does what a random write says, in every store and in the model."""

    def __init__(self, stores: Sequence[Store], scope: Scope) -> None:
        self.stores = stores
        self.scope = scope
        self.model = Model(scope)
        for store in stores:
            store.open_feed(scope, "epoch")

    def do(self, verb: str, which: int, how: int, more: int) -> None:
        self.model.time += HOUR
        getattr(self, f"_{verb}")(which, how, more)

    def _all(self, write: Callable[[Store], object]) -> object:
        """What they answered, which must be the same."""
        answers = [write(store) for store in self.stores]
        assert all(answer == answers[0] for answer in answers)
        return answers[0]

    def _put(self, which: int, how: int, _: int) -> None:
        memory = self.model.new(IDS[which % 4], how)
        if not self.model.versions(memory.id):
            self._all(lambda store: store.put(self.scope, memory))
            self._keep(memory_subject(memory.id), History(versions=(memory,)))

    def _keep(self, subject: Subject, state: SubjectState) -> None:
        self.model.states[subject] = state
        self.model.note(subject)

    def _edit(self, which: int, how: int, _: int, **changes: object) -> None:
        versions = self.model.versions(IDS[which % 4])
        if versions:
            text = self.model.new(versions[0].id, how).content
            changes = {"deleted_at": None, "content": text, **changes}
            newer = replace(after(versions[-1], **changes), updated_at=self.model.time)
            self._all(lambda store: store.replace(self.scope, newer))
            self._keep(memory_subject(newer.id), History(versions=(*versions, newer)))

    def _delete(self, which: int, how: int, more: int) -> None:
        self._edit(which, how, more, deleted_at=self.model.time)

    def _purge(self, which: int, _how: int, _more: int) -> None:
        id_ = IDS[which % 4]
        gone = [digest(memory) for memory in self.model.versions(id_)]
        self._all(lambda store: store.purge(self.scope, [id_]) is None)
        touched = self.model.after_purge(id_)
        self.model.note(*([memory_subject(id_)] if gone else []), *touched, gone=gone)

    def _link(self, which: int, _how: int, _more: int) -> None:
        source, target = LINKS[which % 3]
        link = Link(
            source=source, target=target, kind=LinkKind.SUPERSEDES, created_at=self.model.time
        )
        subject = link_subject(source, link.kind, target)
        held = self.model.links(subject)
        if not any(each.removed_at is None for each in held):
            self._all(lambda store: store.add_link(self.scope, link))
            self._keep(subject, LinkState((*held, link)))

    def _unlink(self, which: int, _how: int, _more: int) -> None:
        source, target = LINKS[which % 3]
        subject = link_subject(source, LinkKind.SUPERSEDES, target)
        held = self.model.links(subject)
        if held and held[-1].removed_at is None:
            removed = replace(held[-1], removed_at=self.model.time)
            self._all(lambda store: store.remove_link(self.scope, removed))
            self._keep(subject, LinkState((*held[:-1], removed)))

    def _made(self, which: int, how: int) -> tuple[Subject, Share]:
        id_ = IDS[which % 4] if how % 2 else None
        share = Share(
            owner=self.scope.user,
            reader=BOB,
            right=Right.WRITE if how % 4 > 1 else Right.READ,
            memory=id_,
            tag=None if id_ else "birds",
            created_at=self.model.time,
        )
        return share_subject(BOB, share.memory, share.tag), share

    def _share(self, which: int, how: int, _: int) -> None:
        subject, share = self._made(which, how)
        held = self.model.share(subject)
        if share.memory and not self.model.versions(share.memory):
            return
        self._all(lambda store: store.add_share(self.scope, share))
        if held is None or held.right is not share.right:
            self._keep(subject, ShareState(share))

    def _unshare(self, which: int, how: int, _: int) -> None:
        subject, share = self._made(which, how)
        self._all(lambda store: store.end_share(self.scope, share))
        if self.model.share(subject):
            self._keep(subject, ShareState(None))

    def _arrive(self, which: int, how: int, more: int) -> None:
        """A history from elsewhere: a part of the present one, and then something else."""
        id_ = IDS[which % 4]
        versions = self.model.versions(id_)[:how]
        for step in range(more % 3 or not versions):
            if versions:
                text = self.model.new(id_, step).content
                newer = after(versions[-1], content=text, deleted_at=None)
                versions += (replace(newer, updated_at=self.model.time + step * HOUR),)
            else:
                versions = (self.model.new(id_, step),)
        self.model.time += 4 * HOUR
        self._receive(memory_subject(id_), History(versions=versions), settled=more > 4)

    def _take(self, which: int, how: int, more: int) -> None:
        """A purge, a link or a share from elsewhere."""
        settled = more > 4
        if how % 3 == 0:
            self._receive(memory_subject(IDS[which % 4]), Gone(("x",)), settled=settled)
        elif how % 3 == 1:
            source, target = LINKS[which % 3]
            kind, at = LinkKind.SUPERSEDES, self.model.time
            past = Link(
                source=source, target=target, kind=kind, created_at=at, removed_at=at + HOUR
            )
            live = replace(past, created_at=at + HOUR, removed_at=None)
            subject = link_subject(source, kind, target)
            self._receive(subject, LinkState((past, live)[: more % 3]), settled=settled)
        else:
            subject, share = self._made(which, more)
            self._receive(subject, ShareState(share if how > 3 else None), settled=settled)

    def _receive(self, subject: Subject, state: SubjectState, *, settled: bool) -> None:
        model = self.model
        pending = model.numbered.get(subject)
        received = Received(subject, state, pending.number if pending else 0, settled=settled)
        verdicts = self._all(lambda store: store.receive(self.scope, [received]))
        gone: list[str] = []
        touched: list[Subject] = []
        if isinstance(state, Gone):
            id_ = MemoryId(subject.parts[0])
            gone = [*state.digests, *map(digest, model.versions(id_))]
            touched = model.after_purge(id_)
        else:
            model.states[subject] = state
        model.note(*([] if settled else [subject]), *touched, gone=[] if settled else gone)
        if settled:
            model.numbered.pop(subject, None)
        number = 0 if settled else model.numbered[subject].number
        assert verdicts == [Taken(number)]

    def _settle(self, which: int, _how: int, _more: int) -> None:
        pending = sorted(self.model.numbered.values(), key=lambda change: change.number)
        if pending:
            change = pending[which % len(pending)]
            settled = [Settled(change.subject, change.number, 5)]
            self._all(lambda store: store.settle(self.scope, settled))
            del self.model.numbered[change.subject]

    def _work(self, store: Store) -> None:
        """Read and embed some of what waits, so that there is something to be forgotten."""
        while jobs := store.claim(["extract", "embed"], 50, NOON, NOON + HOUR):
            read = [job for job in jobs if job.kind == "extract"]
            store.finish_extraction(read, [extraction_of(job.memory) for job in read], NOON)
            seen = [job for job in jobs if job.kind == "embed"]
            store.finish_embedding(SPACE, seen, np.ones((len(seen), 2), np.float32))


def check_against(model: Model, store: Store) -> None:
    numbered = sorted(model.numbered.values(), key=lambda change: change.number)
    feed = store.feed(model.scope)
    assert feed is not None
    assert feed.head == model.head
    assert store.changes(model.scope, 0, 99) == numbered
    middle = model.head // 2
    behind = [change for change in numbered if change.number > middle]
    assert store.changes(model.scope, middle, 3) == behind[:3]
    states = {
        subject: Gone(model.numbered[subject].gone if subject in model.numbered else ())
        if isinstance(state, Gone)
        else state
        for subject, state in model.states.items()
    }
    assert store.states(model.scope, [*states]) == states


@settings(max_examples=12)
@given(random=st.data())
def test_stores_number_and_keep_as_the_model_does(
    random: st.DataObject, stores: dict[str, Store]
) -> None:
    for store in stores.values():
        store.use_extractor("plain")
        store.use_space(SPACE)
    writer = Writer([*stores.values()], next(scopes))
    for each in random.draw(writes):
        writer.do(*each)
        if each[1] == 0:
            for store in stores.values():
                writer._work(store)
    for store in stores.values():
        check_against(writer.model, store)
        faults = [finding for finding in store.check() if not finding.good]
        assert [finding.name for finding in faults if "link" not in finding.name] == []
