"""Sentence encoders on this machine's processor: no key, no network, no download."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from bearinmind.embed.card import GRAPH, REINSTALL, TOKENIZER, Card
from bearinmind.embedded_text import CONTENT
from bearinmind.errors import EmbedderFailure
from bearinmind.quiet import hush_onnxruntime

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors

_BATCH_TOKENS = 512  # larger ones are slower: they do not fit the caches, and take more memory
_AT_ONCE = 1_024  # texts whose tokens are held: enough to find many of one length
_MOST_THREADS = 4  # embedding goes on in the background: it must not take a whole large machine
_TOKEN_CHARACTERS = 64  # prose has 4 to 5 for a token; what is no prose must not take for ever

_Tokens = list[int]


class LocalEmbedder:
    """Turns texts into vectors with an encoder of `bearinmind-encoder`, or of a folder with a card.

    Any number of threads may use it at the same time. The model is loaded for the first text; a
    closed embedder that is used again loads it again.
    """

    leaves_machine = False

    def __init__(self, folder: Path, card: Card, *, threads: int = 0, text: str = CONTENT) -> None:
        self.space = card.space(text)
        self._folder = folder
        self._card = card
        self._threads = threads or min(_MOST_THREADS, _processors())
        self._loading = threading.Lock()
        self._model: _Model | None = None

    @classmethod
    def open(cls, model: str | Path, *, threads: int = 0, text: str = CONTENT) -> Self:
        """The encoder of a name, such as "minilm", or of a folder; only its card is read.

        `threads` is how many batches are computed side by side, 0 for what suits the machine;
        `text` is the recipe of the texts that it will be given.

        Raises:
            EmbedderFailure: there is no such encoder.
        """
        folder = _folder_of(model)
        return cls(folder, Card.read(folder), threads=threads, text=text)

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, as memories are embedded."""
        import numpy as np  # noqa: PLC0415  slow to import

        model = self._loaded()
        vectors = np.empty((len(texts), self._card.dimensions), np.float32)
        for begin in range(0, len(texts), _AT_ONCE):
            end = begin + _AT_ONCE
            tokens = [model.tokens(self._card.memory_prompt + text) for text in texts[begin:end]]
            self._embed(model, tokens, vectors[begin:end])
        return vectors

    def embed_query(self, text: str) -> Vector:
        """A query's vector."""
        model = self._loaded()
        vector: Vector = model.run([model.tokens(self._card.query_prompt + text)])[0]
        return vector

    def check(self) -> None:
        """Read every file of the model, which takes a moment.

        Raises:
            EmbedderFailure: one of them is damaged.
        """
        self._card.check_contents(self._folder)

    def close(self) -> None:
        """Release the model."""
        with self._loading:
            self._model = None

    def _loaded(self) -> _Model:
        model = self._model
        if model is None:
            with self._loading:
                model = self._model = self._model or _load(self._folder, self._card)
        return model

    def _embed(self, model: _Model, tokens: Sequence[_Tokens], vectors: Vectors) -> None:
        """Fill in the rows of these texts."""
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415  a query needs none

        def fill(batch: list[int]) -> None:
            vectors[batch] = model.run([tokens[index] for index in batch])

        batches = [*_batches(tokens)]
        threads = min(self._threads, len(batches))
        if threads == 1:
            for batch in batches:
                fill(batch)
            return
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(fill, batches):  # raises what one of them raised
                pass


class _Model(NamedTuple):
    """A model in memory."""

    session: Any  #: of onnxruntime, which has no types
    tokenizer: Any
    most_characters: int

    def tokens(self, text: str) -> _Tokens:
        """What the model reads of a text."""
        text = text[: self.most_characters]
        # One text at a time: `encode_batch` would start a thread for each processor.
        try:
            ids: _Tokens = self.tokenizer.encode(text).ids
        except TypeError:  # a lone surrogate, which no UTF-8 can hold
            ids = self.tokenizer.encode(text.encode("utf-8", "replace").decode()).ids
        return ids

    def run(self, tokens: Sequence[_Tokens]) -> Vectors:
        """The vectors of one batch, padded to its longest text."""
        import numpy as np  # noqa: PLC0415  slow to import

        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, of_text in enumerate(tokens):
            ids[row, : len(of_text)] = of_text
            mask[row, : len(of_text)] = 1
        try:
            [rows] = self.session.run(None, {"input_ids": ids, "attention_mask": mask})
        except Exception as exc:  # its errors have no class of their own in common
            raise EmbedderFailure(f"the encoder failed: {_reason(exc)}") from exc
        vectors: Vectors = rows
        return vectors


def _folder_of(model: str | Path) -> Path:
    if isinstance(model, Path) or os.sep in model:
        return Path(model).expanduser()
    try:
        import bearinmind_encoder  # noqa: PLC0415  an install without dependencies lacks it
    except ImportError as exc:
        raise EmbedderFailure(
            "the package bearinmind-encoder is not installed",
            hint="Install it: pip install bearinmind-encoder",
        ) from exc
    try:
        return bearinmind_encoder.folder(model)
    except LookupError as exc:
        raise EmbedderFailure(
            f"there is no encoder {model!r}",
            hint=f"Choose {', '.join(bearinmind_encoder.models())}, or the path of a folder.",
        ) from exc


def _load(folder: Path, card: Card) -> _Model:
    card.check_sizes(folder)
    hush_onnxruntime()
    import onnxruntime  # noqa: PLC0415  slow to import
    import tokenizers  # noqa: PLC0415  slow to import

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # batches side by side scale better than threads in a batch
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is raised; nothing is printed
    # The graph is made of fused operators: all that is left to do is to widen its matrices, once.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    try:
        session = onnxruntime.InferenceSession(
            folder / GRAPH, options, providers=["CPUExecutionProvider"]
        )
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as exc:  # neither library has a class of its own for what it raises
        raise EmbedderFailure(
            f"the encoder in {str(folder)!r} cannot be loaded: {_reason(exc)}", hint=REINSTALL
        ) from exc
    tokenizer.enable_truncation(card.max_tokens)
    tokenizer.no_padding()
    return _Model(session, tokenizer, card.max_tokens * _TOKEN_CHARACTERS)


def _batches(tokens: Sequence[_Tokens]) -> Iterator[list[int]]:
    """Indices of texts of similar length, so that little is padding."""
    batch: list[int] = []
    for index in sorted(range(len(tokens)), key=lambda i: len(tokens[i])):
        if batch and (len(batch) + 1) * len(tokens[index]) > _BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _reason(exc: Exception) -> str:
    return str(exc).partition("\n")[0] or type(exc).__name__
