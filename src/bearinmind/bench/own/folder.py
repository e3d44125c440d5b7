"""The private folder of an evaluation set of one's own.

    corpus.jsonl, queries.jsonl, qrels.jsonl   the set, as `bearinmind.bench.evaluation` reads it
    own.json                                   how it was made
    questions.jsonl                            what a model wrote, so that it is asked only once
    pool.jsonl                                 what the arms gave back: what there is to judge
    judgements.jsonl                           every grade, and who gave it
    history.jsonl                              every comparison, null results too

Only its owner may look inside: the folder has mode 0700 and every file 0600.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import platformdirs
from pydantic import BaseModel, ValidationError

from bearinmind.bench import evaluation
from bearinmind.bench.evaluation import EvaluationSet
from bearinmind.bench.own.records import FORMAT, About, Judgement, Pair, Trial, Written
from bearinmind.errors import InvalidData

Row = TypeVar("Row", bound=BaseModel)

_QUESTIONS = "questions.jsonl"  # may lie there alone, when a model failed half-way
_HOW_TO_BUILD = "`bearinmind bench own build` makes one."
_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600


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
        found = []
        for row in _rows(self.path / name):
            try:
                found.append(kind.model_validate(row))
            except ValidationError:  # a row of a newer version, or cut short: the others still hold
                continue
        return found

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
