"""What links add to a hit, and what led to a memory."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.recall.attach import MOST_ATTACHED
from bearinmind.remember.update import Deleted
from bearinmind.testing import FixedClock
from bearinmind.text.analysis import LINE_LENGTH, one_line
from bearinmind.types import Hit, LinkKind, Memory, State


def store(memory: Mind, content: str, **fields: object) -> Memory:
    return memory.store(content, **fields).memory  # type: ignore[arg-type]


def only_hit(memory: Mind, text: str, **fields: object) -> Hit:
    [hit] = memory.recall(text, **fields).hits  # type: ignore[arg-type]
    return hit


def test_what_resolved_a_memory_is_attached_the_newest_first_and_at_most_three(
    memory: Mind, clock: FixedClock
) -> None:
    problem = store(memory, "the walrus is stuck")
    answers = [store(memory, f"remedy {n}") for n in range(5)]
    for answer in answers:
        clock.advance(minutes=1)
        memory.link(problem.id, "resolved-by", answer.id)
    hit = only_hit(memory, "walrus")
    assert MOST_ATTACHED == 3
    assert [each.id for each in hit.attached] == [each.id for each in answers[:1:-1]]


def test_a_resolution_does_not_bring_its_problem_along(memory: Mind) -> None:
    problem, answer = store(memory, "the walrus is stuck"), store(memory, "pull gently")
    memory.link(problem.id, "resolved-by", answer.id)
    assert only_hit(memory, "gently").attached == ()


def test_a_resolution_that_is_a_hit_itself_is_not_attached_again(memory: Mind) -> None:
    problem, answer = store(memory, "the walrus is stuck"), store(memory, "pull the walrus")
    memory.link(problem.id, "resolved-by", answer.id)
    assert all(hit.attached == () for hit in memory.recall("walrus").hits)


def test_the_newest_of_a_chain_is_attached_and_a_deleted_memory_is_not(memory: Mind) -> None:
    problem, old, gone = (store(memory, text) for text in ("the walrus is stuck", "pull", "push"))
    memory.link(problem.id, "resolved-by", old.id)
    memory.link(problem.id, "resolved-by", gone.id)
    new = store(memory, "pull gently", supersedes=[old.id])
    memory.delete(gone.id)
    assert [each.id for each in only_hit(memory, "walrus").attached] == [new.id]


def test_what_is_attached_keeps_to_the_budget(memory: Mind) -> None:
    problem, answer = store(memory, "walrus"), store(memory, "pull gently")
    memory.link(problem.id, "resolved-by", answer.id)
    assert len(only_hit(memory, "walrus", budget_bytes=17).attached) == 1
    assert only_hit(memory, "walrus", budget_bytes=16).attached == ()


@pytest.mark.parametrize("kind", ["part-of", "see-also"])
def test_pointers_go_both_ways(memory: Mind, kind: str) -> None:
    part, whole = store(memory, "the walrus flipper"), store(memory, "all of the animal")
    memory.link(part.id, kind, whole.id)
    [outgoing] = only_hit(memory, "flipper").pointers
    [incoming] = only_hit(memory, "animal").pointers
    assert (outgoing.id, outgoing.outgoing, outgoing.line) == (whole.id, True, whole.content)
    assert (incoming.id, incoming.outgoing, incoming.line) == (part.id, False, part.content)
    assert outgoing.kind == incoming.kind == LinkKind(kind)


@pytest.mark.parametrize("kind", ["derives-from", "causes"])
def test_provenance_is_no_pointer(memory: Mind, kind: str) -> None:
    source, target = store(memory, "walrus"), store(memory, "seal")
    memory.link(source.id, kind, target.id)
    hit = only_hit(memory, "walrus")
    assert (hit.pointers, hit.attached) == ((), ())


def test_a_memory_never_points_to_itself(memory: Mind) -> None:
    old = store(memory, "old plan for the harbour")
    new = store(memory, "new plan for the harbour", supersedes=[old.id])
    memory.link(new.id, "see-also", old.id)
    assert only_hit(memory, "harbour").pointers == ()


def test_links_of_a_moment_are_those_of_then(memory: Mind, clock: FixedClock) -> None:
    a, b = store(memory, "walrus"), store(memory, "seal")
    before = clock()
    clock.advance(days=1)
    memory.link(a.id, "see-also", b.id)
    assert only_hit(memory, "walrus", as_of=before).pointers == ()
    assert len(only_hit(memory, "walrus").pointers) == 1
    clock.advance(days=1)
    during = clock()
    clock.advance(days=1)
    memory.unlink(a.id, "see-also", b.id)
    assert only_hit(memory, "walrus").pointers == ()
    assert len(only_hit(memory, "walrus", as_of=during).pointers) == 1


def test_a_line_is_one_line_and_not_too_long() -> None:
    assert one_line("a\n b\tc") == "a b c"
    assert len(one_line("word " * 100)) <= LINE_LENGTH
    assert one_line("word " * 100).endswith("\u2026")
    assert one_line("x" * LINE_LENGTH) == "x" * LINE_LENGTH


def test_why_walks_back_over_what_led_to_a_memory(memory: Mind) -> None:
    cause = store(memory, "it rained")
    fact = store(memory, "the road is wet")
    old = store(memory, "drive fast")
    end = store(memory, "drive slowly", supersedes=[old.id])
    memory.link(end.id, "derives-from", fact.id)
    memory.link(cause.id, "causes", fact.id)
    memory.link(end.id, "see-also", store(memory, "unrelated").id)
    memory.update(end.id, importance=0.9)
    found = memory.why(end.id)
    assert {(step.depth, step.memory.id) for step in found.steps} == {
        (1, old.id),
        (1, fact.id),
        (2, cause.id),
    }
    assert [version.version for version in found.versions] == [1, 2]
    assert found.superseded_by == ()
    assert [each.id for each in memory.why(old.id).superseded_by] == [end.id]


def test_why_ends_in_a_circle_and_names_each_memory_once(memory: Mind) -> None:
    a, b, c = (store(memory, name) for name in ("one", "two", "three"))
    for source, target in ((a, b), (b, c), (c, a), (a, c)):
        memory.link(source.id, "derives-from", target.id)
    steps = [step.memory.id for step in memory.why(a.id).steps]
    assert sorted(steps) == sorted([b.id, c.id])


def test_a_timeline_surrounds_a_memory_by_time(memory: Mind, clock: FixedClock) -> None:
    made = []
    for n in range(7):
        made.append(store(memory, f"event {n}", session="s" if n % 2 else "t"))
        clock.advance(hours=1)
    line = memory.timeline(made[3].id, before=2, after=2)
    assert line.anchor == made[3]
    assert [*line.before] == made[1:3]
    assert [*line.after] == made[4:6]
    assert [*memory.timeline(made[3].id, session="s").before] == [made[1]]
    nothing = memory.timeline(made[3].id, before=0, after=0)
    assert (nothing.before, nothing.after) == ((), ())


def test_a_timeline_surrounds_a_moment(memory: Mind, clock: FixedClock) -> None:
    first = store(memory, "before")
    clock.advance(hours=1)
    at = store(memory, "at that moment")
    line = memory.timeline(clock(), before=5, after=5)
    assert line.anchor is None
    assert ([*line.before], [*line.after]) == ([first], [at])
    assert memory.timeline(clock() + timedelta(hours=1)).after == ()


@pytest.mark.parametrize("wrong", [{"before": -1}, {"after": 2**63}])
def test_a_timeline_has_bounds_that_make_sense(memory: Mind, wrong: dict[str, int]) -> None:
    with pytest.raises(errors.InvalidQuery):
        memory.timeline(memory.store("walrus").memory.id, **wrong)  # type: ignore[arg-type]


def test_states_are_told_as_they_are_listed(memory: Mind, clock: FixedClock) -> None:
    live, old, ended, gone = (
        store(memory, "live"),
        store(memory, "old"),
        store(memory, "ended", valid_to=clock()),
        store(memory, "gone"),
    )
    memory.link(live.id, "supersedes", old.id)
    memory.delete(gone.id)
    everything = memory.list(states=[*State])
    told = memory.states(everything)
    assert told == {
        live.id: State.LIVE,
        old.id: State.SUPERSEDED,
        ended.id: State.EXPIRED,
        gone.id: State.DELETED,
    }
    for state in State:
        assert [each.id for each in memory.list(states=[state])] == [
            id_ for id_, named in told.items() if named is state
        ]


def test_a_memory_is_found_by_any_unambiguous_beginning(memory: Mind) -> None:
    first, second = store(memory, "one"), store(memory, "two")
    assert memory.get(first.id[:4].upper()) == first
    with pytest.raises(errors.AmbiguousId, match=f"{first.id}, {second.id}"):
        memory.get("00")
    with pytest.raises(errors.MemoryNotFound):
        memory.get("zz")
    with pytest.raises(errors.InvalidId):
        memory.get("!")


def chain(memory: Mind) -> list[Memory]:
    first = store(memory, "the walrus sleeps at noon")
    second = store(memory, "the walrus sleeps at night", supersedes=[first.id])
    return [first, second, store(memory, "the walrus never sleeps", supersedes=[second.id])]


def test_why_goes_back_as_many_steps_as_are_asked_for(memory: Mind) -> None:
    *_, newest = chain(memory)
    assert [step.depth for step in memory.why(newest.id, depth=1).steps] == [1]
    assert [step.depth for step in memory.why(newest.id).steps] == [1, 2]
    with pytest.raises(errors.InvalidQuery, match="depth 0 is not between 1 and 100"):
        memory.why(newest.id, depth=0)


def test_deleting_the_newest_of_a_chain_says_which_one_is_live_again(memory: Mind) -> None:
    _, middle, newest = chain(memory)
    deleted = memory.delete(newest.id)
    assert isinstance(deleted, Deleted)
    assert (deleted.live_again, deleted.deleted_too) == ((middle.id,), ())
    assert memory.states([memory.get(middle.id)]) == {middle.id: State.LIVE}


def test_deleting_the_newest_with_its_earlier_ones_leaves_none_of_the_chain(memory: Mind) -> None:
    first, middle, newest = chain(memory)
    deleted = memory.delete(newest.id, with_earlier=True)
    assert isinstance(deleted, Deleted)
    assert (deleted.live_again, deleted.deleted_too) == ((), (middle.id, first.id))
    assert memory.list() == []
    memory.restore(newest.id)
    assert [each.id for each in memory.list()] == [newest.id]


def test_deleting_the_middle_of_a_chain_brings_nothing_back(memory: Mind) -> None:
    first, middle, newest = chain(memory)
    deleted = memory.delete(middle.id, with_earlier=True)
    assert isinstance(deleted, Deleted)
    assert (deleted.live_again, deleted.deleted_too) == ((), ())
    assert memory.states([memory.get(first.id)]) == {first.id: State.SUPERSEDED}
    assert [each.id for each in memory.list()] == [newest.id]


def test_what_somebody_elses_memory_superseded_is_theirs_to_delete(memory: Mind) -> None:
    *_, newest = chain(memory)
    memory.share(newest.id, "ada", "write")
    ada = memory.for_user("ada")
    with pytest.raises(errors.NotAllowed, match="superseded is"):
        ada.delete(newest.id, with_earlier=True)
    assert not isinstance(ada.delete(newest.id), Deleted)
