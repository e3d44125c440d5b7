"""How much MiniLM should count beside e5-small (ADR 0016): everything else as shipped.

    python benchmarks/pairing.py --data DIR [--data DIR ...] [--strata]

Each model embeds a text once, and keeps what it made for the next run; the shares differ only in
how the two vectors are put together. Development queries alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import arms
from bearinmind.config import Settings
from bearinmind.models import factory
from bearinmind.models.caches import CachedEmbedder, EmbeddingCache
from bearinmind.models.local import LocalEmbedder, PairedEmbedder
from bearinmind.protocols import Embedder
from bearinmind_bench.corpus import default_cache

SHIPPED = factory.SHARE
SHARES = (SHIPPED, *sorted({0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0} - {SHIPPED}))


def main() -> int:
    """Print what every share is worth on every set."""
    options = arms.arguments(__doc__)
    names = factory.DEFAULT_EMBEDDER.split("+")
    if len(names) < 2:
        raise SystemExit(f"the shipped encoder {factory.DEFAULT_EMBEDDER!r} is no pair")
    sets = []
    with _kept(names[0]) as first, _kept(names[1]) as second:
        for folder in options.data:
            found = measure(folder, first, second)
            arms.show(folder.name, found, by_stratum=options.strata)
            sets.append(found)
    arms.show_means(sets)
    return 0


def measure(folder: Path, first: Embedder, second: Embedder) -> dict[str, arms.Rows]:
    """What every share makes of a set, the shipped one first."""
    with arms.filled(folder) as (data, stored):
        return {
            _name(share): arms.ask(data, stored, PairedEmbedder(first, second, share=share))
            for share in SHARES
        }


@contextmanager
def _kept(model: str) -> Iterator[Embedder]:
    """One of the pair, with whatever it embedded before."""
    local = LocalEmbedder(model, text=Settings().embedded_text)
    embedder = CachedEmbedder(local, EmbeddingCache(default_cache()))
    try:
        yield embedder
    finally:
        embedder.close()


def _name(share: float) -> str:
    return f"share {share}{' (as shipped)' if share == SHIPPED else ''}"


if __name__ == "__main__":
    sys.exit(main())
