"""Reads Markdown: notes, instruction files, memory-tool folders; and splits what is too long."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import yaml

from bearinmind.errors import InvalidRecord, MindError
from bearinmind.importers import model
from bearinmind.importers.files import Source
from bearinmind.importers.model import (
    ForeignLink,
    Malformed,
    Place,
    Record,
    moment,
    optional,
    words,
)
from bearinmind.types import LinkKind, Provenance, Trust

_RULES = ".mdc"  # of Cursor
_NOTES = (".md", ".markdown", ".mdx", _RULES)
_TEXTS = (*_NOTES, ".txt")
#: Instruction files by name: their content is Markdown like any other.
_INSTRUCTIONS = ("claude.md", "claude.local.md", "agents.md", "gemini.md", ".cursorrules")
_MEMORY_FOLDER = "memories"  # the folder that the memory tool is given
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?P<yaml>.*?\n)?---[ \t]*(?:\n|\Z)", re.DOTALL)
_WIKI_LINK = re.compile(
    r"(?:^\s*[-*+]\s+(?P<relation>[\w -]+?)\s+)?"  # as basic-memory writes relations
    r"(?P<embeds>!?)\[\[(?P<target>[^\]|#]*)(?:#[^\]|]*)?(?:\|[^\]]*)?\]\]",
    re.MULTILINE,
)
_MARKDOWN_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s:#]+\.md)(?:#[^)\s]*)?\)")
_TAG = re.compile(r"(?:^|(?<=\s))#([A-Za-z][\w/-]*)")
_CODE = re.compile(r"```.*?```|~~~.*?~~~|`[^`\n]*`", re.DOTALL)
#: Relations of basic-memory that are links of ours; every other is `see-also`.
_KINDS = {
    "part_of": LinkKind.PART_OF,
    "causes": LinkKind.CAUSES,
    "caused": LinkKind.CAUSES,
    "derives_from": LinkKind.DERIVES_FROM,
    "derived_from": LinkKind.DERIVES_FROM,
    "based_on": LinkKind.DERIVES_FROM,
    "resolved_by": LinkKind.RESOLVED_BY,
    "supersedes": LinkKind.SUPERSEDES,
    "replaces": LinkKind.SUPERSEDES,
}
_CREATED = ("created", "created_at", "date", "creation_date")
_UPDATED = ("updated", "updated_at", "modified", "last_modified", "lastmod")
_AUTHORS = ("author", "authors", "agent")


class _Front(NamedTuple):
    fields: Mapping[str, object]
    body: str
    lines: int  #: that stand before the body


def _is_instructions(path: Path) -> bool:
    return path.name.casefold() in _INSTRUCTIONS or path.suffix.casefold() == _RULES


def recognise_notes(source: Source) -> bool:
    """Whether it is a note, or a folder with one."""
    if source.is_folder:
        return any(path.suffix.casefold() in _NOTES for path in _files(source.path))
    return source.path.suffix.casefold() in _TEXTS


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder, without those that a program keeps for itself."""
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder).parts
        is_hidden = any(part.startswith(".") or part == "node_modules" for part in inner[:-1])
        is_own = inner[-1].startswith(".") and inner[-1].casefold() not in _INSTRUCTIONS
        if path.is_file() and not is_hidden and not is_own:
            yield path


def _read(source: Source, kind: str) -> Iterator[Record]:
    """Every note of a folder, or the one."""
    if not source.is_folder:
        yield from _note(source, source.path.name, kind)
        return
    for path in _files(source.path):
        name = path.relative_to(source.path).as_posix()
        if kind == "markdown" and _is_instructions(path):
            yield from _note(Source(path), name, "instructions")
        elif path.suffix.casefold() in _TEXTS or kind == "memory-tool":
            yield from _note(Source(path), name, kind)
        else:
            yield model.Skipped(Place(name, 0), "the file is no note")


def _note(source: Source, name: str, kind: str) -> Iterator[Record]:
    try:
        front = _front_matter(source.text, is_rule=source.path.suffix.casefold() == _RULES)
        entry = _entry(source, name, front, kind)
    except MindError as exc:
        yield Malformed(Place(name, 1), exc.message)
        return
    if entry.content.strip():
        yield entry
    else:
        yield model.Skipped(Place(name, 1), "the note is empty")


def _front_matter(text: str, *, is_rule: bool) -> _Front:
    text = text.replace("\r\n", "\n")
    match = _FRONT_MATTER.match(text)
    if match is None:
        return _Front({}, text, 0)
    try:
        # Cursor writes `globs: **/*.ts`, which is no YAML.
        fields = _plain_fields(match["yaml"]) if is_rule else yaml.safe_load(match["yaml"] or "")
    except yaml.YAMLError as exc:
        reason = " ".join(str(getattr(exc, "problem", None) or "it is no YAML").split())
        raise InvalidRecord(f"the front matter cannot be read: {reason}") from None
    if not isinstance(fields, dict | None):
        raise InvalidRecord("the front matter is not a list of names and values")
    named = {str(name).strip().casefold(): value for name, value in (fields or {}).items()}
    return _Front(named, text[match.end() :], text.count("\n", 0, match.end()))


def _plain_fields(text: str | None) -> dict[str, str]:
    pairs = [line.partition(":") for line in (text or "").splitlines() if ":" in line]
    return {name: value.strip().strip("\"'") for name, _, value in pairs}


def _entry(source: Source, name: str, front: _Front, kind: str) -> model.Entry:
    fields = dict(front.fields)
    title = optional(fields.pop("title", None))
    body = front.body.strip("\n")
    plain = _CODE.sub("", body)
    written = _time(fields, _UPDATED) or _changed(source.path)
    created = _time(fields, _CREATED) or written
    authors = [word for each in _AUTHORS for word in words(fields.pop(each, None))]
    tags = [*words(fields.pop("tags", None)), *words(fields.pop("tag", None))]
    aliases = [*words(fields.pop("aliases", None)), *words(fields.pop("alias", None))]
    project, category = (optional(fields.pop(each, None)) for each in ("project", "category"))
    importance = fields.pop("importance", None)
    permalink = optional(fields.get("permalink"))
    about = [optional(fields.pop(each, None)) for each in ("description", "summary")]
    stem = re.sub(r"\.\w+$", "", name)
    has_title = title is None or title.casefold() in body[: len(title) + 9].casefold()
    head = [*([] if has_title else [f"# {title}"]), *(x for x in about if x and x not in body)]
    content = "\n\n".join([*head, body]) if body else ""
    before = front.body[: front.body.find(body)].count("\n") - content[: -len(body)].count("\n")
    return model.Entry(
        key=f"{kind}:{name}",
        place=Place(name, front.lines + 1 + before if body else 1),
        content=content,
        has_lines=True,
        category=category or ("preferences" if kind == "instructions" else ""),
        tags=tuple(dict.fromkeys(tag.lstrip("#") for tag in (*tags, *_TAG.findall(plain)))),
        keywords=tuple(aliases),
        importance=importance if isinstance(importance, int | float) else None,
        created_at=created,
        updated_at=written,
        provenance=Provenance(
            agent=", ".join(authors) or None,
            project=project,
            source=f"{kind}:{name}",
            trust=Trust.AGENT if kind == "memory-tool" else Trust.USER,
        ),
        links=tuple(dict.fromkeys(_links(plain, name))),
        names=tuple(
            note_name(each)
            for each in (stem, Path(stem).name, title, permalink, *aliases)
            if each is not None
        ),
        by_section=kind == "instructions",
        more=fields.items(),
    )


def note_name(text: str) -> str:
    """The name of a note as links find it: case and spaces do not count."""
    return "note " + "-".join(re.sub(r"[\s_-]+", " ", text.strip()).casefold().split())


def _links(text: str, name: str) -> Iterator[ForeignLink]:
    for match in _WIKI_LINK.finditer(text):
        target = match["target"].rstrip("\\").strip().removesuffix(".md")
        relation = (match["relation"] or "").strip().casefold().replace(" ", "_")
        is_attachment = match["embeds"] and "." in target
        if target and not is_attachment:
            yield ForeignLink(_KINDS.get(relation, LinkKind.SEE_ALSO), note_name(target))
    for match in _MARKDOWN_LINK.finditer(text):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), match["target"]))
        yield ForeignLink(LinkKind.SEE_ALSO, note_name(target.removesuffix(".md")))


def _time(fields: dict[str, object], names: tuple[str, ...]) -> datetime | None:
    """The first of some fields that has a time; all of them are taken out."""
    values = [fields.pop(name, None) for name in names]
    value = next((each for each in values if each is not None), None)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(), UTC)
    return moment(value)


def _changed(path: Path) -> datetime:
    """When a file was last changed, but not later than now."""
    return min(datetime.fromtimestamp(path.stat().st_mtime, UTC), datetime.now(UTC))


# ---- splitting ---------------------------------------------------------------------------------

_HEADING = re.compile(r"(#{1,6})\s+\S")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_ITEM = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+\S")  # of a list, at its outer level


class Part(NamedTuple):
    """A part of a text. Its headings are repeated, so that it can be read by itself."""

    text: str
    line: int  #: of the text at which it begins
    fits: bool = True


class _Line(NamedTuple):
    number: int
    text: str
    level: int = 0  #: of a heading; 0 of any other line


def split(text: str, limit: int, *, by_section: bool = False) -> list[Part]:
    """The parts of a text, none longer than the limit unless it is one paragraph.

    A text that fits is one part; with `by_section` every section is a part of its own.
    """
    if len(text.strip()) <= limit and not by_section:
        return [Part(text.strip(), 1)] if text.strip() else []
    parts = _sections([*_lines(text)], (), limit, by_section=by_section)
    return [part for part in parts if part.text]


def _lines(text: str) -> Iterator[_Line]:
    """The lines, headings marked; a code block has none."""
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_code ^= bool(_FENCE.match(line))
        heading = None if is_code else _HEADING.match(line)
        yield _Line(number, line, len(heading[1]) if heading else 0)


def _sections(
    lines: Sequence[_Line], above: tuple[str, ...], limit: int, *, by_section: bool
) -> Iterator[Part]:
    """The parts of a section, whose headings above it are given."""
    levels = [line.level for line in lines[1:] if line.level]
    whole = _joined(above, lines)
    if len(whole) <= limit and not (by_section and levels):
        yield Part(whole, _first(lines))
        return
    own = lines[0].level if lines and lines[0].level else 0
    level = min((line.level for line in lines if line.level > own), default=0)
    if not level:
        yield from _paragraphs(lines, above, limit)
        return
    heads = (*above, lines[0].text) if own else above
    starts = [at for at, line in enumerate(lines) if line.level == level]
    before = lines[: starts[0]]
    if any(line.text.strip() and not line.level for line in before):
        yield from _sections(before, above, limit, by_section=by_section)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield from _sections(lines[start:end], heads, limit, by_section=by_section)


def _paragraphs(lines: Sequence[_Line], above: tuple[str, ...], limit: int) -> Iterator[Part]:
    """As many paragraphs to a part as fit."""
    if lines[0].level:
        above, lines = (*above, lines[0].text), lines[1:]
    gathered: list[_Line] = []
    for block in _blocks(lines):
        if gathered and len(_joined(above, [*gathered, *block])) > limit:
            yield _part(above, gathered, limit)
            gathered = []
        gathered += block
    if gathered:
        yield _part(above, gathered, limit)


def _part(above: tuple[str, ...], lines: Sequence[_Line], limit: int) -> Part:
    text = _joined(above, lines)
    return Part(text, _first(lines), len(text) <= limit)


def _blocks(lines: Sequence[_Line]) -> Iterator[list[_Line]]:
    """Paragraphs, items of a list and code blocks, each with the empty lines behind it."""
    block: list[_Line] = []
    is_code = ends = False
    for line in lines:
        is_item = bool(_ITEM.match(line.text)) and not is_code
        if block and not is_code and ((ends and line.text.strip()) or is_item):
            yield block
            block = []
        is_code ^= bool(_FENCE.match(line.text))
        ends = not line.text.strip() and not is_code
        block.append(line)
    if block:
        yield block


def _joined(above: tuple[str, ...], lines: Sequence[_Line]) -> str:
    body = "\n".join(line.text for line in lines).strip("\n").rstrip()
    return "\n\n".join([*above, body] if body else above)


def _first(lines: Sequence[_Line]) -> int:
    return next((line.number for line in lines if line.text.strip()), 1)


NOTES = model.Format(
    name="markdown",
    title="Markdown: a note or a folder of them (basic-memory, Obsidian, any)",
    recognise=recognise_notes,
    records=partial(_read, kind="markdown"),
)
INSTRUCTIONS = model.Format(
    name="instructions",
    title="Instruction files of agents: CLAUDE.md, AGENTS.md, GEMINI.md, .cursorrules, .mdc",
    recognise=lambda source: not source.is_folder and _is_instructions(source.path),
    records=partial(_read, kind="instructions"),
)
MEMORY_TOOL = model.Format(
    name="memory-tool",
    title="The folder `memories` of Anthropic's memory tool",
    recognise=lambda it: it.is_folder and it.path.resolve().name == _MEMORY_FOLDER,
    records=partial(_read, kind="memory-tool"),
)
