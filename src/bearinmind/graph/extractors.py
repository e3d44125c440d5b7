"""Several extractors that read as one."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bearinmind.concepts import ConceptName, Extraction, Kind, Mention, Role, Statement
from bearinmind.errors import ExtractorFailure, InvalidSetting
from bearinmind.protocols import Extractor, Page, Store
from bearinmind.types import Filter, Memory, Scope, State

if TYPE_CHECKING:
    from bearinmind.graph.llm_extractor import Estimate, LlmExtractor
    from bearinmind.models.outbound_http import Key


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


#: What the `extractor` setting can say.
EXTRACTORS = ("rules", "spacy", "llm", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmOptions:
    """What the `llm_` settings say about the model that reads memories."""

    url: str | None = None
    key: Key = None
    model: str | None = None
    dialect: str = "openai"
    cache: Path
    daily_tokens: int


def choose_extractor(name: str, llm: LlmOptions | None = None) -> Extractor | None:
    """The extractor that a setting names; None for `none`. Nothing is loaded or sent yet.

    What reads with a model reads with the rules, too: a model passes over identifiers, hosts and
    tags, and what the rules find costs next to nothing.

    Raises:
        InvalidSetting: there is no such extractor, or another setting is missing.
        MissingExtra: it needs a library or a model that is not installed.
    """
    if name == "none":
        return None
    from bearinmind.graph.rules import Rules  # noqa: PLC0415

    if name == "rules":
        return Rules()
    if name == "spacy":
        from bearinmind.graph.spacy_extractor import SpacyExtractor  # noqa: PLC0415

        return Together(Rules(), SpacyExtractor())
    if name == "llm":
        return Together(Rules(), _llm(llm))
    raise InvalidSetting(
        f"extractor = {name!r} is not one of {', '.join(EXTRACTORS)}",
        hint="Use rules, which needs no model.",
    )


def _llm(options: LlmOptions | None) -> Extractor:
    from bearinmind.graph.llm_extractor import open_llm_extractor  # noqa: PLC0415

    if options is None:
        raise InvalidSetting(
            "extractor = 'llm' needs llm_url",
            hint="Set `llm_url` to the address of a server and `llm_model` to a model there.",
        )
    return open_llm_extractor(
        url=options.url,
        key=options.key,
        model=options.model,
        dialect=options.dialect,
        cache=options.cache,
        daily_tokens=options.daily_tokens,
    )


class ConfiguredExtractor:
    """Nothing is made, and no model loaded, before it is asked for.

    `choose` makes the extractor, None when the graph is not to be built.
    """

    def __init__(self, choose: Callable[[], Extractor | None]) -> None:
        self._choose = choose
        self._lock = threading.Lock()
        self._chosen: Extractor | None = None
        self._has_chosen = False

    def configured(self) -> Extractor | None:
        """The extractor of the settings; None when there is to be none.

        Raises:
            MindError: it cannot be made, such as for want of an address.
        """
        with self._lock:
            if not self._has_chosen:
                self._chosen = self._choose()
                self._has_chosen = True
            return self._chosen

    def close(self) -> None:
        """Release the model or the connections."""
        with self._lock:
            chosen, self._chosen, self._has_chosen = self._chosen, None, False
        if chosen is not None:
            chosen.close()


_PAGE = 1_000  # memories looked at together
_PRESENT = frozenset({State.LIVE, State.SUPERSEDED, State.EXPIRED})


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

    parts = extractor.parts if isinstance(extractor, Together) else (extractor,)
    return next((part for part in parts if isinstance(part, LlmExtractor)), None)


def _versions(store: Store, scope: Scope, now: datetime) -> Iterator[Memory]:
    """Every version that an extractor may read."""
    after = None
    everything = Filter(scope=scope, now=now, states=_PRESENT)
    while page := store.browse(everything, Page(limit=_PAGE, after=after, newest_first=False)):
        after = (page[-1].created_at, page[-1].id)
        for memory in page:
            versions = store.versions(scope, memory.id) if memory.version > 1 else [memory]
            yield from (x for x in versions if not x.sensitive and x.deleted_at is None)
