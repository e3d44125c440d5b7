"""Evaluation sets: a folder with a corpus, queries and relevance judgements, as JSON Lines.

    corpus.jsonl    id, content; category, tags, expanded_keywords, importance, created_at, user_id,
                    supersedes
    queries.jsonl   query_id, text; stratum, split, user_id, as_of, relevant_ids, grades, stale_ids
    qrels.jsonl     query_id, relevant_ids, grades   (authoritative; or one row for each judgement)
    pairs.jsonl     newer, older, label; shape, announced, user_id, split   (may be left out)

Each file may be compressed (`.jsonl.gz`). Ids may be numbers or text. A query without a relevant
memory is unanswerable; such queries may also stand in a file `queries_unanswerable.jsonl`.

A folder without a corpus inside the folder of a set is a later version of that set: its rows come
after those of the set, and its judgements replace those of the same pairs.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from bearinmind.errors import InvalidData

#: What a relevant memory has when no grade is given.
RELEVANT = 1
_ONE_ID = ("memory_id", "corpus_id", "doc_id", "id")
_ONE_GRADE = ("grade", "relevance", "score")


class GradeError(ValueError):
    """A judgement cannot be understood."""


def grades_of_row(row: Mapping[str, Any]) -> dict[str, int]:
    """Grades by memory id.

    `relevant_ids` names the relevant memories; `grades` gives each of them a grade, in the same
    order or by id, and may name more memories (0: judged and not relevant).
    """
    grades = {str(id_): RELEVANT for id_ in _listed(row, "relevant_ids")}
    given = row.get("grades")
    if isinstance(given, Mapping):
        return grades | {str(id_): _grade(grade) for id_, grade in given.items()}
    listed = _listed(row, "grades")
    if not listed:
        return grades
    if len(listed) != len(grades):
        raise GradeError(f"{len(listed)} grades for {len(grades)} relevant_ids")
    return {id_: _grade(grade) for id_, grade in zip(grades, listed, strict=True)}


def grades_of_judgement(row: Mapping[str, Any]) -> dict[str, int]:
    """Grades of a row of judgements, which may judge one memory: a `memory_id`, its `grade`."""
    name = next((name for name in _ONE_ID if name in row), None)
    if name is None or "relevant_ids" in row or "grades" in row:
        return grades_of_row(row)
    grade = next((row[key] for key in _ONE_GRADE if key in row), RELEVANT)
    return {str(row[name]): _grade(grade)}


def _listed(row: Mapping[str, Any], name: str) -> list[Any]:
    value = row.get(name)
    if value is not None and not isinstance(value, list):
        raise GradeError(f"{name} is {value!r}, not a list")
    return value or []


def _grade(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise GradeError(f"the grade {value!r} is not a whole number")
    if not math.isfinite(value) or value != int(value):
        raise GradeError(f"the grade {value!r} is not a whole number")
    return int(value)


#: Whose memories a corpus holds that names no users.
ONLY_USER = "local"
#: Which queries are meant when all of them are.
ALL = "all"
UNSTRATIFIED = "all queries"

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationQuery:
    """A question put to a corpus, and what is known about its answer."""

    id: str
    text: str
    user: str = ONLY_USER
    stratum: str = UNSTRATIFIED
    split: str | None = None
    as_of: datetime | None = None
    #: Judged memories: 0 is not relevant, 1 and more are.
    grades: Mapping[str, int] = field(default_factory=dict)
    stale: tuple[str, ...] = ()  #: memories that state what held before

    @property
    def relevant(self) -> dict[str, int]:
        """The memories that matter, with their grades."""
        return {id_: grade for id_, grade in self.grades.items() if grade > 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two memories of one user that look like states of one thing."""

    newer: str
    older: str
    outdates: bool  #: whether the newer outdates the older; else both hold
    user: str = ONLY_USER
    shape: str = ""
    announced: bool | None = None  #: whether the newer says that something has changed
    split: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSet:
    """A corpus, the queries put to it and the judgements."""

    name: str
    fingerprint: str  #: the same for the same content, compressed or not
    corpus: tuple[Record, ...]
    queries: tuple[EvaluationQuery, ...]
    pairs: tuple[Pair, ...] = ()
    unasked: tuple[str, ...] = ()  #: query ids that are judged and do not exist

    @property
    def users(self) -> dict[str, list[Record]]:
        """Each user's records, in the order of the corpus."""
        owned: dict[str, list[Record]] = {}
        for record in self.corpus:
            owned.setdefault(user_of(record), []).append(record)
        return owned

    @property
    def top_grade(self) -> int:
        """The best grade that was given; 1 when nothing but relevance was judged."""
        return max((g for q in self.queries for g in q.grades.values()), default=1)

    def of_split(self, split: str) -> tuple[EvaluationQuery, ...]:
        """The queries of a split.

        Raises:
            InvalidData: there are none.
        """
        chosen = tuple(q for q in self.queries if split in (ALL, q.split))
        if not chosen:
            splits = sorted({q.split for q in self.queries if q.split})
            has = f"has the splits {', '.join(splits)}" if splits else "is not split"
            raise InvalidData(
                f"no query of {self.name} is in the split {split!r}",
                hint=f"The set {has}; `--split all` takes every query.",
            )
        return chosen

    def pairs_of(self, split: str) -> tuple[Pair, ...]:
        """The pairs of a split."""
        return tuple(pair for pair in self.pairs if split in (ALL, pair.split))


def load(folder: Path) -> EvaluationSet:
    """Read a set, exactly as it is; `validation.problems` says what is wrong with it.

    Raises:
        InvalidData: a file is missing, or a row cannot be understood.
    """
    if not folder.is_dir():
        raise InvalidData(f"{str(folder)!r} is not a folder", hint=_layout_hint())
    above = folder.resolve().parent
    is_version = not _find(folder, "corpus") and bool(_find(above, "corpus"))
    first, *later = [above, folder] if is_version else [folder]
    digest = hashlib.sha256()
    files: dict[str, list[tuple[int, Record]]] = {}
    for name in ("corpus", "queries", "qrels", "queries_unanswerable", "pairs"):
        paths = [_find(first, name, required=name in ("corpus", "queries"))]
        paths += [_find(version, name) for version in later]
        files[name] = [row for path in paths if path for row in _rows(path, digest)]
    judged = _judgements(folder, files["qrels"])
    rows = files["queries"] + files["queries_unanswerable"]
    queries = tuple(_query(folder, number, row, judged) for number, row in rows)
    return EvaluationSet(
        name=f"{above.name}-{folder.resolve().name}" if is_version else folder.resolve().name,
        fingerprint=digest.hexdigest(),
        corpus=tuple(_record(folder, number, row) for number, row in files["corpus"]),
        queries=queries,
        pairs=tuple(_pair(folder, number, row) for number, row in files["pairs"]),
        unasked=tuple({*(judged or ())} - {query.id for query in queries}),
    )


def user_of(row: Record) -> str:
    """Whose row this is."""
    user = row.get("user_id")
    return ONLY_USER if user in (None, "") else str(user)


def superseded_by(row: Record) -> list[str]:
    """The ids of the memories that a record stands in the place of."""
    value = row.get("supersedes") or []
    return [*dict.fromkeys(map(str, value if isinstance(value, list) else [value]))]


def _layout_hint() -> str:
    return "A set is a folder with corpus, queries and qrels as .jsonl or .jsonl.gz."


def _find(folder: Path, name: str, *, required: bool = False) -> Path | None:
    for ending in (".jsonl", ".jsonl.gz"):
        path = folder / f"{name}{ending}"
        if path.is_file():
            return path
    if required:
        raise InvalidData(f"{str(folder)!r} has no {name}.jsonl", hint=_layout_hint())
    return None


def _rows(path: Path, digest: Any) -> Iterator[tuple[int, Record]]:  # noqa: ANN401  hashlib's
    """The rows of a file with their line numbers; the digest takes in what they say."""
    digest.update(path.name.partition(".")[0].encode() + b"\n")
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                digest.update(line.strip() + b"\n")
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise InvalidData(f"{path.name} line {number} is not a JSON object")
                yield number, row
    except (json.JSONDecodeError, UnicodeDecodeError) as exc:
        raise InvalidData(f"{path.name} line {number} is not JSON: {exc}") from exc
    except (OSError, EOFError, zlib.error) as exc:
        raise InvalidData(f"{str(path)!r} cannot be read: {exc}") from exc


def _record(folder: Path, number: int, row: Record) -> Record:
    if row.get("id") in (None, "") or not isinstance(row.get("content"), str):
        raise InvalidData(f"{folder.name}: corpus line {number} needs an id and a content")
    try:
        row["content"].encode()
    except UnicodeEncodeError:
        raise InvalidData(
            f"{folder.name}: the content of corpus line {number} holds half a character"
        ) from None
    return row | {"id": str(row["id"])}


def _judgements(
    folder: Path, rows: Iterable[tuple[int, Record]]
) -> Mapping[str, dict[str, int]] | None:
    """Grades by query; None when there is no file of judgements."""
    judged: dict[str, dict[str, int]] = {}
    for number, row in rows:
        if row.get("query_id") in (None, ""):
            raise InvalidData(f"{folder.name}: qrels line {number} has no query_id")
        judged.setdefault(str(row["query_id"]), {}).update(
            _grades(row, f"{folder.name}: qrels line {number}", grades_of_judgement)
        )
    return judged or None


def _query(
    folder: Path, number: int, row: Record, judged: Mapping[str, dict[str, int]] | None
) -> EvaluationQuery:
    where = f"{folder.name}: queries line {number}"
    if row.get("query_id") in (None, "") or not isinstance(row.get("text"), str):
        raise InvalidData(f"{where} needs a query_id and a text")
    id_ = str(row["query_id"])
    own = _grades(row, where)
    return EvaluationQuery(
        id=id_,
        text=row["text"],
        user=user_of(row),
        stratum=str(row.get("stratum") or UNSTRATIFIED),
        split=str(row["split"]) if row.get("split") else None,
        as_of=moment(row["as_of"], where) if row.get("as_of") else None,
        grades=own if judged is None else judged.get(id_, own),
        stale=tuple(map(str, row.get("stale_ids") or ())),
    )


_LABELS = {"outdates": True, "both-true": False}


def _pair(folder: Path, number: int, row: Record) -> Pair:
    if not row.get("newer") or not row.get("older") or row.get("label") not in _LABELS:
        labels = " or ".join(_LABELS)
        raise InvalidData(
            f"{folder.name}: pairs line {number} needs a newer and an older memory "
            f"and the label {labels}"
        )
    return Pair(
        newer=str(row["newer"]),
        older=str(row["older"]),
        outdates=_LABELS[row["label"]],
        user=user_of(row),
        shape=str(row.get("shape") or ""),
        announced=row.get("announced"),
        split=str(row["split"]) if row.get("split") else None,
    )


def _grades(
    row: Record, where: str, read: Callable[[Record], dict[str, int]] = grades_of_row
) -> dict[str, int]:
    try:
        return read(row)
    except GradeError as exc:
        raise InvalidData(f"{where}: {exc}") from exc


def moment(text: object, where: str) -> datetime:
    """A time of a row.

    Raises:
        InvalidData: it cannot be read.
    """
    try:
        return datetime.fromisoformat(str(text))
    except ValueError:
        raise InvalidData(f"{where}: {text!r} is not a time in ISO 8601") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back for a query."""

    ranked: tuple[str, ...]  #: ids of the evaluation set, as they are displayed
    milliseconds: float
    groups: tuple[frozenset[str], ...] = ()  #: memories that are given as states of one thing
    confidences: tuple[float, ...] | None = None  #: of each of them; None when nothing is said
    verdict: str | None = None  #: found, perhaps or nothing; None when it is not said
    folded: frozenset[str] = frozenset()  #: of them those that are not given unless all are wanted
    #: By leg: the rank it gave to memories of the answer and to relevant ones.
    legs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    leg_milliseconds: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()

    @property
    def confidence(self) -> float | None:
        """Of the surest memory; 0 when there is none, None when nothing is said."""
        return None if self.confidences is None else max(self.confidences, default=0.0)


class Measured(Protocol):
    """Something that answers the queries of a set whose corpus it holds."""

    def ask(self, query: EvaluationQuery) -> Answer:
        """The best memories for a query."""

    @property
    def recipe(self) -> Mapping[str, str]:
        """What it says about its ranking; known once it has been asked."""

    @property
    def faults(self) -> tuple[str, ...]:
        """Promises about rankings that its answers broke."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the figures should know."""
