"""The weights of a BERT encoder by their usual names, from the ways in which they are published."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, numpy_helper

Weights = Mapping[str, NDArray[np.float32]]


def from_safetensors(path: Path) -> Weights:
    """The tensors of a safetensors file: a length, a header in JSON, and the numbers.

    Raises:
        ValueError: it holds something other than 32-bit floats.
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
            raise ValueError(f"{name} of {path.name} is {tensor['dtype']}, not F32")
        first, last = tensor["data_offsets"]
        numbers = np.frombuffer(content, np.float32, (last - first) // 4, begin + first)
        weights[name] = numbers.reshape(tensor["shape"])
    return weights


def from_torch_export(path: Path) -> Weights:
    """The weights in a graph that PyTorch exported.

    Vectors and tables keep their names there. The matrix of a linear layer loses its own and is
    stored transposed: it is told by the bias that is added to its product.
    """
    graph = onnx.load(path).graph  # with the file of numbers beside it
    stored = {tensor.name: tensor for tensor in graph.initializer}
    names = {name: name for name in stored if name.startswith(("embeddings.", "encoder."))}
    matrices = dict(_matrices(graph))
    weights = {
        name: numpy_helper.to_array(stored[source])
        for name, source in (names | matrices).items()
        if stored[source].data_type == onnx.TensorProto.FLOAT
    }
    return weights | {name: weights[name].T for name in matrices}


def from_bytes(path: Path) -> dict[str, NDArray[np.float32]]:
    """The weights that were trained here: matrices in bytes, with a step for each of their rows."""
    with np.load(path) as stored:
        return {
            name: stored[name].astype(np.float32) * stored.get(f"{name}.steps", np.float32(1))
            for name in stored
            if not name.endswith(".steps")
        }


def further_trained(published: Weights, path: Path, model: str) -> dict[str, NDArray[np.float32]]:
    """Published weights with what this project's training adds to them.

    To a matrix it adds the product of two narrow ones (`tall` and `flat`), to a vector another: in
    double precision, which holds sums of products of 16-bit floats whole, in whatever order and by
    however many threads they are added.
    """
    weights = dict(published)
    with np.load(path) as stored:
        added = {name.removeprefix(f"{model}."): stored[name].astype(np.float64) for name in stored}
    for name in published:
        layer = name.removesuffix(".weight")
        if f"{layer}.tall" in added:
            more = added[f"{layer}.tall"] @ added[f"{layer}.flat"]
            weights[name] = (published[name] + more).astype(np.float32)
        elif name in added:
            weights[name] = (published[name] + added[name]).astype(np.float32)
    return weights


def _matrices(graph: GraphProto) -> Iterator[tuple[str, str]]:
    """The usual name of each matrix, and the name it has in the graph."""
    matrix_of = {node.output[0]: node.input[1] for node in graph.node if node.op_type == "MatMul"}
    for node in graph.node:
        if node.op_type == "Add" and node.input[0] in matrix_of:
            product, bias = node.input
            if bias.endswith(".bias"):
                yield bias.removesuffix("bias") + "weight", matrix_of[product]
