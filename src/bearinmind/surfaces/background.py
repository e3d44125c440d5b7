"""The background worker of the command line: a process of its own that stays a little.

Commands that store something see to it that it runs, and need not wait for a model. It is started
with the settings of that command: `python -m bearinmind.surfaces.background SETTINGS`. The store
among them is for people; the environment names the one that is meant, with its password.
"""

from __future__ import annotations

import json
import logging
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from bearinmind.config import STORE_VARIABLE, Configuration, Settings, cache_folder
from bearinmind.embed import remote
from bearinmind.errors import MindError
from bearinmind.store_name import absolute, complete
from bearinmind.work.post import Post

_WAKING = 0.05  # seconds that a command has for waking it; it looks by itself soon after


def ensure(settings: Settings, config: Path | None) -> None:
    """See to it that somebody works on a store: wake its worker, or start one."""
    if settings.worker == "off" or settings.embedder == settings.extractor == "none":
        return
    given = {"store": str(absolute(settings.store))}
    if config is not None:
        given["config"] = str(config.absolute())
    # Everybody may read what a process was started with, but not its environment.
    hidden = {STORE_VARIABLE: complete(settings.store)}
    # A command has done its work by now: that there is no worker is for `doctor` to say.
    with suppress(OSError):
        if not Post.of(settings.beside).send(given, hidden):
            for place in remote.places(settings.beside, cache_folder()):
                remote.ask(place, {"version": remote.VERSION, "wake": True}, _WAKING)


def main() -> int:
    """Hold the post of a store, and work until there has been nothing to do for a while."""
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s")
    given: dict[str, Any] = json.loads(sys.argv[1])
    config = Path(given["config"]) if "config" in given else None
    try:
        settings = Configuration.load(file=config).settings
        _hold(settings, given.get("lock"))
    except MindError as exc:
        sys.stderr.write(f"{exc.message}\n{exc.hint}\n")
        return 1
    return 0


def _hold(settings: Settings, lock: int | None) -> None:
    from bearinmind.app import Mind  # noqa: PLC0415  `ensure` needs none of this
    from bearinmind.surfaces.staying import stay  # noqa: PLC0415

    post = Post.of(settings.beside)
    if lock is not None:
        post = Post(post.path, lock)
    elif not post.take():
        return
    with Mind.build(settings, create=False) as app:
        worker = app.work.worker()
        while True:
            stay(app, worker, idle=settings.worker_idle_seconds)
            post.leave()
            # Whoever stored something just before saw the post taken and started nobody.
            if worker.stopping or not worker.has_work or not post.take():
                return


if __name__ == "__main__":
    sys.exit(main())
