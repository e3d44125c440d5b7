"""For tests: a store in memory, a clock that stands still, ids that count.

`MemoryStore` is held to the same contract tests as the stores that keep files, and ranks lexical
matches by the same formula, so what is tested with it holds for them.
"""

from bearinmind.testing.clock import FixedClock, counting_ids
from bearinmind.testing.store import MemoryStore

__all__ = ["FixedClock", "MemoryStore", "counting_ids"]
