"""The encryption keys of a vault, and the places they are loaded from."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import shlex
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Protocol, Self
from urllib.parse import urlsplit

from bearinmind import errors

KEY_BYTES = 32
_SEPARATOR = re.compile(r"[\s,]+")
_COMMENT = re.compile(r"#.*")
_PRIVATE = 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_COMMAND_SECONDS = 30  # a person may have to touch a hardware key
_HTTP_SECONDS = 10
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_REMARK = """\
# The keys of Bear in Mind's sensitive memories, the present one first. Anyone with this file
# can read them; without it nobody can. Keep a copy of it apart from the store.
"""
_STATUSES = {
    403: "refuses the token",
    404: "has no secret there",
    503: "is sealed or down for maintenance",
}


@dataclass(frozen=True)
class Key:
    """One key of 32 bytes; the keys for encryption and for fingerprints are derived from it."""

    material: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.material) != KEY_BYTES:
            raise errors.InvalidVaultKey(
                f"the key of the vault has {len(self.material)} bytes; it must have {KEY_BYTES}"
            )

    @classmethod
    def new(cls) -> Self:
        """A random key."""
        return cls(os.urandom(KEY_BYTES))

    @cached_property
    def id(self) -> str:
        """Its public name."""
        return self._derived(b"name")[:8].hex()

    @cached_property
    def for_encryption(self) -> bytes:
        """The key of AES."""
        return self._derived(b"encryption")

    @cached_property
    def for_fingerprints(self) -> bytes:
        """The key of the HMAC."""
        return self._derived(b"fingerprints")

    @property
    def text(self) -> str:
        """The key itself, in base64."""
        return base64.b64encode(self.material).decode()

    def _derived(self, purpose: bytes) -> bytes:
        return hmac.digest(self.material, b"bearinmind vault 1: " + purpose, hashlib.sha256)


@dataclass(frozen=True, slots=True)
class Keyring:
    """Keys, the present one first; the others only decrypt older records."""

    keys: tuple[Key, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """Parse base64 keys, separated by spaces, commas or line ends; # begins a comment.

        Raises `InvalidVaultKey`, without the text: it may be a mistyped key.
        """
        words = [word for word in _SEPARATOR.split(_COMMENT.sub("", text)) if word]
        if not words:
            raise errors.InvalidVaultKey("the key of the vault is empty")
        return cls(tuple(dict.fromkeys(map(_decoded, words))))

    @property
    def present(self) -> Key:
        """The key that encrypts."""
        return self.keys[0]

    def find(self, key_id: str) -> Key | None:
        """The key of that name."""
        return next((key for key in self.keys if key.id == key_id), None)


def _decoded(word: str) -> Key:
    try:
        return Key(base64.b64decode(word, altchars=b"-_" if {*"-_"} & {*word} else None))
    except (binascii.Error, ValueError):
        raise errors.InvalidVaultKey("the key of the vault is not base64") from None


class KeySource(Protocol):
    """A place that keys are loaded from."""

    @property
    def where(self) -> str:
        """The place, for messages; nothing secret."""

    def load(self) -> Keyring | None:
        """Load the keys; None when there are none yet. Raises `VaultFailure`."""


@dataclass(frozen=True, slots=True)
class GivenKeys:
    """Keys in a setting."""

    text: str = field(repr=False)
    where: ClassVar[str] = "the setting vault_key"

    def load(self) -> Keyring | None:
        """Parse the setting."""
        return Keyring.read(self.text)


@dataclass(frozen=True, slots=True)
class FileKeys:
    """Keys in a file that only its owner may read."""

    path: Path

    @property
    def where(self) -> str:
        """The file, for messages."""
        return f"the file {self.path}"

    def load(self) -> Keyring | None:
        """Read the file; None when there is none."""
        try:
            with self.path.open(encoding="utf-8") as file:
                if os.name == "posix" and os.fstat(file.fileno()).st_mode & _OTHERS:
                    raise errors.VaultKeyExposed(
                        f"others may read the key of the vault in {self.path}"
                    )
                return Keyring.read(file.read())
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise errors.InvalidVaultKey(f"{self.path} holds no key") from None
        except OSError as exc:
            raise errors.VaultKeyUnavailable(
                f"the key of the vault in {self.path} cannot be read: {exc.strerror}",
                hint="Check the permissions of the file and of its folder.",
            ) from exc

    def create(self) -> Keyring:
        """Load the file, or make it with a new key; all of several processes get the same key."""
        with self.alone():
            keys = self.load()
            if keys is None:
                keys = Keyring((Key.new(),))
                self.replace(keys)
            return keys

    def replace(self, keys: Keyring) -> None:
        """Replace the keys of the file, atomically and durably."""
        beside = self.path.with_name(f"{self.path.name}.{os.urandom(4).hex()}.part")
        with self._writing():
            try:
                file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
                with os.fdopen(file, "w", encoding="ascii") as stream:
                    stream.write(_REMARK + "".join(f"{key.text}\n" for key in keys.keys))
                    stream.flush()
                    os.fsync(stream.fileno())
                beside.replace(self.path)
                _settle(self.path.parent)
            finally:
                beside.unlink(missing_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold a lock that keeps other processes from changing the file."""
        with self._writing():
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside = self.path.with_name(f"{self.path.name}.lock")
            lock = os.open(beside, os.O_RDWR | os.O_CREAT, _PRIVATE)
        try:
            _take(lock)
            yield
        finally:
            os.close(lock)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            raise errors.VaultKeyUnavailable(
                f"the key file {self.path} cannot be written: {exc.strerror}",
                hint="Check the folder, or name another file with the `vault_key_file` setting.",
            ) from exc


if sys.platform == "win32":

    def _take(lock: int) -> None:
        import msvcrt  # noqa: PLC0415

        msvcrt.locking(lock, msvcrt.LK_LOCK, 1)

    def _settle(folder: Path) -> None:
        """Do nothing: Windows writes names through."""

else:

    def _take(lock: int) -> None:
        import fcntl  # noqa: PLC0415

        fcntl.flock(lock, fcntl.LOCK_EX)

    def _settle(folder: Path) -> None:
        """Make a new name durable: a key must survive a loss of power, as the secrets do."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@dataclass(frozen=True, slots=True)
class CommandKeys:
    """Keys that a command prints."""

    command: str
    seconds: float = _COMMAND_SECONDS

    @property
    def where(self) -> str:
        """The program without its arguments, for messages."""
        return f"the command {self._words()[0]}"

    def load(self) -> Keyring | None:
        """Run the command. Its output is never shown: it may hold the keys."""
        import subprocess  # noqa: PLC0415  only those with a key command pay for it

        try:
            done = subprocess.run(  # noqa: S603  the user's own command, and no shell reads it
                self._words(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self._failed(f"did not end within {self.seconds:g} seconds") from None
        except OSError as exc:
            raise self._failed(f"cannot be run: {exc.strerror}") from None
        if done.returncode:
            raise self._failed(f"ended with status {done.returncode}")
        return Keyring.read(done.stdout.decode("ascii", errors="replace"))

    def _words(self) -> list[str]:
        try:
            words = shlex.split(self.command)
        except ValueError as exc:
            raise errors.InvalidSetting(
                f"vault_key_command cannot be split into words: {exc}"
            ) from None
        if not words:
            raise errors.InvalidSetting("vault_key_command names no command")
        return words

    def _failed(self, why: str) -> errors.VaultFailure:
        return errors.VaultKeyUnavailable(
            f"{self.where}, which should print the key of the vault, {why}",
            hint="Run the command of the `vault_key_command` setting yourself to see why.",
        )


@dataclass(frozen=True, slots=True)
class HashicorpKeys:
    """Keys in the field `key` of a secret of HashiCorp Vault's KV engine, version 2."""

    url: str  #: such as https://vault.example.net:8200/v1/secret/data/bearinmind
    token: str | None = field(repr=False)
    seconds: float = _HTTP_SECONDS

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise errors.InvalidSetting("vault_url is not an http or https address")
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            raise errors.InvalidSetting(
                "vault_url would send the key in clear", hint="Use an https address."
            )

    @property
    def where(self) -> str:
        """The server and the path, for messages."""
        parts = urlsplit(self.url)
        return f"HashiCorp Vault at {parts.hostname}{parts.path}"

    def load(self) -> Keyring | None:
        """Ask the server for the secret."""
        import httpx  # noqa: PLC0415  only those with such a vault pay for it

        headers = {"X-Vault-Token": self.token} if self.token else {}
        try:
            answer = httpx.get(self.url, headers=headers, timeout=self.seconds)
        except httpx.HTTPError as exc:
            raise self._failed(f"does not answer ({type(exc).__name__})") from None
        if answer.status_code != httpx.codes.OK:
            raise self._failed(_STATUSES.get(answer.status_code, f"answers {answer.status_code}"))
        try:
            text = answer.json()["data"]["data"]["key"]
        except (ValueError, KeyError, TypeError):
            raise self._failed("has no field `key` there") from None
        return Keyring.read(str(text))

    def _failed(self, why: str) -> errors.VaultFailure:
        return errors.VaultKeyUnavailable(
            f"{self.where} {why}",
            hint="Check the `vault_url` and `vault_token` settings, and that it is unsealed.",
        )


def choose(
    *, key: str | None, command: str | None, url: str | None, token: str | None, file: Path
) -> KeySource:
    """The source that the settings name: the key itself, a command, HashiCorp Vault, or a file."""
    if key:
        return GivenKeys(key)
    if command:
        return CommandKeys(command)
    if url:
        return HashicorpKeys(url, token)
    return FileKeys(file.expanduser())
