"""The commands about the database of a store on Postgres."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from bearinmind.errors import InvalidInput
from bearinmind.store.factory import require_driver, server_of, url_of
from bearinmind.surfaces.cli.terminal import (
    NOTICE,
    STRONG,
    Session,
    counting,
    fields,
    headed,
    many,
    styled,
)
from bearinmind.text.addresses import EmbeddedStore, StoreFile, StoreServer

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from bearinmind.protocols import Unavailable
    from bearinmind.store.postgres.embedded import EmbeddedServer, ServerStatus
    from bearinmind.store.postgres.indexes import SpaceIndex, VectorIndexes
    from bearinmind.store.postgres.schema import Opened
    from bearinmind.store.postgres.upkeep import DatabaseState, Distribution, StoreState, Upkeep

app = typer.Typer(no_args_is_help=True)
_LOOK = 0.5  # seconds between two looks at a build
_NAME_ONE = (
    "Name a database: --store postgresql://user@host/database, or --store postgres for the server "
    "that Bear in Mind looks after."
)


@app.command("status")
def status(run: Session) -> None:
    """Show the state of the database.

    Server and extensions with their versions, schema, users, what takes how much room, vector
    indexes, queue, replica. Nothing is changed.

    Example: bearinmind --store postgresql://ada@db.example.org/bearinmind db status
    """
    name = _database(run)
    server = server_of(name).status() if isinstance(name, EmbeddedStore) else None
    if server is not None and not server.running:  # looking at it is no reason to start it
        run.reply({"server": server, "database": None}, lambda: _server_lines(server))
        return
    replica = run.settings.replica
    with _opened(run) as upkeep:
        state = upkeep.state(
            replica=replica.address if replica else None, staleness=run.settings.replica_staleness
        )
    run.reply(
        {"server": server, "database": state},
        lambda: [*(_server_lines(server) if server else ()), *_state_lines(state)],
    )


@app.command("migrate")
def migrate(run: Session) -> None:
    """Bring the schema up to date.

    Others can read and write meanwhile. Opening the store also does it, if its role may.

    Example: bearinmind --store postgresql://owner@db.example.org/bearinmind db migrate
    """
    with _opened(run) as upkeep:
        done = upkeep.migrate(run.note)
    run.reply(done, lambda: _migrated_lines(done))


@app.command("index")
def index(run: Session) -> None:
    """Build the vector indexes that are due.

    Others can read and write meanwhile. Without an index, every embedding of a user is compared.

    Example: bearinmind --store postgres db index
    """
    with _opened(run) as upkeep:
        upkeep.migrate(run.note)
        upkeep.indexes.drop_stray()
        due = upkeep.indexes.due()
        built = [each for each in due if _built(upkeep.indexes, each)]
        known = upkeep.indexes.known()
    others = len(due) - len(built)

    def human() -> Iterator[RenderableType]:
        done = f"Built {many(len(built), 'index', 'indexes')}." if built else "No index is due."
        yield styled(done)
        if others:
            yield styled(f"{many(others, 'other')} waits: another process is building one.", NOTICE)
        if known:
            yield _indexes(known)

    run.reply(
        {
            "built": [each.space for each in built],
            "being_built_by_others": others,
            "indexes": known,
        },
        human,
    )


@app.command("distribute")
def distribute(run: Session) -> None:
    """Spread the memories over a Citus cluster.

    By their owner: all of a user's memories are on one machine. Nobody can write meanwhile. It
    happens as a whole or not at all, and can be repeated.

    Example: bearinmind --store postgresql://owner@coordinator/bearinmind db distribute
    """
    with _opened(run) as upkeep:
        done = upkeep.distribute(run.note)
    run.reply(done, lambda: _distributed_lines(done))


@app.command("start")
def start(run: Session) -> None:
    """Start the embedded server.

    The first start installs it. Every command that needs it also starts it.

    Example: bearinmind --store postgres db start
    """
    server = _embedded(run)
    server.ensure()
    status_ = server.status()
    run.reply(status_, lambda: _server_lines(status_))


@app.command("stop")
def stop(run: Session) -> None:
    """Stop the embedded server.

    Nothing is lost. The next command that needs it starts it again.

    Example: bearinmind --store postgres db stop
    """
    server = _embedded(run)
    server.stop()
    status_ = server.status()
    run.reply(status_, lambda: _server_lines(status_))


# ---- what they share ---------------------------------------------------------------------------
def _database(run: Session) -> StoreServer | EmbeddedStore:
    """The name of the store, which is on Postgres."""
    if isinstance(run.place, StoreFile):
        raise InvalidInput(
            f"{str(run.place)!r} is a file, and `bearinmind db` is about stores on Postgres",
            hint=_NAME_ONE,
        )
    return run.place


def _embedded(run: Session) -> EmbeddedServer:
    name = _database(run)
    if isinstance(name, StoreServer):
        raise InvalidInput(
            f"the server of {str(name)!r} is not one that Bear in Mind starts and stops",
            hint="`--store postgres` names the embedded server.",
        )
    return server_of(name)


@contextmanager
def _opened(run: Session) -> Iterator[Upkeep]:
    """The database, as it is."""
    name = _database(run)
    require_driver()
    from bearinmind.store.postgres.upkeep import Upkeep  # noqa: PLC0415  only on Postgres

    upkeep = Upkeep(url_of(name), patience=run.settings.busy_timeout)
    try:
        yield upkeep
    finally:
        upkeep.close()


def _built(indexes: VectorIndexes, index: SpaceIndex) -> bool:
    """Build an index with a bar to watch; False when another process builds it."""
    done = 0
    with (
        ThreadPoolExecutor(1) as thread,
        counting(f"space {index.space}", index.vectors, "vectors") as advance,
    ):
        build = thread.submit(indexes.build, index)
        while not wait([build], _LOOK).done:
            progress = indexes.progress()
            if progress is not None and progress.total == index.vectors:  # else it counts pages
                advance(max(0, progress.done - done))
                done = max(done, progress.done)
        return build.result()


_MIGRATE = "`bearinmind db migrate` brings it up to date."


def _server_lines(value: ServerStatus) -> Iterator[RenderableType]:
    state = f"running (pid {value.pid})" if value.running else "not running"
    facts = {
        "embedded server": state if value.version else "not installed",
        "folder": str(value.folder),
        "log": str(value.log) if value.version else "",
    }
    yield fields(facts)


def _state_lines(value: DatabaseState) -> Iterator[RenderableType]:
    extensions = (f"{name} {version}" for name, version in value.extensions.items())
    facts: dict[str, str | Text] = {
        "database": styled(f"{value.place}, {_size(value.bytes)}", STRONG),
        "server": f"Postgres {value.server}{', a standby' if value.follows else ''}",
        "extensions": ", ".join(extensions),
        "connections": f"{value.connections:,} to it; the server allows {value.most_connections:,}",
        "replica": value.replica or "",
    }
    store = value.store
    if store is None:
        others = f"none: {many(value.others, 'table')} of some other program"
        yield fields(facts | {"schema": others if value.others else f"none yet. {_MIGRATE}"})
        return
    yield fields(facts | _store(store, value.present))
    yield from _off(value.meaning_off)
    yield _tables(store)
    if store.indexes:
        yield _indexes(store.indexes)


def _store(store: StoreState, present: int) -> dict[str, str]:
    schema = f"{store.schema}"
    if store.schema < present:
        begun = f", {many(store.steps, 'step')} of the next are done" if store.steps else ""
        schema = f"{schema} of {present}{begun}. {_MIGRATE}"
    queue = (f"{each.jobs:,} {each.kind} {each.state}" for each in store.queue)
    building = store.building
    return {
        "schema": schema,
        "users": f"{store.tenants:,}",
        "memories": f"{many(store.versions, 'version')}, {_each(store)}",
        "queue": ", ".join(queue) or "empty",
        "building": f"{building.phase}, {building.done:,} of {building.total:,}"
        if building
        else "",
        "spread": _spread(store),
    }


def _spread(store: StoreState) -> str:
    kept = list(store.spread.values())
    return ", ".join(f"{many(kept.count(how), 'table')} {how}" for how in dict.fromkeys(kept))


def _each(store: StoreState) -> str:
    if not store.versions:
        return "none yet"
    return f"{sum(each.bytes for each in store.tables) / store.versions:,.0f} bytes each"


def _tables(store: StoreState) -> RenderableType:
    table = headed("", "table", "rows>", "size>", "of that indexes>", "bytes a memory>")
    for each in store.tables:
        share = f"{each.bytes / store.versions:,.0f}" if store.versions else ""
        sizes = _size(each.bytes), _size(each.index_bytes)
        table.add_row(styled(each.name), f"{each.rows:,}", *sizes, share)
    return table


def _indexes(indexes: Sequence[SpaceIndex]) -> RenderableType:
    table = headed("", "space>", "dimensions>", "vectors>", "most of one user>", "index")
    for each in indexes:
        size = {None: "none", False: "not complete"}.get(each.complete, _size(each.bytes))
        counts = f"{each.dimensions:,}", f"{each.vectors:,}", f"{each.most:,}"
        table.add_row(f"{each.space}", *counts, size)
    return table


def _migrated_lines(value: Opened) -> Iterator[RenderableType]:
    if value.before is None:
        yield styled(f"Made the tables, with schema {value.schema}.")
    elif value.applied:
        yield styled(f"Applied {', '.join(value.applied)}: schema {value.schema}.")
    else:
        yield styled(f"Nothing is missing: schema {value.schema}.")
    yield from _off(value.meaning_off)


def _distributed_lines(value: Distribution) -> Iterator[RenderableType]:
    if value.emptied:
        yield styled(f"Removed from the coordinator's own disk: {_listed(value.emptied)}.")
    if value.queued:
        yield styled(f"Queued {many(value.queued, 'job')} that had been lost.")
    if not value.spread and not value.copied:
        yield styled(f"Nothing is left to spread: Citus {value.citus} has all.")
        return
    yield styled(f"Spread by owner, with Citus {value.citus}: {_listed(value.spread)}.")
    yield styled(f"Copied to every machine: {_listed(value.copied)}.")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _off(off: Unavailable | None) -> Iterator[RenderableType]:
    if off is not None:
        yield styled(f"Semantic recall is off: {off.reason}.", NOTICE)
        yield styled(off.hint, NOTICE)


def _size(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
