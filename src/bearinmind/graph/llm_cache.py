"""A file with what a chat model found in texts before.

Each entry is encrypted with a key that is made of its text, so only somebody who has the text can
read it. Nothing of a memory outlives it here, and the file tells nobody whom the memories name.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path

from bearinmind import codec
from bearinmind.concepts import Extraction
from bearinmind.errors import InvalidJson
from bearinmind.models.cache_file import CacheFile, Layout
from bearinmind.text.sql_statements import statements_of

MOST_BYTES = 128 * 1024 * 1024  # of a file: about a hundred thousand memories
_LAYOUT = Layout(
    what="extractions",
    statements=statements_of(
        files("bearinmind.graph").joinpath("sql", "extractions.sql").read_text("utf-8")
    ),
    version=1,
    making=("drop_extractions", "create_extractions"),
)
_NONCE = 12  # bytes


class ExtractionCache:
    """The cache of one extractor. Threads and processes may share its file."""

    def __init__(self, file: Path, extractor: str) -> None:
        self._extractor = extractor
        self._file = CacheFile(file, _LAYOUT, most_bytes=MOST_BYTES)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @property
    def trouble(self) -> str | None:
        """What was wrong with the file."""
        return self._file.trouble

    def find(self, texts: Iterable[str]) -> dict[str, Extraction]:
        """What was found before in those of these texts that were read."""
        text_of = {self._digest("place", text): text for text in texts}
        known: dict[str, Extraction] = {}
        for place, sealed in self._file.find([*text_of]).items():
            extraction = self._opened(text_of[place], sealed)
            if extraction is not None:
                known[text_of[place]] = extraction
        return known

    def keep(self, extractions: Mapping[str, Extraction]) -> None:
        """Keep what was extractions in texts; the oldest make room for it."""
        if extractions:
            self._file.keep(
                {
                    self._digest("place", text): self._sealed(text, it)
                    for text, it in extractions.items()
                }
            )

    def _sealed(self, text: str, extraction: Extraction) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        nonce = os.urandom(_NONCE)
        plain = codec.to_json(extraction)
        return nonce + AESGCM(self._digest("key", text)).encrypt(nonce, plain, None)

    def _opened(self, text: str, sealed: bytes) -> Extraction | None:
        """What was sealed; None when it cannot be read."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        cipher = AESGCM(self._digest("key", text))
        try:
            plain = cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
            return codec.from_json(Extraction, plain)
        except (InvalidTag, ValueError, InvalidJson):
            return None

    def _digest(self, use: str, text: str) -> bytes:
        parts = f"{use}\0{self._extractor}\0{text}"
        return hashlib.sha256(parts.encode(errors="surrogatepass")).digest()
