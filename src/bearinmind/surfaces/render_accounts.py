"""Users, keys and the audit as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rich.console import RenderableType
from rich.text import Text

from bearinmind.protocols import AuditEntry, User
from bearinmind.surfaces.render import BAD, ID, NOTICE, QUIET, data, day, grid, minute, parts
from bearinmind.types import Key


def users(values: Sequence[User]) -> RenderableType:
    """Everybody, a line each."""
    table = grid("-", "-", "")
    for value in values:
        disabled = f"disabled {minute(value.disabled_at)}" if value.disabled_at else ""
        table.add_row(
            data(value.name, ID), Text(f"since {day(value.created_at)}", QUIET), Text(disabled, BAD)
        )
    return table


def keys(values: Sequence[Key], now: datetime) -> RenderableType:
    """Keys, a line each."""
    table = grid("-", "-", "-", "-", "")
    for value in values:
        table.add_row(
            data(value.id, ID),
            data(value.user),
            Text(value.access),
            _end(value, now),
            parts(*_terms(value)),
        )
    return table


def audit(entries: Sequence[AuditEntry]) -> RenderableType:
    """What was done, a line each."""
    table = grid("-", "-", "-", "")
    for entry in entries:
        version = f" v{entry.version}" if entry.version else ""
        about = f"{entry.id or ''}{version}" or entry.detail or ""
        by = f"by {entry.agent}" if entry.agent else ""
        key = f"with key {entry.key}" if entry.key else ""
        table.add_row(
            Text(minute(entry.at), QUIET),
            data(entry.owner),
            Text(entry.action),
            parts(data(about, ID), entry.detail if entry.id and entry.detail else "", by, key),
        )
    return table


def _end(key: Key, now: datetime) -> Text:
    """Whether a key is good, and until when."""
    if key.revoked_at is not None:
        word = "revoked" if key.revoked_at <= now else "ends"
        return Text(f"{word} {minute(key.revoked_at)}", BAD if key.revoked_at <= now else NOTICE)
    if key.expires_at is not None:
        word = "expired" if key.expires_at <= now else "until"
        return Text(f"{word} {minute(key.expires_at)}", BAD if key.expires_at <= now else "")
    return Text("no end", QUIET)


def _terms(key: Key) -> list[str]:
    return [
        key.label,
        f"{key.per_minute:,} a minute" if key.per_minute else "",
        f"{key.per_day:,} writes a day" if key.per_day else "",
    ]
