"""Settings of a server, and of those that ask one."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator

from bearinmind.addresses import address_of
from bearinmind.settings.group import SettingsGroup

_Name = Annotated[str, Field(min_length=1, max_length=300)]


class ServerSettings(SettingsGroup):
    """What `bearinmind serve` can be told."""

    server_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        max_length=255,
        description="The address that the server listens on; beyond this machine it wants keys.",
    )
    server_port: int = Field(
        default=8_377, ge=0, le=65_535, description="Its port; 0 takes any that is free."
    )
    server_url: str | None = Field(
        default=None,
        description="Where others reach the server, when that is not where it listens.",
    )
    server_hosts: tuple[_Name, ...] = Field(
        default=(),
        description="Further names under which the server may be asked for; `*` is any.",
    )
    auth: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="Whether the server wants a key; auto: unless it listens on this machine "
        "alone and its store has no users.",
    )
    oauth_issuers: tuple[_Name, ...] = Field(
        default=(),
        description="Addresses of authorization servers that hand out keys of this server.",
    )
    key_per_minute: int | None = Field(
        default=None, ge=1, description="Most requests a minute of a key that says nothing else."
    )
    key_failures_per_minute: int = Field(
        default=30, ge=1, description="Most keys that are none, a minute and from one address."
    )
    request_bytes: int = Field(
        default=1_000_000,
        ge=1_000,
        le=1_000_000_000,
        description="Most bytes of a request, imports excepted.",
    )
    request_seconds: float = Field(
        default=30.0,
        ge=0.01,
        le=3_600,
        description="How long the server waits for a request and for its answer.",
    )
    server_threads: int = Field(
        default=8, ge=1, le=1_000, description="How many requests the server works on at once."
    )
    server_queue: int = Field(
        default=256,
        ge=0,
        le=100_000,
        description="How many more may wait; others are asked to come back later.",
    )
    server_streams: int = Field(
        default=4, ge=1, le=1_000, description="How many imports and exports go on at once."
    )
    shutdown_seconds: float = Field(
        default=30.0,
        ge=0,
        le=3_600,
        description="How long a server that is told to stop waits for connections to end.",
    )
    telemetry: bool = Field(
        default=False,
        description="Send traces of requests to where the OTEL_ variables say.",
    )

    @field_validator("server_url")
    @classmethod
    def _url_is_an_address(cls, url: str | None) -> str | None:
        if url is not None:
            address_of(url, "server")
        return url


class ClientSettings(SettingsGroup):
    """Which server is asked."""

    server: str | None = Field(
        default=None,
        description="Address of a server, for `bearinmind.connect()` and `bearinmind mcp`.",
    )
    server_key: SecretStr | None = Field(
        default=None, description="The bearer key for that server; never shown."
    )
