"""How a row of an evaluation set says which memories are relevant, and how much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

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
    """The same of a row of judgements, which may judge one memory: a `memory_id`, its `grade`."""
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
