"""Clients that use a server for an hour, and remember what it acknowledged.

A memory is changed by one client alone, one request after the other. What a request that failed has
left behind is not known: from then on the memory may say either, and is not changed again.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from bearinmind.errors import MindError
from bearinmind.store.postgres.connection_pool import UNCHANGED
from bearinmind.surfaces.client.clients import Client
from bearinmind.types import LinkKind
from server.load import Texts

#: How often each is done, of a hundred requests.
MIX = {
    "recall": 38,
    "get": 18,
    "store": 18,
    "list": 8,
    "update": 8,
    "link": 4,
    "delete": 4,
    "export": 2,
}
SHARED = "team"  # the tag that each client shares with the next
_SHARED_PART = 0.2  # of what it stores
_TRIES = 5  # of an export that is told to come again
_FOUND_AT = 10  # hits


@dataclass
class Kept:
    """A memory that was acknowledged."""

    content: str
    version: int
    born: float  #: when its store was acknowledged
    at: float  #: and its latest change
    deleted: bool = False
    doubtful: tuple[str, ...] = ()  #: what a failed request may have made of it; "" is deleted

    def wrong(self, record: Mapping[str, Any] | None) -> str | None:
        """What a record of an export should not say."""
        if record is None:
            return "lost"
        if bool(record["deleted_at"]) != self.deleted and "" not in self.doubtful:
            return "live again" if self.deleted else "deleted by nobody"
        if record["content"] not in (self.content, *self.doubtful):
            return "another content"
        return None


@dataclass
class Tally:
    """What came of requests."""

    took: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in MIX})
    errors: list[tuple[float, str, str]] = field(default_factory=list)  #: when, of what, which
    wrong: Counter[str] = field(default_factory=Counter)  #: answers that are not as acknowledged
    found: Counter[bool] = field(default_factory=Counter)  #: whether a text recalls its memory


class Person:
    """One client with a user of its own."""

    def __init__(self, url: str, key: str, number: int, texts: Texts) -> None:
        self.number = number
        self.key = key
        self.memories: dict[str, Kept] = {}
        self.links: set[tuple[str, str]] = set()
        self.tally = Tally()
        self._url = url
        self._texts = texts
        self._chance = random.Random(number)
        self._client = Client(url, key)
        self._turn = 0
        self._attempt: tuple[str | None, str] | None = None  # to change what, and to what
        self.denied: set[str] = set()  #: contents of which it was said that nothing was changed

    def go_on(self, pause: float, ended: threading.Event) -> None:
        """Ask, think, and ask again until it is over; `pause` is the mean in seconds."""
        asking: dict[str, Callable[[], None]] = {name: getattr(self, f"_{name}") for name in MIX}
        while not ended.wait(self._chance.expovariate(1 / pause)):
            [name] = self._chance.choices([*MIX], [*MIX.values()])
            began, self._attempt = time.monotonic(), None
            try:
                asking[name]()
            except (MindError, httpx.HTTPError) as exc:
                self.tally.errors.append((time.monotonic(), name, type(exc).__name__))
                if UNCHANGED in str(exc) and self._attempt:
                    self._take_back(*self._attempt)
            else:
                self.tally.took[name].append(time.monotonic() - began)
        self._client.close()

    # ---- what it asks ----------------------------------------------------------------------------

    def _store(self) -> None:
        content = self._text()
        self._attempt = None, content
        tags = [SHARED] if self._chance.random() < _SHARED_PART else []
        stored = self._client.store(content, tags=tags).memory
        now = time.monotonic()
        self.memories[stored.id] = Kept(content, stored.version, born=now, at=now)

    def _update(self) -> None:
        id_, kept = self._some()
        content = self._text()
        self._attempt, kept.doubtful = (id_, content), (content,)
        changed = self._client.update(id_, expected_version=kept.version, content=content)
        self.memories[id_] = Kept(content, changed.version, born=kept.born, at=time.monotonic())

    def _delete(self) -> None:
        id_, kept = self._some()
        self._attempt, kept.doubtful = (id_, ""), ("",)
        self._client.delete(id_, expected_version=kept.version)
        kept.doubtful, kept.deleted, kept.at = (), True, time.monotonic()

    def _link(self) -> None:
        (one, _), (other, _) = self._some(), self._some()
        while one == other or {(one, other), (other, one)} & self.links:
            self._store()
            other = next(reversed(self.memories))
        self._client.link(one, LinkKind.SEE_ALSO, other)
        self.links.add((one, other))

    def _get(self) -> None:
        id_, kept = self._some()
        self._expect(self._client.get(id_).content == kept.content, "get")

    def _recall(self) -> None:
        id_, kept = self._some()
        hits = self._client.recall(kept.content, limit=_FOUND_AT).hits
        self.tally.found[id_ in {hit.memory.id for hit in hits}] += 1

    def _list(self) -> None:
        known = {id_: kept.content for id_, kept in self._certain().items()}
        page = {memory.id: memory.content for memory in self._client.list(limit=20)}
        self._expect(all(known.get(id_, text) == text for id_, text in page.items()), "list")

    def _export(self) -> None:
        for problem in self.differences(self.export()):
            self.tally.wrong[f"export: {problem}"] += 1

    # ---- what it was told ------------------------------------------------------------------------

    def export(self) -> list[dict[str, Any]]:
        """Every record that the server has of this user."""
        with httpx.Client(timeout=90, trust_env=False) as http:
            for _ in range(_TRIES):
                answer = http.get(
                    f"{self._url}/api/v1/export", headers={"Authorization": f"Bearer {self.key}"}
                )
                if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                    break
                time.sleep(float(answer.headers.get("Retry-After", "1")))
        answer.raise_for_status()
        return [json.loads(line) for line in answer.text.splitlines()]

    def differences(
        self, records: Sequence[Mapping[str, Any]], before: float = float("inf")
    ) -> Iterable[str]:
        """What is not as it was acknowledged before a moment; later changes may be missing."""
        found = {record["id"]: record for record in records if record["record"] == "memory"}
        for id_, kept in [*self.memories.items()]:
            problem = kept.wrong(found.get(id_)) if kept.born < before else None
            if problem and (kept.at < before or id_ not in found):
                yield problem
        live = Counter(each["content"] for each in found.values() if not each["deleted_at"])
        yield from ("stored although denied" for content in self.denied if content in live)
        yield from ("twice" for count in live.values() if count > 1)
        if before == float("inf"):
            ends = {(each["source"], each["target"]) for each in records if "source" in each}
            yield from ("a link lost" for link in self.links if link not in ends)

    def _take_back(self, id_: str | None, content: str) -> None:
        """Nothing came of an attempt to change something, the server says."""
        if id_ is not None:
            self.memories[id_].doubtful = ()
        self.denied.add(content)

    def _certain(self) -> dict[str, Kept]:
        """The live memories of which no change is doubtful."""
        return {
            id_: kept
            for id_, kept in self.memories.items()
            if not kept.deleted and not kept.doubtful
        }

    def _some(self) -> tuple[str, Kept]:
        certain = self._certain()
        if not certain:
            self._store()
            return self._some()
        id_ = self._chance.choice([*certain])
        return id_, certain[id_]

    def _text(self) -> str:
        """A memory that nobody has had."""
        self._turn += 1
        return f"{self._texts.memory()} (note {self.number}x{self._turn})"

    def _expect(self, holds: bool, verb: str) -> None:
        self.tally.wrong[verb] += not holds
