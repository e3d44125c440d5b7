"""Real processes that begin at once: each is forked from one that has imported everything before.

    commands = ReadyProcess("bearinmind.surfaces.cli")
    commands.run("bearinmind", ["list"], environment=..., folder=...)

To import the product takes a new process half a second, and many tests run dozens of commands. Such
a process has its own environment, folder, input and output like any other; only what it imports is
there already. What a test wants to see of the beginning of a process it starts itself.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

_MOST_BYTES = 1 << 17  # of a request: arguments and environment


class ReadyProcess:
    """A process that waits, and becomes a copy of itself for each command."""

    def __init__(self, *modules: str, path: Sequence[Path] = ()) -> None:
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        more = os.pathsep.join(map(str, path))
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), *modules],
                env={**os.environ, "PYTHONPATH": more},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    def run(
        self,
        module: str,
        arguments: Sequence[object],
        *,
        environment: Mapping[str, str],
        folder: Path,
        stdin: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]:
        """`python -m MODULE ARGUMENTS` to its end."""
        asked = {
            "module": module,
            "arguments": [*map(str, arguments)],
            "environment": dict(environment),
            "folder": str(folder),
        }
        with TemporaryFile() as given, TemporaryFile() as out, TemporaryFile() as err:
            given.write(stdin)
            given.seek(0)
            files = [file.fileno() for file in (given, out, err)]
            socket.send_fds(self._ours, [json.dumps(asked).encode()], files)
            code = int(self._ours.recv(16))
            for told in (out, err):
                told.seek(0)
            return subprocess.CompletedProcess([*map(str, arguments)], code, out.read(), err.read())

    def close(self) -> None:
        """End it."""
        self._ours.close()
        self._process.wait()


def _wait(requests: socket.socket) -> dict[str, Any] | None:
    """In a copy of this process: what is asked of it. None when nobody will ask any more."""
    while True:
        text, files, _, _ = socket.recv_fds(requests, _MOST_BYTES, 3)
        if not text:
            return None
        child = os.fork()
        if not child:
            requests.close()
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            asked: dict[str, Any] = json.loads(text)
            return asked
        for file in files:
            os.close(file)
        _, status = os.waitpid(child, 0)
        requests.send(str(os.waitstatus_to_exitcode(status)).encode())


def _become(asked: Mapping[str, Any]) -> None:
    """Go on as the process that was asked for."""
    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.path[0] = asked["folder"]  # as with `python -m`
    sys.argv = [asked["module"], *asked["arguments"]]
    runpy.run_module(asked["module"], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.freeze()  # what is shared with the copies stays so
    if (request := _wait(socket.socket(fileno=int(sys.argv[1])))) is not None:
        _become(request)
