"""Users, keys and shares at random over HTTP, beside a model of who may see and do what."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx

WORD = "walrus"  # every memory says it, so that one recall finds all that may be seen
TAGS = ("red", "blue", "green")
_NAMES = count(1)


@dataclass
class Kept:
    """A memory as the model knows it."""

    owner: str
    tags: tuple[str, ...]
    deleted: bool = False
    superseded: bool = False
    sensitive: bool = False


@dataclass
class Held:
    """A key as the model knows it."""

    id: str
    text: str
    user: str
    access: str
    revoked: bool = False


@dataclass
class World:
    """What was done, and what follows from it."""

    memories: dict[str, Kept] = field(default_factory=dict)
    #: By owner, reader and what is shared (an id, or a tag with "#" before it): the right.
    shares: dict[tuple[str, str, str], str] = field(default_factory=dict)
    keys: list[Held] = field(default_factory=list)
    users: list[str] = field(default_factory=list)
    disabled: set[str] = field(default_factory=set)

    def right(self, user: str, id: str) -> str | None:
        """What a user may do with a memory, if anything: own, write or read."""
        memory = self.memories[id]
        if memory.owner == user:
            return "own"
        shared = {id, *(f"#{tag}" for tag in memory.tags)}
        rights = {self.shares.get((memory.owner, user, what)) for what in shared} - {None}
        return "write" if "write" in rights else ("read" if rights else None)

    def sees(self, user: str, id: str) -> bool:
        """Whether a recall of a user may show a memory."""
        memory = self.memories[id]
        hidden = memory.deleted or memory.superseded
        if memory.owner == user:
            return not hidden
        return not hidden and not memory.sensitive and self.right(user, id) is not None


class Life:
    """One random sequence against a server; every answer is compared with the model's."""

    def __init__(self, admin: httpx.Client, seed: int) -> None:
        self.admin = admin
        self.chance = random.Random(seed)
        self.world = World()
        self.done: list[str] = []
        for _ in range(3):
            self.add_user()

    def run(self, steps: int) -> None:
        """So many random steps, then a look at everything by everybody."""
        for _ in range(steps):
            getattr(self, self.chance.choice(STEPS))()
        for user in self.world.users:
            self.look(user)

    # ---- users and keys ------------------------------------------------------------------------

    def add_user(self) -> None:
        """Somebody comes, with keys of every kind."""
        name = f"user{next(_NAMES)}"
        self._admin("POST", "/users", {"name": name}, 201)
        self.world.users.append(name)
        for access in ("write", "read"):
            self._create_key(name, access)

    def _create_key(self, user: str, access: str) -> None:
        made = self._admin("POST", "/keys", {"user": user, "access": access}, 201)
        self.world.keys.append(Held(made["id"], made["key"], user, access))

    def add_key(self) -> None:
        """Somebody gets another key."""
        self._create_key(self._user(), self.chance.choice(("read", "write")))

    def revoke_key(self) -> None:
        """A key is taken away."""
        key = self.chance.choice(self.world.keys)
        if not key.revoked:
            self._admin("DELETE", f"/keys/{key.id}", None, 200)
            key.revoked = True

    def disable(self) -> None:
        """Somebody is let in no more, or again."""
        user = self._user()
        back = user in self.world.disabled
        self._admin("POST", f"/users/{user}/{'enable' if back else 'disable'}", None, 200)
        (self.world.disabled.discard if back else self.world.disabled.add)(user)

    # ---- memories ------------------------------------------------------------------------------

    def store(self) -> None:
        """Something is stored."""
        key = self._key()
        tags = self.chance.sample(TAGS, self.chance.randrange(3))
        body: dict[str, Any] = {"content": f"{WORD} {self.chance.random()}", "tags": tags}
        answer = self._ask(key, "POST", "/memories", body, self._may_write(key), 201)
        if answer is not None:
            self.world.memories[answer["memory"]["id"]] = Kept(key.user, tuple(tags))

    def supersede(self) -> None:
        """A memory is replaced by another one of its owner."""
        live = [i for i, m in self.world.memories.items() if not m.deleted and not m.superseded]
        if not live:
            return
        id_ = self.chance.choice(live)
        key = self._key()
        body = {"content": f"{WORD} {self.chance.random()}", "supersedes": [id_]}
        own = self.world.memories[id_].owner == key.user
        found = own or self.world.sees(key.user, id_)
        refused = 403 if found else 404
        answer = self._ask(key, "POST", "/memories", body, self._may_write(key, own, refused), 201)
        if answer is not None:
            self.world.memories[answer["memory"]["id"]] = Kept(key.user, ())
            self.world.memories[id_].superseded = True

    def update(self) -> None:
        """Somebody changes the text of a memory."""
        if id_ := self._memory():
            key = self._key()
            body = {"content": f"{WORD} {self.chance.random()}"}
            expected = self._may_write(key, *self._write_right(key.user, id_))
            if self.world.memories[id_].deleted and expected == 200:
                return  # an owner may or may not change what is deleted: not our question here
            self._ask(key, "PATCH", f"/memories/{id_}", body, expected, 200)

    def retag(self) -> None:
        """An owner changes the tags of a memory, or somebody else tries to."""
        id_ = self._memory()
        if not id_ or self.world.memories[id_].deleted:
            return
        key = self._key()
        memory = self.world.memories[id_]
        own = memory.owner == key.user
        tags = self.chance.sample(TAGS, self.chance.randrange(3))
        if set(tags) == set(memory.tags):
            return
        refused = 403 if self.world.sees(key.user, id_) else 404
        expected = self._may_write(key, own, refused)
        if self._ask(key, "PATCH", f"/memories/{id_}", {"tags": tags}, expected, 200):
            memory.tags = tuple(tags)

    def delete(self) -> None:
        """Somebody deletes a memory."""
        id_ = self._memory()
        if not id_ or self.world.memories[id_].deleted:
            return
        key = self._key()
        expected = self._may_write(key, *self._write_right(key.user, id_))
        if self._ask(key, "DELETE", f"/memories/{id_}", None, expected, 200):
            self.world.memories[id_].deleted = True

    def restore(self) -> None:
        """An owner brings a memory back."""
        deleted = [i for i, m in self.world.memories.items() if m.deleted]
        if not deleted:
            return
        id_ = self.chance.choice(deleted)
        key = self._key(self.world.memories[id_].owner)
        if self._ask(key, "POST", f"/memories/{id_}/restore", None, self._may_write(key), 200):
            self.world.memories[id_].deleted = False

    # ---- shares --------------------------------------------------------------------------------

    def share(self) -> None:
        """An owner shares a memory, or somebody else tries to."""
        id_ = self._memory()
        if not id_ or self.world.memories[id_].deleted:
            return
        key, reader = self._key(), self._user()
        own = self.world.memories[id_].owner == key.user
        if own and reader == key.user:
            return
        if not own and reader == key.user:
            reader = self.world.memories[id_].owner
        right = self.chance.choice(("read", "write"))
        refused = 403 if self.world.sees(key.user, id_) else 404
        expected = self._may_write(key, own, refused)
        path = f"/memories/{id_}/shares/{reader}"
        if self._ask(key, "PUT", path, {"right": right}, expected, 200):
            self.world.shares[key.user, reader, id_] = right

    def share_tag(self) -> None:
        """An owner shares a tag."""
        key, reader = self._key(), self._user()
        if reader != key.user:
            tag, right = self.chance.choice(TAGS), self.chance.choice(("read", "write"))
            path = f"/tags/{tag}/shares/{reader}"
            if self._ask(key, "PUT", path, {"right": right}, self._may_write(key), 200):
                self.world.shares[key.user, reader, f"#{tag}"] = right

    def unshare(self) -> None:
        """A share is ended by its owner."""
        if self.world.shares:
            owner, reader, what = self.chance.choice([*self.world.shares])
            key = self._key(owner)
            place = f"/tags/{what[1:]}" if what.startswith("#") else f"/memories/{what}"
            path = f"{place}/shares/{reader}"
            if self._ask(key, "DELETE", path, None, self._may_write(key), 200):
                del self.world.shares[owner, reader, what]

    # ---- looking -------------------------------------------------------------------------------

    def look(self, user: str | None = None) -> None:
        """Somebody recalls everything, and looks at each memory by itself."""
        key = self._key(user)
        allowed = 200 if self._is_good(key) else 401
        asked = {"query": WORD, "limit": 100, "pool": 500, "trace": True}
        answer = self._ask(key, "POST", "/recall", asked, allowed, 200)
        if answer is None:
            return
        visible = {i for i in self.world.memories if self.world.sees(key.user, i)}
        hits = {hit["memory"]["id"]: hit["memory"] for hit in answer["hits"]}
        assert hits.keys() == visible, self._told(f"recall of {key.user}")
        assert {c["id"] for c in answer["trace"]["fused"]} <= {
            i
            for i, m in self.world.memories.items()
            if m.owner == key.user or self.world.sees(key.user, i)
        }, self._told(f"trace of {key.user}")
        for id_, memory in hits.items():
            kept = self.world.memories[id_]
            assert memory["owner"] == kept.owner
            assert memory["is_data"] == (kept.owner != key.user)
        for id_, kept in self.world.memories.items():
            found = kept.owner == key.user or self.world.sees(key.user, id_)
            self._ask(key, "GET", f"/memories/{id_}", None, 200 if found else 404, 200)

    # ---- asking --------------------------------------------------------------------------------

    def _user(self) -> str:
        return self.chance.choice(self.world.users)

    def _memory(self) -> str | None:
        return self.chance.choice([*self.world.memories]) if self.world.memories else None

    def _key(self, user: str | None = None) -> Held:
        return self.chance.choice([k for k in self.world.keys if user in (None, k.user)])

    def _is_good(self, key: Held) -> bool:
        return not key.revoked and key.user not in self.world.disabled

    def _may_write(self, key: Held, allowed: bool = True, refused: int = 404) -> int:
        """The status that a write gets; 200 stands for success."""
        if not self._is_good(key):
            return 401
        if key.access == "read":
            return 403
        return 200 if allowed else refused

    def _write_right(self, user: str, id: str) -> tuple[bool, int]:
        """Whether a user may change a memory, and what is answered if not."""
        right = self.world.right(user, id)
        if right == "own":
            return True, 404
        if not self.world.sees(user, id):
            return False, 404
        return right == "write", 403

    def _ask(
        self, key: Held, method: str, path: str, body: Any, expected: int, success: int
    ) -> Any:
        """The answer when the request succeeds as it should; None when it fails as it should."""
        headers = {"Authorization": f"Bearer {key.text}"}
        answer = self.admin.request(method, f"/api/v1{path}", json=body, headers=headers)
        wanted = success if expected == 200 else expected
        self.done.append(
            f"{key.user} ({key.access}) {method} {path} {body} -> {answer.status_code}"
        )
        assert answer.status_code == wanted, self._told(f"{wanted} was expected: {answer.text}")
        return answer.json() if expected == 200 else None

    def _admin(self, method: str, path: str, body: Any, expected: int) -> Any:
        answer = self.admin.request(method, f"/api/v1{path}", json=body)
        self.done.append(f"admin {method} {path} {body} -> {answer.status_code}")
        assert answer.status_code == expected, self._told(answer.text)
        return answer.json()

    def _told(self, what: str) -> str:
        return "\n".join([what, *self.done])


#: What may happen, the likelier the more often it stands here.
STEPS = (
    *("store",) * 4,
    *("share", "share_tag") * 3,
    *("unshare", "retag", "update", "delete", "restore", "supersede") * 1,
    *("look",) * 2,
    *("add_key", "revoke_key", "disable", "add_user"),
)
