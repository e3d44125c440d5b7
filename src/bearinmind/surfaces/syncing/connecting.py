"""How a replica gets to its server: checked when it is connected, opened for every round."""

from __future__ import annotations

from pydantic import SecretStr

from bearinmind.addresses import is_loopback, split
from bearinmind.app import Mind
from bearinmind.changes import Peer
from bearinmind.errors import InvalidSetting, PeerNotFound
from bearinmind.surfaces.syncing import keys
from bearinmind.surfaces.syncing.http_transport import HttpSyncServer

_ASKED = 10  # changes are enough to see who we are


def connect(app: Mind, url: str, key: SecretStr | None, *, insecure: bool = False) -> Peer:
    """Have these memories synced with a server, after a look at it. Nothing is synced yet.

    Raises:
        InvalidSetting: the address is none, or the key would cross a network in clear.
        InvalidUser: the key is of a user with another name.
        NotAllowed: the key may not write.
        OtherPeer: they are synced with another server.
        MindError: the server does not answer, or refuses.
    """
    if key is not None and not insecure:
        _check_private(url)
    settings = app.settings
    with HttpSyncServer(url, key, app.scope.user, timeout=settings.sync_timeout) as server:
        server.check_writing(server.pull("", 0, _ASKED).epoch)
        peer = app.sync.connect(server.url, app.scope.user)
    if key is not None and key != settings.sync_key:
        keys.keep(settings, key)
    return peer


def disconnect(app: Mind) -> Peer:
    """Have these memories synced no more; they stay, here and there.

    Raises:
        PeerNotFound: they are not synced.
    """
    peer = app.sync.disconnect()
    keys.forget(app.settings)
    return peer


def server_of(app: Mind) -> HttpSyncServer:
    """The server that memories are synced with.

    Raises:
        PeerNotFound: there is none.
    """
    peer = app.sync.peer()
    if peer is None:
        raise PeerNotFound
    key, timeout = keys.key_of(app.settings), app.settings.sync_timeout
    return HttpSyncServer(peer.url, key, peer.user, timeout=timeout)


def _check_private(url: str) -> None:
    address = split(url)  # one that is none is refused where it is used
    if address and address.scheme == "http" and not is_loopback(address.hostname or ""):
        raise InvalidSetting(
            f"the key would go to {address.hostname!r} in clear",
            hint="Use https://, or say --insecure if nobody can listen in between.",
        )
