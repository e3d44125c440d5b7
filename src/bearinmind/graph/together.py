"""Several extractors that read as one."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from bearinmind.concepts import ConceptName, Extraction, Kind, Mention, Role, Statement
from bearinmind.errors import ExtractorFailure
from bearinmind.protocols import Extractor
from bearinmind.types import Memory

LONGEST_KEY = 64  # characters, as the protocol has it
_VAGUE = frozenset({Kind.NAME, Kind.TOPIC})


class Together:
    """What any of several extractors finds. Satisfies `bearinmind.protocols.Extractor`."""

    def __init__(self, *parts: Extractor) -> None:
        self.parts = parts

    def __repr__(self) -> str:
        return f"Together({', '.join(map(repr, self.parts))})"

    @property
    def key(self) -> str:
        """Those of all of them."""
        whole = "+".join(part.key for part in self.parts)
        if len(whole) <= LONGEST_KEY:
            return whole
        digest = hashlib.sha256(whole.encode()).hexdigest()[:16]
        return f"{whole[: LONGEST_KEY - len(digest) - 1]}-{digest}"

    @property
    def leaves_machine(self) -> bool:
        """Whether any of them sends texts to another machine."""
        return any(part.leaves_machine for part in self.parts)

    @property
    def batch(self) -> int:
        """As many memories as each of them takes."""
        return min(part.batch for part in self.parts)

    def __call__(self, memories: Sequence[Memory]) -> list[Extraction]:
        """What they find, put together.

        Raises:
            ExtractorFailure: one of them cannot read; it says what those before it found.
        """
        readings: list[Sequence[Extraction]] = []
        for part in self.parts:  # the dearest last: when a cheaper one fails, nothing was paid for
            try:
                readings.append(part(memories))
            except ExtractorFailure as exc:
                exc.found = _together(readings)
                raise
        return _together(readings)

    def close(self) -> None:
        """Release all of them."""
        for part in self.parts:
            part.close()


def _together(readings: Sequence[Sequence[Extraction]]) -> list[Extraction]:
    return [union(found) for found in zip(*readings, strict=True)]


def union(found: Iterable[Extraction]) -> Extraction:
    """What any of these readings of one memory has."""
    readings = [*found]
    return Extraction(
        mentions=tuple(_mentions(mention for each in readings for mention in each.mentions)),
        statements=tuple(_statements(said for each in readings for said in each.statements)),
        aliases=tuple(dict.fromkeys(alias for each in readings for alias in each.aliases)),
    )


def _mentions(mentions: Iterable[Mention]) -> Iterable[Mention]:
    """Each name once in each role, of the kind that says most; a subject is not also named."""
    kept: dict[tuple[ConceptName, Role], Mention] = {}
    kinds: dict[ConceptName, Kind] = {}
    for mention in mentions:
        kept.setdefault((mention.name, mention.role), mention)
        if mention.kind not in _VAGUE:
            kinds.setdefault(mention.name, mention.kind)
    about = {name for name, role in kept if role is Role.SUBJECT}
    return [
        mention._replace(kind=kinds.get(name, mention.kind))
        for (name, role), mention in kept.items()
        if role is not Role.NAME or name not in about
    ]


def _statements(statements: Iterable[Statement]) -> Iterable[Statement]:
    """Each relation once, as sure as the surest says."""
    kept: dict[tuple[ConceptName, str, ConceptName], Statement] = {}
    for said in statements:
        key = (said.source.name, said.type, said.target.name)
        if key not in kept or said.weight > kept[key].weight:
            kept[key] = said
    return kept.values()
