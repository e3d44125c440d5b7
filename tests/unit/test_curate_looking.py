"""Contradictions, what is out of date, and what is untidy."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from bearinmind.app import Mind
from bearinmind.curate.contradictions import contradicts
from bearinmind.curate.differences import Kind, read
from bearinmind.curate.hygiene import Report, category_twins, said_end, stale
from bearinmind.curate.review import decide
from bearinmind.proposals import Action, ProposalKind
from bearinmind.types import LinkKind, Memory

Make = Callable[..., Memory]
PORT = "The staging database listens on port 5433."


# ---- contradictions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        (PORT, "The staging database listens on port 5432.", Kind.NUMBER),
        ("The next release is on Monday", "The next release is on Friday", Kind.DATE),
        ("The payments module is owned by Ada", "The payments module is owned by Ben", Kind.NAME),
        ("Deploy on call days", "Do not deploy on call days", Kind.NEGATION),
        ("Debug logging is on in staging", "Debug logging is off in staging", Kind.OPPOSITE),
        ("The flags live in conf/a.yml", "The flags live in conf/b.yml", Kind.VALUE),
    ],
)
def test_one_value_that_differs_is_a_contradiction(one: str, other: str, kind: Kind) -> None:
    found = contradicts(read(one), read(other), one)
    assert found is not None
    assert found.kind is kind


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PORT, PORT),
        ("Ada owns the payments module", "Ben owns the payments module"),
        ("Ticket 12 is about the parser", "Ticket 13 is about the parser"),
        ("The port of A is 5432", "The port of B is 5433"),
        ("Ada likes tabs", "Ada likes spaces"),
        ("Nothing in common", "The sky is blue"),
    ],
)
def test_two_facts_about_two_things_do_not_contradict_each_other(one: str, other: str) -> None:
    assert contradicts(read(one), read(other), one) is None


def test_a_contradiction_is_reviewed_with_the_newer_memory_first(
    open_memory: Callable[..., Mind],
) -> None:
    by_words = open_memory(embedder="none")
    noon = datetime(2025, 1, 1, tzinfo=UTC)
    new = by_words.store("The port is 5433 for staging", created_at=noon).memory.id
    old = by_words.store(
        "The port is 5432 for staging", created_at=noon - timedelta(days=1)
    ).memory.id
    by_words.store("The port is 5431 for staging", created_at=noon, project="shop")
    [found] = by_words.curation.review().proposals
    assert (found.kind, found.memories) == (ProposalKind.OUTDATE, (new, old))
    assert found.evidence == {"differs_in": "number"}


def test_a_value_of_two_words_in_place_of_one_is_seen(open_memory: Callable[..., Mind]) -> None:
    by_words = open_memory(embedder="none")
    by_words.store("The CI of Atlas runs on Jenkins.")
    by_words.store("The CI of Atlas runs on GitHub Actions.")
    [found] = by_words.curation.review().proposals
    assert found.kind is ProposalKind.OUTDATE


# ---- what is to become of a new text -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("staging DB listens on port 5433", Action.NOOP),
        (f"{PORT} It is small.", Action.UPDATE),
        ("The staging database listens on port 5432.", Action.SUPERSEDE),
        ("The staging cache listens on port 5433.", Action.ADD),
        ("The sky is blue.", Action.ADD),
    ],
)
def test_rules_decide_what_becomes_of_a_new_text(make: Make, text: str, what: Action) -> None:
    known = make(PORT)
    decision = decide(text, "facts", [make("Something else"), known])
    assert decision.kind is what
    assert decision.memory == (None if what is Action.ADD else known)
    assert decision.reason


def test_what_is_sensitive_or_deleted_is_not_looked_at(make: Make, noon: datetime) -> None:
    hidden = [make(PORT, sensitive=True), make(PORT, deleted_at=noon)]
    assert decide(PORT, "facts", hidden).kind is Action.ADD


# ---- what is out of date -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("Freeze until 2026-03-01.", datetime(2026, 3, 2, tzinfo=UTC)),
        ("Valid till 1st March 2026", datetime(2026, 3, 2, tzinfo=UTC)),
        ("The contract ends on December 31, 2025", datetime(2026, 1, 1, tzinfo=UTC)),
        ("until 2026-02-31", None),
        ("until 2026-01-01 or until 2026-02-01", None),
        ("until Friday", None),
        ("made on 2026-03-01", None),
    ],
)
def test_the_end_that_a_text_names_is_read(text: str, end: datetime | None) -> None:
    assert said_end(text) == end


def test_what_says_that_it_ended_is_to_expire_unless_it_says_more(
    make: Make, noon: datetime
) -> None:
    def kinds(text: str, **fields: object) -> list[ProposalKind]:
        return [find.kind for find in stale(make(text, **fields), noon, 30)]

    assert kinds("Freeze until 2026-02-01.") == [ProposalKind.EXPIRE]
    assert kinds("Freeze until 2026-02-01. Ada knows why.") == [ProposalKind.REVIEW]
    assert kinds("Freeze until 2027-02-01.") == []
    assert kinds("Freeze until 2026-02-01.", valid_to=noon) == []


@pytest.mark.parametrize(
    ("text", "days", "asked"),
    [
        ("Use the fallback for now", 31, True),
        ("Use the fallback for now", 29, False),
        ("Ben will be late today", 31, True),
        ("From today on we use uv", 400, False),
        ("The flag is 'temporary' in name only", 400, False),
    ],
)
def test_what_is_temporary_is_asked_about_after_a_while(
    make: Make, noon: datetime, text: str, days: int, asked: bool
) -> None:
    written = make(text, created_at=noon - timedelta(days=days))
    assert [find.kind for find in stale(written, noon, 30)] == [ProposalKind.REVIEW] * asked


# ---- what is untidy ----------------------------------------------------------------------------


def _count(report: Report) -> dict[str, int]:
    return {each.name: each.count for each in report.found if each.count}


def test_a_report_names_what_is_untidy(open_memory: Callable[..., Mind]) -> None:
    memory = open_memory(embedder="none", categories=("facts", "project"))
    memory.store("part 2 of 5 of the protocol", tags=["x"])
    memory.store("ok", tags=["x"])
    memory.store("a sentence that is far too long for the limit", tags=["x"])
    memory.store("the shop is sold", category="project", tags=["x"])
    alone = memory.store("nothing leads to this").memory.id
    gone = memory.store("this will be deleted", tags=["x"]).memory.id
    memory.link(alone, LinkKind.SEE_ALSO, gone)
    memory.delete(gone)
    tidied = open_memory(embedder="none", categories=("facts", "projects"), content_limit=40)
    report = tidied.curation.hygiene()
    assert _count(report) == {
        "category twins": 1,
        "oversize": 1,
        "fragments": 1,
        "empty-ish": 1,
        "dangling links": 1,
        "orphans": 1,
    }
    assert (report.memories, report.links) == (5, 1)
    assert all(each.remedy for each in report.found)


def test_twins_of_categories_are_proposed_to_be_one_and_that_is_undone(
    open_memory: Callable[..., Mind],
) -> None:
    id_ = open_memory(categories=("facts", "project")).store("sold", category="project").memory.id
    memory = open_memory(embedder="none", categories=("facts", "projects"))
    [found] = memory.curation.review(propose=True).proposals
    assert (found.kind, found.change) == (ProposalKind.UPDATE, {"category": "projects"})
    memory.curation.apply(found.id)
    assert memory.get(id_).category == "projects"
    assert _count(memory.curation.hygiene()).keys() == {"orphans", "empty-ish"}


def test_spellings_of_a_category_are_folded(make: Make) -> None:
    found = category_twins(
        [make("a", category="Project"), make("b", category="policy"), make("c", category="people")],
        ["facts", "projects", "policies", "people"],
    )
    assert [name for _, name in found] == ["projects", "policies"]
