"""What was learned, as people read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from bearinmind.learn.learner import LearningStatus
from bearinmind.learn.turns import Learned, Taken
from bearinmind.surfaces.render import QUIET, data


def learned(answer: Learned) -> Iterator[Text]:
    """What became of everything that looked worth keeping."""
    would = answer.dry_run
    yield from _taken("Would store" if would else "Stored", answer.stored)
    yield from _taken("Would propose" if would else "Proposed", answer.proposed)
    yield from _taken("Known", answer.known)
    for refused in answer.refused:
        yield Text.assemble((f"Not kept, {refused.reason}  ", QUIET), data(refused.said, QUIET))
    if not (answer.stored or answer.proposed or answer.known or answer.refused or answer.notes):
        yield Text("Nothing in it is worth keeping.")
    if answer.proposed and not would:
        yield Text("`bearinmind curate inbox` shows what is proposed.", style=QUIET)
    for note in answer.notes:
        yield data(note, QUIET)


def status(found: LearningStatus) -> Iterator[Text]:
    """How learning is set up."""
    if found.mode == "off":
        yield Text("learn = off: nothing is read, and no token is spent")
    elif found.model is None:
        yield Text(f"learn = {found.mode}: rules alone read turns, and no token is spent")
    else:
        place = "turns are sent to its server" if found.leaves_machine else "turns stay here"
        yield Text(f"learn = {found.mode}: rules and {found.model} read turns; {place}")
        yield Text(f"{found.spent:,} of {found.limit:,} tokens are spent today")


def _taken(what: str, every: Sequence[Taken]) -> Iterator[Text]:
    for each in every:
        yield Text.assemble(f"{what} {each.id}  " if each.id else f"{what}  ", data(each.text))
        yield Text.assemble(
            ("  " + " \u00b7 ".join(filter(None, (each.lesson, each.category, each.reason))), QUIET)
        )
