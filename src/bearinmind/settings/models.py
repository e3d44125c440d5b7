"""Settings of the models: what embeds, what reranks, and what reads and writes texts."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr, field_validator

from bearinmind import embedded_text
from bearinmind.embed import choose as embed
from bearinmind.rerank import choose as rerank
from bearinmind.settings.group import SettingsGroup, must_name

#: Where each provider's key is usually kept.
PROVIDER_VARIABLES = {
    "openai": ("OPENAI_API_KEY",),
    "voyage": ("VOYAGE_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "jina": ("JINA_API_KEY",),
}


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
