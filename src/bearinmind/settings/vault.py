"""Settings of the vault: what is sensitive, and where its key is."""

from __future__ import annotations

from pathlib import Path

import platformdirs
from pydantic import Field, SecretStr

from bearinmind.settings.group import SettingsGroup


def _default_key_file() -> Path:
    return Path(platformdirs.user_data_dir("bearinmind", appauthor=False)) / "vault.keys"


class VaultSettings(SettingsGroup):
    """What is encrypted, and under which key."""

    detect_secrets: bool = Field(
        default=True,
        description="Look for secrets in what is stored, and encrypt the memories that hold one.",
    )
    vault_key: SecretStr | None = Field(
        default=None,
        description="The key of sensitive memories, 32 bytes in base64, old ones behind it; "
        "never shown.",
    )
    vault_key_file: Path = Field(
        default_factory=_default_key_file,
        description="The file that holds the key otherwise; made when it is first needed.",
    )
    vault_key_command: str | None = Field(
        default=None, description="A command that prints the key; no shell reads it."
    )
    vault_url: str | None = Field(
        default=None,
        description="A secret of HashiCorp Vault (KV version 2) whose field `key` holds the key.",
    )
    vault_token: SecretStr | None = Field(
        default=None, description="The token for that Vault; never shown."
    )
