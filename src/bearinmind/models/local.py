"""Embedders on this machine's processor, and helpers that every ONNX model needs.

The sentence encoders of `bearinmind-encoder` need no key, no network and no download.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError

from bearinmind.errors import EmbedderFailure
from bearinmind.models import forks
from bearinmind.protocols import Embedder
from bearinmind.text.embedded_text import CONTENT
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors

CARD = "encoder.json"
GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"

REINSTALL = "Install it again: pip install --force-reinstall bearinmind-encoder"
DIMENSIONS = 64  # of `HashEmbedder`
_BATCH_TOKENS = 512  # larger ones are slower: they do not fit the caches, and take more memory
_AT_ONCE = 1_024  # texts whose tokens are held: enough to find many of one length
_MOST_THREADS = 4  # embedding goes on in the background: it must not take a whole large machine
_TOKEN_CHARACTERS = 64  # prose has 4 to 5 for a token; other texts must not take for ever
_WORD = re.compile(r"\w+")

_Tokens = list[int]


class CardFile(BaseModel):
    """A file of an encoder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bytes: int
    sha256: str


class Card(BaseModel):
    """The description of an encoder, in its folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    weights: str  #: SHA-256 of the published weights that the graph was made of
    revision: PositiveInt  #: of the way in which graphs are made
    precision: str  #: in which the matrices are stored
    pooling: str
    dimensions: PositiveInt
    max_tokens: PositiveInt  #: the end of a longer text is not seen
    query_prompt: str
    memory_prompt: str
    files: Mapping[str, CardFile]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The card of a folder; raises `EmbedderFailure` when it has none."""
        try:
            card = cls.model_validate_json((folder / CARD).read_bytes())
        except OSError as exc:
            raise EmbedderFailure(
                f"there is no encoder in {str(folder)!r}",
                hint="Name an encoder of bearinmind-encoder, or a folder with an encoder.json.",
            ) from exc
        except ValidationError as exc:
            raise EmbedderFailure(
                f"{str(folder / CARD)!r} is not the card of an encoder", hint=REINSTALL
            ) from exc
        for name in (GRAPH, TOKENIZER):
            if name not in card.files:
                raise EmbedderFailure(f"{str(folder / CARD)!r} names no {name}", hint=REINSTALL)
        return card

    def space(self, text: str) -> Space:
        """The space of its vectors of texts that a recipe makes."""
        return Space(
            model=self.name,
            revision=f"{self.weights[:12]}.{self.revision}.{self.precision}.{self.max_tokens}",
            dimensions=self.dimensions,
            query_prompt=self.query_prompt,
            memory_prompt=self.memory_prompt,
            text=text,
        )

    def check_sizes(self, folder: Path) -> None:
        """Raise `EmbedderFailure` for a file that is missing or cut short."""
        for name, expected in self.files.items():
            try:
                size = (folder / name).stat().st_size
            except OSError as exc:
                raise _damaged(folder / name, "it cannot be read") from exc
            if size != expected.bytes:
                raise _damaged(folder / name, f"{size:,} bytes instead of {expected.bytes:,}")


def _damaged(path: Path, why: str) -> EmbedderFailure:
    return EmbedderFailure(f"{str(path)!r} is damaged: {why}", hint=REINSTALL)


class LocalEmbedder:
    """Turns texts into vectors with an encoder of `bearinmind-encoder`, or of a folder with a card.

    Any number of threads may use it at the same time. The model is loaded for the first text; a
    closed embedder that is used again loads it again.
    """

    leaves_machine = False

    def __init__(self, model: str | Path, *, threads: int = 0, text: str = CONTENT) -> None:
        """Take the name of an encoder, such as "minilm", or a folder; only its card is read.

        `threads` is how many batches are computed side by side, 0 for what suits the machine;
        `text` is the recipe of the texts that it will be given.
        """
        self._folder = _folder_of(model)
        self._card = Card.read(self._folder)
        self.space = self._card.space(text)
        self._threads = threads or most_threads()
        self._loading = forks.Lock()
        self._model: _Model | None = None

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

    def close(self) -> None:
        """Release the model."""
        with self._loading:
            self._model = None

    def _loaded(self) -> _Model:
        model = self._model
        if model is None:
            with self._loading:
                if self._model is None:
                    with forks.native_calls.running():
                        self._model = _load(self._folder, self._card)
                model = self._model
        return model

    def _embed(self, model: _Model, tokens: Sequence[_Tokens], vectors: Vectors) -> None:
        """Fill in the rows of these texts."""

        def fill(batch: list[int]) -> None:
            vectors[batch] = model.run([tokens[index] for index in batch])

        batches = [*token_batches([len(x) for x in tokens], _BATCH_TOKENS)]
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
        """The tokens of a text, as many as the model reads."""
        text = text[: self.most_characters]
        # One text at a time: `encode_batch` would start a thread for each processor.
        with forks.native_calls.running():
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
            with forks.native_calls.running():
                [rows] = self.session.run(None, {"input_ids": ids, "attention_mask": mask})
        except Exception as exc:  # its errors have no class of their own in common
            raise EmbedderFailure(f"the encoder failed: {first_line(exc)}") from exc
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
    disable_telemetry()
    import onnxruntime  # noqa: PLC0415  slow to import
    import tokenizers  # noqa: PLC0415  slow to import

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # batches side by side scale better than threads in a batch
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is raised; nothing is printed
    # The graph is as it is to be computed: more would only take longer to load.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    try:
        session = onnxruntime.InferenceSession(
            folder / GRAPH, options, providers=["CPUExecutionProvider"]
        )
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as exc:  # neither library has a class of its own for what it raises
        raise EmbedderFailure(
            f"the encoder in {str(folder)!r} cannot be loaded: {first_line(exc)}", hint=REINSTALL
        ) from exc
    tokenizer.enable_truncation(card.max_tokens)
    tokenizer.no_padding()
    return _Model(session, tokenizer, card.max_tokens * _TOKEN_CHARACTERS)


def disable_telemetry() -> None:
    """Keep ONNX Runtime from sending events about its sessions.

    Its official builds do so by themselves, and keep a file about it in the user's home. This must
    be called before it is imported.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def token_batches(lengths: Sequence[int], most_tokens: int) -> Iterator[list[int]]:
    """Indices of texts of similar length, so that little is padding."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[index] > most_tokens:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def most_threads() -> int:
    """How many batches are computed side by side: as many as there are processors, but few."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return min(_MOST_THREADS, len(os.sched_getaffinity(0)))
    return min(_MOST_THREADS, os.cpu_count() or 1)


def first_line(exc: Exception) -> str:
    """The first line of a library's error message."""
    return (str(exc).strip() or type(exc).__name__).splitlines()[0]


class PairedEmbedder:
    """The cosine of a pair is `share` of the first encoder's and the rest of the second's.

    Encoders trained in different ways err in different ways. How much each should count depends
    on how widely its cosines spread: see `bearinmind.models.factory`.
    """

    def __init__(self, first: Embedder, second: Embedder, *, share: float) -> None:
        self._pair = (first, second)
        self._scales = (math.sqrt(share), math.sqrt(1 - share))
        self._beside = forks.Threads(1, "bearinmind-embed")
        one, other = first.space, second.space
        self.space = Space(
            model=f"{one.model}+{other.model}",
            revision=f"{one.revision}+{other.revision} share:{share}",
            dimensions=one.dimensions + other.dimensions,
            query_prompt=f"{one.query_prompt}+{other.query_prompt}",
            memory_prompt=f"{one.memory_prompt}+{other.memory_prompt}",
            text=one.text,
        )
        self.leaves_machine = first.leaves_machine or second.leaves_machine

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, as memories are embedded."""
        import numpy as np  # noqa: PLC0415  slow to import

        rows = [embedder.embed_memories(texts) for embedder in self._pair]
        joined: Vectors = np.hstack([x * s for x, s in zip(rows, self._scales, strict=True)])
        return joined

    def embed_query(self, text: str) -> Vector:
        """A query's vector; the two encoders work side by side."""
        import numpy as np  # noqa: PLC0415  slow to import

        first, second = self._pair
        shorter = self._beside.submit(first.embed_query, text)
        longer = second.embed_query(text)  # here, where no thread has to wake up for it
        rows = (shorter.result(), longer)
        joined: Vector = np.concatenate([x * s for x, s in zip(rows, self._scales, strict=True)])
        return joined.astype(np.float32, copy=False)

    def close(self) -> None:
        """Release both models."""
        for embedder in self._pair:
            embedder.close()


class HashEmbedder:
    """Adds up a direction for each word: texts that share words are alike, meaning plays no part.

    The same text has the same vector on every machine. Each word goes to one of few dimensions, so
    that now and then two unlike words are taken for one.
    """

    leaves_machine = False

    def __init__(self) -> None:
        self.space = Space(model="hash", revision="1", dimensions=DIMENSIONS)

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text."""
        import numpy as np  # noqa: PLC0415  slow to import

        rows = [self.embed_query(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, DIMENSIONS), np.float32)

    def embed_query(self, text: str) -> Vector:
        """A text's vector; a query and a memory have the same."""
        import numpy as np  # noqa: PLC0415  slow to import

        vector = np.zeros(DIMENSIONS, np.float32)
        for word in _WORD.findall(text.casefold()) or [""]:
            digest = blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
            number = int.from_bytes(digest, "little")
            vector[number % DIMENSIONS] += 1 if number & (1 << 63) else -1
        if not vector.any():  # two words cancelled each other
            vector[0] = 1
        scaled: Vector = vector / np.linalg.norm(vector)
        return scaled

    def close(self) -> None:
        """There is nothing to release."""
