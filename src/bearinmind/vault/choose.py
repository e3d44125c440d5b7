"""From settings to where the keys are kept."""

from __future__ import annotations

from pathlib import Path

from bearinmind.vault.sources import CommandKeys, FileKeys, GivenKeys, HashicorpKeys, KeySource


def choose(
    *, key: str | None, command: str | None, url: str | None, token: str | None, file: Path
) -> KeySource:
    """The source that the settings name: the key itself, a command, HashiCorp Vault, or a file."""
    if key:
        return GivenKeys(key)
    if command:
        return CommandKeys(command)
    if url:
        return HashicorpKeys(url, token)
    return FileKeys(file.expanduser())
