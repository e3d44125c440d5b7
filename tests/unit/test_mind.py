"""The groups of verbs of a memory: each has the scope of its user, and costs nothing until used."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bearinmind import Mind, errors
from bearinmind.config import Settings
from bearinmind.testing import TemporaryStore

GROUPS = ("graph", "sync", "transfer", "curation", "accounts", "secrets", "work")
#: What a process that only recalls must not load.
LATE = (
    *(f"bearinmind.app.{name}" for name in ("accounts", "curation", "graph", "secrets", "sync")),
    "bearinmind.curate",
    "bearinmind.sync",
    "bearinmind.learn.learner",
    "bearinmind.learn.rules",
    "bearinmind.graph.walk",
    "bearinmind.surfaces",
    "httpx",
)


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_of_verbs_has_the_scope_of_its_user(group: str) -> None:
    with Mind(TemporaryStore(), Settings(embedder="none", extractor="none")) as ada:
        before = getattr(ada, group)
        grace = ada.for_user("grace", key="k1")
        again = grace.for_user("ada")

        assert before.scope == getattr(ada, group).scope == ada.scope
        assert getattr(grace, group).scope == grace.scope != ada.scope
        assert getattr(again, group).scope == again.scope != grace.scope


def test_a_group_of_verbs_is_audited_under_the_key_of_its_user() -> None:
    with Mind(TemporaryStore(), Settings(embedder="none", extractor="none")) as ada:
        accounts = ada.accounts
        grace = ada.for_user("grace", key="k1")

        assert (accounts.key, grace.accounts.key) == (None, "k1")
        for mind, key in ((ada, None), (grace, "k1")):
            assert mind.secrets.remember.reveal.key == key
        assert grace.accounts.settings.user == "grace"
        assert grace.curation.settings.user == "grace"


def test_what_one_user_does_in_a_group_is_not_seen_by_another() -> None:
    with Mind(TemporaryStore(), Settings(embedder="none", extractor="none")) as ada:
        grace = ada.for_user("grace")
        for text in ("The cache holds 500 entries.", "Note that the cache holds 500 entries."):
            ada.store(text)
        ada.curation.review(propose=True)

        assert len(ada.curation.proposals()) == 1
        assert not grace.curation.proposals()
        assert not [*grace.transfer.links()]


def test_a_recall_loads_no_group_of_verbs(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from bearinmind import Mind\n"
        "from bearinmind.config import Settings\n"
        "store = sys.argv[1]\n"
        "with Mind.build(Settings(store=store, embedder='none', worker='off')) as mind:\n"
        "    mind.store('The ferry leaves at nine.')\n"
        "    assert mind.recall('when does the ferry leave').hits\n"
        f"late = {LATE!r}\n"
        "print(*sorted(x for x in sys.modules if x.startswith(late)))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.db")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not run.stdout.split()


def test_times_may_be_given_as_text() -> None:
    with Mind(TemporaryStore()) as mind:
        stored = mind.store("A fact.", created_at="2025-06-02", valid_to="2999-01-01T00:00+01:00")
        memory = stored.memory

        assert memory.created_at == datetime(2025, 6, 2, tzinfo=UTC)
        assert memory.valid_to == datetime(2998, 12, 31, 23, tzinfo=UTC)
        assert [each.id for each in mind.list(created_from="2025-06-01")] == [memory.id]
        assert not mind.list(created_to="2025-06-01")
        with pytest.raises(errors.InvalidTime, match="created_at 'someday' is not a time"):
            mind.store("Another.", created_at="someday")
