"""Reads what was said from a file: the transcript of a session, or plain text of a user."""

from __future__ import annotations

import json
from pathlib import Path

from bearinmind.errors import InvalidInput
from bearinmind.learn.turns import Message, Role
from bearinmind.surfaces.hooks.standalone.transcript import Read

_MOST_BYTES = 64 * 1024 * 1024  # of a transcript: its end


def messages_of(file: Path) -> list[Message]:
    """What was said, oldest first; plain text is one message of the user.

    Raises:
        InvalidInput: it cannot be read, or is no text.
    """
    try:
        with file.open("rb") as opened:
            is_transcript = _is_transcript(opened.readline())
        if not is_transcript:
            return from_text(file.read_bytes())
    except OSError as exc:
        raise InvalidInput(
            f"{str(file)!r} cannot be read: {exc.strerror or exc}",
            hint="Give the transcript of a session, a text, or `-` for standard input.",
        ) from exc
    said = Read(str(file), 0, _MOST_BYTES).said
    return [Message(role=Role(each.role), text=each.text) for each in said]


def from_text(content: bytes) -> list[Message]:
    """A text as the one message of a user."""
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
