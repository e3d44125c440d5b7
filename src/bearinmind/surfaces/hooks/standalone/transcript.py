"""Reads the transcript that an agent keeps of a session: lines of JSON, one for each message."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

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
