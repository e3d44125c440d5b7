"""The libraries that run downloaded models: how a model is found, fetched and asked."""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bearinmind.embed.catalogue import Pooling
from bearinmind.embed.downloaded import Library, NotHere, Run, Wish
from bearinmind.errors import EmbedderFailure
from bearinmind.quiet import hush_onnxruntime

_GRAPHS = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx")
#: How sentence-transformers writes it down, before its version 6 and since.
_POOLINGS = {
    "pooling_mode_cls_token": Pooling.CLS,
    "pooling_mode_mean_tokens": Pooling.MEAN,
    "pooling_mode_lasttoken": Pooling.LAST,
}


def _load_fastembed(wish: Wish) -> Run:
    hush_onnxruntime()  # which fastembed imports
    from fastembed import TextEmbedding  # noqa: PLC0415  slow to import

    _be_quiet()
    if wish.folder is not None:
        name = _register(wish.folder, wish)
        model = TextEmbedding(name, specific_model_path=str(wish.folder))
    else:
        _check_that_fastembed_knows(wish.model)
        try:
            model = TextEmbedding(wish.model, cache_dir=_cache(), local_files_only=True)
        except ValueError as exc:  # "could not load from any source": there is no file of it
            raise NotHere from exc

    def run(texts: Sequence[str], query: bool) -> Sequence[Any]:
        # The two differ only for models that have a part of their own for queries.
        return [*(model.query_embed(texts) if query else model.passage_embed(texts))]

    return run


def _download_fastembed(wish: Wish) -> None:
    hush_onnxruntime()
    from fastembed import TextEmbedding  # noqa: PLC0415

    if wish.folder is not None:
        raise NotHere
    _be_quiet()
    TextEmbedding(wish.model, cache_dir=_cache(), lazy_load=True)


def _be_quiet() -> None:
    """What goes wrong is raised; fastembed and the hub's client would print it too."""
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    if importlib.util.find_spec("loguru"):
        from loguru import logger  # noqa: PLC0415

        logger.disable("fastembed")


def _cache() -> str:
    """A folder that outlives the next start of the machine, unlike fastembed's own choice."""
    import platformdirs  # noqa: PLC0415

    return str(Path(platformdirs.user_cache_dir("bearinmind", appauthor=False)) / "fastembed")


def _check_that_fastembed_knows(model: str) -> None:
    from fastembed import TextEmbedding  # noqa: PLC0415

    names = [described["model"] for described in TextEmbedding.list_supported_models()]
    if model.lower() not in map(str.lower, names):
        raise EmbedderFailure(
            f"fastembed has no model {model!r}",
            hint="Choose one of its list (https://qdrant.github.io/fastembed), "
            "give the path of a folder, or use sentence-transformers.",
        )


def _register(folder: Path, wish: Wish) -> str:
    """Tell fastembed about a folder; the name that it goes by there."""
    from fastembed import TextEmbedding  # noqa: PLC0415
    from fastembed.common.model_description import ModelSource, PoolingType  # noqa: PLC0415

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
            }.get(_pooling(folder, wish), PoolingType.DISABLED),
            normalization=True,
            sources=ModelSource(hf=name),  # never asked: the folder is given
            dim=wish.known.dimensions if wish.known else 1,  # fastembed does not look at it
            model_file=graphs[0],
        )
    return name


def _pooling(folder: Path, wish: Wish) -> Pooling:
    """What the folder says, or else the catalogue; else the graph has to pool by itself."""
    try:
        said = json.loads((folder / "1_Pooling" / "config.json").read_text("utf-8"))
    except (OSError, ValueError):
        return wish.known.pooling if wish.known else Pooling.HOSTED
    for key, pooling in _POOLINGS.items():
        if said.get(key) or said.get("pooling_mode") == key.split("_")[2]:
            return pooling
    return Pooling.HOSTED


def _load_sentence_transformers(wish: Wish) -> Run:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415  seconds to import
    from transformers.utils import logging as bars  # noqa: PLC0415

    bars.disable_progress_bar()  # a second of loading needs none
    if wish.folder is not None and not wish.folder.is_dir():
        raise NotHere
    try:
        model = SentenceTransformer(str(wish.folder or wish.model), local_files_only=True)
    except OSError as exc:  # what transformers raises for files that are not there
        if wish.folder is not None:
            raise
        raise NotHere from exc

    def run(texts: Sequence[str], query: bool) -> Sequence[Any]:
        rows: Sequence[Any]
        if wish.known is not None:
            rows = model.encode([*texts], prompt="", show_progress_bar=False)  # ours are there
        elif query:  # a model that we do not know may bring prompts of its own
            rows = model.encode_query([*texts], show_progress_bar=False)
        else:
            rows = model.encode_document([*texts], show_progress_bar=False)
        return rows

    return run


def _download_sentence_transformers(wish: Wish) -> None:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    if wish.folder is not None:
        raise NotHere
    _be_quiet()
    SentenceTransformer(wish.model)


FASTEMBED = Library("fastembed", _load_fastembed, _download_fastembed)
SENTENCE_TRANSFORMERS = Library(
    "sentence-transformers", _load_sentence_transformers, _download_sentence_transformers
)
LIBRARIES = {library.name: library for library in (FASTEMBED, SENTENCE_TRANSFORMERS)}
