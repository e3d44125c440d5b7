"""Takes steps from standard input and prints the milliseconds of each; see `change_costs`.

It runs with the source of an earlier revision as well, so it imports nothing but the product.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from bearinmind import Mind


def main() -> None:
    """Store, recall and do the background work of one store."""
    with Mind.open(Path(sys.argv[1]), worker="off") as mind:
        steps: dict[str, Callable[[str], object]] = {
            "store": mind.store,
            "recall": mind.recall,
            "work": lambda _text: mind.work.wait(),
        }
        for line in sys.stdin:
            what, text = json.loads(line)
            began = perf_counter()
            steps[what](text)
            print((perf_counter() - began) * 1e3, flush=True)


if __name__ == "__main__":
    main()
