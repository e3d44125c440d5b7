"""Questions from every source, and the promise that none repeats its memory's words."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from bearinmind.app import Mind
from bearinmind.recall.query_log import CapturedQuery
from bearinmind.text import analysis
from bearinmind.types import Link, LinkKind, Memory, MemoryId, Stored, UserId
from bearinmind_bench.own import questions, sources
from bearinmind_bench.own.folder import Written, fingerprint
from bearinmind_bench.own.sources import Draw, Holdings, Question, Source, Yielded

Make = Callable[..., Memory]
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DRAW = Draw(seed=1, most=100)
NOUNS = "harbour violin kettle glacier orchard lantern meadow saddle copper thistle".split()  # noqa: SIM905


def held(*live: Memory, links: tuple[Link, ...] = ()) -> Holdings:
    return Holdings(live=live, links=links, former=(), sensitive=0)


def link(source: Memory, target: Memory, kind: LinkKind = LinkKind.SEE_ALSO) -> Link:
    return Link(source=source.id, target=target.id, kind=kind, created_at=NOON)


def captured(*texts: str) -> list[CapturedQuery]:
    return [CapturedQuery(text=text, asked_at=NOON, hits=("m1",)) for text in texts]


# ---- captured ----------------------------------------------------------------------------------


def test_captured_queries_are_asked_once_each_and_nothing_is_known_about_them() -> None:
    given = sources.captured(captured("Where is it?", "the key", "  The  KEY ", "of the"), DRAW)

    assert sorted(q.text for q in given.questions) == ["  The  KEY "]
    assert given.questions[0].relevant == ()
    assert given.questions[0].hits == ("m1",)
    assert given.rejected == {"asked more than once": 1, "says nothing": 2}


def test_nothing_captured_says_which_setting_captures() -> None:
    given = sources.captured([], DRAW)

    assert given.questions == ()
    assert "capture_queries" in given.lacking


# ---- keywords ----------------------------------------------------------------------------------


def test_only_keywords_that_the_memory_does_not_say_are_asked_and_held_out(make: Make) -> None:
    memory = make(
        "The invoices go out on Friday.",
        keywords=("billing", "invoicing", "money matters", "billing cycle", "friday"),
        tags=("money",),
    )

    given = sources.keywords([memory], DRAW)

    [question] = given.questions
    assert question.text == "billing billing cycle"
    assert question.relevant == (memory.id,)
    assert given.held_out == {memory.id: {"billing", "billing cycle"}}


def test_a_keyword_that_shares_a_word_with_the_question_is_held_out_too(make: Make) -> None:
    memory = make("Rent is due on the first.", keywords=("flat", "flat rent"))

    given = sources.keywords([memory], DRAW)

    assert [question.text for question in given.questions] == ["flat"]
    assert given.held_out[memory.id] == {"flat", "flat rent"}


def test_memories_with_the_same_keywords_are_all_relevant_unless_they_are_many(make: Make) -> None:
    few = [make(keywords=("dentist",)) for _ in range(3)]
    many = [make(keywords=("meeting",)) for _ in range(9)]

    given = sources.keywords([*few, *many], DRAW)

    [question] = given.questions
    assert question.text == "dentist"
    assert set(question.relevant) == {memory.id for memory in few}
    assert set(given.held_out) == set(question.relevant)
    assert sum(given.rejected.values()) == 1


def test_a_question_has_few_keywords(make: Make) -> None:
    given = sources.keywords([make(keywords=tuple(NOUNS))], DRAW)

    assert given.questions[0].text.split() == NOUNS[:4]


def test_keywords_that_only_repeat_are_counted(make: Make) -> None:
    given = sources.keywords([make("Tea is green.", keywords=("teas",)), make()], DRAW)

    assert given.questions == ()
    assert given.rejected == {"all keywords are the memory's own words": 1}


# ---- links -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(set(LinkKind) - {LinkKind.SUPERSEDES}))
def test_a_linked_memory_asks_for_the_other_and_is_left_out(make: Make, kind: LinkKind) -> None:
    asking, answer = make("Guests complain about cold rooms."), make("The boiler needs a valve.")
    others = [make(f"{noun} of another day") for noun in NOUNS]
    live = held(asking, answer, *others, links=(link(asking, answer, kind),))

    given = sources.links(live, DRAW)

    [question] = given.questions
    assert question.text == asking.content
    assert question.relevant == (answer.id,)
    assert given.left_out == {asking.id}


def test_all_memories_that_one_is_linked_to_are_relevant(make: Make) -> None:
    asking = make("Guests complain about cold rooms.")
    answers = [make("The boiler needs a valve."), make("Radiators were bled in May.")]
    others = [make(f"{noun} of another day") for noun in NOUNS]
    links = tuple(link(asking, answer) for answer in answers)

    given = sources.links(held(asking, *answers, *others, links=links), DRAW)

    assert set(given.questions[0].relevant) == {answer.id for answer in answers}


def test_a_memory_that_answers_is_never_left_out(make: Make) -> None:
    chain = [make(f"{noun} {noun[::-1]} {noun[1:]}") for noun in NOUNS]
    others = [make(f"{noun} of another day") for noun in NOUNS * 3]
    links = tuple(link(chain[i], chain[i + 1]) for i in range(len(chain) - 1))
    links += (link(chain[-1], chain[0]),)

    given = sources.links(held(*chain, *others, links=links), DRAW)

    answers = {id_ for question in given.questions for id_ in question.relevant}
    assert given.questions
    assert not answers & given.left_out
    assert given.rejected["would leave out the answer to another question"] > 0


def test_no_more_than_a_quarter_of_the_memories_is_left_out(make: Make) -> None:
    asking = [make(f"{noun} weather annoyed visitors") for noun in NOUNS]
    answers = [make(f"{noun[::-1]} was mended in spring") for noun in NOUNS]
    links = tuple(link(one, other) for one, other in zip(asking, answers, strict=True))

    given = sources.links(held(*asking, *answers, links=links), DRAW)

    assert len(given.left_out) == len(given.questions) == 5
    assert given.rejected == {"would leave out more than 25% of the memories": 5}


def test_a_link_between_memories_in_the_same_words_is_turned_down(make: Make) -> None:
    one = make("The boiler in the cellar needs a new valve.")
    other = make("The boiler in the cellar needs a new pump.")
    others = [make(f"{noun} of another day") for noun in NOUNS]

    given = sources.links(held(one, other, *others, links=(link(one, other),)), DRAW)

    assert given.questions == ()
    assert given.left_out == frozenset()
    assert given.rejected == {"says the same as the linked memory, in the same words": 1}


# ---- history -----------------------------------------------------------------------------------


def test_what_a_memory_said_before_asks_for_what_it_says_now(memory: Mind) -> None:
    first = memory.store("Copies of everything are made by Jonas on tapes.")
    memory.update(first.memory.id, content="Backups run at night to the cloud.")
    gone = memory.store("Lunch is at the corner bakery.")
    new = memory.store("We eat noodles together now.", supersedes=[gone.memory.id])
    newest = memory.store("Meals come by bicycle courier.", supersedes=[new.memory.id])
    memory.store("Untouched.")
    found = sources.holdings_of(memory)

    given = sources.history(found, found.by_id, DRAW)

    assert {(question.text, question.relevant) for question in given.questions} == {
        ("Copies of everything are made by Jonas on tapes.", (first.memory.id,)),
        ("Lunch is at the corner bakery.", (newest.memory.id,)),
    }
    assert {m.id for m in found.live}.isdisjoint({gone.memory.id, new.memory.id})


def test_a_small_change_is_no_question(memory: Mind) -> None:
    stored = memory.store("Backups run at two every night on the server.")
    memory.update(stored.memory.id, content="Backups run at three every night on the server.")
    memory.update(stored.memory.id, importance=0.9)
    found = sources.holdings_of(memory)

    given = sources.history(found, found.by_id, DRAW)

    assert given.questions == ()
    assert given.rejected == {"says the same as the present memory, in the same words": 1}


# ---- what is read from a store -----------------------------------------------------------------


def test_removed_links_and_links_of_dead_memories_are_not_used(memory: Mind) -> None:
    one, two, three = (memory.store(f"The {noun}.").memory.id for noun in NOUNS[:3])
    memory.link(one, "see-also", two)
    memory.unlink(one, "see-also", two)
    memory.link(two, "causes", three)
    memory.delete(three)

    assert sources.holdings_of(memory).links == ()


def test_of_memories_that_say_the_same_one_is_read(memory: Mind, make: Make) -> None:
    first = memory.store("Twice told.").memory
    day = first.created_at
    twin = make("Twice  told.", id="zzzz00000000", owner=UserId("local"), created_at=day)
    history = memory.transfer.admit([twin])
    memory.transfer.add([history], siblings={first.id, twin.id})
    assert len(memory.list()) == 2

    assert len(sources.holdings_of(memory).live) == 1


def test_sensitive_memories_are_never_read(memory: Mind, make: Make) -> None:
    plain = memory.store("Plain talk.").memory
    content = "The password is swordfish."
    secret = make(content, id="zzzz00000000", owner=UserId("local"), sensitive=True)
    assert isinstance(memory._parts.store.put(memory.scope, secret), Stored)
    memory.link(plain.id, "see-also", secret.id)
    memory.link(secret.id, "see-also", plain.id)

    found = sources.holdings_of(memory)

    assert [m.id for m in found.live] == [plain.id]
    assert found.links == ()
    assert found.sensitive == 1
    assert "swordfish" not in repr(found)


# ---- all of them -------------------------------------------------------------------------------


def everything(make: Make) -> tuple[list[Yielded], dict[MemoryId, Memory]]:
    """A small store that tempts every source to copy."""
    live = [
        make(
            f"The {noun} is kept near the {other} since Easter.",
            keywords=(noun, f"{noun}s", f"old {other}", f"treasure {i}", "heirloom"),
            tags=("attic",),
        )
        for i, (noun, other) in enumerate(zip(NOUNS, reversed(NOUNS), strict=True))
    ]
    asking = [make(f"Aunt Vera wondered about some {noun} thing again.") for noun in NOUNS[:4]]
    copying = make(f"{live[5].content} Really.")
    links = (*(link(a, b) for a, b in zip(asking, live, strict=False)), link(copying, live[5]))
    former = (
        sources.Former(text="Grandfather hid his possessions everywhere.", present=live[6].id),
        sources.Former(text=live[7].content.replace("Easter", "May"), present=live[7].id),
    )
    found = Holdings(live=(*live, *asking, copying), links=links, former=former, sensitive=0)
    wrote = [
        Written(said=fingerprint(m.content), model="m", question=question)
        for m, question in zip(
            live,
            [
                "Which instrument did we inherit?",
                f"Where is the {NOUNS[1]}?",
                "What is kept for Easter?",
            ],
            strict=False,
        )
    ]
    linked = sources.links(found, DRAW)
    kept = {m.id: m for m in found.live if m.id not in linked.left_out}
    return [
        sources.keywords([*kept.values()], DRAW),
        linked,
        sources.history(found, kept, DRAW),
        questions.collect([*kept.values()], questions.Cache(wrote, None), DRAW, lacking=""),
        sources.captured(captured("my heirlooms"), DRAW),
    ], kept


def test_no_question_of_any_source_repeats_its_memory(make: Make) -> None:
    yielded, kept = everything(make)

    assert [given.source for given in yielded if given.questions] == [
        Source.KEYWORDS,
        Source.LINKS,
        Source.HISTORY,
        Source.LLM,
        Source.CAPTURED,
    ]
    for given in yielded:
        for question in given.questions:
            asked = analysis.index(question.text).terms
            for id_ in question.relevant:
                terms = analysis.index(kept[id_].content).terms
                assert len({*asked} & {*terms}) <= len({*asked}) / 2
                assert question.text.casefold() not in kept[id_].content.casefold()
                runs = {tuple(terms[i : i + 4]) for i in range(len(terms) - 3)}
                assert runs.isdisjoint(tuple(asked[i : i + 4]) for i in range(len(asked) - 3))
                if given.source in (Source.KEYWORDS, Source.LLM):
                    assert not {*asked} & {*terms}


def test_the_answer_to_a_question_is_in_the_corpus(make: Make) -> None:
    yielded, kept = everything(make)

    assert {id_ for y in yielded for q in y.questions for id_ in q.relevant} <= set(kept)


def test_the_same_seed_chooses_the_same_and_another_chooses_differently(make: Make) -> None:
    memories = [make(keywords=(noun,)) for noun in NOUNS]

    def chosen(seed: int, given: list[Memory] = memories) -> list[str]:
        return [q.text for q in sources.keywords(given, Draw(seed=seed, most=5)).questions]

    assert chosen(1) == chosen(1) == chosen(1, [*reversed(memories)])
    assert chosen(1) != chosen(2)
    assert len(chosen(1)) == 5


def test_the_id_of_a_question_follows_from_what_it_asks() -> None:
    one = Question(source=Source.CAPTURED, text="Where IS it")
    other = Question(source=Source.CAPTURED, text="where  is it", hits=("m",))

    assert one.id == other.id
    assert one.id != Question(source=Source.CAPTURED, text="where was it").id
