"""Models that a user downloads: fastembed for real, sentence-transformers where it is installed.

No test downloads anything: the models lie in folders, or are looked for in vain.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bearinmind_encoder
import numpy as np
import onnx
import pytest
from tokenizers import Tokenizer

from bearinmind.errors import EmbedderFailure, InvalidSetting, MissingExtra
from bearinmind.models.caches import EmbeddingCache
from bearinmind.models.downloaded import (
    FASTEMBED,
    SENTENCE_TRANSFORMERS,
    DownloadedEmbedder,
    Library,
    ModelSource,
    NotHere,
    Run,
)
from bearinmind.models.embedders import Embedders
from bearinmind.models.factory import EmbedderOptions, choose_embedder
from bearinmind.models.local import LocalEmbedder
from bearinmind.protocols import Embedder
from bearinmind.testing import FixedClock
from bearinmind.types import Memory
from support.worker_store import Workplace

TEXTS = ["The cat sat on the mat.", "Stock prices fell.", "A kitten rested on a rug. " * 9]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Folders as the hub has them, made of the encoders that Bear in Mind brings."""
    root = tmp_path_factory.mktemp("models")

    def folder(encoder: str, name: str) -> Path:
        made = root / name
        if not made.exists():
            made.mkdir()
            for file in ("model.onnx", "tokenizer.json"):
                shutil.copy(bearinmind_encoder.folder(encoder) / file, made / file)
            config = {"model_max_length": 256, "pad_token": "[PAD]"}
            (made / "tokenizer_config.json").write_text(json.dumps(config))
            (made / "special_tokens_map.json").write_text('{"pad_token": "[PAD]"}')
        return made

    return folder


def open_fastembed(folder: Path) -> Embedder:
    embedder = choose_embedder(f"fastembed:{folder}", EmbedderOptions())
    assert embedder is not None
    return embedder


Models = Callable[[str, str], Path]


def test_fastembed_gives_the_same_vectors_as_our_own_encoder(models: Models) -> None:
    embedder = open_fastembed(models("minilm", "minilm-pooled"))
    own = LocalEmbedder("minilm")

    vectors = embedder.embed_memories(TEXTS)

    cosines = (vectors * own.embed_memories(TEXTS)).sum(axis=1)
    assert cosines.min() > 0.999
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(embedder.embed_query(TEXTS[0]), vectors[0], atol=1e-4)


def test_fastembed_is_given_the_prompts_of_the_catalogue(models: Models, tmp_path: Path) -> None:
    folder = tmp_path / "e5-small"
    shutil.copytree(models("e5-small", "with-prompts"), folder)
    # Unlike the published one, our graph pools by itself, and the folder says so.
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text('{"word_embedding_dimension": 384}')
    embedder, own = open_fastembed(folder), LocalEmbedder("e5-small")

    assert embedder.space.query_prompt == own.space.query_prompt == "query: "
    assert embedder.embed_query(TEXTS[0]) @ own.embed_query(TEXTS[0]) > 0.999
    assert embedder.embed_memories(TEXTS[:1])[0] @ own.embed_memories(TEXTS[:1])[0] > 0.999
    assert embedder.embed_query(TEXTS[0]) @ own.embed_memories(TEXTS[:1])[0] < 0.999


@pytest.mark.parametrize(
    ("name", "pooled"),
    [("bge-small-en-v1.5", lambda tokens: tokens[0]), ("gte-small", lambda t: t.mean(axis=0))],
)
def test_fastembed_pools_as_the_model_was_trained(
    models: Models, tmp_path: Path, name: str, pooled: Callable[[Any], Any]
) -> None:
    folder = tmp_path / name
    shutil.copytree(models("minilm", "minilm-pooled"), folder)
    weights = np.linspace(0.1, 1, 384, dtype=np.float32)
    onnx.save(unpooled(weights), folder / "model.onnx")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    vector = open_fastembed(folder).embed_memories([TEXTS[0]])[0]

    expected = pooled(np.sin(np.outer(tokenizer.encode(TEXTS[0]).ids, weights)))
    np.testing.assert_allclose(vector, expected / np.linalg.norm(expected), atol=1e-3)


def unpooled(weights: Any) -> onnx.ModelProto:
    """A graph with a vector for each token: the sine of its id times each weight."""
    make, of = onnx.helper, onnx.TensorProto
    ids = make.make_tensor_value_info("input_ids", of.INT64, ["texts", "tokens"])
    mask = make.make_tensor_value_info("attention_mask", of.INT64, ["texts", "tokens"])
    out = make.make_tensor_value_info("last_hidden_state", of.FLOAT, ["texts", "tokens", 384])
    nodes = [
        make.make_node("Cast", ["input_ids"], ["numbers"], to=of.FLOAT),
        make.make_node("Unsqueeze", ["numbers", "last"], ["column"]),
        make.make_node("Mul", ["column", "weights"], ["product"]),
        make.make_node("Sin", ["product"], ["last_hidden_state"]),
    ]
    constants = [
        onnx.numpy_helper.from_array(np.array([2]), "last"),
        onnx.numpy_helper.from_array(weights, "weights"),
    ]
    graph = make.make_graph(nodes, "tokens", [ids, mask], [out], constants)
    opset = make.make_opsetid("", 17)
    return make.make_model(graph, opset_imports=[opset], ir_version=8)


def test_a_space_is_known_without_loading_when_the_catalogue_knows_the_model() -> None:
    embedder = choose_embedder("fastembed:BAAI/bge-large-en-v1.5", EmbedderOptions())

    assert embedder is not None
    assert embedder.space.dimensions == 1024
    assert embedder.space.model == "fastembed:BAAI/bge-large-en-v1.5"
    assert embedder.space.query_prompt.startswith("Represent this sentence")
    assert not embedder.leaves_machine


def test_dimensions_that_nobody_knows_are_found_out_and_remembered(
    models: Models, tmp_path: Path
) -> None:
    options = EmbedderOptions(cache=tmp_path / "embeddings.db")
    folder = str(models("minilm", "minilm-pooled"))

    assert DownloadedEmbedder(FASTEMBED, folder, options).space.dimensions == 384
    with EmbeddingCache(tmp_path / "embeddings.db") as cache:
        assert cache.dimensions(f"fastembed:{folder}") == 384


def test_a_worker_downloads_a_model_of_unknown_dimensions(
    tmp_path: Path, clock: FixedClock, make: Callable[..., Memory]
) -> None:
    """It cannot say what its space is before it is here, and a worker is who fetches it."""
    here = tmp_path / "model"

    def load(_: ModelSource) -> Run:
        if not here.exists():
            raise NotHere
        return lambda texts, _query: [[float(len(text)), 1.0, 2.0] for text in texts]

    def download(_: ModelSource) -> None:
        here.write_text("weights")

    library = Library("onnx", load, download)
    embedder = DownloadedEmbedder(library, "acme/unheard-of", EmbedderOptions())
    place = Workplace(clock)
    place.keep(make("Something."))
    with pytest.raises(EmbedderFailure, match="is not on this machine"):
        _ = embedder.space  # nobody but a worker waits for a download

    done = place.worker_with(Embedders(lambda: embedder, lambda _: embedder)).once()

    assert done.finished == 1
    assert [known.space.dimensions for known in place.store.spaces()] == [3]


def test_other_files_in_the_folder_are_another_space(models: Models, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(models("minilm", "minilm-pooled"), folder)
    before = open_fastembed(folder).space
    assert open_fastembed(folder).space == before

    (folder / "tokenizer_config.json").write_text('{"model_max_length": 9, "pad_token": "[PAD]"}')

    assert open_fastembed(folder).space.revision != before.revision


def test_a_closed_embedder_loads_its_model_again(models: Models) -> None:
    embedder = open_fastembed(models("minilm", "minilm-pooled"))
    before = embedder.embed_query("a")
    embedder.close()

    np.testing.assert_array_equal(embedder.embed_query("a"), before)


def test_a_query_does_not_wait_for_a_download() -> None:
    embedder = choose_embedder("fastembed:BAAI/bge-small-en-v1.5", EmbedderOptions())

    assert embedder is not None
    with pytest.raises(EmbedderFailure, match="is not on this machine") as caught:
        embedder.embed_query("q")
    assert "bearinmind work" in caught.value.hint


def test_a_model_that_cannot_be_downloaded_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    embedder = choose_embedder("fastembed:BAAI/bge-small-en-v1.5", EmbedderOptions())

    assert embedder is not None
    with pytest.raises(EmbedderFailure, match="and cannot be downloaded: "):
        embedder.embed_memories(["m"])


def test_a_model_that_fastembed_does_not_have_is_told() -> None:
    embedder = choose_embedder("fastembed:acme/unheard-of", EmbedderOptions(dimensions=8))

    assert embedder is not None
    with pytest.raises(EmbedderFailure, match="fastembed has no model 'acme/unheard-of'"):
        embedder.embed_memories(["m"])


def test_a_folder_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(EmbedderFailure, match="there is no ONNX model in"):
        open_fastembed(tmp_path).embed_query("q")


def test_a_damaged_model_is_told(models: Models, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    shutil.copytree(models("minilm", "minilm-pooled"), folder)
    (folder / "model.onnx").write_bytes(b"nonsense")

    with pytest.raises(EmbedderFailure, match="cannot be loaded: "):
        open_fastembed(folder).embed_query("q")


def test_a_model_has_the_dimensions_it_has() -> None:
    with pytest.raises(InvalidSetting, match=r"embedder_dimensions = 7: .* gives 1,024"):
        choose_embedder("fastembed:BAAI/bge-large-en-v1.5", EmbedderOptions(dimensions=7))


@pytest.mark.parametrize("library", [FASTEMBED, SENTENCE_TRANSFORMERS], ids=lambda x: x.name)
def test_a_library_that_is_missing_is_named_with_its_extra(library: Library) -> None:
    if importlib.util.find_spec(library.name.replace("-", "_")):
        library = library._replace(name=f"{library.name}-not")

    with pytest.raises(MissingExtra) as caught:
        DownloadedEmbedder(library, "BAAI/bge-m3", EmbedderOptions())
    assert f"pip install 'bearinmind[{library.name}]'" in caught.value.hint


def test_sentence_transformers_is_given_the_prompts_of_the_catalogue(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    from transformers import BertConfig, BertModel, BertTokenizerFast  # noqa: PLC0415

    folder = tmp_path / "e5-small"  # random weights, but the name has prompts
    tokenizer = bearinmind_encoder.folder("e5-small") / "tokenizer.json"
    BertTokenizerFast(tokenizer_file=str(tokenizer)).save_pretrained(folder)
    small = {"hidden_size": 384, "num_hidden_layers": 1, "num_attention_heads": 2}
    BertModel(BertConfig(**small)).save_pretrained(folder)
    embedder = choose_embedder(f"sentence-transformers:{folder}", EmbedderOptions())
    unprompted = shutil.copytree(folder, tmp_path / "unheard-of")
    other = choose_embedder(f"sentence-transformers:{unprompted}", EmbedderOptions())

    assert embedder is not None
    assert other is not None
    vectors = embedder.embed_memories(TEXTS)
    assert embedder.space.dimensions == other.space.dimensions == 384
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    prompted = [f"passage: {text}" for text in TEXTS]
    np.testing.assert_allclose(other.embed_memories(prompted), vectors, atol=1e-5)
    np.testing.assert_allclose(
        other.embed_query(f"query: {TEXTS[0]}"), embedder.embed_query(TEXTS[0]), atol=1e-5
    )
