from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bearinmind.surfaces import lines, transfer

Run = Callable[..., Any]


def _jsonl(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture
def rich_store(run: Run, remember: Run) -> None:
    """A store with every state, versions, provenance, and links made and ended."""
    first = remember("The cache is Redis.", "--created-at", "2026-01-01", "--tag", "a,b")
    second = remember("The cache is Valkey.", "--created-at", "2026-02-01", "--supersedes", first)
    third = remember("The cache is Redis.", "--created-at", "2026-03-01", "--supersedes", second)
    fourth = remember("The cache is Valkey.", "--created-at", "2026-04-01", "--supersedes", third)
    origin = ("--agent", "x", "--session", "s", "--project", "p", "--source", "/etc/ü", "--trust")
    other = remember(
        "Zoë says: “naïve” 🦊\n\tsecond line",
        *("--keyword", "two words", "--importance", 0.125, "--category", "people"),
        *("--valid-from", "2026-01-01T00:00:00.000001", "--valid-to", "2026-06-01"),
        *origin,
        "external",
    )
    run("update", other, "Zoë says less.", "--no-tags", "--importance", 1)
    run("delete", remember("To be deleted."))
    back = remember("Deleted and restored.")
    run("delete", back)
    run("restore", back)
    run("link", other, "see-also", fourth)
    run("link", other, "see-also", fourth, "--remove")
    run("link", other, "see-also", fourth)
    run("link", back, "derives-from", other)


def test_an_export_has_a_header_memories_and_links(run: Run, rich_store: None) -> None:
    records = [json.loads(line) for line in run("export").out.splitlines()]

    assert records[0]["record"] == "bearinmind-export"
    assert records[0]["format"] == 1
    assert records[0]["memories"] == 7
    assert [record["record"] for record in records[1:]] == ["memory"] * 7 + ["link"] * 6
    versions = {record["content"]: len(record["earlier"]) for record in records[1:8]}
    assert versions["Zoë says less."] == 1
    assert versions["Deleted and restored."] == 2


@pytest.mark.parametrize("name", ["copy.jsonl", "copy.jsonl.gz"])
def test_export_import_export_gives_the_same_bytes(
    run: Run, rich_store: None, tmp_path: Path, name: str
) -> None:
    copy = tmp_path / name
    assert "Exported 7 memories and 6 links" in run("export", copy).out
    other = tmp_path / "other.db"

    done = run("import", copy, "--json", store=other).json

    assert (done["stored"], done["links_stored"], done["bad"]) == (7, 6, 0)
    before = run("export").out_bytes.split(b"\n", 1)[1]
    after = run("export", store=other).out_bytes.split(b"\n", 1)[1]
    assert before == after


def test_importing_again_changes_nothing(run: Run, rich_store: None, tmp_path: Path) -> None:
    run("export", tmp_path / "copy.jsonl")
    before = run("export").out.split("\n", 1)[1]

    ran = run("import", tmp_path / "copy.jsonl")

    assert ran.code == 0
    assert ran.out.startswith(
        "0 memories stored, 7 memories known already, 0 links added, 6 links known already"
    )
    assert run("export").out.split("\n", 1)[1] == before


def test_an_import_may_be_piped_in(run: Run, remember: Run, tmp_path: Path) -> None:
    remember("Something.")
    exported = run("export").out_bytes

    for content in (exported, gzip.compress(exported)):
        other = tmp_path / f"{len(content)}.db"
        assert run("import", "-", "--json", stdin=content, store=other).json["stored"] == 1


def test_lines_from_elsewhere_need_only_content(run: Run, tmp_path: Path) -> None:
    file = _jsonl(
        tmp_path / "foreign.jsonl",
        {"content": "Plain."},
        {"id": 17, "content": "Numbered.", "tags": "a, b", "expanded_keywords": "x,y", "score": 3},
        {"id": "row-1", "content": "Named.", "tags": ["c"], "keywords": None, "record": "row"},
        {"content": "Dated.", "created_at": "2026-01-01T00:00:00+01:00", "category": "person"},
    )

    assert run("import", file, "--json").json["stored"] == 4
    found = {m["content"]: m for m in run("list", "--json").json["memories"]}
    assert all(len(memory["id"]) == 12 for memory in found.values())
    assert (found["Numbered."]["tags"], found["Numbered."]["keywords"]) == (["a", "b"], ["x", "y"])
    assert found["Named."]["tags"] == ["c"]
    assert found["Dated."]["created_at"] == "2025-12-31T23:00:00Z"
    assert found["Dated."]["category"] == "people"


def test_importing_again_does_not_bring_back_what_was_deleted(run: Run, tmp_path: Path) -> None:
    file = _jsonl(tmp_path / "foreign.jsonl", {"id": "1", "content": "Unwanted."})
    run("import", file)
    [memory] = run("list", "--json").json["memories"]
    run("delete", memory["id"])

    assert run("import", file, "--json").json["known"] == 1
    assert run("list", "--json").json["memories"] == []


def test_links_follow_a_memory_that_was_known_under_another_id(
    run: Run, remember: Run, tmp_path: Path
) -> None:
    mine = remember("The same.")
    other = tmp_path / "other.db"
    theirs = remember("The same.", store=other)
    target = remember("The target.", store=other)
    run("link", theirs, "see-also", target, store=other)
    run("export", tmp_path / "copy.jsonl", store=other)

    done = run("import", tmp_path / "copy.jsonl", "--json").json

    assert (done["stored"], done["known"], done["links_stored"]) == (1, 1, 1)
    assert run("get", mine, "--json").json["links"][0]["target"] == target


def test_links_may_come_before_their_memories(run: Run, remember: Run, tmp_path: Path) -> None:
    first, second = remember("One."), remember("Two.")
    run("link", first, "see-also", second)
    exported = run("export").out.splitlines()
    (tmp_path / "turned.jsonl").write_text("\n".join(exported[::-1]))

    done = run("import", tmp_path / "turned.jsonl", "--json", store=tmp_path / "other.db").json

    assert (done["stored"], done["links_stored"]) == (2, 1)


BAD_LINES: list[tuple[bytes, str]] = [
    (b"not json", "invalid_record"),
    (b"[1]", "invalid_record"),
    (b'"text"', "invalid_record"),
    (b"[" * 100_000, "invalid_record"),
    (b'{"content": "cut', "invalid_record"),
    (b'{"content": "\xff"}', "invalid_record"),
    (b'{"content": "\\ud800"}', "invalid_record"),
    (b'{"text": "no content"}', "invalid_record"),
    (b'{"content": 5}', "invalid_record"),
    (b'{"content": ""}', "empty_content"),
    (b'{"content": "a\\u0000b"}', "invalid_text"),
    (b'{"content": "' + b"x" * 1401 + b'"}', "content_too_long"),
    (b'{"content": "a", "category": "misc"}', "unknown_category"),
    (b'{"content": "a", "tags": ["' + b"t" * 65 + b'"]}', "invalid_tag"),
    (b'{"content": "a", "tags": {"x": 1}}', "invalid_record"),
    (b'{"content": "a", "keywords": ["' + b"k" * 65 + b'"]}', "invalid_keyword"),
    (b'{"content": "a", "importance": 2}', "invalid_importance"),
    (b'{"content": "a", "importance": NaN}', "invalid_importance"),
    (b'{"content": "a", "importance": "high"}', "invalid_record"),
    (b'{"content": "a", "created_at": "yesterday"}', "invalid_time"),
    (b'{"content": "a", "created_at": "9998-01-01"}', "invalid_time"),
    (b'{"content": "a", "created_at": 1700000000}', "invalid_record"),
    (b'{"content": "a", "updated_at": "0001-01-01T00:00:00+12:00"}', "invalid_time"),
    (b'{"content": "a", "valid_from": "2026-02-01", "valid_to": "2026-01-01"}', "invalid_time"),
    (b'{"content": "a", "agent": "' + b"x" * 301 + b'"}', "invalid_provenance"),
    (b'{"content": "a", "trust": "blind"}', "invalid_record"),
    (b'{"content": "a", "source": "postgres://app:kelp9salt@db/orders"}', "secret_in_clear_field"),
    (b'{"content": "a", "version": 99999999999999999999}', "invalid_record"),
    (b'{"content": "a", "earlier": [{"content": "b", "version": 1}]}', "invalid_record"),
    (b'{"record": "link"}', "invalid_record"),
    (b'{"record": "bearinmind-export"}', "invalid_record"),
]


def test_bad_lines_are_named_and_good_ones_are_kept(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "mixed.jsonl"
    good = [b'{"content": "good %d"}' % number for number in range(len(BAD_LINES))]
    pairs = zip(good, (line for line, _ in BAD_LINES), strict=True)
    file.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(line for pair in pairs for line in pair))

    human = run("import", file)
    machine = run("import", file, "--json")

    assert human.code == machine.code == 2
    assert human.out.startswith(f"{len(BAD_LINES)} memories stored")
    assert len(human.err.splitlines()) == 21
    assert human.err.startswith(f"{file} line 2: invalid_record: the line is not JSON")
    assert human.err.splitlines()[-1] == "and 11 more; --json lists all of them"
    done = json.loads(machine.out)
    assert (done["stored"], done["bad"]) == (0, len(BAD_LINES))
    assert [(p["line"], p["code"]) for p in done["problems"]] == [
        (2 * number, code) for number, (_, code) in enumerate(BAD_LINES, start=1)
    ]


def test_bad_links_are_named(run: Run, remember: Run, tmp_path: Path) -> None:
    first, second = remember("One."), remember("Two.")
    run("link", first, "supersedes", second)
    link = {"record": "link", "kind": "see-also", "created_at": "2026-01-01"}
    file = _jsonl(
        tmp_path / "links.jsonl",
        link | {"source": first, "target": first},
        link | {"source": first, "target": "zzzzzzzzzzzz"},
        link | {"source": first, "target": "17"},
        link | {"source": second, "target": first, "kind": "supersedes"},
        link | {"source": second, "target": first, "kind": "likes"},
        link | {"source": second, "target": first},
    )

    ran = run("import", file, "--json")

    done = json.loads(ran.out)
    assert ran.code == 2
    assert done["links_stored"] == 1
    assert [problem["code"] for problem in done["problems"]] == [
        "self_link",
        "memory_not_found",
        "invalid_record",
        "supersede_cycle",
        "invalid_record",
    ]
    assert run("doctor", "--json").out.count('"0 links without a memory at one end"') == 1


JUDGED = {
    "record": "link",
    "kind": "outdates",
    "created_at": "2026-01-01T00:00:00Z",
    "judgement": {
        "probability": 0.75,
        "by": "scorer",
        "thing": "the cache",
        "aspect": "is",
        "evidence": ["switched to “Valkey”", "since May"],
    },
}


def test_judgements_come_with_an_export_and_go_with_an_import(
    run: Run, remember: Run, tmp_path: Path
) -> None:
    old, new = remember("The cache is Redis."), remember("The cache is Valkey.")
    link = JUDGED | {"source": new, "target": old}
    file = _jsonl(tmp_path / "links.jsonl", link)
    assert run("import", file, "--json").json["links_stored"] == 1
    copy, other = tmp_path / "copy.jsonl", tmp_path / "other.db"
    run("export", copy)
    assert run("import", copy, "--json", store=other).json["links_stored"] == 1
    for store in ({}, {"store": other}):
        records = [json.loads(line) for line in run("export", **store).out.splitlines()]
        [read] = [record for record in records if record["record"] == "link"]
        assert read == link | {"removed_at": None}
    assert run("import", copy, "--json").json["links_known"] == 1


@pytest.mark.parametrize(
    ("judgement", "code"),
    [
        ({"probability": 1.5}, "invalid_link"),
        ({"probability": "likely"}, "invalid_record"),
        ({"by": "oracle"}, "invalid_record"),
        ({"thing": "x" * 101}, "invalid_link"),
        ({"evidence": ["x" * 201]}, "invalid_link"),
        ({"evidence": ["x"] * 6}, "invalid_link"),
        ({"evidence": ["the password is hunter2-and-more-9X"]}, "secret_in_clear_field"),
    ],
)
def test_a_judgement_that_cannot_be_is_not_imported(
    run: Run, remember: Run, tmp_path: Path, judgement: dict[str, Any], code: str
) -> None:
    old, new = remember("The cache is Redis."), remember("The cache is Valkey.")
    given = {**JUDGED["judgement"], **judgement}  # type: ignore[dict-item]
    link = JUDGED | {"source": new, "target": old, "judgement": given}
    ran = run("import", _jsonl(tmp_path / "links.jsonl", link), "--json")
    assert ran.code == 2
    assert [problem["code"] for problem in json.loads(ran.out)["problems"]] == [code]
    assert "hunter2" not in ran.out


def test_a_claim_of_an_import_waits_in_the_inbox(run: Run, remember: Run, tmp_path: Path) -> None:
    trusted = remember("The cache is Redis.", "--trust", "user")
    lie = {"id": "abcdefgh1234", "content": "The cache is Valkey.", "trust": "external"}
    link = {"record": "link", "source": lie["id"], "kind": "supersedes", "target": trusted}
    file = _jsonl(tmp_path / "lie.jsonl", lie, link | {"created_at": "2026-05-01"})

    assert run("import", file).code == 0
    [claim] = run("curate", "inbox", "--json").json["proposals"]
    assert (claim["origin"], claim["memories"]) == ("claim", [lie["id"], trusted])


def test_an_export_of_a_newer_release_is_refused(run: Run, tmp_path: Path) -> None:
    header = {"record": "bearinmind-export", "format": 2}
    file = _jsonl(tmp_path / "new.jsonl", header, {"record": "memory", "content": "x"})

    ran = run("import", file)

    assert ran.code == 2
    assert "error: the export has format 2; this version reads up to 1" in ran.err
    assert run("list", "--json").json["memories"] == []


def test_a_damaged_archive_gives_what_can_be_read(run: Run, tmp_path: Path) -> None:
    packed = gzip.compress(b'{"content": "first"}\n' + b'{"content": "x"}\n' * 2000)
    (tmp_path / "cut.gz").write_bytes(packed[:-20])

    ran = run("import", tmp_path / "cut.gz", "--json")

    assert ran.code == 2
    assert json.loads(ran.out)["stored"] == 2
    assert "damaged" in json.loads(ran.out)["problems"][0]["message"]


def test_an_endless_line_is_skipped_without_being_held(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "_LONGEST", 1000)
    (tmp_path / "long.jsonl").write_text("x" * 5000 + "\n" + '{"content": "after"}\n')

    ran = run("import", tmp_path / "long.jsonl", "--json")

    assert json.loads(ran.out)["stored"] == 1
    assert json.loads(ran.out)["problems"][0]["line"] == 1


def test_pages_and_batches_lose_nothing(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "BATCH", 3)
    same_time = {"created_at": "2026-01-01"}
    records = [{"content": f"Number {n}."} | same_time for n in range(10)]
    run("import", _jsonl(tmp_path / "ten.jsonl", *records))

    exported = [json.loads(line) for line in run("export").out.splitlines()[1:]]

    assert {record["content"] for record in exported} == {item["content"] for item in records}
    assert len(exported) == 10


def test_long_transfers_say_how_far_they_are(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bearinmind.surfaces.cli.terminal._PROGRESS_EVERY", 5)
    monkeypatch.setattr(transfer, "BATCH", 2)
    file = _jsonl(tmp_path / "ten.jsonl", *({"content": f"Number {n}."} for n in range(10)))

    assert run("import", file).err.splitlines() == [
        "importing: 6 records",
        "importing: 10 records",
    ]


@pytest.mark.parametrize(
    ("command", "reason"),
    [("import", "the folder has no notes"), ("export", "cannot be used: Is a directory")],
)
def test_a_folder_is_not_a_file(
    run: Run, remember: Run, tmp_path: Path, command: str, reason: str
) -> None:
    remember("Something.")

    ran = run(command, tmp_path)

    assert ran.code == 2
    assert reason in ran.err


def test_an_export_into_a_missing_folder_is_refused(run: Run, remember: Run) -> None:
    remember("Something.")

    assert run("export", "no/such/folder.jsonl").code == 3


def test_a_failed_export_leaves_no_file(
    run: Run, remember: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("Something.")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(transfer, "export", fail)
    ran = run("export", tmp_path / "copy.jsonl")

    assert ran.code == 2
    assert "No space left on device" in ran.err
    assert not list(tmp_path.glob("copy*"))


_TO_A_FILE = (["export"], ["graph", "export", "--output"], ["user", "erase", "bob", "--export"])


@pytest.fixture(params=_TO_A_FILE, ids=["export", "graph", "erase"])
def to_a_file(request: pytest.FixtureRequest, run: Run, remember: Run) -> Run:
    """A command that writes to a file, with something to write."""
    remember("Something.")
    run("--user", "bob", "store", "Of another.")
    yes = ["--yes"] if "erase" in request.param else []
    return lambda file: run(*request.param, file, *yes, "--json")


def test_nothing_is_written_over_a_file(run: Run, to_a_file: Run, tmp_path: Path) -> None:
    there = tmp_path / "copy.jsonl"
    there.write_text("precious")

    ran = to_a_file(there)

    assert ran.code == 2
    assert ran.error["message"] == f"there is already a file {str(there)!r}"
    assert there.read_text() == "precious"
    assert run("--user", "bob", "stats", "--json").json["live"] == 1


@pytest.mark.parametrize("part", ["", "-wal", "-shm"])
@pytest.mark.parametrize("way", ["itself", "relative", "by a link"])
def test_nothing_is_written_over_the_store(
    run: Run,
    to_a_file: Run,
    place: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
    part: str,
) -> None:
    target = place.with_name(f"{place.name}{part}")
    if way == "relative":
        (tmp_path / "sub").mkdir()
        monkeypatch.chdir(tmp_path / "sub")
        target = Path("..", target.name)
    if way == "by a link":
        (tmp_path / "linked").symlink_to(target)
        target = tmp_path / "linked"

    ran = to_a_file(target)

    assert ran.code == 2
    assert ran.error["message"] == f"{str(target)!r} belongs to the store itself"
    assert run("list", "--json").json["memories"][0]["content"] == "Something."


def test_a_device_can_still_be_written_to(to_a_file: Run) -> None:
    assert to_a_file("/dev/null").code == 0
