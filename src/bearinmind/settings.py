"""Every setting with its type, its limits, its default and its description."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

from bearinmind.text import embedded_text
from bearinmind.text.addresses import StoreFile, StoreName, StoreServer
from bearinmind.types import Trust

_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_AboveZero = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Name = Annotated[str, Field(min_length=1, max_length=300)]
_data_folder = partial(platformdirs.user_data_path, "bearinmind", appauthor=False)


def _number(default: float | None, least: float, most: float, description: str) -> Any:  # noqa: ANN401
    """A setting that is a number from `least` to `most`."""
    return Field(default=default, ge=least, le=most, description=description)


def _setting(default: object, description: str) -> Any:  # noqa: ANN401
    """A setting without bounds."""
    return Field(default=default, description=description)


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
    content_limit: int = _number(1_400, 1, 1_000_000, "Most characters of a memory.")
    categories: tuple[Annotated[str, Field(min_length=1, max_length=64)], ...] = Field(
        default=("facts", "preferences", "projects", "people", "decisions"),
        min_length=1,
        description="The categories that a memory may have; the first one is the default.",
    )
    busy_timeout: float = _number(60.0, 0, 3_600, "Seconds to wait for other writers of the store.")
    store_connections: int = _number(
        16, 1, 1_000, "Most connections of a process to a Postgres server."
    )
    replica: StoreServer | None = _setting(
        None, "A standby server that answers recalls in its place."
    )
    replica_staleness: float = _number(
        5.0, 0, 3_600, "Most seconds that the replica may be behind."
    )

    # ---- recall

    limit: int = _number(10, 1, 1_000, "Most memories of one recall.")
    pool: int = _number(50, 1, 10_000, "How many candidates each leg of a recall finds.")
    budget_bytes: int | None = Field(
        default=None, ge=0, description="Most bytes of memories in one answer."
    )
    fusion: Literal["calibrated", "convex", "rrf"] = _setting(
        "calibrated", "How the rankings of the legs are combined."
    )
    rrf_k: int = _number(60, 1, 10_000, "What `rrf` fusion adds to every rank.")
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
    importance_weight: float = _number(0.3, 0, 1, "How much importance counts in the ranking.")
    exact_bonus: float = _number(0.0, 0, 10, "Added when a memory holds the query word for word.")
    focus_bonus: float = _number(0.2, 0, 10, "Added for tags and categories in focus.")
    time_bonus: float = _number(2.0, 0, 10, "Added for memories of the time a question names.")
    decay_days: dict[str, _AboveZero] = Field(
        default_factory=dict,
        description="By category: after how many days a score has faded to 1/e.",
    )
    trust_factors: dict[Trust, _AboveZero] = Field(
        default_factory=dict, description="By trust class: the factor of a score."
    )
    near_duplicates: float = _number(
        0.0, 0, 1, "Share of common words from which two memories count as one; 0: only equal."
    )
    second_look: Literal["on", "off"] = _setting(
        "on", "Whether a model reads the first hits; off is faster, and worse."
    )
    capture_queries: bool = _setting(
        False, "Keep queries in a private file beside the store, to measure recall with them."
    )

    # ---- embedder

    embedder: str = _setting("local", "What turns texts into vectors; none: recall by words alone.")
    embedded_text: str = _setting(
        embedded_text.DEFAULT,
        "What is embedded of a memory: its content, and what is put before it.",
    )
    embedder_url: str | None = _setting(
        None, "Address of the embedder, unless it is its provider's own server."
    )
    embedder_key: SecretStr | None = _setting(
        None, "The key for the embedder, if it needs one; never shown."
    )
    embedder_dimensions: int | None = _number(
        None, 1, 65_536, "Length of vectors, if a model offers several."
    )
    embedder_timeout: float = _number(
        10.0, 0.1, 600, "Most seconds to embed a query by HTTP; a batch gets six times as long."
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

    reranker: str = _setting("none", "What reads the best memories again and reorders them.")
    reranker_url: str | None = _setting(
        None, "Address of the reranker, unless it is its provider's own server."
    )
    reranker_key: SecretStr | None = _setting(
        None, "The key for the reranker, if it needs one; never shown."
    )
    rerank_depth: int = _number(20, 2, 100, "How many of the best memories are reranked.")
    rerank_seconds: float = _number(
        1.0, 0.01, 600, "Most seconds that a recall waits for the reranker."
    )
    rerank_weight: float = _number(1.0, 0, 1, "How much the reranker counts; 1: only its order.")

    # ---- chat model, and what it may cost

    llm_url: str | None = _setting(
        None, "An OpenAI-compatible server, such as http://localhost:11434/v1."
    )
    llm_model: str | None = _setting(
        None,
        "The model there that writes questions for `bench own`, reads memories when "
        "`extractor` is llm, compares them for `curate --ask`, and reranks when `reranker` is llm.",
    )
    llm_dialect: Literal["openai", "anthropic", "ollama"] = _setting(
        "openai", "The protocol of that server when `extractor` is llm, and for `curate --ask`."
    )
    llm_daily_tokens: int = _number(
        100_000,
        0,
        1_000_000_000,
        "Most tokens a day that reading memories may cost when `extractor` is llm; "
        "and as many for `curate --ask`.",
    )
    judge_model: str | None = _setting(
        None, "Another model there, which grades answers for `bench own`."
    )
    llm_key: SecretStr | None = _setting(
        None, "The key for that server, if it needs one; never shown."
    )

    # ---- background work

    extractor: Literal["rules", "spacy", "llm", "none"] = _setting(
        "rules", "What extracts concepts from memories for the graph; none: nothing does."
    )
    worker: Literal["auto", "off"] = _setting(
        "auto",
        "Whether memories are embedded, and put into the graph, in the background "
        "as soon as they are stored.",
    )
    worker_idle_seconds: float = _number(
        60.0, 0, 86_400, "Seconds that the worker of the command line stays without work."
    )

    # ---- secrets and their key

    detect_secrets: bool = _setting(
        True, "Look for secrets in new memories, and encrypt the memories that hold one."
    )
    vault_key: SecretStr | None = _setting(
        None,
        "The key of sensitive memories, 32 bytes in base64, followed by older keys; never shown.",
    )
    vault_key_file: Path = Field(
        default_factory=lambda: _data_folder() / "vault.keys",
        description="The file with the key, unless another setting gives it; made at first use.",
    )
    vault_key_command: str | None = _setting(
        None, "A command that prints the key; it runs without a shell."
    )
    vault_url: str | None = _setting(
        None, "A secret of HashiCorp Vault (KV version 2) whose field `key` holds the key."
    )
    vault_token: SecretStr | None = _setting(None, "The token for that Vault; never shown.")

    # ---- sync of a replica with its server

    sync_key: SecretStr | None = _setting(
        None,
        "The key for the server that memories are synced with, in place of the one "
        "that `sync connect` stored; never shown.",
    )
    sync_seconds: float = _number(
        30.0, 0, 86_400, "Seconds between syncs in the background; 0: only by `bearinmind sync`."
    )
    sync_timeout: float = _number(
        30.0, 0.1, 3_600, "Most seconds that an answer of that server may take."
    )

    # ---- curation

    curate: Literal["off", "inbox"] = _setting(
        "off",
        "Whether new memories are reviewed in the background; inbox: what could be "
        "tidied up is proposed there.",
    )
    curate_hours: float = _number(24.0, 0.1, 8_760, "Hours between two reviews in the background.")
    curate_cosine: float = _number(
        0.9, 0.5, 1, "Similarity in meaning from which `curate` compares two memories."
    )
    curate_temporary_days: int = _number(
        30,
        1,
        36_500,
        "After how many days `curate` asks about a memory that calls itself temporary.",
    )

    # ---- learning from turns, and what a chat model may cost for it

    learn: Literal["off", "inbox", "rules", "model"] = _setting(
        "inbox",
        "What is learned from a turn: off: nothing; inbox: all of it is proposed; "
        "rules: what is sure is stored; model: as rules, and a chat model reads the turn too.",
    )
    learn_url: str | None = _setting(
        None, "The chat server that reads turns when `learn` is model, if not `llm_url`."
    )
    learn_model: str | None = _setting(None, "The model there, if not `llm_model`.")
    learn_dialect: Literal["openai", "anthropic", "ollama"] = _setting(
        "openai", "The protocol of the server of `learn_url`."
    )
    learn_key: SecretStr | None = _setting(
        None, "The key for the server of `learn_url`; never shown."
    )
    learn_daily_tokens: int = _number(
        50_000,
        0,
        1_000_000_000,
        "Most tokens a day that reading turns may cost when `learn` is model.",
    )

    # ---- server

    server_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        max_length=255,
        description="The address that the server listens on; a public one needs keys.",
    )
    server_port: int = _number(8_377, 0, 65_535, "The port of the server; 0: any free one.")
    server_url: str | None = _setting(
        None, "The public address of the server, unless it is where it listens."
    )
    server_hosts: tuple[_Name, ...] = _setting(
        (), "Further host names under which the server answers; `*`: any."
    )
    auth: Literal["auto", "on", "off"] = _setting(
        "auto",
        "Whether the server requires a key; auto: unless it listens on this machine "
        "only and its store has no users.",
    )
    key_per_minute: int | None = Field(
        default=None, ge=1, description="Most requests a minute of a key without its own limit."
    )
    key_failures_per_minute: int = Field(
        default=30, ge=1, description="Most requests a minute with an invalid key from one address."
    )
    session_hours: float = _number(
        12.0, 0.1, 720, "How long a browser stays signed in to the page."
    )
    reports: Path | None = _setting(
        None, "A folder of benchmark reports, which the page lists for administrators."
    )
    request_bytes: int = _number(
        1_000_000, 1_000, 1_000_000_000, "Most bytes of a request, except for imports."
    )
    request_seconds: float = _number(
        30.0, 0.01, 3_600, "Most seconds until a request has arrived, and until it is answered."
    )
    server_threads: int = _number(8, 1, 1_000, "How many requests the server handles at once.")
    server_queue: int = _number(
        256, 0, 100_000, "How many more may wait; further ones are told to retry later."
    )
    server_streams: int = _number(4, 1, 1_000, "How many imports and exports run at once.")
    shutdown_seconds: float = _number(
        30.0, 0, 3_600, "Most seconds that a stopping server waits for its connections to end."
    )
    metrics_user: _Name | None = _setting(
        None, "A user whose key may read /metrics, beside administrators."
    )
    telemetry: bool = _setting(
        False, "Send traces of requests to the collector that the OTEL_ variables name."
    )

    # ---- client of a server

    mcp_tools: Literal["default", "all"] = _setting(
        "default", "Which tools agents are offered over MCP."
    )
    server: str | None = _setting(
        None, "Address of a server, for `bearinmind.connect()` and `bearinmind mcp`."
    )
    server_key: SecretStr | None = _setting(None, "The key for that server; never shown.")

    # ---- providers of OpenID: what a server knows of them, and whom they may let in

    oauth_issuers: tuple[_Name, ...] = _setting(
        (), "OpenID providers whose tokens the server takes; people sign in at the first."
    )
    oidc_client_id: _Name | None = _setting(
        None, "What the server is called there; without, nobody signs in."
    )
    oidc_client_secret: SecretStr | None = _setting(
        None, "Its secret there, if it has one; never shown."
    )
    oidc_scopes: tuple[_Name, ...] = _setting(
        ("openid", "email"), "What the provider is asked about who signs in."
    )
    oidc_claim: Literal["email", "sub"] = _setting(
        "email", "What names the user: a verified address, or the id at the provider."
    )
    oidc_users: dict[str, _Name] = Field(
        default_factory=dict,
        description="By that claim, in lower case: the user, where they differ.",
    )
    oidc_domains: tuple[Annotated[_Name, StringConstraints(to_lower=True)], ...] = _setting(
        (), "Domains whose addresses alone are let in; none: any."
    )
    oidc_groups: tuple[_Name, ...] = _setting(
        (), "Groups whose members alone are let in; none: any."
    )
    oidc_groups_claim: _Name = _setting(
        "groups", "The claim in which the provider names the groups."
    )
    oidc_create: bool = _setting(
        False, "Add who is new as a user; needs `oidc_domains` or `oidc_groups`, or `*`."
    )
    oidc_access: Literal["read", "write"] = _setting(
        "write", "Most access of who is let in by a provider."
    )
    oidc_admin_groups: tuple[_Name, ...] = _setting(
        (), "Groups whose members may have admin access."
    )
