"""Rotation: everything comes under the new key, whatever crashes or writes meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.protocols import Sealed
from bearinmind.types import MemoryId, Scope
from bearinmind.vault.keys import FileKeys, Key, Keyring

Open = Callable[..., Mind]


def fill(memory: Mind, count: int) -> dict[str, str]:
    said: dict[str, str] = {}
    for number in range(count):
        text = f"the password of machine {number} is kelp{number}salt"
        said[memory.store(text).memory.id] = text
    return said


def opened(memory: Mind, ids: dict[str, str]) -> dict[str, str]:
    return {id_: memory.secrets.reveal(id_) for id_ in ids}


def keys() -> Keyring:
    found = FileKeys(Settings().vault_key_file).load()
    assert found
    return found


def test_everything_is_sealed_under_a_new_key(memory: Mind) -> None:
    said = fill(memory, 7)
    before = keys().present.id
    done = memory.secrets.rotate_key()
    assert (done.made, done.sealed, done.unreadable, done.dropped) == (True, 7, 0, 0)
    assert done.key_id == keys().present.id != before
    assert memory.secrets.status().key_ids == (done.key_id, before)
    assert opened(memory, said) == said
    assert "rotate" in {entry.action for entry in memory.secrets.audit()}


def test_the_old_key_is_forgotten_only_when_asked(memory: Mind) -> None:
    said = fill(memory, 3)
    old = keys().present
    memory.secrets.rotate_key()
    done = memory.secrets.rotate_key(drop_old=True)
    assert done.dropped == 2
    assert keys().find(old.id) is None
    assert opened(memory, said) == said


def test_known_secrets_are_still_known_after_a_rotation(memory: Mind) -> None:
    [[id_, text]] = fill(memory, 1).items()
    memory.update(id_, tags=("router",))
    memory.secrets.rotate_key(drop_old=True)
    assert memory.store(text).memory.id == id_


def test_a_store_without_secrets_may_rotate_too(memory: Mind) -> None:
    assert memory.secrets.rotate_key().sealed == 0
    assert len(keys().keys) == 2


def test_an_interrupted_rotation_goes_on_with_the_key_it_began_with(
    memory: Mind,
) -> None:
    said = fill(memory, 250)  # more than are sealed in one transaction

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.secrets.rotate_key(advance=stop)
    begun = keys().present.id
    under = memory._parts.store.sealed_under()
    assert 0 < under[begun] < 250
    assert opened(memory, dict([*said.items()][:3])).items() <= said.items()
    done = memory.secrets.rotate_key()
    assert (done.key_id, done.made, done.sealed) == (begun, False, 250 - under[begun])
    assert opened(memory, said) == said


def test_a_crash_right_after_the_new_key_was_made_loses_nothing(memory: Mind) -> None:
    said = fill(memory, 3)
    source = FileKeys(Settings().vault_key_file)
    new = Key.new()
    source.replace(Keyring((new, *keys().keys)))  # and nothing was sealed under it yet
    done = memory.secrets.rotate_key()
    assert (done.key_id, done.made, done.sealed) == (new.id, False, 3)
    assert opened(memory, said) == said


def test_a_process_that_still_has_the_old_key_seals_under_the_new_one(
    memory: Mind, open_memory: Open
) -> None:
    said = fill(memory, 2)
    other = open_memory()
    said |= fill(other, 0)
    other.secrets.reveal(next(iter(said)))  # has read the old key
    memory.secrets.rotate_key(drop_old=True)
    kept = other.store("the password of the boat is kelp99salt").memory
    changed = other.update(kept.id, content="the password of the boat is salt99kelp")
    assert memory.secrets.reveal(changed.id) == "the password of the boat is salt99kelp"
    assert memory._parts.store.sealed_under() == {keys().present.id: 4}


def test_secrets_whose_key_is_lost_are_left_alone_and_counted(
    memory: Mind, open_memory: Open
) -> None:
    fill(memory, 2)
    elsewhere = open_memory(vault_key=Key.new().text)
    lost = elsewhere.store("the password of the boat is kelp99salt").memory
    done = memory.secrets.rotate_key()
    assert (done.made, done.sealed, done.unreadable) == (True, 2, 1)
    assert elsewhere.secrets.reveal(lost.id) == "the password of the boat is kelp99salt"


def test_a_key_from_a_setting_is_rotated_by_putting_a_new_one_before_it(
    open_memory: Open,
) -> None:
    old, new = Key.new(), Key.new()
    memory = open_memory(vault_key=old.text)
    said = fill(memory, 2)
    with pytest.raises(errors.VaultKeyMissing, match="no new one") as caught:
        memory.secrets.rotate_key()
    assert "secret key --new" in caught.value.hint
    rotated = open_memory(vault_key=f"{new.text} {old.text}")
    assert rotated.secrets.rotate_key().sealed == 2
    assert opened(open_memory(vault_key=new.text), said) == said
    with pytest.raises(errors.KeyRetired, match=old.id):
        memory.store("the password of the boat is kelp99salt")


def test_a_rotation_between_reading_and_opening_is_not_noticed(
    memory: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = fill(memory, 1)
    store, rotations = memory._parts.store, iter(range(3))
    read = store.sealed

    def read_and_rotate(scope: Scope, id: MemoryId) -> Sequence[Sealed]:
        records = read(scope, id)
        if next(rotations, None) is not None:
            memory.secrets.rotate_key(drop_old=True)  # as another thread would
        return records

    monkeypatch.setattr(store, "sealed", read_and_rotate)
    assert opened(memory, said) == said
    assert next(rotations, None) is None


CHILD = textwrap.dedent("""
    import sys
    from bearinmind.app import Mind
    with Mind.open(sys.argv[1], worker="off") as memory:
        print("ready", flush=True)
        while True:
            memory.secrets.rotate_key(drop_old=sys.argv[2] == "drop")
""")


@pytest.mark.parametrize("old", ["drop", "keep"])
def test_killing_a_rotation_at_any_moment_loses_nothing(path: Path, old: str) -> None:
    with Mind.open(path, worker="off") as memory:
        said = fill(memory, 120)
        for delay in (0.0, 0.02, 0.05, 0.11, 0.17):
            child = subprocess.Popen(
                [sys.executable, "-c", CHILD, str(path), old], stdout=subprocess.PIPE
            )
            assert child.stdout
            assert child.stdout.readline() == b"ready\n"
            time.sleep(delay)
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
            child.stdout.close()
            assert opened(memory, said) == said
        memory.secrets.rotate_key(drop_old=True)
        assert opened(memory, said) == said
        assert memory._parts.store.sealed_under() == {keys().present.id: 120}


def test_two_rotations_at_once_take_turns(path: Path) -> None:
    with Mind.open(path, worker="off") as memory:
        said = fill(memory, 30)
        children = [
            subprocess.Popen(
                [sys.executable, "-c", CHILD, str(path), "drop"], stdout=subprocess.PIPE
            )
            for _ in range(2)
        ]
        try:
            for child in children:
                assert child.stdout
                assert child.stdout.readline() == b"ready\n"
            for _ in range(5):
                assert opened(memory, said) == said
                time.sleep(0.1)
        finally:
            for child in children:
                child.kill()
                child.wait()
                if child.stdout:
                    child.stdout.close()
        assert opened(memory, said) == said
