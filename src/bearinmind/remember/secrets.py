"""Finds secrets that must not be kept in clear: keys, tokens, passwords, connection strings.

Three readers look at a text: for formats of keys and tokens, for sentences and assignments that
name a secret, and by the rules of a maintained library. They say where a secret is and of which
kind, never what it is. Their patterns take 25 ms to compile, so they are loaded for the first text
that could hold a secret: most texts and queries have no word for one and nothing like a token.
"""

from __future__ import annotations

from collections.abc import Iterable

from bearinmind import errors
from bearinmind.remember.secret_values import Kind, Spot
from bearinmind.types import Draft

__all__ = [
    "Kind",
    "Spot",
    "find",
    "kinds_of",
    "masked",
    "refuse_in_clear",
    "refuse_in_clear_fields",
]

_SHORTEST_TOKEN = 16  # characters without a space
# No text without one of these, and without anything as long as a token, holds a secret.
_SIGNS = (
    *("pass", "pw", "pin", "phrase", "code", "key", "token", "secret", "cred", "login", "://", "@"),
    *("authorization", "bearer", "basic", " -u", "--user", "mysql", "mariadb"),
    *(
        "kennwort",
        "contrase",
        "clave",
        "senha",
        "parol",
        "wachtwoord",
        "senord",
        "adgangskode",
        "kodeord",
    ),
    *("salasana", "has\u0142", "heslo", "jelsz", "geslo", "lozinka", "\u0430\u0440\u043e\u043b"),
    *("\u03ba\u03c9\u03b4\u03b9\u03ba", "\u015fifre", "\u5bc6", "\u53e3\u4ee4"),
    *("\u30d1\u30b9\u30ef\u30fc\u30c9", "\u6697\u8a3c", "\ube44\ubc00\ubc88\ud638", "\uc554\ud638"),
    *("\u0645\u0631\u0648\u0631", "\u0627\u0644\u0633\u0631", "\u05e1\u05d9\u05e1\u05de"),
    *("\u092a\u093e\u0938\u0935\u0930\u094d\u0921", "m\u1eadt kh\u1ea9u", "kata "),
    *("\u0e23\u0e2b\u0e31\u0e2a", "\u0631\u0645\u0632", "root", "admin", "openssl"),
)


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
            apart.append(spot)
    return apart


def kinds_of(spots: Iterable[Spot]) -> tuple[Kind, ...]:
    """The kinds of some spots, each once, in the order of the text."""
    return tuple(dict.fromkeys(spot.kind for spot in spots))


def masked(text: str) -> str:
    """The text with the kind of each secret in its place."""
    parts: list[str] = []
    end = 0
    for spot in find(text):
        parts += [text[end : spot.start], f"[{spot.kind}]"]
        end = spot.end
    return "".join([*parts, text[end:]]) if parts else text


def refuse_in_clear_fields(draft: Draft) -> None:
    """Make sure that the fields which are kept in clear beside the content hold no secret."""
    refuse_in_clear("the category", draft.category)
    for tag in draft.tags:
        refuse_in_clear("a tag", tag)
    for keyword in draft.keywords:
        refuse_in_clear("a keyword", keyword)
    for name in ("agent", "session", "project", "source"):
        refuse_in_clear(name, getattr(draft.provenance, name) or "")


def refuse_in_clear(name: str, text: str) -> None:
    """Make sure that a text which is kept in clear under this name holds no secret."""
    for spot in find(text):
        raise errors.SecretInClearField(f"{name} holds what looks like: {spot.kind}")


def _is_possible(text: str) -> bool:
    lowered = text.lower()
    return any(sign in lowered for sign in _SIGNS) or any(
        len(word) >= _SHORTEST_TOKEN for word in text.split()
    )
