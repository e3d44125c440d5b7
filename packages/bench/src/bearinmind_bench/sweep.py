"""Many settings over one set: what each is worth against the shipped defaults.

A sweep chooses, so it never looks at the test split: what is chosen on it can no longer be reported
on it.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bearinmind.config import value_in
from bearinmind.errors import (
    FileMissing,
    InvalidData,
    InvalidInput,
    InvalidSetting,
    TooFewQueries,
)
from bearinmind_bench import inference, metrics
from bearinmind_bench.compare import Compared, compare, corrected
from bearinmind_bench.evaluation import ALL, EvaluationSet
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.results import Result
from bearinmind_bench.runner import Plan, run_arms

DEV, TEST = "dev", "test"
SHIPPED = "as shipped"
# A comma outside brackets and quotes.
_COMMA = re.compile(r""",(?=(?:[^"'\[\]{}]|"[^"]*"|'[^']*'|\[[^\]]*\]|\{[^}]*\})*$)""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """Settings under a name."""

    name: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmResult:
    """What an arm reached, and how it compares with what is shipped."""

    arm: Arm
    result: Result
    compared: Compared | None  #: None for what is shipped itself


def arms_of(varied: Sequence[str], *, grid: bool = False) -> list[Arm]:
    """Arms from texts such as `lexical.b=0.3,0.4`: one setting at a time, or every combination."""
    choices = [[*_choices(text)] for text in varied]
    combined = (
        itertools.product(*choices)
        if grid
        else ((choice,) for setting in choices for choice in setting)
    )
    return [Arm(name=", ".join(texts), settings=assignments(texts)) for texts in combined]


def read_arms(path: Path) -> list[Arm]:
    """Arms from a file: `[[arm]]` tables, each with a name and its settings.

    Raises:
        FileMissing: there is none.
        InvalidData: it has another shape.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return [Arm(name=str(arm["name"]), settings=dict(arm["settings"])) for arm in table["arm"]]
    except FileNotFoundError:
        raise FileMissing(f"there is no file {str(path)!r}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise InvalidData(f"{str(path)!r} cannot be read: {exc}") from exc
    except (KeyError, TypeError, ValueError) as exc:
        raise InvalidData(
            f"{str(path)!r} has no arms", hint='Write [[arm]], name = "..." and settings = {...}.'
        ) from exc


def sweep(
    data: EvaluationSet,
    arms: Sequence[Arm],
    *,
    base: Mapping[str, Any] | None = None,
    split: str = DEV,
    metric: str = HEADLINE,
    progress: Callable[[int], None] = lambda _more: None,
) -> list[ArmResult]:
    """Every arm beside what is shipped; p-values are corrected for the number of arms.

    With `base`, those settings hold in every arm, and in what is shipped.

    Raises:
        InvalidInput: the split is one that figures are reported on.
        InvalidData: there is no such metric.
        TooFewQueries: there are not enough queries to conclude anything.
    """
    if split == TEST or (split == ALL and any(query.split == TEST for query in data.queries)):
        raise InvalidInput(
            "a sweep chooses settings, and what is chosen on the test split says nothing there",
            hint="Sweep on dev, then `bench run --split test` what you chose.",
        )
    plan = Plan(data=data, split=tunable_split(data) if split == DEV else split)
    _refuse_vain(plan, metric)
    every = [Arm(name=SHIPPED, settings={}), *arms]
    results = [*run_arms(plan, [{**(base or {}), **arm.settings} for arm in every], progress)]
    compared = [compare(results[0], after, [metric]).headline for after in results[1:]]
    return [
        ArmResult(arm=arm, result=result, compared=comparison)
        for arm, result, comparison in zip(
            every, results, [None, *corrected(compared)], strict=True
        )
    ]


def _refuse_vain(plan: Plan, metric: str) -> None:
    """Say before anything is measured that nothing could be concluded from it."""
    stale = any(query.stale for query in plan.data.of_split(plan.split))
    known = metrics.names(plan.data.top_grade, stale=stale)
    if metric not in known:
        raise InvalidData(f"{metric!r} is not a metric", hint=f"Use {', '.join(known)}.")
    count = sum(bool(query.relevant) for query in plan.data.of_split(plan.split))
    if count < inference.MINIMUM_QUERIES:
        raise TooFewQueries(
            f"{count} answerable queries are in the split {plan.split!r}; "
            f"below {inference.MINIMUM_QUERIES} nothing is concluded"
        )


def tunable_split(data: EvaluationSet) -> str:
    """The development split; every query when a set is not split."""
    return DEV if any(query.split for query in data.queries) else ALL


def _choices(text: str) -> Iterable[str]:
    """`b=0.3,0.4` becomes `b=0.3` and `b=0.4`."""
    name, equals, values = text.partition("=")
    if not equals:
        assignments([text])  # says what is wrong
    return [f"{name}={value}" for value in separated(values)]


def assignments(texts: Iterable[str]) -> dict[str, Any]:
    """Settings from texts such as `pool=100` or, for one entry of a table, `lexical.b=0.3`."""
    settings: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidSetting(
                f"{text!r} sets nothing", hint="Write NAME=VALUE, such as pool=100."
            )
        table, dot, key = name.strip().partition(".")
        if dot:
            entries = settings.get(table)
            settings[table] = {**entries} if isinstance(entries, dict) else {}
            settings[table][key] = value_in(value.strip())
        else:
            settings[table] = value_in(value.strip())
    return settings


def separated(text: str) -> list[str]:
    """The parts between commas; a comma in brackets or quotes belongs to its part."""
    return [part for piece in _COMMA.split(text) if (part := piece.strip())]
