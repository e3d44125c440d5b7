"""A BERT encoder as an ONNX graph, made straight from its weights, without PyTorch.

The graph takes `input_ids` and `attention_mask`. That of a sentence encoder gives `embedding`: the
mean of the last layer over the tokens that are not padding, scaled to length 1. That of a
cross-encoder, whose weights have a `classifier`, gives `logits`: its numbers for two texts.

Matrices are multiplied in 8-bit integers, which takes a third of the time of 32-bit floats; all
else is computed in floats. What keeps the cosine with the unrounded encoder above .998:

* Each token's numbers have a step of their own, so that one token with large numbers costs the
  others nothing. So a vector does not depend on the texts of its batch, either.
* A few of a token's dimensions are far larger than the others. Each dimension is divided by a power
  of two, and the row of the matrix that it meets is multiplied by it (SmoothQuant, Xiao 2023).
* What GELU gives is never below -.17: moved up by that, all 256 values of a byte are used.
* Processors without VNNI add two products in 16 bits, where the sum of two large ones would be cut
  off. The steps of the matrices are such that no sum can be: see `_column_steps`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from bert_ranges import largest_inputs
from bert_weights import Weights

_OPSET = 21
_IR_VERSION = 10  # of the same age, so that every ONNX Runtime we allow can read it
_FUSED = "com.microsoft"
_LARGEST = 127  # of an 8-bit integer with a sign
_LARGEST_PAIR = 128  # so many times 255 fit into 16 bits with a sign
_GELU_LEAST = 0.17  # it gives nothing below the negative of this
_SMOOTHED = 0.65  # how much of the spread of a token's dimensions goes to the matrix


class _Rows(NamedTuple):
    """What goes into a product, in bytes: a row for each token."""

    rounded: str
    largest: str  #: number in each row, by which it was divided
    step: str
    zero: str  #: the byte that means 0
    below: float = 0.0  #: so much was added to every number


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
        self._largest = largest_inputs(
            weights, layers=layers, heads=heads, layer_norm_epsilon=layer_norm_epsilon
        )
        self._nodes: list[NodeProto] = []
        self._constants: dict[str, TensorProto] = {}

    def model(self) -> ModelProto:
        """The whole graph."""
        hidden = self._embeddings()
        mask = self._node("Cast", "attention_mask", to=TensorProto.INT32)
        is_scoring = "classifier.weight" in self._weights
        for layer in range(self._layers):
            # Only the first token counts in the end: the last layer is computed for it alone.
            is_last = is_scoring and layer == self._layers - 1
            hidden = self._layer(f"encoder.layer.{layer}.", hidden, mask, only_first=is_last)
        output = self._scored(hidden) if is_scoring else self._pooled(hidden)
        width = len(self._weights["classifier.bias"]) if is_scoring else self.dimensions
        tokens = ("batch", "tokens")
        graph = helper.make_graph(
            self._nodes,
            "sentence-encoder",
            [
                helper.make_tensor_value_info("input_ids", TensorProto.INT64, tokens),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT64, tokens),
            ],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, ("batch", width))],
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
        """The rows of the table of words, each with a step of its own."""
        table = self._weights["embeddings.word_embeddings.weight"]
        steps = _row_steps(table)
        rows = self._node("Gather", self._constant("words", _rounded(table / steps)), "input_ids")
        row_steps = self._node("Gather", self._constant("words.steps", steps), "input_ids")
        return self._node("Mul", self._node("Cast", rows, to=TensorProto.FLOAT), row_steps)

    def _layer(self, prefix: str, hidden: str, mask: str, *, only_first: bool) -> str:
        """Attention, then a network of one hidden layer; what went in is added to each."""
        attention = f"{prefix}attention.self."
        parts = [f"{attention}{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self._weights[f"{part}.weight"].T for part in parts], axis=1)
        bias = np.concatenate([self._weights[f"{part}.bias"] for part in parts])
        projected = self._from_normalised(attention, hidden, weight, bias)
        query, *taken = self._split(projected, len(parts))
        if only_first:
            query, hidden = self._first_token(query), self._first_token(hidden)
        attended = self._node(
            "MultiHeadAttention",
            query,
            *taken,
            "",
            mask,
            domain=_FUSED,
            num_heads=self._heads,
        )
        hidden = self._added(f"{prefix}attention.output.", self._signed_rows(attended), hidden)
        name = f"{prefix}intermediate.dense."
        weight, bias = self._weights[f"{name}weight"].T, self._weights[f"{name}bias"]
        widened = self._node("Gelu", self._from_normalised(name, hidden, weight, bias))
        return self._added(f"{prefix}output.", self._gelu_rows(widened), hidden)

    def _added(self, prefix: str, rows: _Rows, trunk: str) -> str:
        """A branch, projected and added back to the trunk, normalised."""
        name = f"{prefix}dense."
        weight, bias = self._weights[f"{name}weight"].T, self._weights[f"{name}bias"]
        # SkipLayerNormalization does all of it, and takes five times as long.
        return self._node(
            "LayerNormalization",
            self._node("Add", self._product(name, rows, weight, bias), trunk),
            self._weight(f"{prefix}LayerNorm.weight"),
            self._weight(f"{prefix}LayerNorm.bias"),
            axis=-1,
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

    def _scored(self, hidden: str) -> str:
        """Numbers from the first token, which stands for both texts."""
        return self._node(
            "Gemm",
            self._node("Squeeze", hidden, self._constant("over_tokens", np.array([1], np.int64))),
            self._weight("classifier.weight"),
            self._weight("classifier.bias"),
            output="logits",
            transB=1,
        )

    def _from_normalised(
        self, name: str, hidden: str, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> str:
        """The product of a matrix with what LayerNormalization gave, whose dimensions differ."""
        factors = _smoothing(self._largest[name], weight)
        smoothed = self._node("Mul", hidden, self._constant(f"{name}smoothing", 1 / factors))
        return self._product(
            name, self._signed_rows(smoothed), weight * factors[:, np.newaxis], bias
        )

    def _signed_rows(self, hidden: str) -> _Rows:
        largest = self._largest_of_rows(self._node("Abs", hidden))
        return self._rows(hidden, largest, _LARGEST, 128)

    def _gelu_rows(self, hidden: str) -> _Rows:
        moved = self._node(
            "Add", hidden, self._constant("gelu_least", np.array(_GELU_LEAST, np.float32))
        )
        rows = self._rows(moved, self._largest_of_rows(moved), 255, 0)
        return rows._replace(below=_GELU_LEAST)

    def _largest_of_rows(self, hidden: str) -> str:
        over = self._constant("over_dimensions", np.array([-1], np.int64))
        return self._node("ReduceMax", hidden, over, keepdims=1)

    def _rows(self, hidden: str, largest: str, steps: int, zero: int) -> _Rows:
        step = self._constant(f"one_of_{steps}", np.array(1 / steps, np.float32))
        byte = self._constant(f"byte_{zero}", np.array(zero, np.uint8))
        shares = self._node("Div", hidden, largest)
        return _Rows(self._node("QuantizeLinear", shares, step, byte), largest, step, byte)

    def _product(
        self, name: str, rows: _Rows, weight: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> str:
        """Rows times a matrix, plus a bias."""
        steps = _column_steps(weight)
        rounded = _rounded(weight / steps)
        bias = bias - np.float32(rows.below) * (rounded * steps).sum(axis=0, dtype=np.float32)
        product = self._node(
            "MatMulIntegerToFloat",
            rows.rounded,
            self._constant(f"{name}weight", rounded),
            rows.step,
            self._constant(f"{name}steps", steps),
            rows.zero,
            domain=_FUSED,
        )
        scaled = self._node("Mul", product, rows.largest)
        return self._node("Add", scaled, self._constant(f"{name}bias", bias))

    def _first_token(self, hidden: str) -> str:
        zero, one = (self._constant(f"at_{x}", np.array([x], np.int64)) for x in (0, 1))
        return self._node("Slice", hidden, zero, one, one)

    def _split(self, joined: str, parts: int) -> list[str]:
        outputs = [f"{joined}_{part}" for part in range(parts)]
        self._nodes.append(helper.make_node("Split", [joined], outputs, axis=2, num_outputs=parts))
        return outputs

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants[name] = numpy_helper.from_array(np.asarray(value, order="C"), name)
        return name

    def _node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:  # noqa: ANN401  as ONNX has them
        output = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output


def _smoothing(largest: NDArray[np.float64], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """By what each dimension is divided: powers of two, which are exact, around 1."""
    rows = np.abs(weight).max(axis=1).astype(np.float64)
    powers = _SMOOTHED * np.log2(largest) - (1 - _SMOOTHED) * np.log2(rows)
    factors: NDArray[np.float32] = np.exp2(np.rint(powers - powers.mean())).astype(np.float32)
    return factors


def _column_steps(weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """The step of each column of a matrix: the finest with which no sum of two is cut off."""
    height, width = weight.shape
    largest = np.abs(weight).max(axis=0) / np.float32(_LARGEST)
    for signed in (weight, -weight):
        pairs = np.maximum(signed, 0).reshape(height // 2, 2, width).sum(axis=1)
        # A sum of two that are rounded up is one more.
        largest = np.maximum(largest, pairs.max(axis=0) / np.float32(_LARGEST_PAIR - 1))
    return np.where(largest == 0, np.float32(1), largest)


def _row_steps(table: NDArray[np.float32]) -> NDArray[np.float32]:
    """The step of each row of a table."""
    largest = np.abs(table).max(axis=1, keepdims=True) / np.float32(_LARGEST)
    return np.where(largest == 0, np.float32(1), largest)


def _rounded(values: NDArray[np.float32]) -> NDArray[np.int8]:
    return np.rint(values).astype(np.int8)
