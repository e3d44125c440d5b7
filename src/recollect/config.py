"""Settings: the only reader of the environment and of the configuration file.

A setting comes from, first match wins: the caller (a command-line option), the environment
(`RECOLLECT_` and its name in capitals), the configuration file, its default.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import platformdirs
from pydantic import (
    Field,
    SecretStr,
    ValidationError,
    field_serializer,
    field_validator,
    model_validator,
)

from recollect import embedded_text, errors
from recollect.embed import choose as embed
from recollect.recall.graph import Spread
from recollect.recall.lexical import LexicalWeights
from recollect.rerank import choose as rerank
from recollect.server_settings import ServerSettings
from recollect.store_name import StoreFile, StoreName, StoreServer, fingerprint, store_name
from recollect.types import Trust

PREFIX = "RECOLLECT_"
# A comma that stands in no bracket and no quote.
_COMMA = re.compile(r""",(?=(?:[^"'\[\]{}]|"[^"]*"|'[^']*'|\[[^\]]*\]|\{[^}]*\})*$)""")
#: Every leg that a recall can have.
LEGS = ("lexical", "dense", "graph")
#: Where each provider's key is usually kept.
PROVIDER_VARIABLES = {
    "openai": ("OPENAI_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "jina": ("JINA_API_KEY",),
}
#: Names the configuration file itself, so it cannot be a setting inside it.
FILE_VARIABLE = PREFIX + "CONFIG"
#: Names the store.
STORE_VARIABLE = PREFIX + "STORE"


def _default_store() -> StoreName:
    return StoreFile(Path(platformdirs.user_data_dir("recollect", appauthor=False)) / "memories.db")


def _default_key_file() -> Path:
    return Path(platformdirs.user_data_dir("recollect", appauthor=False)) / "vault.keys"


def default_file() -> Path:
    """Where the configuration file is looked for when nothing else is said."""
    return Path(platformdirs.user_config_dir("recollect", appauthor=False)) / "config.toml"


def cache_folder() -> Path:
    """Where things go that can be made again."""
    return Path(platformdirs.user_cache_dir("recollect", appauthor=False))


def state_folder() -> Path:
    """Where things go that belong to this machine: who works on a store, and what was asked."""
    return Path(platformdirs.user_state_dir("recollect", appauthor=False))


class Settings(ServerSettings):
    """Everything that can be configured."""

    store: StoreName = Field(
        default_factory=_default_store,
        description="Where the memories are: a file, a Postgres server, or `postgres`, which is "
        "one that Recollect looks after; a password is never shown.",
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
    leg_weights: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="By leg: how much its ranking counts, 1 when not named; 0 turns it off.",
    )
    lexical: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
        default_factory=dict, description="By name: weights of the lexical leg to change."
    )
    graph: dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]] = Field(
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
    decay_days: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="By category: after how many days a score has faded to 1/e.",
    )
    trust_factors: dict[Trust, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="By trust class: what a score is multiplied with.",
    )
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
    least_confidence: float = Field(
        default=0.0, ge=0, le=1, description="Recall gives back nothing less certain than this."
    )
    near_duplicates: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of common words from which one memory speaks for two; 0: only the same.",
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
    capture_queries: bool = Field(
        default=False,
        description="Keep what is asked in a private file beside the store, to measure recall on.",
    )
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
    server: str | None = Field(
        default=None,
        description="Where a Recollect server is, for `recollect.connect()` and `recollect mcp`.",
    )
    server_key: SecretStr | None = Field(
        default=None, description="The bearer key for that server; never shown."
    )

    @property
    def beside(self) -> Path:
        """Beside this lies what belongs to the store on this machine, under the same name.

        For a store that is no file, nothing is at the place itself.
        """
        if isinstance(self.store, StoreFile):
            return self.store.path
        return state_folder() / "stores" / fingerprint(self.store)

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

    @field_validator("embedded_text")
    @classmethod
    def _recipe_is_known(cls, recipe: str) -> str:
        embedded_text.parts(recipe)
        return recipe

    @field_validator("embedder")
    @classmethod
    def _embedder_has_a_known_form(cls, text: str) -> str:
        return embed.checked(text)

    @field_validator("reranker")
    @classmethod
    def _reranker_has_a_known_form(cls, text: str) -> str:
        return rerank.checked(text)

    @model_validator(mode="after")
    def _tables_name_known_things(self) -> Self:
        for table, known, thing in (
            ("decay_days", self.categories, "a category"),
            ("leg_weights", LEGS, "a leg"),
            ("provider_keys", PROVIDER_VARIABLES, "a provider"),
            ("lexical", [field.name for field in fields(LexicalWeights)], "a lexical weight"),
            ("graph", [field.name for field in fields(Spread)], "a weight of the graph leg"),
        ):
            unknown = {*getattr(self, table)} - {*known}
            if unknown:
                named = ", ".join(sorted(unknown))
                raise ValueError(f"{table} names {named}, not {thing} ({', '.join(known)})")
        # The graph leg goes on from what the others found, and finds little by itself.
        legs = ["lexical", *(["dense"] if self.embedder != "none" else ())]
        if not any(self.leg_weights.get(leg, 1.0) for leg in legs):
            named = " and ".join(legs)
            raise ValueError(f"leg_weights turns every leg off that finds by itself ({named})")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """A setting with its value and where the value came from."""

    name: str
    value: Any
    origin: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Settings that know where each of them came from."""

    settings: Settings
    origins: tuple[Origin, ...]
    file: Path  #: where the configuration file was looked for
    unknown: tuple[str, ...]  #: variables that look like settings and are none

    @classmethod
    def load(
        cls,
        overrides: Mapping[str, Any] | None = None,
        *,
        environment: Mapping[str, str] = os.environ,
        file: Path | None = None,
    ) -> Self:
        """Gather the settings from all sources.

        Raises:
            InvalidSetting: a value is not allowed, a name is unknown or the file cannot be read.
        """
        path = file or (Path(environment[FILE_VARIABLE]) if FILE_VARIABLE in environment else None)
        sources: list[tuple[str, Mapping[str, Any]]] = [
            ("option", {k: v for k, v in (overrides or {}).items() if v is not None}),
            ("environment", _from_environment(environment)),
            (f"file {path or default_file()}", _from_file(path)),
        ]
        values: dict[str, Any] = {}
        origin_of: dict[str, str] = {}
        for origin, source in sources:
            for name, value in source.items():
                if name not in values:
                    values[name] = value
                    origin_of[name] = origin
        if named := _provider_keys(environment):
            values["provider_keys"] = {**named, **values.get("provider_keys", {})}
            origin_of.setdefault("provider_keys", "environment")
        settings = checked(values, origin_of)
        return cls(
            settings=settings,
            file=path or default_file(),
            unknown=_unknown_variables(environment),
            origins=tuple(
                Origin(
                    name=name,
                    value=getattr(settings, name),
                    origin=origin_of.get(name, "default"),
                    description=info.description or "",
                )
                for name, info in Settings.model_fields.items()
            ),
        )


def checked(values: Mapping[str, Any], origin_of: Mapping[str, str] | None = None) -> Settings:
    """Settings from these values and no other source; what is not given has its default.

    Raises:
        InvalidSetting: a value is not allowed or a name is unknown.
    """
    try:
        return Settings.model_validate(values)
    except ValidationError as exc:
        raise _invalid(exc, origin_of or dict.fromkeys(values, "option")) from exc


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Settings from variables; a list is separated by commas, a table is written in TOML."""
    found: dict[str, Any] = {}
    for name, info in Settings.model_fields.items():
        text = environment.get(PREFIX + name.upper())
        if text is None:
            continue
        if "tuple" in str(info.annotation):
            found[name] = [part.strip() for part in text.split(",") if part.strip()]
        elif "dict" in str(info.annotation):
            found[name] = _toml(f"value = {text}", PREFIX + name.upper())["value"]
        else:
            found[name] = text
    return found


def _provider_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Keys from the variables in which everybody keeps them."""
    found = {
        provider: next(filter(None, map(environment.get, variables)), None)
        for provider, variables in PROVIDER_VARIABLES.items()
    }
    return {provider: key for provider, key in found.items() if key}


def assignments(texts: Iterable[str]) -> dict[str, Any]:
    """Settings from texts such as `pool=100` or, for one entry of a table, `lexical.b=0.3`.

    Raises:
        InvalidSetting: a text is no assignment.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise errors.InvalidSetting(
                f"{text!r} sets nothing", hint="Write NAME=VALUE, such as pool=100."
            )
        table, dot, key = name.strip().partition(".")
        if dot:
            entries = found.get(table)
            found[table] = {**entries} if isinstance(entries, dict) else {}
            found[table][key] = _value(value.strip())
        else:
            found[table] = _value(value.strip())
    return found


def separated(text: str) -> list[str]:
    """The parts between commas; a comma in brackets or quotes belongs to its part."""
    return [part for piece in _COMMA.split(text) if (part := piece.strip())]


def _value(text: str) -> Any:  # noqa: ANN401  as TOML has it
    """A value as TOML would read it; anything else is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    known = {FILE_VARIABLE, *(PREFIX + name.upper() for name in Settings.model_fields)}
    return tuple(sorted(n for n in environment if n.startswith(PREFIX) and n not in known))


def _from_file(path: Path | None) -> dict[str, Any]:
    """Settings from the configuration file; the default one need not exist."""
    try:
        text = (path or default_file()).read_text(encoding="utf-8")
    except FileNotFoundError:
        if path is None:
            return {}
        raise errors.InvalidSetting(f"there is no configuration file {str(path)!r}") from None
    except (OSError, UnicodeDecodeError) as exc:
        raise errors.InvalidSetting(
            f"{str(path or default_file())!r} cannot be read: {exc}"
        ) from exc
    return _toml(text, str(path or default_file()))


def _toml(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as exc:
        raise errors.InvalidSetting(f"{where} is not valid TOML: {exc}") from exc


def _invalid(exc: ValidationError, origin_of: Mapping[str, str]) -> errors.InvalidSetting:
    problem = exc.errors()[0]
    told = problem["msg"].removeprefix("Value error, ")
    if not problem["loc"]:  # two settings that do not go together
        return errors.InvalidSetting(told)
    name = str(problem["loc"][0])
    origin = origin_of.get(name, "default")
    if problem["type"] == "extra_forbidden":
        return errors.InvalidSetting(f"there is no setting {name!r} (from {origin})")
    return errors.InvalidSetting(
        f"{name} = {_shown(name, problem['input'])} (from {origin}) is not allowed: {told}"
    )


def _shown(name: str, value: object) -> str:
    """A value as an error quotes it; of a secret only that it is one."""
    field = Settings.model_fields.get(name)
    return "(not shown)" if field and "SecretStr" in str(field.annotation) else repr(value)
