"""The key for the server that memories are synced with: a private file of this machine.

It is in no store, which may be copied, and in no configuration, which may be shown.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pydantic import SecretStr

from bearinmind.config import Settings, state_folder
from bearinmind.errors import StoreReadOnly
from bearinmind.store_name import absolute

_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700


def place(settings: Settings) -> Path:
    """Where the key for a store and a user is kept."""
    said = f"{absolute(settings.store)}\0{settings.user}"
    return state_folder() / "peers" / f"{hashlib.sha256(said.encode()).hexdigest()[:16]}.key"


def key_of(settings: Settings) -> SecretStr | None:
    """The key, from the setting or from the file; None when neither has one."""
    if settings.sync_key is not None:
        return settings.sync_key
    try:
        text = place(settings).read_text("utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as exc:
        raise StoreReadOnly(
            f"the key in {str(place(settings))!r} cannot be read: {exc}",
            hint="Give yourself the right to, or connect again: `bearinmind sync connect URL`.",
        ) from exc
    return SecretStr(text) if text else None


def keep(settings: Settings, key: SecretStr) -> Path:
    """Keep a key where nobody else can read it; where that is.

    Raises:
        StoreReadOnly: the file cannot be written.
    """
    path = place(settings)
    part = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{key.get_secret_value()}\n")
        part.replace(path)
    except OSError as exc:
        raise StoreReadOnly(
            f"the key cannot be kept in {str(path)!r}: {exc.strerror}",
            hint="Make the folder writable, or set BEARINMIND_SYNC_KEY.",
        ) from exc
    return path


def forget(settings: Settings) -> None:
    """Remove the key that was kept, if there is one."""
    place(settings).unlink(missing_ok=True)
