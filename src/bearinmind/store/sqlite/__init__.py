"""The embedded store: one SQLite file."""

from bearinmind.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
