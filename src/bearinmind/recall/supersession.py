"""Supersession: which memory is served in place of another. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from bearinmind.types import Link, MemoryId


def heads(links: Iterable[Link]) -> dict[MemoryId, MemoryId]:
    """For each superseded memory the newest memory of its chain.

    Where a chain branches, the branch that was linked last wins; equal times break on the id.
    """
    newer: dict[MemoryId, Link] = {}
    for link in links:
        rival = newer.get(link.target)
        if rival is None or (link.created_at, link.source) > (rival.created_at, rival.source):
            newer[link.target] = link
    return {id_: _climb(id_, newer) for id_ in newer}


def _climb(id_: MemoryId, newer: dict[MemoryId, Link]) -> MemoryId:
    seen = {id_}
    while id_ in newer and newer[id_].source not in seen:
        id_ = newer[id_].source
        seen.add(id_)
    return id_
