"""What others share is on the machine of whoever sees it: to be read, while it is shared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

import pytest

from bearinmind.app import Mind
from bearinmind.changes import Verdict
from bearinmind.errors import (
    InvalidChange,
    MemoryNotFound,
    NotAllowed,
    PathNotFound,
    ServerUnreachable,
)
from bearinmind.protocols import Store
from bearinmind.store.sqlite import SqliteStore
from bearinmind.sync.model import Operation, Pulled, Seen, Server, SharedMemories, SharedPage
from bearinmind.testing import FixedClock
from bearinmind.types import Memory, MemoryId, Right, Trust, UserId
from support.households import KINDS, open_kind
from support.replicas import Machines, machines


@pytest.fixture
def world(
    request: pytest.FixtureRequest,
    clock: FixedClock,
    migrated_database: Callable[[], str],
) -> Iterator[Machines]:
    """On SQLite, or on stores of another kind where a test asks for all of them."""
    kind = getattr(request, "param", "sqlite")

    def store() -> Store:
        return open_kind(kind, migrated_database)

    with machines(store, clock) as found:
        yield found


on_every_store = pytest.mark.parametrize("world", KINDS, indirect=True)


@pytest.fixture
def bob(world: Machines) -> Mind:
    """Somebody else on the server."""
    return world.server.for_user("bob")


@pytest.fixture
def laptop(world: Machines) -> Mind:
    return world.replica()


def found(memory: Mind, question: str) -> list[tuple[str, str]]:
    """Whose memories a question finds, and what they say."""
    hits = memory.recall(question).hits
    return [(hit.memory.owner, hit.memory.content) for hit in hits]


def shared(bob: Mind, content: str = "the walrus eats clams", **fields: object) -> Memory:
    """A memory of Bob's that Ada may read."""
    kept = bob.store(content, **fields).memory  # type: ignore[arg-type]
    bob.share(kept.id, "ada")
    return kept


@on_every_store
def test_what_is_shared_is_found_on_the_machine_with_its_owner(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    kept = shared(bob)
    [report] = world.sync(laptop)
    assert (report.copied, report.dropped) == (1, 0)
    assert found(laptop, "what does the walrus eat?") == [("bob", "the walrus eats clams")]
    assert laptop.get(kept.id) == world.server.get(kept.id) == kept
    assert [memory.id for memory in laptop.list()] == [kept.id]
    assert [(x.owner, x.memory, x.right) for x in laptop.shared_with_me()] == [
        ("bob", kept.id, Right.READ)
    ]


def test_a_second_round_has_nothing_to_do(world: Machines, bob: Mind, laptop: Mind) -> None:
    shared(bob)
    world.sync(laptop)
    [again] = world.sync(laptop)
    assert (again.copied, again.dropped) == (0, 0)
    status = laptop.sync.status()
    assert status.copied == {"bob": 1}
    assert status.peer.shared_at == world.clock()


@on_every_store
def test_what_a_shared_tag_covers_follows_the_tag(world: Machines, bob: Mind, laptop: Mind) -> None:
    bob.share_tag("zoo", "ada", "write")
    kept = bob.store("the walrus eats clams", tags=["zoo"]).memory
    world.sync(laptop)
    assert laptop.get(kept.id).tags == ("zoo",)
    bob.update(kept.id, content="the walrus eats crabs")
    world.sync(laptop)
    assert found(laptop, "walrus") == [("bob", "the walrus eats crabs")]
    bob.update(kept.id, tags=())
    [report] = world.sync(laptop)
    assert report.dropped == 1
    assert found(laptop, "walrus") == []


@pytest.mark.parametrize("how", ["unshare", "delete", "purge", "supersede"])
def test_what_is_not_shared_any_more_is_gone_from_the_machine(
    world: Machines, bob: Mind, laptop: Mind, how: str
) -> None:
    kept = shared(bob)
    world.sync(laptop)
    if how == "unshare":
        bob.unshare(kept.id, "ada")
    elif how == "delete":
        bob.delete(kept.id)
    elif how == "purge":
        bob.delete(kept.id)
        bob.purge(bob.plan_purge([kept.id]))
    else:
        bob.link(bob.store("the walrus eats squid").memory.id, "supersedes", kept.id)
    [report] = world.sync(laptop)
    assert report.dropped == 1
    with pytest.raises(MemoryNotFound):
        laptop.get(kept.id)
    assert found(laptop, "walrus clams") == []
    assert laptop.sync.status().copied == {}


@on_every_store
def test_a_copy_cannot_be_written_whatever_the_share_says(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    kept = bob.store("the walrus eats clams").memory
    bob.share(kept.id, "ada", "write")
    world.sync(laptop)
    for change in (laptop.delete, laptop.restore, lambda id: laptop.update(id, content="squid")):
        with pytest.raises(NotAllowed, match="bob's, and this machine has a copy") as refused:
            change(kept.id)
        assert "on the server" in refused.value.hint
    assert laptop.get(kept.id) == kept
    world.sync(laptop)
    assert bob.get(kept.id) == kept
    world.server.update(kept.id, content="the walrus eats squid")  # there Ada may
    world.sync(laptop)
    assert found(laptop, "walrus") == [("bob", "the walrus eats squid")]


@on_every_store
def test_a_copy_is_neither_counted_nor_listed_nor_sent_as_an_own_memory(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    shared(bob)
    world.sync(laptop)
    other = world.replica()
    world.sync(laptop, other, laptop)
    assert laptop.stats().held == world.server.stats().held == 0
    assert laptop.list(owner="me") == []
    assert [memory.owner for memory in laptop.list(owner="bob")] == ["bob"]
    assert laptop.sync.status().waits == 0
    assert bob.stats().held == 1
    assert found(other, "walrus") == [("bob", "the walrus eats clams")]


def test_the_same_name_in_the_same_store_is_kept_apart(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    kept = shared(bob)
    local = laptop.for_user("bob")
    own = local.store("the walrus of another Bob").memory
    world.sync(laptop)
    assert found(laptop, "walrus") == [("bob", "the walrus eats clams")]
    assert [memory.id for memory in local.list()] == [own.id]
    with pytest.raises(MemoryNotFound):
        local.get(kept.id)
    laptop.sync.disconnect()
    assert local.get(own.id) == own


def test_what_is_seen_in_the_same_store_anyway_is_not_there_twice(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    kept = shared(bob)
    local = laptop.for_user("bob")
    local.sync.connect("https://memory.example", "bob")
    local.sync.run(bob.sync.server())
    assert local.get(kept.id) == kept
    world.sync(laptop)
    assert laptop.sync.status().copied == {}
    assert found(laptop, "walrus") == [("bob", "the walrus eats clams")]


def test_two_users_of_one_machine_each_have_their_own_copy(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    kept = shared(bob)
    bob.share(kept.id, "grace")
    grace = laptop.for_user("grace")
    grace.sync.connect("https://memory.example", "grace")
    world.sync(laptop)
    grace.sync.run(world.server.for_user("grace").sync.server())
    bob.unshare(kept.id, "ada")
    world.sync(laptop)
    assert found(laptop, "walrus") == []
    assert found(grace, "walrus") == [("bob", "the walrus eats clams")]


@on_every_store
def test_disconnecting_removes_what_others_shared_and_nothing_else(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    shared(bob)
    own = laptop.store("the penguin eats krill").memory
    world.sync(laptop)
    laptop.sync.disconnect()
    assert found(laptop, "walrus penguin") == [("ada", "the penguin eats krill")]
    assert laptop.get(own.id) == own
    assert laptop.shared_with_me() == []


@on_every_store
def test_more_than_a_page_is_listed_and_taken_whole(
    world: Machines, bob: Mind, laptop: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("server_side", "shared_copies"):
        monkeypatch.setattr(f"bearinmind.sync.{module}.MOST_SEEN", 3)
    monkeypatch.setattr("bearinmind.sync.server_side.PAGE_BYTES", 1_500)
    bob.share_tag("zoo", "ada")
    carl = world.server.for_user("bob-2")  # the name of one begins like that of the other
    carl.share_tag("zoo", "ada")
    for number in range(7):
        for owner in (bob, carl):
            owner.store(f"walrus {number} of {owner.scope.user}", tags=["zoo"])
    [report] = world.sync(laptop)
    assert report.copied == 14
    assert laptop.sync.status().copied == {"bob": 7, "bob-2": 7}
    assert world.sync(laptop)[0].copied == 0


# ---- trouble, and servers that are not what they say -------------------------------------------


class Other:
    """A server that tells something else of what others share."""

    def __init__(self, server: Server, page: SharedPage, told: SharedMemories | None) -> None:
        self._server, self._page, self._told = server, page, told

    def pull(self, epoch: str, after: int, limit: int, space: str | None = None) -> Pulled:
        return self._server.pull(epoch, after, limit, space)

    def push(self, epoch: str, operations: Sequence[Operation]) -> Sequence[Verdict]:
        return self._server.push(epoch, operations)

    def shared(self, mark: str, after: str) -> SharedPage:
        assert isinstance(mark, str)
        assert after == ""
        return self._page

    def shared_memories(
        self, owner: UserId, ids: Sequence[MemoryId], space: str | None = None
    ) -> SharedMemories:
        assert (owner, space) == (self._page.seen[0].owner, None)
        assert ids
        if self._told is None:
            raise ServerUnreachable("it is gone")
        return self._told


def seen(memory: Memory, owner: str) -> SharedPage:
    at = memory.updated_at
    return SharedPage(seen=(Seen(UserId(owner), memory.id, memory.version, at, Right.WRITE),))


@pytest.mark.parametrize("owner", ["ada", "ada/bob", "bob/ada", ""])
def test_nothing_is_placed_under_the_own_name_or_one_that_nobody_has(
    world: Machines, laptop: Mind, owner: str
) -> None:
    own = laptop.store("the penguin eats krill").memory
    world.sync(laptop)
    forged = replace(own, owner=UserId(owner), content="the penguin owes money")
    told = SharedMemories((forged,), 1)
    server = Other(world.server.sync.server(), seen(own, owner), told)
    report = laptop.sync.run(server)
    assert isinstance(report.shared_error, InvalidChange)
    assert report.pull_error is report.push_error is None
    assert found(laptop, "penguin") == [("ada", "the penguin eats krill")]
    assert laptop.versions(own.id) == [own]


def test_a_memory_of_others_with_the_id_of_an_own_one_takes_nothing_of_it(
    world: Machines, laptop: Mind
) -> None:
    own = laptop.store("the penguin eats krill").memory
    forged = replace(own, owner=UserId("mallory"), content="the penguin owes money")
    told = SharedMemories((forged,), 1)
    report = laptop.sync.run(Other(world.server.sync.server(), seen(own, "mallory"), told))
    assert report.error is None
    assert laptop.get(own.id) == own
    assert laptop.versions(own.id) == [own]
    assert laptop.update(own.id, importance=1.0).content == "the penguin eats krill"


@pytest.mark.parametrize("fields", [{"sensitive": True}, {"owner": "carl"}, {"id": "z" * 12}])
def test_what_nobody_can_have_shared_is_not_taken(
    world: Machines, bob: Mind, laptop: Mind, fields: dict[str, object]
) -> None:
    kept = shared(bob)
    wrong = SharedMemories((replace(kept, **fields),), 1)  # type: ignore[arg-type]
    report = laptop.sync.run(Other(world.server.sync.server(), seen(kept, "bob"), wrong))
    assert isinstance(report.shared_error, InvalidChange)
    assert found(laptop, "walrus") == []


def test_a_look_that_is_cut_off_is_told_and_the_next_one_does_it_all(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    kept = shared(bob)
    report = laptop.sync.run(Other(world.server.sync.server(), seen(kept, "bob"), None))
    assert isinstance(report.shared_error, ServerUnreachable)
    assert (laptop.sync.status().peer.shared_error or "").startswith("it is gone")
    assert world.sync(laptop)[0].copied == 1
    assert laptop.sync.status().peer.shared_error is None


def test_a_server_that_does_not_list_what_is_shared_is_no_failure(
    world: Machines, laptop: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = world.server.sync.server()

    def unknown(*_: str) -> NoReturn:
        raise PathNotFound("there is nothing at this path")

    monkeypatch.setattr(type(server), "shared", unknown)
    report = laptop.sync.run(server)
    assert report.error is None
    assert "an earlier release" in (laptop.sync.status().peer.shared_error or "")


def test_nobody_is_told_more_than_is_shared_with_them(world: Machines, bob: Mind) -> None:
    kept, hidden = shared(bob), bob.store("the narwhal is a secret").memory
    server = world.server.sync.server()
    page = server.shared("", "")
    assert [each.id for each in page.seen] == [kept.id]
    ids = [hidden.id, kept.id]
    told = server.shared_memories(UserId("bob"), ids)
    assert (told.memories, told.settled) == ((kept,), 2)
    stranger = world.server.for_user("carl").sync.server()
    assert stranger.shared("", "").seen == ()
    assert stranger.shared_memories(UserId("bob"), ids).memories == ()
    own = world.server.store("the penguin eats krill").memory
    assert server.shared_memories(UserId("ada"), [own.id]).memories == ()


def test_what_its_owner_has_settled_is_settled_on_the_machine(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    older, newer = (
        shared(bob, "our builds run on Jenkins"),
        shared(bob, "our builds run on Actions"),
    )

    def said(mind: Mind) -> tuple[object, object]:
        """What a question gets, with the earlier states, and what outdates what."""
        hits = mind.recall("what do our builds run on?").hits
        states = [(x.memory.id, [each.memory.id for each in x.earlier]) for x in hits]
        return states, mind.outdated([older, newer])

    for word, states in (
        ("newer", [(newer.id, [older.id])]),
        ("older", [(older.id, [newer.id])]),
        ("both", None),
    ):
        world.clock.advance(hours=1)
        bob.resolve(newer.id, word, older.id, trust=Trust.USER)
        [report] = world.sync(laptop)
        assert said(laptop) == said(world.server)
        assert states is None or said(laptop)[0] == states
        assert report.copied == (2 if word == "newer" else 0), (
            "a text that is here is not sent again"
        )
        [report] = world.sync(laptop)
        assert (report.copied, report.shared_error) == (0, None)
    assert laptop.outdated([older, newer]) == {}


def test_a_decision_about_what_is_not_shared_is_not_told(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    older, newer = (
        shared(bob, "our builds run on Jenkins"),
        shared(bob, "our builds run on Actions"),
    )
    hidden = bob.store("our builds run on TeamCity, said Grace").memory
    bob.resolve(hidden.id, "newer", newer.id)
    bob.resolve(newer.id, "newer", older.id)
    world.sync(laptop)
    page = world.server.sync.server().shared("", "")
    assert hidden.id not in repr(page)
    assert [x.source for each in page.seen for x in each.decided] == [newer.id]
    assert laptop.outdated([newer, older]).keys() == {older.id}
    bob.unshare(newer.id, "ada")
    world.sync(laptop)
    assert laptop.outdated([older]) == {}
    assert [x.memory.id for x in laptop.recall("what do our builds run on?").hits] == [older.id]


def test_what_was_shared_leaves_no_trace_in_the_file(
    world: Machines, bob: Mind, laptop: Mind
) -> None:
    kept = shared(bob, "the cormorant dives", tags=["cormorant"])
    world.sync(laptop)
    laptop.work.run()

    def is_kept() -> bool:
        assert isinstance(laptop._parts.store, SqliteStore)
        files = laptop._parts.store.path.parent.iterdir()
        return any(b"cormorant" in file.read_bytes() for file in files)

    assert is_kept()
    bob.unshare(kept.id, "ada")
    world.sync(laptop)
    assert not is_kept()


def test_vectors_of_what_is_shared_come_along(world: Machines) -> None:
    world.server = world.memory(embedder="hash")
    bob = world.server.for_user("bob")
    kept = shared(bob)
    world.server.work.run()
    there = world.replica(embedder="hash")
    there.work.run()  # its space becomes the active one
    world.sync(there)
    active = there.work.status().active
    assert active is not None
    assert active.embedded == 1  # nobody has worked here since
    assert there.recall("walrus").hits[0].memory.id == kept.id
