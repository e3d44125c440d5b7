"""After a turn, and before a compaction: learns from what was said, and keeps what mattered."""

from __future__ import annotations

import json
import os
import time

from . import memory_text, session_start
from .server_call import NoAnswer, Server
from .sessions import Session
from .settings import project_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .settings import HookSettings

AGENT = "claude-code"
ROLES = ("user", "assistant")
SECONDS = 30.0  #: that the process in the background may take
_BETWEEN = 0.1  # seconds between two looks whether the server listens
_QUIET = 0.6  # seconds without a new line, after which a transcript has all of a turn
_MOST_WAIT = 5.0  # seconds for that
_NEW_BYTES = 2_000_000  # of a transcript, to learn from; whole prompts are in it too
_ALL_BYTES = 4_000_000  # of a transcript, to see what was used
_LONGEST_TEXT = 8_000  # characters of a message
_MOST_MESSAGES = 40
_MOST_KEPT = 20
_LEAST_WORDS = 3  # of a memory that the agent repeats if it has used the memory
_NOT_CONVERSATION = ("isMeta", "isSidechain", "isCompactSummary")  # flags of other entries
_REMINDER, _REMINDER_END = "<system-reminder>", "</system-reminder>"
# What a client writes in the name of the user begins like this.
_FROM_CLIENT = ("<command-", "<local-command-", "<bash-", "Caveat: The messages below")
_STORE_TOOL = "__memory_store"


def learn(settings: HookSettings, payload: dict[str, Any]) -> str:
    """Have the server learn from what was said since the last time; a note for the log.

    What could not be sent is sent the next time.
    """
    session = Session(settings, payload["session_id"])
    session.take_turn()
    _wait_until_written(payload["transcript_path"])
    transcript = Transcript(payload["transcript_path"], session.offset(), _NEW_BYTES)
    session.add_stored(transcript.stored)
    messages = [
        {"role": each.role, "text": each.text[:_LONGEST_TEXT]} for each in transcript.messages
    ]
    if settings.learns and any(each["role"] == "user" for each in messages):
        request = {
            "messages": messages[-_MOST_MESSAGES:],
            "session": payload["session_id"],
            "agent": AGENT,
            "project": project_of(str(payload.get("cwd") or "")),
        }
        session.add_stored(_stored_ids(_sent(settings, request)))
    elif messages and settings.learns:
        return "waits for the user"
    # The user answers to the last message of the agent: it is read again the next time.
    last = transcript.messages[-1] if messages else None
    session.set_offset(last.at if last and last.role == "assistant" else transcript.end)
    return f"learned from {len(messages)}" if settings.learns else "does not learn"


def _wait_until_written(path: str) -> None:
    """Wait for the last lines of a turn: Claude Code calls its hooks before it writes them."""
    until = time.monotonic() + _MOST_WAIT
    size, since = -1, time.monotonic()
    while time.monotonic() < min(until, since + _QUIET):
        now = os.path.getsize(path) if os.path.exists(path) else 0
        if now != size:
            size, since = now, time.monotonic()
        time.sleep(_BETWEEN)


def _sent(settings: HookSettings, request: dict[str, Any]) -> Any:  # noqa: ANN401  any JSON
    """The answer of the server to a turn.

    The turn of a short session is over before the server has started. A server that has ended,
    since it was idle for long, is started again: for this, and for the next prompt.
    """
    until = time.monotonic() + SECONDS
    while True:
        try:
            return Server(settings, until).post("/api/v1/learn", request)
        except NoAnswer as exc:
            if not (settings.serve and exc.nobody_listens):
                raise
        session_start.start_server(settings)
        time.sleep(_BETWEEN)


def keep(settings: HookSettings, payload: dict[str, Any]) -> str:
    """Keep the ids of what mattered to a session; a note for the log.

    That is what was stored in it, and what it was given and then used: the agent later said words
    of the memory that the prompt does not have.
    """
    session = Session(settings, payload["session_id"])
    transcript = Transcript(payload["transcript_path"], 0, _ALL_BYTES)
    used = [each["id"] for each in session.injected() if _was_used(each, transcript)]
    # The newest first: they are given until the budget is used up.
    ids = [*dict.fromkeys(reversed([*used, *session.stored(), *transcript.stored]))][:_MOST_KEPT]
    session.keep(ids)
    return f"kept {len(ids)}"


def before_compaction(settings: HookSettings, payload: dict[str, Any]) -> str:
    """Keep what mattered, and learn from the rest of what was said."""
    kept = keep(settings, payload)
    try:
        return f"{kept}, {learn(settings, payload)}"
    except NoAnswer as exc:
        return f"{kept}, not learned: {exc}"


def is_due(payload: dict[str, Any]) -> bool:
    """Whether there is something to do; a stop that a hook has caused is left out."""
    texts = [payload.get("session_id"), payload.get("transcript_path")]
    is_complete = all(isinstance(text, str) and text for text in texts)
    return is_complete and not payload.get("stop_hook_active")


def _was_used(memory: dict[str, Any], transcript: Transcript) -> bool:
    """Whether the agent said distinctive words of a memory after it was given."""
    words = {*memory.get("words", ())}
    later = [
        each.text
        for each in transcript.messages
        if each.role == "assistant" and each.at >= memory["length"]
    ]
    repeated = words & memory_text.words(" ".join(later))
    return bool(words) and len(repeated) >= min(_LEAST_WORDS, len(words))


def _stored_ids(answer: object) -> list[str]:
    """The ids of what was learned and stored."""
    stored = answer.get("stored") if isinstance(answer, dict) else None
    entries = stored if isinstance(stored, list) else []
    ids = [each.get("id") if isinstance(each, dict) else each for each in entries]
    return [each for each in ids if isinstance(each, str)]


class Message:
    """What the user or the agent said, and where its line begins in the file."""

    __slots__ = ("at", "role", "text")

    def __init__(self, role: str, text: str, at: int) -> None:
        self.role = role
        self.text = text
        self.at = at


class Transcript:
    """A part of a transcript: from a byte to its end, or the last bytes of that."""

    def __init__(self, path: str, start: int, most: int) -> None:
        self.messages: list[Message] = []
        self.stored: list[str] = []  #: ids of memories that the agent stored, oldest first
        self.end = start  #: how many bytes of the file were read
        self._store_calls: set[str] = set()  # their ids
        if not os.path.isfile(path):
            return
        with open(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            self.end = start if start <= size else 0  # a shorter file is a new one
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
                self._add(line, at)

    def _add(self, line: bytes, at: int) -> None:
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(entry, dict) or entry.get("type") not in ROLES:
            return
        message = entry.get("message")
        if not isinstance(message, dict) or any(entry.get(name) for name in _NOT_CONVERSATION):
            return
        text = "\n\n".join(filter(None, map(_cleaned, _texts(message.get("content")))))
        if text:
            self.messages.append(Message(entry["type"], text, at))
        self._note_calls(message.get("content"))

    def _note_calls(self, content: object) -> None:
        """Note what the agent stored: a call of the tool, and later what it returned."""
        for block in content if isinstance(content, list) else []:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use" and str(block.get("name")).endswith(_STORE_TOOL):
                self._store_calls.add(str(block.get("id")))
            if block.get("type") == "tool_result" and block.get("tool_use_id") in self._store_calls:
                self.stored += filter(None, map(stored_id, _texts(block.get("content"))))


def _texts(content: object) -> Iterator[str]:
    """The texts of a message or of a result, which is a text, or blocks of which some are texts."""
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and block.get("type") == "text":
            text: Any = block.get("text")
            if isinstance(text, str):
                yield text


def _cleaned(text: str) -> str:
    """A text without what was put into it for the model, such as our own memories."""
    while _REMINDER in text:
        before, _, rest = text.partition(_REMINDER)
        text = before + rest.partition(_REMINDER_END)[2]
    text = text.strip()
    return "" if text.startswith(_FROM_CLIENT) else text


def stored_id(text: str) -> str:
    """The id in what `memory_store` returns: a sentence, before what it may replace, or JSON."""
    try:
        result = json.loads(text)
        memory = result.get("memory", result) if isinstance(result, dict) else None
        id_ = memory.get("id") if isinstance(memory, dict) else None
    except ValueError:
        line = text.partition("\n")[0]
        id_ = line.partition(": ")[2].partition(",")[0].strip() if "tored: " in line else ""
    is_id = isinstance(id_, str) and id_.replace("-", "").isalnum()
    return str(id_) if is_id else ""
