# ruff: noqa: INP001, T201  a script beside the docs whose output is its purpose
"""The tables of docs/explanation/open-questions.md: what benchmarks/open_questions.py kept."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "open_questions.json"

Measured = dict[str, Any]


def _part(name: str) -> Measured:
    """What was measured of a part, by set."""
    results: Measured = json.loads(RESULTS.read_text("utf-8"))
    measured: Measured = results[name]
    return measured


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _signed(value: float) -> str:
    return ("-" if value < 0 else "+") + _share(abs(value))


def _change(row: Measured) -> str:
    """`+.005 (-.001 to +.011), cannot tell`."""
    interval = f"{_signed(row['low'])} to {_signed(row['high'])}"
    return f"{_signed(row['difference'])} ({interval}), {row['verdict']}"


def _print(part: str, head: str, rows: Iterable[Sequence[str]], *, left: int = 2) -> None:
    """A table, and by which code and on which machine it was measured."""
    print(f"| {head} |")
    print(f"|{'---|' * left}{'---:|' * (head.count('|') + 1 - left)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    sets = _part(part).values()
    revisions = ", ".join(sorted({f"`{each['revision']}`" for each in sets}))
    machines = ", ".join(sorted({each["machine"] for each in sets}))
    last = max(each["created_at"] for each in sets)[:10]
    print(f"\n*`python benchmarks/open_questions.py {part}` at {revisions}, {last}; {machines}.*")


def encoders() -> None:
    """Print what each embedder finds, its time and its size."""
    _print(
        "encoders",
        "set | embedder | queries | by words | by cosine | beside words | ms | bytes",
        (
            [
                data,
                name,
                f"{each['queries']:,}",
                _share(each["words"]),
                f"{_share(alone['after'])} ({alone['verdict']})",
                f"{_share(each['beside'][name]['after'])} ({each['beside'][name]['verdict']})",
                f"{each['costs'][name]['milliseconds']:.2f}",
                f"{each['costs'][name]['bytes']:,}",
            ]
            for data, each in _part("encoders").items()
            for name, alone in each["alone"].items()
        ),
    )


def precision() -> None:
    """Print how each precision ranks."""
    _print(
        "precision",
        "set | vectors of | queries | 32 bits | change (95% interval) | the same first ten",
        (
            [
                data,
                name,
                f"{each['queries']:,}",
                _share(each["32 bits"]),
                _change(row),
                f"{each['same_first_ten'][name]:.1%}",
            ]
            for data, each in _part("precision").items()
            for name, row in each["ways"].items()
        ),
    )


def rerankers() -> None:
    """Print what each reranker is worth, and its time."""
    _print(
        "rerankers",
        "set | reranker | queries | as shipped | change (95% interval) | p50, ms | p95, ms",
        (
            [
                data,
                name,
                f"{each['queries']:,}",
                _share(each["as shipped"]),
                _change(row),
                *(f"{each['milliseconds'][name][at]:.1f}" for at in ("p50", "p95")),
            ]
            for data, each in _part("rerankers").items()
            for name, row in each["arms"].items()
        ),
    )


def concepts() -> None:
    """Print what embeddings of concepts are worth."""
    _print(
        "concepts",
        "set | what | queries | as shipped | change (95% interval) | won | lost",
        (
            [
                data,
                name,
                f"{each['queries']:,}",
                _share(each["as shipped"]),
                _change(row),
                str(row["wins"]),
                str(row["losses"]),
            ]
            for data, each in _part("concepts").items()
            for name, row in each["arms"].items()
        ),
    )


#: What is measured under which name: by words and connections, or by all three legs.
_WAYS = {"words alone": "without meaning", "as shipped": "as shipped"}


def terms() -> None:
    """Print what added terms are worth."""
    _print(
        "asking",
        "recall | questions | number | without | as `expanded` | in the text",
        (
            [
                label,
                name.removeprefix("terms, "),
                f"{row['arms']['as terms']['queries']:,}",
                _share(row["without"]),
                *(_change(row["arms"][arm]) for arm in ("as terms", "in the text")),
            ]
            for each in _part("asking").values()
            for way, label in _WAYS.items()
            for name, row in each[way].items()
            if name.startswith("terms")
        ),
    )


def focus() -> None:
    """Print what a focus and a boost are worth."""
    _print(
        "asking",
        "recall | what | queries | without | change (95% interval)",
        (
            [
                label,
                name,
                f"{row['queries']:,}",
                _share(each[way]["focus"]["without"]),
                _change(row),
            ]
            for each in _part("asking").values()
            for way, label in _WAYS.items()
            for name, row in each[way]["focus"]["arms"].items()
        ),
    )


def links() -> None:
    """Print how often a linked memory reaches the reader."""
    _print(
        "links",
        "kind | cases | reached without links | with them | as a hit | attached | pointed at",
        (
            [
                kind,
                f"{row['queries']:,}",
                f"{row['before']:.0%}",
                f"{row['after']:.0%}, {row['verdict']}",
                *(str(each["as"][kind][way]) for way in ("hit", "attached", "pointer")),
            ]
            for each in _part("links").values()
            for kind, row in each["kinds"].items()
        ),
        left=1,
    )


def superseding() -> None:
    """Print what `supersedes` links are worth."""
    _print(
        "links",
        "stratum | queries | links off | links on | change (95% interval)",
        (
            [
                name,
                f"{row['queries']:,}",
                _share(row["before"]),
                _share(row["after"]),
                _change(row),
            ]
            for each in _part("links").values()
            for name, row in each["supersedes"].items()
        ),
        left=1,
    )


def reader() -> None:
    """Print what the fixed reader answers, with each part of recall and without."""
    _print(
        "reader",
        "set | recall | queries | sentence | change (95% interval) | in five | its change",
        (row for data, each in _part("reader").items() for row in _reader_rows(data, each)),
    )


def _reader_rows(data: str, each: Measured) -> list[list[str]]:
    chosen, whole = each["sentence"], each["in five"]
    shipped = [_share(chosen["as shipped"]), "", _share(whole["as shipped"]), ""]
    rows = [[data, "as shipped", f"{each['queries']:,}", *shipped]]
    for name, row in chosen["arms"].items():
        other = whole["arms"][name]
        cells = [_share(row["after"]), _change(row), _share(other["after"]), _change(other)]
        rows.append([data, name, f"{each['queries']:,}", *cells])
    return rows
