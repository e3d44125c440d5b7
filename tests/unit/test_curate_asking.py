"""A chat model that is asked about doubtful pairs: only when told, and believed only so far."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.curate.review import parse_decision, parse_probability
from bearinmind.errors import InvalidSetting
from bearinmind.models.embedders import Embedders
from bearinmind.proposals import Action, ProposalKind
from bearinmind.testing import TemporaryStore
from bearinmind.types import Decider, Link, Memory
from support.chat_server import ChatServer, says, serving
from support.embedders import WordEmbedder

PORTS = ("The port is 5432 for staging", "The port is 5433 for staging")
PAIR = ("Ada reviews the parser", "the parser is something that Ada reviews")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as running:
        yield running


def _opened(url: str | None, texts: tuple[str, ...] = PAIR, **fields: object) -> Mind:
    plain = {"llm_url": url, "llm_model": "judge", "extractor": "none", "curate_cosine": 0.6}
    memory = Mind(
        TemporaryStore(),
        Settings.model_validate(plain | fields),
        embedders=Embedders.among(WordEmbedder()),
    )
    for text in texts:
        memory.store(text)
    memory.work.wait()
    return memory


def test_a_model_is_asked_only_when_told_and_what_it_says_is_shown(server: ChatServer) -> None:
    server.always = says('So: {"decision": "noop", "memory": 1}')
    with _opened(server.url) as memory:
        assert len(memory.curation.review().proposals) == 1
        assert server.seen == []
        [found] = memory.curation.review(ask=True, propose=True).proposals
        assert (found.kind, found.evidence["model"]) == (ProposalKind.REVIEW, "noop")
        assert len(server.seen) == 1
        memory.curation.review(ask=True)
        assert len(server.seen) == 1  # what is in the inbox is not asked about again


def test_what_a_model_takes_for_two_facts_is_not_proposed(server: ChatServer) -> None:
    server.always = says('{"decision": "add", "memory": 0}')
    with _opened(server.url) as memory:
        assert memory.curation.review(ask=True).proposals == ()


def decided_by(link: Link) -> Decider | None:
    return link.judgement.by if link.judgement else None


def test_what_a_model_takes_for_outdated_is_proposed_and_kept_as_its_judgement(
    server: ChatServer,
) -> None:
    server.always = says('{"outdates": 0.9}')
    with _opened(server.url, PORTS) as memory:
        [found] = memory.curation.review(ask=True).proposals
        newer, older = found.memories
        assert (found.kind, found.evidence["probability"]) == (ProposalKind.OUTDATE, 0.9)
        # nothing is changed unless it is to be proposed
        assert not any(decided_by(x) is Decider.MODEL for x in memory.links(newer))
        memory.curation.review(ask=True, propose=True)
        [link] = memory.links(newer)
        assert (link.source, link.target) == (newer, older)
        assert link.judgement is not None
        assert (link.judgement.probability, link.judgement.by) == (0.9, Decider.MODEL)
        asked = len(server.seen)
        memory.curation.review(ask=True, propose=True)
        assert len(server.seen) == asked


def test_where_a_model_says_that_both_hold_nobody_is_asked_any_more(server: ChatServer) -> None:
    server.always = says('{"outdates": 0}')
    with _opened(server.url, PORTS) as memory:
        assert memory.curation.review(ask=True, propose=True).proposals == ()
        assert memory.curation.review().proposals == ()
        assert len(server.seen) == 1


def test_what_a_model_leaves_open_is_proposed_as_without_it(server: ChatServer) -> None:
    server.always = says("I cannot say")
    with _opened(server.url, PORTS) as memory:
        [found] = memory.curation.review(ask=True, propose=True).proposals
        assert found.evidence.get("judged_by") != Decider.MODEL
        assert not any(decided_by(x) is Decider.MODEL for x in memory.links(found.memories[0]))


@pytest.mark.parametrize(
    "said",
    ["", "0.9", "[]", "{}", '{"outdates": 2}', '{"outdates": true}', '{"outdates": NaN}'],
)
def test_a_probability_that_cannot_be_read_is_none(said: str) -> None:
    assert parse_probability(said) is None


def test_without_tokens_or_an_answer_everything_is_shown_and_said(server: ChatServer) -> None:
    with _opened(server.url, llm_daily_tokens=10) as memory:
        look = memory.curation.review(ask=True)
        assert len(look.proposals) == 1
        assert "tokens" in look.trouble
        assert server.seen == []


def test_a_question_without_a_model_is_refused() -> None:
    with _opened(None) as memory, pytest.raises(InvalidSetting, match="--ask needs llm_url"):
        memory.curation.review(ask=True)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "no idea",
        "[]",
        '{"decision": "delete", "memory": 1}',
        '{"decision": "noop", "memory": 7}',
        '{"decision": "noop", "memory": "1"}',
        '{"memory": 1}',
    ],
)
def test_an_answer_that_cannot_be_read_decides_nothing(said: str, make: object) -> None:
    known: list[Memory] = [make("the walrus eats fish")]  # type: ignore[operator]
    assert parse_decision(said, known, "judge").kind is Action.ADD
