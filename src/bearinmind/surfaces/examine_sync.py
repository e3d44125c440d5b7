"""What `doctor` looks at of syncing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from bearinmind.app import Mind
from bearinmind.changes import Peer
from bearinmind.surfaces.checks import Check
from bearinmind.surfaces.sync_setup import connection
from bearinmind.sync.model import SyncStatus

_LONG = timedelta(days=1)  # a machine may be offline; for so long, somebody should know


def sync(app: Mind) -> Iterator[Check]:
    """Whether what is changed here gets to the server, and back; nothing where there is none."""
    if app.peer() is None:
        return
    status = app.sync_status()
    has_key = connection(app).has_key
    detail = "; ".join(_told(status, app.settings.sync_seconds, has_key=has_key))
    if status.refused:
        remedy = "`bearinmind sync status` says what is refused and why."
        yield Check(name="sync", good=False, detail=detail, remedy=remedy)
    elif _is_cut_off(status.peer, datetime.now(UTC)):
        remedy = "`bearinmind sync` tries now and says what is wrong."
        if not has_key:
            remedy += " No key is here: `bearinmind sync connect URL` asks for it."
        yield Check(name="sync", good=False, detail=detail, remedy=remedy)
    else:
        remedy = "`bearinmind sync conflicts` shows them." if status.conflicts else ""
        yield Check(name="sync", good=True, detail=detail, remedy=remedy)


def _told(status: SyncStatus, every: float, *, has_key: bool) -> Iterator[str]:
    peer = status.peer
    yield f"{peer.url} as {peer.user}"
    yield f"in the background every {every:g} seconds" if every else "not in the background"
    for what, at in (("got", peer.pulled_at), ("sent", peer.pushed_at)):
        yield f"last {what} {at:%Y-%m-%d %H:%M} UTC" if at else f"never {what} anything"
    yield f"changes that wait: {status.waits:,}"
    if status.refused:
        yield f"refused: {status.refused:,}"
    if status.conflicts:
        yield f"conflicts: {status.conflicts:,}"
    if not has_key:
        yield "no key"
    if others := sum(status.mirrored.values()):
        yield f"memories of others: {others:,}"
    if error := peer.pull_error or peer.push_error or peer.shared_error:
        yield f"the last attempt failed: {error}"


def _is_cut_off(peer: Peer, now: datetime) -> bool:
    """Whether it has failed for long."""
    return any(
        error is not None and (at is None or now - at > _LONG)
        for at, error in ((peer.pulled_at, peer.pull_error), (peer.pushed_at, peer.push_error))
    )
