"""The commands about background work: `work` and `reembed`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.errors import InvalidInput, StoreReadOnly
from bearinmind.graph.extractors import ExtractionPlan
from bearinmind.protocols import GraphCounts, KnownSpace
from bearinmind.surfaces.background import stay, stopping_on_signals
from bearinmind.surfaces.cli.main import INTERRUPTED
from bearinmind.surfaces.cli.options import flag
from bearinmind.surfaces.cli.terminal import (
    BAD,
    NOTICE,
    QUIET,
    STRONG,
    Session,
    counting,
    fields,
    headed,
    many,
    memory_count,
    minute,
    styled,
)
from bearinmind.work.status import COMPARE, EMBED, EXTRACT, WorkDone, WorkStatus
from bearinmind.work.worker import Progress, Worker
from bearinmind.work.worker_lock import WorkerLock

if TYPE_CHECKING:
    from rich.console import RenderableType

NO_STORE = "the first `bearinmind store` makes one."
_GIVEN_UP = 1  # the exit code of a model that fails
Status = Annotated[bool, typer.Option("--status", help="Only show the state of the work.")]


def work(
    run: Session,
    once: bool = flag("--once", "Do what is due now, and wait for no further attempt."),
    watch: bool = flag("--watch", "Stay until interrupted, and lend the loaded model."),
    status: Status = False,
    retry_dead: bool = flag("--retry-dead", "Try again what was given up or is missing."),
) -> None:
    """Embed, read for the graph and compare what waits for it."""
    if sum((once, watch, status)) > 1:
        raise InvalidInput("--once, --watch and --status exclude one another", hint="Give one.")
    with run.existing_store(NO_STORE) as mind:
        revived = mind.work.retry_dead() if retry_dead else 0
        if status:
            _reply_status(run, mind)
            return
        worker = mind.work.worker()
        if watch:
            done = _stay(run, mind, worker)
        else:
            step = worker.once if once else worker.finish
            done = interruptible(mind, worker, "background work", step)
        left = mind.work.status()
    run.reply(work_data(done, left) | {"revived": revived}, lambda: _done_lines(done, left))
    end(run, worker, done, "`bearinmind work` goes on from here.")


def reembed(
    run: Session,
    status: Status = False,
    drop_old: bool = flag("--drop-old", "Remove the embeddings of models that are no longer used."),
) -> None:
    """Embed every memory again, with the configured embedder."""
    if status and drop_old:
        raise InvalidInput("--status and --drop-old exclude each other", hint="Give one.")
    with run.existing_store(NO_STORE) as mind:
        if status:
            _reply_status(run, mind)
            return
        if drop_old:
            dropped = mind.work.drop_retired()
            run.say({"dropped": dropped}, f"Removed {many(dropped, 'embedding')}.")
            return
        worker = mind.work.worker()
        done = interruptible(mind, worker, "re-embedding", worker.finish)
        left = mind.work.status()
    run.reply(work_data(done, left), lambda: _reembedded_lines(done, left))
    end(run, worker, done, "`bearinmind reembed` goes on from here.")


# ---- what they share ---------------------------------------------------------------------------


def work_data(done: WorkDone, left: WorkStatus) -> dict[str, Any]:
    """What a worker did, and how things stand now, as data."""
    return {**codec.to_data(done), **_status_data(left)}


def _status_data(status: WorkStatus) -> dict[str, Any]:
    """The state of background work; vector spaces are named by their keys."""
    spaces = [{**codec.to_data(each), "key": each.space.key} for each in status.spaces]
    return {**codec.to_data(status), "spaces": spaces}


def _reply_status(run: Session, mind: Mind) -> None:
    status = mind.work.status()
    at_work = WorkerLock.of(run.settings.beside).is_held
    run.reply(
        _status_data(status) | {"worker_running": at_work},
        lambda: _status_lines(status, at_work=at_work, embeds=run.settings.embedder != "none"),
    )


def interruptible(
    mind: Mind,
    worker: Worker,
    what: str,
    step: Callable[[Progress], WorkDone],
    kind: str | None = None,
) -> WorkDone:
    """Work with a bar to watch; an interrupt leaves the rest for another time."""
    worker.begin()
    status = mind.work.status()
    waiting = (status.of_kind(kind) if kind else status).waiting
    with (
        stopping_on_signals(worker.stop),
        counting(what, waiting, "jobs") if waiting else nullcontext(None) as bar,
    ):
        return step(bar or (lambda _: None))


def _stay(run: Session, mind: Mind, worker: Worker) -> WorkDone:
    lock = WorkerLock.of(run.settings.beside)
    try:
        taken = lock.acquire()
    except OSError as exc:
        raise StoreReadOnly(f"{str(lock.path)!r} cannot be written: {exc.strerror}") from exc
    if not taken:
        raise InvalidInput(
            f"another worker is at work on {str(run.place)!r} already",
            hint="It ends by itself when there is nothing left to do; then try again.",
        )
    run.note("Embedding what is stored, reading it for the graph and comparing it; Ctrl-C ends it.")
    try:
        return stay(mind, worker, idle=None)
    finally:
        lock.release()


def end(run: Session, worker: Worker, done: WorkDone, how_to_go_on: str) -> None:
    """The exit code."""
    if worker.stopping:
        run.note(f"Interrupted; nothing is lost. {how_to_go_on}")
        raise typer.Exit(INTERRUPTED)
    if done.given_up:
        raise typer.Exit(_GIVEN_UP)


_RETRY = "`bearinmind work --retry-dead` tries again, once the cause is gone."


def _status_lines(value: WorkStatus, *, at_work: bool, embeds: bool) -> Iterator[RenderableType]:
    if not value.spaces and not value.extractor:
        yield styled(_before_the_first(value, embeds=embeds))
        return
    if value.spaces:
        yield _spaces(value.spaces)
    off = value.meaning_off
    retry_at = minute(value.next_due) if value.last_error and value.waiting else ""
    comparing = value.of_kind(COMPARE)
    to_compare = f"{memory_count(comparing.waiting)} to compare" if comparing.waiting else ""
    given_up = f"{comparing.dead:,} given up" if comparing.dead else ""
    changes = ", ".join(filter(None, (to_compare, given_up))) or "all is compared"
    yield fields(
        [
            ("worker", "at work" if at_work else "not running"),
            ("graph", _graph_line(value) if value.extractor else ""),
            ("changes", changes),
            ("embedding", styled(f"off: {off.reason}" if off else "", NOTICE)),
            ("", styled(off.hint if off else "", NOTICE)),
            ("next attempt", retry_at),
            ("last error", styled(value.last_error or "", NOTICE)),
            ("", styled(_RETRY if value.dead else "", NOTICE)),
        ]
    )


def _before_the_first(value: WorkStatus, *, embeds: bool) -> str:
    """What waits for the first worker, which has yet to queue what is to be embedded and read."""
    counted = many(value.to_compare, "memory waits", "memories wait")
    waiting = f"; {counted}" if value.to_compare else ""
    does = "embeds them" if waiting and embeds else "begins"
    return f"Nothing is embedded yet{waiting}: `bearinmind work` {does}."


def _to_do(value: WorkStatus) -> str:
    """What waits, such as "3 memories to embed, 3 to read for the graph, 3 to compare"."""
    counts = (
        (value.to_embed, "to embed"),
        (value.to_read, "to read for the graph"),
        (value.to_compare, "to compare"),
    )
    [(first, what), *others] = [each for each in counts if each[0]] or counts[:1]
    return ", ".join(
        [f"{memory_count(first)} {what}", *(f"{count:,} {what}" for count, what in others)]
    )


def _done_lines(value: WorkDone, left: WorkStatus) -> Iterator[RenderableType]:
    done = (
        (EMBED, "Embedded {}."),
        (EXTRACT, "Read {} for the graph."),
        (COMPARE, "Compared {} with earlier ones."),
    )
    counts = [(value.by_kind.get(kind, 0), sentence) for kind, sentence in done]
    [(first, sentence), *others] = [each for each in counts if each[0]] or counts[:1]
    sentences = [sentence.format(memory_count(first)), *(x.format(f"{n:,}") for n, x in others)]
    yield styled(" ".join(sentences))
    yield from _trouble(value, left)


def built(value: WorkDone, left: WorkStatus, counts: GraphCounts) -> Iterator[RenderableType]:
    """What was read for the graph, and what it holds now."""
    held = f"{many(counts.concepts, 'concept')}, {many(counts.relations, 'relation')}"
    yield styled(f"Read {memory_count(value.finished)} for the graph: {held}.")
    yield from _trouble(value, left)


def reading_plan(value: ExtractionPlan) -> Iterator[RenderableType]:
    """What reading for the graph would take."""
    place = "texts are sent to its server" if value.leaves_machine else "texts stay here"
    yield styled(f"{memory_count(value.versions)} to read by {value.extractor}; {place}.")
    estimate = value.estimate
    if estimate is None:
        return
    to_ask = estimate.memories - estimate.cached
    yield styled(
        f"{many(estimate.requests, 'request')} for {to_ask:,} of them, "
        f"{estimate.cached:,} are cached: about {estimate.prompt_tokens:,} tokens of prompts and "
        f"{estimate.answer_tokens:,} of answers, {estimate.most_tokens:,} at most."
    )
    if value.budget:
        spent, limit = value.budget
        yield styled(f"{spent:,} of {limit:,} tokens are spent today (llm_daily_tokens).", QUIET)


def _spaces(known_spaces: Sequence[KnownSpace]) -> RenderableType:
    table = headed("", "embedder", "", "embedded>", "waiting>", "given up>")
    for known in known_spaces:
        model, dead = styled(known.space.model, STRONG), BAD if known.dead else ""
        counts = f"{known.embedded:,}", f"{known.waiting:,}", styled(f"{known.dead:,}", dead)
        table.add_row(model, known.state, *counts)
    return table


def _graph_line(value: WorkStatus) -> str:
    reading = value.of_kind(EXTRACT)
    waiting = f"{memory_count(reading.waiting)} to read" if reading.waiting else "all is read"
    dead = f", {reading.dead:,} given up" if reading.dead else ""
    return f"{value.extractor}: {waiting}{dead}"


def _reembedded_lines(value: WorkDone, left: WorkStatus) -> Iterator[RenderableType]:
    if left.active is None:
        yield styled("Semantic recall is off: the `embedder` setting is none.")
        return
    if left.filling is None:
        word = "now answers" if value.by_kind.get(EMBED) else "answers already"
        yield styled(f"{_named(left.active)} {word}: {_counted(left.active)}.")
    else:
        yield styled(f"{_named(left.filling)} is being filled: {_counted(left.filling)}.")
        yield styled(f"{_named(left.active)} answers meanwhile.")
    yield from _trouble(value, left)
    retired = sum(x.embedded for x in left.spaces if x.state == "retired")
    if retired:
        kept = f"{many(retired, 'embedding')} of earlier ones are kept"
        yield styled(f"{kept}; `bearinmind reembed --drop-old` removes them.", QUIET)


def _named(known: KnownSpace) -> str:
    return f"{known.space.model} (space {known.space.key})"


def _counted(known: KnownSpace) -> str:
    waiting = f", {known.waiting:,} to do" if known.waiting else ""
    return f"{many(known.embedded, 'embedding')}{waiting}"


def _trouble(value: WorkDone, left: WorkStatus) -> Iterator[RenderableType]:
    if left.waiting:
        counted = many(left.waiting, "job waits", "jobs wait")
        until = f", the next until {minute(left.next_due)}" if left.next_due else ""
        yield styled(f"{counted}{until}: {_to_do(left)}.", NOTICE)
    if left.meaning_off and left.to_embed:
        yield styled(f"Nothing can be embedded: {left.meaning_off.reason}.", NOTICE)
        yield styled(left.meaning_off.hint, NOTICE)
    if left.dead:
        yield styled(f"{many(left.dead, 'job was', 'jobs were')} given up. {_RETRY}", BAD)
    error = left.last_error or value.last_error
    if (left.waiting or left.dead) and error:
        yield styled(f"Last error: {error}", NOTICE)
