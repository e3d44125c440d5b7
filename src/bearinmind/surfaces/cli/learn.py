"""The commands around a session of an agent: what it teaches, and what it begins with."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bearinmind.errors import EmptyContent, InvalidInput
from bearinmind.learn.learner import LearningStatus
from bearinmind.learn.model import Learned, LearnedItem, Message, Role
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.memories import memory_list
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import QUIET, Session, parts, styled
from bearinmind.surfaces.hooks.standalone.turns import Transcript
from bearinmind.surfaces.lines import STANDARD, translated
from bearinmind.surfaces.verbs.verb import BriefAnswer

if TYPE_CHECKING:
    from rich.text import Text

_HOW_TO_GIVE = "Give a file, or `-` to read standard input; `--status` needs neither."


def learn(
    run: Session,
    file: Path | None = argument(
        "FILE",
        "The transcript of a session (JSON lines), or a text; `-` reads standard input.",
        None,
    ),
    agent: str | None = options.AGENT,
    session: str | None = options.SESSION,
    project: str | None = options.PROJECT,
    dry_run: bool = flag("--dry-run", "Keep nothing: only say what would be learned."),
    status: bool = flag("--status", "Show how learning is set up and what it cost today."),
) -> None:
    """Learn from what was said in a session."""
    if status:
        with run.open() as mind:
            learning = mind.curation.learning_status()
        run.reply(learning._asdict(), lambda: _status_lines(learning))
        return
    if file is None:
        raise EmptyContent("no file was given", hint=_HOW_TO_GIVE)
    piped = str(file) == STANDARD
    messages = _message_of(sys.stdin.buffer.read()) if piped else _messages_in(file)
    with run.open() as mind:
        learned = mind.learn(
            messages, agent=agent, session=session, project=project, dry_run=dry_run
        )
    if learned.stored and not dry_run:
        run.start_worker()
    run.reply(learned, lambda: _learned_lines(learned))


def brief(
    run: Session,
    project: str | None = option("--project", "The project that the session is about."),
    session: str | None = option("--session", "The session that begins."),
    query: str | None = option("--query", "What the session is about, if that is known."),
    limit: int = option("--limit", "Most memories.", 10, min=1, max=1_000),
    budget_bytes: int = option(
        "--budget-bytes", "Most bytes of them.", 4_000, min=1, max=1_000_000
    ),
) -> None:
    """Show what a session should begin with."""
    with run.reading(BriefAnswer(memories=(), as_data=())) as mind:
        memories = mind.brief(
            project=project, session=session, query=query, limit=limit, budget_bytes=budget_bytes
        )
        states = mind.states(memories)
        answer = BriefAnswer.of(mind, memories)
    run.reply(answer, lambda: [memory_list(memories, states)])


def _learned_lines(answer: Learned) -> Iterator[Text]:
    would = answer.dry_run
    yield from _taken("Would store" if would else "Stored", answer.stored)
    yield from _taken("Would propose" if would else "Proposed", answer.proposed)
    yield from _taken("Known", answer.known)
    for refused in answer.refused:
        yield styled(f"Not kept, {refused.reason}  {refused.said}", QUIET)
    if not (answer.stored or answer.proposed or answer.known or answer.refused or answer.notes):
        yield styled("Nothing in it is worth keeping.")
    if answer.proposed and not would:
        yield styled("`bearinmind curate inbox` shows what is proposed.", QUIET)
    for note in answer.notes:
        yield styled(note, QUIET)


def _status_lines(status: LearningStatus) -> Iterator[Text]:
    if status.mode == "off":
        yield styled("learn = off: nothing is read, and no token is spent")
    elif status.model is None:
        yield styled(f"learn = {status.mode}: rules alone read turns, and no token is spent")
    else:
        place = "turns are sent to its server" if status.leaves_machine else "turns stay here"
        yield styled(f"learn = {status.mode}: rules and {status.model} read turns; {place}")
        yield styled(f"{status.spent:,} of {status.limit:,} tokens are spent today")


def _taken(what: str, every: Sequence[LearnedItem]) -> Iterator[Text]:
    for each in every:
        yield styled(f"{what} {each.id}  {each.text}" if each.id else f"{what}  {each.text}")
        yield styled("  ").append_text(parts(each.lesson or "", each.category, each.reason))


_MOST_BYTES = 64 * 1024 * 1024  # of a transcript: its end


def _messages_in(file: Path) -> list[Message]:
    """What was said, oldest first; plain text is one message of the user."""
    with translated(str(file)):
        with file.open("rb") as opened:
            is_transcript = _is_transcript(opened.readline())
        if not is_transcript:
            return _message_of(file.read_bytes())
    turns = Transcript(str(file), 0, _MOST_BYTES).messages
    return [Message(role=Role(each.role), text=each.text) for each in turns]


def _message_of(content: bytes) -> list[Message]:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise InvalidInput(
            f"this is no text in UTF-8: byte {exc.start} is {content[exc.start]:#04x}",
            hint="Give the transcript of a session as JSON lines, or plain text.",
        ) from None
    return [Message(role=Role.USER, text=text)] if text.strip() else []


def _is_transcript(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False
