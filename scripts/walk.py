"""Prints which modules of the package a verb passes: those whose functions it calls.

    python scripts/walk.py [--list] [store] [recall] [http] [sync]

`store` and `recall` are commands, `http` is what a server does with a recall that comes with a key,
`sync` is `sync now` that pulls one change. Each is done twice, on temporary stores of its own, and
watched the second time, so that importing does not count. Opening and closing a store does not
count either, so the server is asked something else before.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from urllib.request import Request, urlopen

import bearinmind
from bearinmind.app import Mind
from bearinmind.config import Configuration
from bearinmind.surfaces.cli import main
from bearinmind.surfaces.http.server import prepare

ROOT = f"{Path(bearinmind.__file__).parent}/"
_FUNCTION = 0x2  # the flag of code with local variables: no module, no body of a class
_SKIPPED = {"build", "close", "for_user"}  # of `Mind`
_KNOWN = "The build is slow on Mondays."
_QUESTION = "when is the build slow?"


class Walk:
    """The modules that were passed, and which of their functions."""

    def __init__(self) -> None:
        self.modules: dict[str, set[str]] = {}
        self.is_watching = False
        self._local = threading.local()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """A profiler: called when a function begins and when it ends."""
        code = frame.f_code
        if not code.co_filename.startswith(ROOT) or not code.co_flags & _FUNCTION:
            return
        module = code.co_filename.removeprefix(ROOT).removesuffix(".py").replace("/", ".")
        depth = getattr(self._local, "depth", 0)
        if module == "app.mind" and code.co_name in _SKIPPED:
            self._local.depth = depth + {"call": 1, "return": -1}.get(event, 0)
        elif self.is_watching and event == "call" and not depth and code.co_name[0] != "<":
            self.modules.setdefault(module, set()).add(code.co_name)

    @property
    def lines(self) -> int:
        """How long those modules are together."""
        files = [Path(ROOT, *name.split(".")) for name in self.modules]
        whole = [x / "__init__.py" if x.is_dir() else x.with_suffix(".py") for x in files]
        return sum(len(x.read_text("utf-8").splitlines()) for x in whole)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch this thread, and those that begin with it or are watched already."""
        sys.setprofile(self)
        threading.setprofile(self)
        self.is_watching = True
        yield
        self.is_watching = False
        sys.setprofile(None)
        threading.setprofile(None)


def command(*arguments: object) -> None:
    """One command line, as a user would type it; what it prints is no matter."""
    sys.argv = ["bearinmind", *map(str, arguments)]
    printed, sys.stdout = sys.stdout, Path(os.devnull).open("w")  # noqa: SIM115  closed below
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.stdout.close()
        sys.stdout = printed


@contextmanager
def served(store: Path) -> Iterator[tuple[str, str]]:
    """A server on threads of its own: its URL, and a key."""
    chosen = Configuration.load({"store": store, "server_port": 0}).settings
    with Mind.build(chosen) as mind:
        mind.accounts.add_user("ada")
        key = mind.accounts.create_key("ada").text
        mind.for_user("ada").store(_KNOWN)
        server = prepare(mind, chosen)
        thread = threading.Thread(target=server.serve_until_told)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield server.url, key
        finally:
            server.stop()
            thread.join()


def store(walk: Walk, folder: Path) -> None:
    """A memory is stored."""
    command("--store", folder / "own.db", "store", _KNOWN)
    with walk.watching():
        command("--store", folder / "own.db", "store", "The build runs on Tuesdays.")


def recall(walk: Walk, folder: Path) -> None:
    """A question is asked."""
    command("--store", folder / "own.db", "store", _KNOWN)
    with walk.watching():
        command("--store", folder / "own.db", "recall", _QUESTION)


def http(walk: Walk, folder: Path) -> None:
    """A server is asked the question."""
    threading.setprofile(walk)  # its threads begin now
    with served(folder / "served.db") as (url, key):
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        # The first question has a thread of the server open the store.
        for walk.is_watching, text in ((False, "who is on call?"), (True, _QUESTION)):
            question = json.dumps({"query": text}).encode()
            with urlopen(Request(f"{url}/api/v1/recall", question, headers)) as answer:  # noqa: S310  http
                answer.read()
            time.sleep(0.1)  # the line in the log is written after the answer
        walk.is_watching = False
    threading.setprofile(None)


def sync(walk: Walk, folder: Path) -> None:
    """A replica gets what another machine stored."""
    with served(folder / "served.db") as (url, key):
        (folder / "key").write_text(key)
        ours = ("--store", folder / "own.db", "--user", "ada", "sync")
        command(*ours, "connect", url, "--key-file", folder / "key")
        with walk.watching():
            command(*ours, "now")


WALKS: dict[str, Callable[[Walk, Path], None]] = {
    "store": store,
    "recall": recall,
    "http": http,
    "sync": sync,
}

if __name__ == "__main__":
    os.environ |= {"BEARINMIND_EMBEDDER": "none", "BEARINMIND_WORKER": "off"}
    arguments = sys.argv[1:]
    for chosen in [name for name in WALKS if name in arguments] or WALKS:
        for _ in ("first", "watched"):
            with tempfile.TemporaryDirectory() as place:
                os.environ["HOME"] = place
                watched = Walk()
                WALKS[chosen](watched, Path(place))
        print(f"{chosen}: {len(watched.modules)} modules, {watched.lines:,} lines")
        if "--list" in arguments:
            for name, functions in sorted(watched.modules.items()):
                print(f"  {name}: {', '.join(sorted(functions))}")
