"""What `doctor` looks at of the sensitive boundary."""

from __future__ import annotations

from bearinmind.app import Mind
from bearinmind.errors import VaultKeyMissing
from bearinmind.surfaces.checks import Check


def vault(app: Mind) -> Check:
    """Whether the key is there, and opens every secret."""
    status = app.secrets.status()
    count = len(app.secrets.list())
    memories = "memory" if count == 1 else "memories"
    parts = [f"{count:,} sensitive {memories}", f"key in {status.where}"]
    if not status.key_ids and not status.problem:
        parts[-1] += " (none yet)" if not status.secrets else " (it is not there)"
    if status.unreadable:
        parts.append(f"{status.unreadable:,} secrets cannot be read")
    if status.problem:
        parts.append(status.problem)
    if not app.settings.detect_secrets:
        parts.append("detect_secrets is off: only flagged memories are encrypted")
    remedy = "" if status.good else status.hint or VaultKeyMissing.hint
    return Check(name="vault", good=status.good, detail="; ".join(parts), remedy=remedy)
