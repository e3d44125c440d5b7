# ruff: noqa: INP001, T201  a script beside the docs whose output is its purpose
"""The tables of docs/explanation/the-graph.md, made from what `make bench-graph` left behind.

What the graph is worth on test queries comes from what `make bench-quality` left behind.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from research.graph_shapes import RANKS_ALONE, SHAPES, SHIPPED, WITHOUT

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "graph.json"
OVERALL = "overall"
ORDER = ("agent-store", "2wiki", "musique", "musique-openie", "locomo-facts", "locomo-turns")

Measured = dict[str, Any]
#: By set: the product without the graph, compared with the product, and the product.
Pairs = Iterable[tuple[str, Measured, Measured]]


def _part(name: str) -> Measured:
    """What was measured of a part, by set."""
    results: Measured = json.loads(RESULTS.read_text("utf-8")) if RESULTS.is_file() else {}
    measured = results.get(name, {})
    known = [data for data in ORDER if data in measured]
    return {data: measured[data] for data in [*known, *sorted(measured.keys() - {*ORDER})]}


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _signed(value: float) -> str:
    return ("-" if value < 0 else "+") + _share(abs(value))


def _change(row: Measured) -> str:
    interval = f"{_signed(row['low'])} to {_signed(row['high'])}"
    return f"{_signed(row['difference'])} ({interval})"


def _print(head: str, rows: Iterable[Sequence[str]], *, left: int = 1) -> None:
    """A table; so many columns are of words, the others of numbers."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if not lines:
        raise LookupError(f"nothing was measured for the table {head!r}")
    print(f"| {head} |")
    print(f"|{'---|' * left}{'---:|' * (head.count('|') + 1 - left)}")
    print("\n".join(lines))


def _rows(arm: Measured, base: str, metric: str) -> dict[str, Measured]:
    """By stratum: how an arm differs from a base in a metric."""
    rows = arm.get("against", {}).get(base, [])
    return {row["stratum"]: row for row in rows if row["metric"] == metric}


# ---- with and without --------------------------------------------------------------------------
# From what the benchmark page is made of: one condition has one figure.


def worth(pairs: Pairs) -> None:
    """Print every set with the graph and without it."""
    _print(
        "set | queries | recall@5 without | recall@5 with | without | with "
        "| change (95% interval) | won | lost | verdict",
        (
            [
                data,
                f"{off['compared']['queries']:,}",
                *(_share(row["result"]["overall"]["recall@5"]) for row in (off, on)),
                *_change_cells(off["compared"]),
            ]
            for data, off, on in pairs
        ),
    )


def _change_cells(row: Measured) -> list[str]:
    return [
        _share(row["before"]),
        _share(row["after"]),
        _change(row),
        str(row["wins"]),
        str(row["losses"]),
        row["verdict"],
    ]


def worth_by_stratum(pairs: Pairs) -> None:
    """Print nDCG@10 of every stratum of every set with the graph and without it."""
    _print(
        "set | stratum | queries | without | with | change (95% interval) | won | lost | verdict",
        (
            [data, row["stratum"], f"{row['queries']:,}", *_change_cells(row)]
            for data, off, _ in pairs
            for row in off["strata"]
        ),
        left=2,
    )


def worth_in(metric: str, pairs: Pairs) -> None:
    """Print another metric of every stratum that has it, with the graph and without it."""
    _print(
        "set | stratum | queries | without | with",
        (
            [
                data,
                stratum,
                f"{means['queries']:,.0f}",
                *map(_share, (before[metric], means[metric])),
            ]
            for data, off, on in pairs
            for stratum, means in on["result"]["strata"].items()
            if metric in means and (before := off["result"]["strata"][stratum])
        ),
        left=2,
    )


def brought(pairs: Pairs) -> None:
    """Print what the graph leg alone proposed, and what came into the first ten by it alone."""
    _print(
        "set | relevant by the graph alone | others by the graph alone in a first ten",
        (
            [data, str(leg["alone"]), str(leg["placed_alone"])]
            for data, _, on in pairs
            for leg in [on["result"]["legs"]["graph"]]
        ),
    )


def costs(pairs: Pairs) -> None:
    """Print every stratum in which the graph costs something, corrected or not."""
    measured = [
        f"- {data}, {row['stratum']}, {row['metric']}: {_change(row)}, {row['verdict']}"
        for data, off, _ in pairs
        for row in [off["compared"], *off["strata"]]
        if row["high"] < 0
    ]
    print("\n".join(measured) if measured else "None: no interval lies below zero.")


# ---- shapes ------------------------------------------------------------------------------------


def descriptions() -> None:
    """Print what every shape is."""
    _print("shape | what it is", ([shape.name, shape.what] for shape in SHAPES), left=2)


def shapes(metric: str, base: str = WITHOUT) -> None:
    """Print every shape on every set, with its verdict against a base."""
    _arms(_part("shapes"), metric, base)


def _arms(part: Measured, metric: str, base: str) -> None:
    """A row for each arm: its figure on each set, and what it is against a base."""
    shown = {data: measured for data, measured in part.items() if metric in _metrics(measured)}
    names = dict.fromkeys(name for measured in shown.values() for name in measured["arms"])
    _print(
        " | ".join(["", *shown]),
        (
            [name, *(_cell(measured, name, metric, base) for measured in shown.values())]
            for name in names
        ),
    )


def _metrics(measured: Measured) -> Measured:
    means: Measured = next(iter(measured["arms"].values()))["means"][OVERALL]
    return means


def _cell(measured: Measured, name: str, metric: str, base: str) -> str:
    if name not in measured["arms"]:
        return ""
    arm = measured["arms"][name]
    figure = _share(arm["means"][OVERALL][metric])
    row = _rows(arm, base, metric).get(OVERALL)
    return f"{figure}, {row['verdict']}" if row else f"**{figure}**"


def ranks(metric: str = "ndcg@10") -> None:
    """Print what PageRank adds to fusion by ranks, as the earlier system had it."""
    part = _part("shapes")
    names = [x.name for x in SHAPES if RANKS_ALONE in (x.name, x.adds_to)] if part else []
    _print(
        " | ".join(["", *part]),
        (
            [name, *(_cell(measured, name, metric, RANKS_ALONE) for measured in part.values())]
            for name in names
        ),
    )


def shapes_by_stratum(data: str, metric: str = "ndcg@10") -> None:
    """Print every shape on every stratum of a set."""
    measured = _part("shapes").get(data)
    if not measured:
        raise LookupError(f"no shape was measured on {data}")
    strata = [name for name in measured["arms"][WITHOUT]["means"] if name != OVERALL]
    rows = []
    for name, arm in measured["arms"].items():
        against = _rows(arm, WITHOUT, metric)
        marks = [_mark(against.get(stratum)) for stratum in strata]
        cells = [_share(arm["means"][stratum].get(metric, 0.0)) for stratum in strata]
        rows.append([name, *(f"{x}{mark}" for x, mark in zip(cells, marks, strict=True))])
    _print(" | ".join(["", *strata]), rows)


def _mark(row: Measured | None) -> str:
    """A plus for better, a minus for worse, nothing where it cannot be told."""
    return {"better": " +", "worse": " -"}.get(row["verdict"], "") if row else ""


def alone(depth: int = 10) -> None:
    """Print how many memories each shape alone put among the first, relevant and not."""
    part = _part("shapes")
    names = [shape.name for shape in SHAPES if part and shape.name != WITHOUT]
    _print(
        " | ".join(["", *part]),
        (
            [name, *(_alone_cell(measured["arms"].get(name), depth) for measured in part.values())]
            for name in names
        ),
    )


def _alone_cell(arm: Measured | None, depth: int) -> str:
    if not arm:
        return ""
    measured = arm["alone"][str(depth)]
    return f"{measured['relevant']} / {measured['others']}"


def times() -> None:
    """Print how long the graph leg of each shape takes."""
    part = _part("shapes")
    off = {"graph": 0.0}
    names = [x.name for x in SHAPES if part and x.settings.get("leg_weights") != off]
    _print(
        " | ".join(["", *part]),
        ([name, *(_time_cell(measured, name) for measured in part.values())] for name in names),
    )


def _time_cell(measured: Measured, name: str) -> str:
    times = measured["arms"].get(name, {}).get("milliseconds")
    return f"{times['p50']:.0f} / {times['p95']:.0f}" if times else ""


# ---- extractors and weights --------------------------------------------------------------------


def building() -> None:
    """Print what each extractor made of each set, and what it took."""
    _print(
        "set | extractor | memories | concepts | mentions | relations | ms for a memory",
        _building(),
        left=2,
    )


def _building() -> Iterator[list[str]]:
    for data, measured in _part("extractors").items():
        for name, built in measured["building"].items():
            if "missing" in built:
                yield [data, name, "not installed", "", "", "", ""]
                continue
            taken = built.get("imported", {})
            yield [
                data,
                name,
                f"{built['memories']:,}",
                f"{built['holds']['concepts']:,}",
                f"{built['holds']['mentions']:,}",
                f"{built['holds']['relations']:,}",
                "" if taken else f"{built['seconds'] / built['memories'] * 1e3:.1f}",
            ]


def extractors(metric: str) -> None:
    """Print every extractor with every shape for which it may matter."""
    _arms(_part("extractors"), metric, f"rules: {SHIPPED}")


def weights(metric: str = "ndcg@10") -> None:
    """Print what each weight of the leg is worth around what is shipped."""
    _arms(_part("weights"), metric, SHIPPED)


# ---- where figures come from -------------------------------------------------------------------


def provenance(part: str) -> None:
    """Print which queries a part was measured on, and by which code."""
    sets = _part(part)
    splits = ", ".join(sorted({measured["split"] for measured in sets.values()}))
    measured_by: dict[str, list[str]] = {}
    for data, measured in sets.items():
        measured_by.setdefault(_code(measured), []).append(data)
    where = (
        "; ".join(f"{', '.join(names)}: {code}" for code, names in measured_by.items())
        if len(measured_by) > 1
        else next(iter(measured_by))
    )
    last = max(measured["created_at"] for measured in sets.values())[:10]
    print(f"*Queries: {splits}. Measured at {where}; last {last}.*")


def _code(measured: Measured) -> str:
    revision = measured.get("revision") or "+changes"
    if revision.endswith("+changes"):
        return f"a revision that was not recorded, code `{measured['code'][:12]}`"
    return f"revision `{revision}`"
