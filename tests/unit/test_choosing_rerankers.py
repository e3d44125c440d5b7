"""From the settings to a reranker, or to an error that says what to correct."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from bearinmind import config
from bearinmind.app import Mind
from bearinmind.errors import InvalidSetting
from bearinmind.models.factory import RERANKER_FORMS, RerankerAddress, choose_reranker
from bearinmind.models.hosted_reranker import HostedReranker
from support.rerank_server import running

LLM = RerankerAddress(url="http://localhost:11434/v1", key=SecretStr("llm-key"), model="small")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("cross-encoder:/models/small", "cross-encoder:small"),
        ("tei", "tei:http://localhost:8080"),
        ("jina:jina-reranker-v2", "jina:jina-reranker-v2"),
        ("cohere:rerank-v3.5", "cohere:rerank-v3.5"),
        ("voyage:rerank-2.5", "voyage:rerank-2.5"),
        ("llm", "llm:small"),
        ("llm:qwen3:8b", "llm:qwen3:8b"),
    ],
)
def test_every_form_opens_its_reranker_without_asking_anybody(text: str, name: str) -> None:
    reranker = choose_reranker(text, own=RerankerAddress(url="http://localhost:8080"), llm=LLM)

    assert reranker is not None
    assert reranker.name == name
    reranker.close()


def test_none_is_none() -> None:
    assert choose_reranker("none", own=RerankerAddress(), llm=LLM) is None


@pytest.mark.parametrize(
    "text", ["", "cross-encoder", "cross-encoder:", "tei:x", "jina", "none:x", "bert", "llm:"]
)
def test_another_form_is_refused_with_those_there_are(text: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        config.checked({"reranker": text})

    forms = ", ".join(RERANKER_FORMS)
    assert caught.value.message == (
        f"reranker = {text!r} (from option) is not allowed: it is one of {forms}"
    )


@pytest.mark.parametrize(
    ("text", "own", "llm", "told"),
    [
        ("tei", RerankerAddress(), LLM, "reranker = 'tei' needs reranker_url"),
        (
            "llm",
            RerankerAddress(),
            RerankerAddress(),
            "reranker = 'llm' needs reranker_url or llm_url",
        ),
        ("llm", RerankerAddress(), LLM._replace(model=None), "reranker = 'llm' needs llm_model"),
        (
            "tei",
            RerankerAddress(url="somewhere"),
            LLM,
            "reranker_url = 'somewhere' is not an address",
        ),
        ("llm", RerankerAddress(), LLM._replace(url="x"), "llm_url = 'x' is not an address"),
        (
            "jina:m",
            RerankerAddress(key=SecretStr("k\u00e9y")),
            LLM,
            "reranker_key has characters that cannot be sent",
        ),
    ],
)
def test_what_else_is_missing_or_wrong_is_named(
    text: str, own: RerankerAddress, llm: RerankerAddress, told: str
) -> None:
    with pytest.raises(InvalidSetting, match=told):
        choose_reranker(text, own=own, llm=llm)


@pytest.mark.parametrize(
    ("own_url", "own_key", "sent"),
    [
        (True, None, None),
        (True, SecretStr("own-key"), "Bearer own-key"),
        (False, None, "Bearer llm-key"),
        (False, SecretStr("own-key"), "Bearer own-key"),
    ],
)
def test_the_key_of_the_chat_model_goes_to_its_own_server_alone(
    own_url: bool, own_key: SecretStr | None, sent: str | None
) -> None:
    with running() as server:
        own = RerankerAddress(url=server.url if own_url else None, key=own_key)
        reranker = choose_reranker("llm", own=own, llm=LLM._replace(url=server.url))
        assert reranker is not None
        reranker("walrus", [], 30.0)
        reranker.close()

    assert server.keys == [sent]


@pytest.mark.parametrize(
    ("own", "key"),
    [
        (RerankerAddress(), "usual-key"),
        (RerankerAddress(key=SecretStr("own-key")), "own-key"),
        (RerankerAddress(url="http://localhost:8080"), ""),
    ],
)
def test_the_usual_key_of_a_provider_goes_to_the_provider_alone(
    own: RerankerAddress, key: str
) -> None:
    usual = {"jina": SecretStr("usual-key"), "voyage": SecretStr("another-key")}

    reranker = choose_reranker("jina:m", own=own, llm=LLM, provider_keys=usual)

    assert isinstance(reranker, HostedReranker)
    assert reranker._caller._secret() == key


def test_a_memory_opened_with_a_reranker_recalls_in_its_order(
    open_memory: Callable[..., Mind],
) -> None:
    with running() as server:
        memory = open_memory(reranker="tei", reranker_url=server.url, rerank_seconds=30)
        for content in ("walrus", "walrus and seal", "the big walrus and the small seal"):
            memory.store(content)
        answer = memory.recall("walrus and the seal")
        memory.close()

    assert answer.trace.degraded == ()
    assert answer.trace.rerank is not None
    assert answer.trace.rerank.model == f"tei:{server.url}"
    assert answer.hits[0].memory.content == "the big walrus and the small seal"


def test_settings_are_read_without_loading_what_is_not_chosen(tmp_path: Path) -> None:
    code = (
        "import sys; from bearinmind.app import Mind;"
        f"Mind.open({str(tmp_path / 'a.db')!r}).close();"
        "print(*sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = {*done.stdout.split()}
    assert "bearinmind.models.factory" in loaded
    kinds = ("cross_encoder", "hosted_reranker", "local", "hosted_embedder", "downloaded")
    assert loaded.isdisjoint(f"bearinmind.models.{kind}" for kind in kinds)
    assert loaded.isdisjoint({"httpx", "onnxruntime", "tokenizers"})
