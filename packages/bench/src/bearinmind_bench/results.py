"""The file that a run leaves behind: what was measured, on what, by which code, query by query."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from bearinmind.errors import FileMissing, InvalidData

FORMAT: Final = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Manifest(_Frozen):
    """Everything that is needed to run it again and get the same."""

    created_at: str
    bearinmind: str  #: version
    revision: str | None  #: of the source checkout, with "+changes" when it had any
    code: str  #: a fingerprint of the package's own files
    versions: Mapping[str, str]  #: Python, SQLite and the libraries that rankings depend on
    platform: str
    machine: str = ""  #: the processor, and how many of its cores there are
    data: str  #: name of the evaluation set
    fingerprint: str  #: of its content
    split: str
    depth: int
    store: str
    retriever: str
    settings: Mapping[str, Any]  #: those that were set for this run
    recipe: Mapping[str, str]  #: what the product says of its own ranking
    models: tuple[str, ...]  #: identity of every model that took part
    seeds: Mapping[str, int]
    adaptations: tuple[str, ...] = ()  #: bounds lifted for this run, and what was not stored


class QueryRow(_Frozen):
    """One query and its answer."""

    query_id: str
    stratum: str
    split: str | None
    user: str
    grades: Mapping[str, int]  #: what was judged; 0 is not relevant
    stale: tuple[str, ...] = ()  #: memories that state what held before
    ranked: tuple[str, ...]
    legs: Mapping[str, Mapping[str, int]]  #: by leg: the rank of ranked and of relevant memories
    confidence: float | None  #: the surest memory's; None when the retriever does not say
    confidences: tuple[float, ...] = ()  #: of each ranked memory; empty when it does not say
    verdict: str | None = None  #: found, perhaps or nothing; None when the retriever does not say
    folded: frozenset[str] = frozenset()  #: ranked memories that are given only if all are wanted
    milliseconds: float
    degraded: tuple[str, ...] = ()
    metrics: Mapping[str, float]  #: empty when no memory is relevant

    @property
    def answerable(self) -> bool:
        """Whether the corpus holds an answer."""
        return bool(self.relevant)

    @property
    def relevant(self) -> dict[str, int]:
        """The memories that matter, with their grades."""
        return {id_: grade for id_, grade in self.grades.items() if grade > 0}


class Latency(_Frozen):
    """Milliseconds of one recall."""

    p50: float
    p90: float
    p95: float
    p99: float
    max: float
    mean: float


class Sizes(_Frozen):
    """What was stored and what it takes up."""

    memories: int
    users: int
    content_bytes: int
    store_bytes: int | None  #: None when the retriever does not say
    peak_memory_bytes: int  #: of the whole process, the evaluation set included


class Ingest(_Frozen):
    """How the corpus was taken in."""

    seconds: float
    memories_per_second: float
    merged: int  #: said the same as another memory
    refused: int


class AbstentionPoint(_Frozen):
    """What a floor for the confidence, which is the product's probability, does."""

    floor: float
    abstained: float  #: share of the unanswerable queries with an empty answer: rightly
    silenced: float  #: share of the answerable ones with an empty answer: wrongly
    recall: float  #: mean recall@10 of the answerable ones under this floor


class Abstention(_Frozen):
    """How well unanswerable queries are told from the others; kept apart from other metrics."""

    queries: int
    answered_now: float  #: share of them whose verdict is not `nothing`, or that gets memories
    area: float | None  #: chance that an answerable query has the surer answer; .5 is guessing
    curve: tuple[AbstentionPoint, ...]


class Verdicts(_Frozen):
    """Whether verdicts and probabilities are right."""

    nothing: Mapping[str, float]  #: by stratum of the unanswerable queries: share with `nothing`
    areas: Mapping[str, float]  #: by the same: chance that an answerable query has the surer answer
    #: By stratum and overall, of the answerable queries with a relevant memory among the first ten:
    kept: Mapping[str, float]  #: ... the share in which one of these is not folded away
    found: Mapping[str, float]  #: ... the share whose verdict is `found`
    calibration_error: float  #: expected, per hit of the first ten, in ten bins of equal count


class Contribution(_Frozen):
    """What one leg brought to the answers."""

    found: int  #: relevant memories that it found, at any depth of its pool
    alone: int  #: of these, found by no other leg that finds by itself
    first_ten: int  #: of what it found, relevant memories that reached the first ten
    placed_alone: int  #: memories of any kind in a first ten that no other leg had found
    milliseconds_p50: float


class PairShare(_Frozen):
    """How many of some labelled pairs are taken for a change."""

    pairs: int
    share: float  #: 0 when there are none


class Pairs(_Frozen):
    """Which of the labelled pairs of a set are taken for a change of one thing."""

    wrongly_outdated: PairShare  #: of those in which both hold: marked outdated, or grouped
    changes_found: PairShare  #: of the changes: the newer is known to outdate the older
    announced: PairShare  #: of the changes that the newer memory announces
    silent: PairShare
    shapes: Mapping[str, PairShare]  #: by shape, of changes and of those in which both hold

    @property
    def figures(self) -> dict[str, float]:
        """The shares that are published."""
        return {
            "wrongly_outdated": self.wrongly_outdated.share,
            "changes_found": self.changes_found.share,
        }


class Result(_Frozen):
    """A whole run."""

    format: Literal[1] = FORMAT
    manifest: Manifest
    overall: Mapping[str, float]  #: `queries`, then every metric
    strata: Mapping[str, Mapping[str, float]]
    #: Bootstrap intervals of every metric: "overall" and each stratum.
    intervals: Mapping[str, Mapping[str, tuple[float, float]]]
    unanswerable: Abstention | None
    verdicts: Verdicts | None = None  #: None when the retriever gives none
    latency: Latency
    sizes: Sizes
    ingest: Ingest
    legs: Mapping[str, Contribution]
    pairs: Pairs | None = None  #: None when the set has none, or not the product was measured
    warnings: tuple[str, ...]
    #: Promises of the ranking that answers broke; figures of such a run decide nothing.
    faults: tuple[str, ...] = ()
    rows: tuple[QueryRow, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """A result from a file.

        Raises:
            FileMissing: there is none.
            InvalidData: it is something else.
        """
        try:
            content = path.read_bytes()
            text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        except FileNotFoundError:
            raise FileMissing(f"there is no file {str(path)!r}") from None
        except (OSError, EOFError, UnicodeDecodeError) as exc:
            raise InvalidData(f"{str(path)!r} cannot be read: {exc}") from exc
        try:
            return cls.model_validate(json.loads(text))
        except (json.JSONDecodeError, ValidationError) as exc:
            raise InvalidData(
                f"{str(path)!r} is not a result of `bearinmind bench run`",
                hint="Give the file that `bench run --json` wrote.",
            ) from exc

    def write(self, path: Path) -> None:
        """Keep the result in a file; `.gz` compresses it."""
        content = self.model_dump_json(indent=1).encode() + b"\n"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
