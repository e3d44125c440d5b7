"""Background work as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from bearinmind.graph.extraction_plan import ExtractionPlan
from bearinmind.protocols import GraphCounts, KnownSpace
from bearinmind.surfaces.render import BAD, NOTICE, QUIET, STRONG, data, grid, headed, many, minute
from bearinmind.work.done import WorkDone
from bearinmind.work.kinds import EMBED, EXTRACT
from bearinmind.work.status import WorkStatus

_MEMORY = ("memory", "memories")
_RETRY = "`bearinmind work --retry-dead` tries again, once the cause is gone."


def status(value: WorkStatus, *, at_work: bool) -> Iterator[RenderableType]:
    """How background work stands."""
    if not value.spaces and not value.extractor:
        yield data("Nothing is embedded yet, and nothing waits: `bearinmind work` begins.")
        return
    if value.spaces:
        yield _spaces(value.spaces)
    facts = grid("-", "")
    facts.add_row(Text("worker", QUIET), "at work" if at_work else "not running")
    if value.extractor:
        facts.add_row(Text("graph", QUIET), data(_reading(value)))
    if value.meaning_off:
        facts.add_row(Text("embedding", QUIET), data(f"off: {value.meaning_off.reason}", NOTICE))
        facts.add_row("", data(value.meaning_off.hint, NOTICE))
    if value.last_error:
        if value.waiting:
            facts.add_row(Text("next attempt", QUIET), minute(value.next_due))
        facts.add_row(Text("last error", QUIET), data(value.last_error, NOTICE))
    if value.dead:
        facts.add_row("", Text(_RETRY, NOTICE))
    yield facts


def to_do(value: WorkStatus) -> str:
    """What waits, such as "3 memories to embed, 3 to read for the graph"."""
    embed, read = value.to_embed, value.to_read
    if not read:
        return f"{many(embed, *_MEMORY)} to embed"
    counted = f"{read:,}" if embed else many(read, *_MEMORY)
    return f"{many(embed, *_MEMORY)} to embed, {counted} to read for the graph".removeprefix(
        "0 memories to embed, "
    )


def done(value: WorkDone, left: WorkStatus) -> Iterator[RenderableType]:
    """What a worker did, and what is left."""
    embedded, read = (value.by_kind.get(kind, 0) for kind in (EMBED, EXTRACT))
    told = [f"Embedded {many(embedded, *_MEMORY)}."] if embedded or not read else []
    if read:
        told.append(f"Read {read if embedded else many(read, *_MEMORY)} for the graph.")
    yield data(" ".join(told))
    yield from _trouble(value, left)


def built(value: WorkDone, left: WorkStatus, counts: GraphCounts) -> Iterator[RenderableType]:
    """What was read for the graph, and what it holds now."""
    held = f"{many(counts.concepts, 'concept')}, {many(counts.relations, 'relation')}"
    yield data(f"Read {many(value.finished, *_MEMORY)} for the graph: {held}.")
    yield from _trouble(value, left)


def reading_plan(value: ExtractionPlan) -> Iterator[RenderableType]:
    """What reading for the graph would take."""
    place = "texts are sent to its server" if value.leaves_machine else "texts stay here"
    yield data(f"{many(value.versions, *_MEMORY)} to read by {value.extractor}; {place}.")
    asked = value.estimate
    if asked is None:
        return
    yield data(
        f"{many(asked.requests, 'request')} for {asked.memories - asked.cached:,} of them, "
        f"{asked.cached:,} are cached: about {asked.prompt_tokens:,} tokens of prompts and "
        f"{asked.answer_tokens:,} of answers, {asked.most_tokens:,} at most."
    )
    if value.budget:
        spent, limit = value.budget
        yield data(f"{spent:,} of {limit:,} tokens are spent today (llm_daily_tokens).", QUIET)


def _spaces(known_spaces: Sequence[KnownSpace]) -> RenderableType:
    table = headed("", "embedder", "", "embedded>", "waiting>", "given up>")
    for known in known_spaces:
        table.add_row(
            data(known.space.model, STRONG),
            known.state,
            f"{known.embedded:,}",
            f"{known.waiting:,}",
            Text(f"{known.dead:,}", BAD if known.dead else ""),
        )
    return table


def _reading(value: WorkStatus) -> str:
    reading = value.of_kind(EXTRACT)
    waiting = f"{many(reading.waiting, *_MEMORY)} to read" if reading.waiting else "all is read"
    dead = f", {reading.dead:,} given up" if reading.dead else ""
    return f"{value.extractor}: {waiting}{dead}"


def reembedded(value: WorkDone, left: WorkStatus) -> Iterator[RenderableType]:
    """Which space answers after a re-embedding, and what is left."""
    if left.active is None:
        yield data("Semantic recall is off: the `embedder` setting is none.")
        return
    if left.filling is None:
        word = "now answers" if value.by_kind.get(EMBED) else "answers already"
        yield data(f"{_named(left.active)} {word}: {_counted(left.active)}.")
    else:
        yield data(f"{_named(left.filling)} is being filled: {_counted(left.filling)}.")
        yield data(f"{_named(left.active)} answers meanwhile.")
    yield from _trouble(value, left)
    retired = sum(x.embedded for x in left.spaces if x.state == "retired")
    if retired:
        kept = f"{many(retired, 'embedding')} of earlier ones are kept"
        yield data(f"{kept}; `bearinmind reembed --drop-old` removes them.", QUIET)


def _named(known: KnownSpace) -> str:
    return f"{known.space.model} (space {known.space.key})"


def _counted(known: KnownSpace) -> str:
    waiting = f", {known.waiting:,} to do" if known.waiting else ""
    return f"{many(known.embedded, 'embedding')}{waiting}"


def _trouble(value: WorkDone, left: WorkStatus) -> Iterator[RenderableType]:
    if left.waiting:
        counted = many(left.waiting, "job waits", "jobs wait")
        until = f", the next until {minute(left.next_due)}" if left.next_due else ""
        yield data(f"{counted}{until}: {to_do(left)}.", NOTICE)
    if left.meaning_off and left.to_embed:
        yield data(f"Nothing can be embedded: {left.meaning_off.reason}.", NOTICE)
        yield data(left.meaning_off.hint, NOTICE)
    if left.dead:
        yield data(f"{many(left.dead, 'job was', 'jobs were')} given up. {_RETRY}", BAD)
    error = left.last_error or value.last_error
    if (left.waiting or left.dead) and error:
        yield data(f"Last error: {error}", NOTICE)
