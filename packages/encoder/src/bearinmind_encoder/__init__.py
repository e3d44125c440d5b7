"""Models as files: sentence encoders with their cards, and a reader of two memories.

Each is a folder with a graph and a tokenizer.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["folder", "models"]

_MODELS = Path(__file__).parent / "models"  # onnxruntime reads files, so they must be real ones


def models() -> tuple[str, ...]:
    """The names of the sentence encoders in this package."""
    return tuple(sorted(card.parent.name for card in _MODELS.glob("*/encoder.json")))


def folder(name: str) -> Path:
    """Where the files of a model are.

    Raises:
        LookupError: this package has no such model.
    """
    if not (_MODELS / name / "model.onnx").is_file():
        raise LookupError(
            f"no encoder {name!r} in bearinmind-encoder; it has {', '.join(models())}"
        )
    return _MODELS / name
