"""Settings of syncing with a server."""

from __future__ import annotations

from pydantic import Field, SecretStr

from bearinmind.settings.group import SettingsGroup


class SyncSettings(SettingsGroup):
    """How a replica keeps up with its server."""

    sync_key: SecretStr | None = Field(
        default=None,
        description="The bearer key for the server that memories are synced with, in place of "
        "the one that `sync connect` kept; never shown.",
    )
    sync_seconds: float = Field(
        default=30.0,
        ge=0,
        le=86_400,
        description="How often to sync in the background; 0: only by `bearinmind sync`.",
    )
    sync_timeout: float = Field(
        default=30.0,
        ge=0.1,
        le=3_600,
        description="Seconds that an answer of that server may take.",
    )
