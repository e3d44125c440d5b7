"""The extractor that settings name, several extractors as one, and what extraction costs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from bearinmind.concepts import ConceptName, Extraction, Kind, Mention, Role, Statement
from bearinmind.errors import ExtractorFailure
from bearinmind.models import forks
from bearinmind.protocols import Extractor, Store, every_memory
from bearinmind.types import Filter, Memory, Scope, State

if TYPE_CHECKING:
    from bearinmind.graph.llm_extractor import Estimate, LlmExtractor
    from bearinmind.models.token_budget import ModelOptions


ExtractorName = Literal["rules", "spacy", "llm", "none"]  #: as the setting has it
LONGEST_KEY = 64  # characters, as the protocol has it
_VAGUE = frozenset({Kind.NAME, Kind.TOPIC})
_PRESENT = frozenset({State.LIVE, State.SUPERSEDED, State.EXPIRED})


class CombinedExtractor:
    """What any of several extractors finds. Satisfies `bearinmind.protocols.Extractor`."""

    def __init__(self, *parts: Extractor) -> None:
        self.parts = parts
        self.leaves_machine = any(part.leaves_machine for part in parts)
        self.batch = min(part.batch for part in parts)
        self.key = "+".join(part.key for part in parts)
        if len(self.key) > LONGEST_KEY:
            digest = hashlib.sha256(self.key.encode()).hexdigest()[:16]
            self.key = f"{self.key[: LONGEST_KEY - len(digest) - 1]}-{digest}"

    def __repr__(self) -> str:
        return f"CombinedExtractor({', '.join(map(repr, self.parts))})"

    def __call__(self, memories: Sequence[Memory]) -> list[Extraction]:
        """What any of them finds; when one fails, the error holds what those before it found."""
        extractions: list[Sequence[Extraction]] = []
        for part in self.parts:  # the dearest last: when a cheaper one fails, nothing was paid for
            try:
                extractions.append(part(memories))
            except ExtractorFailure as exc:
                exc.found = [union(each) for each in zip(*extractions, strict=True)]
                raise
        return [union(each) for each in zip(*extractions, strict=True)]

    def close(self) -> None:
        """Release all of them."""
        for part in self.parts:
            part.close()


def union(extractions: Sequence[Extraction]) -> Extraction:
    """What any of these extractions from one memory has.

    Each name counts once in each role, with the kind that says most, and a subject is not also
    named. Each relation counts once, with the greatest weight.
    """
    mentions: dict[tuple[ConceptName, Role], Mention] = {}
    kinds: dict[ConceptName, Kind] = {}
    for mention in (mention for each in extractions for mention in each.mentions):
        mentions.setdefault((mention.name, mention.role), mention)
        if mention.kind not in _VAGUE:
            kinds.setdefault(mention.name, mention.kind)
    subjects = {name for name, role in mentions if role is Role.SUBJECT}
    statements: dict[tuple[ConceptName, str, ConceptName], Statement] = {}
    for statement in (statement for each in extractions for statement in each.statements):
        key = (statement.source.name, statement.type, statement.target.name)
        if key not in statements or statement.weight > statements[key].weight:
            statements[key] = statement
    return Extraction(
        mentions=tuple(
            mention._replace(kind=kinds.get(name, mention.kind))
            for (name, role), mention in mentions.items()
            if role is not Role.NAME or name not in subjects
        ),
        statements=tuple(statements.values()),
        aliases=tuple(dict.fromkeys(alias for each in extractions for alias in each.aliases)),
    )


def choose_extractor(name: ExtractorName, llm: ModelOptions) -> Extractor | None:
    """The extractor that a setting names; None for `none`. Nothing is loaded or sent yet.

    A model is combined with the rules: it passes over identifiers, hosts and tags, and what the
    rules find costs next to nothing.
    """
    if name == "none":
        return None
    from bearinmind.graph.rules import Rules  # noqa: PLC0415

    if name == "rules":
        return Rules()
    if name == "spacy":
        from bearinmind.graph.spacy_extractor import SpacyExtractor  # noqa: PLC0415

        return CombinedExtractor(Rules(), SpacyExtractor())
    from bearinmind.graph.llm_extractor import LlmExtractor  # noqa: PLC0415

    return CombinedExtractor(Rules(), LlmExtractor(llm))


ConfiguredExtractor = forks.MadeOnce[Extractor]  # no graph is built where it makes none


class Budget(NamedTuple):
    """The tokens that a chat model may use in a day."""

    spent: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionPlan:
    """How many versions there are to read, with which extractor, and what a chat model costs."""

    extractor: str
    leaves_machine: bool
    versions: int  #: to read; every version of a memory is read by itself
    estimate: Estimate | None = None  #: of a chat model
    budget: Budget | None = None


def plan(
    store: Store, scope: Scope, extractor: Extractor, now: datetime, *, again: bool
) -> ExtractionPlan:
    """What extraction would cost for a scope; nothing is read, sent or changed."""
    versions = [*_versions(store, scope, now)]
    is_whole = again or store.extractor() != extractor.key
    model = chat_model(extractor)
    return ExtractionPlan(
        extractor=extractor.key,
        leaves_machine=extractor.leaves_machine,
        versions=len(versions) if is_whole else store.graph_counts(scope).waiting,
        estimate=model.estimate(versions) if model else None,
        budget=budget(extractor),
    )


def budget(extractor: Extractor) -> Budget | None:
    """The tokens that a chat model spent today, and its limit; None without a chat model."""
    model = chat_model(extractor)
    return Budget(model.daily_tokens.spent(), model.daily_tokens.limit) if model else None


def chat_model(extractor: Extractor) -> LlmExtractor | None:
    """The chat model among the extractors, if there is one."""
    from bearinmind.graph.llm_extractor import LlmExtractor  # noqa: PLC0415  most extract by rules alone

    parts = extractor.parts if isinstance(extractor, CombinedExtractor) else (extractor,)
    return next((part for part in parts if isinstance(part, LlmExtractor)), None)


def _versions(store: Store, scope: Scope, now: datetime) -> Iterator[Memory]:
    """Every version that an extractor may read."""
    for memory in every_memory(store, Filter(scope=scope, now=now, states=_PRESENT)):
        versions = store.versions(scope, memory.id) if memory.version > 1 else [memory]
        yield from (x for x in versions if not x.sensitive and x.deleted_at is None)
