"""Models that a user downloads, run on this machine by fastembed or by sentence-transformers."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bearinmind.errors import EmbedderFailure, InvalidSetting, MissingExtra
from bearinmind.models import catalogue, forks
from bearinmind.models.catalogue import Pooling
from bearinmind.models.local import disable_telemetry
from bearinmind.models.vectors import Dimensions, checked
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.models.factory import EmbedderOptions
    from bearinmind.protocols import Vector, Vectors

_BATCH = 32  # texts that a library pads to one length
_PROBE = "memory"
_SMALL_FILE = 1024 * 1024  # bytes: a configuration, which is read to tell models apart

#: Embeds texts; the second argument says that they are queries.
Run = Callable[[Sequence[str], bool], Sequence[Any]]


class ModelSource(NamedTuple):
    """The model to load, and where it is."""

    model: str
    folder: Path | None  #: where it is, unless it comes from the hub
    known: catalogue.Known | None  #: if so, texts come with their prompts


class Library(NamedTuple):
    """A library that runs models."""

    name: str  #: also that of the extra and, written with a low line, of the module
    load: Callable[[ModelSource], Run]  #: raises `NotHere`
    download: Callable[[ModelSource], None]


class NotHere(Exception):
    """A model is not on this machine."""


class DownloadedEmbedder:
    """A model by its name at the hub, or in a folder. It is loaded with the first text.

    A model that is not on this machine yet is downloaded for the first memory; a query fails
    instead, since somebody waits for it.
    """

    leaves_machine = False

    def __init__(self, library: Library, model: str, options: EmbedderOptions) -> None:
        """Take a name such as `BAAI/bge-large-en-v1.5`, or the path of a folder; load nothing yet.

        The dimensions of the options are for a model that the catalogue does not know.
        """
        if importlib.util.find_spec(library.name.replace("-", "_")) is None:
            raise MissingExtra(
                f"{library.name}:{model} needs {library.name}, which is not installed",
                extra=library.name,
            )
        self._library = library
        self._who = f"{library.name}:{model}"
        self._text = options.text
        self._known = known = catalogue.find(model)
        folder = Path(model).expanduser()
        # A name has one slash at most, and none at its beginning.
        is_path = model.startswith((".", "/", "~")) or folder.is_dir()
        self._folder = folder if is_path else None
        self._source = ModelSource(model, self._folder, known)
        self._dimensions = Dimensions(
            _dimensions(model, options.dimensions, known), options, self._who
        )
        self._loading = forks.Lock()
        self._run: Run | None = None

    def __repr__(self) -> str:
        return f"DownloadedEmbedder({self._who!r})"

    @property
    def space(self) -> Space:
        """The space of its vectors; the model is loaded to find out unknown dimensions."""
        return Space(
            model=self._who,
            revision=self._revision,
            dimensions=self._dimensions.get(lambda: self.embed_query(_PROBE)),
            query_prompt=self._known.query_prompt if self._known else "",
            memory_prompt=self._known.memory_prompt if self._known else "",
            text=self._text,
        )

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text."""
        import numpy as np  # noqa: PLC0415  slow to import

        run = self._loaded(download=True)
        if not texts:
            return np.zeros((0, self.space.dimensions), np.float32)
        prompt = self._known.memory_prompt if self._known else ""
        # Texts of similar length together, so that little is padding.
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        vectors: Vectors | None = None
        for begin in range(0, len(order), _BATCH):
            batch = order[begin : begin + _BATCH]
            rows = self._ran(run, [prompt + texts[at] for at in batch], query=False)
            if vectors is None:
                vectors = np.empty((len(texts), rows.shape[1]), np.float32)
            vectors[batch] = rows
        assert vectors is not None  # noqa: S101  there is at least one batch
        return vectors

    def embed_query(self, text: str) -> Vector:
        """A query's vector."""
        prompt = self._known.query_prompt if self._known else ""
        vector: Vector = self._ran(self._loaded(download=False), [prompt + text], query=True)[0]
        return vector

    def close(self) -> None:
        """Release the model."""
        with self._loading:
            self._run = None

    @cached_property
    def _revision(self) -> str:
        return _revision_of(self._folder) if self._folder else "published"

    def _loaded(self, *, download: bool) -> Run:
        with self._loading:
            if self._run is None:
                with self._translated("cannot be loaded"):
                    try:
                        self._run = self._library.load(self._source)
                    except NotHere:
                        if not download:
                            raise
                        with self._translated("is not on this machine and cannot be downloaded"):
                            self._library.download(self._source)
                        self._run = self._library.load(self._source)
            return self._run

    def _ran(self, run: Run, texts: Sequence[str], *, query: bool) -> Vectors:
        with self._translated("does not work"):
            rows = run(texts, query)
        if len(rows):
            self._dimensions.saw(len(rows[0]))
        return checked(rows, texts=len(texts), dimensions=self._dimensions.known, who=self._who)

    @contextmanager
    def _translated(self, problem: str) -> Iterator[None]:
        try:
            yield
        except (EmbedderFailure, InvalidSetting):
            raise
        except NotHere as exc:
            raise EmbedderFailure(
                f"{self._who} is not on this machine",
                hint="`bearinmind work` downloads it."
                if self._folder is None
                else "Check the path of the folder.",
            ) from exc
        except Exception as exc:  # these libraries and those beneath them raise anything
            reason = " ".join(str(exc).split())[:300] or type(exc).__name__
            raise EmbedderFailure(f"{self._who} {problem}: {reason}") from exc


def _dimensions(model: str, configured: int | None, known: catalogue.Known | None) -> int | None:
    if known is not None and configured not in (None, known.dimensions):
        raise InvalidSetting(
            f"embedder_dimensions = {configured:,}: {model} gives {known.dimensions:,}",
            hint="Leave it out.",
        )
    return known.dimensions if known else configured


def _revision_of(folder: Path) -> str:
    """Equal for folders with the same files: small ones are read, of large ones the size counts."""
    digest = hashlib.sha256()
    try:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            size = path.stat().st_size
            digest.update(f"{path.relative_to(folder)}\0{size}\0".encode())
            digest.update(path.read_bytes() if size < _SMALL_FILE else b"")
    except OSError as exc:
        raise EmbedderFailure(f"{str(folder)!r} cannot be read: {exc}") from exc
    return digest.hexdigest()[:16]


_GRAPHS = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx")
#: How sentence-transformers writes it down, before its version 6 and since.
_POOLINGS = {
    "pooling_mode_cls_token": Pooling.CLS,
    "pooling_mode_mean_tokens": Pooling.MEAN,
    "pooling_mode_lasttoken": Pooling.LAST,
}


def _load_fastembed(source: ModelSource) -> Run:
    disable_telemetry()  # which fastembed imports
    from fastembed import TextEmbedding  # noqa: PLC0415  slow to import

    _be_quiet()
    if source.folder is not None:
        name = _register(source.folder, source)
        model = TextEmbedding(name, specific_model_path=str(source.folder))
    else:
        names = [described["model"] for described in TextEmbedding.list_supported_models()]
        if source.model.lower() not in map(str.lower, names):
            raise EmbedderFailure(
                f"fastembed has no model {source.model!r}",
                hint="Choose one of its list (https://qdrant.github.io/fastembed), "
                "give the path of a folder, or use sentence-transformers.",
            )
        try:
            model = TextEmbedding(source.model, cache_dir=_cache(), local_files_only=True)
        except ValueError as exc:  # "could not load from any source": there is no file of it
            raise NotHere from exc

    def run(texts: Sequence[str], query: bool) -> Sequence[Any]:
        # The two differ only for models that have a part of their own for queries.
        return [*(model.query_embed(texts) if query else model.passage_embed(texts))]

    return run


def _download_fastembed(source: ModelSource) -> None:
    disable_telemetry()
    from fastembed import TextEmbedding  # noqa: PLC0415

    if source.folder is not None:
        raise NotHere
    _be_quiet()
    TextEmbedding(source.model, cache_dir=_cache(), lazy_load=True)


def _be_quiet() -> None:
    """Errors are raised; fastembed and the hub's client would print them too."""
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    if importlib.util.find_spec("loguru"):
        from loguru import logger  # noqa: PLC0415

        logger.disable("fastembed")


def _cache() -> str:
    """A folder that outlives the next start of the machine, unlike fastembed's own choice."""
    import platformdirs  # noqa: PLC0415

    return str(Path(platformdirs.user_cache_dir("bearinmind", appauthor=False)) / "fastembed")


def _register(folder: Path, source: ModelSource) -> str:
    """Register a folder with fastembed; its name there."""
    from fastembed import TextEmbedding  # noqa: PLC0415
    from fastembed.common.model_description import ModelSource as HubSource  # noqa: PLC0415
    from fastembed.common.model_description import PoolingType  # noqa: PLC0415

    graphs = [graph for graph in _GRAPHS if (folder / graph).is_file()]
    if not graphs:
        raise EmbedderFailure(
            f"there is no ONNX model in {str(folder)!r}", hint=f"Looked for {', '.join(_GRAPHS)}."
        )
    name = str(folder.resolve())
    if name.lower() not in {m["model"].lower() for m in TextEmbedding.list_supported_models()}:
        TextEmbedding.add_custom_model(
            model=name,
            pooling={
                Pooling.CLS: PoolingType.CLS,
                Pooling.MEAN: PoolingType.MEAN,
                Pooling.LAST: PoolingType.LAST_TOKEN,
            }.get(_pooling(folder, source), PoolingType.DISABLED),
            normalization=True,
            sources=HubSource(hf=name),  # never asked: the folder is given
            dim=source.known.dimensions if source.known else 1,  # fastembed does not look at it
            model_file=graphs[0],
        )
    return name


def _pooling(folder: Path, source: ModelSource) -> Pooling:
    """The pooling of the folder or of the catalogue; else the graph pools by itself."""
    try:
        config = json.loads((folder / "1_Pooling" / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return source.known.pooling if source.known else Pooling.HOSTED
    for key, pooling in _POOLINGS.items():
        if config.get(key) or config.get("pooling_mode") == key.split("_")[2]:
            return pooling
    return Pooling.HOSTED


def _load_sentence_transformers(source: ModelSource) -> Run:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415  seconds to import
    from transformers.utils import logging as bars  # noqa: PLC0415

    bars.disable_progress_bar()  # a second of loading needs none
    if source.folder is not None and not source.folder.is_dir():
        raise NotHere
    try:
        model = SentenceTransformer(str(source.folder or source.model), local_files_only=True)
    except OSError as exc:  # what transformers raises for files that are not there
        if source.folder is not None:
            raise
        raise NotHere from exc

    def run(texts: Sequence[str], query: bool) -> Sequence[Any]:
        rows: Sequence[Any]
        if source.known is not None:
            rows = model.encode([*texts], prompt="", show_progress_bar=False)  # ours are there
        elif query:  # a model that we do not know may bring prompts of its own
            rows = model.encode_query([*texts], show_progress_bar=False)
        else:
            rows = model.encode_document([*texts], show_progress_bar=False)
        return rows

    return run


def _download_sentence_transformers(source: ModelSource) -> None:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    if source.folder is not None:
        raise NotHere
    _be_quiet()
    SentenceTransformer(source.model)


FASTEMBED = Library("fastembed", _load_fastembed, _download_fastembed)
SENTENCE_TRANSFORMERS = Library(
    "sentence-transformers", _load_sentence_transformers, _download_sentence_transformers
)
LIBRARIES = {library.name: library for library in (FASTEMBED, SENTENCE_TRANSFORMERS)}
