"""A BERT sentence encoder as an ONNX graph, made straight from its weights, without PyTorch.

The graph takes `input_ids` and `attention_mask` and gives `embedding`: the mean of the last layer
over the tokens that are not padding, scaled to length 1. It uses the fused operators of ONNX
Runtime (the domain `com.microsoft`), which are as exact as the plain ones and faster.

Matrices are stored as 8-bit integers with a scale for every 32 numbers, and computed with in 32-bit
floats: ONNX Runtime widens them once, when it loads the graph, provided that the session has
`session.disable_quant_qdq=1`. The table of words stays as it is, and only the rows of a text are
widened.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from bert_weights import Weights

_OPSET = 21  # the first in which DequantizeLinear knows blocks
_IR_VERSION = 10  # of the same age, so that every ONNX Runtime we allow can read it
_FUSED = "com.microsoft"
_BLOCK = 32  # numbers with a common scale
_LARGEST = 127  # of an 8-bit integer


class BertGraph:
    """Nodes and constants of a graph while it grows; a method gives the name of what it adds."""

    def __init__(
        self, weights: Weights, *, layers: int, heads: int, layer_norm_epsilon: float
    ) -> None:
        self._weights = weights
        self._layers = layers
        self._heads = heads
        self._epsilon = layer_norm_epsilon
        self.dimensions = len(weights["embeddings.LayerNorm.bias"])
        self._nodes: list[NodeProto] = []
        self._constants: dict[str, TensorProto] = {}

    def model(self) -> ModelProto:
        """The whole graph."""
        hidden = self._embeddings()
        mask = self._node("Cast", "attention_mask", to=TensorProto.INT32)
        for layer in range(self._layers):
            hidden = self._layer(f"encoder.layer.{layer}.", hidden, mask)
        self._pooled(hidden)
        tokens = ("batch", "tokens")
        graph = helper.make_graph(
            self._nodes,
            "sentence-encoder",
            [
                helper.make_tensor_value_info("input_ids", TensorProto.INT64, tokens),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT64, tokens),
            ],
            [
                helper.make_tensor_value_info(
                    "embedding", TensorProto.FLOAT, ("batch", self.dimensions)
                )
            ],
            [*self._constants.values()],
        )
        return helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", _OPSET), helper.make_opsetid(_FUSED, 1)],
            ir_version=_IR_VERSION,
        )

    def _embeddings(self) -> str:
        """What each token means by itself and by its place; every token is of the first segment."""
        places = self._constant(
            "places",
            self._weights["embeddings.position_embeddings.weight"]
            + self._weights["embeddings.token_type_embeddings.weight"][0],
        )
        shape = self._node("Shape", "input_ids", start=1, end=2)
        first = self._constant("first", np.array([0], np.int64))
        used = self._node("Slice", places, first, shape, first)
        return self._node(
            "LayerNormalization",
            self._node("Add", self._words(), used),
            self._weight("embeddings.LayerNorm.weight"),
            self._weight("embeddings.LayerNorm.bias"),
            axis=-1,
            epsilon=self._epsilon,
        )

    def _words(self) -> str:
        """The rows of the table of words, each with a scale of its own."""
        table = self._weights["embeddings.word_embeddings.weight"]
        scales = _scales(table, axis=1)
        rows = self._node("Gather", self._constant("words", _rounded(table / scales)), "input_ids")
        row_scales = self._node("Gather", self._constant("words.scales", scales), "input_ids")
        return self._node("Mul", self._node("Cast", rows, to=TensorProto.FLOAT), row_scales)

    def _layer(self, prefix: str, hidden: str, mask: str) -> str:
        """Attention, then a network of one hidden layer; what went in is added to each."""
        attention = f"{prefix}attention.self."
        parts = [f"{attention}{part}" for part in ("query", "key", "value")]
        attended = self._node(
            "Attention",
            hidden,
            self._matrix(
                f"{attention}weight",
                np.concatenate([self._weights[f"{part}.weight"].T for part in parts], axis=1),
            ),
            self._constant(
                f"{attention}bias",
                np.concatenate([self._weights[f"{part}.bias"] for part in parts]),
            ),
            mask,
            domain=_FUSED,
            num_heads=self._heads,
        )
        hidden = self._added(f"{prefix}attention.output.", attended, hidden)
        widened = self._node(
            "BiasGelu",
            self._product(f"{prefix}intermediate.dense.weight", hidden),
            self._weight(f"{prefix}intermediate.dense.bias"),
            domain=_FUSED,
        )
        return self._added(f"{prefix}output.", widened, hidden)

    def _added(self, prefix: str, branch: str, trunk: str) -> str:
        """A branch, projected and added back to the trunk, normalised."""
        return self._node(
            "SkipLayerNormalization",
            self._product(f"{prefix}dense.weight", branch),
            trunk,
            self._weight(f"{prefix}LayerNorm.weight"),
            self._weight(f"{prefix}LayerNorm.bias"),
            self._weight(f"{prefix}dense.bias"),
            domain=_FUSED,
            epsilon=self._epsilon,
        )

    def _pooled(self, hidden: str) -> str:
        """The mean over the tokens that are not padding, scaled to length 1."""
        over_tokens = self._constant("over_tokens", np.array([1], np.int64))
        mask = self._node("Cast", "attention_mask", to=TensorProto.FLOAT)
        column = self._node("Unsqueeze", mask, self._constant("last", np.array([2], np.int64)))
        kept = self._node("Mul", hidden, column)
        # A mean is a sum divided by a count, which the scaling to length 1 takes away again.
        total = self._node("ReduceSum", kept, over_tokens, keepdims=0)
        return self._node("LpNormalization", total, output="embedding", axis=-1, p=2)

    def _product(self, weight: str, hidden: str) -> str:
        return self._node("MatMul", hidden, self._matrix(weight, self._weights[weight].T))

    def _matrix(self, name: str, value: NDArray[np.float32]) -> str:
        """A matrix, stored in blocks down its columns."""
        height, width = value.shape
        blocks = value.reshape(height // _BLOCK, _BLOCK, width)
        scales = _scales(blocks, axis=1)
        return self._node(
            "DequantizeLinear",
            self._constant(name, _rounded(blocks / scales).reshape(height, width)),
            self._constant(f"{name}.scales", scales[:, 0]),
            axis=0,
            block_size=_BLOCK,
        )

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def _node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:  # noqa: ANN401  as ONNX has them
        output = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output


def _scales(values: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """What the largest number along an axis has to be divided by to fit."""
    largest = np.abs(values).max(axis=axis, keepdims=True) / np.float32(_LARGEST)
    return np.where(largest == 0, np.float32(1), largest)


def _rounded(values: NDArray[np.float32]) -> NDArray[np.int8]:
    return np.rint(values).astype(np.int8)
