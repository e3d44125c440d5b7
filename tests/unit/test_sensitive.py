"""The sensitive boundary of a memory in a file: what is sealed, when, and who can read it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.config import Settings, checked
from bearinmind.store.sqlite import SqliteStore
from bearinmind.testing import FixedClock
from bearinmind.types import AlreadyKnown, Memory, Stored
from bearinmind.vault.keys import Key

SECRET = "the wifi password is kelp9salt"  # noqa: S105  made up
OTHER = "the wifi password is salt9kelp"
Open = Callable[..., Mind]


def bytes_of(path: Path) -> bytes:
    """All that a store has on disk."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def key_file() -> Path:
    return Settings().vault_key_file


# ---- storing -----------------------------------------------------------------------------------


def test_content_with_a_secret_becomes_sensitive(memory: Mind, path: Path) -> None:
    kept = memory.store(SECRET, keywords=["router"]).memory
    assert kept.sensitive
    assert kept.content == f"[sensitive: password; bearinmind secret get {kept.id}]"
    assert memory.get(kept.id) == kept
    assert b"kelp9salt" not in bytes_of(path)
    assert memory.secrets.reveal(kept.id) == SECRET


def test_a_flagged_memory_is_sensitive_whatever_it_says(memory: Mind, path: Path) -> None:
    kept = memory.store("the walrus sleeps at noon", sensitive=True).memory
    assert kept.content == f"[sensitive; bearinmind secret get {kept.id}]"
    assert b"walrus" not in bytes_of(path)
    assert memory.secrets.reveal(kept.id) == "the walrus sleeps at noon"


def test_what_is_known_in_clear_is_sealed_when_it_is_stored_as_sensitive(
    memory: Mind, path: Path
) -> None:
    known = memory.store("the walrus sleeps at noon", tags=["zoo"]).memory

    outcome = memory.store("the walrus sleeps at noon", sensitive=True)

    assert isinstance(outcome, AlreadyKnown)
    assert (outcome.memory.id, outcome.memory.tags) == (known.id, ("zoo",))
    assert [each.id for each in memory.list()] == [known.id]
    assert memory.recall("when does the walrus sleep?").hits == ()
    assert b"walrus" not in bytes_of(path)
    assert memory.secrets.reveal(known.id) == "the walrus sleeps at noon"


def test_an_ordinary_memory_stays_as_it_is_and_needs_no_key(memory: Mind) -> None:
    assert memory.store("the walrus sleeps at noon").memory.content == "the walrus sleeps at noon"
    assert not key_file().exists()


def test_detection_can_be_switched_off(open_memory: Open) -> None:
    memory = open_memory(detect_secrets=False)
    assert not memory.store(SECRET).memory.sensitive
    assert memory.store(OTHER, sensitive=True).memory.sensitive
    assert memory.recall("password: salt9kelp").query.text == "password: salt9kelp"


def test_the_same_secret_is_known_and_another_one_is_not(memory: Mind) -> None:
    first = memory.store(SECRET).memory
    assert memory.store(f"  {SECRET}\n") == AlreadyKnown(memory=first)
    assert isinstance(memory.store(OTHER), Stored)


def test_a_secret_in_a_field_kept_in_clear_is_refused(memory: Mind) -> None:
    with pytest.raises(errors.SecretInClearField, match=r"a keyword holds.* password"):
        memory.store("the router", keywords=["password: kelp9salt"])
    with pytest.raises(errors.SecretInClearField, match="source"):
        memory.store("the router", source="https://tove:kelp9salt@git.example.net")
    kept = memory.store("the router").memory
    with pytest.raises(errors.SecretInClearField, match="a tag"):
        memory.update(kept.id, tags=("ghp_Zk3Q1wXn5Rj7Yc9Vb2Lt4Mf6Hs0GdUaEiOq8",))
    assert memory.stats().live == 1


def test_a_sensitive_memory_is_recalled_by_its_labels_and_its_kind(memory: Mind) -> None:
    kept = memory.store(SECRET, tags=["router"], keywords=["internet"]).memory
    for query in ("router", "internet", "password", "facts"):
        assert [hit.memory for hit in memory.recall(query).hits] == [kept]
    for query in ("wifi", "kelp9salt", "bearinmind secret get"):
        assert memory.recall(query).hits == ()


# ---- changing ----------------------------------------------------------------------------------


def test_an_update_is_scanned_and_seals_the_versions_that_tell(
    memory: Mind, open_memory: Open, path: Path
) -> None:
    careless = open_memory(detect_secrets=False)
    kept = careless.store("the router is grey").memory
    careless.update(kept.id, content=SECRET)
    careless.update(kept.id, content="the router is black")
    assert b"kelp9salt" in bytes_of(path)
    memory.update(kept.id, content=OTHER)
    assert [version.sensitive for version in memory.versions(kept.id)] == [False, True, False, True]
    assert b"kelp9salt" not in bytes_of(path)
    assert memory.secrets.reveal(kept.id, version=2) == SECRET
    assert memory.secrets.reveal(kept.id) == OTHER


def test_the_flag_seals_every_version_and_overwrites_the_text(memory: Mind, path: Path) -> None:
    kept = memory.store("the walrus sleeps", tags=["zoo"]).memory
    memory.update(kept.id, content="the walrus wakes")
    memory.delete(kept.id)
    memory.restore(kept.id)
    assert b"walrus" in bytes_of(path)
    memory.update(kept.id, sensitive=True)
    versions = memory.versions(kept.id)
    assert all(version.sensitive for version in versions)
    assert b"walrus" not in bytes_of(path)
    said = [memory.secrets.reveal(kept.id, version=version.version) for version in versions]
    assert said == ["the walrus sleeps", *["the walrus wakes"] * 4]
    assert memory.recall("walrus").hits == ()
    assert len(memory.recall("zoo").hits) == 1
    assert all(finding.good for finding in memory.check())


def test_unflagging_is_explicit_and_audited(memory: Mind) -> None:
    kept = memory.store(SECRET).memory
    memory.update(kept.id, tags=("router",))
    assert memory.get(kept.id).sensitive
    plain = memory.update(kept.id, sensitive=False)
    assert (plain.content, plain.sensitive) == (SECRET, False)
    assert [hit.memory for hit in memory.recall("wifi").hits] == [plain]
    assert [version.sensitive for version in memory.versions(kept.id)] == [True, True, False]
    assert [entry.action for entry in memory.secrets.audit()] == ["unseal"]
    assert not memory.update(kept.id, tags=("wifi",)).sensitive  # its content was judged


def test_an_update_that_changes_nothing_writes_nothing(memory: Mind) -> None:
    kept = memory.store(SECRET, tags=["router"]).memory
    assert memory.update(kept.id, content=SECRET) == kept
    assert memory.update(kept.id, sensitive=True) == kept
    assert memory.update(kept.id, tags=("router",)) == kept
    assert memory.update(kept.id, content=OTHER).version == 2
    assert memory.secrets.reveal(kept.id, version=1) == SECRET


def test_deleting_restoring_and_purging_need_no_key(memory: Mind, path: Path) -> None:
    kept = memory.store(SECRET).memory
    key_file().unlink()
    memory.secrets.vault.refresh()
    memory.delete(kept.id)
    restored = memory.restore(kept.id)
    assert memory.update(kept.id, importance=0.9).importance == 0.9
    assert restored.sensitive
    memory.delete(kept.id)
    memory.purge(memory.plan_purge([kept.id]))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM secrets").fetchone() == (0,)


# ---- reading -----------------------------------------------------------------------------------


def test_who_reads_a_secret_is_written_down(memory: Mind, clock: Callable[[], object]) -> None:
    kept = memory.store(SECRET).memory
    memory.secrets.reveal(kept.id, agent="claude")
    memory.secrets.reveal(kept.id[:6])
    entries = memory.secrets.audit()
    assert [(entry.action, entry.id, entry.version, entry.agent) for entry in entries] == [
        ("get", kept.id, 1, None),
        ("get", kept.id, 1, "claude"),
    ]
    assert entries[0].at == clock()


def test_nobody_reads_a_secret_that_cannot_be_written_down(memory: Mind, path: Path) -> None:
    kept = memory.store(SECRET).memory
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE audit")
    with pytest.raises(errors.StoreFailure):
        memory.secrets.reveal(kept.id)


def test_an_ordinary_memory_has_no_secret_to_get(memory: Mind) -> None:
    kept = memory.store("the walrus sleeps").memory
    with pytest.raises(errors.NotSensitive, match=kept.id):
        memory.secrets.reveal(kept.id)
    with pytest.raises(errors.MemoryNotFound, match="no version 7"):
        memory.secrets.reveal(kept.id, version=7)


def test_another_user_of_the_file_cannot_get_it(memory: Mind, open_memory: Open) -> None:
    kept = memory.store(SECRET).memory
    bea = open_memory(user="bea")
    with pytest.raises(errors.MemoryNotFound):
        bea.secrets.reveal(kept.id)
    assert bea.secrets.list() == []


def test_a_record_moved_to_another_owner_in_the_file_does_not_open(
    memory: Mind, open_memory: Open, path: Path
) -> None:
    kept = memory.store(SECRET).memory
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("memories", "secrets"):
            connection.execute(f"UPDATE {table} SET owner = 'bea'")
    with pytest.raises(errors.SealBroken):
        open_memory(user="bea").secrets.reveal(kept.id)


# ---- keys --------------------------------------------------------------------------------------


def test_without_the_key_everything_else_works(memory: Mind, path: Path) -> None:
    kept = memory.store(SECRET, tags=["router"]).memory
    key_file().rename(key_file().with_name("elsewhere"))
    with Mind(SqliteStore(path)) as keyless:
        keyless.store("the walrus sleeps")
        assert len(keyless.recall("router walrus").hits) == 2
        assert keyless.get(kept.id).content.startswith("[sensitive")
        for needs_it in (
            lambda: keyless.secrets.reveal(kept.id),
            lambda: keyless.store(OTHER),
            lambda: keyless.update(kept.id, content=OTHER),
            lambda: keyless.update(kept.id, sensitive=False),
        ):
            with pytest.raises(errors.VaultKeyMissing):
                needs_it()
        assert keyless.stats().live == 2
        assert not keyless.secrets.status().good
        assert keyless.secrets.status().unreadable == 1


def test_the_key_may_come_from_a_setting(open_memory: Open) -> None:
    key = Key.new()
    kept = open_memory(vault_key=key.text).store(SECRET).memory
    assert not key_file().exists()
    assert open_memory(vault_key=f"{Key.new().text} {key.text}").secrets.reveal(kept.id) == SECRET
    with pytest.raises(errors.VaultKeyMissing, match=key.id):
        open_memory(vault_key=Key.new().text).secrets.reveal(kept.id)


def test_a_setting_with_a_key_never_shows_it() -> None:
    key = Key.new().text
    settings = Settings.model_validate({"vault_key": key, "vault_token": "s.token"})
    assert key not in f"{settings!r} {settings.model_dump_json()}"
    assert "s.token" not in f"{settings!r} {settings.model_dump_json()}"


@pytest.mark.parametrize("name", ["vault_key", "vault_token", "llm_key", "provider_keys"])
def test_an_error_about_a_secret_setting_does_not_quote_it(name: str) -> None:
    with pytest.raises(errors.InvalidSetting, match=name) as caught:
        checked({name: 4711_0815})
    assert "47110815" not in caught.value.message


# ---- queries -----------------------------------------------------------------------------------


def test_a_secret_in_a_query_goes_nowhere(memory: Mind) -> None:
    memory.store("the router is grey")
    answer = memory.recall("router password: kelp9salt", expanded=["pwd=salt9kelp"])
    assert answer.query.text == "router password: [password]"
    assert answer.query.expanded == ("pwd=[password]",)
    assert len(answer.hits) == 1


def test_a_memory_is_sealed_before_anything_sees_it(
    memory: Mind, make: Callable[..., Memory], clock: FixedClock
) -> None:
    first = make(SECRET, created_at=clock.now)
    history = memory.transfer.admit([first, replace(first, content="plain", version=2)])
    assert history.versions[0].content.startswith("[sensitive: password;")
    assert history.versions[1].content == "plain"
    assert [record.version for record in history.sealed] == [1]
