"""Advice in the words of an agent: it has tools, and neither a shell nor this repository.

Advice is written once, for people at a command line. Here every command in it becomes the tool that
does the same. A clause that still names a command, an option, a file or a variable is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from bearinmind.surfaces.verbs.table import VERBS

TELL_THE_USER = "No tool does this: tell the user."

_TOOLS: Mapping[str, str] = {
    verb.command: verb.tool
    for verb in reversed(VERBS)  # of two verbs of a command the first counts
    if verb.tool_text and not verb.tool_text.extra
}
_CLAUSE_END = re.compile(r"(?<=[.;])\s+|,\s+(?=`)")
_COMMAND = re.compile(r"`bearinmind ([^`]+)`|\bbearinmind ([a-z][a-z ]+\w*)")
_SHELL = re.compile(
    r"\bbearinmind [a-z]|\bBEARINMIND_|--[a-z]|\bpip\b|\bchmod\b|\bdocs/|"
    r"command line|repeat the command",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"(?<=; )bearinmind secret get (?=\w+\]$)")


def advice(text: str) -> str:
    """Advice without commands, options, files and variables."""
    if not _SHELL.search(text):
        return text
    clauses = [_COMMAND.sub(_tool, clause) for clause in _CLAUSE_END.split(text)]
    kept = " ".join(clause for clause in clauses if not _SHELL.search(clause)).rstrip(" ;,")
    if not kept:
        return TELL_THE_USER
    if "_" not in kept.split()[0]:  # it begins with a word, not with a tool
        kept = kept[0].upper() + kept[1:]
    return kept if kept.endswith(".") or not text.endswith(".") else f"{kept}."


def placeholder(content: str) -> str:
    """What stands for the text of a sensitive memory, with the tool that reveals it."""
    return _PLACEHOLDER.sub("secret_get ", content)


def _tool(command: re.Match[str]) -> str:
    """The tool that does what a command does; the command itself where there is none."""
    words = (command[1] or command[2]).split()
    for count in range(len(words), 0, -1):
        if tool := _TOOLS.get(" ".join(words[:count])):
            return tool
    return command[0]
