"""How a vault does: where its key is, and which secrets it opens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bearinmind.errors import MindError
from bearinmind.vault.seal import SealingVault


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultStatus:
    """What is known without opening anything."""

    where: str  #: where the key is looked for
    key_ids: tuple[str, ...]  #: the present one first; none when there is no key
    problem: str  #: why the keys cannot be had; empty when they can
    hint: str
    secrets: int  #: of the whole store, counting each text once
    unreadable: int  #: secrets whose key is not here

    @property
    def good(self) -> bool:
        """Whether every secret can be read."""
        return not self.unreadable and not (self.problem and self.secrets)


def examine(vault: SealingVault, under: Mapping[str, int]) -> VaultStatus:
    """Look at the keys, and at how many secrets are under each; opens nothing."""
    problem = hint = ""
    key_ids: tuple[str, ...] = ()
    try:
        vault.refresh()
        keys = vault.keys()
        key_ids = tuple(key.id for key in keys.keys) if keys else ()
    except MindError as exc:
        problem, hint = exc.message, exc.hint
    return VaultStatus(
        where=vault.source.where,
        key_ids=key_ids,
        problem=problem,
        hint=hint,
        secrets=sum(under.values()),
        unreadable=sum(count for key_id, count in under.items() if key_id not in key_ids),
    )
