"""Sensitive memories on the command line, and how they move between stores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bearinmind.vault.keys import Key, Keyring

Run = Callable[..., Any]
SECRET = "the wifi password is kelp9salt"  # noqa: S105  made up


@pytest.fixture
def key_file(at_home: Path) -> Path:
    return at_home / "data" / "bearinmind" / "vault.keys"


def lines_of(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


# ---- storing and reading -----------------------------------------------------------------------


def test_a_found_secret_is_said_once_with_where_the_key_is(run: Run, key_file: Path) -> None:
    first = run("store", SECRET)
    assert first.code == 0
    assert "[sensitive: password; bearinmind secret get " in first.out
    assert "A secret was found" in first.err
    assert f"was made in {key_file}" in first.err
    assert "kelp9salt" not in first.out + first.err
    assert "was made in" not in run("store", "his password is otter77").err


def test_a_flagged_memory_is_stored_without_a_word_about_finding(run: Run) -> None:
    run("secret", "key", "--create")
    ran = run("store", "the walrus sleeps", "--sensitive")
    assert ran.code == 0
    assert ran.err == ""


def test_secret_get_prints_it_as_it_is(run: Run, remember: Callable[..., str]) -> None:
    id_ = remember(f"{SECRET}\nand  two  spaces")
    assert run("secret", "get", id_[:5]).out == f"{SECRET}\nand  two  spaces\n"
    answer = run("secret", "get", id_, "--json").json
    assert answer == {"id": id_, "version": 1, "content": f"{SECRET}\nand  two  spaces"}


def test_list_get_and_recall_show_the_placeholder(run: Run, remember: Callable[..., str]) -> None:
    id_ = remember(SECRET, "--keyword", "router")
    placeholder = f"[sensitive: password; bearinmind secret get {id_}]"
    for command in (["list"], ["get", id_, "--versions"], ["recall", "router", "--trace"]):
        for options in ([], ["--json"]):
            ran = run(*command, *options)
            assert placeholder in ran.out
            assert "kelp9salt" not in ran.out + ran.err


def test_the_sensitive_memories_and_the_audit_are_listed(
    run: Run, remember: Callable[..., str]
) -> None:
    assert run("secret", "list").out.startswith("Nothing is stored yet")
    assert run("secret", "audit", "--json").json == {"entries": []}
    remember("plain")
    assert run("secret", "list").out == "No memory is sensitive.\n"
    assert run("secret", "audit").out == "No secret has been read.\n"
    id_ = remember(SECRET)
    assert [item["id"] for item in run("secret", "list", "--json").json["memories"]] == [id_]
    assert id_ in run("secret", "list").out
    run("secret", "get", id_)
    run("secret", "get", id_, "--agent", "claude")
    assert "claude" in run("secret", "audit").out
    entries = run("secret", "audit", "--json").json["entries"]
    assert [(entry["action"], entry["agent"]) for entry in entries] == [
        ("get", "claude"),
        ("get", "command line"),
    ]


def test_an_ordinary_memory_has_no_secret(run: Run, remember: Callable[..., str]) -> None:
    ran = run("secret", "get", remember("plain"), "--json")
    assert ran.code == 4
    assert ran.error["code"] == "not_sensitive"


def test_a_secret_in_an_option_is_refused_and_not_repeated(run: Run, place: Path) -> None:
    ran = run("store", "the router", "--source", "https://tove:kelp9salt@git.example.net")
    assert ran.code == 2
    assert "source holds what looks like: connection password" in ran.err
    assert "kelp9salt" not in ran.err
    assert run("stats", "--json").json["live"] == 0
    assert b"kelp9salt" not in place.read_bytes()


# ---- changing ----------------------------------------------------------------------------------


def test_making_a_memory_sensitive_says_how_many_versions_it_sealed(
    run: Run, remember: Callable[..., str], place: Path
) -> None:
    id_ = remember("the walrus sleeps")
    run("update", id_, "the walrus wakes")
    ran = run("update", id_, "--sensitive")
    assert ran.code == 0
    assert "2 earlier versions of it encrypted too" in ran.err
    assert "A secret was found" not in ran.err
    assert b"walrus" not in place.read_bytes()
    assert run("update", id_, "--sensitive").out.startswith("Unchanged")
    plain = run("update", id_, "--not-sensitive", "--json").json["memory"]
    assert plain["content"] == "the walrus wakes"


def test_an_update_that_brings_a_secret_is_noticed(run: Run, remember: Callable[..., str]) -> None:
    id_ = remember("the router is grey")
    ran = run("update", id_, SECRET)
    assert "A secret was found" in ran.err
    assert "earlier version" not in ran.err
    assert run("secret", "get", id_).out == f"{SECRET}\n"


# ---- the key -----------------------------------------------------------------------------------


def test_the_key_is_shown_by_its_place_and_name_alone(
    run: Run, remember: Callable[..., str], key_file: Path
) -> None:
    remember("plain")
    assert "none yet" in run("secret", "key").out
    run("secret", "key", "--create")
    [word] = [line for line in key_file.read_text().splitlines() if not line.startswith("#")]
    human, machine = run("secret", "key"), run("secret", "key", "--json").json
    assert machine == {
        "where": f"the file {key_file}",
        "key_ids": [Keyring.read(word).present.id],
        "secrets": 0,
        "unreadable": 0,
        "problem": "",
        "hint": "",
    }
    assert word not in human.out + str(machine)


def test_a_new_key_can_be_printed_to_be_kept_elsewhere(
    run: Run, monkeypatch: pytest.MonkeyPatch, key_file: Path
) -> None:
    key = run("secret", "key", "--new").out.strip()
    monkeypatch.setenv("BEARINMIND_VAULT_KEY", key)
    id_ = run("store", SECRET, "--json").json["memory"]["id"]
    assert run("secret", "get", id_).out == f"{SECRET}\n"
    assert not key_file.exists()
    for command in (["config"], ["config", "--json"], ["doctor"], ["secret", "key"]):
        assert key not in run(*command).out


def test_rotation_says_what_it_did_and_can_be_repeated(
    run: Run, remember: Callable[..., str], key_file: Path
) -> None:
    assert run("secret", "rotate").code == 3  # there is no store
    id_ = remember(SECRET)
    first = run("secret", "rotate", "--json").json
    assert (first["made"], first["sealed"], first["dropped"]) == (True, 1, 0)
    human = run("secret", "rotate", "--drop-old").out
    assert "1 secret is now sealed with the new key " in human
    assert "Forgotten: 2 old keys." in human
    assert len(Keyring.read(key_file.read_text()).keys) == 1
    assert run("secret", "get", id_).out == f"{SECRET}\n"


def test_without_the_key_a_secret_stays_shut_and_doctor_says_why(
    run: Run, remember: Callable[..., str], key_file: Path
) -> None:
    id_ = remember(SECRET)
    assert "1 sensitive memory" in run("doctor").out
    key_file.unlink()
    ran = run("secret", "get", id_)
    assert ran.code == 1
    assert ran.err.startswith(f"error: memory {id_} is sealed under the key ")
    assert "hint: Bring back the key file" in ran.err
    doctor = run("doctor", "--json")
    assert doctor.code == 5
    [check] = [x for x in json.loads(doctor.out)["checks"] if x["name"] == "vault"]
    assert not check["good"]
    assert "1 secrets cannot be read" in check["detail"]
    assert "Bring back the key file" in check["remedy"]
    assert run("recall", "password").code == 0
    assert run("store", "another walrus").code == 0
    assert run("secret", "key").out.count("their key is not here") == 1


def test_a_key_file_that_others_may_read_is_named_by_doctor(
    run: Run, remember: Callable[..., str], key_file: Path
) -> None:
    remember(SECRET)
    key_file.chmod(0o644)
    doctor = run("doctor")
    assert doctor.code == 5
    said = " ".join(doctor.out.split())
    assert f"others may read the key of the vault in {key_file}" in said
    assert "chmod 600" in doctor.out


# ---- moving ------------------------------------------------------------------------------------


def test_an_export_carries_the_sealed_text_and_an_import_takes_it_back(
    run: Run, remember: Callable[..., str], tmp_path: Path
) -> None:
    id_ = remember(SECRET, "--tag", "router")
    run("update", id_, "the wifi password is salt9kelp")
    run("update", id_, "--tag", "modem")
    remember("plain")
    file, other = tmp_path / "all.jsonl", tmp_path / "other.db"
    run("export", file)
    assert b"kelp9salt" not in file.read_bytes()
    assert [line["record"] for line in lines_of(file)].count("secret") == 2
    ran = run("import", file, store=other)
    assert "2 memories stored (1 of them sensitive)" in ran.out
    assert run("secret", "get", id_, store=other).out == "the wifi password is salt9kelp\n"
    assert run("secret", "get", id_, "--version", "1", store=other).out == f"{SECRET}\n"
    assert run("import", file, "--json", store=other).json["known"] == 2
    assert run("recall", "modem", "--json", store=other).json["hits"][0]["memory"]["id"] == id_


def test_without_the_key_an_import_keeps_what_is_sealed_until_the_key_comes(
    run: Run, remember: Callable[..., str], tmp_path: Path, key_file: Path
) -> None:
    id_ = remember(SECRET)
    file, other = tmp_path / "all.jsonl", tmp_path / "other.db"
    run("export", file)
    away = key_file.rename(tmp_path / "away")
    assert run("import", file, store=other).code == 0
    assert run("secret", "get", id_, store=other).code == 1
    away.rename(key_file)
    assert run("secret", "get", id_, store=other).out == f"{SECRET}\n"


def test_another_user_gets_it_sealed_anew_if_the_key_is_there(
    run: Run, remember: Callable[..., str], tmp_path: Path, key_file: Path
) -> None:
    id_ = remember(SECRET)
    file, other = tmp_path / "all.jsonl", tmp_path / "other.db"
    run("export", file)
    away = key_file.rename(tmp_path / "away")
    refused = run("--user", "bea", "import", file, "--json", store=other)
    assert refused.code == 2
    assert "sealed for the user 'local'" in json.loads(refused.out)["problems"][0]["message"]
    away.rename(key_file)
    assert run("--user", "bea", "import", file, store=other).code == 0
    assert run("--user", "bea", "secret", "get", id_, store=other).out == f"{SECRET}\n"


def test_imported_secrets_are_found_and_flagged_ones_sealed(
    run: Run, tmp_path: Path, place: Path
) -> None:
    file = tmp_path / "in.jsonl"
    records = [
        {"content": SECRET},
        {"content": "the walrus sleeps", "sensitive": True},
        {"content": "plain", "earlier": [{"content": "pw: otter77"}], "version": 2},
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert run("import", file, "--json").json["sensitive"] == 2
    for said in (b"kelp9salt", b"walrus", b"otter77"):
        assert said not in place.read_bytes()
    assert run("import", file, "--json").json["known"] == 3


def test_the_id_made_for_a_sensitive_record_tells_nothing_about_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps({"content": "the PIN is 4821"}) + "\n")
    ids = set()
    for name in "ab":
        monkeypatch.setenv("BEARINMIND_VAULT_KEY", Key.new().text)
        run("import", file, store=tmp_path / name)
        [memory] = run("list", "--json", store=tmp_path / name).json["memories"]
        ids.add(memory["id"])
    assert len(ids) == 2


def test_a_sealed_record_that_was_changed_or_lost_is_refused(
    run: Run, remember: Callable[..., str], tmp_path: Path
) -> None:
    remember(SECRET)
    whole, file = tmp_path / "all.jsonl", tmp_path / "bad.jsonl"
    run("export", whole)
    header, secret, memory = lines_of(whole)
    flipped = secret | {"ciphertext": secret["ciphertext"][:-8] + "AAAAAAA="}
    no_base64 = secret | {"nonce": "?"}
    for records, message in (
        ([header, flipped, memory], "cannot be opened"),
        ([header, memory], "is not in the file"),
        ([header, no_base64, memory], "nonce"),
        ([header, secret | {"id": "x"}, memory], "is not the id of a memory"),
    ):
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
        ran = run("import", file, "--json", store=tmp_path / "other.db")
        assert ran.code == 2
        problems = json.loads(ran.out)["problems"]
        assert message in problems[0]["message"]
        assert "kelp9salt" not in ran.out
