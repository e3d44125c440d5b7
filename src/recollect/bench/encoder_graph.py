"""A BERT sentence encoder as an ONNX graph, made straight from its weights, without PyTorch.

The graph takes `input_ids` and `attention_mask` and gives `embedding`: the mean of the last layer
over the tokens that are not padding, scaled to length 1. It uses the fused operators of ONNX
Runtime (the domain `com.microsoft`), which are as exact as the plain ones and faster. Only whoever
builds an encoder imports this module: it needs the package `onnx`, an encoder at work does not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from recollect.errors import ModelFailure

_OPSET = 18  # ReduceSum and ReduceL2 take their axes as inputs
_IR_VERSION = 9  # of the same age, so that every ONNX Runtime we allow can read it
_FUSED = "com.microsoft"

Weights = Mapping[str, NDArray[np.float32]]


def read_weights(path: Path) -> Weights:
    """The tensors of a safetensors file: a length, a header in JSON, and the numbers.

    Raises:
        ModelFailure: it holds something other than 32-bit floats.
    """
    content = path.read_bytes()
    begin = 8 + int.from_bytes(content[:8], "little")
    header: dict[str, Any] = json.loads(content[8:begin])
    header.pop("__metadata__", None)
    weights: dict[str, NDArray[np.float32]] = {}
    for name, tensor in header.items():
        if tensor["dtype"] == "I64":  # position ids, which the graph does without
            continue
        if tensor["dtype"] != "F32":
            raise ModelFailure(f"{name} of {str(path)!r} is {tensor['dtype']}, not F32")
        first, last = tensor["data_offsets"]
        numbers = np.frombuffer(content, np.float32, (last - first) // 4, begin + first)
        weights[name] = numbers.reshape(tensor["shape"])
    return weights


def write(weights: Weights, config: Mapping[str, Any], path: Path) -> None:
    """Write the encoder that has these weights."""
    onnx.save(_Graph(weights, config).model(), path)


class _Graph:
    """Nodes and constants of a graph while it grows; a method gives the name of what it adds."""

    def __init__(self, weights: Weights, config: Mapping[str, Any]) -> None:
        self._weights = weights
        self._config = config
        self._nodes: list[NodeProto] = []
        self._constants: dict[str, TensorProto] = {}

    def model(self) -> ModelProto:
        """The whole graph."""
        hidden = self._embeddings()
        mask = self._node("Cast", "attention_mask", to=TensorProto.INT32)
        for layer in range(self._config["num_hidden_layers"]):
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
                    "embedding", TensorProto.FLOAT, ("batch", self._config["hidden_size"])
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
        words = self._node("Gather", self._weight("embeddings.word_embeddings.weight"), "input_ids")
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
            self._node("Add", words, used),
            self._weight("embeddings.LayerNorm.weight"),
            self._weight("embeddings.LayerNorm.bias"),
            axis=-1,
            epsilon=self._config["layer_norm_eps"],
        )

    def _layer(self, prefix: str, hidden: str, mask: str) -> str:
        """Attention, then a network of one hidden layer; what went in is added to each."""
        attention = f"{prefix}attention.self."
        parts = [f"{attention}{part}" for part in ("query", "key", "value")]
        attended = self._node(
            "Attention",
            hidden,
            self._constant(
                f"{attention}weight",
                np.concatenate([self._weights[f"{part}.weight"].T for part in parts], axis=1),
            ),
            self._constant(
                f"{attention}bias",
                np.concatenate([self._weights[f"{part}.bias"] for part in parts]),
            ),
            mask,
            domain=_FUSED,
            num_heads=self._config["num_attention_heads"],
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
            epsilon=self._config["layer_norm_eps"],
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
        transposed = self._constant(weight, np.ascontiguousarray(self._weights[weight].T))
        return self._node("MatMul", hidden, transposed)

    def _weight(self, name: str) -> str:
        return self._constant(name, self._weights[name])

    def _constant(self, name: str, value: NDArray[Any]) -> str:
        self._constants[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def _node(self, operator: str, *inputs: str, output: str = "", **attributes: Any) -> str:  # noqa: ANN401  as ONNX has them
        output = output or f"{operator}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output
