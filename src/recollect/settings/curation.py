"""Settings of curation."""

from __future__ import annotations

from recollect.settings.group import SettingsGroup


class CurationSettings(SettingsGroup):
    """What curation may do, and when."""
