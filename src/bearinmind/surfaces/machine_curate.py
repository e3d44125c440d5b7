"""Proposals and reports of curation as plain data for `--json`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from bearinmind.curate.curating import Look
from bearinmind.curate.hygiene import Report, Untidy
from bearinmind.proposals import Proposal
from bearinmind.surfaces import machine
from bearinmind.surfaces.machine import Data
from bearinmind.types import Memory, MemoryId


def proposal(value: Proposal, texts: Mapping[MemoryId, Memory]) -> Data:
    """A proposal; with the contents of its memories where they are given."""
    data = dataclasses.asdict(value)
    del data["digest"]
    said = {id_: texts[id_].content for id_ in value.memories if id_ in texts}
    return data | ({"contents": said} if said else {})


def look(value: Look, texts: Mapping[MemoryId, Memory], *, proposed: bool) -> Data:
    """What curation found, and whether it is in the inbox now."""
    return {
        "memories": value.memories,
        "by_meaning": value.by_meaning,
        "proposed": proposed,
        "proposals": [
            proposal(each, texts) | {"known": each.id in value.known} for each in value.proposals
        ],
    }


def report(value: Report) -> Data:
    """What is untidy."""
    return {
        "memories": value.memories,
        "links": value.links,
        "found": [_untidy(each) for each in value.found],
    }


def _untidy(value: Untidy) -> Data:
    return {
        "name": value.name,
        "count": value.count,
        "meaning": value.meaning,
        "remedy": value.remedy,
        "memories": list(value.memories),
        "links": [machine.link(each) for each in value.links],
    }
