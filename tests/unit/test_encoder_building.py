"""How the encoders are made: a small random BERT from both kinds of files, held against NumPy."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

import build
from bearinmind.models.cross_encoder import CrossEncoder
from bearinmind.models.local import LocalEmbedder
from bert_graph import BertGraph
from bert_weights import (
    Weights,
    from_bytes,
    from_safetensors,
    from_torch_export,
    further_trained,
)
from published import MODELS, digest

HIDDEN, WIDE, HEADS, LAYERS, PLACES = 64, 128, 4, 2, 24
EPSILON = 1e-12
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *["the", "tide", "was", "high", "and", "low", "at", "noon"],
]


@pytest.fixture(scope="module")
def weights() -> Weights:
    random = np.random.default_rng(7)

    def numbers(*shape: int) -> NDArray[np.float32]:
        return random.normal(0, 0.3, shape).astype(np.float32)

    made = {
        "embeddings.word_embeddings.weight": numbers(len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": numbers(PLACES, HIDDEN),
        "embeddings.token_type_embeddings.weight": numbers(2, HIDDEN),
    }
    norms = ["embeddings."]
    for layer in (f"encoder.layer.{n}." for n in range(LAYERS)):
        norms += [f"{layer}attention.output.", f"{layer}output."]
        for name, (into, out) in {
            "attention.self.query": (HIDDEN, HIDDEN),
            "attention.self.key": (HIDDEN, HIDDEN),
            "attention.self.value": (HIDDEN, HIDDEN),
            "attention.output.dense": (HIDDEN, HIDDEN),
            "intermediate.dense": (HIDDEN, WIDE),
            "output.dense": (WIDE, HIDDEN),
        }.items():
            made[f"{layer}{name}.weight"] = numbers(out, into)
            made[f"{layer}{name}.bias"] = numbers(out)
    for norm in norms:
        made[f"{norm}LayerNorm.weight"] = 1 + numbers(HIDDEN)
        made[f"{norm}LayerNorm.bias"] = numbers(HIDDEN)
    return made


def graph_of(weights: Weights) -> BertGraph:
    return BertGraph(weights, layers=LAYERS, heads=HEADS, layer_norm_epsilon=EPSILON)


def written(weights: Weights, folder: Path) -> Path:
    """A folder with the encoder of these weights."""
    folder.mkdir()
    model = graph_of(weights).model().SerializeToString(deterministic=True)
    (folder / "model.onnx").write_bytes(model)
    published: dict[str, Any] = {
        "version": "1.0",
        "truncation": {"max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 9}, "direction": "Right", "pad_id": 0, "pad_type_id": 0}
        | {"pad_to_multiple_of": None, "pad_token": "[PAD]"},
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": None,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "max_input_chars_per_word": 100}
        | {"continuing_subword_prefix": "##", "vocab": {w: n for n, w in enumerate(WORDS)}},
    }
    (folder.parent / "published.json").write_text(json.dumps(published), encoding="utf-8")
    build.write_tokenizer(folder.parent / "published.json", folder / "tokenizer.json")
    build.write_card(MODELS["minilm"], HIDDEN, folder)
    return folder


def last_layer(weights: Weights, ids: list[int]) -> NDArray[np.float64]:
    """The numbers of each token by the definition of BERT, in double precision."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}

    def norm(x: NDArray[Any], name: str) -> NDArray[Any]:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + EPSILON)
        return x * w[f"{name}LayerNorm.weight"] + w[f"{name}LayerNorm.bias"]

    def linear(x: NDArray[Any], name: str) -> NDArray[Any]:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.")
    for layer in (f"encoder.layer.{n}." for n in range(LAYERS)):
        q, k, v = (
            linear(x, f"{layer}attention.self.{part}").reshape(len(ids), HEADS, -1).swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = np.exp(q @ k.swapaxes(1, 2) / math.sqrt(HIDDEN // HEADS))
        seen = (scores / scores.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(len(ids), -1)
        x = norm(linear(seen, f"{layer}attention.output.dense") + x, f"{layer}attention.output.")
        wide = linear(x, f"{layer}intermediate.dense")
        wide = wide * 0.5 * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))
        x = norm(linear(wide, f"{layer}output.dense") + x, f"{layer}output.")
    return x


def reference(weights: Weights, ids: list[int]) -> NDArray[np.float32]:
    """The embedding of a text."""
    mean = last_layer(weights, ids).mean(0)
    embedding: NDArray[np.float32] = (mean / np.linalg.norm(mean)).astype(np.float32)
    return embedding


def write_safetensors(weights: Weights, path: Path, kind: str = "F32") -> None:
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, value in weights.items():
        end = len(body) + value.nbytes
        header[name] = {
            "dtype": kind,
            "shape": [*value.shape],
            "data_offsets": [len(body), end],
        }
        body += value.tobytes()
    said = json.dumps(header).encode()
    path.write_bytes(len(said).to_bytes(8, "little") + said + body)


def write_torch_export(weights: Weights, path: Path) -> None:
    """As PyTorch does: matrices transposed, nameless, multiplied before their bias is added."""
    nodes: list[NodeProto] = []
    tensors: list[TensorProto] = []
    for name, value in weights.items():
        if value.ndim == 2 and name.startswith("encoder."):
            number = len(nodes)
            bias = name.removesuffix("weight") + "bias"
            tensors.append(numpy_helper.from_array(value.T.copy(), f"val_{number}"))
            nodes.append(helper.make_node("MatMul", ["x", f"val_{number}"], [f"p{number}"]))
            nodes.append(helper.make_node("Add", [f"p{number}", bias], [f"s{number}"]))
        else:
            tensors.append(numpy_helper.from_array(value, name))
    tensors.append(numpy_helper.from_array(np.arange(4), "embeddings.position_ids"))
    onnx.save(helper.make_model(helper.make_graph(nodes, "torch", [], [], tensors)), path)


def test_the_graph_computes_what_bert_is_defined_to(weights: Weights, tmp_path: Path) -> None:
    embedder = LocalEmbedder(written(weights, tmp_path / "small"))
    texts = ["the tide was high", "low", "and the tide was low and high at noon"]
    ids = [[2, *(WORDS.index(word) for word in text.split()), 3] for text in texts]
    expected = np.stack([reference(weights, row) for row in ids])
    assert (embedder.embed_memories(texts) * expected).sum(axis=1).min() > 0.9995
    assert (embedder.embed_query(texts[0]) * expected[0]).sum() > 0.9995
    assert (expected[0] * expected[1]).sum() < 0.99  # so that it was worth comparing


def test_a_graph_with_a_classifier_gives_a_number_for_two_texts(
    weights: Weights, tmp_path: Path
) -> None:
    random = np.random.default_rng(3)
    head = {
        "classifier.weight": random.normal(0, 0.2, (1, HIDDEN)).astype(np.float32),
        "classifier.bias": np.array([0.4], np.float32),
    }
    reader = CrossEncoder(written({**weights, **head}, tmp_path / "pairs"))
    pairs = [("the tide was high", "low at noon"), ("low", "and the tide was low and high at noon")]
    for pair, number in zip(pairs, reader.of_pairs(pairs, seconds=60), strict=True):
        first, second = ([WORDS.index(word) for word in text.split()] for text in pair)
        token = last_layer(weights, [2, *first, 3, *second, 3])[0]
        logit = (head["classifier.weight"] @ token + head["classifier.bias"]).item()
        assert number == pytest.approx(1 / (1 + math.exp(-logit)), abs=0.02)


def test_weights_in_bytes_are_read_with_their_steps(tmp_path: Path) -> None:
    matrix, steps = np.array([[127, -3], [5, 0]], np.int8), np.array([[0.5], [2.0]], np.float32)
    stored = {"m.weight": matrix, "m.weight.steps": steps, "m.bias": np.array([1.5], np.float16)}
    np.savez(tmp_path / "w.npz", **stored)  # type: ignore[arg-type]
    read = from_bytes(tmp_path / "w.npz")
    assert read.keys() == {"m.weight", "m.bias"}
    np.testing.assert_array_equal(read["m.weight"], matrix * steps)
    assert read["m.bias"].dtype == np.float32


def test_what_was_trained_here_is_added_to_published_weights(tmp_path: Path) -> None:
    published = {"one.weight": np.eye(2), "one.bias": np.ones(2), "norm.weight": np.ones(2)}
    added = {"one.tall": [[2.0], [0.0]], "one.flat": [[0.0, 3.0]], "norm.weight": [0.5, 0.0]}
    other = {"other.one.bias": np.ones(2)}
    arrays: dict[str, Any] = {f"model.{name}": np.array(x) for name, x in added.items()} | other
    np.savez(tmp_path / "encoders.npz", **arrays)
    weights = further_trained(
        {name: x.astype(np.float32) for name, x in published.items()},
        tmp_path / "encoders.npz",
        "model",
    )
    assert weights["one.weight"].tolist() == [[1.0, 6.0], [0.0, 1.0]]
    assert weights["norm.weight"].tolist() == [1.5, 1.0]
    assert weights["one.bias"].tolist() == [1.0, 1.0]  # another model's


def test_no_sum_of_two_products_is_cut_off_by_processors_that_add_in_16_bits(
    weights: Weights,
) -> None:
    graph = graph_of(weights).model().graph
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    products = [node for node in graph.node if node.op_type == "MatMulIntegerToFloat"]
    assert len(products) == 4 * LAYERS
    for product in products:
        matrix = constants[product.input[1]].astype(np.int64)
        for signed in (matrix, -matrix):
            pairs = np.maximum(signed, 0).reshape(-1, 2, matrix.shape[1]).sum(axis=1)
            assert 255 * pairs.max() <= np.iinfo(np.int16).max


def test_the_published_tokenizer_pads_and_cuts_no_more(weights: Weights, tmp_path: Path) -> None:
    folder = written(weights, tmp_path / "small")
    settings = json.loads((folder / "tokenizer.json").read_bytes())
    assert settings["padding"] is None
    assert settings["truncation"] is None
    assert settings["model"]["vocab"]["tide"] == WORDS.index("tide")


def test_the_same_weights_give_the_same_files(weights: Weights, tmp_path: Path) -> None:
    once, again = written(weights, tmp_path / "once"), written(weights, tmp_path / "again")
    assert {path.name for path in once.iterdir()} == {
        "encoder.json",
        "model.onnx",
        "tokenizer.json",
    }
    for path in once.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes()


def test_the_card_has_the_digest_of_each_file(weights: Weights, tmp_path: Path) -> None:
    folder = written(weights, tmp_path / "small")
    card = json.loads((folder / "encoder.json").read_bytes())
    assert card["dimensions"] == HIDDEN
    assert card["weights"] == MODELS["minilm"].weights
    assert {name: file["sha256"] for name, file in card["files"].items()} == {
        name: digest(folder / name) for name in ("model.onnx", "tokenizer.json")
    }


def test_weights_are_the_same_from_both_kinds_of_files(weights: Weights, tmp_path: Path) -> None:
    write_safetensors(weights, tmp_path / "w.safetensors")
    write_torch_export(weights, tmp_path / "w.onnx")
    for read in (
        from_safetensors(tmp_path / "w.safetensors"),
        from_torch_export(tmp_path / "w.onnx"),
    ):
        assert read.keys() == weights.keys()
        for name, value in weights.items():
            np.testing.assert_array_equal(read[name], value)


def test_weights_in_another_precision_are_refused(weights: Weights, tmp_path: Path) -> None:
    write_safetensors(weights, tmp_path / "w.safetensors", kind="F16")
    with pytest.raises(ValueError, match="is F16, not F32"):
        from_safetensors(tmp_path / "w.safetensors")
