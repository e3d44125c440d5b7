"""How many sessions a user has open at once.

The server has room for so many in all. One user, or one client that opens a session for each call
and ends none, must not take the room of the others: of too many, the one that was not used for the
longest time is ended. Its client is told that there is no such session and opens another.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict


class Sessions:
    """The sessions of each user, in the order of their last use."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._used: defaultdict[str, OrderedDict[str, None]] = defaultdict(OrderedDict)

    def used(self, user: str, session: str) -> list[str]:
        """Note that a user has a session, and say which of theirs are too many now."""
        theirs = self._used[user]
        theirs[session] = None
        theirs.move_to_end(session)
        return [theirs.popitem(last=False)[0] for _ in range(len(theirs) - self._most)]

    def ended(self, user: str, session: str) -> None:
        """Forget a session."""
        theirs = self._used[user]
        theirs.pop(session, None)
        if not theirs:
            del self._used[user]
