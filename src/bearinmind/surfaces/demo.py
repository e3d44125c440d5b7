"""A coding agent's memories, a few questions about them, and how each answer came about."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from bearinmind.app import Mind
from bearinmind.app.requests import QueryFields
from bearinmind.config import Settings
from bearinmind.errors import InvalidInput
from bearinmind.recall import paths
from bearinmind.surfaces import machine, progress, render, render_recall, render_trace
from bearinmind.surfaces.demo_memories import LINKS, QUESTIONS, REMEMBERED, Question
from bearinmind.types import Link, MemoryId


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """The demo, for a machine and for a person."""

    data: machine.Data
    lines: list[RenderableType]


def perform(keep: str | None) -> Shown:
    """Store, link, embed, ask and explain, in a file of its own."""
    now = datetime.now(UTC)
    with _place(keep) as path, Mind.build(Settings(store=path, worker="off")) as app:
        ids, model = fill(app, now)
        data: machine.Data = {
            "store": keep,
            "memories": len(ids),
            "embedded_by": model,
            "questions": [],
        }
        lines: list[RenderableType] = [_opening(len(ids), model)]
        for question in QUESTIONS:
            answer, shown = _ask(app, question, ids, now)
            data["questions"].append({"query": question.text, **answer})
            lines += [Text(""), *shown]
    return Shown(data=data, lines=[*lines, Text(""), _closing(keep)])


def fill(app: Mind, now: datetime) -> tuple[dict[str, MemoryId], str]:
    """Store what the agent of the demo remembers; the ids by name, and which model embedded it."""
    ids = _remember(app, now)
    return ids, _embed(app, len(ids))


@contextmanager
def _place(keep: str | None) -> Iterator[Path]:
    """Where the demo's store is: a file that goes away again, unless it is to be kept."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="bearinmind-demo-") as folder:
            yield Path(folder) / "memories.db"
        return
    path = Path(keep)
    if path.exists():
        raise InvalidInput(f"{keep!r} exists already", hint="Give the path of a new file.")
    yield path


def _remember(app: Mind, now: datetime) -> dict[str, MemoryId]:
    ids: dict[str, MemoryId] = {}
    for item in REMEMBERED:
        outcome = app.store(
            item.content,
            category=item.category,
            tags=item.tags.split(),
            importance=item.importance,
            created_at=now - timedelta(days=item.days_ago),
            agent="demo",
            project=item.project,
            trust=item.trust,
        )
        ids[item.name] = outcome.memory.id
    for source, kind, target, days_ago in LINKS:
        made = now - timedelta(days=days_ago)
        app.transfer.add_link(
            Link(source=ids[source], target=ids[target], kind=kind, created_at=made)
        )
    return ids


def _embed(app: Mind, count: int) -> str:
    """Have the memories embedded and read, as a worker does in the background; by which model.

    Raises:
        EmbedderFailure: the encoder that comes with Bear in Mind does not work.
    """
    with progress.counting("embedding and reading", 2 * count, "memories") as advance:
        status = app.work.wait(progress=advance)
    return status.active.space.model if status.active else ""


def _ask(
    app: Mind, question: Question, ids: dict[str, MemoryId], now: datetime
) -> tuple[machine.Data, list[RenderableType]]:
    """The answer to a question as data and as lines."""
    fields: QueryFields = {"limit": question.limit}
    options = ["--limit", str(question.limit)]
    if question.days_ago:
        moment = now - timedelta(days=question.days_ago)
        fields["as_of"] = moment
        options += ["--as-of", f"{question.days_ago}d"]
    if question.why_not:
        options += ["--why-not", ids[question.why_not]]
    lines: list[RenderableType] = [
        Text(question.teaches, render.STRONG),
        Text(
            f"$ bearinmind recall {shlex.quote(question.text)} {shlex.join(options)}", render.GOOD
        ),
    ]
    if question.why_not:
        reason = app.why_not(question.text, ids[question.why_not], **fields)
        return {"why_not": machine.why_not(reason)}, [*lines, render_trace.why_not(reason)]
    answer = app.recall(question.text, **fields)
    labels = app.graph.labels(paths.concepts(hit.path for hit in answer.hits))
    lines += [render_recall.hits(answer.hits, labels), render_trace.brief(answer)]
    return machine.answer(answer, with_trace=True), lines


def _opening(count: int, model: str) -> Text:
    return Text(
        f"A coding agent has remembered {count} things over half a year. They were just embedded "
        f"by {model}, which comes with Bear in Mind, and are now found by their words and by their "
        "meaning: no key, no network."
    )


def _closing(keep: str | None) -> Text:
    lines = Text("Now with your own memories:\n", render.STRONG)
    examples = [
        'bearinmind store "The staging database is db-stage-3." --tag infra',
        'bearinmind recall "where is staging?" --trace',
        "bearinmind --help",
    ]
    if keep:
        examples.insert(0, f"bearinmind --store {shlex.quote(keep)} list")
    return lines.append("\n".join(f"$ {line}" for line in examples), render.GOOD)
