"""What `doctor` looks at: the settings, SQLite, the store and what is in it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator

from bearinmind.app import Mind
from bearinmind.config import Configuration, Settings, state_folder
from bearinmind.errors import FileMissing, MindError
from bearinmind.surfaces import (
    examine_hooks,
    examine_learning,
    examine_sync,
    examine_vault,
    examine_work,
)
from bearinmind.surfaces.checks import Check

_MOVE_ON = (
    "`bearinmind export FILE` saves what can be read; "
    "`bearinmind --store NEW import FILE` makes a sound store of it."
)
_REMEDIES = {
    "file": f"Restore the file from a copy, or: {_MOVE_ON}",
    "work": "`bearinmind work --retry-dead` tries again, once the cause is gone.",
    "journal": "Keep the store on a local disk whose file system allows shared memory.",
}


def examine(load: Callable[[], Configuration], version: str) -> list[Check]:
    """Look at everything; what cannot be looked at is a problem of its own. Changes nothing."""
    checks = [Check(name="bearinmind", good=True, detail=f"version {version}"), _sqlite()]
    try:
        configuration = load()
    except MindError as exc:
        return [*checks, _problem("settings", exc)]
    set_ = sum(origin.origin != "default" for origin in configuration.origins)
    checks.append(Check(name="settings", good=True, detail=f"{set_} set, the others by default"))
    for name in configuration.unknown:
        remedy = "Correct its name, or unset it: `bearinmind config` lists the settings."
        checks.append(
            Check(name="variable", good=False, detail=f"{name} is no setting", remedy=remedy)
        )
    checks.append(examine_work.embedder(configuration.settings))
    try:
        checks += _store(configuration.settings)
    except MindError as exc:
        checks.append(_problem("store", exc))
    checks += examine_hooks.hooks(state_folder() / "hooks")
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


def _store(settings: Settings) -> Iterator[Check]:
    try:
        opened = Mind.build(settings, create=False)
    except FileMissing:
        detail = f"{settings.store} is not there yet; the first `bearinmind store` makes it"
        yield Check(name="store", good=True, detail=detail)
        return
    with opened as app:
        yield Check(name="store", good=True, detail=f"{settings.store}, {app.store_facts()}")
        for finding in app.check():
            remedy = "" if finding.good else _REMEDIES.get(finding.name, _MOVE_ON)
            yield Check(name=finding.name, good=finding.good, detail=finding.detail, remedy=remedy)
        stats = app.stats()
        detail = (
            f"{stats.live:,} live, {stats.superseded:,} superseded, {stats.expired:,} expired, "
            f"{stats.deleted:,} deleted, {stats.links:,} links"
        )
        yield Check(name="memories", good=True, detail=detail)
        yield from examine_work.work(app)
        yield examine_vault.vault(app)
        yield from examine_sync.sync(app)
        yield examine_learning.learning(app)
        yield from _ranking(app)


def _ranking(app: Mind) -> Iterator[Check]:
    """Whether a setting keeps a leg, or memories of a kind, out of every answer."""
    locked_out = app.locked_out().values()
    for detail in locked_out:
        remedy = "Change the setting: `bearinmind config` says where its value comes from."
        yield Check(name="ranking", good=False, detail=detail, remedy=remedy)
    if not locked_out:
        yield Check(name="ranking", good=True, detail="no setting locks a leg or a memory out")


def _problem(name: str, exc: MindError) -> Check:
    return Check(name=name, good=False, detail=exc.message, remedy=exc.hint)
