"""Which version of a memory somebody has seen, as HTTP says it (RFC 9110, section 13).

A tag is the version of the memory, and for a whole memory also a digest of the answer: its links
change without a new version. A condition on a change looks at the version alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from bearinmind.errors import VersionConflict

_TAG = re.compile(r'\s*(W/)?"([^"]*)"\s*(?:,|$)')
_VERSION = re.compile(r"([1-9]\d{0,9})(?:-[0-9a-f]{16})?")
ANY = "*"


def of_version(version: int) -> str:
    """The tag of a memory."""
    return f'"{version}"'


def of_answer(version: int, answer: bytes) -> str:
    """The tag of an answer about a memory, which may change while its version does not."""
    return f'"{version}-{hashlib.sha256(answer).hexdigest()[:16]}"'


def is_known(header: str | None, tag: str) -> bool:
    """Whether an If-None-Match header names what would be answered."""
    if header is None:
        return False
    wanted = tag.strip('"')
    return header.strip() == ANY or any(found[2] == wanted for found in _TAG.finditer(header))


def expected_version(header: str, present: Callable[[], int]) -> int | None:
    """The version that an If-Match header wants to find; None when any will do.

    Raises:
        VersionConflict: it names no version at all.
    """
    if header.strip() == ANY:
        return None
    versions = [
        int(version[1])
        for found in _TAG.finditer(header)
        if not found[1] and (version := _VERSION.fullmatch(found[2]))
    ]
    if not versions:
        raise VersionConflict(
            f"If-Match {header[:40]!r} names no version of a memory",
            hint='Send the ETag of the memory as it is, such as "3".',
        )
    if len(versions) > 1:
        now = present()
        return now if now in versions else versions[0]
    return versions[0]
