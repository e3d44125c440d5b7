"""By what the versions of a purged memory are known again.

A purge holds for what whoever purged knew. A version that somebody else wrote meanwhile is another
one, and two sealed versions may differ in nothing but their secret: so a mark also names the key
and the fingerprint of the sealed text. Under another key the fingerprint is another one, and tells
nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from bearinmind.changes import digest
from bearinmind.protocols import History, Sealed

_BETWEEN = ":"
_FINGERPRINT = 8  # bytes of it


def marks(history: History) -> tuple[str, ...]:
    """One for each version of a memory, oldest first."""
    records = {record.version: record for record in history.sealed}
    found: list[str] = []
    record: Sealed | None = (
        None  # a version that changed something else says what the one before does
    )
    for memory in history.versions:
        record = records.get(memory.version, record)
        parts = [digest(memory)]
        if memory.sensitive and record is not None:
            parts += [record.key_id, record.fingerprint[:_FINGERPRINT].hex()]
        found.append(_BETWEEN.join(parts))
    return tuple(found)


def covers(purged: Iterable[str], history: History) -> bool:
    """Whether whoever left these marks knew every version of a memory."""
    known: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
    for version, key, text in map(_parts, purged):
        known[version].setdefault(key, set()).add(text)
    return all(
        version in known and text in known[version].get(key, {text})
        for version, key, text in map(_parts, marks(history))
    )


def _parts(mark: str) -> tuple[str, str, str]:
    """The digest of a version, the key and the fingerprint of what it sealed."""
    version, _, sealed = mark.partition(_BETWEEN)
    key, _, text = sealed.rpartition(_BETWEEN)
    return version, key, text
