"""What is sensitive cannot be encrypted or decrypted."""

from __future__ import annotations

from bearinmind.errors.base import MindError


class VaultFailure(MindError):
    """What is sensitive cannot be encrypted or decrypted."""

    hint = "`bearinmind doctor` says where the key is looked for, and which secrets need which key."


class VaultKeyMissing(VaultFailure):
    """The key is not here."""

    hint = (
        "Bring back the key file, or the setting that held the key; "
        "`bearinmind secret key` says where it is looked for. Everything else works without it."
    )


class VaultKeyExposed(VaultFailure):
    """Others may read the file with the key."""

    hint = (
        "Close it to them: `chmod 600 FILE`. "
        "If somebody may have read it, `bearinmind secret rotate` afterwards."
    )


class VaultKeyUnavailable(VaultFailure):
    """The key cannot be fetched from where it is kept."""


class SealBroken(VaultFailure):
    """What is stored is not what was sealed, or was sealed for another memory."""

    hint = "The file was damaged or changed by other means; restore it from a copy."
