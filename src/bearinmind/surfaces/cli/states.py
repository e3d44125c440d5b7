"""The commands about what is true now: deciding, and how a thing changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind.recall.pipeline import LARGEST_LIMIT
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.session import Session
from bearinmind.surfaces.cli.terminal import (
    ID,
    STRONG,
    grid,
    link_text,
    origins,
    parts,
    shared_by,
    styled,
)
from bearinmind.surfaces.times import span_in_words
from bearinmind.surfaces.verbs.answers import HistoryAnswer
from bearinmind.types import Decider, Outdated, Resolution, Trust

if TYPE_CHECKING:
    from rich.console import RenderableType

_BY = {
    Decider.SCORER: "the scorer",
    Decider.MODEL: "a model",
    Decider.AGENT: "an agent",
    Decider.PERSON: "a person",
}


def resolve(
    run: Session,
    id: options.Id,
    resolution: Annotated[
        Resolution, typer.Argument(metavar="WORD", help=f"One of {', '.join(Resolution)}.")
    ],
    other: Annotated[
        list[str] | None,
        typer.Option(
            "--other", metavar="ID", help="Beside this memory; repeatable. Else all it may replace."
        ),
    ] = None,
    trust: Annotated[
        Trust, typer.Option("--trust", help="Who decides: `user` is a person.")
    ] = Trust.USER,
) -> None:
    """Decide which of two memories holds now."""
    with run.existing() as mind:
        resolved = mind.resolve(id, resolution, other or (), trust=trust)
    run.reply(resolved, lambda: map(link_text, resolved.links))


def history(
    run: Session,
    thing: Annotated[list[str], typer.Argument(metavar="THING", help="What has changed.")],
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=LARGEST_LIMIT, help="Most chains of states.")
    ] = 3,
) -> None:
    """Show how something changed: its states in order."""
    text = " ".join(thing)
    with run.reading(HistoryAnswer(thing=text, chains=(), as_data=())) as mind:
        answer = HistoryAnswer.of(mind, mind.history(text, limit=limit))
    user = mind.scope.user
    run.reply_rows(
        answer, answer.chains, lambda: _history_table(answer, user), "No memory matches."
    )


def _history_table(value: HistoryAnswer, user: str) -> RenderableType:
    """The states of a thing, oldest first, with the span of each."""
    table = grid("-", "")
    for number, chain in enumerate(value.chains):
        if number:
            table.add_row("", "")
        for state in chain:
            memory = state.memory
            span = styled(span_in_words(state.since, state.until), "" if state.until else STRONG)
            table.add_row(span, styled(memory.content))
            facts = [shared_by(memory, user), *origins(memory), _decision(state.outdated)]
            table.add_row("", parts(styled(memory.id, ID), *facts))
    return table


def _decision(outdated: Outdated | None) -> str:
    """By which memory another is outdated, who or what decided that, and how sure it is."""
    if outdated is None:
        return ""
    sure = "" if outdated.probability == 1.0 else f", {outdated.probability:.0%} sure"
    return f"outdated by {outdated.by} (decided by {_BY[outdated.decided_by]}{sure})"
