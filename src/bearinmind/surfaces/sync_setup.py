"""Syncing, made ready by the settings: the connection with a server, and the background loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bearinmind.app import Mind
from bearinmind.config import state_folder
from bearinmind.store_name import absolute
from bearinmind.sync.connection import Connection, KeyFile
from bearinmind.sync.model import SyncReport
from bearinmind.sync.sync_loop import SyncLoop
from bearinmind.work.post import Post


def connection(mind: Mind) -> Connection:
    """How these memories are connected with a server."""
    settings = mind.settings
    return Connection(
        memories=mind,
        key=settings.sync_key,
        key_file=KeyFile.of(state_folder(), str(absolute(settings.store)), settings.user),
        timeout=settings.sync_timeout,
    )


def lock_of(store: Path) -> Post:
    """The lock of the store whose files lie beside a path: its holder may sync."""
    place = store.resolve()
    return Post(place.with_name(f"{place.name}.sync"))


def keep_in_step(mind: Mind) -> SyncLoop[Mind] | None:
    """Begin to sync in the background; None when the setting `sync_seconds` is 0."""
    settings = mind.settings
    if not settings.sync_seconds:
        return None
    return SyncLoop(
        mind,
        every=settings.sync_seconds,
        lock=lock_of(settings.beside),
        is_synced=lambda mind: mind.peer() is not None,
        sync=sync_once,
    )


@contextmanager
def in_step(mind: Mind) -> Iterator[None]:
    """Sync in the background for a while."""
    loop = keep_in_step(mind)
    try:
        yield
    finally:
        if loop is not None:
            loop.close()


def sync_once(mind: Mind) -> SyncReport:
    """Sync with the server that the memories are connected with."""
    with connection(mind).server() as server:
        return mind.sync_with(server)
