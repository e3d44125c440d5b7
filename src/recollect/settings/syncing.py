"""Settings of syncing with a server."""

from __future__ import annotations

from recollect.settings.group import SettingsGroup


class SyncSettings(SettingsGroup):
    """How a replica keeps up with its server."""
