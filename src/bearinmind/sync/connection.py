"""How a replica gets to its server: the address is checked once, the key is a private file.

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
    from bearinmind.sync.model import Server, SyncReport

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
        """Have them synced with a server."""

    def disconnect(self) -> Peer:
        """Sync no more."""

    def run(self, server: Server) -> SyncReport:
        """Sync once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """Connects memories with their server."""

    memories: Synced
    key: Secret | None  #: of the server, if a setting has it; it comes before the file
    key_file: KeyFile
    timeout: float  #: seconds to wait for one answer

    def connect(self, url: str, key: Secret | None, *, insecure: bool = False) -> Peer:
        """Have the memories synced with a server, after a look at it. Nothing is synced yet.

        Raises:
            InvalidSetting: the address is none, or the key would cross a network in clear.
            InvalidUser: the key is of a user with another name.
            NotAllowed: the key may not write.
            OtherPeer: they are synced with another server.
            MindError: the server does not answer, or refuses.
        """
        text = None if key is None else key.get_secret_value()
        if text is not None and not insecure:
            _check_private(url)
        with self._server(url, text) as server:
            server.check_writing(server.pull("", 0, _FIRST_PAGE).epoch)
            peer = self.memories.connect(server.url, self.memories.scope.user)
        if text is not None and key != self.key:
            self.key_file.write(text)
        return peer

    def disconnect(self) -> Peer:
        """Have the memories synced no more; they stay, here and there.

        Raises:
            PeerNotFound: they are not synced.
        """
        peer = self.memories.disconnect()
        self.key_file.remove()
        return peer

    def server(self) -> HttpSyncServer:
        """The server that the memories are synced with.

        Raises:
            PeerNotFound: there is none.
        """
        peer = self.memories.peer()
        if peer is None:
            raise PeerNotFound
        text = self.key_file.read() if self.key is None else self.key.get_secret_value()
        return self._server(peer.url, text)

    @property
    def has_key(self) -> bool:
        """Whether a setting or the file has a key of the server."""
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
        """The key; None when there is none.

        Raises:
            StoreReadOnly: the file cannot be read.
        """
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
        """Keep a key where nobody else can read it.

        Raises:
            StoreReadOnly: the file cannot be written.
        """
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


def _check_private(url: str) -> None:
    address = split_url(url)  # one that is none is refused where it is used
    if address and address.scheme == "http" and not is_loopback(address.hostname or ""):
        raise InvalidSetting(
            f"the key would go to {address.hostname!r} in clear",
            hint="Use https://, or say --insecure if nobody can listen in between.",
        )
