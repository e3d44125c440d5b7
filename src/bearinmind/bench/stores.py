"""Empty stores for a run, which go away again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from bearinmind.errors import InvalidSetting
from bearinmind.protocols import Store
from bearinmind.store import factory
from bearinmind.store_name import EmbeddedStore, StoreFile, StoreServer, store_name

SQLITE = "sqlite"
POSTGRES = "postgres"


def kind_of(text: str) -> str:
    """The kind of store that a text asks for: of a server it is all that a result says.

    Raises:
        InvalidSetting: it asks for none.
    """
    if text == SQLITE:
        return SQLITE
    _server(text)
    return POSTGRES


@contextmanager
def empty_store(text: str) -> Iterator[Store]:
    """A store of that kind: in a file, or in a database that is made on a server for the run.

    Raises:
        InvalidSetting: there is no such kind of store.
        StoreFailure: the server cannot be used for this.
    """
    if text == SQLITE:
        with tempfile.TemporaryDirectory(prefix="bearinmind-bench-") as folder:
            name = StoreFile(Path(folder) / "memories.db")
            with closing(factory.open_store(name)) as store:
                yield store
        return
    factory.require_driver()
    from bearinmind.store.postgres.connection_pool import scratch_database  # noqa: PLC0415  an extra

    with (
        scratch_database(factory.url_of(_server(text))) as url,
        closing(factory.open_database(url)) as store,
    ):
        yield store


def _server(text: str) -> StoreServer | EmbeddedStore:
    name = store_name(text)
    if isinstance(name, StoreFile):
        raise InvalidSetting(
            f"there is no kind of store {text!r}",
            hint="Use sqlite, postgres, or the URL of a Postgres server; a run makes its own.",
        )
    return name
