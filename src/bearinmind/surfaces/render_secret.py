"""The vault and its audit as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from bearinmind.protocols import AuditEntry
from bearinmind.surfaces.render import BAD, ID, QUIET, data, grid, minute
from bearinmind.vault.status import VaultStatus


def audit(entries: Sequence[AuditEntry]) -> RenderableType:
    """Who asked for secrets."""
    table = grid("-", "-", "-", "")
    for entry in entries:
        version = f" v{entry.version}" if entry.version else ""
        table.add_row(
            Text(minute(entry.at), QUIET),
            Text(entry.action),
            Text(entry.id or "", ID).append(version, QUIET),
            data(entry.agent or ""),
        )
    return table


def status(value: VaultStatus) -> RenderableType:
    """Where the key is, and what it opens."""
    table = grid("-", "")
    table.add_row(Text("key", QUIET), data(value.where))
    if value.problem:
        table.add_row(Text("problem", BAD), data(value.problem))
    for place, key_id in enumerate(value.key_ids):
        table.add_row(Text("" if place else "ids", QUIET), data(key_id, QUIET if place else ""))
    if not value.key_ids and not value.problem:
        table.add_row(Text("ids", QUIET), data("none yet: it is made when first needed"))
    table.add_row(Text("secrets", QUIET), data(f"{value.secrets:,}"))
    if value.unreadable:
        table.add_row(Text("unreadable", BAD), data(f"{value.unreadable:,}: their key is not here"))
    return table
