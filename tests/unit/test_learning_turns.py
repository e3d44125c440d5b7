"""What becomes of what a turn teaches: stored, proposed or known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.learn.model import Learned, Message, Mode, Refusal, Role
from bearinmind.proposals import ProposalKind, ProposalState
from bearinmind.store.sqlite import SqliteStore
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import Trust
from support.households import household

PASSWORD = "Zq9!x7" + "-hunter2"
SECRETS = (
    f"remember that the database password is {PASSWORD}",
    f"always connect with postgres://admin:{PASSWORD}@db.acme.dev/prod",
    f"always log in with admin:{PASSWORD}@10.1.2.3",
)


@pytest.fixture
def home(clock: FixedClock) -> Iterator[Callable[[str], Mind]]:
    """Opens a store with one mode or another."""
    with ExitStack() as opened:

        def open_(mode: str) -> Mind:
            opening = household(TemporaryStore(), clock, embedder="none", learn=mode)
            return opened.enter_context(opening)

        yield open_


def learn(memory: Mind, *texts: str, session: str = "s1", **fields: object) -> Learned:
    messages = [Message(role=Role.USER, text=text) for text in texts]
    return memory.learn(messages, session=session, **fields)  # type: ignore[arg-type]


def contents(memory: Mind) -> list[str]:
    return [each.content for each in memory.list()]


def test_what_is_sure_is_stored_and_the_rest_is_proposed(home: Callable[[str], Mind]) -> None:
    memory = home("rules")
    learned = learn(
        memory,
        "Always use pnpm in the shop.",
        "no, use ruff instead of flake8",
        project="shop",
        agent="claude-code",
    )
    [stored], [proposed] = learned.stored, learned.proposed
    kept = memory.get(str(stored.id))

    assert (kept.content, kept.category) == ("Always use pnpm in the shop.", "preferences")
    assert {*kept.tags} == {"learned", "preference"}
    origin = kept.provenance
    assert (origin.agent, origin.session, origin.project) == ("claude-code", "s1", "shop")
    assert (origin.source, origin.trust) == ("turn", Trust.USER)
    assert (
        memory.curation.proposal(str(proposed.id)).change["content"]
        == "Use ruff instead of flake8."
    )
    assert contents(memory) == ["Always use pnpm in the shop."]


def test_in_the_inbox_mode_nothing_is_stored_before_somebody_decides(
    home: Callable[[str], Mind],
) -> None:
    memory = home("inbox")
    learned = learn(memory, "Always use pnpm.")
    assert (learned.stored, contents(memory)) == ((), [])

    [proposed] = learned.proposed
    memory.curation.apply(str(proposed.id))
    [kept] = memory.list()
    assert (kept.content, kept.provenance.trust) == ("Always use pnpm.", Trust.USER)


def test_a_dismissed_lesson_is_not_proposed_again(home: Callable[[str], Mind]) -> None:
    memory = home("inbox")
    [proposed] = learn(memory, "Always use pnpm.").proposed
    memory.curation.dismiss(str(proposed.id))
    again = learn(memory, "Always use pnpm.", session="s2")

    assert again.proposed == ()
    assert [each.id for each in again.known] == [proposed.id]
    assert memory.curation.counts()[ProposalState.DISMISSED] == 1


def test_a_turn_that_is_learned_twice_stores_nothing_twice(
    home: Callable[[str], Mind],
) -> None:
    memory = home("rules")
    [stored] = learn(memory, "Always use pnpm.").stored
    assert learn(memory, "Always use pnpm.").stored == ()
    memory.delete(str(stored.id))
    replayed = learn(memory, "Always use pnpm.")
    assert (replayed.stored, contents(memory)) == ((), [])  # what was deleted stays so ...
    assert len(learn(memory, "Always use pnpm.", session="s2").stored) == 1  # ... until said anew


def test_what_is_known_in_other_words_is_known(home: Callable[[str], Mind]) -> None:
    memory = home("rules")
    before = memory.store("Always use pnpm.", category="preferences").memory
    [known] = learn(memory, "please always use pnpm!").known

    assert known.id == before.id
    assert len(contents(memory)) == 1


def test_a_contradiction_is_proposed_and_overwrites_nothing(
    home: Callable[[str], Mind],
) -> None:
    memory = home("rules")
    [stored] = learn(memory, "Always use pnpm in the shop.").stored
    learned = learn(memory, "Never use pnpm in the shop.", session="s2")
    [proposed] = learned.proposed
    proposal = memory.curation.proposal(str(proposed.id))

    assert learned.stored == ()
    assert (proposal.kind, proposal.memories) == (ProposalKind.STORE, (stored.id,))
    assert contents(memory) == ["Always use pnpm in the shop."]
    memory.curation.apply(proposal.id)
    assert contents(memory) == ["Never use pnpm in the shop."]
    memory.curation.undo(proposal.id)
    assert contents(memory) == ["Always use pnpm in the shop."]


def test_what_holds_in_one_project_does_not_contradict_another(
    home: Callable[[str], Mind],
) -> None:
    memory = home("rules")
    learn(memory, "Always use pnpm.", project="shop")
    learned = learn(memory, "Never use pnpm.", project="blog")

    assert [each.text for each in learned.stored] == ["Never use pnpm."]
    assert len(contents(memory)) == 2


@pytest.mark.parametrize("mode", ["inbox", "rules"])
def test_a_secret_is_neither_stored_nor_proposed_nor_repeated(
    home: Callable[[str], Mind], path: Path, mode: str
) -> None:
    memory = home(mode)
    learned = learn(memory, *SECRETS)

    assert (learned.stored, learned.proposed, learned.known) == ((), (), ())
    assert {each.reason for each in learned.refused} == {Refusal.SECRET}
    assert PASSWORD not in repr(learned)
    assert memory.curation.proposals() == []
    for file in path.parent.rglob("*"):
        assert not file.is_file() or PASSWORD.encode() not in file.read_bytes()


def test_a_secret_beside_a_lesson_is_refused_by_name(home: Callable[[str], Mind]) -> None:
    with pytest.raises(errors.SecretInClearField):
        learn(home("inbox"), "Always use pnpm.", project=f"password: {PASSWORD}")


def test_what_cannot_be_where_a_turn_was_said_is_refused(
    home: Callable[[str], Mind],
) -> None:
    memory = home("inbox")
    with pytest.raises(errors.InvalidText):
        learn(memory, "nothing to learn", project="shop\x0f")
    with pytest.raises(errors.InvalidText):
        memory.brief(session="s\x0f")
    with pytest.raises(errors.InvalidProvenance):
        learn(memory, "nothing to learn", project="p" * 1_000)


def test_trying_keeps_nothing(home: Callable[[str], Mind]) -> None:
    memory = home("rules")
    learned = learn(memory, "Always use pnpm.", "no, use ruff instead of flake8", dry_run=True)

    assert [len(learned.stored), len(learned.proposed)] == [1, 1]
    assert {each.id for each in (*learned.stored, *learned.proposed)} == {None}
    assert (contents(memory), memory.curation.proposals()) == ([], [])


def test_when_learning_is_off_nothing_is_read(home: Callable[[str], Mind]) -> None:
    learned = learn(home("off"), "Always use pnpm.")

    assert (learned.mode, learned.stored, learned.proposed) == (Mode.OFF, (), ())
    assert "off" in learned.notes[0]


def test_a_lesson_belongs_to_whoever_said_it(home: Callable[[str], Mind]) -> None:
    ada = home("rules")
    grace = ada.for_user("grace")
    learn(ada, "Always use pnpm.")

    assert contents(grace) == []
    assert len(learn(grace, "Always use pnpm.").stored) == 1


# ---- what a session begins with ----------------------------------------------------------------


def test_a_brief_is_of_the_project_and_of_all_within_its_budget(
    home: Callable[[str], Mind], clock: FixedClock
) -> None:
    memory = home("rules")
    memory.store("Shop: Stripe was chosen.", category="decisions", project="shop")
    memory.store("Everywhere: small commits.", category="preferences", importance=0.9)
    memory.store("Blog: uses Hugo.", category="decisions", project="blog", importance=1.0)
    memory.store("A trifle.", importance=0.1)
    memory.store("The pin is 4711-9921.", sensitive=True, importance=1.0)
    brief = [each.content for each in memory.brief(project="shop")]

    assert brief == ["Everywhere: small commits.", "Shop: Stripe was chosen.", "A trifle."]
    assert [each.content for each in memory.brief(project="shop", limit=1)] == brief[:1]
    few = memory.brief(project="shop", budget_bytes=len(brief[0]) + len(brief[2]))
    assert [each.content for each in few] == [brief[0], brief[2]]  # whole or not at all
    assert "Blog: uses Hugo." not in [each.content for each in memory.brief()]
    with pytest.raises(errors.InvalidQuery):
        memory.brief(limit=0)


def test_a_brief_begins_with_the_session_and_with_what_is_asked(
    home: Callable[[str], Mind],
) -> None:
    memory = home("rules")
    memory.store("An important thing.", importance=1.0)
    memory.store("The walrus eats fish.", importance=0.1)
    memory.store("Said in this session.", importance=0.1, session="s9")
    brief = [each.content for each in memory.brief(session="s9", query="walrus")]

    assert brief == ["Said in this session.", "The walrus eats fish.", "An important thing."]


def test_an_update_names_what_it_replaces(home: Callable[[str], Mind], clock: FixedClock) -> None:
    memory = home("rules")
    before = memory.store("The staging database is db-stage-3.", project="shop").memory
    clock.advance(days=1)

    said = "Our staging database is db-stage-4 now"
    [proposed] = learn(memory, said, project="shop").proposed
    proposal = memory.curation.proposal(str(proposed.id))

    assert proposed.lesson == "update"
    assert proposal.memories == (before.id,)
    assert before.id in proposed.reason
    memory.curation.apply(proposal.id)
    assert contents(memory) == ["Our staging database is db-stage-4 now."]


def test_an_update_of_one_project_replaces_nothing_elsewhere(
    home: Callable[[str], Mind], clock: FixedClock
) -> None:
    memory = home("rules")
    memory.store("The staging database is db-stage-3.", project="bank")
    clock.advance(days=1)

    said = "Our staging database is db-stage-4 now"
    [proposed] = learn(memory, said, project="shop").proposed

    assert memory.curation.proposal(str(proposed.id)).memories == ()


@pytest.mark.parametrize("is_known", [False, True])
def test_a_learned_text_that_becomes_sensitive_is_nowhere_in_the_file(
    clock: FixedClock, path: Path, *, is_known: bool
) -> None:
    with household(SqliteStore(path), clock, embedder="none", learn="inbox") as memory:
        gone = learned_and_sealed(memory, is_known=is_known)
    files = [file.read_bytes().lower() for file in path.parent.glob(f"{path.name}*")]
    assert files
    for text in gone:
        assert not any(text.lower().encode() in file for file in files), text


def learned_and_sealed(memory: Mind, *, is_known: bool) -> list[str]:
    """Learn something that becomes sensitive; what must not be found afterwards."""
    [item] = learn(memory, "Always call the boat Zanzibar.").proposed
    assert item.id is not None
    [proposal] = memory.curation.proposals()
    if is_known:  # what the proposal says is stored already when it is applied
        memory.store(item.text)
    memory.curation.apply(item.id)
    [kept] = memory.list()
    memory.update(kept.id, sensitive=True)

    [left] = memory.curation.proposals(["applied"])
    assert "zanzibar" not in repr(left).casefold()
    return ["zanzibar", proposal.id, proposal.digest]
