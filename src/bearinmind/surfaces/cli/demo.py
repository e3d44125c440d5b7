"""The command that shows on an example what recalling is like."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.app.requests import QueryFields
from bearinmind.config import Settings
from bearinmind.learn.model import Message, Role
from bearinmind.recall import graph_leg
from bearinmind.store.new_file import refuse_existing
from bearinmind.surfaces.cli.options import option
from bearinmind.surfaces.cli.recall import answer_table, trace_line, why_not_table
from bearinmind.surfaces.cli.terminal import GOOD, STRONG, Session, counting, styled
from bearinmind.surfaces.verbs.verb import RecallAnswer
from bearinmind.types import Link, LinkKind, MemoryId, Resolution, Trust

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


_CHANGES = (  # days ago, in which session, what
    (158, "first build", "CI runs on Jenkins at ci.internal."),
    (62, "move of the CI", "CI runs on GitHub Actions."),
    (61, "move of the CI", "The runners of the CI are two machines in eu-west-1."),
    (30, "slow builds", "The nightly build takes 40 minutes."),
    (3, "slow builds", "The nightly build takes 12 minutes."),
)
_TURN = "From now on, write the release notes before the tag. Which tests are flaky?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """A memory of the demo."""

    name: str
    days_ago: float
    category: str
    content: str
    tags: str = ""
    importance: float = 0.5
    project: str | None = None
    trust: Trust = Trust.AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedLink:
    """A link of the demo, between memories by their names."""

    source: str
    kind: LinkKind
    target: str
    days_ago: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question of the demo, and what its answer teaches."""

    teaches: str
    text: str
    limit: int = 2
    days_ago: int = 0
    why_not: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What the agent of the demo remembers, and what it is asked."""

    memories: tuple[Remembered, ...]
    links: tuple[NamedLink, ...]
    questions: tuple[Question, ...]


def script() -> Script:
    """The memories, links and questions of `demo.json`."""
    return codec.from_json(Script, files(__package__).joinpath("demo.json").read_bytes())


def demo(
    run: Session,
    keep: str | None = option("--keep", "Keep the demo's store here.", metavar="PATH"),
) -> None:
    """Show on an example what recalling is like."""
    data, lines = _perform(keep)
    run.reply(data, lambda: lines)


def _perform(keep: str | None) -> tuple[dict[str, Any], list[RenderableType]]:
    """Store, link, embed, ask and explain, in a file of its own: as data and as lines."""
    now = datetime.now(UTC)
    with _place(keep) as path, Mind.build(Settings(store=path, worker="off")) as mind:
        ids, model = fill(mind, now)
        data: dict[str, Any] = {
            "store": keep,
            "memories": len(ids),
            "embedded_by": model,
            "questions": [],
        }
        lines: list[RenderableType] = [_opening(len(ids), model)]
        for question in script().questions:
            answer, shown = _ask(mind, question, ids, now)
            data["questions"].append({"query": question.text, **answer})
            lines += [styled(""), *shown]
    return data, [*lines, styled(""), _closing(keep)]


def fill(mind: Mind, now: datetime) -> tuple[dict[str, MemoryId], str]:
    """Store what the agent of the demo remembers; the ids by name, and which model embedded it."""
    ids = _remember(mind, now)
    with counting("embedding and reading", 2 * len(ids), "memories") as advance:
        status = mind.work.wait(progress=advance)
    return ids, status.active.space.model if status.active else ""


def add_changes(mind: Mind, now: datetime) -> None:
    """What the page shows beside the answers: a thing that changed, sessions, decisions to make."""
    for days, session, content in _CHANGES:
        mind.store(
            content,
            created_at=now - timedelta(days=days),
            tags=["ci"],
            agent="demo",
            session=session,
            project="orders",
        )
    mind.work.wait()
    jenkins, actions = (_named(mind, word) for word in ("Jenkins", "GitHub"))
    mind.resolve(actions, Resolution.NEWER, jenkins, trust=Trust.USER)
    mind.curation.review(propose=True)
    build = {_named(mind, "40 minutes"), _named(mind, "12 minutes")}
    for proposal in mind.curation.proposals():
        if not build.issuperset(proposal.memories):
            mind.curation.dismiss(proposal.id)
    mind.learn([Message(role=Role.USER, text=_TURN)], agent="demo", session="release notes")


def _named(mind: Mind, words: str) -> MemoryId:
    """The memory of `add_changes` that has these words."""
    return next(each.id for each in mind.list(tags=["ci"]) if words in each.content)


@contextmanager
def _place(keep: str | None) -> Iterator[Path]:
    """Where the demo's store is: a file that goes away again, unless it is to be kept."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="bearinmind-demo-") as folder:
            yield Path(folder) / "memories.db"
        return
    path = Path(keep)
    refuse_existing(path)
    yield path


def _remember(mind: Mind, now: datetime) -> dict[str, MemoryId]:
    ids: dict[str, MemoryId] = {}
    performed = script()
    for item in performed.memories:
        outcome = mind.store(
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
    for link in performed.links:
        mind.transfer.add_link(
            Link(
                source=ids[link.source],
                target=ids[link.target],
                kind=link.kind,
                created_at=now - timedelta(days=link.days_ago),
            )
        )
    return ids


def _ask(
    mind: Mind, question: Question, ids: dict[str, MemoryId], now: datetime
) -> tuple[dict[str, Any], list[RenderableType]]:
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
        styled(question.teaches, STRONG),
        styled(f"$ bearinmind recall {shlex.quote(question.text)} {shlex.join(options)}", GOOD),
    ]
    if question.why_not:
        reason = mind.why_not(question.text, ids[question.why_not], **fields)
        return {"why_not": reason}, [*lines, why_not_table(reason)]
    answer = mind.recall(question.text, **fields)
    labels = mind.graph.labels(graph_leg.concepts(hit.path for hit in answer.hits))
    lines += [answer_table(answer, labels), trace_line(answer)]
    return codec.to_data(RecallAnswer.recalled(answer, with_trace=True)), lines


def _opening(count: int, model: str) -> Text:
    return styled(
        f"A coding agent has remembered {count} things over half a year. They were just embedded "
        f"by {model}, which comes with Bear in Mind, and are now found by their words and by their "
        "meaning: no key, no network."
    )


def _closing(keep: str | None) -> Text:
    lines = styled("Now with your own memories:\n", STRONG)
    examples = [
        'bearinmind store "The staging database is db-stage-3." --tag infra',
        'bearinmind recall "where is staging?" --trace',
        "bearinmind --help",
    ]
    if keep:
        examples.insert(0, f"bearinmind --store {shlex.quote(keep)} list")
    return lines.append("\n".join(f"$ {line}" for line in examples), GOOD)
