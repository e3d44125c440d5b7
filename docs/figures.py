# ruff: noqa: INP001, T201  a script beside the docs whose output is its purpose
"""The tables of figures in the docs, made from what `bearinmind bench check` left in results."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
CONDITIONS = ROOT / "benchmarks" / "conditions"
#: The files of the published figures, each measured in one run, and what their sets hold.
QUALITY = {"quality": "memories and conversations", "passages": "passages"}
PRODUCT = "bearinmind"
EARLIER = "earlier"
UNREAD = "without a second look"
LEGS = ("words alone", "meaning alone")
HEADLINE = "ndcg@10"
PEER_PRODUCT = "Bear in Mind"
STALE_ABOVE = "stale_above_current"
STALE_LABEL = "stale above current"
WORDS = ("Bear in Mind is ahead by", "verdict")
SPEEDS = ("stored/s", "recall p50, ms", "p95, ms", "memory, MiB")

Row = dict[str, Any]


def _read(name: str) -> list[Row]:
    """What was measured, a row for each condition."""
    return [row for row in _results(name)["conditions"] if row["result"]]


def _results(name: str) -> Row:
    results: Row = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    return results


def _quality() -> list[Row]:
    return [row for name in QUALITY for row in _read(name)]


def _by_set(rows: list[Row]) -> dict[str, list[Row]]:
    """The rows of each set, in the order of the file."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["condition"]["data"], []).append(row)
    return found


def _revisions(rows: list[Row]) -> str:
    return ", ".join(sorted({row["result"]["manifest"]["revision"] for row in rows}))


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _signed(value: float) -> str:
    return ("-" if value < 0 else "+") + _share(abs(value))


def _interval(row: Row, stratum: str = "overall") -> str:
    low, high = row["result"]["intervals"][stratum][HEADLINE]
    return f"{_share(low)} to {_share(high)}"


def _compared(row: Row) -> str:
    """How the product compares with a row."""
    comparison = row["compared"]
    if not comparison:
        return ""
    low, high = _signed(comparison["low"]), _signed(comparison["high"])
    return f"{_signed(comparison['difference'])} ({low} to {high})"


def _p(value: float) -> str:
    return "< .001" if value < 0.001 else _share(value)  # noqa: PLR2004


def _label(row: Row) -> str:
    """What was measured: the part of a condition's name behind the set."""
    return str(row["condition"]["name"].partition(": ")[2])


def _row_named(rows: list[Row], label: str) -> Row:
    return next(row for row in rows if _label(row) == label)


def with_and_without() -> list[tuple[str, Row, Row]]:
    """By set: the product without the graph, compared with the product, and the product."""
    return [
        (name, _row_named(rows, "without the graph"), _row_named(rows, PRODUCT))
        for name, rows in _by_set(_quality()).items()
    ]


def summary() -> None:
    """Print nDCG@10 of the product on every set, beside its legs alone and their usual fusion."""
    others = ("words alone", "meaning alone", "words and meaning by rrf")
    print("| set | queries | Bear in Mind | words alone | meaning alone | both by RRF |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, rows in _by_set(_quality()).items():
        figures = [_row_named(rows, label)["result"]["overall"] for label in (PRODUCT, *others)]
        best = max(_share(figure[HEADLINE]) for figure in figures)
        shares = [_share(figure[HEADLINE]) for figure in figures]
        cells = [f"**{share}**" if share == best else share for share in shares]
        print(f"| {name} | {figures[0]['queries']:,.0f} | {' | '.join(cells)} |")
    print(f"\nMeasured at revision {_revisions(_quality())} (`make bench-quality`).")


def headlines() -> None:
    """Print the product on every set, beside each of its legs and other ways to fuse them."""
    others = (
        "without the graph",
        "words alone",
        "meaning alone",
        "words and meaning by rrf",
        EARLIER,
    )
    print(
        "| set | queries | nDCG@10 (95% interval) | recall@5 | recall@10 | without the graph "
        "| words alone | meaning alone | both by RRF | earlier lexical path |"
    )
    print("|---|---:|---|---:|---:|---|---|---|---|---|")
    for name, rows in _by_set(_quality()).items():
        ours = _row_named(rows, PRODUCT)
        overall = ours["result"]["overall"]
        cells = (
            name,
            f"{overall['queries']:,.0f}",
            f"**{_share(overall[HEADLINE])}** ({_interval(ours)})",
            _share(overall["recall@5"]),
            _share(overall["recall@10"]),
            *(_beside(_row_named(rows, other)) for other in others),
        )
        print(f"| {' | '.join(cells)} |")


def _beside(row: Row) -> str:
    """A row's figure, and what Bear in Mind is beside it."""
    return f"{_share(row['result']['overall'][HEADLINE])}, {row['compared']['verdict']}"


def further() -> None:
    """Print the product on the further sets, beside each of its legs alone."""
    _print_header([], ("queries", "Bear in Mind", *LEGS))
    for name, rows in _by_set(_read("further")).items():
        overall = _row_named(rows, PRODUCT)["result"]["overall"]
        legs = [_beside(_row_named(rows, leg)) for leg in LEGS]
        cells = (name, f"{overall['queries']:,.0f}", f"**{_share(overall[HEADLINE])}**", *legs)
        print(f"| {' | '.join(cells)} |")


def second_look() -> None:
    """Print nDCG@10 with and without a second look, set by set."""
    _print_header([], ("queries", "nDCG@10", "without", "verdict"))
    for result_file in (*QUALITY, "further", "changes"):
        for name, rows in _by_set(_read(result_file)).items():
            pair = [row for row in rows if _label(row) in (PRODUCT, UNREAD)]
            if len(pair) != 2:  # noqa: PLR2004  one with and one without
                continue
            shares = [_share(row["result"]["overall"][HEADLINE]) for row in pair]
            queries = f"{pair[0]['result']['overall']['queries']:,.0f}"
            cells = (name, queries, *shares, pair[1]["compared"]["verdict"])
            print(f"| {' | '.join(cells)} |")


def own_sets() -> None:
    """Print what is said of things that change and of what nobody stored, on our own sets."""
    strata = ("unrelated", "same-topic", "near-miss")
    faults = (STALE_LABEL, "stale alone", *(f"`nothing`: {name}" for name in strata))
    _print_header([], ("nDCG@10", *faults, "kept", "calibration error"))
    for name, rows in _by_set(_read("changes")).items():
        for row in (row for row in rows if _label(row) in (PRODUCT, UNREAD)):
            overall, verdicts = row["result"]["overall"], row["result"]["verdicts"]
            shares = (
                overall.get(STALE_ABOVE),
                overall.get("stale_without_current@5"),
                *map(verdicts["nothing"].get, strata),
                verdicts["kept"]["overall"],
            )
            label = name if _label(row) == PRODUCT else UNREAD
            cells = ["" if share is None else f"{share:.1%}" for share in shares]
            error = _share(verdicts["calibration_error"])
            print(f"| {label} | {_share(overall[HEADLINE])} | {' | '.join(cells)} | {error} |")


def worse_strata() -> None:
    """Print every stratum in which a leg alone, or another fusion, is significantly better."""
    worse = [
        f"{row['condition']['name']}, {stratum['stratum']} ({_compared({'compared': stratum})})"
        for row in _quality()
        for stratum in row["strata"]
        if stratum["verdict"] == "worse"
    ]
    print("; ".join(worse) + "." if worse else "None.")


def together() -> None:
    """Print how the product compares with each baseline on the queries of several sets at once."""
    heads = ("queries", "Bear in Mind is ahead by (95% interval)", "p", "won", "lost", "verdict")
    _print_header([], ("against", *heads))
    every = (
        (kind, *x) for name, kind in QUALITY.items() for x in _results(name)["together"].items()
    )
    for kind, name, comparison in every:
        cells = (
            kind,
            name,
            f"{comparison['queries']:,}",
            _compared({"compared": comparison}),
            _p(comparison["corrected_p"]),
            str(comparison["wins"]),
            str(comparison["losses"]),
            comparison["verdict"],
        )
        print(f"| {' | '.join(cells)} |")


def together_with(retriever: str) -> None:
    """Print how the product compares with one baseline, in sentences."""
    for name, kind in QUALITY.items():
        comparison = _results(name)["together"][retriever]
        print(
            f"On the {comparison['queries']:,} queries of {kind} together it is ahead by "
            f"{_compared({'compared': comparison})}: **{comparison['verdict']}**."
        )


def every_result() -> None:
    """Print the product and every baseline, set by set."""
    for name, rows in _by_set(_quality()).items():
        manifest = rows[0]["result"]["manifest"]
        count = rows[0]["result"]["overall"]["queries"]
        print(f"### {name}\n")
        data = manifest["fingerprint"][:12]
        print(f"{count:,.0f} answerable queries of the test split; data `{data}`.")
        for note in manifest["adaptations"]:
            print(f"For Bear in Mind, {note}.")
        print(
            "\n| | nDCG@10 (95% interval) | recall@5 | recall@10 | MRR | MAP "
            "| Bear in Mind is ahead by (95% interval) | p | verdict |"
        )
        print("|---|---|---:|---:|---:|---:|---|---:|---|")
        for row in rows:
            _print_result(row)
        print()


def _print_result(row: Row) -> None:
    overall, compared = row["result"]["overall"], row["compared"]
    cells = (
        _label(row),
        f"{_share(overall[HEADLINE])} ({_interval(row)})",
        *(_share(overall[name]) for name in ("recall@5", "recall@10", "mrr", "map")),
        _compared(row),
        _p(compared["corrected_p"]) if compared else "",
        compared["verdict"] if compared else "",
    )
    print(f"| {' | '.join(cells)} |")


def strata(data: str) -> None:
    """Print nDCG@10 of every retriever on every stratum of a set."""
    rows = _by_set(_quality())[data]
    names = [*rows[0]["result"]["strata"]]
    counts = [f"{rows[0]['result']['strata'][name]['queries']:.0f}" for name in names]
    print(f"| | {' | '.join(names)} |")
    print(f"|---|{'---:|' * len(names)}")
    print(f"| queries | {' | '.join(counts)} |")
    for row in rows:
        by_stratum = row["result"]["strata"]
        cells = [_share(by_stratum[name][HEADLINE]) for name in names]
        print(f"| {_label(row)} | {' | '.join(cells)} |")


def versions() -> None:
    """Print nDCG@10 of both versions of agent-store, together and by stratum."""
    first = _row_named(_by_set(_quality())["agent-store"], PRODUCT)
    rows = [("version 1", first), *(("version 2", row) for row in _read("version_2"))]
    names = [*first["result"]["strata"]]
    print(f"| set | what | questions | all (95% interval) | {' | '.join(names)} |")
    print(f"|---|---|---:|---|{'---:|' * len(names)}")
    for version, row in rows:
        overall = row["result"]["overall"]
        cells = (
            version,
            _label(row),
            f"{overall['queries']:,.0f}",
            f"{_share(overall[HEADLINE])} ({_interval(row)})",
            *(_share(row["result"]["strata"][name][HEADLINE]) for name in names),
        )
        print(f"| {' | '.join(cells)} |")


def abstention(data: str) -> None:
    """Print what a floor for the probability does to a set's unanswerable queries."""
    figures = _row_named(_by_set(_quality())[data], PRODUCT)["result"]["unanswerable"]
    print(
        f"{figures['queries']} unanswerable queries; {figures['answered_now']:.0%} of them get an "
        "answer as shipped. Told apart from the others: "
        f"{_share(figures['area'])} (.5 is chance).\n"
    )
    print("| floor | rightly silent | wrongly silent | recall@10 left |")
    print("|---:|---:|---:|---:|")
    for point in figures["curve"][::4]:
        print(
            f"| {point['floor']:.1f} | {point['abstained']:.0%} | {point['silenced']:.0%} "
            f"| {_share(point['recall'])} |"
        )


def speeds() -> None:
    """Print the published speeds."""
    measured = json.loads((RESULTS / "speed.json").read_text("utf-8"))
    marks = tomllib.loads((CONDITIONS / "speed.toml").read_text("utf-8"))["mark"]
    print("| what | measured | promised |")
    print("|---|---:|---|")
    for mark in marks:
        if mark["name"] not in measured:
            continue  # promised before it was measured: `make bench` asks for it all the same
        value = f"{measured[mark['name']]['value']:.2f}".removesuffix(".00")
        promised = (
            f"at most {mark['at_most']}" if "at_most" in mark else f"at least {mark['at_least']}"
        )
        if "noise" in mark:
            promised += f", give or take {mark['noise']}"
        print(f"| {mark['what']} | {value} {mark['unit']} | {promised} |")


def peers() -> None:
    """Print Bear in Mind beside other memory systems, set by set."""
    for name, rows in _by_set(_read("peers")).items():
        overall = rows[0]["result"]["overall"]
        about_now, without = STALE_ABOVE in overall, rows[0]["result"]["unanswerable"]
        count = f"{overall['queries']:,.0f} answerable test questions"
        heads = ["nDCG@10 (95% interval)", "recall@5", "recall@10"]
        if about_now:
            count += f", {_with_earlier_states(name):,} of them about now with earlier states"
            heads = [heads[0], "current first", f"{STALE_LABEL} (95% interval)", "stale alone"]
        elif without:
            count += f" and {without['queries']:,} that nothing stored answers"
            heads = ["unanswerable ones answered", *heads]
        print(f"**{name}**, {count}:\n")
        _print_header([*heads, *WORDS], SPEEDS)
        for row in rows:
            _print_peer(row, heads)
        print()


def _with_earlier_states(data: str) -> int:
    """How many test questions of a set of ours know memories that state what held before."""
    lines = (ROOT / "benchmarks" / "data" / data / "queries.jsonl").read_text("utf-8").splitlines()
    queries = [json.loads(line) for line in lines]
    return sum(query["split"] == "test" and bool(query.get("stale_ids")) for query in queries)


def _print_header(heads: list[str], figures: tuple[str, ...]) -> None:
    print(f"| | {' | '.join([*heads, *figures])} |")
    ruled = ["---" if "interval" in head or head in WORDS else "---:" for head in heads]
    print(f"|---|{'|'.join([*ruled, *('---:' for _ in figures)])}|")


def _print_peer(row: Row, heads: list[str]) -> None:
    result, compared = row["result"], row["compared"]
    latency = result["latency"]
    own_memory = result["sizes"]["peak_memory_bytes"] / 2**20  # as the drivers count theirs
    recipe = result["manifest"]["recipe"]
    mebibytes = float(recipe.get("peak_rss_mb", own_memory))
    rate = float(recipe.get("ingest_per_s", result["ingest"]["memories_per_second"]))
    cells = (
        _label(row),
        *(_peer_cell(row, head) for head in heads),
        _compared(row),
        compared["verdict"] if compared else "",
        f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}",  # noqa: PLR2004
        f"{latency['p50']:.1f}",
        f"{latency['p95']:.1f}",
        f"{mebibytes:,.0f}",
    )
    print(f"| {' | '.join(cells)} |")


def _peer_cell(row: Row, head: str) -> str:
    result = row["result"]
    overall = result["overall"]
    match head:
        case "nDCG@10 (95% interval)":
            return f"{_share(overall[HEADLINE])} ({_interval(row)})"
        case "current first":
            return f"{overall['current_first']:.0%}"
        case "stale above current (95% interval)":
            low, high = result["intervals"]["overall"][STALE_ABOVE]
            return f"{overall[STALE_ABOVE]:.0%} ({low:.0%} to {high:.0%})"
        case "stale alone":
            return f"{overall['stale_without_current@5']:.0%}"
        case "unanswerable ones answered":
            return f"{result['unanswerable']['answered_now']:.0%}"
    return _share(overall[head])


def peers_nothing() -> None:
    """Print how often Bear in Mind says that nothing answers, and what it costs the others."""
    for rows in _by_set(_read("peers")).values():
        verdicts = rows[0]["result"]["verdicts"]
        if not rows[0]["result"]["unanswerable"] or not verdicts or not verdicts["nothing"]:
            continue
        said = ", ".join(f"{name} {share:.0%}" for name, share in verdicts["nothing"].items())
        print(
            f"On {rows[0]['condition']['data']}, Bear in Mind says `nothing` to these shares of "
            f"the questions that nothing answers: {said}. Of the answerable ones with a right "
            f"memory among the first ten, {verdicts['kept']['overall']:.0%} show it without being "
            "asked for all."
        )


def peers_summary() -> None:
    """Print nDCG@10 of Bear in Mind and each peer on every set, and how often it is outdated."""
    by_set = _by_set(_read("peers"))
    sets = {name: rows for name, rows in by_set.items() if any(map(_is_peer, rows))}
    measured = dict.fromkeys(_label(row) for rows in sets.values() for row in rows)
    labels = sorted(measured, key=lambda label: not label.startswith(PEER_PRODUCT))
    changing = next((rows for rows in sets.values() if _is_about_now(rows)), [])
    _print_header([], (*sets, *([f"changes: {STALE_LABEL}"] if changing else [])))
    for label in labels:
        cells = [_peer_share(rows, label) for rows in sets.values()]
        if changing:
            row = next((row for row in changing if _label(row) == label), None)
            cells.append(f"{row['result']['overall'][STALE_ABOVE]:.0%}" if row else "")
        if sum(map(bool, cells)) == 1:
            continue  # a variant that one set alone needs
        name = f"**{label}**" if label == PEER_PRODUCT else label
        print(f"| {name} | {' | '.join(cell or 'not run' for cell in cells)} |")
    measured_rows = [row for rows in sets.values() for row in rows]
    print(f"\nMeasured at revision {_revisions(measured_rows)}.")


def _is_peer(row: Row) -> bool:
    return bool(row["condition"]["retriever"] != PRODUCT)


def _is_about_now(rows: list[Row]) -> bool:
    return STALE_ABOVE in rows[0]["result"]["overall"]


def _peer_share(rows: list[Row], label: str) -> str:
    """The figure of a system on a set, nothing when it was not measured there."""
    return next((_share(r["result"]["overall"][HEADLINE]) for r in rows if _label(r) == label), "")


def absolute() -> None:
    """Print what the product took on every set: milliseconds, bytes, memories a second."""
    print(
        "| set | memories | recall p50, ms | p95, ms | store, MB | of it text, MB | memory, MB "
        "| stored a second |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name, rows in _by_set(_quality()).items():
        result = _row_named(rows, PRODUCT)["result"]
        sizes, latency = result["sizes"], result["latency"]
        megabytes = [
            sizes[key] / 1e6 for key in ("store_bytes", "content_bytes", "peak_memory_bytes")
        ]
        cells = (
            name,
            f"{sizes['memories']:,}",
            f"{latency['p50']:.0f}",
            f"{latency['p95']:.0f}",
            *(f"{each:,.1f}" for each in megabytes),
            f"{result['ingest']['memories_per_second']:,.0f}",
        )
        print(f"| {' | '.join(cells)} |")
    machine = _quality()[0]["result"]["manifest"].get("machine")
    print(f"\nMachine: {machine or 'not recorded'}; one query at a time, other work beside it.")


def earlier() -> None:
    """Print the lexical path of the earlier system as it was, beside our form of it."""
    print(
        "| set | queries | normalised, broadened below k | as it was | ours is ahead by "
        "| its reference | ours is ahead by |"
    )
    print("|---|---:|---:|---:|---|---:|---|")
    for name, rows in _by_set(_read("earlier")).items():
        ours, was, reference = (
            _row_named(rows, x) for x in (EARLIER, f"{EARLIER} as it was", f"{EARLIER} reference")
        )
        cells = (
            name,
            f"{ours['result']['overall']['queries']:,.0f}",
            _share(ours["result"]["overall"][HEADLINE]),
            *(
                cell
                for row in (was, reference)
                for cell in (
                    _share(row["result"]["overall"][HEADLINE]),
                    f"{_compared(row)}, {row['compared']['verdict']}",
                )
            ),
        )
        print(f"| {' | '.join(cells)} |")


def provenance(name: str = "quality") -> None:
    """Print which code and versions the figures came from."""
    manifest = _read(name)[0]["result"]["manifest"]
    versions = ", ".join(f"{key} {value}" for key, value in manifest["versions"].items())
    print(
        f"Measured at revision `{manifest['revision']}` (code `{manifest['code'][:12]}`) "
        f"on {manifest['created_at'][:10]}, {manifest['platform']}: {versions}. "
        f"Intervals: {manifest['seeds']['resamples']:,} resamples, "
        f"seed {manifest['seeds']['bootstrap']}."
    )
