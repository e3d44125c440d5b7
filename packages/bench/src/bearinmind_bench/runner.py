"""Runs a set of queries through the product as shipped, or through another retriever."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import bearinmind
from bearinmind.errors import InvalidSetting
from bearinmind.protocols import StoreFacts
from bearinmind.types import LinkKind
from bearinmind_bench import corpus, metrics, pairs, retrievers, summary, validation
from bearinmind_bench.corpus import SQLITE, EmbeddersOfRun, empty_store, kind_of
from bearinmind_bench.evaluation import ALL, Answer, EvaluationQuery, EvaluationSet, Measured
from bearinmind_bench.inference import RESAMPLES, SEED
from bearinmind_bench.metrics import DEPTH
from bearinmind_bench.product import Product, settings_for
from bearinmind_bench.results import Ingest, Manifest, QueryRow, Result, Sizes
from bearinmind_bench.retrievers import Foreign

_PRODUCT = Path(bearinmind.__file__).parent
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
        machine=machine(),
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
    versions = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for name in _LIBRARIES:
        try:
            versions[name.lower()] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def machine() -> str:
    """The processor, as far as the system names it, and how many cores it has."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    named = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    return f"{', '.join(sorted(named)) or platform.processor()}, {os.cpu_count()} cores"


@lru_cache(maxsize=1)
def _code_fingerprint() -> str:
    """A digest of the code, equal for an installed package and a checkout."""
    digest = hashlib.sha256()
    for package in (_PRODUCT, Path(__file__).parent):
        for path in sorted(package.rglob("*")):
            if path.suffix in (".py", ".sql"):
                digest.update(path.relative_to(package.parent).as_posix().encode() + b"\0")
                digest.update(path.read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def revision() -> str | None:
    """The commit of the checkout that this package is run from; None when it is installed."""
    source = _PRODUCT.parent
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


PRODUCT = "bearinmind"
_WARM_UP = 5  # queries that are asked once before the clock counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure."""

    data: EvaluationSet
    split: str = ALL
    settings: Mapping[str, Any] = field(default_factory=dict)  #: changed from the shipped defaults
    retriever: str | None = None  #: module:Class or a baseline's name; None is the product
    store: str = SQLITE  #: or `postgres`, or the URL of a server
    withhold: frozenset[LinkKind] = frozenset()  #: kinds of links of the set to leave out

    @property
    def steps(self) -> int:
        """How many memories and queries there are to go through."""
        return len(self.data.corpus) + len(self.data.of_split(self.split))


def _no_progress(_more: int) -> None:
    pass


def run(plan: Plan, progress: Callable[[int], None] = _no_progress) -> Result:
    """Measure one configuration.

    Raises:
        InvalidData: the set has faults that would make the figures wrong, or no such split.
        InvalidSetting: a setting cannot have this value, or there is no such store.
        InvalidRetriever: there is no such retriever.
    """
    if plan.retriever:
        return _run_foreign(plan, plan.retriever, progress)
    return next(run_arms(plan, [plan.settings], progress))


#: Settings that decide what is found out about a memory, and kept with it.
_WRITES = ("embedder", "embedded_text", "extractor")


def writing(settings: Mapping[str, Any]) -> list[Any]:
    """What of these settings decides what a store holds in the end."""
    return [settings.get(name) for name in _WRITES]


def run_arms(
    plan: Plan,
    arms: Sequence[Mapping[str, Any]],
    progress: Callable[[int], None] = _no_progress,
    *,
    keep_queries: bool = True,
) -> Iterator[Result]:
    """Measure several settings of the product; neighbours that write the same share a store.

    Unless told otherwise, a query is embedded once for all of them: the times of the others are
    then shorter.
    """
    _check(plan)
    for settings in arms:
        settings_for("check", {}, settings)
    filling = progress  # once: the stores of the others are filled meanwhile
    for _, some in groupby(arms, key=writing):
        alike = [*some]
        keep = keep_queries and len(alike) > 1
        yield from _run_alike(plan, alike, filling, progress, keep_queries=keep)
        filling = _no_progress


def _run_alike(
    plan: Plan,
    arms: Sequence[Mapping[str, Any]],
    filling: Callable[[int], None],
    progress: Callable[[int], None],
    *,
    keep_queries: bool,
) -> Iterator[Result]:
    """Measure settings that write the same, over one stored corpus."""
    with empty_store(plan.store) as store:
        embedders = EmbeddersOfRun(keep_queries=keep_queries)
        try:
            stored = corpus.fill(store, plan.data, filling, withhold=plan.withhold)
            for settings in arms:
                product = Product(stored, settings, embedders)
                product.embed()
                yield _measure(
                    plan,
                    product,
                    settings=settings,
                    name=PRODUCT,
                    ingest=stored.ingest,
                    adaptations=stored.adaptations,
                    models=product.models,
                    facts=store.facts(),
                    marks=product.marks(plan.data.pairs_of(plan.split)),
                    progress=progress,
                )
        finally:
            embedders.close()


def _run_foreign(plan: Plan, name: str, progress: Callable[[int], None]) -> Result:
    _check(plan)
    if plan.settings:
        raise InvalidSetting(
            f"settings are the product's, and {name} is measured", hint="Leave out --set."
        )
    if plan.store != SQLITE:
        raise InvalidSetting(
            f"stores are the product's, and {name} is measured", hint="Leave out --store."
        )
    if plan.withhold:
        raise InvalidSetting(
            f"links are given to the product alone, and {name} is measured",
            hint="Leave out --withhold.",
        )
    with _closing(Foreign.build(name, retrievers.load(name), plan.data, progress)) as foreign:
        return _measure(
            plan,
            foreign,
            settings={},
            name=name,
            ingest=foreign.ingest,
            adaptations=(),
            facts=StoreFacts(foreign.facts.get("store_bytes"), {}),
            models=tuple(foreign.facts.get("models", ())),
            progress=progress,
        )


@contextmanager
def _closing(foreign: Foreign) -> Iterator[Foreign]:
    try:
        yield foreign
    finally:
        foreign.close()


def _check(plan: Plan) -> None:
    kind_of(plan.store)
    plan.data.of_split(plan.split)
    validation.refuse_unsound(plan.data)


def _measure(
    plan: Plan,
    measured: Measured,
    *,
    settings: Mapping[str, Any],
    name: str,
    ingest: Ingest,
    adaptations: tuple[str, ...],
    facts: StoreFacts,
    progress: Callable[[int], None],
    models: tuple[str, ...] = (),
    marks: frozenset[pairs.Mark] | None = None,
) -> Result:
    queries, top_grade = plan.data.of_split(plan.split), plan.data.top_grade
    for query in queries[:_WARM_UP]:
        measured.ask(query)
    rows: list[QueryRow] = []
    leg_times: dict[str, list[float]] = {}
    grouped: set[frozenset[str]] = set()
    for query in queries:
        answer = measured.ask(query)
        rows.append(row_of(query, answer, top_grade))
        grouped.update(answer.groups)
        for leg, milliseconds in answer.leg_milliseconds.items():
            leg_times.setdefault(leg, []).append(milliseconds)
        progress(1)
    groups = summary.strata(rows)
    legs = summary.contributions(rows, leg_times)
    labelled = plan.data.pairs_of(plan.split)
    return Result(
        manifest=describe(
            plan.data,
            split=plan.split,
            store=kind_of(plan.store) if name == PRODUCT else name,
            versions=facts.versions,
            retriever=name,
            settings=dict(settings),
            recipe=measured.recipe,
            models=models,
            adaptations=adaptations,
        ),
        overall=summary.means(groups[summary.OVERALL]),
        strata={k: summary.means(v) for k, v in groups.items() if k != summary.OVERALL},
        intervals={name: summary.intervals(group) for name, group in groups.items()},
        unanswerable=summary.abstention(rows),
        verdicts=summary.verdicts(rows),
        latency=summary.latency(rows),
        sizes=_sizes(plan.data, facts.bytes),
        ingest=ingest,
        legs=legs,
        pairs=pairs.measure(labelled, marks, grouped) if labelled and marks is not None else None,
        warnings=(*measured.warnings, *summary.silent_legs(legs), *_degraded(rows)),
        faults=measured.faults,
        rows=tuple(rows),
    )


def row_of(query: EvaluationQuery, answer: Answer, top_grade: int) -> QueryRow:
    """What is written down of an answer."""
    relevant = query.relevant
    return QueryRow(
        query_id=query.id,
        stratum=query.stratum,
        split=query.split,
        user=query.user,
        grades=query.grades,
        stale=query.stale,
        ranked=answer.ranked,
        legs=answer.legs,
        confidence=answer.confidence,
        confidences=answer.confidences or (),
        verdict=answer.verdict,
        folded=answer.folded,
        milliseconds=answer.milliseconds,
        degraded=answer.degraded,
        metrics=metrics.score(answer.ranked, relevant, top_grade, query.stale) if relevant else {},
    )


def _degraded(rows: Sequence[QueryRow]) -> list[str]:
    count = sum(bool(row.degraded) for row in rows)
    first = next((row.degraded[0] for row in rows if row.degraded), "")
    return [f"{count} answers were degraded: {first}"] if count else []


def _sizes(data: EvaluationSet, store_bytes: int | None) -> Sizes:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Sizes(
        memories=len(data.corpus),
        users=len(data.users),
        content_bytes=sum(len(record["content"].encode()) for record in data.corpus),
        store_bytes=store_bytes,
        # Linux counts in kilobytes, macOS in bytes.
        peak_memory_bytes=peak if sys.platform == "darwin" else peak * 1024,
    )
