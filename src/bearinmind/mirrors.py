"""Under which name a replica keeps what somebody else shares with its user.

The copy is kept as if it belonged to a user whom nobody can be, since no name has a slash in it. So
it is mixed up neither with what its owner may have in the same store, nor with another reader's
copy. A reader sees the name of the owner.
"""

from __future__ import annotations

from bearinmind.errors import InvalidChange
from bearinmind.types import UserId

_BETWEEN = "/"  # in no name of a user, see `bearinmind.remember.admit.check_user`


def mirror_of(owner: UserId, reader: UserId) -> UserId:
    """The name under which a reader's copy of an owner's memories is kept.

    Raises:
        InvalidChange: nobody else can have that name.
    """
    if not owner or owner == reader or _BETWEEN in owner:
        raise InvalidChange(f"{owner!r} cannot share anything with {reader!r}")
    return UserId(f"{owner}{_BETWEEN}{reader}")


def is_mirror(name: UserId) -> bool:
    """Whether a copy is kept under a name, rather than a user's own memories."""
    return _BETWEEN in name


def owner_of(name: UserId) -> UserId:
    """Whose memories are kept under a name."""
    return UserId(name.partition(_BETWEEN)[0]) if _BETWEEN in name else name
