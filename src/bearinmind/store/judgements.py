"""Keeps the judgements of links without their texts where a memory is, or was, sensitive.

The texts quote the memories. Every store removes them by the same rule, so they need not be synced
for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from bearinmind.store import rows
from bearinmind.store.database import Owned
from bearinmind.types import Link, Memory


def link_row(transaction: Owned, link: Link) -> dict[str, Any]:
    """A link as parameters, without texts about a memory that has a sensitive version."""
    judgement = link.judgement
    ends = {"ids": [link.source, link.target]}
    if judgement is not None and transaction.rows("sensitive_among", ends):
        link = replace(link, judgement=replace(judgement, thing="", aspect="", evidence=()))
    return rows.from_link(link)


def conceal_judgements(transaction: Owned, versions: Iterable[Memory]) -> None:
    """Remove the texts of what was judged about memories that are sensitive."""
    for id_ in dict.fromkeys(memory.id for memory in versions if memory.sensitive):
        transaction.change("conceal_judgements", {"id": id_})
