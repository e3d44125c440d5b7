"""Installs what `make dist` built as users will, from a package index on this machine, and uses it.

    python scripts/check_dist.py [FOLDER]

The index is a static one (PEP 503) on 127.0.0.1 with our packages alone; what they depend on comes
from the index that pip is configured with. Fails when something that is installed does not work.
Prints what an empty environment takes until the first recall by meaning, in seconds and in MB: a
measurement, which fails nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import threading
import time
import venv
from collections import Counter
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from dist import ROOT, run

FACT = "Idris cannot eat shellfish."
QUESTION = "which seafood is he allergic to?"  # no word in common: found by meaning or not at all
GOAL_S, GOAL_MB = 60, 200


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name it has there
        """Nothing."""


def serve_index(built: Path, place: Path) -> str:
    """Serve the wheels and sdists of a folder as a package index; where it is."""
    for file in built.iterdir():
        name = re.sub(r"[-_.]+", "-", file.name.split("-")[0])
        folder = place / "simple" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file.name).symlink_to(file.resolve())
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(place)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/simple/"


class Check:
    """The ways to install, each in a place of its own."""

    def __init__(self, scratch: Path, built: Path) -> None:
        self._scratch = scratch
        self._built = built
        self._index = serve_index(built / "python", scratch / "index")
        self._tools = scratch / "tools/bin"
        self._home = scratch / "home"
        self._home.mkdir()
        self._environment = {
            "HOME": str(self._home),
            "BEARINMIND_STORE": str(self._home / "memories.db"),
            "NO_PROXY": "127.0.0.1",
            "PIPX_HOME": str(scratch / "pipx"),
            "PIPX_BIN_DIR": str(scratch / "pipx-bin"),
            "UV_TOOL_DIR": str(scratch / "uv-tools"),
        }

    def run(self, *command: object) -> str:
        """What a command prints in a home of its own."""
        return run(*command, environment=self._environment)

    def prepare(self) -> None:
        """Install pipx and uv, which are not part of what is measured."""
        venv.create(self._tools.parent, with_pip=True)
        pip = [self._tools / "python", "-m", "pip", "install", "--quiet", "--no-compile"]
        run(*pip, "--require-hashes", "-r", ROOT / "requirements/dist.lock")

    def recalls_by_meaning(self, program: Path) -> None:
        """Fail unless an installed program finds a memory that shares no word with the question.

        Raises:
            SystemExit: it does not.
        """
        self.run(program, "store", "--wait", FACT)
        if FACT not in self.run(program, "recall", "--all", QUESTION):
            raise SystemExit(f"bearinmind: {program} does not find the memory by its meaning")

    def first_recall(self, how: str, make: Callable[[Path], None]) -> None:
        """From nothing to the first recall by meaning: how long, and how large."""
        place = self._scratch / how
        began = time.monotonic()
        make(place)
        installed = time.monotonic() - began
        self.recalls_by_meaning(place / "bin/bearinmind")
        whole = time.monotonic() - began
        sizes = by_package(place)
        megabytes = sizes.total() / 1e6
        verdict = "within" if whole < GOAL_S and megabytes < GOAL_MB else "not within"
        print(
            f"bearinmind: {how}: installed after {installed:.0f} s, first recall by meaning after "
            f"{whole:.0f} s, {megabytes:.0f} MB: {verdict} {GOAL_S} s and {GOAL_MB} MB"
        )
        for name, size in sizes.most_common(7):
            print(f"    {size / 1e6:5.0f} MB  {name}")

    def pip(self, place: Path) -> None:
        """`python -m venv`, then `pip install bearinmind`."""
        venv.create(place, with_pip=True)
        pip = [place / "bin/python", "-m", "pip", "install", "--quiet"]
        self.run(*pip, "--extra-index-url", self._index, "bearinmind")

    def uv(self, place: Path) -> None:
        """`uv venv`, then `uv pip install bearinmind`, with nothing in its cache."""
        self.run(self._tools / "uv", "venv", "--quiet", "--python", sys.executable, place)
        uv = [self._tools / "uv", "pip", "install", "--quiet", "--python", place / "bin/python"]
        self.run(*uv, "--index", self._index, "bearinmind")

    def extras(self) -> None:
        """What hints name: `pip install 'bearinmind[bench]'`, and the adapters."""
        python = self._scratch / "pip/bin/python"
        pip = [python, "-m", "pip", "install", "--quiet", "--extra-index-url", self._index]
        self.run(*pip, "bearinmind[bench]", "bearinmind-adapters")
        self.run(self._scratch / "pip/bin/bearinmind", "bench", "--help")
        self.run(python, "-c", "import bearinmind_adapters")

    def pipx(self) -> None:
        """`pipx install bearinmind`."""
        pipx = [
            self._tools / "python",
            "-m",
            "pipx",
            "install",
            "--quiet",
            "--python",
            sys.executable,
        ]
        self.run(*pipx, "--pip-args", f"--extra-index-url {self._index}", "bearinmind")
        self.recalls_by_meaning(self._scratch / "pipx-bin/bearinmind")

    def uvx(self) -> None:
        """`uvx bearinmind demo`."""
        uvx = [self._tools / "uvx", "--quiet", "--python", sys.executable, "--index", self._index]
        print(self.run(*uvx, "bearinmind", "demo").split("\n\n")[0])

    def npm(self) -> None:
        """`npm install bearinmind`, from the tarball."""
        [tarball] = self._built.glob("npm/*.tgz")
        place = self._scratch / "npm"
        place.mkdir()
        run("npm", "install", "--silent", "--no-audit", "--prefix", place, tarball, folder=place)
        run("node", "-e", "import('bearinmind').then(all => all.Client.name)", folder=place)


def by_package(place: Path) -> Counter[str]:
    """How many bytes each package takes on the disk."""
    sizes: Counter[str] = Counter()
    [packages] = place.glob("lib/python*/site-packages")
    for path in place.rglob("*"):
        if path.is_file() and not path.is_symlink():
            inside = path.is_relative_to(packages)
            name = path.relative_to(packages).parts[0] if inside else "the environment itself"
            sizes[name.partition("-")[0].removesuffix(".libs")] += path.stat().st_blocks * 512
    return sizes


def main(built: Path) -> None:
    """Install in every way and say what was seen."""
    with tempfile.TemporaryDirectory(prefix="bearinmind-check-") as scratch:
        check = Check(Path(scratch), built)
        check.prepare()
        print(f"bearinmind: the load of this machine is {os.getloadavg()[0]:.1f}")
        check.first_recall("pip", check.pip)
        check.first_recall("uv", check.uv)
        for what in (check.extras, check.pipx, check.uvx, check.npm):
            if what is check.npm and not shutil.which("npm"):
                print("bearinmind: there is no npm here: the TypeScript client is not tried")
                continue
            what()
            print(f"bearinmind: ok: {what.__doc__}", flush=True)


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or ["dist"]).absolute())
