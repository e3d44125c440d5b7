"""Where a page of a list ends, as a text that means nothing to whoever carries it.

It holds the place itself, not the memory there: a page goes on behind one that is gone by now.
"""

from __future__ import annotations

import base64
import binascii
from datetime import datetime

from bearinmind.errors import InvalidRequest, MindError
from bearinmind.remember.admit import check_moment
from bearinmind.text import ids
from bearinmind.types import Memory, MemoryId

_HINT = "Give the `next` of the page before as it is, or leave `after` out to begin anew."


def write(last: Memory) -> str:
    """The place behind a memory."""
    return behind(last.created_at, last.id)


def behind(created_at: datetime, id: MemoryId) -> str:
    """The place behind a memory that was made then."""
    place = f"{created_at.isoformat()} {id}"
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def read(text: str) -> tuple[datetime, MemoryId]:
    """The place that a cursor names."""
    try:
        padded = text + "=" * (-len(text) % 4)
        moment, _, id_ = (
            base64.b64decode(padded, altchars=b"-_", validate=True).decode().partition(" ")
        )
        return check_moment(datetime.fromisoformat(moment), "the time"), MemoryId(
            ids.normalise(id_)
        )
    except (ValueError, binascii.Error, MindError):
        raise InvalidRequest("`after` is not the `next` of a page", hint=_HINT) from None
