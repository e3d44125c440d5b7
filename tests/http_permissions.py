"""Users, keys and shares at random over HTTP, beside a model of who may see and do what."""

from __future__ import annotations

import random
from itertools import count
from typing import Any

import httpx

from bearinmind.types import State
from permission_model import Held, Kept, World

#: Every memory says it, and has it as a keyword for when what it says is sealed: one recall finds
#: all that may be seen.
WORD = "walrus"
TAGS = ("red", "blue", "green")
MOSTLY = 0.8  # how often what is likely is chosen; what is refused would else be most of it
_NAMES = count(1)


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
            self.look_closely(user)

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
        self.world.keys.append(Held(made["key"]["id"], made["text"], user, access))

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
        away = [*sorted(self.world.disabled)]
        back = bool(away) and self._mostly()
        user = self.chance.choice(away) if back else self._user()
        back = user in self.world.disabled
        self._admin("POST", f"/users/{user}/{'enable' if back else 'disable'}", None, 200)
        (self.world.disabled.discard if back else self.world.disabled.add)(user)

    # ---- memories ------------------------------------------------------------------------------

    def store(self) -> None:
        """Something is stored."""
        key = self._key()
        tags = self.chance.sample(TAGS, self.chance.randrange(3))
        body: dict[str, Any] = self._new() | {"tags": tags}
        answer = self._ask(key, "POST", "/memories", body, self._may_write(key), 201)
        if answer is not None:
            self.world.memories[answer["memory"]["id"]] = Kept(key.user, tuple(tags))

    def _new(self) -> dict[str, Any]:
        return {"content": f"{WORD} {self.chance.random()}", "keywords": [WORD]}

    def supersede(self) -> None:
        """A memory is replaced by another one of its owner."""
        known = self.world.memories
        live = [i for i in known if not known[i].deleted and not self.world.superseded(i)]
        if not live:
            return
        id_ = self.chance.choice(live)
        key = self._somebody(id_)
        body = self._new() | {"supersedes": [id_]}
        own = known[id_].owner == key.user
        answer = self._ask(key, "POST", "/memories", body, self._may_write(key, own), 201)
        if answer is not None:
            new = answer["memory"]["id"]
            known[new] = Kept(key.user, ())
            known[id_].newer.append(new)

    def update(self) -> None:
        """Somebody changes the text of a memory."""
        if id_ := self._memory():
            key = self._somebody(id_)
            body = {"content": f"{WORD} {self.chance.random()}"}
            expected = self._may_write(key, *self._write_right(key.user, id_))
            if self.world.memories[id_].deleted and expected == 200:
                return  # an owner may or may not change what is deleted: not our question here
            changed = self._ask(key, "PATCH", f"/memories/{id_}", body, expected, 200)
            if changed and key.user != self.world.memories[id_].owner:
                self.world.memories[id_].external = True

    def seal(self) -> None:
        """A memory becomes sensitive, which only its owner may bring about."""
        id_ = self._memory()
        if not id_ or self.world.memories[id_].deleted or self.world.memories[id_].sensitive:
            return
        key = self._somebody(id_)
        own = self.world.memories[id_].owner == key.user
        expected = self._may_write(key, own, 403 if self.world.sees(key.user, id_) else 404)
        if self._ask(key, "PATCH", f"/memories/{id_}", {"sensitive": True}, expected, 200):
            self.world.memories[id_].sensitive = True

    def retag(self) -> None:
        """An owner changes the tags of a memory, or somebody else tries to."""
        id_ = self._memory()
        if not id_ or self.world.memories[id_].deleted:
            return
        key = self._somebody(id_)
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
        key = self._somebody(id_)
        expected = self._may_write(key, *self._write_right(key.user, id_))
        if self._ask(key, "DELETE", f"/memories/{id_}", None, expected, 200):
            self.world.delete(key.user, id_)

    def restore(self) -> None:
        """Somebody brings a memory back: its owner, or who may write it."""
        deleted = [i for i, m in self.world.memories.items() if m.deleted]
        if not deleted:
            return
        id_ = self.chance.choice(deleted)
        key = self._somebody(id_)
        right = self.world.right(key.user, id_)
        writes = right == "write" and not self.world.memories[id_].sensitive
        # Who may write what is superseded is told so: it was theirs to bring back before.
        allowed = right == "own" or (writes and not self.world.superseded(id_))
        expected = self._may_write(key, allowed, 403 if writes else 404)
        if self._ask(key, "POST", f"/memories/{id_}/restore", None, expected, 200):
            self.world.memories[id_].deleted = False

    # ---- shares --------------------------------------------------------------------------------

    def share(self) -> None:
        """An owner shares a memory, or somebody else tries to."""
        id_ = self._memory()
        if not id_ or self.world.memories[id_].deleted:
            return
        memory = self.world.memories[id_]
        key = self._key(memory.owner if self._mostly() else None)
        own = memory.owner == key.user
        reader = self.chance.choice([user for user in self.world.users if user != key.user])
        right = self.chance.choice(("read", "write"))
        expected = self._may_write(key, own)
        if expected == 200 and memory.sensitive:
            expected = 422
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
            share = self.chance.choice([*self.world.shares])
            key = self._key(share[0])
            if self._ask(key, "DELETE", _place(share), None, self._may_write(key), 200):
                del self.world.shares[share]

    def change_right(self) -> None:
        """An owner gives or takes the right to write."""
        if self.world.shares:
            share = self.chance.choice([*self.world.shares])
            key = self._key(share[0])
            kept = self.world.memories.get(share[2])
            expected = self._may_write(key)
            if expected == 200 and kept and kept.sensitive:
                expected = 422
            right = "read" if self.world.shares[share] == "write" else "write"
            if self._ask(key, "PUT", _place(share), {"right": right}, expected, 200):
                self.world.shares[share] = right

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
            i for i in self.world.memories if self.world.gets(key.user, i)
        }, self._told(f"trace of {key.user}")
        for id_, memory in hits.items():
            kept = self.world.memories[id_]
            assert memory["owner"] == kept.owner
            is_data = kept.owner != key.user or kept.external
            assert (id_ in answer["as_data"]) == is_data, self._told(id_)
        for id_ in self.world.memories:
            found = 200 if self.world.gets(key.user, id_) else 404
            self._ask(key, "GET", f"/memories/{id_}", None, found, 200)

    def look_closely(self, user: str) -> None:
        """Somebody tries whatever else could show a memory, or who shares it."""
        good = [key for key in self.world.keys if key.user == user and self._is_good(key)]
        if not good:
            return
        key = self.chance.choice(good)
        seen = {i for i in self.world.memories if self.world.sees(user, i)}
        for id_, kept in self.world.memories.items():
            own, gets = kept.owner == user, self.world.gets(user, id_)
            if gets and not own:  # its past and what it is linked with are its owner's
                whole = self._ask(key, "GET", f"/memories/{id_}", None, 200, 200)
                assert not whole["earlier"] + whole["links"], self._told(id_)
            asked = {"query": WORD, "id": id_}
            self._ask(key, "POST", "/why-not", asked, 200 if gets else 404, 200)
            self._ask(key, "GET", f"/memories/{id_}/why", None, 200 if own else 404, 200)
            around = f"/timeline?around={id_}&before=100&after=100"
            answer = self._ask(key, "GET", around, None, 200 if gets else 404, 200)
            if answer:
                self._are(key, around, answer["before"] + answer["after"], seen - {id_})
            if not own and key.access == "write":
                self._ask(key, "POST", f"/memories/{id_}/secret", None, 404, 200)
        self._look_at_lists(key, seen)
        exported = self.admin.get("/api/v1/export", headers=_bearing(key)).text
        others = [i for i, kept in self.world.memories.items() if kept.owner != user]
        assert not [i for i in others if i in exported], self._told(f"export of {user}")
        for path, asked in (("/shares", {"owner": user}), ("/shares/with-me", {"reader": user})):
            shares = self._ask(key, "GET", path, None, 200, 200)["shares"]
            assert {_as_kept(each) for each in shares} == self.world.shared(**asked), self._told(
                f"{path} of {user}"
            )

    def _look_at_lists(self, key: Held, seen: set[str]) -> None:
        """A list has all that is seen and nothing else, whoever's it is asked for."""
        own = {i for i, kept in self.world.memories.items() if kept.owner == key.user}
        owners = {i: self.world.memories[i].owner for i in seen}
        every = "&".join(f"states={state}" for state in State)
        asked = {"": seen, "owner=me": seen & own, "owner=others": seen - own, every: seen | own}
        for user in self.world.users:
            asked[f"owner={user}"] = {i for i in seen if owners[i] == user}
        for said, expected in asked.items():
            self._are(key, said, self._pages(key, said), expected)
        counts = self._ask(key, "GET", "/stats", None, 200, 200)
        told = (counts["live"], counts["shared"], counts["sharers"])
        others = seen - own
        expected_counts = (len(seen & own), len(others), len({owners[i] for i in others}))
        assert told == expected_counts, self._told(f"stats of {key.user}: {told}")

    def _pages(self, key: Held, asked: str) -> list[dict[str, Any]]:
        """A whole list, page by page."""
        found, after = [], ""
        while True:
            path = f"/memories?limit=9&{asked}" + (f"&after={after}" if after else "")
            page = self._ask(key, "GET", path, None, 200, 200)
            found += page["memories"]
            after = page["next"]
            if not after:
                return found

    def _are(self, key: Held, what: str, shown: list[dict[str, Any]], expected: set[str]) -> None:
        assert sorted(each["id"] for each in shown) == sorted(expected), self._told(
            f"{what} shows {key.user} {shown}"
        )
        for each in shown:
            assert each["owner"] == self.world.memories[each["id"]].owner

    # ---- asking --------------------------------------------------------------------------------

    def _user(self) -> str:
        return self.chance.choice(self.world.users)

    def _memory(self) -> str | None:
        return self.chance.choice([*self.world.memories]) if self.world.memories else None

    def _key(self, user: str | None = None) -> Held:
        """A key of a user, or of anybody; mostly one that is good for everything."""
        theirs = [key for key in self.world.keys if user in (None, key.user)]
        useful = [key for key in theirs if self._is_good(key) and key.access == "write"]
        return self.chance.choice(useful if useful and self._mostly() else theirs)

    def _somebody(self, id: str) -> Held:
        """Somebody who has to do with a memory: its owner, one it is shared with, or anybody."""
        owner = self.world.memories[id].owner
        readers = [u for u in self.world.users if self.world.right(u, id) in ("read", "write")]
        users = [owner, self.chance.choice(readers or self.world.users), self._user()]
        return self._key(self.chance.choices(users, (3, 4, 2))[0])

    def _mostly(self) -> bool:
        return self.chance.random() < MOSTLY

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
        answer = self.admin.request(method, f"/api/v1{path}", json=body, headers=_bearing(key))
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


def _bearing(key: Held) -> dict[str, str]:
    return {"Authorization": f"Bearer {key.text}"}


def _place(share: tuple[str, str, str]) -> str:
    """Where a share is asked for."""
    _, reader, what = share
    shared = f"/tags/{what[1:]}" if what.startswith("#") else f"/memories/{what}"
    return f"{shared}/shares/{reader}"


def _as_kept(share: dict[str, Any]) -> tuple[str, str, str, str]:
    """A share as the model keeps it."""
    what = share["memory"] or f"#{share['tag']}"
    return share["owner"], share["reader"], what, share["right"]


#: What may happen, the likelier the more often it stands here.
STEPS = (
    *("store",) * 4,
    *("share", "share_tag") * 3,
    *("unshare", "retag", "update", "delete", "restore") * 2,
    *("change_right", "seal") * 2,
    "supersede",
    *("look",) * 3,
    *("add_key", "revoke_key", "disable", "add_user"),
)
