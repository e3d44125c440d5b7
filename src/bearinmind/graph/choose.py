"""From settings to an extractor. What is not chosen is not imported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bearinmind.errors import InvalidSetting
from bearinmind.graph.together import Together
from bearinmind.protocols import Extractor

if TYPE_CHECKING:
    from bearinmind.calls import Key

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
        from bearinmind.graph.spacy import SpacyExtractor  # noqa: PLC0415

        return Together(Rules(), SpacyExtractor())
    if name == "llm":
        return Together(Rules(), _llm(llm))
    raise InvalidSetting(
        f"extractor = {name!r} is not one of {', '.join(EXTRACTORS)}",
        hint="Use rules, which needs no model.",
    )


def _llm(options: LlmOptions | None) -> Extractor:
    from bearinmind.graph.llm.extractor import open_llm_extractor  # noqa: PLC0415

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
