"""Claude's memory tool (`memory_20250818`) over memories: a folder of files that a model keeps.

The files are memories: they are found by `recall` as well, and every version of them is kept.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from typing import Any

from bearinmind_adapters.documents import Document, Documents, Memories, Path

ROOT = "/memories"
MOST_LINES = 999_999  #: of a file

_WIDTH = 6  # of a line number
_DEPTH = 2  # levels of a folder that are shown
_AROUND = 2  # lines before and after a change that are shown
_ESCAPES = re.compile(r"\\|\x00|%2e|%2f|%5c", re.IGNORECASE)


class MemoryToolError(Exception):
    """A command that could not be done; its text is for the model, as a result that is an error."""


class MemoryTool:
    """Answers the commands of Claude's memory tool, with the texts that Claude knows."""

    def __init__(self, mind: Memories, *, application: str = "memory-tool", **options: Any) -> None:  # noqa: ANN401  those of `Documents`
        """Keep the files of one application in a memory."""
        self._documents = Documents(mind, application, **options)
        self._commands: Mapping[str, Callable[..., str]] = {
            "view": self.view,
            "create": self.create,
            "str_replace": self.str_replace,
            "insert": self.insert,
            "delete": self.delete,
            "rename": self.rename,
        }

    def __call__(self, command: Mapping[str, Any]) -> str:
        """The answer to the input of a tool call.

        Raises:
            MemoryToolError: it could not be done.
        """
        given = {name: value for name, value in command.items() if value is not None}
        name = given.pop("command", None)
        if name not in self._commands:
            raise MemoryToolError(f"Unknown command: {name}")
        try:
            return self._commands[name](**given)
        except TypeError:
            raise MemoryToolError(f"{name} does not take {', '.join(sorted(given))}") from None

    def view(self, path: str, view_range: tuple[int, int] | list[int] | None = None) -> str:
        """A file with line numbers, or what is in a folder."""
        place = _place(path)
        document = self._documents.get(place) if place else None
        if document is not None:
            return self._file(path, document.text, view_range)
        if place and not self._documents.below(place):
            raise _no_path(path)
        return self._folder(path, place)

    def create(self, path: str, file_text: str) -> str:
        """Make a file."""
        place = _place(path)
        if not place or self._exists(place):
            raise MemoryToolError(f"File {path} already exists")
        if any(self._documents.get(place[:depth]) for depth in range(1, len(place))):
            raise MemoryToolError(f"The path {path} is below a file, not a directory.")
        self._documents.put(place, file_text, source=path)
        return f"File created successfully at: {path}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """Replace a text that a file has once."""
        document = self._document(path)
        places = [
            found.start() for found in re.finditer(f"(?={re.escape(old_str)})", document.text)
        ]
        if not places or not old_str:
            raise MemoryToolError(
                f"No replacement was performed, old_str `{old_str}` did not appear verbatim in "
                f"{path}."
            )
        if document.text.count(old_str) > 1:
            lines = ", ".join(str(document.text[:place].count("\n") + 1) for place in places)
            raise MemoryToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in "
                f"lines: {lines}. Please ensure it is unique"
            )
        text = document.text.replace(old_str, new_str)
        self._documents.put(document.path, text)
        changed = document.text[: places[0]].count("\n")
        first = max(0, changed - _AROUND)
        shown = _numbered(text.split("\n")[first : changed + _AROUND + 1], first + 1)
        return (
            "The memory file has been edited. Here is the snippet showing the change "
            f"(with line numbers):\n{shown}"
        )

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert a text behind a line of a file; behind line 0 is its beginning."""
        document = self._document(path)
        lines = document.text.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= insert_line <= len(lines):
            raise MemoryToolError(
                f"Invalid `insert_line` parameter: {insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(insert_line, insert_text.rstrip("\n"))
        text = "\n".join(lines)
        self._documents.put(document.path, text if text.endswith("\n") else f"{text}\n")
        return f"The file {path} has been edited."

    def delete(self, path: str) -> str:
        """Delete a file, or a folder with all that is in it; the memories can be restored."""
        place = _place(path)
        if not place:
            raise MemoryToolError(f"Cannot delete the {ROOT} directory itself")
        documents = self._below(place)
        if not documents:
            raise MemoryToolError(f"The path {path} does not exist")
        for document in documents:
            self._documents.delete(document)
        return f"Successfully deleted {path}"

    def rename(self, old_path: str, new_path: str) -> str:
        """Move a file, or a folder with all that is in it."""
        old, new = _place(old_path), _place(new_path)
        if not old:
            raise MemoryToolError(f"Cannot rename the {ROOT} directory itself")
        if not new or self._exists(new):
            raise MemoryToolError(f"The destination {new_path} already exists")
        documents = self._below(old)
        if not documents:
            raise MemoryToolError(f"The path {old_path} does not exist")
        if new[: len(old)] == old:
            raise MemoryToolError(f"Cannot move {old_path} into itself")
        for document in documents:
            self._documents.move(document, (*new, *document.path[len(old) :]))
        return f"Successfully renamed {old_path} to {new_path}"

    def clear(self) -> str:
        """Delete every file."""
        for document in self._documents.below():
            self._documents.delete(document)
        return "All memory cleared"

    def _document(self, path: str) -> Document:
        place = _place(path)
        document = self._documents.get(place) if place else None
        if document is not None:
            return document
        if not place or self._documents.below(place):
            raise MemoryToolError(f"The path {path} is not a file.")
        raise _no_path(path)

    def _exists(self, place: Path) -> bool:
        return bool(self._documents.get(place) or self._documents.below(place))

    def _below(self, place: Path) -> list[Document]:
        """The file of a path, or all files of a folder."""
        document = self._documents.get(place)
        return [document] if document else self._documents.below(place)

    def _file(self, path: str, text: str, view_range: Any) -> str:  # noqa: ANN401  two numbers, if any
        lines = text.split("\n")
        if len(lines) > MOST_LINES:
            raise MemoryToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
        first, last = view_range or (1, -1)
        first = max(1, first)
        shown = _numbered(lines[first - 1 : None if last == -1 else last], first)
        return f"Here's the content of {path} with line numbers:\n{shown}"

    def _folder(self, path: str, place: Path) -> str:
        """What is in a folder and in its folders, with sizes; a folder is as large as its files."""
        sizes: dict[str, int] = {}
        whole = 0
        for document in self._documents.below(place):
            names = document.path[len(place) :]
            size = len(document.text.encode())
            whole += size
            for depth in range(1, min(_DEPTH, len(names)) + 1):
                if names[depth - 1].startswith("."):
                    break
                name = "/".join(names[:depth]) + ("/" if depth < len(names) else "")
                sizes[name] = sizes.get(name, 0) + size
        ordered = sorted(sizes, key=lambda name: name.rstrip("/").split("/"))
        lines = [f"{_human(whole)}\t{path}"]
        lines += [f"{_human(sizes[name])}\t{path}/{name}" for name in ordered]
        return (
            f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden "
            "items:\n" + "\n".join(lines)
        )


def beta_memory_tool(mind: Memories, **options: Any) -> Any:  # noqa: ANN401  a tool of the Anthropic SDK
    """The tool for `client.beta.messages.tool_runner` of the Anthropic SDK."""
    from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError  # noqa: PLC0415  an extra

    answer = MemoryTool(mind, **options)

    def answered(_: object, command: Any) -> str:  # noqa: ANN401  one class for each command
        try:
            return answer(command.to_dict())
        except MemoryToolError as exc:
            raise ToolError(str(exc)) from None

    names = ("view", "create", "str_replace", "insert", "delete", "rename")
    methods: dict[str, Any] = dict.fromkeys(names, answered)
    methods["clear_all_memory"] = lambda _: answer.clear()
    return type("BearInMindMemoryTool", (BetaAbstractMemoryTool,), methods)()


def _place(path: str) -> Path:
    """The parts of a path below the root; none for the root itself."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise MemoryToolError(f"Path must start with {ROOT}, got: {path}")
    whole = posixpath.normpath(path)
    if _ESCAPES.search(path) or (whole != ROOT and not whole.startswith(f"{ROOT}/")):
        raise MemoryToolError(f"Path {path} would escape {ROOT} directory")
    return tuple(part for part in whole.removeprefix(ROOT).split("/") if part)


def _no_path(path: str) -> MemoryToolError:
    return MemoryToolError(f"The path {path} does not exist. Please provide a valid path.")


def _numbered(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _human(size: int) -> str:
    """A size in bytes as `ls -h` shows it."""
    scale = min(max(size.bit_length() - 1, 0) // 10, 3)
    value = size / 1024**scale
    return f"{value:.0f}{'BKMG'[scale]}" if value == int(value) else f"{value:.1f}{'BKMG'[scale]}"
