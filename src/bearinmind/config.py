"""Settings: the only reader of the environment and of the configuration file.

A setting comes from, first match wins: the caller (a command-line option), the environment
(`BEARINMIND_` and its name in capitals), the configuration file, its default.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import platformdirs
from pydantic import (
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_serializer,
    field_validator,
    model_validator,
)

from bearinmind import errors
from bearinmind.errors.flaws import allowed, shortened
from bearinmind.models.factory import EMBEDDER_FORMS, RERANKER_FORMS
from bearinmind.recall.graph_leg import Spread
from bearinmind.recall.lexical import LexicalWeights
from bearinmind.settings import SettingFields
from bearinmind.text import embedded_text
from bearinmind.text.addresses import (
    EMBEDDED,
    EmbeddedStore,
    StoreFile,
    StoreName,
    StoreServer,
    address_of,
    fingerprint,
    is_safe,
)

PREFIX = "BEARINMIND_"
#: Names the configuration file itself, so it cannot be a setting inside it.
FILE_VARIABLE = PREFIX + "CONFIG"
#: Names the store.
STORE_VARIABLE = PREFIX + "STORE"
#: Every leg that a recall can have.
LEGS = ("lexical", "dense", "graph")
#: The usual variables for the key of each provider.
PROVIDER_VARIABLES = {
    "openai": ("OPENAI_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "jina": ("JINA_API_KEY",),
}


def default_file() -> Path:
    """The usual place of the configuration file."""
    return Path(platformdirs.user_config_dir("bearinmind", appauthor=False)) / "config.toml"


def cache_folder() -> Path:
    """The folder for files that can be made again."""
    return Path(platformdirs.user_cache_dir("bearinmind", appauthor=False))


def state_folder() -> Path:
    """The folder for files that belong to this machine, such as the lock of a worker."""
    return Path(platformdirs.user_state_dir("bearinmind", appauthor=False))


def agent_folder(variable: str, name: str) -> Path:
    """The folder of an agent's settings: the one that its variable names, or one at home."""
    named = os.environ.get(variable)
    return Path(named).absolute() if named else Path.home() / name


def process_environment(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment of this process with these variables, for one that it starts."""
    return {**os.environ, **variables}


class Settings(SettingFields):
    """Everything that can be configured."""

    @property
    def beside(self) -> Path:
        """The path beside which this machine keeps its files about the store.

        For a store that is a file, it is that file. For any other, nothing lies at the path itself.
        """
        if isinstance(self.store, StoreFile):
            return self.store.path
        return state_folder() / "stores" / fingerprint(self.store)

    @field_validator("store", mode="plain")
    @classmethod
    def _store_is_named(cls, value: object) -> StoreName:
        return store_name(value)

    @field_validator("replica", mode="plain")
    @classmethod
    def _replica_is_a_server(cls, value: object) -> StoreServer | None:
        if value is None or isinstance(value, StoreServer):
            return value
        return StoreServer.at(str(value))

    @field_serializer("store", "replica")
    def _without_password(self, name: StoreName | None) -> str | None:
        return None if name is None else str(name)

    @model_validator(mode="after")
    def _weights_are_of_known_things(self) -> Self:
        _must_name("leg_weights", self.leg_weights, LEGS, "a leg")
        for setting, names, weights, thing in (
            ("lexical", self.lexical, LexicalWeights, "a lexical weight"),
            ("graph", self.graph, Spread, "a weight of the graph leg"),
        ):
            _must_name(setting, names, (field.name for field in fields(weights)), thing)
        return self

    @field_validator("embedder", "reranker")
    @classmethod
    def _model_has_a_form(cls, text: str, info: ValidationInfo) -> str:
        forms = EMBEDDER_FORMS if info.field_name == "embedder" else RERANKER_FORMS
        kind, colon, name = text.partition(":")
        same_kind = [form for form in forms if form.partition(":")[0] == kind]
        nameless = bool(colon) and not name.strip() and kind != "http"  # whose server may have one
        if not any(bool(colon) is (":" in form) for form in same_kind) or nameless:
            raise ValueError(f"it is one of {', '.join(forms)}")
        return text

    @field_validator("embedded_text")
    @classmethod
    def _recipe_is_known(cls, recipe: str) -> str:
        embedded_text.parts(recipe)
        return recipe

    @field_validator("provider_keys")
    @classmethod
    def _providers_are_known(cls, keys: dict[str, SecretStr]) -> dict[str, SecretStr]:
        _must_name("provider_keys", keys, PROVIDER_VARIABLES, "a provider")
        return keys

    @field_validator("server_url")
    @classmethod
    def _url_is_an_address(cls, url: str | None) -> str | None:
        if url is not None:
            address_of(url, "server")
        return url

    @model_validator(mode="after")
    def _providers_are_used_safely(self) -> Self:
        for issuer in self.oauth_issuers:
            if not is_safe(issuer) or not {"?", "#"}.isdisjoint(issuer):
                raise ValueError(f"oauth_issuers names {issuer!r}, which is no https address")
        if self.oidc_client_id and not self.oauth_issuers:
            raise ValueError("oidc_client_id is set, and oauth_issuers names no provider")
        if self.oidc_claim == "sub" and len(self.oauth_issuers) > 1:
            raise ValueError("oidc_claim = 'sub' needs one provider: two may give the same id")
        if self.oidc_create and not (self.oidc_domains or self.oidc_groups):
            raise ValueError("oidc_create needs oidc_domains or oidc_groups; `*` is any")
        return self

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        _must_name("decay_days", self.decay_days, self.categories, "a category")
        # The graph leg starts from the results of the others, and finds little by itself.
        legs = ["lexical", *(["dense"] if self.embedder != "none" else ())]
        if not any(self.leg_weights.get(leg, 1.0) for leg in legs):
            names = " and ".join(legs)
            raise ValueError(f"leg_weights turns every leg off that searches by itself ({names})")
        return self


def _must_name(setting: str, names: Iterable[str], known: Iterable[str], thing: str) -> None:
    """Check the names in a table."""
    allowed = [*known]
    if unknown := ", ".join(sorted({*names} - {*allowed})):
        raise ValueError(f"{setting} names {unknown}, not {thing} ({', '.join(allowed)})")


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
    file: Path  #: the configuration file, whether it exists or not
    unknown: tuple[str, ...]  #: variables that look like settings and are not

    @classmethod
    def load(
        cls,
        overrides: Mapping[str, Any] | None = None,
        *,
        environment: Mapping[str, str] = os.environ,
        file: Path | None = None,
    ) -> Self:
        """Gather the settings from all sources."""
        path = file or (Path(environment[FILE_VARIABLE]) if FILE_VARIABLE in environment else None)
        sources: list[tuple[str, Mapping[str, Any]]] = [
            ("option", {k: v for k, v in (overrides or {}).items() if v is not None}),
            ("environment", _from_environment(environment)),
            (f"file {path or default_file()}", _from_file(path)),
        ]
        values: dict[str, Any] = {}
        origin_of: dict[str, str] = {}
        for origin, source in reversed(sources):
            values |= source
            origin_of |= dict.fromkeys(source, origin)
        if keys := _provider_keys(environment):
            values["provider_keys"] = {**keys, **values.get("provider_keys", {})}
            origin_of.setdefault("provider_keys", "environment")
        settings = checked(values, origin_of)
        known = {FILE_VARIABLE, *(PREFIX + name.upper() for name in Settings.model_fields)}
        return cls(
            settings=settings,
            file=path or default_file(),
            unknown=tuple(
                sorted(x for x in environment if x.startswith(PREFIX) and x not in known)
            ),
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
    """Settings from these values and no other source; the others have their defaults."""
    try:
        return Settings.model_validate(values)
    except ValidationError as exc:
        raise _invalid(exc, origin_of or dict.fromkeys(values, "option")) from exc


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """Settings from variables; a list is separated by commas, a table is written in TOML."""
    values: dict[str, Any] = {}
    for name, info in Settings.model_fields.items():
        text = environment.get(PREFIX + name.upper())
        if text is None:
            continue
        if "tuple" in str(info.annotation):
            values[name] = [part.strip() for part in text.split(",") if part.strip()]
        elif "dict" in str(info.annotation):
            values[name] = _toml(f"value = {text}", PREFIX + name.upper())["value"]
        else:
            values[name] = text
    return values


def _provider_keys(environment: Mapping[str, str]) -> dict[str, str]:
    """Keys from the usual variables of the providers."""
    keys = {
        provider: next(filter(None, map(environment.get, variables)), None)
        for provider, variables in PROVIDER_VARIABLES.items()
    }
    return {provider: key for provider, key in keys.items() if key}


def with_setting(file: Path, name: str, text: str) -> str:
    """The text of a configuration file with one setting changed; the settings must be allowed."""
    import tomlkit  # noqa: PLC0415  only a change of the file needs it

    before = file.read_text(encoding="utf-8") if file.exists() else ""
    _toml(before, str(file))
    document = tomlkit.parse(before)
    table, dot, key = name.strip().partition(".")
    info = Settings.model_fields.get(table)
    value = value_in(text.strip())
    if info and "tuple" in str(info.annotation) and not isinstance(value, list):
        value = [part.strip() for part in text.split(",") if part.strip()]
    if dot:
        document.setdefault(table, tomlkit.inline_table())[key] = value
    else:
        document[table] = value
    changed = tomlkit.dumps(document)
    origins = dict.fromkeys(Settings.model_fields, f"file {file}") | {table: "the command"}
    checked(tomllib.loads(changed), origins)
    return changed


def value_in(text: str) -> Any:  # noqa: ANN401  as TOML has it
    """A value as TOML would read it; anything else is a text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


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
    message = allowed(problem)
    if not problem["loc"]:  # two settings that do not go together
        return errors.InvalidSetting(message)
    name = str(problem["loc"][0])
    origin = origin_of.get(name, "default")
    if problem["type"] == "extra_forbidden":
        return errors.InvalidSetting(f"there is no setting {name!r} (from {origin})")
    return errors.InvalidSetting(
        f"{'.'.join(map(str, problem['loc']))} = {_shown(name, problem['input'])} (from {origin}) "
        f"is not allowed: {message}"
    )


def _shown(name: str, value: object) -> str:
    """A value as an error quotes it; a secret is not shown."""
    field = Settings.model_fields.get(name)
    return "(not shown)" if field and "SecretStr" in str(field.annotation) else shortened(value)


# ---- the name of a store -------------------------------------------------------------------------

_STORE_HINT = (
    "Give the path of a file, the URL of a Postgres server such as "
    "postgresql://user@host:5432/database, or `postgres` for a server that is run for you."
)
_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_CONNECTION_STRING = re.compile(r"(host|hostaddr|dbname|user|port|service|password)\s*=")


def store_name(value: object) -> StoreName:
    """The store that a text names; a `Path` is always a file. Raises `InvalidSetting`."""
    match value:
        case StoreFile() | StoreServer() | EmbeddedStore():
            return value
        case Path():
            return StoreFile(_expanded(value))
        case str():
            return _named(value)
    raise errors.InvalidSetting(f"{value!r} names no store", hint=_STORE_HINT)


def _named(text: str) -> StoreName:
    if not text.strip():
        raise errors.InvalidSetting("the name of the store is empty", hint=_STORE_HINT)
    if text.startswith(("postgres://", "postgresql://")):
        return StoreServer.at(text)
    if text == EMBEDDED:
        return EmbeddedStore(None)
    kind, colon, folder = text.partition(":")
    if colon and kind == EMBEDDED:
        if not folder:
            raise errors.InvalidSetting(f"{text!r} names no folder", hint=_STORE_HINT)
        return EmbeddedStore(_expanded(Path(folder)))
    scheme = _OTHER_SCHEME.match(text)
    if scheme:
        raise errors.InvalidSetting(f"there is no kind of store {scheme[0]!r}", hint=_STORE_HINT)
    if kind == "postgresql" or _CONNECTION_STRING.match(text):
        raise errors.InvalidSetting("a Postgres server is named by its URL", hint=_STORE_HINT)
    return StoreFile(_expanded(Path(text)))


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as exc:
        raise errors.InvalidSetting(f"{str(path)!r}: {exc}") from exc
