"""Embedding on a graphics processor against the shipped graph on the CPU of the same machine.

    python benchmarks/gpu_queries.py FOLDER    # of an encoder with model.onnx and tokenizer.json

The graph is that of `bearinmind-encoder`, run by one thread as the product runs it. The graphics
processor has an encoder of the same shape in 16 bits: what it computes takes as long with any
weights, so they are random. Tokenising counts for neither; copying the tokens there and the vectors
back does. Both take turns over the same texts. Needs PyTorch with CUDA, and `transformers`.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import onnxruntime
import torch
from tokenizers import Tokenizer
from transformers import BertConfig, BertModel

QUERY = "Where does the spare key to the boat house hang, and who has the other one?"
MEMORY = " ".join([QUERY] * 6)
ROUNDS = 18
BATCHES = {"one query": (QUERY, 1), "64 queries": (QUERY, 64), "64 memories": (MEMORY, 64)}

Run = Callable[["np.ndarray[tuple[int, int], np.dtype[np.int64]]"], object]


def main() -> None:
    """Print milliseconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    runs = {"CPU, 8 bits": _graph(folder / "model.onnx"), "GPU, 16 bits": _on_gpu()}
    print(torch.cuda.get_device_name(), torch.__version__, onnxruntime.__version__)
    for name, (text, texts) in BATCHES.items():
        ids = np.array([tokenizer.encode(text).ids] * texts, np.int64)
        cpu, gpu = _medians([*runs.values()], ids)
        print(f"{name}, {ids.shape[1]} tokens: {cpu:.2f} and {gpu:.2f} ms, {cpu / gpu:.1f} times")


def _graph(path: Path) -> Run:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda ids: session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})


def _on_gpu() -> Run:
    config = BertConfig(
        hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536
    )
    model = BertModel(config, add_pooling_layer=False).half().cuda().eval()

    def run(ids: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> object:
        with torch.inference_mode():
            hidden = model(torch.from_numpy(ids).cuda()).last_hidden_state
            return torch.nn.functional.normalize(hidden.mean(1), dim=1).cpu()

    return run


def _medians(runs: list[Run], ids: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> list[float]:
    """The milliseconds of each, in turns."""
    took: list[list[float]] = [[] for _ in runs]
    for number in range(ROUNDS):
        for place, run in enumerate(runs):
            begin = perf_counter()
            run(ids)
            if number >= ROUNDS // 6:  # the first ones warm up
                took[place].append((perf_counter() - begin) * 1_000)
    return [statistics.median(each) for each in took]


if __name__ == "__main__":
    main()
