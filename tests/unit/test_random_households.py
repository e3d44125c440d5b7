"""Whatever people share at random, each sees exactly that, on every store."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bearinmind.app import Mind
from bearinmind.errors import MemoryNotFound
from bearinmind.protocols import Store
from bearinmind.testing import FixedClock
from bearinmind.types import MemoryId
from support.households import household, told

MANY = 100  # more than there is


@pytest.fixture
def ada(new_store: Callable[[], Store], clock: FixedClock) -> Iterator[Mind]:
    with household(new_store(), clock) as memory:
        yield memory


def test_a_random_household_sees_exactly_what_was_shared(ada: Mind) -> None:
    """A plain model of who sees what, against recalls, gets and what the traces name."""
    chance = random.Random(11)
    world = _World(ada, chance)
    for step in range(120):
        world.change(step)
        if step % 12 == 11:
            ada.work.run()
            world.check()


class _World:
    """Three people, and what each of them should see."""

    NAMES = ("ada", "bob", "cleo")
    TAGS = ("red", "green")

    def __init__(self, memory: Mind, chance: random.Random) -> None:
        self.people = {name: memory.for_user(name) for name in self.NAMES}
        self.chance = chance
        self.memories: dict[MemoryId, dict[str, Any]] = {}
        self.shares: dict[tuple[str, str, str], str] = {}

    def change(self, step: int) -> None:
        name = self.chance.choice(self.NAMES)
        other = self.chance.choice([each for each in self.NAMES if each != name])
        own = sorted(i for i, each in self.memories.items() if each["owner"] == name)
        kinds = ["store", "store", "share", "tag", "unshare", "delete", "retag", "supersede"]
        kind = self.chance.choice(kinds if own else ["store", "tag"])
        me, tag = self.people[name], self.chance.choice(self.TAGS)
        id_ = self.chance.choice(own) if own else MemoryId("")
        if kind in {"store", "supersede"}:
            self._store(name, step, tag, id_ if kind == "supersede" else None)
        elif kind == "share":
            me.share(id_, other)
            self.shares[name, other, id_] = "memory"
        elif kind == "tag":
            me.share_tag(tag, other)
            self.shares[name, other, tag] = "tag"
        elif kind == "unshare":
            self._unshare(name)
        elif kind == "delete" and not self.memories[id_]["deleted"]:
            me.delete(id_)
            self.memories[id_]["deleted"] = True
        elif kind == "retag" and not self.memories[id_]["deleted"]:
            me.update(id_, tags=(tag,))
            self.memories[id_]["tag"] = tag

    def _store(self, name: str, step: int, tag: str, old: MemoryId | None) -> None:
        if old is not None and self.memories[old]["deleted"]:
            return
        content = f"walrus word{step}q of Gannet{step % 5}"
        made = self.people[name].store(content, tags=[tag], supersedes=[old] if old else [])
        known = {"owner": name, "tag": tag, "deleted": False, "over": [old] if old else []}
        self.memories[made.memory.id] = known | {"word": f"word{step}q"}

    def _unshare(self, name: str) -> None:
        mine = sorted(each for each in self.shares if each[0] == name)
        if mine:
            gone = self.chance.choice(mine)
            me = self.people[name]
            end = me.unshare if self.shares.pop(gone) == "memory" else me.unshare_tag
            end(gone[2], gone[1])

    def sees(self, name: str) -> set[MemoryId]:
        over = {
            old for each in self.memories.values() if not each["deleted"] for old in each["over"]
        }
        return {
            id_
            for id_, each in self.memories.items()
            if not each["deleted"] and id_ not in over and self._may_see(name, id_)
        }

    def _may_see(self, name: str, id_: MemoryId) -> bool:
        owner = self.memories[id_]["owner"]
        given = {(owner, name, id_), (owner, name, self.memories[id_]["tag"])}
        return owner == name or not given.isdisjoint(self.shares)

    def check(self) -> None:
        for name, person in self.people.items():
            seen = self.sees(name)
            answer = person.recall("walrus Gannet1", limit=MANY, pool=MANY, all=True)
            assert {hit.memory.id for hit in answer.hits} == seen
            named = told(answer)
            for id_, each in self.memories.items():
                if each["owner"] != name and id_ not in seen:
                    assert id_ not in named
                    assert each["word"] not in named
                    with pytest.raises(MemoryNotFound):
                        person.get(id_)
            json.loads('{"hits"' + named)
