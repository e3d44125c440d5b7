"""The card of an encoder: what its files are, and how it wants to be used."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError

from bearinmind.errors import EmbedderFailure
from bearinmind.types import Space

CARD = "encoder.json"
GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"

REINSTALL = "Install it again: pip install --force-reinstall bearinmind-encoder"


class CardFile(BaseModel):
    """A file of an encoder."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bytes: int
    sha256: str


class Card(BaseModel):
    """What an encoder is made of."""

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
        """The card of a folder.

        Raises:
            EmbedderFailure: there is no encoder, or its card cannot be read.
        """
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
        """What its vectors are, made of texts by a recipe."""
        return Space(
            model=self.name,
            revision=f"{self.weights[:12]}.{self.revision}.{self.precision}.{self.max_tokens}",
            dimensions=self.dimensions,
            query_prompt=self.query_prompt,
            memory_prompt=self.memory_prompt,
            text=text,
        )

    def check_sizes(self, folder: Path) -> None:
        """Notice a file that is missing or cut short, in no time.

        Raises:
            EmbedderFailure: one is.
        """
        for name, expected in self.files.items():
            try:
                found = (folder / name).stat().st_size
            except OSError as exc:
                raise _damaged(folder / name, "it cannot be read") from exc
            if found != expected.bytes:
                raise _damaged(folder / name, f"{found:,} bytes instead of {expected.bytes:,}")

    def check_contents(self, folder: Path) -> None:
        """Notice any change of a file; reads all of them.

        Raises:
            EmbedderFailure: one is not what the card says.
        """
        self.check_sizes(folder)
        for name, expected in self.files.items():
            with (folder / name).open("rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != expected.sha256:
                    raise _damaged(folder / name, "its content is not what its card says")


def _damaged(path: Path, why: str) -> EmbedderFailure:
    """That a file of an encoder cannot be used."""
    return EmbedderFailure(f"{str(path)!r} is damaged: {why}", hint=REINSTALL)
