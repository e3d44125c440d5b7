"""Settings of learning from the turns of an agent."""

from __future__ import annotations

from recollect.settings.group import SettingsGroup


class LearningSettings(SettingsGroup):
    """What is learned from a turn."""
