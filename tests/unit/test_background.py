"""Background work inside a process: a thread that embeds what is stored, and waiting for it."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import EmbedderFailure
from bearinmind.models.embedders import Embedders
from bearinmind.protocols import Current, Embedder, SpaceState, Unavailable
from bearinmind.store.sqlite import SqliteStore
from bearinmind.types import Memory, MemoryId
from support.embedders import TroubledEmbedder, WordEmbedder, refusing


@pytest.fixture
def open_with(path: Path) -> Iterator[Callable[..., Mind]]:
    """Opens the store at `path` with these embedders, the first being the configured one."""
    opened: list[Mind] = []

    def open_(*embedders: Embedder | None, background: bool = True, **fields: object) -> Mind:
        settings = Settings.model_validate({"store": path, **fields})
        made = Embedders.among(*embedders)  # type: ignore[arg-type]
        opened.append(Mind(SqliteStore(path), settings, embedders=made, background=background))
        return opened[-1]

    yield open_
    for memory in opened:
        memory.close()


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("bearinmind-worker")]


def embedded(memory: Mind) -> int:
    active = memory.work.status().active
    return active.embedded if active else 0


def test_what_is_stored_changed_restored_or_imported_is_embedded_soon(
    open_with: Callable[..., Mind],
) -> None:
    memory = open_with(WordEmbedder())
    assert threads() == []  # nothing is started for whoever only reads

    stored = memory.store("one").memory
    wait_until(lambda: embedded(memory) == 1)
    memory.update(stored.id, content="another")
    wait_until(lambda: embedded(memory) == 2)
    memory.delete(stored.id)
    memory.restore(stored.id)
    memory.transfer.add([memory.transfer.admit([_renamed(memory, stored.id)])])
    wait_until(lambda: memory.work.status().waiting == 0)

    assert threads() == ["bearinmind-worker"]
    assert embedded(memory) == 4
    memory.close()
    assert threads() == []


def _renamed(memory: Mind, id_: str) -> Memory:
    return replace(memory.get(id_), id=MemoryId("000000000zzz"), content="imported", version=1)


def test_nothing_runs_in_the_background_unless_it_is_wanted(
    path: Path, open_with: Callable[..., Mind]
) -> None:
    open_with(WordEmbedder(), background=False).store("one")
    with Mind.open(path, worker="off", embedder="none") as memory:
        memory.store("two")
        assert threads() == []


def test_closing_is_quick_and_leaves_the_rest_in_the_queue(
    open_with: Callable[..., Mind],
) -> None:
    begun = threading.Event()

    def slowly(_: Sequence[str]) -> None:
        begun.set()
        time.sleep(0.1)

    memory = open_with(TroubledEmbedder(slowly), background=True)
    for n in range(50):
        memory.store(f"{n} " + "x" * 1_300)
    assert begun.wait(60)
    memory.close()

    again = open_with(WordEmbedder(), background=False)
    left = again.work.status().waiting
    assert left > 30
    assert again.work.run().finished == left  # given back, not left behind as claimed


def test_a_program_that_forgets_to_close_stops_the_thread_too(
    open_with: Callable[..., Mind], path: Path
) -> None:
    memory = Mind(
        SqliteStore(path),
        Settings(store=path),
        embedders=Embedders.among(WordEmbedder()),
        background=True,
    )
    memory.store("one")
    assert threads()
    store = memory._parts.store
    del memory
    gc.collect()
    wait_until(lambda: not threads())
    store.close()


def test_storing_can_wait_for_the_embedding(open_with: Callable[..., Mind]) -> None:
    for background in (False, True):
        memory = open_with(WordEmbedder(), background=background)
        before = embedded(memory)

        memory.store(f"something {background}", wait=True)

        assert embedded(memory) == before + 1


def test_waiting_does_not_last_for_ever_when_the_embedder_is_away(
    open_with: Callable[..., Mind],
) -> None:
    def away(_: Sequence[str]) -> None:
        raise EmbedderFailure("the server is away", retry_after=3_600)

    memory = open_with(TroubledEmbedder(away), background=False)
    memory.store("something", wait=True)
    status = memory.work.wait(timeout=5)

    assert (status.to_embed, status.to_compare, status.dead) == (1, 1, 0)
    assert status.last_error == "the server is away"


def test_what_was_given_up_is_told_and_can_be_tried_again(
    open_with: Callable[..., Mind],
) -> None:
    embedder = TroubledEmbedder(refusing("poison"))
    memory = open_with(embedder, background=False)
    for text in ("one", "poison", "two"):
        memory.store(text)

    told: list[int] = []
    status = memory.work.wait(progress=told.append)

    assert (status.waiting, status.dead, status.last_error) == (0, 1, "the text is refused")
    assert sum(told) == 9  # each was to be embedded, to be read and to be compared
    embedder.trouble = lambda _: None
    assert memory.work.retry_dead() == 1
    assert memory.work.wait().dead == 0
    assert embedded(memory) == 3


# ---- which space answers -----------------------------------------------------------------------


def test_without_embeddings_there_is_no_active_space(open_with: Callable[..., Mind]) -> None:
    memory = open_with(WordEmbedder(), background=False)
    current = memory.work.active_space.current()

    assert isinstance(current, Unavailable)
    assert current.expected
    off = open_with(None, background=False, embedder="none").work.active_space.current()
    assert isinstance(off, Unavailable)
    assert "turned off" in off.reason


def test_an_active_space_whose_embedder_is_gone_says_so(
    open_with: Callable[..., Mind],
) -> None:
    open_with(WordEmbedder("old"), background=False).store("one", wait=True)

    current = open_with(WordEmbedder("new"), background=False).work.active_space.current()

    assert isinstance(current, Unavailable)
    assert not current.expected
    assert "old" in current.reason


def test_the_old_space_answers_until_the_new_one_is_filled(
    open_with: Callable[..., Mind], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While memories are stored and recalled, at no moment is there a space without answers."""
    monkeypatch.setattr("bearinmind.models.embedders.LOOK", 0.0)
    old = WordEmbedder("old")
    before = open_with(old, background=False)
    for n in range(60):
        before.store(f"memory number n{n}")
    before.work.wait()
    gate = threading.Semaphore(0)
    new = TroubledEmbedder(lambda _: gate.acquire(timeout=60), "new")
    memory = open_with(new, old)
    memory.store("the one that starts it all")

    for n in range(40):
        if n:  # until then nothing can be embedded anew
            gate.release()
        memory.store(f"meanwhile m{n}")
        current = memory.work.active_space.current()
        assert isinstance(current, Current)
        query = current.embedder.embed_query("memory number n7")
        found = memory._parts.store.nearest(memory._filter({}), current.space, query, 1)
        assert [memory.get(x.id).content for x in found.nearest] == ["memory number n7"]
        assert n or current.space == old.space
    for _ in range(500):
        gate.release()
    memory.work.wait()

    assert memory.work.status().active is not None
    assert memory.work.active_space.current()[0] == new.space
    states = {x.space.model: x.state for x in memory.work.status().spaces}
    assert states == {"new": SpaceState.ACTIVE, "old": SpaceState.RETIRED}
    assert embedded(memory) == 101
    assert memory.work.drop_retired() > 60
