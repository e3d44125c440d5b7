"""Token vectors of the bundled encoders, and ways to keep them small.

A sentence encoder gives the mean of the vectors of a text's tokens. Here its graph gives those
vectors, too, and MaxSim (Khattab & Zaharia 2020) compares each token of a question with the nearest
token of a memory.
"""

from __future__ import annotations

import itertools
import json
import random
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray

from bearinmind.models.local import GRAPH, LocalEmbedder, token_batches
from bearinmind.text.sql_statements import statements_of

SQL = statements_of(Path(__file__).with_suffix(".sql").read_text("utf-8"))
LEARNT = Path(__file__).parent / "data" / "stores" / "corpus.jsonl"  #: of no set that is measured
SEED = 67
ENCODERS = ("minilm", "e5-small")
PLAIN, CENTRED, BYTES, WIDE, NARROW, CHANCE = FORMS = (
    "384 floats, as they are",
    "384 floats",
    "384 bytes",
    "128 bytes",
    "64 bytes",
    "64 bytes, directions by chance",
)
_BATCH = 512  # tokens
_LARGEST = 127  # of a byte with a sign

Floats = NDArray[np.float32]


class TokenEncoder:
    """An encoder that gives the vector of each token: what its mean is otherwise taken of."""

    def __init__(self, name: str) -> None:
        self.plain = LocalEmbedder(name)
        self._card, self._tokenizer = self.plain._card, self.plain._loaded().tokenizer
        model = onnx.load(self.plain._folder / GRAPH)
        [masked] = [x.input[0] for x in model.graph.node if x.op_type == "ReduceSum"]
        [product] = [x for x in model.graph.node if masked in x.output]
        self._states = product.input[0]
        shape = ("batch", "tokens", self._card.dimensions)
        model.graph.output.append(
            onnx.helper.make_tensor_value_info(self._states, onnx.TensorProto.FLOAT, shape)
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )

    def queries(self, texts: Sequence[str]) -> list[Floats]:
        """A row for each token of each question."""
        return self._encode(texts, self._card.query_prompt)

    def memories(self, texts: Sequence[str]) -> list[Floats]:
        """A row for each token of each memory."""
        return self._encode(texts, self._card.memory_prompt)

    def count(self, texts: Sequence[str]) -> int:
        """How many tokens of these texts have a vector."""
        return sum(
            _is_word(token) for x in texts for token in self._tokenizer.encode(x).tokens[1:-1]
        )

    def _encode(self, texts: Sequence[str], prompt: str) -> list[Floats]:
        before = len(self._tokenizer.encode(prompt).ids) - 1  # without the token that ends it
        read = [self._tokenizer.encode(prompt + text) for text in texts]
        found: dict[int, Floats] = {}
        for batch in token_batches([len(x.ids) for x in read], _BATCH):
            states = self._run([read[number].ids for number in batch])
            for number, rows in zip(batch, states, strict=True):
                tokens = read[number].tokens
                kept = [n for n in range(before, len(tokens) - 1) if _is_word(tokens[n])]
                chosen = rows[kept or [0]]  # of nothing but marks the token that stands first
                found[number] = chosen / np.linalg.norm(chosen, axis=1, keepdims=True)
        return [found[number] for number in range(len(texts))]

    def _run(self, tokens: Sequence[Sequence[int]]) -> Floats:
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, of_text in enumerate(tokens):
            ids[row, : len(of_text)] = of_text
            mask[row, : len(of_text)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask}
        states: Floats = self._session.run([self._states], inputs)[0]
        return states


def _is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


class Form(NamedTuple):
    """A way to keep the token vectors of a memory."""

    name: str
    middle: Floats | float  #: is taken away first: all tokens lie to one side
    directions: Floats | None  #: that are kept; None: all
    is_byte: bool = True

    def reduced(self, rows: Floats) -> Floats:
        """Rows of length 1 in the directions that are kept."""
        moved = rows - self.middle
        if self.directions is not None:
            moved = moved @ self.directions
        unit: Floats = moved / (np.linalg.norm(moved, axis=1, keepdims=True) + 1e-9)
        return unit

    def kept(self, rows: Floats) -> NDArray[Any]:
        """What is kept of a memory: each row by the largest of its numbers."""
        unit = self.reduced(rows)
        if not self.is_byte:
            return unit
        largest = np.abs(unit).max(axis=1, keepdims=True)
        rounded: NDArray[np.int8] = np.rint(unit / largest * _LARGEST).astype(np.int8)
        return rounded


def nearest(question: Floats, kept: NDArray[Any]) -> Floats:
    """The largest cosine of each token of a question with a token of a memory."""
    rows = kept.astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) + 1e-9
    best: Floats = (question @ rows.T).max(axis=1)
    return best


def forms(encoder: TokenEncoder) -> list[Form]:
    """The ways to keep them; the directions are those of memories that are not measured."""
    lines = LEARNT.read_text("utf-8").splitlines()
    texts = [json.loads(line)["content"] for line in random.Random(SEED).sample(lines, 600)]
    rows = np.vstack(encoder.memories(texts))
    middle = rows.mean(axis=0)
    _, _, principal = np.linalg.svd(rows - middle, full_matrices=False)
    rng = np.random.default_rng(SEED)
    chance = np.linalg.qr(rng.normal(size=(rows.shape[1], 64)))[0].astype(np.float32)
    return [
        Form(PLAIN, 0.0, None, is_byte=False),
        Form(CENTRED, middle, None, is_byte=False),
        Form(BYTES, middle, None),
        Form(WIDE, middle, principal[:128].T),
        Form(NARROW, middle, principal[:64].T),
        Form(CHANCE, middle, chance),
    ]


class KeptTokens:
    """Token vectors of memories in a file."""

    def __init__(self, file: Path, form: Form) -> None:
        self._connection = sqlite3.connect(file)
        self._connection.execute(SQL["make_tokens"])
        self._form = form

    def add(self, id_: str, rows: Floats) -> int:
        """Keep those of a memory; how many bytes that takes."""
        vectors = self._form.kept(rows).tobytes()
        self._connection.execute(SQL["add_tokens"], {"memory": id_, "vectors": vectors})
        return len(vectors)

    def near(self, ids: Sequence[str], rows: Floats) -> Floats:
        """MaxSim of some memories with a question, all their tokens at once."""
        found = dict(self._connection.execute(SQL["tokens_of"], {"memories": json.dumps(ids)}))
        question = self._form.reduced(rows)
        width = question.shape[1]
        codes = [np.frombuffer(found[id_], np.int8).reshape(-1, width) for id_ in ids]
        starts = [0, *itertools.accumulate(len(each) for each in codes[:-1])]
        joined = np.concatenate(codes).astype(np.float32)
        lengths = np.sqrt(np.einsum("td,td->t", joined, joined))
        best = np.maximum.reduceat(question @ joined.T / lengths, starts, axis=1)
        near: Floats = best.mean(axis=0)
        return near

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
