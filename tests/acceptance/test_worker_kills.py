"""Killed at any moment, a worker leaves nothing undone: every memory is embedded once per space.

BEARINMIND_CRASH_ROUNDS makes it longer.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings, store_name
from bearinmind.models.embedders import Embedders
from bearinmind.models.local import LocalEmbedder
from bearinmind.protocols import Embedder
from bearinmind.store.factory import open_store
from bearinmind.types import Filter
from support.embedders import WordEmbedder

if TYPE_CHECKING:
    from bearinmind.protocols import Vector

ROUNDS = int(os.environ.get("BEARINMIND_CRASH_ROUNDS", "6"))
TESTS = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")

#: Works on the queue in small claims, and says so after each.
CHILD = """
import sys
from datetime import UTC, datetime
sys.path.insert(0, sys.argv[1])
from support.embedders import WordEmbedder
from bearinmind.models.embedders import Embedders
from bearinmind.models.local import LocalEmbedder
from bearinmind.store.factory import open_store
from bearinmind.config import store_name
from bearinmind.work.handlers import Embedding
from bearinmind.work.status import EMBED
from bearinmind.work.worker import Worker

store, batch = open_store(store_name(sys.argv[2])), int(sys.argv[3])
made = [LocalEmbedder(n) if n == "minilm" else WordEmbedder(n) for n in sys.argv[4:]]
def clock():
    return datetime.now(UTC)
embedding = Embedding(store=store, embedders=Embedders.among(*made), clock=clock, batch=batch)
Worker(store, {EMBED: embedding}, clock=clock).finish(lambda _: print("done", flush=True))
"""


def _later() -> datetime:
    """A moment at which every claim of a dead worker has run out."""
    return datetime.now(UTC) + timedelta(minutes=10)


def _open(place: str, *embedders: Embedder) -> Mind:
    store = open_store(store_name(place))
    settings = Settings.model_validate({"store": place})
    return Mind(store, settings, embedders=Embedders.among(*embedders), clock=_later)


def _work_and_die(place: str, chance: random.Random, batches: int, *names: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(TESTS), place, "8", *names],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    for _ in range(chance.randint(0, batches)):
        child.stdout.readline()
    time.sleep(chance.uniform(0, 0.01))  # somewhere inside a claim, an embedding or a write
    child.kill()
    assert child.stderr.read() == ""
    child.wait()
    child.stdout.close()
    child.stderr.close()


def _assert_embedded_once(
    memory: Mind, embedder: Embedder, contents: list[str], fresh: Callable[[str], Vector]
) -> None:
    """As many vectors as memories, and each memory has that of its own text."""
    [known] = [x for x in memory.work.status().spaces if x.space == embedder.space]
    assert (known.embedded, known.waiting, known.dead) == (len(contents), 0, 0)
    everything = Filter(scope=memory.scope, now=_later())
    ids = {kept.content: kept.id for kept in memory.list(limit=len(contents) + 1)}
    assert sorted(ids) == sorted(contents)
    for content in contents:
        found = memory._parts.store.nearest(
            everything, embedder.space, fresh(content), len(contents)
        )
        assert dict(found.nearest)[ids[content]] > 0.999


def test_every_memory_is_embedded_once_per_space(place: str) -> None:
    chance = random.Random(20_261_115)
    old, new = WordEmbedder("old"), WordEmbedder("new")
    contents: list[str] = []
    for number in range(ROUNDS):
        # Half way through the embedder is changed: two spaces are filled from then on.
        now, *before = [old] if number < ROUNDS // 2 else [new, old]
        with _open(place, now, *before) as memory:
            for n in range(40):
                contents.append(f"in round r{number} the item i{number}x{n} was kept")
                memory.store(contents[-1])
        _work_and_die(place, chance, 5, now.space.model, *[x.space.model for x in before])
        with _open(place, now, *before) as memory:
            assert all(finding.good for finding in memory.check()), memory.check()

    with _open(place, new, old) as memory:
        memory.work.wait()
        status = memory.work.status()
        assert (status.waiting, status.dead) == (0, 0)
        assert status.active is not None
        assert status.active.space == new.space
        assert all(finding.good for finding in memory.check()), memory.check()
        _assert_embedded_once(memory, new, contents, new.vector)


def test_every_memory_is_embedded_once_by_the_real_model(place: str) -> None:
    chance = random.Random(4)
    contents = [f"The {n}th thing to know is about the number {n}." for n in range(48)]
    with _open(place, WordEmbedder()) as memory:
        for content in contents:
            memory.store(content)
    for _ in range(3):
        _work_and_die(place, chance, 2, "minilm")

    model = LocalEmbedder("minilm")
    with _open(place, model) as memory:
        memory.work.wait()
        _assert_embedded_once(memory, model, contents, lambda text: model.embed_memories([text])[0])


def test_two_workers_at_once_embed_every_memory_once(place: str) -> None:
    words = WordEmbedder()
    contents = [f"memory number n{n}" for n in range(200)]
    with _open(place, words) as memory:
        for content in contents:
            memory.store(content)
    both = [
        subprocess.Popen(
            [sys.executable, "-c", CHILD, str(TESTS), place, "8", "words"],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    told = [(child.communicate()[0] or "").count("done") for child in both]

    assert [child.returncode for child in both] == [0, 0]
    assert sum(told) == 25  # claims of eight, none of them done twice
    with _open(place, words) as memory:
        _assert_embedded_once(memory, words, contents, words.vector)
