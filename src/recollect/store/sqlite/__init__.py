"""The embedded store: one SQLite file."""

from recollect.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
