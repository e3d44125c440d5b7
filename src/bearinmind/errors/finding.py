"""What was asked for is not here."""

from __future__ import annotations

from bearinmind.errors.base import MindError


class NotFound(MindError):
    """What was asked for is not here."""


class PathNotFound(NotFound):
    """The server has nothing at this path."""

    hint = "The verbs are under /api/v1; /openapi.json describes them."


class MemoryNotFound(NotFound):
    """No memory has this id in your scope."""

    hint = "`bearinmind list` shows what is stored, `list --state deleted` what was deleted."


class LinkNotFound(NotFound):
    """There is no such link."""

    hint = "`bearinmind why ID` and `bearinmind get ID` show the links of a memory."


class ConceptNotFound(NotFound):
    """No memory of this scope mentions such a concept."""

    hint = "Look for its name with `bearinmind graph hubs --containing PART`."


class RelationNotFound(NotFound):
    """No relation of this scope has this number."""

    hint = "Look it up with `bearinmind graph neighbours CONCEPT`."


class ShareNotFound(NotFound):
    """Nothing of the kind is shared with this user."""

    hint = "`bearinmind share list` shows what you share, and what is shared with you."


class UserNotFound(NotFound):
    """Nobody has this name."""

    hint = "`bearinmind user list` shows everybody; `bearinmind user add NAME` adds somebody."


class KeyNotFound(NotFound):
    """There is no such key."""

    hint = "`bearinmind key list` shows every key by its id."


class ProposalNotFound(NotFound):
    """There is no such proposal."""

    hint = "`bearinmind curate inbox --all` shows every proposal with its id."


class ConflictNotFound(NotFound):
    """There is no such conflict between replicas."""

    hint = "`bearinmind sync conflicts` lists them."


class PeerNotFound(NotFound):
    """These memories are not synced with any server."""

    hint = "Connect them to one: `bearinmind sync connect URL`."


class FileMissing(NotFound):
    """The file does not exist."""

    hint = "Check the path; `-` reads standard input."
