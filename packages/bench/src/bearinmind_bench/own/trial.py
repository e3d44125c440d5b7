"""Two configurations on one's own memories: which is better, and adopting it if it is."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from bearinmind.config import Settings
from bearinmind.errors import InvalidInput, InvalidSetting, TooFewQueries
from bearinmind_bench.compare import compare
from bearinmind_bench.evaluation import ALL, EvaluationSet
from bearinmind_bench.inference import MINIMUM_QUERIES
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.own.folder import Figure, Folder, Trial
from bearinmind_bench.own.judgements import Key
from bearinmind_bench.product import FIXED, settings_for
from bearinmind_bench.results import Result
from bearinmind_bench.runner import Plan, run_arms
from bearinmind_bench.sweep import assignments, separated

DEEP = 10  # memories of each arm that are judged
PRESENT = "the present settings"

#: Settings that make no difference here, and why.
UNMEASURED = {
    **FIXED,
    **dict.fromkeys(("content_limit", "categories"), "it is about storing"),
    **dict.fromkeys(
        (name for name in Settings.model_fields if name.split("_")[0] == "curate"),
        "it is about curation",
    ),
    **dict.fromkeys(
        (name for name in Settings.model_fields if name.split("_")[0] == "learn"),
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
            if name in UNMEASURED:
                raise InvalidSetting(
                    f"{name} cannot be measured on an evaluation set: {UNMEASURED[name]}",
                    hint="Compare a setting that changes the ranking, such as importance_weight.",
                )
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
    chosen = [base, *([arm(base, changes)] if changes else [])]
    chosen += [arm(base, separated(text)) for text in texts]
    return chosen


def described(settings: Mapping[str, Any]) -> str:
    """Settings on one line."""
    return ", ".join(
        f"{name}={value if isinstance(value, str) else json.dumps(value)}"
        for name, value in settings.items()
    )


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
    query_ids = {query.id for query in data.queries}
    there = {record["id"] for record in data.corpus}
    pairs = [(pair.query_id, pair.memory_id) for pair in folder.pool()]
    for row in folder.questions():
        known = (*row.get("relevant_ids", ()), *row.get("hits", ())[:DEEP])
        pairs += [(row["query_id"], id_) for id_ in known]
    for result in run_arms(Plan(data=data), [arm.settings for arm in arms], progress):
        for answer in result.rows:
            pairs += [(answer.query_id, id_) for id_ in answer.ranked[:DEEP]]
    pool = sorted({pair for pair in pairs if pair[0] in query_ids and pair[1] in there})
    folder.write("pool", ({"query_id": query, "memory_id": id_} for query, id_ in pool))
    return pool


#: Few, because each one more makes all of them harder to be sure of.
METRICS = (HEADLINE, "recall@10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The part of a set that figures can be made from."""

    data: EvaluationSet  #: without the queries that nobody judged
    split: str
    unjudged: int  #: those queries

    @property
    def steps(self) -> int:
        """How many memories and queries two runs go through."""
        return len(self.data.corpus) + 2 * len(self.data.of_split(self.split))


def judged(folder: Folder, split: str, minimum: int = MINIMUM_QUERIES) -> Judged:
    """The judged queries of a split.

    Raises:
        TooFewQueries: there are not enough with a relevant memory to conclude anything.
    """
    data = folder.load()
    chosen = data.of_split(split)
    known = [query for query in chosen if query.grades]
    answerable = sum(bool(query.relevant) for query in known)
    if answerable < minimum:
        raise TooFewQueries(
            f"{answerable} queries of the split {split!r} have a memory that is judged relevant; "
            f"below {minimum} nothing is concluded",
            hint=_more(len(chosen) - len(known), split),
        )
    kept = tuple(query for query in data.queries if query.grades)
    return Judged(
        data=dataclasses.replace(data, queries=kept),
        split=split,
        unjudged=len(chosen) - len(known),
    )


def _more(unjudged: int, split: str) -> str:
    if split != ALL:
        return "`--split all` takes every query."
    if unjudged:
        return (
            f"{unjudged} more are there and not judged: `bearinmind bench own judge` lets a model "
            "do it, `bearinmind bench own label` you."
        )
    return (
        "Let `bearinmind bench own build` find more: capture queries (the `capture_queries` "
        "setting), link memories, give them keywords, or add --llm."
    )


def compare_arms(
    measured: Judged, before: Arm, after: Arm, progress: Callable[[int], None]
) -> Trial:
    """Run both and say what the second one changes.

    Raises:
        InvalidInput: both are the same.
        TooFewQueries: there are not enough queries.
    """
    if before.settings == after.settings:
        raise InvalidInput(
            "both configurations are the same", hint="Change one with --set NAME=VALUE."
        )
    plan = Plan(data=measured.data, split=measured.split)
    first, second = run_arms(plan, [before.settings, after.settings], progress)
    comparison = compare(first, second, metrics=METRICS)
    return Trial(
        at=second.manifest.created_at,
        bearinmind=second.manifest.bearinmind,
        code=second.manifest.code,
        fingerprint=second.manifest.fingerprint,
        split=measured.split,
        before=before.settings,
        after=after.settings,
        against=before.changed,
        changed=after.changed,
        figures=tuple(Figure(**row.as_data()) for row in comparison.rows),
        verdict=comparison.headline.verdict,
        unjudged={"before": holes(first), "after": holes(second)},
        given={"before": _given(first), "after": _given(second)},
    )


def holes(result: Result) -> int:
    """How many memories of a first ten nobody judged; they count as not relevant."""
    return sum(id_ not in row.grades for row in result.rows for id_ in row.ranked[:DEEP])


def _given(result: Result) -> int:
    return sum(len(row.ranked[:DEEP]) for row in result.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One setting in the file, before and after."""

    name: str
    before: Any  #: None when the file did not say
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What was written."""

    file: Path
    backup: Path | None  #: the file as it was; None when there was none
    changes: tuple[Change, ...]


def adopt(file: Path, settings: Mapping[str, Any]) -> Adopted:
    """Set these settings in the file; it appears whole or stays as it was.

    Raises:
        InvalidSetting: the file cannot be read or written.
    """
    place = file.resolve()  # a link to a file elsewhere stays a link
    try:
        there = place.exists()
        document = tomlkit.parse(place.read_text(encoding="utf-8") if there else "")
        changes = []
        for name, value in settings.items():
            before = document.unwrap().get(name)
            _set(document, name, value)
            changes.append(Change(name=name, before=before, after=value))
        backup = file.with_name(f"{file.name}.bak") if there else None
        if backup:
            shutil.copyfile(place, backup)
            shutil.copymode(place, backup)
        _replace(place, tomlkit.dumps(document))
    except (OSError, UnicodeDecodeError, TOMLKitError) as exc:
        raise InvalidSetting(
            f"{str(file)!r} cannot be changed: {exc}",
            hint="Nothing was adopted; check the file, or set it there yourself.",
        ) from exc
    return Adopted(file=file, backup=backup, changes=tuple(changes))


def _set(document: MutableMapping[str, Any], name: str, value: object) -> None:
    """Set an entry; of a table only what differs, so that comments inside of it stay."""
    there = document.get(name)
    if not isinstance(value, Mapping) or not isinstance(there, MutableMapping):
        document[name] = value
        return
    for key in [key for key in there if key not in value]:
        del there[key]
    for key, entry in value.items():
        if there.get(key) != entry:
            there[key] = entry


def _replace(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        if place.exists():
            shutil.copymode(place, part)
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)
