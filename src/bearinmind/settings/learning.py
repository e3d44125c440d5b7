"""Settings of learning from the turns of an agent."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from bearinmind.settings.group import SettingsGroup


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
