"""Reads the SQLite file of claude-mem: observations, summaries of sessions, and prompts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from bearinmind.errors import InvalidRecord
from bearinmind.importers.files import Source
from bearinmind.importers.model import (
    Conversation,
    Entry,
    Format,
    Place,
    Record,
    Skipped,
    as_keywords,
    each_readable,
    mapping,
    moment,
    optional,
    words,
)
from bearinmind.learn.model import Message, Role
from bearinmind.types import Provenance

_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
FIELDS = {
    "observations: title, subtitle, narrative, facts, text": "content, in this order",
    "observations: type": "tag; a decision also its category",
    "observations: concepts": "tags",
    "session_summaries: request, investigated, learned, completed, next_steps, notes": "content, "
    "a paragraph each; the tag `session-summary`",
    "files_read, files_modified, files_edited": "keywords `read: FILE`, `modified: FILE`",
    "project, merged_into_project": "project of the provenance",
    "memory_session_id": "session of the provenance",
    "sdk_sessions: platform_source, agent_type, agent_id": "agent of the provenance",
    "created_at, created_at_epoch": "created_at",
    "id": "source of the provenance, `claude-mem:observations/ID`",
    "generated_by_model, metadata.*": "keywords `name: value`",
    "user_prompts: prompt_text, content_session_id": (
        "learned from by the same rules as a turn, into the inbox"
    ),
    "sdk_sessions: user_prompt, session_db_id": "dropped: the first of the prompts says the same",
    "prompt_number, discovery_tokens, relevance_count, content_hash": (
        "dropped: about the other program's work"
    ),
    "synced_at, origin_device_id, origin_local_id, sync_rev, pending_messages, tool_uses": (
        "dropped: likewise"
    ),
}


def recognise(source: Source) -> bool:
    """Whether it is a file of claude-mem."""
    columns = {*source.columns.get("observations", ())}
    return "sdk_sessions" in source.columns and {"memory_session_id", "type"} <= columns


def records(source: Source) -> Iterator[Record]:
    """The observations and summaries as memories, the prompts as what was said."""
    sessions = [dict(row) for row in source.rows("claude_mem_sessions")]
    agents = {row["memory_session_id"]: row.get("platform_source") for row in sessions}
    for table, statement, read in (
        ("observations", "claude_mem_observations", _observation),
        ("session_summaries", "claude_mem_summaries", _summary),
    ):
        places = (
            (
                Place(f"{source.name}: {table}", int(row["row_number"])),
                {**dict(row), "platform": agents.get(row["memory_session_id"])},
            )
            for row in source.rows(statement)
        )
        yield from each_readable(places, read)
    yield from _prompts(source, sessions)


def _observation(place: Place, row: Mapping[str, object]) -> Iterator[Record]:
    facts = "\n".join(f"- {fact}" for fact in words(row.get("facts")))
    head = "\n".join(filter(None, (optional(row.get("title")), optional(row.get("subtitle")))))
    body = (optional(row.get(name)) for name in ("narrative", "text"))
    content = "\n\n".join(filter(None, (head, *body, facts)))
    kind = optional(row["type"])
    if not content:
        yield Skipped(place, "the observation is empty")
        return
    tags = (*words(row.get("concepts")), *((kind,) if kind else ()))
    yield _entry(place, row, "observations", content, tags, kind)


def _summary(place: Place, row: Mapping[str, object]) -> Iterator[Record]:
    said = [(name, optional(row.get(name))) for name in _PARTS]
    paragraphs = [
        f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in said if text is not None
    ]
    if not paragraphs:
        yield Skipped(place, "the summary is empty")
        return
    content = "\n\n".join(paragraphs)
    yield _entry(place, row, "session_summaries", content, ("session-summary",), None)


def _entry(
    place: Place,
    row: Mapping[str, object],
    table: str,
    content: str,
    tags: tuple[str, ...],
    kind: str | None,
) -> Entry:
    key = f"claude-mem:{table}/{row['id']}"
    agent = row.get("agent_type") or row.get("agent_id") or row["platform"]
    modified = row.get("files_modified") or row.get("files_edited")
    kept = as_keywords(
        [
            *(("read", file) for file in words(row.get("files_read"))),
            *(("modified", file) for file in words(modified)),
            ("model", row.get("generated_by_model")),
            *mapping(row.get("metadata"), "metadata").items(),
        ]
    )
    return Entry(
        # The number of a row alone would be the same in the files of two machines.
        key=f"{key}@{row['created_at']}",
        place=place,
        content=content,
        category="decisions" if kind == "decision" else "",
        tags=tags,
        keywords=kept.keywords,
        created_at=moment(row["created_at_epoch"] or row["created_at"]),
        provenance=Provenance(
            agent=optional(agent),
            session=optional(row["memory_session_id"]),
            project=optional(row.get("merged_into_project") or row["project"]),
            source=key,
        ),
        dropped=kept.dropped,
    )


def _prompts(source: Source, sessions: list[dict[str, object]]) -> Iterator[Record]:
    """The prompts of each session, in their order."""
    if "user_prompts" not in source.columns:
        return
    projects = {row["content_session_id"]: row["project"] for row in sessions}
    rows = [dict(row) for row in source.rows("claude_mem_prompts")]
    ordered = sorted(rows, key=lambda row: (str(row["content_session_id"]), row["row_number"]))
    for session, prompts in groupby(ordered, key=lambda row: str(row["content_session_id"])):
        said = [*prompts]
        place = Place(f"{source.name}: user_prompts", int(said[0]["row_number"]))
        messages = tuple(
            Message(role=Role.USER, text=str(prompt["prompt_text"]))
            for prompt in said
            if prompt["prompt_text"]
        )
        try:
            said_at = moment(said[0]["created_at_epoch"])
        except InvalidRecord:
            said_at = None
        yield Conversation(
            place=place,
            agent="claude",
            session=session,
            project=optional(projects.get(session)),
            messages=messages,
            said_at=said_at,
        )


FORMAT = Format(
    name="claude-mem",
    title="claude-mem: its SQLite file",
    recognise=recognise,
    records=records,
    fields=FIELDS,
    evidence="made by the SessionStore of claude-mem 13.25.3",
)
