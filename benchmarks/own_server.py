"""A Postgres server for a benchmark: one that is given, or one of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bearinmind.store.postgres.embedded import EmbeddedServer


@contextmanager
def own_server(url: str | None = None) -> Iterator[str]:
    """The URL of the given server, or of one that is gone afterwards."""
    if url:
        yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        server = EmbeddedServer(Path(folder) / "postgres")
        try:
            yield server.ensure()
        finally:
            server.stop()
