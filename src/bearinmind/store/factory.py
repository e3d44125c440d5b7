"""Opens a store by its name: the one place where stores are made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bearinmind.errors import FileMissing, MissingExtra, StoreUnfinished
from bearinmind.protocols import Store
from bearinmind.text.addresses import EmbeddedStore, StoreFile, StoreName, StoreServer

if TYPE_CHECKING:
    from bearinmind.store.postgres.embedded import EmbeddedServer
    from bearinmind.store.postgres.store import PostgresStore
    from bearinmind.store.transfer import Endpoint

_DRIVER = ("psycopg", "psycopg_pool")


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a store is used. A file ignores the settings of connections."""

    busy_timeout: float = 60.0  #: seconds to wait for other writers
    connections: int = 16
    replica: StoreServer | None = None
    replica_staleness: float = 5.0  #: seconds


def open_store(name: StoreName, access: Access | None = None, *, create: bool = True) -> Store:
    """Open the store of that name. With `create` a missing one is made.

    A database on a server exists already: its tables are made in any case.
    """
    access = access or Access()
    if isinstance(name, StoreFile):
        from bearinmind.store.sqlite import SqliteStore  # noqa: PLC0415  only the kind that is used

        return SqliteStore(name.path, busy_timeout=access.busy_timeout, create=create)
    return open_database(url_of(name, create=create), access)


def open_database(url: str, access: Access | None = None) -> PostgresStore:
    """Open the store in a database, by its URL."""
    access = access or Access()
    require_driver()
    from bearinmind.store.postgres.store import PostgresStore  # noqa: PLC0415  only the kind that is used

    store = PostgresStore(url, busy_timeout=access.busy_timeout, connections=access.connections)
    if access.replica is not None:
        store.follow(access.replica.address, staleness=access.replica_staleness)
    return store


def url_of(name: StoreServer | EmbeddedStore, *, create: bool = True) -> str:
    """The URL of a database. An embedded server is started, and with `create` installed."""
    if isinstance(name, StoreServer):
        return name.address
    server = server_of(name)
    if not create and server.status().version is None:
        raise FileMissing(
            f"there is no store at {str(name)!r}",
            hint="Check --store; the first `bearinmind store` makes one.",
        )
    return server.ensure()


def server_of(name: EmbeddedStore) -> EmbeddedServer:
    """The embedded server of that name; nothing is started."""
    from bearinmind.store.postgres.embedded import (  # noqa: PLC0415  only the kind that is used
        EmbeddedServer,
        default_folder,
    )

    return EmbeddedServer(name.folder or default_folder())


def require_driver() -> None:
    """Raise unless the Postgres driver is installed."""
    if not all(map(find_spec, _DRIVER)):
        raise MissingExtra(
            "a store on Postgres needs the driver psycopg, which is not installed", extra="postgres"
        )


# ---- the endpoints of a move ---------------------------------------------------------------------


@contextmanager
def open_source(name: StoreName, access: Access) -> Iterator[Endpoint]:
    """A store that is moved from; opening one on a server brings it to the present schema."""
    with _only_read(name, access) as kept:
        open_store(kept, access, create=False).close()
        with closing(_endpoint(kept, access, create=False)) as end:
            yield end


@contextmanager
def _only_read(name: StoreName, access: Access) -> Iterator[StoreName]:
    """The store; of a file that opening would change, a copy, so that the file stays as it is."""
    if not isinstance(name, StoreFile):
        yield name
        return
    from bearinmind.store.sqlite.file import SqliteFile  # noqa: PLC0415  only what is used
    from bearinmind.store.sqlite.store import is_up_to_date  # noqa: PLC0415  likewise

    with TemporaryDirectory(prefix="bearinmind-") as folder:
        copy = StoreFile(Path(folder) / "copy.db")
        file = SqliteFile(name.path, busy_timeout=access.busy_timeout, create=False)
        with closing(file):
            up_to_date = is_up_to_date(file)
            if not up_to_date:
                file.copy_to(copy.path)
        yield name if up_to_date else copy


@contextmanager
def open_target(name: StoreName, access: Access) -> Iterator[Endpoint]:
    """A store that is moved into; a missing one is made."""
    with suppress(StoreUnfinished):
        open_store(name, access).close()
    with closing(_endpoint(name, access, create=True)) as end:
        yield end


@contextmanager
def open_existing_target(name: StoreName, access: Access) -> Iterator[Endpoint | None]:
    """An existing store that is moved into; nothing is made. None when there is none."""
    try:
        end = _endpoint(name, access, create=False)
    except FileMissing:
        yield None
        return
    with closing(end):
        yield end


def _endpoint(name: StoreName, access: Access, *, create: bool) -> Endpoint:
    if isinstance(name, StoreFile):
        from bearinmind.store.sqlite.endpoint import SqliteEndpoint  # noqa: PLC0415  only what is used

        return SqliteEndpoint(name.path, busy_timeout=access.busy_timeout)
    require_driver()
    from bearinmind.store.postgres.endpoint import PostgresEndpoint  # noqa: PLC0415  only the kind that is used

    return PostgresEndpoint(url_of(name, create=create), busy_timeout=access.busy_timeout)
