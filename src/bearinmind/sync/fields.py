"""Field by field: what two sides made of one version of a memory."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Protocol

from bearinmind.errors import SealBroken, VaultFailure
from bearinmind.protocols import Sealed, Vault
from bearinmind.sync.lineage import Opening, Told
from bearinmind.types import Memory, Provenance


class Sealing(Protocol):
    """Seals what is sensitive, and opens it."""

    @property
    def vault(self) -> Vault:
        """What encrypts and decrypts."""

    def guard(self, memory: Memory) -> tuple[Memory, tuple[Sealed, ...]]:
        """The memory as it may be kept: sealed if it is flagged or a secret is found in it."""


class Fields(NamedTuple):
    """What can be changed about a memory."""

    content: str  #: also of a sensitive one what it says, not what stands for it
    sensitive: bool
    category: str
    tags: tuple[str, ...]
    keywords: tuple[str, ...]
    importance: float
    validity: tuple[datetime | None, datetime | None]  #: as one: half of a span means nothing
    provenance: Provenance
    deletion: bool


def fields_of(version: Told, sealing: Sealing) -> Fields:
    """What a version says.

    Raises:
        VaultFailure: it is sensitive, and its key is not here.
    """
    memory = version.memory
    return Fields(
        content=text_of(version, sealing),
        sensitive=memory.sensitive,
        category=memory.category,
        tags=memory.tags,
        keywords=memory.keywords,
        importance=memory.importance,
        validity=(memory.valid_from, memory.valid_to),
        provenance=memory.provenance,
        deletion=memory.deleted_at is not None,
    )


def text_of(version: Told, sealing: Sealing) -> str:
    """What a version says, also when it is sealed.

    Raises:
        VaultFailure: it is, and its key is not here.
    """
    if not version.memory.sensitive:
        return version.memory.content
    if version.record is None:
        raise SealBroken(f"what memory {version.memory.id} says is not in its history")
    return sealing.vault.open(version.record)


def opening(sealing: Sealing) -> Opening:
    """What records say, as far as their keys are here."""

    def opened(record: Sealed) -> str | None:
        try:
            return sealing.vault.open(record)
        except VaultFailure:
            return None

    return opened


def merged_fields(
    our: Fields, their: Fields, base: Fields | None, *, ours_win: bool
) -> tuple[Fields, tuple[str, ...]]:
    """Every field from the side that changed it, and the names of those that both changed.

    `base` is what both said when they were last the same. Of a field that both changed differently
    one side's is taken. A deletion gives way to a change: nothing that somebody still works on is
    taken away.
    """
    names = [*_changed(our, base) & _changed(their, base)]
    contested = [name for name in Fields._fields if name in names and _differ(our, their, name)]
    taken = _changed(our, base) if ours_win else _changed(our, base) - _changed(their, base)
    merged = their._replace(**{name: getattr(our, name) for name in taken})
    if merged.deletion and _edited_where_not_deleted(our, their, base):
        merged = merged._replace(deletion=False)
        contested.append("deletion")
    merged = merged._replace(sensitive=_is_sensitive(merged, our, their, base))
    return merged, tuple(dict.fromkeys(contested))


def _changed(side: Fields, base: Fields | None) -> frozenset[str]:
    return frozenset(name for name in Fields._fields if base is None or _differ(side, base, name))


def _differ(one: Fields, other: Fields, name: str) -> bool:
    return bool(getattr(one, name) != getattr(other, name))


def _edited_where_not_deleted(our: Fields, their: Fields, base: Fields | None) -> bool:
    """Whether one side deleted the memory while the other changed something else."""
    if our.deletion == their.deletion:
        return False
    other = their if our.deletion else our
    return bool(_changed(other, base) - {"deletion"})


def _is_sensitive(merged: Fields, our: Fields, their: Fields, base: Fields | None) -> bool:
    """A flag that either side raised stays; one is lowered only for the text it was lowered for.

    So nothing that was sensitive where it was written is ever in clear.
    """
    raised = not (base and base.sensitive) and (our.sensitive or their.sensitive)
    in_clear = {side.content for side in (our, their) if not side.sensitive}
    return raised or merged.content not in in_clear
