"""Settings of what is done in the background."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bearinmind.settings.group import SettingsGroup


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
