"""What is remembered of texts that were compared stays small, however long a server runs."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

from bearinmind.outdates.scorer import read

CORPUS = Path(__file__).parents[2] / "benchmarks" / "data" / "agent-store" / "corpus.jsonl"
MOST = 64 * 2**20  # bytes


def test_the_texts_that_are_remembered_take_tens_of_megabytes_at_most() -> None:
    texts = [json.loads(line)["content"] for line in CORPUS.read_text("utf-8").splitlines()[:200]]
    read.cache_clear()
    for text in texts:
        read(text)  # what all texts share is there now
    read.cache_clear()
    tracemalloc.start()
    try:
        for text in texts:
            read(text)
        each = tracemalloc.get_traced_memory()[0] / len(texts)
    finally:
        tracemalloc.stop()
    most = read.cache_info().maxsize
    assert most is not None
    assert each * most < MOST
