"""Rerankers behind HTTP, against a real server that answers well and badly."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import SecretStr

from bearinmind.errors import RerankerFailure
from bearinmind.models.hosted_reranker import COHERE, JINA, TEI, VOYAGE, Dialect, HostedReranker
from bearinmind.protocols import Passage
from bearinmind.recall.lexical import LexicalLeg
from bearinmind.recall.pipeline import Recall
from bearinmind.recall.rerank import Rerank
from bearinmind.recall.scores import Adjustments, ConvexCombination
from bearinmind.recall.selection import Selection
from bearinmind.testing import TemporaryStore
from bearinmind.types import Memory, MemoryId, Query, Scope, UserId
from support.rerank_server import RerankServer, Rows, fails, running, says, waits_for

KEY = "sk-very-secret-123"
PATIENT = 30.0  # seconds that no test needs
PASSAGES = [
    Passage(MemoryId("a"), "the seal sleeps"),
    Passage(MemoryId("b"), "the walrus sings loudly"),
    Passage(MemoryId("c"), "a walrus"),
]
SCORES = [1.0, 3.0, 1.0]  # words that each shares with the query below
Opened = Callable[..., HostedReranker]


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with running() as server:
        yield server


@pytest.fixture
def open_(server: RerankServer) -> Iterator[Opened]:
    opened: list[HostedReranker] = []

    def made(dialect: Dialect = TEI, model: str = "", url: str = "", **more: Any) -> HostedReranker:
        opened.append(HostedReranker(dialect, model, url=url or server.url, **more))
        return opened[-1]

    yield made
    for reranker in opened:
        reranker.close()


def ask(reranker: HostedReranker, seconds: float = PATIENT) -> list[float]:
    return reranker("the walrus sings", PASSAGES, seconds)


@pytest.mark.parametrize(
    ("dialect", "request_"),
    [
        (TEI, {"path": "/rerank", "texts": 3, "truncate": True}),
        (JINA, {"path": "/v1/rerank", "documents": 3, "return_documents": False}),
        (COHERE, {"path": "/v2/rerank", "documents": 3}),
        (VOYAGE, {"path": "/v1/rerank", "documents": 3, "truncation": True}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_every_protocol_is_spoken_and_its_scores_come_in_our_order(
    server: RerankServer, open_: Opened, dialect: Dialect, request_: dict[str, Any]
) -> None:
    model = {"model": "small"} if dialect is not TEI else {}
    reranker = open_(dialect, model.get("model", ""), key=SecretStr(KEY))

    assert ask(reranker) == SCORES

    [request] = server.requests
    texts = [passage.text for passage in PASSAGES]
    expected = {name: texts if value == 3 else value for name, value in request_.items()}
    assert request == expected | {"query": "the walrus sings"} | model
    assert server.keys == [f"Bearer {KEY}"]
    assert reranker.name == (f"{dialect.name}:small" if model else f"tei:{server.url}")


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "/v1/rerank"])
def test_an_address_may_be_given_with_or_without_its_path(
    server: RerankServer, open_: Opened, ending: str
) -> None:
    assert ask(open_(JINA, "small", server.url + ending)) == SCORES
    assert server.requests[0]["path"] == "/v1/rerank"


def test_providers_are_where_they_say_they_are() -> None:
    names = [HostedReranker(dialect, "m")._caller.where for dialect in (JINA, COHERE, VOYAGE)]

    assert names == ["https://api.jina.ai", "https://api.cohere.com", "https://api.voyageai.com"]


@pytest.mark.parametrize("trouble", [fails(429, Retry_After="0"), fails(503), fails(500)])
def test_passing_trouble_is_waited_out_when_there_is_time(
    server: RerankServer, open_: Opened, trouble: Any
) -> None:
    server.script = [trouble]

    assert ask(open_()) == SCORES
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ([fails(401, f"bad key {KEY}")], "answered 401 Unauthorized: bad key ***"),
        ([fails(500)] * 9, "answered 500 Internal Server Error: oh no (3 tries)"),
        ([fails(429, Retry_After="900")], "wants us to wait 900 seconds"),
        ([says("{'no': json")], "answered something that is not JSON"),
        ([says("[]", cut=1)] * 9, "cannot be talked to"),
        ([says('{"error": "no model"}')], 'does not answer as tei does: {"error": "no model"}'),
        ([says("7")], "does not answer as tei does: 7"),
        ([says('[{"index": 0}]')], "does not answer as tei does"),
        ([fails(307, Location="http://elsewhere.invalid/")], "which is not followed"),
    ],
)
def test_what_a_server_does_wrong_is_named_without_the_key(
    server: RerankServer, open_: Opened, script: list[Any], told: str
) -> None:
    server.script = script

    with pytest.raises(RerankerFailure) as caught:
        ask(open_(key=SecretStr(KEY)))

    assert told in caught.value.message
    assert caught.value.message.startswith(f"tei at {server.url} ")
    assert KEY not in caught.value.message


def with_score(rows: Rows, score: object) -> Rows:
    return [{**rows[0], "score": score}, *rows[1:]]


def with_index(rows: Rows, index: object) -> Rows:
    return [{**rows[0], "index": index}, *rows[1:]]


@pytest.mark.parametrize(
    ("twist", "told"),
    [
        (lambda rows: rows[:2], "scored 2 of 3 memories in 2 rows"),
        (lambda rows: rows[:0], "scored 0 of 3 memories"),
        (lambda rows: [*rows, rows[0]], "scored 3 of 3 memories in 4 rows"),
        (lambda rows: with_index(rows, rows[1]["index"]), "scored 2 of 3 memories in 3 rows"),
        (lambda rows: with_index(rows, 3), "scored number 3 of 3 memories"),
        (lambda rows: with_index(rows, -1), "scored number -1 of 3 memories"),
        (lambda rows: with_index(rows, "1"), "scored number '1' of 3 memories"),
        (lambda rows: with_index(rows, True), "scored number True of 3 memories"),
        (lambda rows: with_score(rows, math.nan), "the score nan"),
        (lambda rows: with_score(rows, math.inf), "the score inf"),
        (lambda rows: with_score(rows, "high"), "the score 'high'"),
        (lambda rows: with_score(rows, None), "the score None"),
    ],
)
def test_an_answer_that_does_not_score_every_memory_once_is_refused(
    server: RerankServer, open_: Opened, twist: Callable[[Rows], Rows], told: str
) -> None:
    server.twist = twist

    with pytest.raises(RerankerFailure, match=f"tei at {server.url} ") as caught:
        ask(open_())

    assert told in caught.value.message


def test_a_slow_server_is_not_waited_for(server: RerankServer, open_: Opened) -> None:
    never = threading.Event()
    server.script = [waits_for(never)]

    with pytest.raises(RerankerFailure, match="does not answer in time"):
        ask(open_(), seconds=0.05)

    never.set()


def test_nobody_there_is_a_failure_that_says_so(open_: Opened) -> None:
    with pytest.raises(RerankerFailure, match="cannot be talked to"):
        ask(open_(url="http://127.0.0.1:9"), seconds=0.2)


# ---- in a recall ---------------------------------------------------------------------------------


def test_no_byte_of_a_sensitive_memory_reaches_the_server(
    server: RerankServer,
    open_: Opened,
    make: Callable[..., Memory],
    ask: Callable[..., Query],
) -> None:
    store, scope = TemporaryStore(), Scope(user=UserId("ada"))
    secret = make("hunter2-canary", sensitive=True, tags=("walrus",), keywords=("sings",))
    others = [make("walrus food"), make("the walrus sings"), make("the walrus sings of food")]
    for memory in (secret, *others):
        store.put(scope, memory)
    with ThreadPoolExecutor() as executor:
        recall = Recall(
            store=store,
            legs=(LexicalLeg(store),),
            fusion=ConvexCombination(),
            adjustments=Adjustments(),
            selection=Selection(),
            executor=executor,
            rerank=Rerank(reranker=open_(), seconds=PATIENT),
        )
        answer = recall(ask("walrus sings of food"))

    assert secret in [hit.memory for hit in answer.hits]
    assert answer.trace.rerank is not None
    assert (answer.trace.rerank.withheld, answer.trace.rerank.error) == (1, None)
    assert answer.hits[0].memory == others[2]
    assert b"sings of food" in server.received
    assert b"canary" not in server.received
    assert all(bytes(others[n].content, "utf-8") in server.received for n in range(3))
