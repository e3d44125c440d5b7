"""Made-up secrets, and every form in which one could lie about where it must not be."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import sqlite3
import string
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bearinmind.text import analysis, ids


@dataclass(frozen=True)
class Canary:
    """A text with a secret in it."""

    shape: str
    text: str
    secret: str

    def __str__(self) -> str:  # pytest would show all of it
        return f"{self.shape} {self.secret[-8:]}"


class Made:
    """Makes canaries, no two alike."""

    def __init__(self, seed: int = 0) -> None:
        self.all: list[Canary] = []
        self._chance = random.Random(seed)

    def __call__(self, shape: str) -> Canary:
        """One more of a shape: a key of `DETECTED`, or `FLAGGED`."""
        letters, length, text = SHAPES[shape]
        secret = "".join(self._chance.choice(letters) for _ in range(length - 2))
        secret += "7" + self._chance.choice(letters)  # random ones have a digit
        self.all.append(Canary(shape, text.format(secret), secret))
        return self.all[-1]


_SMALL = string.ascii_lowercase + string.digits
_MIXED = string.ascii_letters + string.digits
_HEAD = base64.b64encode(b'{"alg":"HS256"}').decode().rstrip("=")
#: By name: the letters of a secret, how many, and what stands around it so that rules find it.
DETECTED: Mapping[str, tuple[str, int, str]] = {
    "password": (_SMALL, 14, "the harbour password is {}"),
    "github": (_MIXED, 36, "ghp_{}"),
    "aws": (string.ascii_uppercase + "234567", 16, "AKIA{}"),
    "connection": (_SMALL, 14, "postgres://ada:{}@db.example.org/harbour"),
    "web token": (_MIXED, 40, f"{_HEAD}.{_HEAD}.{{}}"),
    "bearer": (_MIXED, 32, "Authorization: Bearer {}"),
    "private key": (
        _MIXED,
        48,
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----",
    ),
    "own key": (_MIXED, 43, "bim_abcdefabcdef_{}"),
}
FLAGGED = "flagged"
_FIRST = 8  #: so many bytes of a spelling are one number, by which it is looked for
_BITS = 20  #: of what is made of such a number
SHAPES = {**DETECTED, FLAGGED: (_SMALL, 14, "{} is what the walrus said")}


def spellings(secret: str, text: str) -> dict[str, bytes]:
    """Every form in which a secret, or what it stands in, could lie about; all in lower case."""
    raw = secret.encode()
    sums = {
        "content hash": analysis.fingerprint(text),
        "SHA-256": hashlib.sha256(text.encode()).digest(),
        "SHA-256 of it": hashlib.sha256(raw).digest(),
        "BLAKE2": hashlib.blake2b(text.encode(), digest_size=16).digest(),
    }
    forms = {
        "plain": raw.lower(),
        "letters": re.sub(rb"\d+", b"", raw.lower()),
        "hex": raw.hex().encode(),
        "id": ids.derived(
            hashlib.blake2b(json.dumps([None, text]).encode(), digest_size=8).digest()
        ).encode(),
    }
    for shift in range(3):  # where a group of three bytes begins is chance
        encoded = base64.b64encode(b"\0" * shift + raw)
        forms[f"base64 {shift}"] = encoded[4 if shift else 0 : -4].lower()
    for name, digest in sums.items():
        forms[name] = digest.lower()
        forms[f"{name}, hex"] = digest.hex().encode()
        forms[f"{name}, base64"] = base64.b64encode(digest)[:-4].lower()
    return forms


def leaks(secrets: Mapping[str, str], places: Mapping[str, bytes]) -> list[tuple[str, str, str]]:
    """Which secret (by it: the text it stands in) was found where, and in which form.

    Places are in lower case: the terms of an index are.
    """
    forms = [
        (secret, form, spelling)
        for secret, text in secrets.items()
        for form, spelling in spellings(secret, text).items()
    ]
    begun = _begun([spelling for _, _, spelling in forms], b"\n".join(places.values()))
    return [
        (secret, place, form)
        for (secret, form, spelling), likely in zip(forms, begun, strict=True)
        if likely
        for place, content in places.items()
        if spelling in content
    ]


def _begun(spellings: Sequence[bytes], content: bytes) -> list[bool]:
    """Whether the first bytes of each stand in a content; those of all are looked for at once.

    There are thousands of spellings and megabytes to search, and almost none is there.
    """
    firsts = np.frombuffer(b"".join(x[:_FIRST].ljust(_FIRST, b"\0") for x in spellings), np.uint64)
    lengths = [(len(content) - begin) // _FIRST * _FIRST for begin in range(_FIRST)]
    everywhere = np.concatenate(
        [
            np.frombuffer(content[begin : begin + max(0, length)], np.uint64)
            for begin, length in enumerate(lengths)
        ]
    )
    maybe = np.zeros(1 << _BITS, np.bool_)  # most is left out by this, so that little is sorted
    maybe[_mixed(firsts)] = True
    there = np.isin(firsts, everywhere[maybe[_mixed(everywhere)]]).tolist()
    return [len(x) < _FIRST or known for x, known in zip(spellings, there, strict=True)]


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Few bits of each, in which all of it has a part."""
    return (numbers * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _BITS)


def dumped(file: Path) -> bytes:
    """All rows of a database, with the terms of its index, which its file keeps abbreviated."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        names = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        tables = [name for [name] in connection.execute(names).fetchall()]
        rows = [row for table in tables for row in connection.execute(f"SELECT * FROM {table}")]
    cells = (cell for row in rows for cell in row if isinstance(cell, str | bytes))
    return b"\n".join(cell.encode() if isinstance(cell, str) else cell for cell in cells)
