from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.surfaces.failures import meaning_of

Run = Callable[..., Any]

LONG = "x" * 1401

#: Arguments, standard input, the exit code and the code of the error.
BAD_INPUT: list[tuple[list[str], bytes | None, int, str]] = [
    (["store", LONG], None, 2, "content_too_long"),
    (["store", ""], None, 2, "empty_content"),
    (["store", " \n "], None, 2, "empty_content"),
    (["store"], b"", 2, "empty_content"),
    (["store", "a\0b"], None, 2, "invalid_text"),
    (["store", "a\udcff"], None, 2, "invalid_text"),
    (["store"], b"caf\xe9", 2, "invalid_text"),
    (["store", "--file", "bad.txt"], None, 2, "invalid_text"),
    (["store", "--file", "nul.txt"], None, 2, "invalid_text"),
    (["store", "--file", "missing.txt"], None, 3, "file_missing"),
    (["store", "--file", "."], None, 2, "invalid_input"),
    (["store", "x", "--file", "bad.txt"], None, 2, "invalid_input"),
    (["store", "x", "--category", "misc"], None, 2, "unknown_category"),
    (["store", "x", "--tag", "t" * 65], None, 2, "invalid_tag"),
    (["store", "x", "--tag", ",".join(map(str, range(33)))], None, 2, "invalid_tag"),
    (["store", "x", "--tag", "a\0"], None, 2, "invalid_text"),
    (["store", "x", "--keyword", "k" * 65], None, 2, "invalid_keyword"),
    (["store", "x", "--keyword", ",".join(map(str, range(65)))], None, 2, "invalid_keyword"),
    (["store", "x", "--importance", "1.5"], None, 2, "invalid_importance"),
    (["store", "x", "--importance", "nan"], None, 2, "invalid_importance"),
    (["store", "x", "--created-at", "tomorrow"], None, 2, "invalid_time"),
    (["store", "x", "--created-at", "2026-13-01"], None, 2, "invalid_time"),
    (["store", "x", "--created-at", "9998-01-01"], None, 2, "invalid_time"),
    (["store", "x", "--valid-from", "3d"], None, 2, "invalid_time"),
    (["store", "x", "--valid-from", "0001-01-01T00:00+14:00"], None, 2, "invalid_time"),
    (
        ["store", "x", "--valid-from", "2026-02-01", "--valid-to", "2026-01-01"],
        None,
        2,
        "invalid_time",
    ),
    (["store", "x", "--agent", "a" * 301], None, 2, "invalid_provenance"),
    (["store", "x", "--session", "a\udcff"], None, 2, "invalid_text"),
    (["store", "x", "--supersedes", "zzzzzzzzzzzz"], None, 3, "memory_not_found"),
    (["store", "x", "--supersedes", "no id!"], None, 2, "invalid_id"),
    (["recall", "x", "--limit", "0"], None, 2, "invalid_query"),
    (["recall", "x", "--limit", "99999999999999999999"], None, 2, "invalid_query"),
    (["recall", "x", "--pool", "-1"], None, 2, "invalid_query"),
    (["recall", "x", "--budget", "-1"], None, 2, "invalid_query"),
    (["recall", "x" * 100_001], None, 2, "invalid_query"),
    (["recall", "-"], b"\xff\xfe", 2, "invalid_text"),
    (["recall", "x", "--since", "2026-02-01", "--until", "2026-01-01"], None, 2, "invalid_query"),
    (["recall", "x", "--since", "soon"], None, 2, "invalid_time"),
    (["recall", "x", "--until", "999999999w"], None, 2, "invalid_time"),
    (["recall", "x", "--as-of", "3 days"], None, 2, "invalid_time"),
    (["recall", "x", "--category", "misc"], None, 2, "unknown_category"),
    (["recall", "x", "--tag", "t" * 65], None, 2, "invalid_tag"),
    (["recall", "x", "--session", "a\udcff"], None, 2, "invalid_text"),
    (["recall", "x", "--why-not", "zzzzzzzzzzzz"], None, 3, "memory_not_found"),
    (["list", "--after", "zzzzzzzzzzzz"], None, 3, "memory_not_found"),
    (["list", "--since", "x"], None, 2, "invalid_time"),
    (["get", "zzzzzzzzzzzz"], None, 3, "memory_not_found"),
    (["get", "far too long to be an id"], None, 2, "invalid_id"),
    (["get", ""], None, 2, "invalid_id"),
    (["why", "zzzzzzzzzzzz"], None, 3, "memory_not_found"),
    (["timeline", "zzzzzzzzzzzz"], None, 3, "memory_not_found"),
    (["timeline", "2026-99-01"], None, 2, "invalid_time"),
    (["timeline", "--same-session"], None, 2, "invalid_input"),
    (["update", "zzzzzzzzzzzz", "x"], None, 3, "memory_not_found"),
    (["update", "zzzzzzzzzzzz", "--tag", "a", "--no-tags"], None, 2, "invalid_input"),
    (["delete", "zzzzzzzzzzzz"], None, 3, "memory_not_found"),
    (["restore", "zzzzzzzzzzzz"], None, 3, "memory_not_found"),
    (["purge", "zzzzzzzzzzzz", "--yes"], None, 3, "memory_not_found"),
    (["link", "zzzzzzzzzzzz", "see-also", "yyyyyyyyyyyy"], None, 3, "memory_not_found"),
    (["import", "missing.jsonl"], None, 3, "file_missing"),
    (["demo", "--keep", "bad.txt"], None, 2, "invalid_input"),
    (["--config", "missing.toml", "list"], None, 2, "invalid_setting"),
    (["--config", "bad.txt", "list"], None, 2, "invalid_setting"),
    (["--user", "", "list"], None, 2, "invalid_setting"),
]


@pytest.mark.parametrize(("args", "given", "code", "name"), BAD_INPUT)
def test_bad_input_is_refused_with_a_code_and_a_hint(
    run: Run, remember: Run, args: list[str], given: bytes | None, code: int, name: str
) -> None:
    Path("bad.txt").write_bytes(b"caf\xe9")
    Path("nul.txt").write_bytes(b"a\0b")
    remember("Something that is there.")

    human = run(*args, stdin=given)
    machine = run(*args, "--json", stdin=given)

    assert human.code == machine.code == code
    assert human.out == ""
    assert human.err.startswith("error: ")
    assert machine.error["code"] == name
    assert f"error: {' '.join(machine.error['message'].split())}\n" in human.err
    assert len(run("list", "--json").json["memories"]) == 1


USAGE: list[list[str]] = [
    ["no-such-command"],
    ["recall"],
    ["recall", "x", "--limit", "many"],
    ["recall", "x", "--sort-by", "mood"],
    ["recall", "x", "--state", "gone"],
    ["list", "--limit", "0"],
    ["list", "--limit", "99999999999999999999"],
    ["timeline", "--before", "-1"],
    ["store", "x", "--trust", "blind"],
    ["store", "x", "--importance", "high"],
    ["store", "x", "y"],
    ["link", "a", "likes", "b"],
    ["get"],
    ["import"],
    ["list", "--no-such-option"],
]


@pytest.mark.parametrize("args", USAGE)
def test_wrong_usage_exits_with_2_and_points_to_the_help(run: Run, args: list[str]) -> None:
    ran = run(*args)

    assert ran.code == 2
    assert ran.out == ""
    assert "Usage: " in ran.err


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["list", "--limit", "0"], "Invalid value for '--limit': it must be 1 or more, not 0"),
        (["list", "--limit", "x"], "it must be a whole number, not 'x'"),
        (["list", "--limit", "10001"], "it must be 10,000 or less, not 10001"),
        (["store", "x", "--trust", "blind"], "Invalid value for '--trust': 'blind' is not one of"),
        (["list", "--state", "gone"], "Invalid value for '--state': 'gone' is not one of"),
    ],
)
def test_a_wrong_value_of_an_option_is_said_with_what_is_allowed(
    run: Run, args: list[str], said: str
) -> None:
    assert said in run(*args).err


#: Arguments, the exit code, and a part of the message and of the remedy.
REMEDIES: list[tuple[list[str], int, str, str]] = [
    (["get", "k" * 1_000], 2, f"'{'k' * 60}'… is not a memory id", "An id is 12"),
    (["curate", "show", "nope"], 3, "begins with 'nope'", "curate inbox --all"),
    (["curate", "undo"], 2, "which proposals", "Give ids; `curate inbox"),
    (["curate", "apply", "k7", "--all-of", "link"], 2, "--all-of link", "not both."),
    (["store", "x", "--created-at", "9999-12-31"], 2, "and 9999-12-30", "ISO 8601"),
    (["recall", "x", "--as-of", "0001-01-01"], 2, "between 0001-01-02", "ISO 8601"),
    (["store", "x", "--valid-from", "2026-02-01", "--valid-to", "2026-01-01"], 2, "", "Swap"),
    (["--store", "", "stats"], 2, "the name of the store is empty", "path of a file"),
    (["--store", ".", "stats"], 5, "is a folder", "Name a file in it: memories.db"),
    (["backup", "gone/x"], 3, "the folder 'gone' does not exist", "Make it"),
    (["export", "gone/x"], 3, "the folder 'gone' does not exist", "Make it"),
    (["graph", "export", "--output", "gone/x"], 3, "the folder 'gone' does", "Make it"),
    (["backup", "--verify", "gone/x"], 3, "there is no file 'gone/x'", "Check the path."),
    (["restore-store", "gone"], 3, "there is no file 'gone'", "Check the path."),
    (["import", "gone"], 3, "there is no file 'gone'", "`-` reads standard input"),
    (["mcp", "--key-file", "gone"], 3, "no file 'gone'", "Check the path."),
    (["sync", "connect", "nowhere", "--key-file", "text.txt"], 2, "'nowhere'", "`--key-file`."),
    (["config", "set", "foo", "3"], 2, "'foo' (from the command)", "`bearinmind config` lists"),
    (["recall", "x", "--budget", "-5"], 2, "-5 bytes is negative", "0 bytes or more"),
    (["recall", "x", "--decay", "facts"], 2, "'facts' sets nothing", "such as facts=365."),
    (["recall", "x", "--decay", "facts=0"], 2, "is 0.0", "above 0."),
    (["recall", "x", "--leg-weight", "graph=-1"], 2, "is -1.0", "0 or more."),
    (["recall", "x", "--leg-weight", "foo=1"], 2, "not one of lexical, dense, graph", "Name some"),
    (["update", "zz", "--tag", "a", "--no-tags"], 2, "contradict", "Give one of the two."),
]


@pytest.mark.parametrize(("args", "code", "said", "remedy"), REMEDIES)
def test_the_message_names_what_was_given_and_the_hint_what_helps(
    run: Run, remember: Run, args: list[str], code: int, said: str, remedy: str
) -> None:
    remember("Something that is there.")
    _write_text(Path("text.txt"))

    ran = run(*args)

    assert ran.code == code
    error, _, hint = ran.err.partition("hint: ")
    assert said in error
    assert remedy in hint


def test_a_store_is_imported_by_way_of_its_export(run: Run, tmp_path: Path) -> None:
    Mind.open(tmp_path / "other.db").close()

    ran = run("import", "--json", tmp_path / "other.db")

    assert "is a Bear in Mind store" in ran.error["message"]
    assert f"bearinmind --store {tmp_path / 'other.db'} export - |" in ran.error["hint"]


def test_doctor_does_not_send_to_itself(run: Run) -> None:
    _write_text(Path("text.txt"))

    assert "bearinmind doctor" not in run("--store", "text.txt", "doctor").out


def test_the_session_of_a_memory_that_has_none_is_not_asked_for(run: Run, remember: Run) -> None:
    kept = remember("Something that is there.")

    ran = run("timeline", kept, "--same-session", "--json")

    assert "--session" in ran.error["hint"]


def test_a_key_that_is_none_is_not_mended_by_what_refuses_it(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARINMIND_VAULT_KEY", "bad")

    assert "secret key --new" in run("secret", "key", "--create", "--json").error["hint"]


def test_an_ambiguous_beginning_names_the_candidates(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "two.jsonl"
    file.write_text('{"id":"abc000000001","content":"1"}\n{"id":"abc000000002","content":"2"}\n')
    run("import", file)

    ran = run("get", "abc", "--json")

    assert ran.code == 4
    assert ran.error["code"] == "ambiguous_id"
    assert "abc000000002" in ran.error["message"]


def _write_text(path: Path) -> None:
    path.write_text("This is not a database, it only looks like a file. " * 40)


def _write_other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE other (x)")


def _write_newer(path: Path) -> None:
    Mind.open(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")


@pytest.mark.parametrize(
    ("prepare", "name"),
    [
        (Path.mkdir, "store_unavailable"),
        (_write_text, "store_damaged"),
        (_write_other_database, "store_damaged"),
        (_write_newer, "store_too_new"),
    ],
)
@pytest.mark.usefixtures("by_words")
def test_a_store_that_cannot_be_used_is_left_alone(
    run: Run, place: Path, prepare: Callable[[Path], None], name: str
) -> None:
    prepare(place)
    before = place.read_bytes() if place.is_file() else b""

    for args in (["store", "x"], ["recall", "x"], ["list"], ["stats"], ["export"], ["get", "k7"]):
        ran = run(*args, "--json")
        assert ran.code == 5
        assert ran.error["code"] == name
        assert ran.error["hint"]
    doctor = run("doctor")
    assert doctor.code == 5
    assert "problem" in doctor.out
    assert (place.read_bytes() if place.is_file() else b"") == before


def test_an_unexpected_error_is_one_line_and_a_hint(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember("Something.")

    def fail(self: Mind) -> None:
        raise ZeroDivisionError("on\npurpose")

    monkeypatch.setattr(Mind, "stats", fail)
    human, machine = run("stats"), run("stats", "--json")

    assert human.code == machine.code == 70
    assert human.err.splitlines()[0] == "internal error: ZeroDivisionError: on purpose"
    assert human.err.splitlines()[1].startswith("hint: This is a bug")
    assert machine.error["code"] == "internal_error"


def test_an_interrupt_exits_with_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(self: Mind, content: str, **_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Mind, "store", interrupt)

    assert run("store", "x").code == 130


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ContentTooLong(), 2),
        (errors.FileMissing(), 3),
        (errors.SelfLink(), 4),
        (errors.StoreFull(), 5),
        (errors.MindError("x"), 1),
    ],
)
def test_the_kind_of_an_error_decides_the_exit_code(error: errors.MindError, code: int) -> None:
    assert meaning_of(error).exit_code == code
