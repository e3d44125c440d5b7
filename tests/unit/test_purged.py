"""A purge holds for the versions that whoever purged knew, sealed ones included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bearinmind.changes import covers, marks
from bearinmind.protocols import History, Sealed
from bearinmind.types import Memory

Make = Callable[..., Memory]


def sealed_as(memory: Memory, text: bytes, key: str = "k1") -> History:
    """A version that looks like every other sealed one, and says this."""
    record = Sealed(
        owner=memory.owner,
        id=memory.id,
        version=memory.version,
        key_id=key,
        nonce=b"n",
        ciphertext=b"c",
        fingerprint=text * 8,
    )
    return History(versions=(replace(memory, sensitive=True),), sealed=(record,))


def test_what_was_known_is_covered_and_what_came_later_is_not(make: Make) -> None:
    first = make("heron")
    later = replace(first, content="grey heron", version=2)
    known = marks(History(versions=(first,)))

    assert covers(known, History(versions=(first,)))
    assert not covers(known, History(versions=(first, later)))
    assert covers([*known, *marks(History(versions=(later,)))], History(versions=(first, later)))


def test_two_secrets_of_the_same_moment_are_two_versions(make: Make) -> None:
    memory = make("[sensitive]")
    known = marks(sealed_as(memory, b"a"))

    assert covers(known, sealed_as(memory, b"a"))
    assert not covers(known, sealed_as(memory, b"b"))


def test_a_secret_that_was_sealed_anew_under_another_key_is_still_known(make: Make) -> None:
    memory = make("[sensitive]")

    assert covers(marks(sealed_as(memory, b"a", "k1")), sealed_as(memory, b"z", "k2"))


def test_a_version_that_changed_something_else_still_says_its_secret(make: Make) -> None:
    memory = replace(make("[sensitive]"), sensitive=True)
    one, other = (
        replace(
            sealed_as(memory, text), versions=(memory, replace(memory, version=2, importance=0.9))
        )
        for text in (b"a", b"b")
    )

    assert covers(marks(one), one)
    assert not covers(marks(one), other)
