"""A cross-encoder on this machine: it reads the query and a memory as one text and scores the pair.

Its folder is what a hub or an ONNX export gives: `tokenizer.json`, `model.onnx` or
`onnx/model.onnx` and, if there is one, `config.json`. Nothing is loaded before the first use.
"""

from __future__ import annotations

import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bearinmind.errors import RerankerFailure
from bearinmind.models import forks
from bearinmind.models.local import disable_telemetry, first_line, most_threads, token_batches
from bearinmind.protocols import Passage, Reads

if TYPE_CHECKING:  # numpy takes a tenth of a second to import
    from numpy.typing import NDArray

GRAPHS = ("model.onnx", "onnx/model.onnx")  # an export, and how hubs lay it out
TOKENIZER = "tokenizer.json"
CONFIG = "config.json"

_MOST_TOKENS = 512  # of a pair: what nearly all cross-encoders were trained on
_SPECIAL_POSITIONS = 2  # that RoBERTa's kind counts among its positions, and no text can have
_BATCH_TOKENS = 512  # padding included: a few pairs, so that the time is looked at often
_EACH = 2  # batches for each thread: who is done early takes another one
_MOST_KNOWN = 100_000  # scores of pairs that are remembered: about 12 MB
_ERRORS = 3  # no warnings: how a graph could be better is of no use here
_PADDING = ("[PAD]", "<pad>")

#: One call at a time, for all cross-encoders: two would only slow each other down.
_RUNTIME = forks.Lock()
_BESIDE = forks.Threads(None, "bearinmind-read")  #: compute the batches beside the first


@dataclass(frozen=True, slots=True)
class _Model:
    """What was loaded from a folder."""

    session: Any  # the two libraries have no types
    tokenizer: Any
    padding: int  #: the id of the token that fills up a batch
    inputs: frozenset[str]

    def tokens(self, pairs: Sequence[tuple[str, str]]) -> list[Any]:
        """The tokens of each pair of texts."""
        encoded: list[Any] = self.tokenizer.encode_batch([*pairs])
        return encoded

    def run(self, batch: Sequence[Any], column: int | None) -> list[float]:
        """A score from 0 to 1 for each pair of a batch; by one of its numbers, if it has many."""
        import numpy as np  # noqa: PLC0415

        shape = (len(batch), max(len(pair.ids) for pair in batch))
        columns = {
            "input_ids": np.full(shape, self.padding, np.int64),
            "attention_mask": np.zeros(shape, np.int64),
            "token_type_ids": np.zeros(shape, np.int64),
        }
        for row, pair in enumerate(batch):
            for name, values in zip(
                columns, (pair.ids, pair.attention_mask, pair.type_ids), strict=True
            ):
                columns[name][row, : len(values)] = values
        inputs = {name: column for name, column in columns.items() if name in self.inputs}
        logits = self.session.run(None, inputs)[0]
        return _scores(logits if column is None else logits[:, column], len(batch))


class CrossEncoder:
    """Scores pairs with the model of a folder."""

    def __init__(self, folder: Path, column: int | None = None) -> None:
        self._folder = folder.expanduser()
        self._column = column
        self.name = f"cross-encoder:{self._folder.name}"  #: in traces

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> list[float]:
        """A score from 0 to 1 for each passage; raises `RerankerFailure`, also when it is late."""
        return self.of_pairs([(query, passage.text) for passage in passages], seconds)

    def of_pairs(self, pairs: Sequence[tuple[str, str]], seconds: float) -> list[float]:
        """A score from 0 to 1 for each two texts; raises `RerankerFailure`, as `__call__` does."""
        until = time.monotonic() + seconds
        scores = [0.0] * len(pairs)
        done = 0
        try:
            with _turn(until):
                model = _load(self._folder)
                tokens = model.tokens(pairs)
            lengths, at_once = [len(each.ids) for each in tokens], _EACH * most_threads()
            batches = [*token_batches(lengths, min(_BATCH_TOKENS, sum(lengths) // at_once))]
            for begin in range(0, len(batches), at_once):
                some = batches[begin : begin + at_once][::-1]  # the longest first
                with _turn(until):
                    every = _side_by_side(
                        lambda batch: model.run([tokens[x] for x in batch], self._column), some
                    )
                for index, score in zip(chain(*some), chain(*every), strict=True):
                    scores[index] = score
                done += sum(map(len, some))
        except _Late:
            raise RerankerFailure(
                f"{self.name} read {done} of {len(pairs)} memories in {seconds:g} s",
                hint="Raise `rerank_seconds` or lower `rerank_depth`; the first use loads a model.",
            ) from None
        except RerankerFailure:
            raise
        except Exception as exc:  # the runtime and the tokenizer raise anything
            raise RerankerFailure(f"{self.name} cannot score: {first_line(exc)}") from exc
        return scores

    def close(self) -> None:
        """Nothing to release: the model goes with the process, and others may be using it."""


class PairReader:
    """Scores pairs of texts, and remembers how: neighbours meet from both sides, questions again.

    No text is kept.
    """

    def __init__(self, models: Mapping[Reads, CrossEncoder]) -> None:
        self._models = models
        self._known: dict[bytes, float] = {}

    def __call__(
        self, reads: Reads, pairs: Sequence[tuple[str, str]], seconds: float
    ) -> list[float]:
        """A score from 0 to 1 for each two texts; raises `RerankerFailure`."""
        keys = [blake2b(repr((reads, pair)).encode(), digest_size=16).digest() for pair in pairs]
        known = {key: self._known[key] for key in keys if key in self._known}
        new = {key: pair for key, pair in zip(keys, pairs, strict=True) if key not in known}
        if new:
            scores = self._models[reads].of_pairs([*new.values()], seconds)
            known |= zip(new, scores, strict=True)
            if len(self._known) > _MOST_KNOWN:
                self.forget()
            self._known |= known
        return [known[key] for key in keys]

    def forget(self) -> None:
        """Forget every score: what is measured is to be read again."""
        self._known.clear()


class _Late(Exception):
    """The time is up."""


@contextmanager
def _turn(until: float) -> Iterator[None]:
    """Hold the runtime; raise `_Late` when it is not free in time."""
    left = until - time.monotonic()
    if left <= 0 or not _RUNTIME.acquire(left):
        raise _Late
    try:
        with forks.native_calls.running():
            yield
    finally:
        _RUNTIME.release()


def _side_by_side(
    run: Callable[[list[int]], list[float]], batches: Sequence[list[int]]
) -> list[list[float]]:
    """What a model says of each batch; whichever thread is free takes the next, this one, too."""
    every: list[list[float]] = [[]] * len(batches)
    left = deque([*enumerate(batches), *[None] * len(batches)])  # for each thread an end

    def work() -> None:
        for place, batch in iter(left.popleft, None):
            every[place] = run(batch)

    others: list[Future[None]] = []
    with suppress(RuntimeError):  # the process is ending: this thread reads alone
        others.extend(_BESIDE.submit(work) for _ in batches[1 : most_threads()])
    try:
        work()
    finally:  # none may be in native code once the turn is over
        begun = [each for each in others if not each.cancel()]
        wait(begun)
    for each in begun:
        each.result()  # raises what it raised
    return every


@lru_cache(maxsize=2)  # those of one process, mostly one, are shared by all its users
def _load(folder: Path) -> _Model:
    graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
    if graph is None or not (folder / TOKENIZER).is_file():
        missing = " or ".join(GRAPHS) if graph is None else TOKENIZER
        raise RerankerFailure(
            f"there is no {missing} in {str(folder)!r}",
            hint="`reranker` = cross-encoder:FOLDER needs an ONNX model with its tokenizer.",
        )
    disable_telemetry()
    try:
        import onnxruntime  # noqa: PLC0415
        import tokenizers  # noqa: PLC0415
    except ImportError as exc:
        raise RerankerFailure(
            f"a cross-encoder needs {exc.name}, which is not installed",
            hint=f"Install it: pip install {exc.name}.",
        ) from exc
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # batches side by side scale better than threads in a batch
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
    config = _config(folder / CONFIG)
    positions = config.get("max_position_embeddings")
    most = positions - _SPECIAL_POSITIONS if isinstance(positions, int) else 0
    tokenizer.enable_truncation(min(_MOST_TOKENS, most) if most > 0 else _MOST_TOKENS)
    tokenizer.no_padding()
    # The padding token must be right: RoBERTa's kind counts positions by it.
    padding = [config.get("pad_token_id"), *map(tokenizer.token_to_id, _PADDING)]
    padding_id = next((id_ for id_ in padding if isinstance(id_, int)), 0)
    inputs = frozenset(i.name for i in session.get_inputs())
    return _Model(session, tokenizer, padding_id, inputs)


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    return config if isinstance(config, dict) else {}


def _scores(logits: NDArray[Any], rows: int) -> list[float]:
    """How likely each pair fits: of one logit its sigmoid, of two the softmax of the second."""
    columns = logits.reshape(rows, -1).astype(float)
    match columns.shape[1]:
        case 1:
            values = columns[:, 0]
        case 2:
            values = columns[:, 1] - columns[:, 0]
        case wide:
            raise RerankerFailure(
                f"the model gives {wide} numbers for a pair",
                hint="A cross-encoder gives one or two; this seems to be another kind of model.",
            )
    return [_sigmoid(value) for value in values.tolist()]


def _sigmoid(value: float) -> float:
    if value < 0:  # either way round no power overflows
        return math.exp(value) / (1 + math.exp(value))
    return 1 / (1 + math.exp(-value))
