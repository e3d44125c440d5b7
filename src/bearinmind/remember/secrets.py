"""Finds and seals secrets that must not be in clear: keys, tokens, passwords, connection strings.

Three readers look at a text: for formats of keys and tokens, for sentences and assignments that
name a secret, and by the rules of a maintained library. They say where a secret is and of which
kind, never what it is. Their patterns take 25 ms to compile, so they are loaded for the first text
that could hold a secret: most texts and queries have no word for one and nothing like a token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from bearinmind import errors
from bearinmind.protocols import AuditEntry, Sealed, Secrets, Vault
from bearinmind.remember.secret_values import LONGEST, Kind, Spot
from bearinmind.types import Draft, Memory, MemoryId, Scope, UserId

_SHORTEST_TOKEN = 16  # characters without a space
# No text without one of these, and without anything as long as a token, holds a secret.
_SIGNS = (
    *("pass", "pw", "pin", "phrase", "code", "key", "token", "secret", "cred", "login", "://", "@"),
    *("authorization", "bearer", "basic", " -u", "--user", "mysql", "mariadb"),
    *("kennwort", "contrase", "clave", "senha", "parol", "wachtwoord", "senord", "adgangskode"),
    *(
        "kodeord",
        "salasana",
        "has\u0142",
        "heslo",
        "jelsz",
        "geslo",
        "lozinka",
        "\u0430\u0440\u043e\u043b",
    ),
    *("\u03ba\u03c9\u03b4\u03b9\u03ba", "\u015fifre", "\u5bc6", "\u53e3\u4ee4"),
    *("\u30d1\u30b9\u30ef\u30fc\u30c9", "\u6697\u8a3c", "\ube44\ubc00\ubc88\ud638", "\uc554\ud638"),
    *("\u0645\u0631\u0648\u0631", "\u0627\u0644\u0633\u0631", "\u05e1\u05d9\u05e1\u05de"),
    *("\u092a\u093e\u0938\u0935\u0930\u094d\u0921", "m\u1eadt kh\u1ea9u", "kata "),
    *("\u0e23\u0e2b\u0e31\u0e2a", "\u0631\u0645\u0632", "root", "admin", "openssl"),
)


_REST = re.compile(r"\S*")


def find(text: str) -> list[Spot]:
    """Every secret of a text, in order; of those that overlap, the first and longest."""
    if not _is_possible(text):
        return []
    from bearinmind.remember import (  # noqa: PLC0415  compiling its rules takes long
        secret_formats,
        secret_sentences,
    )

    spots = [
        *secret_formats.read(text),
        *secret_sentences.read(text),
        *secret_formats.read_library(text),
    ]
    apart: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: (spot.start, -spot.end)):
        if not apart or spot.start >= apart[-1].end:
            is_cut = spot.end - spot.start == LONGEST
            rest = _REST.match(text, spot.end) if is_cut else None
            apart.append(spot._replace(end=rest.end()) if rest else spot)
    return apart


def masked(text: str) -> str:
    """The text with the kind of each secret in its place."""
    parts: list[str] = []
    end = 0
    for spot in find(text):
        parts += [text[end : spot.start], f"[{spot.kind}]"]
        end = spot.end
    return "".join([*parts, text[end:]]) if parts else text


def refuse_in_clear(name: str, text: str) -> None:
    """Make sure that a text which is kept in clear under this name holds no secret."""
    for spot in find(text):
        raise errors.SecretInClearField(f"{name} holds what looks like: {spot.kind}")


def _is_possible(text: str) -> bool:
    lowered = text.lower()
    return any(sign in lowered for sign in _SIGNS) or any(
        len(word) >= _SHORTEST_TOKEN for word in text.split()
    )


# ---- the sensitive boundary ----------------------------------------------------------------------


Result = TypeVar("Result")

GET = "get"  #: it was read
UNSEAL = "unseal"  #: it was made an ordinary memory
ROTATE = "rotate"  #: everything was sealed under a new key
ACTIONS = (GET, UNSEAL, ROTATE)
_PLACEHOLDER = re.compile(r"\[sensitive(?:: (?P<kinds>[^;\]]+))?; bearinmind secret get \w+\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """Decides what is sensitive, and seals it before any other part sees it.

    The text of a sensitive memory is in its sealed record and nowhere else. Its content is a
    placeholder that names the kinds of secrets in it and how to get them, so that it can be shown,
    indexed, embedded, exported or sent like any other content.
    """

    vault: Vault
    detects: bool = True

    def refuse_in_clear_fields(self, draft: Draft) -> None:
        """Make sure that the fields kept in clear beside the content hold no secret."""
        self.refuse_in_clear("the category", draft.category)
        for tag in draft.tags:
            self.refuse_in_clear("a tag", tag)
        for keyword in draft.keywords:
            self.refuse_in_clear("a keyword", keyword)
        for name in ("agent", "session", "project", "source"):
            self.refuse_in_clear(name, getattr(draft.provenance, name) or "")

    def refuse_in_clear(self, name: str, text: str) -> None:
        """Make sure that a text which is kept in clear holds no secret."""
        if self.detects:
            refuse_in_clear(name, text)

    def kinds(self, content: str) -> tuple[Kind, ...]:
        """The kinds of secrets that a content holds."""
        spots = find(content) if self.detects else ()
        return tuple(dict.fromkeys(spot.kind for spot in spots))

    def guard(self, memory: Memory) -> tuple[Memory, tuple[Sealed, ...]]:
        """The memory as it may be kept: sealed if it is flagged or a secret is found in it."""
        kinds = self.kinds(memory.content)
        if not kinds and not memory.sensitive:
            return memory, ()
        sealed = self.vault.seal(memory.owner, memory.id, memory.version, memory.content)
        return hidden(memory, kinds), (sealed,)

    def adopt(self, owner: UserId, records: Iterable[Sealed]) -> list[Sealed]:
        """Records from elsewhere, sealed anew for an owner here.

        Without their key they stay as they are, which is of use only to the same owner.
        """
        return [self._adopted(owner, record) for record in records]

    def _adopted(self, owner: UserId, record: Sealed) -> Sealed:
        try:
            content = self.vault.open(record)
        except errors.VaultKeyMissing:
            if record.owner == owner:
                return record
            raise errors.InvalidRecord(
                f"memory {record.id} is sealed for the user {record.owner!r} under the key "
                f"{record.key_id}, which is not here",
                hint="Bring the key, or import it as that user.",
            ) from None
        except errors.SealBroken as exc:
            raise errors.InvalidRecord(exc.message, hint=exc.hint) from None
        return self.vault.seal(owner, record.id, record.version, content)


def hidden(memory: Memory, kinds: Sequence[Kind]) -> Memory:
    """A memory with a placeholder for its content."""
    return replace(memory, content=placeholder(memory.id, kinds), sensitive=True)


def placeholder(id: MemoryId, kinds: Sequence[Kind]) -> str:
    """The text that is kept in the place of a sensitive content."""
    named = f": {', '.join(kinds)}" if kinds else ""
    return f"[sensitive{named}; bearinmind secret get {id}]"


def is_placeholder(content: str) -> bool:
    """Whether a content is a placeholder."""
    return bool(_PLACEHOLDER.fullmatch(content))


def named_kinds(content: str) -> tuple[Kind, ...]:
    """The kinds that a placeholder names; unknown words in it are left out."""
    match = _PLACEHOLDER.fullmatch(content)
    words = (match["kinds"] or "").split(", ") if match else []
    return tuple(Kind(word) for word in words if word in {*Kind})


def record_of(records: Sequence[Sealed], version: int) -> Sealed | None:
    """The record that holds the content of a version."""
    older = [record for record in records if record.version <= version]
    return max(older, key=lambda record: record.version, default=None)


def under_present_key(vault: Vault, write: Callable[[], Result]) -> Result:
    """Seal and write; once more if the key was rotated away since it was read."""
    try:
        return write()
    except errors.KeyRetired:
        vault.refresh()
        return write()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reveal:
    """Opens sensitive memories for their owner."""

    store: Secrets
    vault: Vault
    clock: Callable[[], datetime]
    key: str | None = None  #: the id of the key by which it is asked, where there is one

    def __call__(
        self, scope: Scope, memory: Memory, *, agent: str | None = None, action: str = GET
    ) -> str:
        """The content of a sensitive version; every call leaves an entry in the audit."""
        if not memory.sensitive:
            raise errors.NotSensitive(f"memory {memory.id} is not sensitive")
        content = self._open(scope, memory)
        self.store.note(
            AuditEntry(self.clock(), scope.user, action, memory.id, memory.version, agent, self.key)
        )
        return content

    def _open(self, scope: Scope, memory: Memory) -> str:
        """Decrypt; a rotation that ends between reading and opening has sealed it anew."""
        missing = None
        while True:
            record = record_of(self.store.sealed(scope, memory.id), memory.version)
            if record is None:
                raise errors.SealBroken(f"what memory {memory.id} says is not in the store")
            try:
                return self.vault.open(record)
            except errors.VaultKeyMissing:
                if record.key_id == missing:
                    raise
                missing = record.key_id
