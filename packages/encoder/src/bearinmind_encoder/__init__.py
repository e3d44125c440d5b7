"""Sentence encoders as files: each is a folder with a graph, a tokenizer and a card."""

from __future__ import annotations

from pathlib import Path

__all__ = ["folder", "models"]

_MODELS = Path(__file__).parent / "models"  # onnxruntime reads files, so they must be real ones


def models() -> tuple[str, ...]:
    """The names of the encoders in this package."""
    return tuple(sorted(card.parent.name for card in _MODELS.glob("*/encoder.json")))


def folder(name: str) -> Path:
    """Where the files of an encoder are.

    Raises:
        LookupError: this package has no such encoder.
    """
    if name not in models():
        raise LookupError(
            f"no encoder {name!r} in bearinmind-encoder; it has {', '.join(models())}"
        )
    return _MODELS / name
