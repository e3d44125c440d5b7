"""The command that looks for problems: settings, SQLite, the store and all that belongs to it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bearinmind.app import Mind, embedders_of
from bearinmind.app.sync import connection
from bearinmind.changes import Peer
from bearinmind.config import Configuration, Settings, state_folder
from bearinmind.errors import EmbedderFailure, FileMissing, MindError, VaultKeyMissing
from bearinmind.graph.extractors import budget
from bearinmind.proposals import ProposalState
from bearinmind.protocols import KnownSpace
from bearinmind.surfaces.cli.terminal import (
    BAD,
    GOOD,
    NOTICE,
    Session,
    check_folder,
    grid,
    many,
    styled,
    version,
)
from bearinmind.surfaces.hooks.standalone.settings import HookSettings
from bearinmind.surfaces.hooks.status import read_log, summaries
from bearinmind.sync.model import SyncStatus
from bearinmind.work.status import WorkStatus
from bearinmind.work.worker_lock import WorkerLock

if TYPE_CHECKING:
    from rich.console import RenderableType

_SOMETHING_BAD = 5  # the exit code of a failing store


def doctor(run: Session) -> None:
    """Look for problems, and say what to do about them."""
    checks = _examine(run)
    good = all(check.good for check in checks)
    run.reply({"good": good, "checks": checks}, lambda: [_check_table(checks)])
    if not good:
        raise typer.Exit(_SOMETHING_BAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at."""

    name: str
    good: bool
    detail: str
    remedy: str = ""


def _ok(name: str, detail: str, remedy: str = "") -> Check:
    return Check(name=name, good=True, detail=detail, remedy=remedy)


def _bad(name: str, detail: str, remedy: str) -> Check:
    return Check(name=name, good=False, detail=detail, remedy=remedy)


_MOVE_ON = (
    "`bearinmind export FILE` saves what can be read; "
    "`bearinmind --store NEW import FILE` makes a sound store of it."
)
_UNKNOWN_VARIABLE = "Correct its name, or unset it: `bearinmind config` lists the settings."
_LOCKED_OUT = "Change the setting: `bearinmind config` says where its value comes from."
_REMEDIES = {
    "file": f"Restore the file from a copy, or: {_MOVE_ON}",
    "work": "`bearinmind work --retry-dead` tries again, once the cause is gone.",
    **dict.fromkeys(("meaning", "concepts"), "`bearinmind work --retry-dead` queues them again."),
    "journal": "Keep the store on a local disk whose file system allows shared memory.",
}


def _examine(run: Session) -> list[Check]:
    """Look at everything; what cannot be looked at is a problem of its own. Changes nothing."""
    checks = [_ok("bearinmind", f"version {version()}"), _sqlite()]
    try:
        configuration = run.configuration
    except MindError as exc:
        return [*checks, _bad("settings", exc.message, exc.hint)]
    set_ = sum(origin.origin != "default" for origin in configuration.origins)
    checks.append(_ok("settings", f"{set_} set, the others by default"))
    unknown = configuration.unknown
    checks += [_bad("variable", f"{name} is no setting", _UNKNOWN_VARIABLE) for name in unknown]
    checks.append(_embedder(configuration.settings))
    try:
        checks += _store(configuration)
    except MindError as exc:
        checks.append(_bad("store", exc.message, exc.hint))
    checks += _hooks(state_folder() / "hooks", configuration.settings)
    return checks


def _sqlite() -> Check:
    has_index = False
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as connection,
        contextlib.suppress(sqlite3.OperationalError),
    ):
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
        has_index = True
    return Check(
        name="sqlite",
        good=has_index,
        detail=f"version {sqlite3.sqlite_version}, {'with' if has_index else 'without'} FTS5",
        remedy="" if has_index else "Use a Python whose SQLite was built with FTS5.",
    )


def _store(configuration: Configuration) -> Iterator[Check]:
    settings = configuration.settings
    try:
        opened = Mind.build(settings, create=False)
    except FileMissing:
        check_folder(configuration)
        detail = f"{settings.store} is not there yet; the first `bearinmind store` makes it"
        yield _ok("store", detail)
        return
    with opened as mind:
        yield _ok("store", f"{settings.store}, {mind.store_facts()}")
        for finding in mind.check():
            remedy = "" if finding.good else _REMEDIES.get(finding.name, _MOVE_ON)
            yield Check(name=finding.name, good=finding.good, detail=finding.detail, remedy=remedy)
        stats = mind.stats()
        detail = (
            f"{stats.live:,} live, {stats.superseded:,} superseded, {stats.expired:,} expired, "
            f"{stats.not_yet_valid:,} not yet valid, {stats.deleted:,} deleted, "
            f"{stats.links:,} links"
        )
        yield _ok("memories", detail)
        status = mind.work.status()
        yield from _embeddings(mind, status)
        yield _graph(mind, status)
        if status.active or status.extractor:
            yield _background(mind, status, WorkerLock.of(settings.beside))
        yield _vault(mind)
        yield from _sync(mind)
        yield _learning(mind)
        # Whether a setting keeps a leg, or memories of a kind, out of every answer.
        locked_out = mind.locked_out().values()
        yield from (_bad("ranking", detail, _LOCKED_OUT) for detail in locked_out)
        if not locked_out:
            yield _ok("ranking", "no setting locks a leg or a memory out")


_TRIED = "A memory is worth keeping."
_UNWELL = (
    "Check the `embedder` settings with `bearinmind config`, and that its server or its files can "
    "be reached; recall goes on by words meanwhile."
)


def _embedder(settings: Settings) -> Check:
    """Whether the configured embedder works: it embeds a sentence of ours."""
    name = settings.embedder
    made = embedders_of(settings)
    try:
        embedder = made.configured()
        if embedder is None:
            return _ok("embedder", "none: recall goes by words alone")
        embedder.embed_query(_TRIED)
        space = embedder.space
        place = "texts are sent to its server" if embedder.leaves_machine else "texts stay here"
        detail = f"{space.model}, {space.dimensions} dimensions, space {space.key}; {place}"
        return _ok("embedder", f"{name}: {detail}")
    except MindError as exc:
        # Elsewhere its hint sends people here.
        remedy = _UNWELL if exc.hint == EmbedderFailure.hint else exc.hint
        return _bad("embedder", f"{name}: {exc.message}", remedy)
    finally:
        made.close()


def _none_yet(mind: Mind) -> str:
    by_itself = ", as does the next `bearinmind store`" if mind.settings.worker != "off" else ""
    return f"none yet: `bearinmind work` begins{by_itself}"


def _embeddings(mind: Mind, status: WorkStatus) -> Iterator[Check]:
    off = mind.settings.embedder == "none"
    if status.meaning_off and not off:
        reason, remedy, _ = status.meaning_off
        yield _bad("embeddings", f"the store cannot keep any: {reason}", remedy)
    elif status.active and not off:
        yield _answering(mind, status, status.active)
    elif status.active:
        detail = f"not asked: {_named(status.active)} is kept for when `embedder` is set again"
        yield _ok("embeddings", detail)
    elif not off:
        yield _ok("embeddings", _none_yet(mind))


def _answering(mind: Mind, status: WorkStatus, active: KnownSpace) -> Check:
    detail = f"{_named(active)} answers"
    if status.filling is not None:
        detail += f" until all is embedded by {_named(status.filling)}"
    elif not _is_configured(mind, active):
        return _bad(
            "embeddings",
            f"{detail}, which is not what is configured now",
            "`bearinmind reembed` embeds every memory with the configured embedder.",
        )
    return _ok("embeddings", detail)


def _is_configured(mind: Mind, known: KnownSpace) -> bool:
    """Whether a space is that of the configured embedder; one that fails has a check of its own."""
    try:
        embedder = mind.work.embedder()
    except MindError:
        return True
    return embedder is not None and embedder.space == known.space


def _named(known: KnownSpace) -> str:
    waiting = f", {known.waiting:,} to do" if known.waiting else ""
    return f"{known.space.model} (space {known.space.key}, {known.embedded:,} embedded{waiting})"


def _background(mind: Mind, status: WorkStatus, lock: WorkerLock) -> Check:
    at_work = lock.is_held
    errors = lock.errors()
    if status.waiting and not at_work and (errors or status.last_error):
        return _bad(
            "background",
            f"{_waiting(status)}: {(status.last_error or errors)[-200:]}",
            "`bearinmind work` tries them now and says what is wrong.",
        )
    worker = "a worker is running" if at_work else f"no worker is running ({mind.settings.worker})"
    remedy = "`bearinmind work` does them." if status.waiting and not at_work else ""
    return _ok("background", f"{_waiting(status)}, {worker}", remedy)


def _waiting(status: WorkStatus) -> str:
    counts = {
        "to embed": status.to_embed,
        "to read for the graph": status.to_read,
        "to compare": status.to_compare,
    }
    parts = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return f"{status.waiting:,} jobs wait{f' ({parts})' if parts else ''}"


def _graph(mind: Mind, status: WorkStatus) -> Check:
    """Whether the configured extractor can be made, and how far it has read."""
    counts = mind.graph.counts()
    held = f"{counts.concepts:,} concepts, {counts.relations:,} relations"
    try:
        configured = mind.work.extractor()
        spent = budget(configured) if configured and mind.settings.extractor == "llm" else None
    except MindError as exc:
        return _bad("extractor", f"{mind.settings.extractor}: {exc.message}", exc.hint)
    tokens = f"; {spent.spent:,} of {spent.limit:,} tokens are spent today" if spent else ""
    if configured is None:
        return _ok("extractor", f"{held}; memories are no longer read for it")
    if not status.extractor:
        return _ok("extractor", f"{_none_yet(mind)}{tokens}")
    place = "texts are sent to its server" if configured.leaves_machine else "texts stay here"
    reader = f"read by {status.extractor}"
    if status.extractor != configured.key:
        reader += f" until a worker begins with {configured.key}"
    waiting = f", {status.to_read:,} to read" if status.to_read else ""
    return _ok("extractor", f"{held}{waiting}, {reader}; {place}{tokens}")


def _vault(mind: Mind) -> Check:
    """Whether the key is there, and opens every secret."""
    status = mind.secrets.status()
    count = len(mind.secrets.list())
    counted = many(count, "sensitive memory", "sensitive memories")
    parts = [counted, f"key in {status.where}"]
    if not status.key_ids and not status.problem:
        parts[-1] += " (none yet)" if not status.secrets else " (it is not there)"
    if status.unreadable:
        parts.append(f"{status.unreadable:,} secrets cannot be read")
    if status.problem:
        parts.append(status.problem)
    if not mind.settings.detect_secrets:
        parts.append("detect_secrets is off: only flagged memories are encrypted")
    remedy = "" if status.good else status.hint or VaultKeyMissing.hint
    return Check(name="vault", good=status.good, detail="; ".join(parts), remedy=remedy)


_LONG = timedelta(days=1)  # a machine may be offline; for so long, somebody should know


def _sync(mind: Mind) -> Iterator[Check]:
    """Whether what is changed here gets to the server, and back; nothing where there is none."""
    if mind.sync.peer() is None:
        return
    status = mind.sync.status()
    has_key = connection(mind).has_key
    detail = "; ".join(_sync_facts(status, mind.settings.sync_seconds, has_key=has_key))
    if status.refused:
        yield _bad("sync", detail, "`bearinmind sync status` says what is refused and why.")
    elif _is_cut_off(status.peer):
        remedy = "`bearinmind sync` tries now and says what is wrong."
        if not has_key:
            remedy += " No key is here: `bearinmind sync connect URL` asks for it."
        yield _bad("sync", detail, remedy)
    else:
        remedy = "`bearinmind sync conflicts` shows them." if status.conflicts else ""
        yield _ok("sync", detail, remedy)


def _sync_facts(status: SyncStatus, every: float, *, has_key: bool) -> Iterator[str]:
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
    if others := sum(status.copied.values()):
        yield f"memories of others: {others:,}"
    if error := peer.pull_error or peer.push_error or peer.shared_error:
        yield f"the last attempt failed: {error}"


def _is_cut_off(peer: Peer) -> bool:
    """Whether it has failed for long."""
    now = datetime.now(UTC)
    return any(
        error is not None and (at is None or now - at > _LONG)
        for at, error in ((peer.pulled_at, peer.pull_error), (peer.pushed_at, peer.push_error))
    )


def _learning(mind: Mind) -> Check:
    """How learning is set up, and what it has cost today."""
    try:
        status = mind.curation.learning_status()
    except MindError as exc:
        return _bad("learning", f"{mind.settings.learn}: {exc.message}", exc.hint)
    waiting = mind.curation.counts().get(ProposalState.OPEN, 0)
    detail = f"{status.mode}, {waiting:,} proposals wait in the inbox"
    if status.model:
        place = "turns are sent to its server" if status.leaves_machine else "turns stay here"
        detail += (
            f"; {status.model} reads turns, {place}; "
            f"{status.spent:,} of {status.limit:,} tokens are spent today"
        )
    return _ok("learning", detail)


_TOO_MANY = 0.2  # of the latest runs; now and then a server is restarted
_REMEDY = "`bearinmind hooks status` says whether the server answers, and what went wrong."


def _hooks(folder: Path, settings: Settings) -> Iterator[Check]:
    """Whether the hooks that lead to this store do their work; nothing about any others."""
    config = folder / "config.json"
    if HookSettings(str(config)).store != str(settings.beside.absolute()):
        return
    runs = summaries(read_log(folder))
    if not runs:
        yield _ok("hooks", f"installed, for {HookSettings(str(config)).url}; none has run yet")
    for each in runs:
        good = each.failed <= _TOO_MANY * each.runs
        failed = f", {each.failed} failed, last: {each.last_failure}" if each.failed else ""
        detail = f"{each.event}: {each.runs} runs, median {each.median_ms:g} ms{failed}"
        yield Check(name="hooks", good=good, detail=detail, remedy="" if good else _REMEDY)


def _check_table(values: Iterable[Check]) -> RenderableType:
    table = grid("-", "-", "")
    for value in values:
        mark = styled("ok", GOOD) if value.good else styled("problem", BAD)
        table.add_row(mark, styled(value.name), styled(value.detail))
        if value.remedy:
            table.add_row("", "", styled(value.remedy, NOTICE))
    return table
