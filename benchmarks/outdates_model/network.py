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
#: The layers of a teacher that its student begins with, and those after which both are compared.
KEPT = (0, 2, 3, 5, 6, 8, 9, 11)
COMPARED = (*(kept - 1 for kept in KEPT[1:]), KEPT[-1])


class Layer(nn.Module):
    """Attention, then a network of one hidden layer."""

    def __init__(self, size: int = 384, heads: int = 12, inner: int = 1536) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))
        self.out, self.norm = nn.Linear(size, size), nn.LayerNorm(size, 1e-12)
        self.wide, self.narrow = nn.Linear(size, inner), nn.Linear(inner, size)
        self.last_norm, self.drop = nn.LayerNorm(size, 1e-12), nn.Dropout(0.1)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """The hidden numbers of the next layer."""
        shape = (*hidden.shape[:2], self.heads, -1)
        parts = [
            part(hidden).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value)
        ]
        taken = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
        taken = taken.transpose(1, 2).reshape(hidden.shape)
        hidden = self.norm(hidden + self.drop(self.out(taken)))
        return self.last_norm(hidden + self.drop(self.narrow(functional.gelu(self.wide(hidden)))))


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

    def __init__(self, layers: int, size: int = 384) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30_522, size), nn.Embedding(512, size)
        self.norm, self.drop = nn.LayerNorm(size, 1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
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
        reader = cls(sum(name.endswith("intermediate.dense.bias") for name in stored))
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

    def shortened(self) -> Reader:
        """A reader with the layers of this one that are `KEPT`."""
        short = Reader(len(KEPT))
        state = short.state_dict()
        state |= {name: value for name, value in self.state_dict().items() if name in state}
        for place, kept in enumerate(KEPT):
            for name, value in self.layers[kept].state_dict().items():
                state[f"layers.{place}.{name}"] = value
        short.load_state_dict(state)
        return short.to(DEVICE)

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
