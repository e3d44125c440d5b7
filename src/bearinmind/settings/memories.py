"""Settings of the store, and of what is kept in it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import platformdirs
from pydantic import Field, field_serializer, field_validator

from bearinmind.settings.group import SettingsGroup
from bearinmind.store_name import StoreFile, StoreName, StoreServer, store_name


def _default_store() -> StoreName:
    return StoreFile(
        Path(platformdirs.user_data_dir("bearinmind", appauthor=False)) / "memories.db"
    )


class MemorySettings(SettingsGroup):
    """Where the memories are, and what one may be."""

    store: StoreName = Field(
        default_factory=_default_store,
        description="Where the memories are: a file, a Postgres server, or `postgres`, which is "
        "one that Bear in Mind looks after; a password is never shown.",
    )
    user: str = Field(
        default="local", min_length=1, max_length=128, description="Whose memories are meant."
    )
    content_limit: int = Field(
        default=1_400, ge=1, le=1_000_000, description="Most characters of a memory."
    )
    categories: tuple[Annotated[str, Field(min_length=1, max_length=64)], ...] = Field(
        default=("facts", "preferences", "projects", "people", "decisions"),
        min_length=1,
        description="The categories that a memory may have; the first one is the default.",
    )
    busy_timeout: float = Field(
        default=60.0, ge=0, le=3_600, description="Seconds to wait for other writers of the store."
    )
    store_connections: int = Field(
        default=16, ge=1, le=1_000, description="Most connections of a process to a server."
    )
    replica: StoreServer | None = Field(
        default=None, description="A standby of the server, which answers recalls in its place."
    )
    replica_staleness: float = Field(
        default=5.0, ge=0, le=3_600, description="Most seconds that the replica may be behind."
    )

    @field_validator("store", mode="plain")
    @classmethod
    def _store_is_named(cls, given: object) -> StoreName:
        return store_name(given)

    @field_validator("replica", mode="plain")
    @classmethod
    def _replica_is_a_server(cls, given: object) -> StoreServer | None:
        if given is None or isinstance(given, StoreServer):
            return given
        return StoreServer.at(str(given))

    @field_serializer("store", "replica")
    def _without_password(self, name: StoreName | None) -> str | None:
        return None if name is None else str(name)
