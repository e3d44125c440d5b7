"""The settings that are measured against each other, and what they give back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bearinmind.bench.evaluation import EvaluationSet
from bearinmind.bench.own.folder import Folder
from bearinmind.bench.own.grades import Key
from bearinmind.bench.product import FIXED, settings_for
from bearinmind.bench.runner import Plan, run_arms
from bearinmind.config import Settings, assignments, separated
from bearinmind.errors import InvalidSetting, TooFewQueries

DEEP = 10  # memories of each arm that are judged
PRESENT = "the present settings"

#: Settings that make no difference here, and why.
UNMEASURED = {
    **FIXED,
    "content_limit": "it is about storing",
    "categories": "it is about storing",
    "curate": "it is about curation",
    "curate_hours": "it is about curation",
    "curate_cosine": "it is about curation",
    "curate_temporary_days": "it is about curation",
    **dict.fromkeys(
        (
            "learn",
            "learn_url",
            "learn_model",
            "learn_dialect",
            "learn_key",
            "learn_daily_tokens",
        ),
        "it is about learning",
    ),
    "limit": "every run asks for 20 memories and looks at their order",
    "focus_bonus": "the questions name no focus",
    "trust_factors": "the set does not say how far its memories are trusted",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """Settings with a name."""

    name: str
    settings: Mapping[str, Any]  #: all that differ from the shipped defaults
    changed: Mapping[str, Any]  #: of these, what was asked to be changed

    def __str__(self) -> str:
        return self.name


def present(settings: Settings) -> Arm:
    """The settings as they are configured now."""
    plain = Settings()
    changed = {
        name: getattr(settings, name)
        for name in Settings.model_fields
        if name not in UNMEASURED and getattr(settings, name) != getattr(plain, name)
    }
    if settings.categories != plain.categories:
        changed["categories"] = [*settings.categories]  # `decay_days` may name one of them
    return Arm(name=PRESENT, settings=changed, changed={})


def arm(base: Arm, texts: Sequence[str]) -> Arm:
    """The base with some settings changed, given as `NAME=VALUE`.

    Raises:
        InvalidSetting: a value is not allowed, or the setting cannot be measured.
    """
    changed: dict[str, Any] = {}
    for text in texts:
        for name, value in assignments([text]).items():
            _refuse_unmeasured(name)
            one_entry = "." in text.partition("=")[0]
            before = changed.get(name, base.settings.get(name, {})) if one_entry else {}
            changed[name] = {**before, **value} if one_entry else value
    settings = {**base.settings, **changed}
    settings_for("check", {}, settings)
    return Arm(name=described(changed) or base.name, settings=settings, changed=changed)


def arms(base: Arm, changes: Sequence[str], texts: Sequence[str]) -> list[Arm]:
    """The base, the base with these changes, and one for each text such as `pool=100,fusion=rrf`.

    Raises:
        InvalidSetting: a value is not allowed, or a setting cannot be measured.
    """
    found = [base, *([arm(base, changes)] if changes else [])]
    found += [arm(base, separated(text)) for text in texts]
    return found


def described(settings: Mapping[str, Any]) -> str:
    """Settings on one line."""
    return ", ".join(f"{name}={_shown(value)}" for name, value in settings.items())


def pooled(
    folder: Folder,
    data: EvaluationSet,
    arms: Sequence[Arm],
    progress: Callable[[int], None],
) -> list[Key]:
    """Add the first ten of every arm to what there is to judge, and keep it.

    What was pooled for other arms stays, so that judgements serve them all. With it come what the
    store says is relevant, and what was given back when a captured query was really asked.

    Raises:
        TooFewQueries: there is nothing to ask.
    """
    if not data.queries:
        raise TooFewQueries(
            "the set has no questions",
            hint="`bearinmind bench own build` says why; store, link and recall, and build again.",
        )
    asked = {query.id for query in data.queries}
    there = {record["id"] for record in data.corpus}
    pairs = [(pair.query_id, pair.memory_id) for pair in folder.pool()]
    for row in folder.questions():
        known = (*row.get("relevant_ids", ()), *row.get("hits", ())[:DEEP])
        pairs += [(row["query_id"], id_) for id_ in known]
    for result in run_arms(Plan(data=data), [arm.settings for arm in arms], progress):
        for answer in result.rows:
            pairs += [(answer.query_id, id_) for id_ in answer.ranked[:DEEP]]
    pool = sorted({pair for pair in pairs if pair[0] in asked and pair[1] in there})
    folder.write("pool", _rows(pool))
    return pool


def _rows(pool: Iterable[Key]) -> Iterator[dict[str, str]]:
    for query, memory in pool:
        yield {"query_id": query, "memory_id": memory}


def _refuse_unmeasured(name: str) -> None:
    if name in UNMEASURED:
        raise InvalidSetting(
            f"{name} cannot be measured on an evaluation set: {UNMEASURED[name]}",
            hint="Compare a setting that changes the ranking, such as importance_weight.",
        )


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
