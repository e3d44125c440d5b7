"""Every setting, with its type, its limits, its default and its description, in groups."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Literal, Self

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_serializer,
    field_validator,
    model_validator,
)

from bearinmind import embedded_text
from bearinmind.addresses import address_of
from bearinmind.embed import choose as embed
from bearinmind.recall.graph import Spread
from bearinmind.recall.lexical import LexicalWeights
from bearinmind.rerank import choose as rerank
from bearinmind.store_name import StoreFile, StoreName, StoreServer, store_name
from bearinmind.types import Trust

#: Every leg that a recall can have.
LEGS = ("lexical", "dense", "graph")
#: Where each provider's key is usually kept.
PROVIDER_VARIABLES = {
    "openai": ("OPENAI_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "jina": ("JINA_API_KEY",),
}

_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_AboveZero = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Name = Annotated[str, Field(min_length=1, max_length=300)]


class SettingsGroup(BaseModel):
    """Settings about one thing."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def must_name(setting: str, given: Iterable[str], known: Iterable[str], thing: str) -> None:
    """Make sure that a table names nothing but what there is.

    Raises:
        ValueError: it does.
    """
    allowed = [*known]
    if unknown := sorted({*given} - {*allowed}):
        named = ", ".join(unknown)
        raise ValueError(f"{setting} names {named}, not {thing} ({', '.join(allowed)})")


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


class RecallSettings(SettingsGroup):
    """How memories are found and ranked."""

    limit: int = Field(default=10, ge=1, le=1_000, description="Most memories of one recall.")
    pool: int = Field(
        default=50, ge=1, le=10_000, description="How deep each leg of a recall looks."
    )
    budget_bytes: int | None = Field(
        default=None, ge=0, description="Most bytes of memories that one recall gives back."
    )
    fusion: Literal["calibrated", "convex", "rrf"] = Field(
        default="calibrated", description="How the rankings of the legs become one."
    )
    rrf_k: int = Field(
        default=60, ge=1, le=10_000, description="What `rrf` fusion adds to every rank."
    )
    leg_weights: dict[str, _Weight] = Field(
        default_factory=dict,
        description="By leg: how much its ranking counts, 1 when not named; 0 turns it off.",
    )
    lexical: dict[str, _Weight] = Field(
        default_factory=dict, description="By name: weights of the lexical leg to change."
    )
    graph: dict[str, _Weight] = Field(
        default_factory=dict, description="By name: weights of the graph leg to change."
    )
    importance_weight: float = Field(
        default=0.3, ge=0, le=1, description="How much importance counts in the ranking."
    )
    exact_bonus: float = Field(
        default=0.0, ge=0, le=10, description="Added when a memory holds the query word for word."
    )
    focus_bonus: float = Field(
        default=0.2, ge=0, le=10, description="Added for tags and categories in focus."
    )
    decay_days: dict[str, _AboveZero] = Field(
        default_factory=dict,
        description="By category: after how many days a score has faded to 1/e.",
    )
    trust_factors: dict[Trust, _AboveZero] = Field(
        default_factory=dict,
        description="By trust class: what a score is multiplied with.",
    )
    least_confidence: float = Field(
        default=0.0, ge=0, le=1, description="Recall gives back nothing less certain than this."
    )
    near_duplicates: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of common words from which one memory speaks for two; 0: only the same.",
    )
    capture_queries: bool = Field(
        default=False,
        description="Keep what is asked in a private file beside the store, to measure recall on.",
    )

    @model_validator(mode="after")
    def _weights_are_of_known_things(self) -> Self:
        must_name("leg_weights", self.leg_weights, LEGS, "a leg")
        for setting, given, weights, thing in (
            ("lexical", self.lexical, LexicalWeights, "a lexical weight"),
            ("graph", self.graph, Spread, "a weight of the graph leg"),
        ):
            must_name(setting, given, (field.name for field in fields(weights)), thing)
        return self


class EmbeddingSettings(SettingsGroup):
    """What turns texts into vectors."""

    embedder: str = Field(
        default="local", description="What turns texts into vectors; none: recall by words alone."
    )
    embedded_text: str = Field(
        default=embedded_text.DEFAULT,
        description="What is embedded of a memory: its content, and what is said before it.",
    )
    embedder_url: str | None = Field(
        default=None, description="Where the embedder is, when it is not its provider's own server."
    )
    embedder_key: SecretStr | None = Field(
        default=None, description="The key for the embedder, if it wants one; never shown."
    )
    embedder_dimensions: int | None = Field(
        default=None, ge=1, le=65_536, description="Length of vectors, where a model has several."
    )
    embedder_timeout: float = Field(
        default=10.0,
        ge=0.1,
        le=600,
        description="Seconds for a query's embedding by HTTP; many memories get six times as long.",
    )
    embedder_per_minute: float | None = Field(
        default=None, gt=0, le=1_000_000, description="Most requests a minute to it by HTTP."
    )
    provider_keys: dict[str, SecretStr] = Field(
        default_factory=dict,
        description="By provider: its key, also taken from OPENAI_API_KEY and its like; "
        "never shown.",
    )

    @field_validator("embedded_text")
    @classmethod
    def _recipe_is_known(cls, recipe: str) -> str:
        embedded_text.parts(recipe)
        return recipe

    @field_validator("embedder")
    @classmethod
    def _embedder_has_a_known_form(cls, text: str) -> str:
        return embed.checked(text)

    @field_validator("provider_keys")
    @classmethod
    def _providers_are_known(cls, keys: dict[str, SecretStr]) -> dict[str, SecretStr]:
        must_name("provider_keys", keys, PROVIDER_VARIABLES, "a provider")
        return keys


class RerankerSettings(SettingsGroup):
    """What reads the best memories again."""

    reranker: str = Field(
        default="none", description="What reads the best memories again and reorders them."
    )
    reranker_url: str | None = Field(
        default=None, description="Where the reranker is, when it is not its provider's own server."
    )
    reranker_key: SecretStr | None = Field(
        default=None, description="The key for the reranker, if it wants one; never shown."
    )
    rerank_depth: int = Field(
        default=20, ge=2, le=100, description="How many of the best memories are reranked."
    )
    rerank_seconds: float = Field(
        default=1.0, ge=0.01, le=600, description="How long the reranker is waited for."
    )
    rerank_weight: float = Field(
        default=1.0, ge=0, le=1, description="How much the reranker counts; 1: its order alone."
    )

    @field_validator("reranker")
    @classmethod
    def _reranker_has_a_known_form(cls, text: str) -> str:
        return rerank.checked(text)


class ChatSettings(SettingsGroup):
    """The chat model, and what it may cost."""

    llm_url: str | None = Field(
        default=None, description="An OpenAI-compatible server, such as http://localhost:11434/v1."
    )
    llm_model: str | None = Field(
        default=None,
        description="The model there that writes questions for `bench own`, and reads memories "
        "when `extractor` is llm.",
    )
    llm_dialect: Literal["openai", "anthropic", "ollama"] = Field(
        default="openai", description="How the server is spoken to when `extractor` is llm."
    )
    llm_daily_tokens: int = Field(
        default=100_000,
        ge=0,
        le=1_000_000_000,
        description="Most tokens a day that reading memories may cost when `extractor` is llm.",
    )
    judge_model: str | None = Field(
        default=None, description="Another model there, which grades answers for `bench own`."
    )
    llm_key: SecretStr | None = Field(
        default=None, description="The key for that server, if it wants one; never shown."
    )


class BackgroundSettings(SettingsGroup):
    """What becomes of memories after they were stored."""

    extractor: Literal["rules", "spacy", "llm", "none"] = Field(
        default="rules",
        description="What reads memories for the concept graph; none: it is not built further.",
    )
    worker: Literal["auto", "off"] = Field(
        default="auto",
        description="Whether what is stored is embedded, and read for the graph, in the "
        "background at once.",
    )
    worker_idle_seconds: float = Field(
        default=60.0,
        ge=0,
        le=86_400,
        description="How long the background worker of the command line stays without work.",
    )


def _default_key_file() -> Path:
    return Path(platformdirs.user_data_dir("bearinmind", appauthor=False)) / "vault.keys"


class VaultSettings(SettingsGroup):
    """What is encrypted, and under which key."""

    detect_secrets: bool = Field(
        default=True,
        description="Look for secrets in what is stored, and encrypt the memories that hold one.",
    )
    vault_key: SecretStr | None = Field(
        default=None,
        description="The key of sensitive memories, 32 bytes in base64, old ones behind it; "
        "never shown.",
    )
    vault_key_file: Path = Field(
        default_factory=_default_key_file,
        description="The file that holds the key otherwise; made when it is first needed.",
    )
    vault_key_command: str | None = Field(
        default=None, description="A command that prints the key; no shell reads it."
    )
    vault_url: str | None = Field(
        default=None,
        description="A secret of HashiCorp Vault (KV version 2) whose field `key` holds the key.",
    )
    vault_token: SecretStr | None = Field(
        default=None, description="The token for that Vault; never shown."
    )


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


class CurationSettings(SettingsGroup):
    """What curation may do, and when."""

    curate: Literal["off", "inbox"] = Field(
        default="off",
        description="Whether whoever works in the background also looks at what is new for what "
        "could be tidied up; it goes into the inbox.",
    )
    curate_hours: float = Field(
        default=24.0, ge=0.1, le=8_760, description="How often `curate` looks in the background."
    )
    curate_cosine: float = Field(
        default=0.95,
        ge=0.5,
        le=1,
        description="How near in meaning two memories must be for `curate` to hold them together.",
    )
    curate_temporary_days: int = Field(
        default=30,
        ge=1,
        le=36_500,
        description="After how many days `curate` asks about what says that it is temporary.",
    )


class LearningSettings(SettingsGroup):
    """What is learned from a turn, and what a chat model may cost that reads it."""

    learn: Literal["off", "inbox", "rules", "model"] = Field(
        default="inbox",
        description="What becomes of what a turn teaches: off: nothing; inbox: it is proposed; "
        "rules: what is sure is stored; model: likewise, and a chat model reads the turn as well.",
    )
    learn_url: str | None = Field(
        default=None,
        description="The chat server that reads turns when `learn` is model, if not `llm_url`.",
    )
    learn_model: str | None = Field(
        default=None, description="The model there, if not `llm_model`."
    )
    learn_dialect: Literal["openai", "anthropic", "ollama"] = Field(
        default="openai", description="How the server of `learn_url` is spoken to."
    )
    learn_key: SecretStr | None = Field(
        default=None, description="The key for the server of `learn_url`; never shown."
    )
    learn_daily_tokens: int = Field(
        default=50_000,
        ge=0,
        le=1_000_000_000,
        description="Most tokens a day that reading turns may cost when `learn` is model.",
    )


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
