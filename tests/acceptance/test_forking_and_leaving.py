"""A process may fork, and may end without closing, whatever its threads are doing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bearinmind.app import Mind
from bearinmind.errors import Closed
from bearinmind.surfaces.verbs.table import VERBS
from bearinmind.testing import TemporaryStore

PATIENCE = 120.0  # seconds; a busy machine takes its time

OPEN = """
import os, sys, threading, time
from bearinmind import Mind
mind = Mind.open(sys.argv[1])
for number in range(60):
    mind.store(f"the walrus number {number} lives at {number} Kelp Street and eats fish. " * 4)
mind.store("the staging database is db-stage-3", wait=True)
"""

FORK = """
mind.recall("which database is it for staging")  # the threads of the parent have begun
for number in range(60):
    mind.store(f"the seal number {number} lives at {number} Kelp Street and eats fish. " * 4)
child = os.fork()
if not child:
    answer = mind.recall("which database is it for staging")
    legs = {leg.leg for leg in answer.trace.legs if leg.error is None}
    mind.store("the child was here")
    ok = answer.hits[0].memory.content.startswith("the staging") and {"lexical", "dense"} <= legs
    mind.close()
    os._exit(0 if ok else 3)
_, status = os.waitpid(child, 0)
kept = [memory.content for memory in mind.list(limit=5)]
mind.close()
sys.exit(os.waitstatus_to_exitcode(status) or (0 if "the child was here" in kept else 4))
"""

MULTIPROCESSING = """
import multiprocessing

def ask(question):
    return mind.recall(question).hits[0].memory.content

mind.recall("which database is it for staging")
with multiprocessing.get_context("fork").Pool(2) as pool:
    answers = pool.map(ask, ["which database is it for staging"] * 4)
mind.close()
sys.exit(0 if {*answers} == {"the staging database is db-stage-3"} else 3)
"""

#: The main thread ends while another one is in the middle of a batch.
LEAVE = """
from bearinmind.models.local import LocalEmbedder
embedder = LocalEmbedder("minilm", threads=1)
embedder.embed_query("")  # it is loaded
begun = threading.Event()

def embed():
    while True:
        begun.set()
        embedder.embed_memories(["the walrus lives at the harbour and eats fish. " * 20] * 4)

for _ in range(2):
    threading.Thread(target=embed, daemon=True).start()
begun.wait()
time.sleep(float(sys.argv[2]))
print("left")
"""


def run(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A process of its own, with the real model."""
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("how", [FORK, MULTIPROCESSING], ids=["fork", "multiprocessing"])
def test_a_forked_child_recalls_and_stores(tmp_path: Path, how: str) -> None:
    done = run(OPEN + how, tmp_path / "memory.db")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("seconds", [0.0, 0.1])
def test_a_process_that_ends_while_a_batch_is_embedded_ends_well(
    tmp_path: Path, seconds: float
) -> None:
    done = run("import sys, threading, time\n" + LEAVE, tmp_path, seconds)
    assert (done.returncode, done.stdout) == (0, "left\n"), done.stderr


def test_after_close_every_verb_raises_one_error() -> None:
    mind = Mind(TemporaryStore())
    id_ = mind.store("the walrus eats fish").memory.id
    lent = mind.for_user("grace")
    mind.close()
    for memory in (mind, lent):
        for name in ("recall", "get", "delete", "list", "why", "restore", "stats", "brief"):
            arguments = [] if name in ("list", "stats", "brief") else [id_]
            with pytest.raises(Closed):
                getattr(memory, name)(*arguments)
        for verb in VERBS:
            if "." in verb.name:
                with pytest.raises(Closed):
                    getattr(memory, verb.name.split(".")[0])
        with pytest.raises(Closed):
            memory.store("too late")
    mind.close()  # twice is once
