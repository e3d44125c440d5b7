"""The commands about the database of a store on Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from bearinmind.errors import InvalidInput
from bearinmind.store.factory import require_driver, server_of, url_of
from bearinmind.store_name import EmbeddedStore, StoreFile, StoreServer
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.guard import guarded
from bearinmind.surfaces.cli.session import Session

if TYPE_CHECKING:
    from bearinmind.store.postgres.embedded import EmbeddedServer
    from bearinmind.store.postgres.indexes import SpaceIndex, VectorIndexes
    from bearinmind.store.postgres.upkeep import Upkeep

app = typer.Typer(no_args_is_help=True, help="Look after the database of a store on Postgres.")

_LOOK = 0.5  # seconds between two looks at a build
_NAME_ONE = (
    "Name a database: --store postgresql://user@host/database, or --store postgres for the server "
    "that Bear in Mind looks after."
)


@app.command("status")
@guarded
def status(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Show how the database stands.

    Server and extensions with their versions, schema, users, what takes how much room, vector
    indexes, queue, replica. Nothing is changed.

    Example: bearinmind --store postgresql://ada@db.example.org/bearinmind db status
    """
    run = Session.of(ctx, as_json=as_json)
    name = _database(run)
    server = server_of(name).status() if isinstance(name, EmbeddedStore) else None
    if server is not None and not server.running:  # looking at it is no reason to start it
        run.reply(
            {"server": lazy.machine_db.server(server), "database": None},
            lambda: lazy.render_db.server(server),
        )
        return
    replica = run.settings.replica
    with _opened(run) as upkeep:
        found = upkeep.state(
            replica=replica.address if replica else None,
            staleness=run.settings.replica_staleness,
        )
    run.reply(
        {
            "server": lazy.machine_db.server(server) if server else None,
            "database": lazy.machine_db.database(found),
        },
        lambda: [*(lazy.render_db.server(server) if server else ()), *lazy.render_db.state(found)],
    )


@app.command("migrate")
@guarded
def migrate(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Bring the schema up to date.

    Others can read and write meanwhile. Opening the store does the same, as far as its role may.

    Example: bearinmind --store postgresql://owner@db.example.org/bearinmind db migrate
    """
    run = Session.of(ctx, as_json=as_json)
    with _opened(run) as upkeep:
        done = upkeep.migrate(run.note)
    run.reply(lazy.machine_db.migrated(done), lambda: lazy.render_db.migrated(done))


@app.command("index")
@guarded
def index(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Build the vector indexes that are due.

    Others can read and write meanwhile. Without an index, every embedding of a user is compared.

    Example: bearinmind --store postgres db index
    """
    run = Session.of(ctx, as_json=as_json)
    with _opened(run) as upkeep:
        upkeep.migrate(run.note)
        upkeep.indexes.drop_stray()
        due = upkeep.indexes.due()
        built = [each for each in due if _built(upkeep.indexes, each)]
        known = upkeep.indexes.known()
    others = len(due) - len(built)
    run.reply(
        {
            "built": [each.space for each in built],
            "being_built_by_others": others,
            "indexes": [lazy.machine_db.index(each) for each in known],
        },
        lambda: lazy.render_db.indexed(len(built), others, known),
    )


@app.command("distribute")
@guarded
def distribute(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Spread the memories over a Citus cluster.

    By their owner: all of a user's memories are on one machine. Nobody can write meanwhile. It
    happens as a whole or not at all, and can be repeated.

    Example: bearinmind --store postgresql://owner@coordinator/bearinmind db distribute
    """
    run = Session.of(ctx, as_json=as_json)
    with _opened(run) as upkeep:
        done = upkeep.distribute(run.note)
    run.reply(lazy.machine_db.distributed(done), lambda: lazy.render_db.distributed(done))


@app.command("start")
@guarded
def start(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Start the embedded server.

    The first time it is installed. Whoever needs it does the same.

    Example: bearinmind --store postgres db start
    """
    run = Session.of(ctx, as_json=as_json)
    server = _embedded(run)
    server.ensure()
    found = server.status()
    run.reply(lazy.machine_db.server(found), lambda: lazy.render_db.server(found))


@app.command("stop")
@guarded
def stop(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Stop the embedded server.

    Nothing is lost, and whoever needs it starts it again.

    Example: bearinmind --store postgres db stop
    """
    run = Session.of(ctx, as_json=as_json)
    server = _embedded(run)
    server.stop()
    found = server.status()
    run.reply(lazy.machine_db.server(found), lambda: lazy.render_db.server(found))


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
    """Build an index with a bar to watch; False when somebody else is at it."""
    done = 0
    with (
        ThreadPoolExecutor(1) as thread,
        lazy.progress.counting(f"space {index.space}", index.vectors, "vectors") as advance,
    ):
        build = thread.submit(indexes.build, index)
        while not wait([build], _LOOK).done:
            found = indexes.progress()
            if found is not None and found.total == index.vectors:  # else it counts pages
                advance(max(0, found.done - done))
                done = max(done, found.done)
        return build.result()
