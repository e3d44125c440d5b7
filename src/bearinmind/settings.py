"""Every setting with its type, its limits, its default and its description."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from bearinmind.text import embedded_text
from bearinmind.text.addresses import StoreFile, StoreName, StoreServer
from bearinmind.types import Trust

_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_AboveZero = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Name = Annotated[str, Field(min_length=1, max_length=300)]
_data_folder = partial(platformdirs.user_data_path, "bearinmind", appauthor=False)


class SettingFields(BaseModel):
    """Everything that can be configured, in the order of the reference; `config` checks it."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    # ---- the store, and what a memory may be

    store: StoreName = Field(
        default_factory=lambda: StoreFile(_data_folder() / "memories.db"),
        description="Where the memories are: a file, a Postgres server, or `postgres` for a server "
        "that Bear in Mind runs itself; a password is never shown.",
    )
    user: str = Field(
        default="local",
        min_length=1,
        max_length=128,
        description="The user whose memories these are.",
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
        default=16,
        ge=1,
        le=1_000,
        description="Most connections of a process to a Postgres server.",
    )
    replica: StoreServer | None = Field(
        default=None, description="A standby server that answers recalls in its place."
    )
    replica_staleness: float = Field(
        default=5.0, ge=0, le=3_600, description="Most seconds that the replica may be behind."
    )

    # ---- recall

    limit: int = Field(default=10, ge=1, le=1_000, description="Most memories of one recall.")
    pool: int = Field(
        default=50, ge=1, le=10_000, description="How many candidates each leg of a recall finds."
    )
    budget_bytes: int | None = Field(
        default=None, ge=0, description="Most bytes of memories in one answer."
    )
    fusion: Literal["calibrated", "convex", "rrf"] = Field(
        default="calibrated", description="How the rankings of the legs are combined."
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
    time_bonus: float = Field(
        default=2.0, ge=0, le=10, description="Added for memories of the time a question names."
    )
    decay_days: dict[str, _AboveZero] = Field(
        default_factory=dict,
        description="By category: after how many days a score has faded to 1/e.",
    )
    trust_factors: dict[Trust, _AboveZero] = Field(
        default_factory=dict, description="By trust class: the factor of a score."
    )
    near_duplicates: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of common words from which two memories count as one; 0: only equal.",
    )
    second_look: Literal["on", "off"] = Field(
        default="on", description="Whether a model reads the first hits; off is faster, and worse."
    )
    capture_queries: bool = Field(
        default=False,
        description="Keep queries in a private file beside the store, to measure recall with them.",
    )

    # ---- embedder

    embedder: str = Field(
        default="local", description="What turns texts into vectors; none: recall by words alone."
    )
    embedded_text: str = Field(
        default=embedded_text.DEFAULT,
        description="What is embedded of a memory: its content, and what is put before it.",
    )
    embedder_url: str | None = Field(
        default=None, description="Address of the embedder, unless it is its provider's own server."
    )
    embedder_key: SecretStr | None = Field(
        default=None, description="The key for the embedder, if it needs one; never shown."
    )
    embedder_dimensions: int | None = Field(
        default=None, ge=1, le=65_536, description="Length of vectors, if a model offers several."
    )
    embedder_timeout: float = Field(
        default=10.0,
        ge=0.1,
        le=600,
        description="Most seconds to embed a query by HTTP; a batch gets six times as long.",
    )
    embedder_per_minute: float | None = Field(
        default=None, gt=0, le=1_000_000, description="Most requests a minute to it by HTTP."
    )
    provider_keys: dict[str, SecretStr] = Field(
        default_factory=dict,
        description="By provider: its key, also read from OPENAI_API_KEY and similar variables; "
        "never shown.",
    )

    # ---- reranker

    reranker: str = Field(
        default="none", description="What reads the best memories again and reorders them."
    )
    reranker_url: str | None = Field(
        default=None, description="Address of the reranker, unless it is its provider's own server."
    )
    reranker_key: SecretStr | None = Field(
        default=None, description="The key for the reranker, if it needs one; never shown."
    )
    rerank_depth: int = Field(
        default=20, ge=2, le=100, description="How many of the best memories are reranked."
    )
    rerank_seconds: float = Field(
        default=1.0,
        ge=0.01,
        le=600,
        description="Most seconds that a recall waits for the reranker.",
    )
    rerank_weight: float = Field(
        default=1.0, ge=0, le=1, description="How much the reranker counts; 1: only its order."
    )

    # ---- chat model, and what it may cost

    llm_url: str | None = Field(
        default=None, description="An OpenAI-compatible server, such as http://localhost:11434/v1."
    )
    llm_model: str | None = Field(
        default=None,
        description="The model there that writes questions for `bench own`, reads memories when "
        "`extractor` is llm, compares them for `curate --ask`, and reranks when `reranker` is llm.",
    )
    llm_dialect: Literal["openai", "anthropic", "ollama"] = Field(
        default="openai",
        description="The protocol of that server when `extractor` is llm, and for `curate --ask`.",
    )
    llm_daily_tokens: int = Field(
        default=100_000,
        ge=0,
        le=1_000_000_000,
        description="Most tokens a day that reading memories may cost when `extractor` is llm; "
        "and as many for `curate --ask`.",
    )
    judge_model: str | None = Field(
        default=None, description="Another model there, which grades answers for `bench own`."
    )
    llm_key: SecretStr | None = Field(
        default=None, description="The key for that server, if it needs one; never shown."
    )

    # ---- background work

    extractor: Literal["rules", "spacy", "llm", "none"] = Field(
        default="rules",
        description="What extracts concepts from memories for the graph; none: nothing does.",
    )
    worker: Literal["auto", "off"] = Field(
        default="auto",
        description="Whether memories are embedded, and put into the graph, in the background "
        "as soon as they are stored.",
    )
    worker_idle_seconds: float = Field(
        default=60.0,
        ge=0,
        le=86_400,
        description="Seconds that the worker of the command line stays without work.",
    )

    # ---- secrets and their key

    detect_secrets: bool = Field(
        default=True,
        description="Look for secrets in new memories, and encrypt the memories that hold one.",
    )
    vault_key: SecretStr | None = Field(
        default=None,
        description="The key of sensitive memories, 32 bytes in base64, followed by older keys; "
        "never shown.",
    )
    vault_key_file: Path = Field(
        default_factory=lambda: _data_folder() / "vault.keys",
        description="The file with the key, unless another setting gives it; made at first use.",
    )
    vault_key_command: str | None = Field(
        default=None, description="A command that prints the key; it runs without a shell."
    )
    vault_url: str | None = Field(
        default=None,
        description="A secret of HashiCorp Vault (KV version 2) whose field `key` holds the key.",
    )
    vault_token: SecretStr | None = Field(
        default=None, description="The token for that Vault; never shown."
    )

    # ---- sync of a replica with its server

    sync_key: SecretStr | None = Field(
        default=None,
        description="The key for the server that memories are synced with, in place of the one "
        "that `sync connect` stored; never shown.",
    )
    sync_seconds: float = Field(
        default=30.0,
        ge=0,
        le=86_400,
        description="Seconds between syncs in the background; 0: only by `bearinmind sync`.",
    )
    sync_timeout: float = Field(
        default=30.0,
        ge=0.1,
        le=3_600,
        description="Most seconds that an answer of that server may take.",
    )

    # ---- curation

    curate: Literal["off", "inbox"] = Field(
        default="off",
        description="Whether new memories are reviewed in the background; inbox: what could be "
        "tidied up is proposed there.",
    )
    curate_hours: float = Field(
        default=24.0, ge=0.1, le=8_760, description="Hours between two reviews in the background."
    )
    curate_cosine: float = Field(
        default=0.9,
        ge=0.5,
        le=1,
        description="Similarity in meaning from which `curate` compares two memories.",
    )
    curate_temporary_days: int = Field(
        default=30,
        ge=1,
        le=36_500,
        description="After how many days `curate` asks about a memory that calls itself temporary.",
    )

    # ---- learning from turns, and what a chat model may cost for it

    learn: Literal["off", "inbox", "rules", "model"] = Field(
        default="inbox",
        description="What is learned from a turn: off: nothing; inbox: all of it is proposed; "
        "rules: what is sure is stored; model: as rules, and a chat model reads the turn too.",
    )
    learn_url: str | None = Field(
        default=None,
        description="The chat server that reads turns when `learn` is model, if not `llm_url`.",
    )
    learn_model: str | None = Field(
        default=None, description="The model there, if not `llm_model`."
    )
    learn_dialect: Literal["openai", "anthropic", "ollama"] = Field(
        default="openai", description="The protocol of the server of `learn_url`."
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

    # ---- server

    server_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        max_length=255,
        description="The address that the server listens on; a public one needs keys.",
    )
    server_port: int = Field(
        default=8_377, ge=0, le=65_535, description="The port of the server; 0: any free one."
    )
    server_url: str | None = Field(
        default=None, description="The public address of the server, unless it is where it listens."
    )
    server_hosts: tuple[_Name, ...] = Field(
        default=(), description="Further host names under which the server answers; `*`: any."
    )
    auth: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="Whether the server requires a key; auto: unless it listens on this machine "
        "only and its store has no users.",
    )
    key_per_minute: int | None = Field(
        default=None, ge=1, description="Most requests a minute of a key without its own limit."
    )
    key_failures_per_minute: int = Field(
        default=30, ge=1, description="Most requests a minute with an invalid key from one address."
    )
    session_hours: float = Field(
        default=12.0, ge=0.1, le=720, description="How long a browser stays signed in to the page."
    )
    reports: Path | None = Field(
        default=None,
        description="A folder of benchmark reports, which the page lists for administrators.",
    )
    request_bytes: int = Field(
        default=1_000_000,
        ge=1_000,
        le=1_000_000_000,
        description="Most bytes of a request, except for imports.",
    )
    request_seconds: float = Field(
        default=30.0,
        ge=0.01,
        le=3_600,
        description="Most seconds until a request has arrived, and until it is answered.",
    )
    server_threads: int = Field(
        default=8, ge=1, le=1_000, description="How many requests the server handles at once."
    )
    server_queue: int = Field(
        default=256,
        ge=0,
        le=100_000,
        description="How many more may wait; further ones are told to retry later.",
    )
    server_streams: int = Field(
        default=4, ge=1, le=1_000, description="How many imports and exports run at once."
    )
    shutdown_seconds: float = Field(
        default=30.0,
        ge=0,
        le=3_600,
        description="Most seconds that a stopping server waits for its connections to end.",
    )
    metrics_user: _Name | None = Field(
        default=None, description="A user whose key may read /metrics, beside administrators."
    )
    telemetry: bool = Field(
        default=False,
        description="Send traces of requests to the collector that the OTEL_ variables name.",
    )

    # ---- client of a server

    mcp_tools: Literal["default", "all"] = Field(
        default="default", description="Which tools agents are offered over MCP."
    )
    server: str | None = Field(
        default=None,
        description="Address of a server, for `bearinmind.connect()` and `bearinmind mcp`.",
    )
    server_key: SecretStr | None = Field(
        default=None, description="The key for that server; never shown."
    )

    # ---- providers of OpenID: what a server knows of them, and whom they may let in

    oauth_issuers: tuple[_Name, ...] = Field(
        default=(),
        description="OpenID providers whose tokens the server takes; people sign in at the first.",
    )
    oidc_client_id: _Name | None = Field(
        default=None, description="What the server is called there; without, nobody signs in."
    )
    oidc_client_secret: SecretStr | None = Field(
        default=None, description="Its secret there, if it has one; never shown."
    )
    oidc_scopes: tuple[_Name, ...] = Field(
        default=("openid", "email"), description="What the provider is asked about who signs in."
    )
    oidc_claim: Literal["email", "sub"] = Field(
        default="email",
        description="What names the user: a verified address, or the id at the provider.",
    )
    oidc_users: dict[str, _Name] = Field(
        default_factory=dict,
        description="By that claim, in lower case: the user, where they differ.",
    )
    oidc_domains: tuple[Annotated[_Name, StringConstraints(to_lower=True)], ...] = Field(
        default=(), description="Domains whose addresses alone are let in; none: any."
    )
    oidc_groups: tuple[_Name, ...] = Field(
        default=(), description="Groups whose members alone are let in; none: any."
    )
    oidc_groups_claim: _Name = Field(
        default="groups", description="The claim in which the provider names the groups."
    )
    oidc_create: bool = Field(
        default=False,
        description="Add who is new as a user; needs `oidc_domains` or `oidc_groups`, or `*`.",
    )
    oidc_access: Literal["read", "write"] = Field(
        default="write", description="Most access of who is let in by a provider."
    )
    oidc_admin_groups: tuple[_Name, ...] = Field(
        default=(), description="Groups whose members may have admin access."
    )
