"""Prints which modules of the package a command passes: those whose functions it calls.

    python scripts/walk.py store "The build runs on Tuesdays."
    python scripts/walk.py recall "when does the build run?"

It runs the command on two temporary stores and watches the second run, so that importing does not
count. Opening and closing the store does not count either.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import bearinmind
from bearinmind.surfaces.cli import main

ROOT = f"{Path(bearinmind.__file__).parent}/"
_FUNCTION = 0x2  # the flag of code with local variables: no module, no body of a class
_SKIPPED = {"build", "close", "for_user"}  # of `Mind`


class Walk:
    """The modules that were passed, and how many of their functions."""

    def __init__(self) -> None:
        self.modules: dict[str, set[str]] = {}
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
        elif event == "call" and not depth and not code.co_name.startswith("<"):
            self.modules.setdefault(module, set()).add(code.co_name)


def run(arguments: list[str]) -> None:
    """One command line, as a user would type it."""
    sys.argv = ["bearinmind", *arguments]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise


if __name__ == "__main__":
    walk, command = Walk(), sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        for name in ("first", "watched"):
            store = ["--store", f"{folder}/{name}.db"]
            run([*store, "store", "The build is slow on Mondays."])
            if name == "watched":
                threading.setprofile(walk)
                sys.setprofile(walk)
            run([*store, *command])
        sys.setprofile(None)
        threading.setprofile(None)
    print(f"{len(walk.modules)} modules")
    for name, functions in sorted(walk.modules.items()):
        print(f"  {name}: {', '.join(sorted(functions))}")
