"""A sentence encoder on the CPU, for the baselines that compare meanings.

Its folder is made by `python -m recollect.bench.encoder_build`: the graph, the tokenizer and a card
that says what they are.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np
import platformdirs
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from recollect.errors import FileMissing, MissingExtra, ModelFailure

GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"
CARD = "encoder.json"
NAME = "all-MiniLM-L6-v2"
COMMAND = "python -m recollect.bench.encoder_build"

_BATCH_TOKENS = 2_048  # as fast as any size from 256 to 8,192, and small enough for the caches
_WORKERS = 2  # batches at a time, one thread each: scales better than two threads for one batch

Vectors = NDArray[np.float32]
_Tokens = list[int]


class Card(BaseModel):
    """What an encoder is made of."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    weights: str  #: SHA-256 of the published weights that the graph was made of
    revision: int  #: of the way in which graphs are made
    max_tokens: int  #: the end of a longer text is not seen
    dimensions: int
    files: Mapping[str, str]  #: SHA-256 of each

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The card of a folder.

        Raises:
            FileMissing: there is no encoder.
            ModelFailure: the card says something else.
        """
        try:
            return cls.model_validate_json((folder / CARD).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise FileMissing(
                f"there is no sentence encoder in {str(folder)!r}", hint=f"Get it: {COMMAND}"
            ) from None
        except ValidationError as exc:
            raise ModelFailure(
                f"{str(folder / CARD)!r} is not the card of an encoder", hint=_again(folder)
            ) from exc


class Encoder:
    """Turns texts into vectors of length 1; the cosine of two is how alike their meanings are."""

    def __init__(self, card: Card, session: Any, tokenizer: Any) -> None:  # noqa: ANN401  untyped
        self._card = card
        self._session = session
        self._tokenizer = tokenizer

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The encoder of a folder, once its files are found to be whole.

        Raises:
            FileMissing: there is none.
            MissingExtra: what runs it is not installed.
            ModelFailure: its files are not those that the card names.
        """
        card = Card.read(folder)
        try:
            import onnxruntime  # noqa: PLC0415  optional
            import tokenizers  # noqa: PLC0415  optional
        except ImportError as exc:
            raise MissingExtra("a sentence encoder needs onnxruntime and tokenizers") from exc
        for name, digest in card.files.items():
            if _digest(folder / name) != digest:
                raise ModelFailure(f"{str(folder / name)!r} is damaged", hint=_again(folder))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # see _WORKERS
        options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(
            folder / GRAPH, options, providers=["CPUExecutionProvider"]
        )
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
        tokenizer.enable_truncation(card.max_tokens)  # the file itself says 128, and pads to it
        tokenizer.no_padding()
        return cls(card, session, tokenizer)

    @property
    def identity(self) -> str:
        """Equal for two encoders only if they give the same vectors."""
        card = self._card
        return f"{card.name} sha256:{card.weights} graph:{card.revision} tokens:{card.max_tokens}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """A row for each text."""
        vectors = np.empty((len(texts), self._card.dimensions), np.float32)
        tokens: list[_Tokens] = [e.ids for e in self._tokenizer.encode_batch([*texts])]
        batches = [*_batches(tokens)]
        if len(batches) == 1:
            vectors[batches[0]] = self._run([tokens[i] for i in batches[0]])
            return vectors
        with ThreadPoolExecutor(min(_WORKERS, os.cpu_count() or 1)) as workers:
            ran = workers.map(lambda batch: self._run([tokens[i] for i in batch]), batches)
            for batch, rows in zip(batches, ran, strict=True):
                vectors[batch] = rows
        return vectors

    def _run(self, tokens: Sequence[_Tokens]) -> Vectors:
        """The vectors of one batch, padded to its longest text."""
        ids = np.zeros((len(tokens), max(map(len, tokens))), np.int64)
        mask = np.zeros_like(ids)
        for row, of_text in enumerate(tokens):
            ids[row, : len(of_text)] = of_text
            mask[row, : len(of_text)] = 1
        [rows] = self._session.run(None, {"input_ids": ids, "attention_mask": mask})
        vectors: Vectors = rows
        return vectors


def default_folder() -> Path:
    """Where the encoder of the baselines is looked for."""
    return _cache_folder() / "encoders" / NAME


def default_cache() -> Path:
    """The file in which embeddings are kept."""
    return _cache_folder() / "embeddings.db"


@cache
def shared(folder: Path) -> Encoder:
    """The encoder of a folder, opened once for all users of a run."""
    return Encoder.open(folder)


def _cache_folder() -> Path:
    return Path(platformdirs.user_cache_dir("recollect", appauthor=False))


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


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""  # as good as damaged


def _again(folder: Path) -> str:
    return f"Remove {str(folder)!r} and get it again: {COMMAND}"
