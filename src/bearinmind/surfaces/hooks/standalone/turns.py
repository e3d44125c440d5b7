"""After a turn, and before a compaction: what was said is learned from, what mattered is kept."""

from __future__ import annotations

import os
import time

from . import giving, starting
from .asking import Asking, Unanswered
from .place import project_of
from .sessions import Session
from .transcript import Read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .place import Place

AGENT = "claude-code"
SECONDS = 30.0  #: that the process behind the hook may take
_BETWEEN = 0.1  # seconds between two looks whether it listens
_QUIET = 0.6  # seconds without a new line, after which a transcript has all of a turn
_MOST_WAIT = 5.0  # seconds for that
_NEW_BYTES = 2_000_000  # of a transcript, to learn from; whole prompts are in it too
_ALL_BYTES = 4_000_000  # of a transcript, to see what was used
_LONGEST_TEXT = 8_000  # characters of a message
_MOST_MESSAGES = 40
_MOST_KEPT = 20
_LEAST_WORDS = 3  # of a memory, that somebody says who has used it


def learn(place: Place, said: dict[str, Any]) -> str:
    """Have the server learn from what was said since the last time; a note for the log.

    What could not be sent is sent the next time.
    """
    session = Session(place, said["session_id"])
    session.take_turn()
    _wait_until_written(said["transcript_path"])
    read = Read(said["transcript_path"], session.offset(), _NEW_BYTES)
    session.add_stored(read.stored)
    messages = [{"role": each.role, "text": each.text[:_LONGEST_TEXT]} for each in read.said]
    if place.learns and any(each["role"] == "user" for each in messages):
        request = {
            "messages": messages[-_MOST_MESSAGES:],
            "session": said["session_id"],
            "agent": AGENT,
            "project": project_of(str(said.get("cwd") or "")),
        }
        session.add_stored(_ids(_asked_to_learn(place, request)))
    elif messages and place.learns:
        return "waits for the user"
    session.set_offset(_next_offset(read))
    return f"learned from {len(messages)}" if place.learns else "does not learn"


def _wait_until_written(path: str) -> None:
    """Claude Code says that a turn is over before its last lines are in the transcript."""
    until = time.monotonic() + _MOST_WAIT
    size, since = -1, time.monotonic()
    while time.monotonic() < min(until, since + _QUIET):
        now = os.path.getsize(path) if os.path.exists(path) else 0
        if now != size:
            size, since = now, time.monotonic()
        time.sleep(_BETWEEN)


def _asked_to_learn(place: Place, request: dict[str, Any]) -> Any:  # noqa: ANN401  what JSON holds
    """What the server answers. The turn of a short session is over before the server has started.

    One that has ended, since nobody asked it for long, is started: for this, and the next prompt.
    """
    until = time.monotonic() + SECONDS
    while True:
        try:
            return Asking(place, until).post("/api/v1/learn", request)
        except Unanswered as exc:
            if not (place.serve and exc.nobody_listens):
                raise
        starting.start_server(place)
        time.sleep(_BETWEEN)


def keep(place: Place, said: dict[str, Any]) -> str:
    """Keep the ids of what mattered to a session; a note for the log.

    That is what was stored in it, and what it was given and then used: words of it, which the
    prompt had not, are in what the agent said later.
    """
    session = Session(place, said["session_id"])
    read = Read(said["transcript_path"], 0, _ALL_BYTES)
    used = [each["id"] for each in session.given() if _was_used(each, read)]
    # The newest first: they are given until the budget is used up.
    mattered = [*dict.fromkeys(reversed([*used, *session.stored(), *read.stored]))][:_MOST_KEPT]
    session.keep(mattered)
    return f"kept {len(mattered)}"


def compacting(place: Place, said: dict[str, Any]) -> str:
    """Keep what mattered, and learn from the rest of what was said."""
    kept = keep(place, said)
    try:
        return f"{kept}, {learn(place, said)}"
    except Unanswered as exc:
        return f"{kept}, not learned: {exc}"


def is_due(said: dict[str, Any]) -> bool:
    """Whether there is something to do: a stop that a hook has caused is none."""
    texts = [said.get("session_id"), said.get("transcript_path")]
    return all(isinstance(text, str) and text for text in texts) and not said.get(
        "stop_hook_active"
    )


def _next_offset(read: Read) -> int:
    """From where to read the next time: what the agent said last is what the user answers to."""
    last = read.said[-1] if read.said else None
    return last.at if last and last.role == "assistant" else read.end


def _was_used(given: dict[str, Any], read: Read) -> bool:
    words = {*given.get("words", ())}
    later = [
        each.text for each in read.said if each.role == "assistant" and each.at >= given["length"]
    ]
    found = words & giving.words(" ".join(later))
    return bool(words) and len(found) >= min(_LEAST_WORDS, len(words))


def _ids(answer: object) -> list[str]:
    """The ids of what was learned and stored."""
    stored = answer.get("stored") if isinstance(answer, dict) else None
    found = stored if isinstance(stored, list) else []
    ids = [each.get("id") if isinstance(each, dict) else each for each in found]
    return [each for each in ids if isinstance(each, str)]
