"""The vault: what is sealed opens only with its key and in its place; where keys come from."""

from __future__ import annotations

import base64
import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.types import MemoryId, UserId
from bearinmind.vault.keys import (
    CommandKeys,
    FileKeys,
    GivenKeys,
    HashicorpKeys,
    Key,
    Keyring,
    KeySource,
    choose,
)
from bearinmind.vault.seal import SealingVault, opened_with, sealed_with
from support.server_thread import on_thread

ADA, ID = UserId("ada"), MemoryId("k7f29qmxt4hd")
TEXT = "the wifi password is kelp9salt"


def vault(source: KeySource, *, first_use: bool = True) -> SealingVault:
    return SealingVault(source, is_first_use=lambda: first_use)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "vault.keys"


# ---- sealing -----------------------------------------------------------------------------------


def test_what_is_sealed_opens_again() -> None:
    key = Key.new()
    sealed = sealed_with(key, ADA, ID, 1, TEXT)
    assert opened_with(key, sealed) == TEXT
    assert TEXT.encode() not in sealed.ciphertext


def test_no_two_records_are_alike_but_their_fingerprints_are() -> None:
    key = Key.new()
    one, other = (sealed_with(key, ADA, ID, 1, TEXT) for _ in range(2))
    assert one.nonce != other.nonce
    assert one.ciphertext != other.ciphertext
    assert one.fingerprint == other.fingerprint
    assert sealed_with(key, ADA, ID, 1, f" {TEXT}\n").fingerprint == one.fingerprint


def test_a_fingerprint_depends_on_the_key_and_the_owner() -> None:
    key = Key.new()
    mine = sealed_with(key, ADA, ID, 1, TEXT).fingerprint
    assert sealed_with(Key.new(), ADA, ID, 1, TEXT).fingerprint != mine
    assert sealed_with(key, UserId("bea"), ID, 1, TEXT).fingerprint != mine


@pytest.mark.parametrize(
    "moved",
    [{"owner": UserId("bea")}, {"id": MemoryId("k7f29qmxt4he")}, {"version": 2}],
    ids=["another owner", "another memory", "another version"],
)
def test_a_record_moved_to_another_place_does_not_open(moved: dict[str, object]) -> None:
    key = Key.new()
    sealed = sealed_with(key, ADA, ID, 1, TEXT)
    with pytest.raises(errors.SealBroken, match="cannot be opened"):
        opened_with(key, replace(sealed, **moved))  # type: ignore[arg-type]


def test_a_changed_record_and_a_wrong_key_do_not_open() -> None:
    key = Key.new()
    sealed = sealed_with(key, ADA, ID, 1, TEXT)
    flipped = bytes([sealed.ciphertext[0] ^ 1]) + sealed.ciphertext[1:]
    for broken in (replace(sealed, ciphertext=flipped), replace(sealed, nonce=b"")):
        with pytest.raises(errors.SealBroken):
            opened_with(key, broken)
    with pytest.raises(errors.SealBroken):
        opened_with(Key.new(), sealed)


def test_without_its_key_a_record_is_refused_with_what_is_missing(key_file: Path) -> None:
    sealed = sealed_with(Key.new(), ADA, ID, 1, TEXT)
    keyed = vault(FileKeys(key_file))
    keyed.create()
    with pytest.raises(errors.VaultKeyMissing, match=sealed.key_id) as caught:
        keyed.open(sealed)
    assert str(key_file) in caught.value.message


# ---- keys --------------------------------------------------------------------------------------


def test_a_key_never_shows_itself() -> None:
    key = Key.new()
    shown = f"{key!r} {Keyring((key,))!r} {GivenKeys(key.text)!r} {key.id}"
    assert key.text not in shown
    assert key.material.hex() not in shown
    assert HashicorpKeys("https://v.example/v1/a", "s.token").__repr__().count("s.token") == 0


def test_a_ring_is_read_from_any_layout_and_the_first_key_is_the_present_one() -> None:
    keys = [Key.new() for _ in range(3)]
    words = [key.text for key in keys]
    for text in (" ".join(words), ",".join(words), "# mine\n" + "\n".join(words) + "\n"):
        assert Keyring.read(text).keys == tuple(keys)
    assert Keyring.read(words[0] + " " + words[0]).keys == (keys[0],)
    url_safe = base64.urlsafe_b64encode(keys[0].material).decode()
    assert Keyring.read(url_safe).present == keys[0]


@pytest.mark.parametrize("text", ["", "# only a remark", "c2hvcnQ=", "not base64!", "\u00e4" * 44])
def test_what_is_no_key_is_refused_without_being_told(text: str) -> None:
    with pytest.raises(errors.InvalidVaultKey) as caught:
        Keyring.read(text)
    assert not text or text not in str(caught.value)


def test_the_settings_choose_the_source_in_one_order(key_file: Path) -> None:
    key = Key.new().text
    every = {"key": key, "command": "print-key", "url": "https://v.example/v1/a", "token": "t"}
    found = []
    while True:
        found.append(type(choose(**({"file": key_file} | every))))  # type: ignore[arg-type]
        if found[-1] is FileKeys:
            break
        name = next(name for name, value in every.items() if value)
        every[name] = None  # type: ignore[assignment]
    assert found == [GivenKeys, CommandKeys, HashicorpKeys, FileKeys]


# ---- the key file ------------------------------------------------------------------------------


def test_a_key_file_is_made_on_first_use_for_its_owner_alone(key_file: Path) -> None:
    keyed = vault(FileKeys(key_file))
    sealed = keyed.seal(ADA, ID, 1, TEXT)
    assert stat.S_IMODE(key_file.stat().st_mode) == 0o600
    assert keyed.made_key_at == FileKeys(key_file)
    again = vault(FileKeys(key_file))
    assert again.open(sealed) == TEXT
    assert again.made_key_at is None


def test_no_key_is_made_when_secrets_are_there_already(key_file: Path) -> None:
    closed = vault(FileKeys(key_file), first_use=False)
    with pytest.raises(errors.VaultKeyMissing, match="there are secrets here already") as caught:
        closed.seal(ADA, ID, 1, TEXT)
    assert not key_file.exists()
    assert "`bearinmind secret key --create`" in caught.value.hint
    closed.create()  # as that does
    assert closed.open(closed.seal(ADA, ID, 1, TEXT)) == TEXT


def test_many_who_need_the_first_key_at_once_all_get_the_same(key_file: Path) -> None:
    start = threading.Barrier(8)

    def seal(_: int) -> str:
        keyed = vault(FileKeys(key_file))
        start.wait()
        return keyed.seal(ADA, ID, 1, TEXT).key_id

    with ThreadPoolExecutor(8) as pool:
        assert len({*pool.map(seal, range(8))}) == 1


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_file_that_others_may_read_is_refused(key_file: Path, mode: int) -> None:
    FileKeys(key_file).create()
    key_file.chmod(mode)
    with pytest.raises(errors.VaultKeyExposed, match=key_file.name) as caught:
        vault(FileKeys(key_file)).seal(ADA, ID, 1, TEXT)
    assert "chmod 600" in caught.value.hint


def test_a_key_file_with_something_else_in_it_is_refused(key_file: Path) -> None:
    FileKeys(key_file).create()
    for content in (b"", b"\xff\xfe", b"hello there"):
        key_file.write_bytes(content)
        with pytest.raises(errors.InvalidVaultKey):
            FileKeys(key_file).load()


def test_a_key_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.VaultKeyUnavailable, match="cannot be"):
        vault(FileKeys(tmp_path / "file" / "vault.keys")).seal(ADA, ID, 1, TEXT)


# ---- a command ---------------------------------------------------------------------------------


def test_a_command_prints_the_key_and_no_shell_reads_it(tmp_path: Path) -> None:
    key = Key.new()
    script = tmp_path / "print key.py"
    script.write_text(f"import sys; print({key.text!r} if sys.argv[1] == '$HOME' else '')")
    source = CommandKeys(f"{sys.executable} '{script}' $HOME")
    assert source.load() == Keyring((key,))
    assert "print key" not in source.where


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("no-such-program-at-all", "cannot be run"),
        (f"{sys.executable} -c 'print(\"c2VjcmV0\"); raise SystemExit(3)'", "status 3"),
    ],
)
def test_a_command_that_fails_says_how_and_not_what_it_printed(command: str, message: str) -> None:
    with pytest.raises(errors.VaultKeyUnavailable, match=message) as caught:
        CommandKeys(command).load()
    assert "c2VjcmV0" not in str(caught.value)


def test_a_command_that_does_not_end_is_ended() -> None:
    source = CommandKeys(f"{sys.executable} -c 'import time; time.sleep(60)'", seconds=0.2)
    with pytest.raises(errors.VaultKeyUnavailable, match="did not end"):
        source.load()


@pytest.mark.parametrize("command", [" ", "print 'unbalanced"])
def test_a_command_line_that_is_none_is_an_invalid_setting(command: str) -> None:
    with pytest.raises(errors.InvalidSetting, match="vault_key_command"):
        CommandKeys(command).load()


# ---- HashiCorp Vault ---------------------------------------------------------------------------


class KeyValueServer(BaseHTTPRequestHandler):
    """Speaks what HashiCorp Vault's KV engine, version 2, speaks for reading."""

    secrets: dict[str, object]

    def do_GET(self) -> None:
        if self.headers.get("X-Vault-Token") != "s.right":
            self._reply(403, {"errors": ["permission denied"]})
        elif self.path not in self.secrets:
            self._reply(404, {"errors": []})
        else:
            value = self.secrets[self.path]
            if isinstance(value, int):
                self._reply(value, {"errors": ["Vault is sealed"]})
            else:
                self._reply(200, {"data": {"data": value, "metadata": {"version": 1}}})

    def _reply(self, status: int, body: object) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def hashicorp() -> Iterator[Callable[[dict[str, object]], str]]:
    with ExitStack() as running:

        def start(secrets: dict[str, object]) -> str:
            handler = type("Handler", (KeyValueServer,), {"secrets": secrets})
            server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
            running.enter_context(on_thread(server))
            return f"http://127.0.0.1:{server.server_port}"

        yield start


def test_keys_are_read_from_hashicorp_vault(
    hashicorp: Callable[[dict[str, object]], str],
) -> None:
    new, old = Key.new(), Key.new()
    at = hashicorp({"/v1/secret/data/bearinmind": {"key": f"{new.text} {old.text}"}})
    source = HashicorpKeys(f"{at}/v1/secret/data/bearinmind", "s.right")
    assert source.load() == Keyring((new, old))
    assert vault(source).open(sealed_with(old, ADA, ID, 1, TEXT)) == TEXT


@pytest.mark.parametrize(
    ("path", "token", "message"),
    [
        ("/v1/secret/data/bearinmind", "s.wrong", "refuses the token"),
        ("/v1/secret/data/bearinmind", None, "refuses the token"),
        ("/v1/secret/data/other", "s.right", "has no secret there"),
        ("/v1/secret/data/sealed", "s.right", "is sealed"),
        ("/v1/secret/data/odd", "s.right", "answers 418"),
        ("/v1/secret/data/nokey", "s.right", "no field `key`"),
    ],
)
def test_what_hashicorp_vault_refuses_is_told_without_the_token(
    hashicorp: Callable[[dict[str, object]], str], path: str, token: str | None, message: str
) -> None:
    held: dict[str, object] = {
        "/v1/secret/data/bearinmind": {"key": Key.new().text},
        "/v1/secret/data/sealed": 503,
        "/v1/secret/data/odd": 418,
        "/v1/secret/data/nokey": {"other": "x"},
    }
    with pytest.raises(errors.VaultKeyUnavailable, match=message) as caught:
        HashicorpKeys(hashicorp(held) + path, token).load()
    assert "s.wrong" not in f"{caught.value} {caught.value.hint}"


def test_a_vault_that_is_down_is_told() -> None:
    with pytest.raises(errors.VaultKeyUnavailable, match="does not answer"):
        HashicorpKeys("http://127.0.0.1:9/v1/secret/data/bearinmind", "t", seconds=0.5).load()


@pytest.mark.parametrize("url", ["vault.example/v1", "ftp://vault.example", "http://vault.example"])
def test_an_address_that_would_give_the_key_away_is_refused(url: str) -> None:
    with pytest.raises(errors.InvalidSetting, match="vault_url"):
        HashicorpKeys(url, "t")
