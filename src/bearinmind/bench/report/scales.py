"""From values to places in a drawing, and where the ticks are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_LEAST = 1e-3  # a thousandth of a millisecond: no clock says less, and zero has no logarithm
_WIDE = 200.0  # ticks at 1, 2 and 5 up to this ratio, at the powers of ten beyond it


@dataclass(frozen=True, slots=True)
class Linear:
    """Equal steps are equally long."""

    low: float
    high: float
    begin: float  #: where `low` is drawn
    end: float

    def __call__(self, value: float) -> float:
        """Where a value is drawn."""
        span = self.high - self.low
        return self.begin + (value - self.low) / span * (self.end - self.begin)


@dataclass(frozen=True, slots=True)
class Logarithmic:
    """Equal ratios are equally long."""

    low: float
    high: float
    begin: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a value is drawn."""
        share = math.log(max(value, _LEAST) / self.low) / math.log(self.high / self.low)
        return self.begin + share * (self.end - self.begin)


Scale = Linear | Logarithmic


def shares(steps: int = 5) -> list[float]:
    """Ticks from 0 to 1."""
    return [step / steps for step in range(steps + 1)]


def nice_step(greatest: float, steps: int = 5) -> float:
    """A round number; at most so many of them are needed to reach the greatest value."""
    if greatest <= 0:
        return 1 / steps
    rough = greatest / steps * (1 - 1e-9)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough)


def steps_to(greatest: float, steps: int = 5) -> list[float]:
    """Ticks from 0 by round steps; the last is no smaller than the greatest value."""
    step = nice_step(greatest, steps)
    needed = max(1, math.ceil(greatest / step * (1 - 1e-9)))
    return [step * place for place in range(needed + 1)]


def decades(values: Sequence[float]) -> tuple[float, float, list[float]]:
    """The ends and the ticks of a logarithmic axis that holds all values."""
    low, high = max(min(values), _LEAST), max(*values, _LEAST)
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    fine = [step * 10.0**power for power in powers for step in (1, 2, 5)]
    begin = max(tick for tick in fine if tick <= low)
    end = min(tick for tick in fine if tick >= high and tick > begin)
    ladder = fine if end / begin <= _WIDE else [10.0**power for power in powers]
    return begin, end, [tick for tick in ladder if begin <= tick <= end]
