"""Sets repeated with other names: what the speed of the graph is measured on."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from support.bench_sets import write_set
from varied import VariedSet, memories

PLAIN = "there is no name in this."
TEXTS = ["Gannet draws labels.", "Only Ilse may restart Gannet.", PLAIN, "Heron is quiet.", "only"]


def set_of(folder: Path, *texts: str) -> Path:
    corpus = [{"id": number, "content": text} for number, text in enumerate(texts)]
    query = {"query_id": "q", "text": "Who may?", "relevant_ids": [1], "split": "dev"}
    return write_set(folder, corpus=corpus, queries=[query])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return set_of(tmp_path / "tiny", *TEXTS)


def test_a_copy_has_other_names_that_tie_its_memories_alike(folder: Path) -> None:
    found = [*islice(VariedSet(folder).copies(), 8)]
    assert found[:5] == TEXTS
    assert found[5:] == [
        "Gannetbak draws labels.",
        "Only Ilsebak may restart Gannetbak.",
        "Heronbak is quiet.",
    ]


def test_a_name_that_many_memories_hold_stays(tmp_path: Path) -> None:
    held = [f"Norway has fjord {number}." for number in range(11)]
    found = VariedSet(set_of(tmp_path / "common", *held, "Heron is in Norway.")).copies()
    assert [*islice(found, 13)][11:] == ["Heron is in Norway.", "Heronbak is in Norway."]


def test_no_memory_comes_twice_however_many_copies(folder: Path) -> None:
    found = [*islice(VariedSet(folder).copies(), 1_000)]
    assert len({*found}) == 1_000


def test_the_sets_take_turns(folder: Path) -> None:
    one, other = VariedSet(folder), VariedSet(folder)
    assert memories([one, other], 3) == [TEXTS[0], TEXTS[0], TEXTS[1]]


def test_what_grows_beyond_the_bound_is_left_out(tmp_path: Path) -> None:
    long = "Gannet " + "x" * 1_393
    found = VariedSet(set_of(tmp_path / "long", long, "Heron is quiet.")).copies()
    assert [*islice(found, 3)] == [long, "Heron is quiet.", "Heronbak is quiet."]
