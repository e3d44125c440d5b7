"""The private folder of an evaluation set of one's own.

    corpus.jsonl, queries.jsonl, qrels.jsonl   the set, as `bearinmind_bench.evaluation` reads it
    own.json                                   how it was made
    questions.jsonl                            what a model wrote, so that it is asked only once
    pool.jsonl                                 what the arms gave back: what there is to judge
    judgements.jsonl                           every grade, and who gave it
    history.jsonl                              every comparison, null results too

Only its owner may look inside: the folder has mode 0700 and every file 0600.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bearinmind.errors import InvalidData
from bearinmind_bench import evaluation
from bearinmind_bench.evaluation import EvaluationSet
from bearinmind_bench.inference import Verdict

FORMAT = 1
#: Who gave a grade when no model did.
USER = "user"
BEST = 3

Grade = Annotated[int, Field(ge=0, le=BEST)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Made(_Record):
    """Of one source: how many questions it gave, and why not more."""

    source: str
    queries: int
    rejected: Mapping[str, int] = {}
    why_none: str = ""


class About(_Record):
    """How a set was made."""

    format: int = FORMAT
    created_at: str
    bearinmind: str
    user: str
    seed: int
    memories: int
    left_out: int  #: memories that are questions themselves
    sensitive: int  #: memories that were never looked at
    generators: tuple[str, ...]  #: models that wrote questions
    sources: tuple[Made, ...]


class Judgement(_Record):
    """One grade for one memory and one question; of the same judge the last one counts."""

    query_id: str
    memory_id: str
    said: str  #: a fingerprint of both texts: a changed memory is judged anew
    grade: Grade | None  #: None takes the grade back
    by: str
    at: str


class Pair(_Record):
    """A memory that some arm gave back for a question."""

    query_id: str
    memory_id: str


class Written(_Record):
    """What a model wrote when it was asked for a question."""

    said: str  #: a fingerprint of the memory's text
    model: str
    question: str | None  #: None when it could not be used
    reason: str = ""  #: why not


class Figure(_Record):
    """What was found in one stratum."""

    stratum: str
    metric: str
    queries: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    corrected_p: float
    wins: int
    losses: int
    verdict: str


class Trial(_Record):
    """One comparison, whatever came of it."""

    at: str
    bearinmind: str
    code: str
    fingerprint: str
    split: str
    before: Mapping[str, Any]  #: all settings that were changed from the shipped defaults
    after: Mapping[str, Any]
    against: Mapping[str, Any]  #: what the first run was asked to change
    changed: Mapping[str, Any]  #: what the second run was asked to change
    figures: tuple[Figure, ...]  #: the headline first
    verdict: str
    unjudged: Mapping[str, int]  #: by run: memories of a first ten that nobody judged
    given: Mapping[str, int]  #: by run: memories of a first ten
    adopted: bool = False

    @property
    def better(self) -> bool:
        """Whether the second run may take the place of the first."""
        return self.verdict == Verdict.BETTER


Row = TypeVar("Row", bound=BaseModel)

_QUESTIONS = "questions.jsonl"  # may lie there alone, when a model failed half-way
_HOW_TO_BUILD = "`bearinmind bench own build` makes one."
_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600


def fingerprint(*texts: str) -> str:
    """A digest of these texts."""
    digest = hashlib.sha256("\0".join(texts).encode())
    return digest.hexdigest()[:24]


def default() -> Path:
    """Where a set of one's own lies when nothing else is said."""
    return Path(platformdirs.user_data_dir("bearinmind", appauthor=False)) / "own"


@dataclass(frozen=True, slots=True)
class Folder:
    """The files of one set."""

    path: Path

    # ---- what was made -------------------------------------------------------------------------

    def make(self) -> None:
        """Make the folder, or take an older set's place.

        Raises:
            InvalidData: it holds something else, or cannot be made.
        """
        with _translated(self.path):
            if self.path.exists() and {f.name for f in self.path.iterdir()} - {_QUESTIONS}:
                self.about()
            self.path.mkdir(mode=_PRIVATE_FOLDER, parents=True, exist_ok=True)
            self.path.chmod(_PRIVATE_FOLDER)

    def about(self) -> About:
        """How the set was made.

        Raises:
            InvalidData: there is none, or a newer version made it.
        """
        place = self.path / "own.json"
        try:
            about = About.model_validate_json(place.read_bytes())
        except FileNotFoundError:
            raise InvalidData(
                f"{str(self.path)!r} holds no evaluation set of one's own", hint=_HOW_TO_BUILD
            ) from None
        except (OSError, ValidationError) as exc:
            raise InvalidData(f"{str(place)!r} cannot be read", hint=_HOW_TO_BUILD) from exc
        if about.format > FORMAT:
            raise InvalidData(
                f"{str(self.path)!r} was made by a newer Bear in Mind", hint="Upgrade Bear in Mind."
            )
        return about

    def load(self) -> EvaluationSet:
        """The set with every judgement so far.

        Raises:
            InvalidData: there is none, or it is damaged.
        """
        self.about()
        return evaluation.load(self.path)

    def questions(self) -> list[dict[str, Any]]:
        """The rows of queries.jsonl: what is relevant there is known from where they come from."""
        return [*_rows(self.path / "queries.jsonl")]

    def write(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Put rows in the place of a file, whole or not at all."""
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        self._replace(f"{name}.jsonl", "".join(lines).encode())

    def write_about(self, about: About) -> None:
        """Say how the set was made."""
        self._replace("own.json", about.model_dump_json(indent=1).encode() + b"\n")

    # ---- what grows ----------------------------------------------------------------------------

    def judgements(self) -> list[Judgement]:
        """Every grade ever given, in order."""
        return self._read("judgements.jsonl", Judgement)

    def pool(self) -> list[Pair]:
        """What there is to judge."""
        return self._read("pool.jsonl", Pair)

    def written(self) -> list[Written]:
        """What models wrote."""
        return self._read(_QUESTIONS, Written)

    def history(self) -> list[Trial]:
        """Every comparison, oldest first."""
        return self._read("history.jsonl", Trial)

    def add(self, row: Judgement | Written | Trial) -> None:
        """Keep one more row, at once: what was paid for or typed must survive an interruption."""
        names = {Judgement: "judgements", Written: "questions", Trial: "history"}
        place = self.path / f"{names[type(row)]}.jsonl"
        with _translated(place):
            file = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _PRIVATE_FILE)
            try:
                os.write(file, row.model_dump_json().encode() + b"\n")
            finally:
                os.close(file)

    def _read(self, name: str, kind: type[Row]) -> list[Row]:
        records = []
        for row in _rows(self.path / name):
            try:
                records.append(kind.model_validate(row))
            except ValidationError:  # a row of a newer version, or cut short: the others still hold
                continue
        return records

    def _replace(self, name: str, content: bytes) -> None:
        place = self.path / name
        part = place.with_name(f"{name}.{os.getpid()}.part")
        with _translated(place):
            file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE_FILE)
            try:
                with os.fdopen(file, "wb") as stream:
                    stream.write(content)
                part.replace(place)
            finally:
                part.unlink(missing_ok=True)


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file; a line that was cut short is passed over."""
    with _translated(path):
        try:
            lines = path.read_bytes().splitlines()
        except FileNotFoundError:
            return
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise InvalidData(
            f"{str(path)!r} cannot be used: {exc.strerror}",
            hint="Check the path and its permissions, or choose another folder.",
        ) from exc
