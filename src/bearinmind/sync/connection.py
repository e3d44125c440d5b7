"""The connection of a replica with its server: the address is checked, the key is a private file.

The key is in no store, which may be copied, and in no configuration, which may be shown.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from bearinmind.changes import Peer
from bearinmind.errors import InvalidSetting, PeerNotFound, StoreReadOnly
from bearinmind.models.outbound_http import is_loopback, split_url
from bearinmind.types import Scope

if TYPE_CHECKING:  # httpx takes long to load
    from bearinmind.sync.http_transport import HttpSyncServer

_FIRST_PAGE = 10  # changes are enough to see which user the key belongs to
_PRIVATE = 0o600
_PRIVATE_FOLDER = 0o700


class Secret(Protocol):
    """A text that no repr shows."""

    def get_secret_value(self) -> str:
        """The text."""


class Synced(Protocol):
    """Memories that can be synced with a server: `mind.sync`."""

    @property
    def scope(self) -> Scope:
        """Whose memories they are."""

    def peer(self) -> Peer | None:
        """The server that they are synced with, if they are."""

    def connect(self, url: str, user: str) -> Peer:
        """Sync them with a server from now on."""

    def disconnect(self) -> Peer:
        """Stop syncing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Connects memories with their server."""

    memories: Synced
    key: Secret | None  #: of the server, if a setting has it; it comes before the file
    key_file: KeyFile
    timeout: float  #: seconds to wait for one answer

    def connect(self, url: str, key: Secret | None, *, insecure: bool = False) -> Peer:
        """Connect the memories with a server that takes the key; nothing is synced yet."""
        text = None if key is None else key.get_secret_value()
        address = split_url(url)  # an invalid one is refused where it is used
        host = (address and address.hostname) or ""
        is_clear = address is not None and address.scheme == "http" and not is_loopback(host)
        if text is not None and is_clear and not insecure:
            raise InvalidSetting(
                f"the key would go to {host!r} in clear",
                hint="Use https://, or say --insecure if nobody can listen in between.",
            )
        with self._server(url, text) as server:
            server.check_writing(server.pull("", 0, _FIRST_PAGE).epoch)
            peer = self.memories.connect(server.url, self.memories.scope.user)
        if text is not None and key != self.key:
            self.key_file.write(text)
        return peer

    def disconnect(self) -> Peer:
        """Stop syncing; the memories stay on both sides."""
        peer = self.memories.disconnect()
        self.key_file.remove()
        return peer

    def server(self) -> HttpSyncServer:
        """The server that the memories are synced with."""
        peer = self.memories.peer()
        if peer is None:
            raise PeerNotFound
        text = self.key_file.read() if self.key is None else self.key.get_secret_value()
        return self._server(peer.url, text)

    @property
    def has_key(self) -> bool:
        """Whether a setting or the file has a key for the server."""
        return self.key is not None or self.key_file.read() is not None

    def _server(self, url: str, key: str | None) -> HttpSyncServer:
        from bearinmind.sync.http_transport import HttpSyncServer  # noqa: PLC0415  httpx is slow

        return HttpSyncServer(url, key, self.memories.scope.user, timeout=self.timeout)


@dataclass(frozen=True, slots=True)
class KeyFile:
    """The private file with the key for a store and a user."""

    path: Path

    @classmethod
    def of(cls, folder: Path, store: str, user: str) -> KeyFile:
        """The file in a folder of this machine, for a store by its absolute name."""
        name = hashlib.sha256(f"{store}\0{user}".encode()).hexdigest()[:16]
        return cls(folder / "peers" / f"{name}.key")

    def read(self) -> str | None:
        """The key; None when there is none."""
        try:
            return self.path.read_text("utf-8").strip() or None
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as exc:
            raise StoreReadOnly(
                f"the key in {str(self.path)!r} cannot be read: {exc}",
                hint="Give yourself the right to, or connect again: `bearinmind sync connect URL`.",
            ) from exc

    def write(self, key: str) -> None:
        """Keep a key in a file that nobody else can read."""
        part = self.path.with_suffix(f".{os.getpid()}")
        try:
            self.path.parent.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(f"{key}\n")
            part.replace(self.path)
        except OSError as exc:
            raise StoreReadOnly(
                f"the key cannot be kept in {str(self.path)!r}: {exc.strerror}",
                hint="Make the folder writable, or set BEARINMIND_SYNC_KEY.",
            ) from exc

    def remove(self) -> None:
        """Remove the file, if there is one."""
        self.path.unlink(missing_ok=True)
