"""Reads the SQLite file of claude-mem: observations, summaries of sessions, and prompts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from bearinmind.importers import model
from bearinmind.importers.files import Source
from bearinmind.importers.model import Place, Record, Row, moment, optional, words
from bearinmind.learn.model import Message, Role
from bearinmind.types import Provenance

_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def recognise(source: Source) -> bool:
    """Whether it is a file of claude-mem."""
    columns = {*source.columns.get("observations", ())}
    return "sdk_sessions" in source.columns and {"memory_session_id", "type"} <= columns


def records(source: Source) -> Iterator[Record]:
    """The observations and summaries as memories, the prompts as what was said."""
    sessions = [row for _, row in model.table_rows(source, "sdk_sessions", "claude_mem_sessions")]
    agents = {row["memory_session_id"]: row.get("platform_source") for row in sessions}
    for table, statement, read in (
        ("observations", "claude_mem_observations", _observation),
        ("session_summaries", "claude_mem_summaries", _summary),
    ):
        rows = (
            (place, {**row, "platform": agents.get(row["memory_session_id"])})
            for place, row in model.table_rows(source, table, statement)
        )
        yield from model.each_readable(rows, read)
    if "user_prompts" in source.columns:
        projects = {row["content_session_id"]: row["project"] for row in sessions}
        yield from model.each_readable(_prompts(source, projects), _conversation)


def _observation(place: Place, row: Row) -> Iterator[Record]:
    facts = "\n".join(f"- {fact}" for fact in words(row.get("facts")))
    head = "\n".join(filter(None, (row.get("title"), row.get("subtitle"))))
    content = "\n\n".join(filter(None, (head, row.get("narrative"), row.get("text"), facts)))
    if not content:
        yield model.Skipped(place, "the observation is empty")
        return
    tags = (*words(row.get("concepts")), row["type"])
    category = "decisions" if row["type"] == "decision" else ""
    yield _entry(place, row, f"observations/{row['id']}", content, tags, category)


def _summary(place: Place, row: Row) -> Iterator[Record]:
    parts = [(name.replace("_", " ").capitalize(), row.get(name)) for name in _PARTS]
    content = "\n\n".join(f"{name}: {text}" for name, text in parts if text)
    if not content:
        yield model.Skipped(place, "the summary is empty")
        return
    tags = ("session-summary",)
    yield _entry(place, row, f"session_summaries/{row['id']}", content, tags, "")


def _entry(
    place: Place, row: Row, name: str, content: str, tags: tuple[str, ...], category: str
) -> model.Entry:
    modified = row.get("files_modified") or row.get("files_edited")
    return model.Entry(
        # The number of a row alone would be the same in the files of two machines.
        key=f"claude-mem:{name}@{row['created_at']}",
        place=place,
        content=content,
        category=category,
        tags=tags,
        created_at=moment(row["created_at_epoch"] or row["created_at"]),
        provenance=Provenance(
            agent=optional(row.get("agent_type") or row.get("agent_id") or row["platform"]),
            session=optional(row["memory_session_id"]),
            project=optional(row.get("merged_into_project") or row["project"]),
            source=f"claude-mem:{name}",
        ),
        more=(
            *(("read", file) for file in words(row.get("files_read"))),
            *(("modified", file) for file in words(modified)),
            ("model", row.get("generated_by_model")),
            *model.mapping(row.get("metadata"), "metadata").items(),
        ),
    )


def _prompts(source: Source, projects: Row) -> model.Rows:
    """The prompts of each session, in their order."""
    rows = [*model.table_rows(source, "user_prompts", "claude_mem_prompts")]
    rows.sort(key=lambda each: (str(each[1]["content_session_id"]), each[0].line))
    for session, prompts in groupby(rows, key=lambda each: str(each[1]["content_session_id"])):
        said = [*prompts]
        first, row = said[0]
        texts = [str(prompt["prompt_text"]) for _, prompt in said]
        yield first, {**row, "texts": texts, "project": projects.get(session)}


def _conversation(place: Place, row: Row) -> Iterator[Record]:
    yield model.Conversation(
        place=place,
        agent="claude",
        session=str(row["content_session_id"]),
        project=row["project"],
        messages=tuple(Message(role=Role.USER, text=text) for text in row["texts"]),
        said_at=moment(row["created_at_epoch"]),
    )


FORMAT = model.Format(
    name="claude-mem", title="claude-mem: its SQLite file", recognise=recognise, records=records
)
