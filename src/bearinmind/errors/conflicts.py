"""Errors of requests that contradict what is stored, or ask for what does not exist."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Self

from bearinmind.errors.base import MindError


class Conflict(MindError):
    """The request contradicts what is stored."""


class AmbiguousId(Conflict):
    """More than one memory has an id with this beginning."""

    hint = "Give one more letter of the id."


class Closed(Conflict):
    """The memory was closed, and answers nothing any more."""

    hint = "Open it again, or do what is to be done before `close()`."


class IdTaken(Conflict):
    """A memory with this id exists already."""

    hint = "Leave the id out to get a fresh one."


class DuplicateContent(Conflict):
    """Another memory already says exactly this."""

    hint = "Keep one of the two: delete this one, or link them with `supersedes`."


class DuplicateLink(Conflict):
    """These two memories have this link already."""

    hint = "Nothing needs to be done."


class SelfLink(Conflict):
    """A memory cannot be linked to itself."""

    hint = "Give the id of another memory as the target."


class SupersedeCycle(Conflict):
    """The link would make a memory supersede itself by way of others."""

    hint = "Reverse the link, or remove the older `supersedes` link first."


class VersionConflict(Conflict):
    """The memory was changed since it was read."""

    hint = "Read it again and repeat the change on its present version."


class NotDeleted(Conflict):
    """Only a deleted memory can be restored or purged."""

    hint = "Delete it first: a deleted memory can still be restored, a purged one cannot."


class AlreadyDeleted(Conflict):
    """The memory is deleted."""

    hint = "`bearinmind restore ID` brings it back."


class NotSensitive(Conflict):
    """The memory is not sensitive: it holds no secret to get."""

    hint = "`bearinmind get ID` shows it; `bearinmind update ID --sensitive` makes it sensitive."


class AlreadyMerged(Conflict):
    """The concept is merged into another one already."""

    hint = "Undo that first with `bearinmind graph unmerge NAME`."


class KeyRetired(Conflict):
    """The key was replaced by another; nothing new is sealed under it."""

    hint = "Repeat the command: it takes the present key."


class StoreNotEmpty(Conflict):
    """A store can only be moved into an empty one."""

    hint = "Name another file or another database; `bearinmind import` adds memories to a store."


class StoreChanged(Conflict):
    """The store was changed since an unfinished move from it began."""

    hint = (
        "Repeat the command with --restart: it throws away what was moved and begins anew. "
        "Let nobody write to the store meanwhile."
    )


class UserChanged(Conflict):
    """The memories of a user are not those of the plan by which the user is erased."""

    hint = "Look at the plan again; disable the user first, so that nothing is added."


class UserExists(Conflict):
    """A user of this name exists already."""

    hint = "Choose another name; `bearinmind user list` shows everybody."


class ProposalDecided(Conflict):
    """The proposal was decided on before."""

    hint = "`bearinmind curate inbox --all` shows what became of it."


class PersonDecides(Conflict):
    """Only a person can decide this about these two memories."""

    hint = "Ask the user; `bearinmind resolve ID newer --other ID` on the command line decides it."


class CannotUndo(Conflict):
    """The change cannot be undone: the memory was changed again since."""

    hint = "Look at the memory's history, and change it by hand."


class WouldLoseFact(Conflict):
    """This would hide the last retrievable copy of what a memory says."""

    hint = "Leave it, or keep what it says in another memory first."


class FeedRestarted(Conflict):
    """The server has numbered its changes anew."""

    hint = "Pull from the beginning; nothing that was not sent is lost by it."


class OtherPeer(Conflict):
    """These memories are synced with another server already."""

    hint = "Disconnect them first: `bearinmind sync disconnect`."


class IdempotencyKeyReused(Conflict):
    """This idempotency key was used for another request."""

    hint = "Use a new key for every new memory, and the same key only to send it again."


class IncomparableResults(Conflict):
    """The two results did not measure the same queries."""

    hint = "Run both on the same data and the same split."


class NotFound(MindError):
    """What was asked for does not exist."""


class PathNotFound(NotFound):
    """The server has nothing at this path."""

    hint = "The verbs are under /api/v1; /openapi.json describes them."


class MemoryNotFound(NotFound):
    """No memory has this id in your scope."""

    hint = "`bearinmind list` shows what is stored, `list --state deleted` what was deleted."


class LinkNotFound(NotFound):
    """There is no such link."""

    hint = "`bearinmind why ID` and `bearinmind get ID` show the links of a memory."


class NothingToResolve(NotFound):
    """No earlier memory is known that this one may replace."""

    hint = "Say which: `bearinmind resolve ID newer --other ID`; in MCP and HTTP `other`."


class ConceptNotFound(NotFound):
    """No memory of this scope mentions such a concept."""

    hint = "Look for its name with `bearinmind graph hubs --containing PART`."


class RelationNotFound(NotFound):
    """No relation of this scope has this number."""

    hint = "Look it up with `bearinmind graph neighbours CONCEPT`."


class ShareNotFound(NotFound):
    """There is no such share with this user."""

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
    """The file or the folder does not exist."""

    hint = "Check the path."
    #: The hint where standard input can be read instead.
    or_standard: ClassVar[str] = "Check the path; `-` reads standard input."

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """The error of what is to be written into a folder that does not exist."""
        message = f"the folder {str(folder)!r} does not exist"
        return cls(message, hint="Make it, or check the path.")
