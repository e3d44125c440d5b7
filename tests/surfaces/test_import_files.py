"""Files of other programs, imported and exported again: nothing is lost, nothing comes twice.

The files in `support/foreign` were made by the programs themselves (see benchmarks/peers/files).
"""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bearinmind import Mind
from bearinmind.surfaces.foreign import FilesImport
from support.foreign_files import (
    COLUMNS,
    FOREIGN,
    chatgpt_export,
    claude_export,
    drawers,
    extracted,
    rows,
    unpacked,
)

Run = Callable[..., Any]
MADE = 210  # records that each program stored
AWS = "AKIA" + "Z7QXN3PLWT6RJ4KD"  # of the form of a key, and none


def exported(run: Run) -> list[dict[str, Any]]:
    """The memories of the store as an export has them."""
    lines = [json.loads(line) for line in run("export").out.splitlines()]
    return [line for line in lines if line["record"] == "memory"]


def links(run: Run) -> list[tuple[str, str, str]]:
    """The links of the store, by the contents of their ends."""
    contents = {memory["id"]: memory["content"] for memory in exported(run)}
    lines = [json.loads(line) for line in run("export").out.splitlines()]
    found = [line for line in lines if line["record"] == "link"]
    return [(contents[x["source"]], x["kind"], contents[x["target"]]) for x in found]


def by_source(run: Run) -> dict[str, dict[str, Any]]:
    return {memory["provenance"]["source"]: memory for memory in exported(run)}


def imported(run: Run, *args: object) -> dict[str, Any]:
    """Import; then see that a preview had said the same, and that once more adds nothing."""
    preview = run("import", *args, "--dry-run", "--json").json
    done = run("import", *args, "--json").json
    again = run("import", *args, "--json").json
    for name in ("stored", "known", "links_stored", "proposed", "secrets", "sensitive"):
        assert preview[name] == done[name], name
    assert again["stored"] == again["links_stored"] == again["proposed"] == 0
    counts: dict[str, Any] = done
    return counts


def moment(value: str | float) -> datetime:
    if isinstance(value, str):
        return datetime.fromisoformat(value).astimezone(UTC)
    return datetime.fromtimestamp(value, UTC)


def close(one: str, other: str | float) -> bool:
    """Whether two times are the same to a millisecond."""
    return abs((moment(one) - moment(other)).total_seconds()) < 0.001


# ---- programs ----------------------------------------------------------------------------------


def test_an_export_of_mem0_keeps_every_field(run: Run) -> None:
    path = FOREIGN / "mem0.json.gz"
    source = json.loads(gzip.decompress(path.read_bytes()))["results"]

    done = imported(run, path)

    assert done["formats"] == {str(path): "mem0"}
    assert done["stored"] == len(source) == MADE - 1
    memories = by_source(run)
    for item in source:
        memory = memories[f"mem0:{item['id']}"]
        assert memory["content"] == item["memory"]
        assert f"topic: {item['metadata']['topic']}" in memory["keywords"]
        assert f"number: {item['metadata']['number']}" in memory["keywords"]
        assert memory["tags"] == ["user:alex"]
        assert memory["provenance"]["session"] == item["run_id"]
        agent = item.get("agent_id") or item.get("actor_id")
        assert memory["provenance"]["agent"] == agent
        assert memory["provenance"]["trust"] == "user"
        assert close(memory["created_at"], item["created_at"])
        assert close(memory["updated_at"], item["updated_at"])


def test_a_history_of_mem0_becomes_versions(run: Run, tmp_path: Path) -> None:
    path = unpacked(tmp_path, "mem0-history.db")
    events = rows(path, "history")

    assert imported(run, path)["stored"] == MADE

    memories = by_source(run)
    assert memories.keys() == {f"mem0:{event['memory_id']}" for event in events}
    for event in events:  # of the last one of a memory these hold at the end
        memory = memories[f"mem0:{event['memory_id']}"]
        said = [memory["content"], *(version["content"] for version in memory["earlier"])]
        assert event["event"] == "DELETE" or event["new_memory"] in said
        if event["event"] == "ADD":
            assert close(memory["created_at"], event["created_at"])
            assert memory["provenance"]["trust"] == event["role"] == "user"
    changed = next(event for event in events if event["event"] == "UPDATE")
    memory = memories[f"mem0:{changed['memory_id']}"]
    assert memory["content"] == changed["new_memory"]
    assert [version["content"] for version in memory["earlier"]] == [changed["old_memory"]]
    gone = next(event for event in events if event["event"] == "DELETE")
    deleted = memories[f"mem0:{gone['memory_id']}"]
    assert deleted["deleted_at"] is not None
    assert deleted["content"] == gone["old_memory"]


def test_a_file_of_mcp_memory_service_keeps_every_field(run: Run, tmp_path: Path) -> None:
    path = unpacked(tmp_path, "mcp-memory-service.db")
    source = rows(path, "memories")

    done = imported(run, path)

    assert done["stored"] == len(source) == MADE
    memories = by_source(run)
    for row in source:
        memory = memories[f"mcp-memory-service:{row['content_hash']}"]
        assert memory["content"] == row["content"]
        assert memory["tags"] == [*row["tags"].split(","), row["memory_type"]]
        metadata = json.loads(row["metadata"])
        assert memory["keywords"] == ["source: chat", f"number: {metadata['number']}"]
        assert memory["provenance"]["agent"] == metadata["agent"]
        assert (memory["category"] == "decisions") == (row["memory_type"] == "decision")
        assert close(memory["created_at"], row["created_at"])
        assert (memory["deleted_at"] is None) == (row["deleted_at"] is None)
    kinds = [kind for _, kind, _ in links(run)]
    assert sorted(kinds) == ["causes", "see-also"]  # the mutual one once


def test_what_mcp_memory_service_has_replaced_derived_or_believed_is_kept(
    run: Run, tmp_path: Path
) -> None:
    path = unpacked(tmp_path, "mcp-memory-service.db")
    first, second, third = (row["content_hash"] for row in rows(path, "memories")[:3])
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM memory_graph")
        database.execute(
            "UPDATE memories SET superseded_by = ?, store = 'work', confidence = 0.7"
            " WHERE content_hash = ?",
            [second, first],
        )
        derived = "UPDATE memories SET parent_id = ? WHERE content_hash = ?"
        database.execute(derived, [first, third])
        database.execute(
            "INSERT INTO beliefs (belief_hash, content, confidence, status, created_at, updated_at,"
            " derived_from, contradicted_by, metadata) VALUES ('b', 'Audits end late.', 0.9,"
            " 'active', '2025-02-19T21:20:00Z', '2025-02-20T21:20:00Z', ?, ?, ?)",
            [json.dumps([first]), json.dumps([second]), '{"by": "planner"}'],
        )
        database.commit()

    assert imported(run, path)["stored"] == MADE + 1

    memories = by_source(run)
    old, new, made = (memories[f"mcp-memory-service:{each}"] for each in (first, second, third))
    belief = memories["mcp-memory-service:belief:b"]
    assert old["provenance"]["project"] == "work"
    assert "confidence: 0.7" in old["keywords"]
    assert (belief["content"], belief["tags"]) == ("Audits end late.", ["belief", "active"])
    assert belief["keywords"] == ["by: planner", "confidence: 0.9"]
    times = belief["created_at"], belief["updated_at"]
    assert [time[:10] for time in times] == ["2025-02-19", "2025-02-20"]
    assert {*links(run)} == {
        (new["content"], "supersedes", old["content"]),
        (made["content"], "derives-from", old["content"]),
        (belief["content"], "derives-from", old["content"]),
        (belief["content"], "see-also", new["content"]),
    }


def test_a_file_of_claude_mem_keeps_every_field(run: Run, tmp_path: Path) -> None:
    path = unpacked(tmp_path, "claude-mem.db")
    source = rows(path, "observations")

    done = imported(run, path)

    assert done["stored"] == len(source) + len(rows(path, "session_summaries"))
    assert done["records"] == done["stored"] + 3  # the prompts of three sessions
    memories = by_source(run)
    for row in source:
        memory = memories[f"claude-mem:observations/{row['id']}"]
        for part in (row["title"], row["subtitle"], row["narrative"], *json.loads(row["facts"])):
            assert part in memory["content"]
        assert memory["tags"] == [*json.loads(row["concepts"]), row["type"]]
        reads = [f"read: {file}" for file in json.loads(row["files_read"])]
        changes = [f"modified: {file}" for file in json.loads(row["files_modified"])]
        assert memory["keywords"] == reads + changes
        assert memory["provenance"]["project"] == row["project"]
        assert memory["provenance"]["session"] == row["memory_session_id"]
        assert memory["provenance"]["agent"] == "claude"
        assert close(memory["created_at"], row["created_at_epoch"] / 1000)
    [summary] = [each for each in rows(path, "session_summaries") if each["notes"]]
    memory = memories[f"claude-mem:session_summaries/{summary['id']}"]
    for name in ("request", "investigated", "learned", "completed", "next_steps", "notes"):
        assert summary[name] in memory["content"]


def test_a_palace_keeps_every_field(run: Run, tmp_path: Path) -> None:
    folder = extracted(tmp_path, "mempalace") / ".mempalace"
    source = drawers(folder / "palace" / "chroma.sqlite3")
    long = {id_: fields for id_, fields in source.items() if "parent_drawer_id" in fields}

    done = imported(run, folder)

    assert done["formats"] == {str(folder): "mempalace"}
    facts = rows(folder / "knowledge_graph.sqlite3", "triples")
    assert done["records"] == len(source) - len(long) + 1 + len(facts)
    assert done["records"] > MADE
    assert (done["known"], done["split"], done["dropped"]) == (1, 1, {})  # the chat said one twice
    memories = by_source(run)
    kept = {id_: memory for id_ in source if (memory := memories.get(f"mempalace:{id_}"))}
    assert len(kept) == len(source) - len(long) - done["known"]
    for id_, memory in kept.items():
        fields = source[id_]
        assert memory["content"] == fields["chroma:document"].strip()
        topic = [fields["topic"]] if "topic" in fields else []
        assert memory["tags"] == [fields["wing"], fields["room"], *topic]
        assert memory["provenance"]["agent"] == fields.get("agent", fields.get("added_by"))
        written = fields.get("authored_at") or fields.get("content_date") or fields["filed_at"]
        assert close(memory["created_at"], written)
        assert close(memory["updated_at"], fields["last_modified"])
        for name in ("source_file", "hall", "type", "line_start", "ingest_mode", "extract_mode"):
            if fields.get(name):
                assert f"{name}: {fields[name]}" in memory["keywords"]
    [whole] = {fields["parent_drawer_id"] for fields in long.values()}
    parts = [each for each in exported(run) if each["provenance"]["source"] == f"mempalace:{whole}"]
    pieces = [source[id_]["chroma:document"] for id_ in sorted(long)]
    paragraphs = [line for part in parts for line in part["content"].split("\n\n")]
    assert sorted(paragraphs) == sorted("".join(pieces).split("\n\n"))


def test_the_graph_of_a_palace_becomes_facts_with_their_times(run: Run, tmp_path: Path) -> None:
    folder = extracted(tmp_path, "mempalace") / ".mempalace"
    with closing(sqlite3.connect(folder / "knowledge_graph.sqlite3")) as database:
        database.execute("UPDATE triples SET confidence = 0.8 WHERE predicate = 'works_on'")
        known = "UPDATE entities SET type = 'person', properties = ? WHERE id = 'dana'"
        database.execute(known, ['{"team": "payments"}'])
        database.commit()

    imported(run, folder)

    facts = {memory["content"]: memory for memory in exported(run)}
    works, lived = facts["Dana works on billing."], facts["Dana lives in Porto."]
    assert works["keywords"] == ["Dana", "works_on", "billing", "confidence: 0.8"]
    assert (works["valid_from"][:10], works["valid_to"]) == ("2025-01-01", None)
    assert (lived["valid_from"][:10], lived["valid_to"][:10]) == ("2020-05-01", "2025-01-01")
    before, now = facts["billing runs on Postgres 15."], facts["billing runs on Postgres 17."]
    assert before["valid_to"] == now["valid_from"]
    dana = facts["Dana is a person."]
    assert (dana["category"], dana["tags"]) == ("people", ["person"])
    assert dana["keywords"] == ["Dana", "team: payments"]
    derived = [link for link in links(run) if link[1] == "derives-from"]
    drawer = "The billing service of region 0 listens on port 7000."
    assert derived == [("Dana works on billing.", "derives-from", drawer)]


def test_a_palace_is_known_by_either_database_and_a_broken_one_is_named(
    run: Run, tmp_path: Path
) -> None:
    palace = extracted(tmp_path, "mempalace") / ".mempalace" / "palace" / "chroma.sqlite3"
    graph = palace.parent.parent / "knowledge_graph.sqlite3"
    with closing(sqlite3.connect(palace)) as database:
        text = "DELETE FROM embedding_metadata WHERE id = 5 AND key = 'chroma:document'"
        database.execute(text)
        mark = (
            "UPDATE embedding_metadata SET string_value = '_registry' WHERE id = 6 AND key = 'room'"
        )
        database.execute(mark)
        database.commit()

    done = run("import", palace, "--json")

    data = json.loads(done.out)
    assert (done.code, data["formats"]) == (2, {str(palace): "mempalace"})
    [problem], [skip] = data["problems"], data["skipped"]
    assert (problem["file"], problem["line"]) == ("chroma.sqlite3: drawers", 5)
    assert problem["message"] == "the text is missing"
    assert (skip["line"], skip["message"]) == (6, "a note that a file was read, and no drawer")
    assert run("import", graph, "--json").json["stored"] == 4
    wrong = run("import", Path(__file__), "--from", "mempalace")
    assert "neither drawers nor a knowledge graph" in wrong.err


def test_what_was_asked_in_claude_mem_is_learned_from(run: Run, tmp_path: Path) -> None:
    path = unpacked(tmp_path, "claude-mem.db")
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE user_prompts SET prompt_text = 'Always use British spelling.'")
        database.commit()

    assert imported(run, path)["proposed"] == 1

    [proposal] = run("curate", "inbox", "--json").json["proposals"]
    assert "British spelling" in proposal["change"]["content"]
    assert proposal["change"]["project"] == "shop"


def test_a_knowledge_graph_keeps_entities_observations_and_relations(run: Run) -> None:
    path = FOREIGN / "knowledge-graph.jsonl"
    items = [json.loads(line) for line in path.read_text().splitlines()]
    entities = [item for item in items if item["type"] == "entity"]
    relations = [item for item in items if item["type"] == "relation"]

    done = imported(run, path)

    assert done["stored"] == MADE + 1 + len(relations)  # Priya has no observations
    memories = exported(run)
    for entity in entities:
        own = [each for each in memories if each["keywords"] == [entity["name"]]]
        for text in entity["observations"]:
            assert any(text in each["content"] for each in own)
        assert all(each["tags"] == [entity["entityType"].lower()] for each in own)
    contents = {each["content"] for each in memories}
    assert contents >= {f"{x['from']} {x['relationType']} {x['to']}." for x in relations}
    assert len(links(run)) == 2 * len(relations)


def test_notes_of_basic_memory_keep_text_tags_and_relations(run: Run, tmp_path: Path) -> None:
    folder = extracted(tmp_path / "notes", "basic-memory")

    done = imported(run, folder)

    assert done["stored"] == MADE
    memories = by_source(run)
    for path in folder.rglob("*.md"):
        head, body = path.read_text().removeprefix("---\n").split("\n---\n", 1)
        name = path.relative_to(folder).as_posix()
        memory = memories[f"markdown:{name}"]
        assert memory["content"] == body.strip()
        for line in head.splitlines():
            if line.startswith("- "):
                assert line[2:] in memory["tags"]
            elif line.startswith(("type: ", "permalink: ")):
                assert line in memory["keywords"]
        title = next(line for line in head.splitlines() if line.startswith("title: "))
        assert body.strip().startswith(f"# {title.removeprefix('title: ')}")
        assert memory["provenance"]["trust"] == "user"
    follows = [each for each in links(run) if each[1] == "see-also"]
    assert len(follows) == MADE - 1
    missing = [skip for skip in done["skipped"] if "'overview'" in skip["message"]]
    assert len(missing) == MADE


def test_a_memory_tool_folder_is_imported(run: Run, tmp_path: Path) -> None:
    folder = extracted(tmp_path, "memory-tool") / "memories"

    done = imported(run, folder)

    assert done["formats"] == {str(folder): "memory-tool"}
    assert done["stored"] == MADE
    memories = by_source(run)
    for path in folder.rglob("*.md"):
        memory = memories[f"memory-tool:{path.relative_to(folder).as_posix()}"]
        assert memory["content"] == path.read_text().strip()
        assert memory["provenance"]["trust"] == "agent"


def test_a_table_keeps_every_column(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "memories.csv"
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(COLUMNS)
        for n in range(MADE):
            day = f"2025-03-{n % 28 + 1:02}"
            text = [n, f'Fact "{n}",\nin lines', f"a{n % 5},b", f"k{n},l", "decision", 0.25]
            times = [day, f"2025-04-{n % 28 + 1:02}", "2027-01-01"]
            origin = ["ada", f"s{n % 3}", "shop", "user" if n % 2 else "agent"]
            table.writerow([*text, *times, *origin, f"wiki/{n}" if n % 2 else "", "x"])

    assert imported(run, path)["stored"] == MADE

    memories = by_source(run)
    for n in range(MADE):
        memory = memories[f"wiki/{n}" if n % 2 else f"memories.csv:{n}"]
        assert memory["content"] == f'Fact "{n}",\nin lines'
        assert memory["tags"] == [f"a{n % 5}", "b"]
        assert memory["keywords"] == [f"k{n}", "l", "mood: x"]
        assert (memory["category"], memory["importance"]) == ("decisions", 0.25)
        assert memory["created_at"].startswith(f"2025-03-{n % 28 + 1:02}")
        assert memory["updated_at"].startswith(f"2025-04-{n % 28 + 1:02}")
        assert memory["valid_to"].startswith("2027-01-01")
        origin = memory["provenance"]
        assert (origin["agent"], origin["session"]) == ("ada", f"s{n % 3}")
        assert (origin["project"], origin["trust"]) == ("shop", "user" if n % 2 else "agent")


# ---- conversations -----------------------------------------------------------------------------


SAID = ["Always run the tests before a commit.", "what is a monad?", "I prefer short answers."]


@pytest.mark.parametrize(
    ("name", "export"), [("claude", claude_export), ("chatgpt", chatgpt_export)]
)
def test_conversations_are_learned_from_into_the_inbox(
    run: Run, tmp_path: Path, name: str, export: Callable[[Iterable[str]], list[dict[str, Any]]]
) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(export([*SAID, *["hello"] * 200])))

    done = imported(run, path)

    assert done["formats"] == {str(path): name}
    assert done["records"] == len(SAID) + 200
    assert (done["stored"], done["proposed"]) == (0, 2)
    proposals = run("curate", "inbox", "--json").json["proposals"]
    contents = {each["change"]["content"] for each in proposals}
    assert contents == {"Always run the tests before a commit.", "The user prefers short answers."}
    assert {each["change"]["agent"] for each in proposals} == {name}
    assert {each["change"]["session"] for each in proposals} == {
        f"{name}:conversation-0",
        f"{name}:conversation-2",
    }
    for proposal in proposals:
        run("curate", "apply", proposal["id"], "--yes")
    assert all(memory["created_at"].startswith("2025-05-01") for memory in exported(run))


def test_a_secret_that_was_said_is_neither_learned_nor_shown(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(claude_export([f"Remember that the key is {AWS}"])))

    done = run("import", path, "--dry-run")

    assert "left out of what was said in 1" in done.out
    assert AWS not in done.out + done.err


# ---- Markdown ----------------------------------------------------------------------------------


def write(folder: Path, notes: Mapping[str, str]) -> Path:
    for name, text in notes.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_notes_of_obsidian_keep_front_matter_and_links(run: Run, tmp_path: Path) -> None:
    vault = write(
        tmp_path / "vault",
        {
            "Projects/Alpha.md": "---\naliases: [The Big One]\ntags: [work, plan]\n"
            "created: 2025-01-02\nauthor: Ada\nstatus: draft\n---\n"
            "Led by [[People/Grace|Grace]], see [the log](../Daily/2025-01-02.md). #urgent\n",
            "People/Grace.md": "Grace writes compilers. Works on [[the big one]].\n",
            "Daily/2025-01-02.md": "Met `[[Nobody]]`. ![[image.png]]\n",
            ".obsidian/app.json": "{}",
            "image.png": "x",
            "rule.mdc": "---\ndescription: For forms\nglobs: **/*.tsx\n---\nUse labels.\n",
        },
    )

    done = imported(run, vault)

    assert done["stored"] == 4
    rule = by_source(run)["instructions:rule.mdc"]  # whose front matter is no YAML
    assert (rule["content"], rule["category"]) == ("For forms\n\nUse labels.", "preferences")
    assert rule["keywords"] == ["globs: **/*.tsx"]
    assert [(skip["file"], skip["message"]) for skip in done["skipped"]] == [
        ("image.png", "the file is no note")
    ]
    alpha = by_source(run)["markdown:Projects/Alpha.md"]
    assert alpha["tags"] == ["work", "plan", "urgent"]
    assert alpha["keywords"] == ["The Big One", "status: draft"]
    assert alpha["provenance"]["agent"] == "Ada"
    assert alpha["created_at"].startswith("2025-01-02")
    ends = {(begin.split()[0], kind, end.split()[0]) for begin, kind, end in links(run)}
    assert ends == {
        ("Led", "see-also", "Grace"),
        ("Led", "see-also", "Met"),
        ("Grace", "see-also", "Led"),
    }


def test_a_long_note_splits_at_headings_and_then_at_paragraphs(run: Run, tmp_path: Path) -> None:
    short = "One fact of many. " * 20
    paragraphs = "\n\n".join(f"Paragraph {n}. {short}" for n in range(6))
    endless = "word " * 400
    path = tmp_path / "long.md"
    path.write_text(
        f"# Guide\n\nIntroduction.\n\n## Setup\n\n{short}\n\n## Use\n\n{paragraphs}\n\n"
        f"## Never\n\n{endless}\n"
    )

    done = run("import", path, "--json")

    data = json.loads(done.out)
    assert done.code == 2  # one paragraph does not fit
    assert (data["split"], data["bad"]) == (1, 1)
    [problem] = data["problems"]
    assert problem["code"] == "content_too_long"
    assert (problem["file"], problem["line"]) == ("long.md", 25)
    assert "never cut" in problem["message"]
    memories = exported(run)
    texts = [memory["content"] for memory in memories]
    assert all(len(text) <= 1_400 for text in texts)
    for n in range(6):
        assert sum(f"Paragraph {n}. {short}".strip() in text for text in texts) == 1
    use = [text for text in texts if "Paragraph" in text]
    assert all(text.startswith("# Guide\n\n## Use\n\n") for text in use)
    assert len([each for each in links(run) if each[1] == "part-of"]) == len(texts) - 1
    assert run("import", path, "--json").code == 2
    assert len(exported(run)) == len(memories)


@pytest.mark.parametrize("name", ["CLAUDE.md", "AGENTS.md", ".cursorrules"])
def test_every_section_of_an_instruction_file_is_a_memory(
    run: Run, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_text("# Rules\n\n## Tests\n\n- use pytest\n\n## Style\n\n- short functions\n")

    done = imported(run, path)

    assert done["formats"] == {str(path): "instructions"}
    memories = exported(run)
    assert sorted(memory["content"] for memory in memories) == [
        "# Rules\n\n## Style\n\n- short functions",
        "# Rules\n\n## Tests\n\n- use pytest",
    ]
    assert {memory["category"] for memory in memories} == {"preferences"}
    assert [kind for _, kind, _ in links(run)] == ["part-of"]


def test_an_instruction_file_of_many_sections_loses_none(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "AGENTS.md"
    rules = [f"## Rule {n}\n\n- keep {n} lines free\n- and `{n}` spaces" for n in range(MADE)]
    path.write_text("# House\n\n" + "\n\n".join(rules) + "\n")

    assert imported(run, path)["stored"] == MADE

    memories = exported(run)
    assert {each["content"] for each in memories} == {f"# House\n\n{rule}" for rule in rules}
    assert {each["provenance"]["source"] for each in memories} == {"instructions:AGENTS.md"}
    assert {each["provenance"]["trust"] for each in memories} == {"user"}
    assert len(links(run)) == MADE - 1


# ---- what is wrong -----------------------------------------------------------------------------


def test_a_malformed_record_is_named_and_costs_no_other(run: Run, tmp_path: Path) -> None:
    graph = tmp_path / "graph.jsonl"
    entity = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["Codes."]}
    graph.write_text(f'{json.dumps(entity)}\n{{"type": "entity"}}\nnot json\n')
    table = tmp_path / "table.csv"
    table.write_text("content,created_at\nGood.,2025-01-01\nBad.,someday\none,two,three\nAlso.,\n")
    notes = write(tmp_path / "notes", {"bad.md": "---\na: [\n---\nText.", "good.md": "Fine."})
    damaged = tmp_path / "mem0.json"
    damaged.write_text('{"results": [\n{"id": "1", "memory": "First."},\n{"id": "2",\n')

    done = run("import", graph, table, notes, damaged, "--json")

    assert done.code == 2
    data = json.loads(done.out)
    assert data["stored"] == 5
    assert [(x["file"], x["line"], x["message"].split(":")[0]) for x in data["problems"]] == [
        ("bad.md", 1, "the front matter cannot be read"),
        ("graph.jsonl", 2, "name is missing"),
        ("graph.jsonl", 3, "the line is not JSON"),
        ("mem0.json", 4, "the file is damaged from here on"),
        ("table.csv", 3, "'someday' is not a time in ISO 8601, such as 2026-11-15"),
        ("table.csv", 4, "the row has 3 fields, the header 2"),
    ]


def test_secrets_are_sealed_or_refused_and_never_shown(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text(f"content,tags\nThe key is {AWS},ops\nA note.,{AWS}\n")

    preview = run("import", table, "--dry-run")
    key_files = [*(tmp_path / "home").rglob("*key*")]
    done = run("import", table)
    again = run("import", table, "--dry-run", "--json")

    assert "1 memory stored (1 of them sensitive)" in preview.out
    assert "aws key in 1" in preview.out.replace("-", " ").lower()
    assert not key_files  # a preview makes no key
    assert "secret_in_clear_field" in preview.err
    assert json.loads(again.out)["known"] == 1
    [memory] = exported(run)
    assert memory["sensitive"]
    for ran in (preview, done, again, run("export")):
        assert AWS not in ran.out + ran.err


def test_a_preview_makes_no_store(run: Run, tmp_path: Path, place: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("A note.")

    assert "Preview: 1 memory stored" in run("import", path, "--dry-run").out
    assert not place.exists()


def test_a_value_that_no_keyword_holds_is_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "mem0.json"
    metadata = {"short": "x", "long": "y" * 100}
    path.write_text(json.dumps([{"id": "1", "memory": "A fact.", "metadata": metadata}]))

    done = run("import", path)

    assert "not kept: long of 1 record" in done.out
    assert exported(run)[0]["keywords"] == ["short: x"]


def test_the_format_may_be_forced(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.dat"
    path.write_text("Just a note.")

    assert run("import", path).code == 2
    assert run("import", path, "--from", "markdown").code == 0
    wrong = run("import", path, "--from", "word")
    assert "'word' is no format" in wrong.err
    assert "mem0" in wrong.err


def test_a_database_of_another_program_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE things (name TEXT)")

    assert "the database is of no known program" in run("import", path).err
    assert "Check what --from says." in run("import", path, "--from", "mem0").err


@pytest.mark.parametrize("text", ["Our printer is called Hedwig.\nIt is old.\n", "[]", "%PDF-1.7"])
def test_a_file_without_a_record_is_refused_as_a_whole(run: Run, tmp_path: Path, text: str) -> None:
    path = tmp_path / "printer.log"
    path.write_text(text)

    told = run("import", path)

    assert told.err.startswith(f"error: '{path}' cannot be imported: the file is of no known")
    assert "hint: --from says what it is: bearinmind," in told.err
    assert "not JSON" not in told.err
    path.write_text("a damaged line\n" + json.dumps({"content": "The printer is old."}))
    assert "1 memory stored" in run("import", path).out


def test_files_are_imported_from_python(tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_text("A note from Python.")

    with Mind.open(tmp_path / "memories.db", embedder="none", worker="off") as mind:
        importing = FilesImport(mind, dry_run=False, most_problems=None, advance=lambda _: None)
        done = importing([str(path)])
        [memory] = mind.list()

    assert done.imported.stored == 1
    assert memory.content == "A note from Python."
