"""Settings of curation."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bearinmind.settings.group import SettingsGroup


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
