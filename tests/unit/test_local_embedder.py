"""The encoders that come with Bear in Mind, as they run: the real models on real texts."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import bearinmind_encoder
import numpy as np
import pytest

from bearinmind.errors import EmbedderFailure
from bearinmind.models.local import LocalEmbedder
from bearinmind.protocols import Embedder

REFERENCE = json.loads(
    Path(__file__).with_name("reference_embeddings.json").read_text(encoding="utf-8")
)
TEXTS = [row["text"] for row in REFERENCE["minilm"]["rows"]]
MODELS = ["minilm", "e5-small"]
#: Cosines with the reference that multiplying in 8 bits leaves.
ALIKE = {"minilm": 0.998, "e5-small": 0.995}


@cache
def opened(model: str) -> LocalEmbedder:
    return LocalEmbedder(model)


@pytest.fixture
def copy(tmp_path: Path) -> Callable[..., Path]:
    """A folder with the files of an encoder and a card that says something else."""

    def copy_(model: str, **said: Any) -> Path:
        folder = tmp_path / model
        shutil.copytree(bearinmind_encoder.folder(model), folder)
        card = json.loads((folder / "encoder.json").read_bytes())
        (folder / "encoder.json").write_text(json.dumps(card | said), encoding="utf-8")
        return folder

    return copy_


@pytest.mark.parametrize("model", MODELS)
def test_embeddings_are_those_of_the_reference_implementation(model: str) -> None:
    expected = np.array([row["vector"] for row in REFERENCE[model]["rows"]], np.float32)
    cosines = (opened(model).embed_memories(TEXTS) * expected).sum(axis=1)
    assert cosines.min() > ALIKE[model]


@pytest.mark.parametrize("model", MODELS)
def test_meaning_is_found_without_a_common_word(model: str) -> None:
    embedder: Embedder = opened(model)
    memories = embedder.embed_memories(
        [
            "The last boat to the island leaves at nine in the evening.",
            "Idris cannot eat shellfish: it makes him ill.",
            "Halyard listens on port 7443, TLS only.",
        ]
    )
    assert np.argmax(memories @ embedder.embed_query("Which seafood is he allergic to?")) == 1


@pytest.mark.parametrize("model", MODELS)
def test_a_text_has_the_same_embedding_alone_and_among_others(model: str) -> None:
    embedder = opened(model)
    crowd = [*TEXTS, *(f"{text[:60]} {n}" for n in range(12) for text in TEXTS[:4])]
    alone = np.concatenate([embedder.embed_memories([text]) for text in TEXTS])
    np.testing.assert_allclose(embedder.embed_memories(crowd)[: len(TEXTS)], alone, atol=2e-6)


def test_embeddings_have_length_one_whatever_the_text_is() -> None:
    odd = ["", " ", "\0", "\ud800 alone", "🐙" * 50, "x" * 100_000, "[SEP] [PAD]"]
    vectors = opened("minilm").embed_memories(odd)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    query = opened("minilm").embed_query("\udfff")
    assert query.shape == (384,)
    np.testing.assert_allclose(np.linalg.norm(query), 1.0, atol=1e-6)


def test_no_texts_have_no_rows() -> None:
    assert opened("minilm").embed_memories([]).shape == (0, 384)


@pytest.mark.parametrize(("model", "words"), [("minilm", 253), ("e5-small", 507)])
def test_a_text_is_read_as_far_as_the_model_was_made_for(model: str, words: int) -> None:
    # One token a word, the two that frame a text, and the two of e5's prompt ("passage", ":").
    within, end, beyond = opened(model).embed_memories(
        [" ".join([*["tide"] * words, last]) for last in ("ferry", "museum", "museum invoices")]
    )
    assert within @ end < 0.99999
    np.testing.assert_allclose(end, beyond, atol=2e-6)


def test_the_prompts_of_e5_are_put_before_queries_and_memories(copy: Callable[..., Path]) -> None:
    bare = LocalEmbedder(copy("e5-small", query_prompt="", memory_prompt=""))
    text = "Where are the spare keys?"
    query, memory = bare.embed_memories([f"query: {text}", f"passage: {text}"])
    np.testing.assert_allclose(opened("e5-small").embed_query(text), query, atol=2e-6)
    np.testing.assert_allclose(opened("e5-small").embed_memories([text])[0], memory, atol=2e-6)
    assert query @ memory < 0.999


def test_the_space_says_what_made_the_vectors() -> None:
    space = LocalEmbedder("e5-small", text="content").space
    assert (space.model, space.dimensions) == ("e5-small", 384)
    assert (space.query_prompt, space.memory_prompt) == ("query: ", "passage: ")
    assert space.key == opened("e5-small").space.key
    assert LocalEmbedder("minilm").space.revision.startswith("53aa51172d14.")
    assert not LocalEmbedder("minilm").leaves_machine


@pytest.mark.parametrize(
    "said",
    [
        {"revision": 1},
        {"weights": "0" * 64},
        {"precision": "float32"},
        {"max_tokens": 128},
        {"query_prompt": "ask: "},
        {"memory_prompt": "told: "},
    ],
)
def test_whatever_changes_the_vectors_changes_the_space(
    said: dict[str, Any], copy: Callable[..., Path]
) -> None:
    assert LocalEmbedder(copy("minilm", **said)).space.key != opened("minilm").space.key


def test_opening_reads_the_card_alone(copy: Callable[..., Path]) -> None:
    folder = copy("minilm")
    (folder / "model.onnx").unlink()
    embedder = LocalEmbedder(folder)
    assert embedder.space == opened("minilm").space
    with pytest.raises(EmbedderFailure, match=r"model.onnx' is damaged: it cannot be read"):
        embedder.embed_query("anything")


def test_opening_imports_nothing_heavy() -> None:
    program = (
        "import sys; from bearinmind.models.local import LocalEmbedder;"
        "LocalEmbedder('minilm').space;"
        "print([m for m in ('numpy', 'onnxruntime', 'tokenizers') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_a_closed_embedder_loads_its_model_again_when_it_is_needed() -> None:
    embedder = LocalEmbedder("minilm")
    before = embedder.embed_query("the ferry")
    embedder.close()
    embedder.close()
    np.testing.assert_array_equal(embedder.embed_query("the ferry"), before)


def test_threads_that_ask_at_the_same_time_share_one_model() -> None:
    embedder = LocalEmbedder("minilm")
    together = threading.Barrier(4)

    def ask(text: str) -> tuple[int, Any]:
        together.wait()
        return id(embedder._loaded()), embedder.embed_query(text)

    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(ask, TEXTS[:4])]
    assert len({model for model, _ in answers}) == 1
    for text, (_, vector) in zip(TEXTS, answers, strict=False):
        np.testing.assert_allclose(vector, opened("minilm").embed_query(text), atol=2e-6)
