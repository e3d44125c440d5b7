"""Numbers, metrics and long names in words that fit."""

from __future__ import annotations

import unicodedata

from bearinmind_bench.inference import Verdict

MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"
_THOUSAND = 1000.0
_FINE = 10  # below it, a decimal is of interest

_NAMES = {"ndcg": "nDCG", "mrr": "MRR", "map": "MAP"}
_MEANINGS = {
    "ndcg": "gain of the first {k}, better ranks counting more, as a share of the best possible",
    "recall": "share of the relevant memories among the first {k}",
    "all_relevant": "share of queries with every relevant memory among the first {k}",
    "answers": "share of queries with a memory of the best grade among the first {k}",
    "current_first": "share of queries about now whose current memory is above all stale ones",
    "stale_above_current": "share of queries about now with a stale memory above the current one",
    "stale_without_current": "share of queries about now with only stale memories in the first {k}",
    "mrr": "1 / rank of the first relevant memory",
    "map": "mean precision at the ranks of the relevant memories",
}


def metric_name(metric: str) -> str:
    """A metric as people write it."""
    name, at, depth = metric.partition("@")
    return _NAMES.get(name, name.replace("_", " ")) + at + depth


def metric_meaning(metric: str) -> str:
    """What a metric says, in a line; nothing when it is not known."""
    name, _, depth = metric.partition("@")
    return _MEANINGS.get(name, "").format(k=depth)


def slug(text: str) -> str:
    """A name as part of an id of the page."""
    return "".join(char if char.isalnum() else "-" for char in text)


def value(figure: float | None) -> str:
    """A metric."""
    return NONE if figure is None else f"{figure:.3f}"


def span(interval: tuple[float, float] | None) -> str:
    """An interval."""
    return "" if interval is None else f"{interval[0]:.3f} {NONE} {interval[1]:.3f}"


def share_tick(tick: float) -> str:
    """A tick of an axis from 0 to 1."""
    return f"{tick:.1f}" if tick % 1 else f"{tick:.0f}"


def signed(figure: float) -> str:
    """A difference."""
    text = f"{figure:+.3f}"
    return "0.000" if text.strip("+-0.") == "" else text.replace("-", MINUS)


def signed_span(low: float, high: float) -> str:
    """The interval of a difference."""
    return f"{signed(low)} to {signed(high)}"


def verdict_class(verdict: Verdict) -> str:
    """The style of a verdict."""
    return f"is-{verdict.value.replace(' ', '-')}"


def p_value(p: float) -> str:
    """A p-value, no finer than it is known."""
    least = 0.001
    return f"< {least}" if p < least else f"{p:.3f}"


def percent(share: float) -> str:
    """A share."""
    hundredths = share * 100
    whole = hundredths == 0 or hundredths >= _FINE
    return f"{hundredths:.0f}%" if whole else f"{hundredths:.1f}%"


def count(number: float) -> str:
    """A whole number with its thousands apart."""
    return f"{number:,.0f}"


def plural(number: int, noun: str, nouns: str) -> str:
    """A number with its noun."""
    return f"{count(number)} {noun if number == 1 else nouns}"


def milliseconds(figure: float) -> str:
    """A time."""
    if figure >= _THOUSAND:
        return f"{figure / _THOUSAND:.2f} s"
    return f"{figure:.2f} ms" if figure < _FINE else f"{figure:.0f} ms"


def seconds(figure: float) -> str:
    """A longer time."""
    minute = 60
    if figure >= minute:
        return f"{figure // minute:.0f} min {figure % minute:.0f} s"
    return f"{figure:.2f} s" if figure < _FINE else f"{figure:.0f} s"


def size(size_bytes: int | None) -> str:
    """A number of bytes."""
    if size_bytes is None:
        return "not said"
    amount = float(size_bytes)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < _THOUSAND or unit == "GB":
            break
        amount /= _THOUSAND
    fine = unit != "bytes" and amount < _FINE * _FINE
    return f"{amount:.1f} {unit}" if fine else f"{amount:.0f} {unit}"


def date(created_at: str) -> str:
    """A moment of a manifest without its seconds."""
    day, _, rest = created_at.partition("T")
    zone = " UTC" if rest.endswith(("+00:00", "Z")) else ""
    return f"{day} {rest[:5]}{zone}".strip()


def width(text: str) -> int:
    """How many columns a text takes up: an ideograph takes two."""
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def shorten(text: str, limit: int) -> str:
    """The text with its middle left out when it is wider than it may be."""
    if width(text) <= limit:
        return text
    head = _fitting(text, limit // 2)
    tail = _fitting(text[::-1], limit - 1 - limit // 2)[::-1]
    return f"{head.rstrip()}…{tail.lstrip()}"


def cut(text: str, limit: int) -> str:
    """The text with its end left out when it is wider than it may be."""
    return text if width(text) <= limit else f"{_fitting(text, limit - 1).rstrip(' ,·=')}…"


def _fitting(text: str, limit: int) -> str:
    used = 0
    for place, char in enumerate(text):
        used += width(char)
        if used > limit:
            return text[:place]
    return text
