"""The network that reads two or three texts at once: BERT's layers, and two numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # a processor is enough to try it
ANSWERS, OUTDATES = 0, 1  # the two numbers that a model gives; the second also for a question
HEAD = 32  # numbers of a head of attention


class Layer(nn.Module):
    """Attention, then a network of one hidden layer."""

    def __init__(self, heads: int, inner: int, size: int = 384) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(size, heads * HEAD) for _ in range(3))
        self.out, self.norm = nn.Linear(heads * HEAD, size), nn.LayerNorm(size, 1e-12)
        self.wide, self.narrow = nn.Linear(size, inner), nn.Linear(inner, size)
        self.last_norm, self.drop = nn.LayerNorm(size, 1e-12), nn.Dropout(0.1)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """The hidden numbers of the next layer."""
        hidden = self.norm(hidden + self.drop(self.out(self.attended(hidden, mask))))
        return self.last_norm(hidden + self.drop(self.narrow(self.widened(hidden))))

    def attended(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """What each token takes from the others, head by head."""
        parts = [
            part(hidden).unflatten(-1, (-1, HEAD)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        taken = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
        return taken.transpose(1, 2).flatten(2)

    def widened(self, hidden: Tensor) -> Tensor:
        """The hidden layer of the network."""
        return functional.gelu(self.wide(hidden))


#: The usual name of each part of a layer.
PARTS_OF_LAYER = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "out": "attention.output.dense",
    "norm": "attention.output.LayerNorm",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
    "last_norm": "output.LayerNorm",
}


class Reader(nn.Module):
    """An encoder that reads two texts at once and gives two numbers."""

    def __init__(self, layers: int, heads: int, inner: int, size: int = 384) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30_522, size), nn.Embedding(512, size)
        self.norm, self.drop = nn.LayerNorm(size, 1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer(heads, inner) for _ in range(layers))
        self.numbers = nn.Linear(size, 2)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
        """For each row two numbers, and what each layer gives."""
        hidden = [self.drop(self.norm(self.words(ids) + self.places.weight[: ids.shape[1]]))]
        for layer in self.layers:
            hidden.append(layer(hidden[-1], mask[:, None, None, :]))
        return self.numbers(hidden[-1][:, 0].float()), hidden

    def names(self) -> dict[str, str]:
        """By parameter: its usual name. Every token is of the first segment."""
        names = {"words.weight": "embeddings.word_embeddings.weight"}
        for end in ("weight", "bias"):
            names[f"norm.{end}"] = f"embeddings.LayerNorm.{end}"
            names |= {
                f"layers.{place}.{part}.{end}": f"encoder.layer.{place}.{usual}.{end}"
                for place in range(len(self.layers))
                for part, usual in PARTS_OF_LAYER.items()
            }
        return names

    @classmethod
    def stored(cls, *paths: Path) -> Reader:
        """With the weights of a published encoder, and of what was trained from it, if named."""
        stored: dict[str, Any] = {}
        for path in paths:
            with np.load(path) as file:
                stored |= {
                    name: file[name].astype(np.float32) * file.get(f"{name}.steps", np.float32(1))
                    for name in file
                    if not name.endswith(".steps")
                }
        wide = [value for name, value in stored.items() if name.endswith("intermediate.dense.bias")]
        heads = len(stored["encoder.layer.0.attention.self.query.bias"]) // HEAD
        reader = cls(len(wide), heads, len(wide[0]))
        state = reader.state_dict()
        state |= {own: torch.tensor(stored[usual]) for own, usual in reader.names().items()}
        places = stored["embeddings.position_embeddings.weight"]
        first = stored["embeddings.token_type_embeddings.weight"][0]
        state["places.weight"] = torch.tensor(places + first)
        for end in ("weight", "bias"):
            if f"classifier.{end}" in stored:
                state[f"numbers.{end}"] = torch.tensor(stored[f"classifier.{end}"])
        reader.load_state_dict(state)
        return reader.to(DEVICE)

    def thinned(self, heads: int, inner: int, ids: Tensor, mask: Tensor) -> Reader:
        """A reader with the heads and inner numbers that matter most in these texts."""
        thin = Reader(len(self.layers), heads, inner).to(DEVICE)
        for name in ("words", "places", "norm", "numbers"):
            getattr(thin, name).load_state_dict(getattr(self, name).state_dict())
        with torch.no_grad():
            hidden = self.forward(ids, mask)[1]
            for own, layer, before in zip(thin.layers, self.layers, hidden, strict=False):
                _take_over(own, layer, before, mask)
        return thin

    def save(self, path: Path) -> None:
        """Write what was trained, matrices in bytes."""
        state = {
            name: value.detach().cpu().float().numpy() for name, value in self.state_dict().items()
        }
        written: dict[str, Any] = {
            "embeddings.position_embeddings.weight": state["places.weight"].astype(np.float16),
            "embeddings.token_type_embeddings.weight": np.zeros((2, 384), np.float16),
        }
        for end in ("weight", "bias"):
            written[f"classifier.{end}"] = state[f"numbers.{end}"].astype(np.float16)
        for own, usual in self.names().items():
            if own == "words.weight":
                continue
            value = state[own]
            if value.ndim == 1:
                written[usual] = value.astype(np.float16)
                continue
            steps = np.maximum(np.abs(value).max(axis=1, keepdims=True) / np.float32(127), 1e-9)
            written[usual] = np.rint(value / steps).astype(np.int8)
            written[f"{usual}.steps"] = steps.astype(np.float32)
        np.savez_compressed(path, **written)


def _take_over(thin: Layer, layer: Layer, hidden: Tensor, mask: Tensor) -> None:
    """Give a thin layer what matters most of a layer, where these are the numbers before it."""
    taken = layer.attended(hidden, mask[:, None, None, :])
    hidden = layer.norm(hidden + layer.out(taken))
    taken = taken[mask].float()
    worth = taken.abs().mean(0) * layer.out.weight.norm(dim=0)
    best = worth.view(-1, HEAD).sum(1).topk(thin.out.in_features // HEAD).indices.sort().values
    kept = (best[:, None] * HEAD + torch.arange(HEAD, device=DEVICE)).flatten()
    for part in ("query", "key", "value"):
        getattr(thin, part).weight.copy_(getattr(layer, part).weight[kept])
        getattr(thin, part).bias.copy_(getattr(layer, part).bias[kept])
    _narrow(thin.out, layer.out, kept, taken)
    wide = layer.widened(hidden)[mask].float()
    worth = wide.abs().mean(0) * layer.narrow.weight.norm(dim=0)
    kept = worth.topk(thin.narrow.in_features).indices.sort().values
    thin.wide.weight.copy_(layer.wide.weight[kept])
    thin.wide.bias.copy_(layer.wide.bias[kept])
    _narrow(thin.narrow, layer.narrow, kept, wide)
    for norm in ("norm", "last_norm"):
        getattr(thin, norm).load_state_dict(getattr(layer, norm).state_dict())


def _narrow(thin: nn.Linear, full: nn.Linear, kept: Tensor, numbers: Tensor) -> None:
    """Keep some of the numbers that a matrix takes in; of the others the mean goes to its bias."""
    mean = numbers.mean(0)
    mean[kept] = 0
    thin.weight.copy_(full.weight[:, kept])
    thin.bias.copy_(full.bias + (full.weight * mean).sum(1))
