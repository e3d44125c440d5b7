"""After a turn, and before a compaction: what was said is learned from, what mattered is kept."""

from __future__ import annotations

import json
import os
import time

from . import memory_text, session_start
from .server_call import Server, Unanswered
from .sessions import Session
from .settings import project_of

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .settings import HookSettings


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


def learn(place: HookSettings, said: dict[str, Any]) -> str:
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


def _asked_to_learn(place: HookSettings, request: dict[str, Any]) -> Any:  # noqa: ANN401  what JSON holds
    """What the server answers. The turn of a short session is over before the server has started.

    One that has ended, since nobody asked it for long, is started: for this, and the next prompt.
    """
    until = time.monotonic() + SECONDS
    while True:
        try:
            return Server(place, until).post("/api/v1/learn", request)
        except Unanswered as exc:
            if not (place.serve and exc.nobody_listens):
                raise
        session_start.start_server(place)
        time.sleep(_BETWEEN)


def keep(place: HookSettings, said: dict[str, Any]) -> str:
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


def compacting(place: HookSettings, said: dict[str, Any]) -> str:
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
    found = words & memory_text.words(" ".join(later))
    return bool(words) and len(found) >= min(_LEAST_WORDS, len(words))


def _ids(answer: object) -> list[str]:
    """The ids of what was learned and stored."""
    stored = answer.get("stored") if isinstance(answer, dict) else None
    found = stored if isinstance(stored, list) else []
    ids = [each.get("id") if isinstance(each, dict) else each for each in found]
    return [each for each in ids if isinstance(each, str)]


ROLES = ("user", "assistant")
_OTHERS = ("isMeta", "isSidechain", "isCompactSummary")  # not what the user and the agent say
_REMINDER, _REMINDED = "<system-reminder>", "</system-reminder>"
# What a client writes in the name of the user begins like this.
_NOT_SAID = ("<command-", "<local-command-", "<bash-", "Caveat: The messages below")
_STORING = "__memory_store"


class Said:
    """What was said: by whom, and where in the file it stands."""

    __slots__ = ("at", "role", "text")

    def __init__(self, role: str, text: str, at: int) -> None:
        self.role = role
        self.text = text
        self.at = at


class Read:
    """A part of a transcript."""

    def __init__(self, path: str, start: int, most: int) -> None:
        self.said: list[Said] = []
        self.stored: list[str] = []  #: ids of memories that the agent stored, oldest first
        self.end = start  #: up to where it was read
        self._storing: set[str] = set()  # ids of calls
        if not os.path.isfile(path):
            return
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            self.end = start if start <= size else 0  # a shorter one is another one
            if size - self.end > most:
                file.seek(size - most)
                file.readline()  # the rest of a line
                self.end = file.tell()
            else:
                file.seek(self.end)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is being written
                at, self.end = self.end, file.tell()
                self._take(line, at)

    def _take(self, line: bytes, at: int) -> None:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(entry, dict) or entry.get("type") not in ROLES:
            return
        message = entry.get("message")
        if not isinstance(message, dict) or any(entry.get(name) for name in _OTHERS):
            return
        text = "\n\n".join(filter(None, map(_cleaned, _texts(message.get("content")))))
        if text:
            self.said.append(Said(entry["type"], text, at))
        self._note_calls(message.get("content"))

    def _note_calls(self, content: object) -> None:
        """Note what the agent stored: a call of a tool, and later what it returned."""
        for block in content if isinstance(content, list) else []:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use" and str(block.get("name")).endswith(_STORING):
                self._storing.add(str(block.get("id")))
            if block.get("type") == "tool_result" and block.get("tool_use_id") in self._storing:
                self.stored += filter(None, map(_stored_id, _texts(block.get("content"))))


def _texts(content: object) -> Iterator[str]:
    """The texts of a message or of a result; a message is a text, or blocks of which some are."""
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "text":
            text: Any = block.get("text")
            if isinstance(text, str):
                yield text


def _cleaned(text: str) -> str:
    """A text without what was put into it for the model, our own memories among it."""
    while _REMINDER in text:
        before, _, rest = text.partition(_REMINDER)
        text = before + rest.partition(_REMINDED)[2]
    text = text.strip()
    return "" if text.startswith(_NOT_SAID) else text


def _stored_id(text: str) -> str:
    """The id in what `memory_store` returns: as a sentence, or as JSON."""
    try:
        found = json.loads(text)
        id_ = found.get("id") if isinstance(found, dict) else None
    except ValueError:
        word = text.partition(": ")[2].partition(",")[0].strip() if "tored: " in text else ""
        id_ = word
    good = isinstance(id_, str) and id_.replace("-", "").isalnum()
    return str(id_) if good else ""
