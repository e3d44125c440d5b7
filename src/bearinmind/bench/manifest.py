"""Which code, data, versions and seeds a result came from."""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import sqlite3
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from bearinmind.bench.evaluation import EvaluationSet
from bearinmind.bench.inference import RESAMPLES, SEED
from bearinmind.bench.metrics import DEPTH
from bearinmind.bench.results import Manifest

_PACKAGE = Path(__file__).parents[1]
#: Libraries that a ranking or an interval depends on.
_LIBRARIES = ("numpy", "PyStemmer", "bm25s", "onnxruntime", "tokenizers")


def describe(
    data: EvaluationSet,
    *,
    split: str,
    store: str,
    versions: Mapping[str, str],
    retriever: str,
    settings: Mapping[str, Any],
    recipe: Mapping[str, str],
    models: tuple[str, ...],
    adaptations: tuple[str, ...],
) -> Manifest:
    """The manifest of a run that happens now."""
    return Manifest(
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        bearinmind=importlib.metadata.version("bearinmind"),
        revision=revision(),
        code=_code_fingerprint(),
        versions={**_versions(), **versions},
        platform=f"{platform.system()} {platform.machine()}",
        data=data.name,
        fingerprint=data.fingerprint,
        split=split,
        depth=DEPTH,
        store=store,
        retriever=retriever,
        settings=settings,
        recipe=recipe,
        models=models,
        seeds={"bootstrap": SEED, "permutation": SEED, "resamples": RESAMPLES},
        adaptations=adaptations,
    )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for name in _LIBRARIES:
        try:
            found[name.lower()] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@lru_cache(maxsize=1)
def _code_fingerprint() -> str:
    """The same for the same code, installed or from a checkout."""
    digest = hashlib.sha256()
    for path in sorted(_PACKAGE.rglob("*")):
        if path.suffix in (".py", ".sql"):
            digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
            digest.update(path.read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def revision() -> str | None:
    """The commit of the checkout that this package is run from; None when it is installed."""
    source = _PACKAGE.parent
    if source.name != "src":
        return None
    revision = _git(source, "rev-parse", "--short=12", "HEAD")
    if not revision:
        return None
    return f"{revision}+changes" if _git(source, "status", "--porcelain", "--", ".") else revision


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603  fixed arguments
            ["git", "-C", str(folder), *arguments],  # noqa: S607
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
