"""What a chat model found in texts before, kept in a file beside the other caches.

What is kept under a text can be read only by who has the text: it is encrypted with a key made of
it. So nothing of a memory outlives it here, and the file tells nobody whom the memories name.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from bearinmind.concepts import ConceptName, Extraction, Kind, Mention, Role, Statement
from bearinmind.models.cache_file import CacheFile, Layout
from bearinmind.text.sql_statements import statements_of

MOST_BYTES = 128 * 1024 * 1024  # of a file: about a hundred thousand memories
_SQL = statements_of(
    files("bearinmind.graph").joinpath("sql", "extractions.sql").read_text("utf-8")
)
_LAYOUT = Layout(
    what="extractions",
    statements=_SQL,
    version=1,
    making=("drop_extractions", "create_extractions"),
)
_NONCE = 12  # bytes


class ExtractionCache:
    """The file, for one extractor. Threads and processes may share it."""

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
        """What was found in those texts that are known."""
        text_of = {self._digest("place", text): text for text in texts}
        found: dict[str, Extraction] = {}
        for place, sealed in self._file.find([*text_of]).items():
            extraction = self._opened(text_of[place], sealed)
            if extraction is not None:
                found[text_of[place]] = extraction
        return found

    def keep(self, found: Mapping[str, Extraction]) -> None:
        """Keep what was found in texts; the oldest make room for it."""
        if found:
            self._file.keep(
                {self._digest("place", text): self._sealed(text, it) for text, it in found.items()}
            )

    def _sealed(self, text: str, extraction: Extraction) -> bytes:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        nonce = os.urandom(_NONCE)
        plain = json.dumps(_record(extraction), ensure_ascii=False).encode()
        return nonce + AESGCM(self._digest("key", text)).encrypt(nonce, plain, None)

    def _opened(self, text: str, sealed: bytes) -> Extraction | None:
        """What was sealed; None when it is something else."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        cipher = AESGCM(self._digest("key", text))
        try:
            plain = cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], None)
            return _extraction(json.loads(plain))
        except (InvalidTag, ValueError, TypeError, LookupError):
            return None

    def _digest(self, use: str, text: str) -> bytes:
        said = f"{use}\0{self._extractor}\0{text}"
        return hashlib.sha256(said.encode(errors="surrogatepass")).digest()


def _record(extraction: Extraction) -> dict[str, Any]:
    return {
        "mentions": [[*mention] for mention in extraction.mentions],
        "statements": [
            {
                "source": [*statement.source],
                "type": statement.type,
                "target": [*statement.target],
                "weight": statement.weight,
                "valid_from": _written(statement.valid_from),
                "valid_to": _written(statement.valid_to),
            }
            for statement in extraction.statements
        ],
    }


def _extraction(record: Any) -> Extraction:  # noqa: ANN401  whatever JSON holds
    return Extraction(
        mentions=tuple(_mention(row) for row in record["mentions"]),
        statements=tuple(
            Statement(
                source=_mention(row["source"]),
                type=row["type"],
                target=_mention(row["target"]),
                weight=row["weight"],
                valid_from=_moment(row["valid_from"]),
                valid_to=_moment(row["valid_to"]),
            )
            for row in record["statements"]
        ),
    )


def _mention(row: list[str]) -> Mention:
    name, role, kind, label = row
    return Mention(ConceptName(name), Role(role), Kind(kind), label)


def _written(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
