"""What runs beside an open memory, on threads of its own.

The wiring knows no surface, and some of it talks to servers as surfaces do: whoever can begin such
a thing says so here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from bearinmind.app.mind import Mind


class Companion(Protocol):
    """Something that runs until it is closed."""

    def close(self) -> None:
        """End it."""


Begin = Callable[["Mind"], Companion | None]

_known: list[Begin] = []


def add(begin: Begin) -> None:
    """Have this begun beside every memory that is opened to stay."""
    _known.append(begin)


def begin(app: Mind) -> list[Companion]:
    """Begin everything that there is to begin."""
    return [companion for each in _known if (companion := each(app)) is not None]
