"""Background work as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from recollect.interfaces.render import BAD, NOTICE, QUIET, STRONG, data, grid, headed, many, minute
from recollect.protocols import KnownSpace
from recollect.work.done import WorkDone
from recollect.work.status import WorkStatus

_MEMORY = ("memory", "memories")
_RETRY = "`recollect work --retry-dead` tries again, once the cause is gone."


def status(value: WorkStatus, *, at_work: bool) -> Iterator[RenderableType]:
    """How background work stands."""
    if not value.spaces:
        yield data("Nothing is embedded yet, and nothing waits: `recollect work` begins.")
        return
    table = headed("", "embedder", "", "embedded>", "waiting>", "given up>")
    for known in value.spaces:
        table.add_row(
            data(known.space.model, STRONG),
            known.state,
            f"{known.embedded:,}",
            f"{known.waiting:,}",
            Text(f"{known.dead:,}", BAD if known.dead else ""),
        )
    yield table
    facts = grid("-", "")
    facts.add_row(Text("worker", QUIET), "at work" if at_work else "not running")
    if value.last_error:
        if value.waiting:
            facts.add_row(Text("next attempt", QUIET), minute(value.next_due))
        facts.add_row(Text("last error", QUIET), data(value.last_error, NOTICE))
    if value.dead:
        facts.add_row("", Text(_RETRY, NOTICE))
    yield facts


def done(value: WorkDone, left: WorkStatus) -> Iterator[RenderableType]:
    """What a worker did, and what is left."""
    yield data(f"Embedded {many(value.finished, *_MEMORY)}.")
    yield from _trouble(left)


def reembedded(value: WorkDone, left: WorkStatus) -> Iterator[RenderableType]:
    """Which space answers after a re-embedding, and what is left."""
    if left.active is None:
        yield data("Semantic recall is off: the `embedder` setting is none.")
        return
    if left.filling is None:
        word = "now answers" if value.finished else "answers already"
        yield data(f"{_named(left.active)} {word}: {_counted(left.active)}.")
    else:
        yield data(f"{_named(left.filling)} is being filled: {_counted(left.filling)}.")
        yield data(f"{_named(left.active)} answers meanwhile.")
    yield from _trouble(left)
    retired = sum(x.embedded for x in left.spaces if x.state == "retired")
    if retired:
        kept = f"{many(retired, 'embedding')} of earlier ones are kept"
        yield data(f"{kept}; `recollect reembed --drop-old` removes them.", QUIET)


def _named(known: KnownSpace) -> str:
    return f"{known.space.model} (space {known.space.key})"


def _counted(known: KnownSpace) -> str:
    waiting = f", {known.waiting:,} to do" if known.waiting else ""
    return f"{many(known.embedded, 'embedding')}{waiting}"


def _trouble(left: WorkStatus) -> Iterator[RenderableType]:
    if left.waiting:
        counted = many(left.waiting, "job waits", "jobs wait")
        yield data(f"{counted}, the next until {minute(left.next_due)}.", NOTICE)
    if left.dead:
        yield data(f"{many(left.dead, 'job was', 'jobs were')} given up. {_RETRY}", BAD)
    if (left.waiting or left.dead) and left.last_error:
        yield data(f"Last error: {left.last_error}", NOTICE)
