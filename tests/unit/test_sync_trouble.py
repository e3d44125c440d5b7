"""What goes wrong with a server is said, kept and made good; nothing waits for anything else."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.changes import (
    Refused,
    Subject,
    SubjectKind,
    Taken,
    Verdict,
    link_subject,
    memory_subject,
)
from bearinmind.protocols import History, SubjectState
from bearinmind.store.sqlite import SqliteStore
from bearinmind.sync.model import (
    PAGE_BYTES,
    Operation,
    Pulled,
    Server,
    SharedMemories,
    SharedPage,
    size_of,
)
from bearinmind.sync.replica import Replica
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import MemoryId, Scope, UserId
from support.older_release import OlderRelease
from support.replicas import KEY, Machines, contents, machines

ADA = Scope(user=UserId("ada"))
SECRET = "the wifi password is kelp9salt"  # noqa: S105  made up


class HalfServer:
    """A server of which only one half answers."""

    def __init__(self, server: Server, *, pulls: bool, pushes: bool) -> None:
        self.server, self.pulls, self.pushes = server, pulls, pushes

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        if not self.pulls:
            raise errors.TimedOut("nothing came back")
        return self.server.pull(epoch, after, limit, space)

    def push(self, epoch: str, operations: Sequence[Operation]) -> Sequence[Verdict]:
        if not self.pushes:
            raise errors.ServerOverloaded("come again later")
        return self.server.push(epoch, operations)

    def shared(self, mark: str, after: str) -> SharedPage:
        return self.server.shared(mark, after)

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        return self.server.shared_memories(owner, ids, space)


class BusyStore(TemporaryStore):
    """A store in which somebody writes at the worst moment."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None

    def states(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, SubjectState]:
        found = super().states(scope, subjects)
        doing, self.meanwhile = self.meanwhile, None
        if doing is not None:
            doing()
        return found


@pytest.fixture
def world(clock: FixedClock) -> Iterator[Machines]:
    with machines(BusyStore, clock) as found:
        yield found


def store_of(memory: Mind) -> BusyStore:
    assert isinstance(memory._parts.store, BusyStore)
    return memory._parts.store


def backup(store: TemporaryStore) -> Callable[[], None]:
    """What puts a store back to what it is now."""
    kept = sqlite3.connect(":memory:")
    store._connections.get().backup(kept)

    def restore() -> None:
        kept.backup(store._connections.get())
        kept.close()

    return restore


def test_pulling_goes_on_while_pushing_fails_and_the_reverse(world: Machines) -> None:
    here, there = world.replica(), world.replica()
    first = here.store("from here").memory.id
    world.sync(here)
    second = there.store("from there").memory.id
    server = world.server.sync.server()
    report = there.sync.run(HalfServer(server, pulls=True, pushes=False))
    assert isinstance(report.push_error, errors.ServerOverloaded)
    assert there.get(first).content == "from here"
    assert "come again later" in (there.sync.status().peer.push_error or "")
    third = here.store("also from here").memory.id
    world.sync(here)
    report = there.sync.run(HalfServer(server, pulls=False, pushes=True))
    assert isinstance(report.pull_error, errors.TimedOut)
    assert world.server.get(second).content == "from there"
    assert there.sync.status().peer.push_error is None
    assert there.sync.status().waits == 0
    world.sync(there)
    assert there.get(third).content == "also from here"
    assert there.sync.status().peer.pull_error is None


def test_a_server_that_never_comes_to_an_end_is_not_asked_for_ever(world: Machines) -> None:
    class Endless(HalfServer):
        def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
            page = super().pull(epoch, after, limit, space)
            return page._replace(changes=(), cursor=after, more=True)

    report = world.replica().sync.run(Endless(world.server.sync.server(), pulls=True, pushes=False))
    assert isinstance(report.pull_error, errors.InvalidAnswer)


def test_a_first_push_needs_no_pull_that_came_before_it(world: Machines) -> None:
    here = world.replica()
    id_ = here.store("from here").memory.id
    report = here.sync.run(HalfServer(world.server.sync.server(), pulls=False, pushes=True))
    assert report.error is not None
    world.sync(here)
    assert world.server.get(id_).content == "from here"


def test_a_release_that_does_not_know_something_stops_before_it_and_goes_on_when_upgraded(
    world: Machines,
) -> None:
    here, there = world.replica(), world.replica()
    first = here.store("before").memory.id
    here.share_tag("zoo", "grace")
    behind = here.store("behind").memory.id
    world.sync(here)
    old = Replica(
        store=there.sync.store,
        scope=there.scope,
        server=OlderRelease(world.server.sync.server(), ADA.user, {SubjectKind.MEMORY}),
        sealing=there.sync.remember.boundary,
        clock=there.sync.clock,
    )
    report = old.round()
    assert isinstance(report.pull_error, errors.InvalidChange)
    assert "upgrade the older one" in report.pull_error.hint
    assert there.get(first).content == "before"
    with pytest.raises(errors.MemoryNotFound):
        there.get(behind)
    world.sync(there)
    assert there.get(behind).content == "behind"
    assert there.my_shares() == here.my_shares()


def test_what_a_server_lost_with_its_disk_is_told_to_it_again(world: Machines) -> None:
    here, there = world.replica(), world.replica()
    here.store("in the backup")
    here.share_tag("zoo", "grace")
    world.sync(here, there)
    restore = backup(store_of(world.server))
    one, two = here.store("after it").memory.id, there.store("also after it").memory.id
    here.link(one, "see-also", here.list()[-1].id)
    world.sync(here, there, here)
    before = [here.versions(id_) for id_ in (one, two)]
    restore()
    world.sync(here, there, here)
    for each in (here, there, world.server):
        assert [each.versions(id_) for id_ in (one, two)] == before
        assert len([*each.transfer.links()]) == 1
        assert len(each.my_shares()) == 1


def test_numbering_anew_after_a_restore_that_nobody_noticed_brings_everything_back(
    world: Machines,
) -> None:
    here, there = world.replica(), world.replica()
    world.sync(here)
    restore = backup(store_of(world.server))
    lost = here.store("after the backup").memory.id
    world.sync(here)
    restore()
    for number in range(5):  # so many that the lost numbers are given again
        there.store(f"written first, {number}")
    world.sync(there)
    world.server.sync.renumber()
    world.sync(here, there)
    assert world.server.get(lost) == there.get(lost) == here.get(lost)
    assert len(here.list()) == len(there.list()) == len(world.server.list()) == 6


def test_a_change_made_while_a_pull_is_merged_is_not_overwritten(world: Machines) -> None:
    here, there = world.replica(), world.replica()
    id_ = here.store("at first").memory.id
    world.sync(here, there)
    here.update(id_, tags=("zoo",))
    world.sync(here)
    store_of(there).meanwhile = lambda: there.update(id_, content="at the worst moment")
    world.sync(there, here)
    assert contents(here, id_)[-1] == "at the worst moment"
    assert here.get(id_).tags == ("zoo",)


def test_a_secret_that_was_not_found_on_a_replica_is_refused_by_the_server_in_clear(
    world: Machines,
) -> None:
    here = world.replica(detect_secrets=False)
    id_ = here.store(SECRET).memory.id
    world.sync(here)
    [pending] = here.sync.status().listed
    assert "holds a secret in clear" in pending.reason
    assert f"bearinmind update {id_} --sensitive" in pending.reason
    assert "kelp9salt" not in pending.reason
    with pytest.raises(errors.MemoryNotFound):
        world.server.get(id_)
    here.update(id_, sensitive=True)
    world.sync(here)
    assert here.sync.status().waits == 0
    assert world.server.get(id_).sensitive


def test_what_is_sealed_afterwards_leaves_the_files_of_every_machine(
    clock: FixedClock, tmp_path: Path
) -> None:
    numbers = itertools.count()
    with machines(lambda: SqliteStore(tmp_path / f"{next(numbers)}.db"), clock) as world:
        here, there = world.replica(), world.replica()
        id_ = here.store("the walrus sleeps at noon").memory.id
        world.sync(here, there)
        assert any(b"walrus" in file.read_bytes() for file in tmp_path.iterdir())
        here.update(id_, sensitive=True)
        world.sync(here, there)
        assert not [file for file in tmp_path.iterdir() if b"walrus" in file.read_bytes()]


def test_what_a_server_refused_is_asked_again_and_taken_when_it_can_be(clock: FixedClock) -> None:
    with machines(BusyStore, clock) as world:
        here = world.replica(categories=("facts", "recipes"))
        id_ = here.store("fish soup", category="recipes").memory.id
        [report] = world.sync(here)
        assert report.refused == 1
        [pending] = here.sync.status().listed
        assert "recipes" in pending.reason
        parts = world.server._parts
        rules = replace(parts.remember.rules, categories=("facts", "recipes"))
        world.server._open_parts = replace(parts, remember=replace(parts.remember, rules=rules))
        world.sync(here)
        assert world.server.get(id_).category == "recipes"


def test_a_push_that_does_not_go_on_from_what_the_server_has_is_refused(world: Machines) -> None:
    here = world.replica()
    kept = here.store("at first").memory
    world.sync(here)
    here.update(kept.id, content="then")
    world.sync(here)
    server = world.server.sync.server()
    page = server.pull("", 0, 10)
    subject = memory_subject(kept.id)
    shorter = Operation(subject, page.changes[-1].number, History(versions=(kept,)))
    [verdict] = server.push(page.epoch, [shorter])
    assert isinstance(verdict, Refused)
    assert contents(world.server, kept.id) == ["at first", "then"]


def test_a_message_that_arrives_again_or_too_late_changes_nothing(world: Machines) -> None:
    here = world.replica()
    kept = here.store("at first").memory
    server = world.server.sync.server()
    epoch = server.pull("", 0, 1).epoch
    once = Operation(memory_subject(kept.id), 0, History(versions=(kept,)))
    assert isinstance(server.push(epoch, [once])[0], Taken)
    before = server.pull(epoch, 0, 10)
    assert [type(x).__name__ for x in server.push(epoch, [once])] == ["Stale"]
    assert server.pull(epoch, 0, 10) == before


def test_numbers_of_another_time_are_told_apart(world: Machines) -> None:
    server = world.server.sync.server()
    with pytest.raises(errors.FeedRestarted):
        server.push("another", [])
    assert server.pull("another", 77, 10).cursor == 0


def test_pages_are_bounded_by_what_they_say(world: Machines) -> None:
    world.server = world.memory(content_limit=10_000, detect_secrets=False)
    here = world.replica(content_limit=10_000, detect_secrets=False)
    for number in range(60):
        here.store(f"{number} " + "x" * 9_900)
    world.sync(here)
    server = world.server.sync.server()
    pages = [server.pull("", 0, 10_000)]
    while pages[-1].more:
        pages.append(server.pull(pages[-1].epoch, pages[-1].cursor, 10_000))
    assert len(pages) > 1
    assert sum(len(page.changes) for page in pages) == 60
    for page in pages:
        assert sum(size_of(change.state) for change in page.changes) <= PAGE_BYTES


def test_vectors_come_along_when_both_sides_have_the_same_space(clock: FixedClock) -> None:
    with machines(BusyStore, clock) as world:
        world.server = world.memory(embedder="hash")
        id_ = world.server.store("the walrus eats fish", wait=True).memory.id
        there = world.replica(embedder="hash")
        there.work.run()  # its space becomes the active one
        world.sync(there)
        active = there.work.status().active
        assert active is not None
        assert active.embedded == 1  # nobody has worked here since
        assert there.recall("walrus fish").hits[0].memory.id == id_


def test_a_rotated_key_reaches_the_server(world: Machines) -> None:
    here = world.replica(vault_key=None)
    id_ = here.store(SECRET).memory.id
    world.sync(here)
    here.secrets.rotate_key()
    world.sync(here)
    assert world.server.secrets.sealed(id_) == here.secrets.sealed(id_)


def test_what_another_machine_sealed_under_the_key_before_is_sealed_anew(
    world: Machines, tmp_path: Path
) -> None:
    keys = tmp_path / "key"
    keys.write_text(KEY)
    keys.chmod(0o600)
    here, there = world.replica(vault_key=None, vault_key_file=keys), world.replica()
    here.store("the walrus sleeps at noon", sensitive=True)
    here.secrets.rotate_key()
    id_ = there.store(SECRET).memory.id
    world.sync(there, here)
    assert here.secrets.reveal(id_) == SECRET
    assert here.secrets.sealed(id_)[0].key_id != there.secrets.sealed(id_)[0].key_id
    assert here.versions(id_) == there.versions(id_)


def test_a_link_may_arrive_before_its_memories(world: Machines) -> None:
    here = world.replica()
    one, two = (here.store(text).memory.id for text in ("one", "two"))
    link = here.link(one, "see-also", two)
    server = world.server.sync.server()
    epoch = server.pull("", 0, 1).epoch
    subject = link_subject(link.source, link.kind, link.target)
    state = store_of(here).states(ADA, [subject])[subject]
    assert isinstance(server.push(epoch, [Operation(subject, 0, state)])[0], Taken)
    world.sync(here)
    assert [*world.server.transfer.links()] == [*here.transfer.links()]
