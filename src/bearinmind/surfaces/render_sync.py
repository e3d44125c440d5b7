"""Syncing as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.text import Text

from bearinmind.changes import Peer, Subject, SubjectKind
from bearinmind.recall.attach import one_line
from bearinmind.surfaces.render import ID, NOTICE, QUIET, STRONG, data, grid, many, minute
from bearinmind.sync.model import ConflictDetail, SyncReport, SyncStatus
from bearinmind.types import Memory, UserId

_NOUNS = {
    SubjectKind.MEMORY: ("memory", "memories"),
    SubjectKind.LINK: ("link", "links"),
    SubjectKind.SHARE: ("share", "shares"),
    SubjectKind.CONFLICT: ("conflict", "conflicts"),
}
_NO_KEY = "no key is here: `bearinmind sync connect URL` asks for it, BEARINMIND_SYNC_KEY gives it"
_CONTENT = 100  # characters of a version in the list of conflicts


def connected(peer: Peer, waits: int) -> Iterator[RenderableType]:
    """That memories are synced with a server from now on."""
    yield data(f"Connected to {peer.url} as {peer.user}.")
    yield data(
        f"`bearinmind sync` sends {many(waits, 'change')} and gets what is there; from then on "
        "`serve`, `mcp` and `work --watch` do so by themselves.",
        QUIET,
    )


def disconnected(peer: Peer, waits: int) -> Iterator[RenderableType]:
    """That they are not any more."""
    yield data(f"Disconnected from {peer.url}. Your memories stay, here and there.")
    if waits:
        yield data(f"It was never told {many(waits, 'change')} that were made here.", NOTICE)


def report(value: SyncReport) -> Iterator[RenderableType]:
    """What a round did."""
    line = f"Got {many(value.pulled, 'change')}, sent {value.pushed:,}."
    if value.merged:
        line += f" Changed on both sides and merged: {value.merged:,}."
    if value.mirrored or value.unmirrored:
        line += f" Shared with you: {value.mirrored:,} came, {value.unmirrored:,} went."
    yield data(line)
    if value.conflicts:
        told = f"{many(value.conflicts, 'conflict')}: both versions are kept."
        yield data(f"{told} `bearinmind sync conflicts` shows them.", NOTICE)
    if value.refused or value.waiting:
        told = many(value.refused + value.waiting, "change")
        yield data(f"Not synced: {told}. `bearinmind sync status` says why.", NOTICE)


def status(value: SyncStatus, *, every: float, has_key: bool) -> Iterator[RenderableType]:
    """How a replica stands with its server, and what waits."""
    peer = value.peer
    facts = grid("-", "")
    facts.add_row(Text("server", QUIET), data(f"{peer.url} as {peer.user}"))
    for name, at, error in (
        ("got", peer.pulled_at, peer.pull_error),
        ("sent", peer.pushed_at, peer.push_error),
        ("shared", peer.shared_at, peer.shared_error),
    ):
        facts.add_row(Text(name, QUIET), minute(at) or "never")
        if error:
            facts.add_row("", data(f"failed since: {error}", NOTICE))
    if not has_key:
        facts.add_row(Text("key", QUIET), data(_NO_KEY, QUIET))
    facts.add_row(Text("background", QUIET), f"every {every:g} s" if every else "off")
    facts.add_row(Text("others'", QUIET), data(_mirrored(value.mirrored)))
    facts.add_row(Text("waits", QUIET), data(waiting(value.pending)))
    if value.refused:
        facts.add_row(Text("refused", QUIET), data(f"{value.refused:,} of these", NOTICE))
    if value.conflicts:
        told = f"{value.conflicts:,}: `bearinmind sync conflicts` shows them"
        facts.add_row(Text("conflicts", QUIET), data(told, NOTICE))
    yield facts
    if value.listed:
        yield _listed(value)


def waiting(pending: Mapping[SubjectKind, int]) -> str:
    """What the server has not been told yet, such as "3 memories, 1 link"."""
    told = [many(count, *_NOUNS[kind]) for kind, count in pending.items() if count]
    return ", ".join(told) or "nothing"


def _mirrored(counts: Mapping[UserId, int]) -> str:
    """What of others' memories is here to read, such as "3 memories of bob"."""
    told = [f"{many(count, 'memory', 'memories')} of {owner}" for owner, count in counts.items()]
    return ", ".join(told) or "none"


def conflicts(values: Sequence[ConflictDetail]) -> Iterator[RenderableType]:
    """Conflicts with both versions."""
    if not values:
        yield data("There are no conflicts.")
        return
    for value in values:
        found = value.conflict
        line = Text(f"{found.number}  ", STRONG).append_text(_named(found.subject))
        yield line.append_text(data(f"  {found.kind}: {found.detail} · {minute(found.at)}", QUIET))
        table = grid("-", "-", "")
        for word, memory in (("served", value.served), ("other", value.other)):
            table.add_row("  ", Text(word, QUIET), _said(memory))
        yield table
    yield data("`bearinmind sync resolve NUMBER --keep other` makes the other one present.", QUIET)


def _listed(value: SyncStatus) -> RenderableType:
    table = grid("-", "")
    for each in value.listed:
        table.add_row(_named(each.subject), data(each.reason, QUIET))
    if (more := value.waits - len(value.listed)) > 0:
        table.add_row("", Text(f"and {more:,} more", QUIET))
    return table


def _named(subject: Subject) -> Text:
    kind, _, rest = subject.label.partition(" ")
    return Text(f"{kind} ").append_text(data(rest, ID))


def _said(memory: Memory | None) -> Text:
    if memory is None:
        return Text("not there any more", QUIET)
    deleted = " (deleted)" if memory.deleted_at else ""
    return data(one_line(memory.content, _CONTENT) + deleted)
