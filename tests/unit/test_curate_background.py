"""Curation in the background: only where it was asked for, and only into the inbox."""

from __future__ import annotations

import threading
from pathlib import Path

from bearinmind.app import Mind, wiring
from bearinmind.app.curation import curation_rounds
from bearinmind.config import Settings
from bearinmind.proposals import ProposalKind
from bearinmind.testing import TemporaryStore
from support.processes import wait_until

TEXTS = ("The cache holds 500 entries.", "Note that the cache holds 500 entries.")


def _opened(**fields: object) -> Mind:
    plain = {"embedder": "none", "extractor": "none", **fields}
    return Mind(TemporaryStore(), Settings.model_validate(plain))


def test_what_is_new_is_proposed_in_the_background_and_nothing_is_changed() -> None:
    with _opened() as memory:
        grace = memory.for_user("grace")
        for text in TEXTS:
            memory.store(text)
            grace.store(text)
        memory.accounts.add_user("grace")
        curating = curation_rounds(memory, 0.01)
        try:
            wait_until(lambda: all(x.curation.proposals() for x in (memory, grace)))
        finally:
            curating.close()
        for each in (memory, grace):
            assert len(each.list()) == 2
            assert [found.kind for found in each.curation.proposals()] == [ProposalKind.SUPERSEDE]


def test_it_is_off_unless_a_setting_turns_it_on() -> None:
    with _opened(sync_seconds=0) as memory:
        assert not wiring.start_rounds(memory)
    with _opened(sync_seconds=0, curate="inbox") as memory:
        [curating] = wiring.start_rounds(memory)
        curating.close()


def test_an_open_memory_that_is_closed_leaves_no_thread(path: Path) -> None:
    with Mind.open(path, curate="inbox", embedder="none", worker="auto") as memory:
        memory.store(TEXTS[0])
        assert "bearinmind-curate" in {each.name for each in threading.enumerate()}
    assert "bearinmind-curate" not in {each.name for each in threading.enumerate()}
