"""From the names of two stores to the ends of a move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from bearinmind.errors import FileMissing, StoreUnfinished
from bearinmind.store.choose import Access, open_store, require_driver, url_of
from bearinmind.store.moving.ends import End
from bearinmind.store_name import StoreFile, StoreName


@contextmanager
def opened_source(name: StoreName, access: Access) -> Iterator[End]:
    """A store that is moved from, brought to the present schema as whenever it is opened.

    Raises:
        FileMissing: there is none.
        StoreFailure: it cannot be opened, or is itself unfinished.
    """
    open_store(name, access, create=False).close()
    with closing(_end(name, access, create=False)) as end:
        yield end


@contextmanager
def opened_target(name: StoreName, access: Access) -> Iterator[End]:
    """A store that is moved into; it is made if there is none.

    Raises:
        StoreFailure: it cannot be opened.
    """
    with suppress(StoreUnfinished):
        open_store(name, access).close()
    with closing(_end(name, access, create=True)) as end:
        yield end


@contextmanager
def found_target(name: StoreName, access: Access) -> Iterator[End | None]:
    """The same to look at: nothing is made. None when there is none.

    Raises:
        StoreFailure: it cannot be opened.
    """
    try:
        end = _end(name, access, create=False)
    except FileMissing:
        yield None
        return
    with closing(end):
        yield end


def _end(name: StoreName, access: Access, *, create: bool) -> End:
    if isinstance(name, StoreFile):
        from bearinmind.store.sqlite.moving import SqliteEnd  # noqa: PLC0415  only what is used

        return SqliteEnd(name.path, busy_timeout=access.busy_timeout)
    require_driver()
    from bearinmind.store.postgres.moving import PostgresEnd  # noqa: PLC0415  as above

    return PostgresEnd(url_of(name, create=create), busy_timeout=access.busy_timeout)
