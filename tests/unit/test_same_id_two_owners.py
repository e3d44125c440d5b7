"""Two owners may hold one id: nobody replaces what another shares, nor captures its edits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from rich.console import Console, RenderableType

from bearinmind.app import Mind
from bearinmind.errors import AmbiguousId, MemoryNotFound
from bearinmind.protocols import Store
from bearinmind.surfaces.cli.memories import memory_list
from bearinmind.surfaces.cli.read import _timeline_table
from bearinmind.surfaces.hooks.standalone import memory_text
from bearinmind.surfaces.mcp import texts
from bearinmind.surfaces.verbs.verb import ListAnswer, TimelineAnswer
from bearinmind.testing import FixedClock
from bearinmind.types import Memory, MemoryId, Right
from support.households import household

TEXT, FORGED = "the payment gateway is Walrus Pay", "the payment gateway is Evil Pay"


@pytest.fixture
def zoe(new_store: Callable[[], Store], clock: FixedClock) -> Iterator[Mind]:
    """Zoe comes last by name: whoever forges comes before her."""
    with household(new_store(), clock, user="zoe") as memory:
        yield memory


def forge(forger: Mind, original: Memory, content: str = FORGED) -> None:
    """Import a record with the id of another owner's memory."""
    record = replace(original, owner=forger.scope.user, content=content, tags=())
    forger.transfer.add([forger.transfer.admit([record])])
    forger.work.run()


@pytest.fixture
def shared(zoe: Mind) -> MemoryId:
    """A memory that Zoe and a forger share with Carl under one id."""
    memory = zoe.store(TEXT).memory
    zoe.work.run()
    zoe.share(memory.id, "carl", Right.WRITE)
    bob = zoe.for_user("bob")
    forge(bob, memory)
    bob.share(memory.id, "carl", Right.WRITE)
    return memory.id


def test_a_bare_id_that_two_owners_share_is_refused_and_names_them(
    zoe: Mind, shared: MemoryId
) -> None:
    carl = zoe.for_user("carl")
    attempts: list[Callable[[], Memory]] = [
        lambda: carl.get(shared),
        lambda: carl.get(shared[:11]),
        lambda: carl.update(shared, content="captured?"),
        lambda: carl.delete(shared),
    ]
    for attempt in attempts:
        with pytest.raises(AmbiguousId, match=r"bob.*zoe"):
            attempt()
    assert zoe.get(shared).content == TEXT
    assert zoe.for_user("bob").get(shared).content == FORGED


def test_with_the_owner_it_is_never_ambiguous(zoe: Mind, shared: MemoryId) -> None:
    carl = zoe.for_user("carl")
    assert carl.get(f"zoe:{shared}").content == TEXT
    assert carl.get(f"bob:{shared[:11]}").content == FORGED
    carl.update(f"zoe:{shared}", content="the payment gateway is Walrus Pay Plus")
    assert zoe.get(shared).content == "the payment gateway is Walrus Pay Plus"
    assert zoe.get(f"zoe:{shared}").content == "the payment gateway is Walrus Pay Plus"
    assert zoe.for_user("bob").get(shared).content == FORGED
    carl.delete(f"bob:{shared}")
    assert carl.get(shared).owner == "zoe"  # now the only one that is shared under it
    assert carl.restore(f"bob:{shared}").owner == "bob"


def test_a_recall_gives_each_owner_s_memory_with_its_owner(zoe: Mind, shared: MemoryId) -> None:
    carl = zoe.for_user("carl")
    answer = carl.recall("which payment gateway is it", all=True)
    served = {hit.memory.owner: (hit.memory.id, hit.memory.content) for hit in answer.hits}
    assert served == {"zoe": (shared, TEXT), "bob": (shared, FORGED)}
    listed = {(memory.owner, memory.content) for memory in carl.list()}
    assert listed == {("zoe", TEXT), ("bob", FORGED)}
    reason = carl.why_not("which payment gateway is it", f"zoe:{shared}")
    assert reason.rank is not None


def test_the_own_memory_is_meant_by_a_bare_id_and_hides_no_other(
    zoe: Mind, shared: MemoryId
) -> None:
    carl = zoe.for_user("carl")
    forge(carl, zoe.get(shared), "the payment gateway is my own till")
    assert carl.get(shared).owner == "carl"
    assert carl.get(f"zoe:{shared}").content == TEXT
    answer = carl.recall("which payment gateway is it", all=True)
    assert {hit.memory.owner for hit in answer.hits} == {"carl", "zoe", "bob"}


def test_what_is_not_shared_looks_as_if_it_did_not_exist(zoe: Mind) -> None:
    hidden = zoe.store("nobody else sees this").memory.id
    carl = zoe.for_user("carl")
    messages = []
    for text in (hidden, f"zoe:{hidden}", f"nobody:{hidden}", f"zoe:{'z' * 12}"):
        with pytest.raises(MemoryNotFound) as caught:
            carl.get(text)
        messages.append(caught.value.message.replace(hidden, "ID").replace("z" * 12, "ID"))
    assert len({*messages}) == 1


def test_a_copy_of_another_owner_s_memory_can_be_imported_without_a_hint(zoe: Mind) -> None:
    """Whether the id is taken elsewhere makes no difference to the answer."""
    hidden = zoe.store("nobody else sees this").memory
    bob = zoe.for_user("bob")
    forge(bob, hidden)
    forge(bob, replace(hidden, id=MemoryId("zzzzzzzzzzzz")), "another text")
    assert {memory.owner for memory in bob.list()} == {"bob"}


def test_a_session_of_a_hook_is_given_each_owner_s_memory() -> None:
    """What a forger shares first does not use up the place of the original."""
    memories = [
        {"id": "k7f29qmxt4hd", "owner": owner, "content": text, "is_data": True, "created_at": ""}
        for owner, text in (("bob", FORGED), ("zoe", TEXT))
    ]
    chosen = memory_text.fitting(memories, event="x", intro="", most=5, limit=8_000)
    assert [each["owner"] for each in chosen] == ["bob", "zoe"]


def test_only_the_memory_of_the_owner_who_outdates_it_is_marked_in_lists(zoe: Mind) -> None:
    old, new = (zoe.store(text).memory for text in (TEXT, "the payment gateway is Heron Pay"))
    zoe.resolve(new.id, "newer", old.id)
    for each in (old, new):
        zoe.share(each.id, "carl", Right.READ)
    carl = zoe.for_user("carl")
    forge(carl, old, "the payment gateway is my own till")

    listed = ListAnswer.of(carl, carl.list(), 9)
    around = TimelineAnswer.of(carl, carl.timeline(new.id))
    assert {*listed.outdated} == {*around.outdated} == {f"zoe:{old.id}"}
    shown = [
        printed(memory_list(listed.memories, listed.states, "carl", listed.outdated)),
        printed(_timeline_table(around, "carl")),
        texts.of_answer(listed),
        texts.of_answer(around),
    ]
    for text in shown:
        [marked] = [each for each in parts_of(text, old.id) if "outdated" in each]
        assert "Walrus Pay" in marked


def printed(value: RenderableType) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(value)
    return capture.get()


def parts_of(text: str, id: MemoryId) -> list[str]:
    """What a text says of each memory of one id."""
    return [id + part for part in text.split(id)[1:]]
