"""The answers of `bearinmind bench own` as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bearinmind.surfaces.cli.terminal import many
from bearinmind_bench.inference import LEVEL, Verdict
from bearinmind_bench.own.folder import About, Figure, Trial
from bearinmind_bench.own.judgements import Agreement, Judged, Kappa
from bearinmind_bench.own.trial import PRESENT, Adopted, Arm, described
from bearinmind_bench.render import share, signed

_SMALLEST = 0.001  # p that is told exactly
_FAIR = 0.6  # "substantial" in the scale of Landis and Koch (1977)


def built(about: About, where: str, judged: int) -> Iterator[str]:
    """What a new set is made of."""
    queries = sum(made.queries for made in about.sources)
    yield f"{_memories(about.memories)} and {many(queries, 'query', 'queries')} in {where}"
    rows = []
    for made in about.sources:
        rejected = "; ".join(f"{count} rejected: {why}" for why, count in made.rejected.items())
        rows.append((made.source, f"{made.queries:,}", made.why_none or rejected))
    yield from table(rows, right={1})
    yield f"Queries with a memory that is known to be relevant: {judged:,}"
    if queries > judged:
        yield "For the others: `bearinmind bench own judge` or `bearinmind bench own label`."
    if about.left_out:
        yield f"Left out, because they are questions themselves: {_memories(about.left_out)}"
    if about.sensitive:
        yield f"Left alone, because they are sensitive: {_memories(about.sensitive)}"


def agreement(result: Agreement) -> Iterator[str]:
    """How far the user and a judge agree."""
    yield f"{result.judge} and you: {result.same} of {result.pairs} grades are the same"
    yield from table(
        [
            ("Cohen's kappa", _kappa(result.kappa)),
            ("linear-weighted kappa", _kappa(result.weighted)),
        ]
    )
    head = ("you \\ judge", *map(str, range(len(result.table))))
    rows = [(str(grade), *map(str, row)) for grade, row in enumerate(result.table)]
    yield from table([head, *rows], right={*range(len(head))})
    if result.weighted.low is not None and result.weighted.low < _FAIR:
        yield f"Too few pairs, or too little agreement, to rely on {result.judge} alone."


def needed(model: str, calls: int, tokens: int) -> str:
    """What asking a model would take."""
    return f"{model} would be called {calls:,} times, with about {tokens:,} tokens in all."


def judged(judge: str, done: Judged, pooled: int, missing: int, holes: int) -> Iterator[str]:
    """What a judge did, and what is left."""
    yield (
        f"{judge} graded {done.graded:,} of {pooled:,} pooled pairs just now; "
        f"{missing:,} wait for its grade."
    )
    if done.unusable:
        yield f"{done.unusable:,} answers could not be used; the same command asks again."
    yield f"{holes:,} pooled pairs have no grade from anyone."


def compared(trial: Trial, before: Arm, after: Arm, looks: int, unjudged: int) -> Iterator[str]:
    """The answer of a comparison."""
    yield f"A  {before}"
    yield f"B  {after}"
    yield ""
    yield from _figures(trial.figures)
    yield ""
    first = trial.figures[0]
    if first.verdict in (Verdict.BETTER, Verdict.WORSE):
        change = f"{first.metric} changes by {signed(first.difference)}"
        yield f"B is {first.verdict} than A: {change}."
    else:
        yield f"B is neither better nor worse than A as far as {first.queries:,} queries can tell."
    lacking = trial.unjudged
    if lacking["before"] or lacking["after"]:
        yield (
            f"Not judged: {lacking['before']:,} of the {trial.given['before']:,} memories in the "
            f"first tens of A, {lacking['after']:,} of {trial.given['after']:,} in those of B. "
            "They count as not relevant; `bearinmind bench own judge` or `label` grades them."
        )
    if unjudged:
        left = many(unjudged, "query", "queries")
        yield f"Left out, because nobody judged anything about them: {left}."
    if looks:
        yield (
            f"Comparisons on this set before this one: {looks:,}. "
            "Of twenty that change nothing, one looks like a difference by chance."
        )


def adopted(trial: Trial, done: Adopted | None) -> Iterator[str]:
    """What changed in the configuration file, or why nothing did."""
    if done is None:
        yield f"Nothing was adopted: the answer is {trial.verdict!r}, and not 'better'."
        return
    yield f"Adopted in {done.file}:"
    for change in done.changes:
        before = "not set" if change.before is None else described({change.name: change.before})
        yield f"  {described({change.name: change.after})} (was: {before})"
    if done.backup:
        yield f"The file as it was: {done.backup}"


def history(trials: Sequence[Trial]) -> Iterator[str]:
    """Every comparison so far."""
    if not trials:
        yield "Nothing was compared yet."
        return
    head = ("when", "change", "n", "B - A", f"{LEVEL:.0%} interval", "answer")
    yield from table([head, *map(_trial, trials)], right={2, 3})


def _trial(trial: Trial) -> tuple[str, ...]:
    first = trial.figures[0]
    against = f" against {described(trial.against)}" if trial.against else ""
    return (
        trial.at[:10],
        (described(trial.changed) or PRESENT) + against,
        f"{first.queries:,}",
        signed(first.difference),
        _interval(first),
        trial.verdict + (", adopted" if trial.adopted else ""),
    )


def _figures(figures: Iterable[Figure]) -> Iterator[str]:
    head = ("", "n", "A", "B", "B - A", f"{LEVEL:.0%} interval", "p", "answer")
    rows = [
        (
            f"{row.stratum} {row.metric}",
            f"{row.queries:,}",
            share(row.before),
            share(row.after),
            signed(row.difference),
            *(("", "", "too few") if row.verdict == Verdict.TOO_FEW else _concluded(row)),
        )
        for row in figures
    ]
    yield from table([head, *rows], right={1, 2, 3, 4, 6})


def _concluded(row: Figure) -> tuple[str, ...]:
    p = share(row.corrected_p) if row.corrected_p >= _SMALLEST else f"<{share(_SMALLEST)}"
    return _interval(row), p, row.verdict


def _interval(row: Figure) -> str:
    return f"{signed(row.low)} to {signed(row.high)}"


def _kappa(kappa: Kappa) -> str:
    if kappa.value is None or kappa.low is None or kappa.high is None:
        return "cannot be computed: all grades are the same"
    return f"{kappa.value:.2f} ({LEVEL:.0%} interval {kappa.low:.2f} to {kappa.high:.2f})"


def _memories(count: int) -> str:
    return many(count, "memory", "memories")


def table(rows: Sequence[Sequence[str]], right: set[int] | None = None) -> Iterator[str]:
    """Rows in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if place in (right or ()) else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield f"  {'  '.join(cells)}".rstrip()
