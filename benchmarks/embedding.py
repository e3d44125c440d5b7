"""Embedding through the whole embedder against the bare ONNX Runtime session that it runs.

    python benchmarks/embedding.py

Bare is what nobody can do without: the session's `run` on batches of the same texts that were
tokenised, sorted by length and padded beforehand, on as many threads. Both take turns over the same
texts; the median of the rounds counts. The first query of a new process is taken apart likewise:
against a program that does nothing but import the libraries, load the model and run it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import bearinmind_encoder
import numpy as np

import marks
from bearinmind.models.local import _BATCH_TOKENS, LocalEmbedder, token_batches
from made_up import Writer

CORPUS = Path(__file__).parent / "data" / "agent-store" / "corpus.jsonl"
TEXTS = 400  # of each kind
ROUNDS = 5
PROCESSES = 9
QUERY = "Where does the spare key to the boat house hang?"

#: Steps of a new process, by what each is called; a line of a program each.
WHOLE = {
    "import bearinmind": "from bearinmind.models.local import LocalEmbedder",
    "open": "embedder = LocalEmbedder({model!r})",
    "import numpy": "import numpy",
    "import the runtime": "import onnxruntime, tokenizers",
    "load": "embedder._loaded()",
    "embed": "embedder.embed_query({query!r})",
}
BARE = {
    "import numpy": "import numpy",
    "import the runtime": "import onnxruntime, tokenizers",
    "load": (
        "options = onnxruntime.SessionOptions();"
        "options.intra_op_num_threads = 1;"
        "session = onnxruntime.InferenceSession({folder!r} + '/model.onnx', options);"
        "tokenizer = tokenizers.Tokenizer.from_file({folder!r} + '/tokenizer.json')"
    ),
    "embed": (
        "ids = numpy.array([tokenizer.encode({query!r}).ids]);"
        "session.run(None, dict(input_ids=ids, attention_mask=numpy.ones_like(ids)))"
    ),
}
SHARED = ("import numpy", "import the runtime", "load", "embed")


def main() -> int:
    """Measure every encoder; fail when the embedder costs more than is published."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--texts", type=int, default=TEXTS, help="of each kind")
    parser.add_argument("--threads", type=int, default=0, help="0: what suits the machine")
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    texts = _texts(options.texts)
    figures: dict[str, float] = {}
    for model in bearinmind_encoder.models():
        rounds = measure(LocalEmbedder(model, threads=options.threads), texts)
        bare, whole = (statistics.median(times) for times in zip(*rounds, strict=True))
        print(f"{model:9} bare {len(texts) / bare:6.1f} texts a second, ", end="")
        print(f"embedder {len(texts) / whole:6.1f}")
        figures[f"embedding-{model}"] = statistics.median(b / w for b, w in rounds)
        figures[f"first-embedding-{model}"] = _first(model)
    return int(not marks.check(figures, keep=options.keep))


def measure(embedder: LocalEmbedder, texts: Sequence[str]) -> list[tuple[float, float]]:
    """By round: seconds of the bare session and of the embedder."""
    batches = _prepared(embedder, texts)
    session = embedder._loaded().session
    rounds = []
    for _ in range(ROUNDS):
        began = perf_counter()
        with ThreadPoolExecutor(embedder._threads) as pool:
            for _ in pool.map(lambda batch: session.run(None, batch), batches):
                pass
        middle = perf_counter()
        embedder.embed_memories(texts)
        rounds.append((middle - began, perf_counter() - middle))
    return rounds


def _prepared(embedder: LocalEmbedder, texts: Sequence[str]) -> list[dict[str, object]]:
    """The batches of all texts, padded: all that is left is to run them."""
    model = embedder._loaded()
    tokens = [model.tokens(embedder.space.memory_prompt + text) for text in texts]
    prepared: list[dict[str, object]] = []
    for batch in token_batches([len(x) for x in tokens], _BATCH_TOKENS):
        longest = max(len(tokens[index]) for index in batch)
        ids = np.array([tokens[i] + [0] * (longest - len(tokens[i])) for i in batch])
        mask = np.array([[1] * len(tokens[i]) + [0] * (longest - len(tokens[i])) for i in batch])
        prepared.append({"input_ids": ids, "attention_mask": mask})
    return prepared


def _texts(count: int) -> list[str]:
    """Memories of the agent's store, and made-up ones."""
    lines = CORPUS.read_text("utf-8").splitlines()[:count]
    writer = Writer(seed=count)
    return [*(json.loads(line)["content"] for line in lines), *(writer.memory() for _ in lines)]


def _first(model: str) -> float:
    """How much longer the first query takes than it has to; prints what takes how long."""
    folder = str(bearinmind_encoder.folder(model))
    steps = {"whole": WHOLE, "bare": BARE}
    taken: dict[str, list[dict[str, float]]] = {"whole": [], "bare": []}
    for _ in range(PROCESSES):
        for name, of_process in steps.items():  # in turns
            taken[name].append(_run(of_process, model=model, folder=folder, query=QUERY))
    medians = {
        name: {step: statistics.median(run[step] for run in runs) for step in steps[name]}
        for name, runs in taken.items()
    }
    for name, parts in medians.items():
        said = ", ".join(f"{step} {seconds * 1e3:.0f}" for step, seconds in parts.items())
        print(f"{model:9} first query, {name}, ms: {said}")
    totals = {name: [sum(run[s] for s in SHARED) for run in runs] for name, runs in taken.items()}
    return min(totals["whole"]) / min(totals["bare"])


def _run(steps: dict[str, str], **values: str) -> dict[str, float]:
    """Seconds of each step in a new process."""
    program = ["import os, json, time", "os.environ['ORT_DISABLE_TELEMETRY'] = '1'"]
    program += ["taken, began = {}, time.perf_counter()"]
    for name, line in steps.items():
        program.append(line.format(**values))
        program.append(f"now = time.perf_counter(); taken[{name!r}], began = now - began, now")
    program.append("print(json.dumps(taken))")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(program)], capture_output=True, text=True, check=True
    )
    taken: dict[str, float] = json.loads(done.stdout)
    return taken


if __name__ == "__main__":
    sys.exit(main())
