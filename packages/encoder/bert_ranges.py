"""How large the numbers become that a BERT encoder's matrices are multiplied with."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bert_weights import Weights

Numbers = NDArray[np.float64]

_TEXTS, _TOKENS = 32, 24


def largest_inputs(
    weights: Weights, *, layers: int, heads: int, layer_norm_epsilon: float
) -> dict[str, Numbers]:
    """By matrix that follows a normalisation: the largest number in each dimension of its input.

    Dimensions that are large are so in nearly every text: texts of random tokens show them. All is
    in double precision, so that every machine comes to the same result.
    """
    bert = _Bert(weights, heads, layer_norm_epsilon)
    words, places = (
        len(weights[f"embeddings.{table}_embeddings.weight"]) for table in ("word", "position")
    )
    ids = np.random.default_rng(0).integers(words, size=(_TEXTS, min(_TOKENS, places)))
    hidden = bert.embedded(ids)
    largest = {}
    for prefix in (f"encoder.layer.{layer}." for layer in range(layers)):
        largest[f"{prefix}attention.self."] = np.abs(hidden).max(axis=(0, 1))
        hidden = bert.attended(prefix, hidden)
        largest[f"{prefix}intermediate.dense."] = np.abs(hidden).max(axis=(0, 1))
        hidden = bert.widened(prefix, hidden)
    return largest


class _Bert:
    """The layers of an encoder, for texts of one length."""

    def __init__(self, weights: Weights, heads: int, epsilon: float) -> None:
        self._weights = {name: value.astype(np.float64) for name, value in weights.items()}
        self._heads = heads
        self._epsilon = epsilon

    def embedded(self, ids: NDArray[np.int64]) -> Numbers:
        """What each token means by itself and by its place."""
        words, places, types = (
            self._weights[f"embeddings.{table}_embeddings.weight"]
            for table in ("word", "position", "token_type")
        )
        return self._normalised("embeddings.", words[ids] + places[: ids.shape[1]] + types[0])

    def attended(self, prefix: str, hidden: Numbers) -> Numbers:
        """Each token with what it takes from the others."""
        query, key, value = (
            self._linear(f"{prefix}attention.self.{part}.", hidden)
            .reshape(*hidden.shape[:2], self._heads, -1)
            .swapaxes(1, 2)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(2, 3) / math.sqrt(query.shape[-1])
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        taken = (shares @ value).swapaxes(1, 2).reshape(hidden.shape)
        branch = self._linear(f"{prefix}attention.output.dense.", taken)
        return self._normalised(f"{prefix}attention.output.", branch + hidden)

    def widened(self, prefix: str, hidden: Numbers) -> Numbers:
        """Each token after the network of one hidden layer."""
        wide = self._linear(f"{prefix}intermediate.dense.", hidden)
        # GELU by its usual approximation: NumPy has no error function.
        wide *= 0.5 + 0.5 * np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))
        branch = self._linear(f"{prefix}output.dense.", wide)
        return self._normalised(f"{prefix}output.", branch + hidden)

    def _linear(self, name: str, hidden: Numbers) -> Numbers:
        product: Numbers = hidden @ self._weights[f"{name}weight"].T
        return product + self._weights[f"{name}bias"]

    def _normalised(self, prefix: str, hidden: Numbers) -> Numbers:
        hidden = hidden - hidden.mean(axis=-1, keepdims=True)
        hidden /= np.sqrt(hidden.var(axis=-1, keepdims=True) + self._epsilon)
        scaled: Numbers = hidden * self._weights[f"{prefix}LayerNorm.weight"]
        return scaled + self._weights[f"{prefix}LayerNorm.bias"]
