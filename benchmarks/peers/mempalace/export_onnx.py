"""Writes the shared encoder as the ONNX folder that MemPalace's default embedder expects.

    python export_onnx.py ENCODER FOLDER

The original can only be had from the network; this one is made of the same weights.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoTokenizer

COPIED = (
    "config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "last_hidden_state"


class Encoder(torch.nn.Module):  # type: ignore[misc]
    """The model with its three inputs by position, as the exporter wants them."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()

    def forward(self, *inputs: object) -> Any:  # noqa: ANN401 - a tensor
        """The last hidden state."""
        return self.model(**dict(zip(INPUTS, inputs, strict=True))).last_hidden_state


def export(encoder: Path, folder: Path) -> None:
    """A folder with the model and the files of its tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        shutil.copy(encoder / name, folder / name)
    texts = AutoTokenizer.from_pretrained(encoder)(["two words", "three more words"], padding=True)
    torch.onnx.export(
        Encoder(encoder),
        tuple(torch.tensor(texts[name]) for name in INPUTS),
        str(folder / "model.onnx"),
        input_names=list(INPUTS),
        output_names=[OUTPUT],
        dynamic_axes={name: {0: "texts", 1: "tokens"} for name in (*INPUTS, OUTPUT)},
        opset_version=17,
        dynamo=False,  # the tracing exporter needs no onnxscript
    )


if __name__ == "__main__":
    export(Path(sys.argv[1]), Path(sys.argv[2]))
