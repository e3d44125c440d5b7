"""A database on Postgres as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from bearinmind.surfaces.render import NOTICE, QUIET, STRONG, data, grid, headed, many

if TYPE_CHECKING:
    from bearinmind.protocols import Unavailable
    from bearinmind.store.postgres.embedded import ServerStatus
    from bearinmind.store.postgres.indexes import SpaceIndex
    from bearinmind.store.postgres.schema import Opened
    from bearinmind.store.postgres.upkeep import DatabaseState, Distribution, StoreState

_MIGRATE = "`bearinmind db migrate` brings it up to date."


def server(value: ServerStatus) -> Iterator[RenderableType]:
    """How an embedded server stands."""
    standing = f"running (pid {value.pid})" if value.running else "not running"
    facts = {
        "embedded server": standing if value.version else "not installed",
        "folder": str(value.folder),
        "log": str(value.log) if value.version else "",
    }
    yield _grid(facts)


def state(value: DatabaseState) -> Iterator[RenderableType]:
    """How a database stands."""
    extensions = (f"{name} {version}" for name, version in value.extensions.items())
    facts = {
        "database": f"{value.place}, {_size(value.bytes)}",
        "server": f"Postgres {value.server}{', a standby' if value.follows else ''}",
        "extensions": ", ".join(extensions),
        "connections": f"{value.connections:,} to it; the server allows {value.most_connections:,}",
        "replica": value.replica or "",
    }
    store = value.store
    if store is None:
        others = f"none: {many(value.others, 'table')} of some other program"
        yield _grid(facts | {"schema": others if value.others else f"none yet. {_MIGRATE}"})
        return
    yield _grid(facts | _store(store, value.present))
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
        table.add_row(
            data(each.name), f"{each.rows:,}", _size(each.bytes), _size(each.index_bytes), share
        )
    return table


def _indexes(indexes: Sequence[SpaceIndex]) -> RenderableType:
    table = headed("", "space>", "dimensions>", "vectors>", "most of one user>", "index")
    for each in indexes:
        found = {None: "none", False: "not complete"}.get(each.complete, _size(each.bytes))
        table.add_row(
            f"{each.space}", f"{each.dimensions:,}", f"{each.vectors:,}", f"{each.most:,}", found
        )
    return table


def migrated(value: Opened) -> Iterator[RenderableType]:
    """What a migration did."""
    if value.before is None:
        yield data(f"Made the tables, with schema {value.schema}.")
    elif value.applied:
        yield data(f"Applied {', '.join(value.applied)}: schema {value.schema}.")
    else:
        yield data(f"Nothing is missing: schema {value.schema}.")
    yield from _off(value.meaning_off)


def indexed(built: int, others: int, indexes: Sequence[SpaceIndex]) -> Iterator[RenderableType]:
    """Which indexes were built."""
    yield data(f"Built {many(built, 'index', 'indexes')}." if built else "No index is due.")
    if others:
        yield data(f"{many(others, 'other')} waits: somebody else is building one.", NOTICE)
    if indexes:
        yield _indexes(indexes)


def distributed(value: Distribution) -> Iterator[RenderableType]:
    """How tables were spread."""
    if value.emptied:
        yield data(f"Removed from the coordinator's own disk: {_listed(value.emptied)}.")
    if value.queued:
        yield data(f"Queued {many(value.queued, 'job')} that had been lost.")
    if not value.spread and not value.copied:
        yield data(f"Nothing is left to spread: Citus {value.citus} has all.")
        return
    yield data(f"Spread by owner, with Citus {value.citus}: {_listed(value.spread)}.")
    yield data(f"Copied to every machine: {_listed(value.copied)}.")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _off(off: Unavailable | None) -> Iterator[RenderableType]:
    if off is not None:
        yield data(f"Semantic recall is off: {off.reason}.", NOTICE)
        yield data(off.hint, NOTICE)


def _grid(facts: dict[str, str]) -> RenderableType:
    table = grid("-", "")
    for name, text in facts.items():
        if text:
            table.add_row(Text(name, QUIET), data(text, STRONG if name == "database" else ""))
    return table


def _size(size: int) -> str:
    return f"{size / 2**20:,.1f} MiB"
