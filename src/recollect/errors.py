"""Every error that Recollect raises on purpose.

    RecollectError
    ├── InvalidInput                what was given cannot be accepted; nothing was changed
    │   ├── EmptyContent
    │   ├── ContentTooLong
    │   ├── InvalidText             a NUL byte, a lone surrogate, undecodable bytes
    │   ├── UnknownCategory
    │   ├── InvalidTag
    │   ├── InvalidKeyword
    │   ├── InvalidImportance
    │   ├── InvalidTime
    │   ├── InvalidProvenance
    │   ├── InvalidId
    │   ├── InvalidQuery
    │   ├── InvalidLink
    │   ├── InvalidRecord           a line of an import
    │   ├── InvalidSetting
    │   ├── InvalidData             an evaluation set, a result or a condition
    │   ├── InvalidRetriever
    │   ├── TooFewQueries
    │   ├── MissingExtra            an optional part of Recollect is not installed
    │   ├── SecretInClearField      a secret in a tag, a keyword or the like
    │   ├── InvalidVaultKey
    │   ├── InvalidUser             a name that no user can have
    │   ├── InvalidShare            what cannot be shared, or with whom
    │   ├── InvalidKeyTerms         how long, how often or for what a key is to be good
    │   ├── InvalidRequest          a body, a parameter or a header that cannot be accepted
    │   ├── UnreadableRequest       its body is not JSON, or it is not even HTTP
    │   ├── HeadTooLong             the headers of a request
    │   ├── WrongMediaType          said to be something else than JSON
    │   ├── MethodNotAllowed        a path that is not asked so
    │   ├── AddressTooLong          a path with its parameters
    │   └── RequestTooLarge
    ├── NotFound                    no such memory, link or file in this scope
    │   ├── PathNotFound            of a server
    │   ├── MemoryNotFound
    │   ├── LinkNotFound
    │   ├── ConceptNotFound
    │   ├── RelationNotFound
    │   ├── ShareNotFound
    │   ├── UserNotFound
    │   ├── KeyNotFound
    │   └── FileMissing
    ├── Conflict                    the request contradicts what is stored
    │   ├── AmbiguousId
    │   ├── IdTaken
    │   ├── DuplicateContent
    │   ├── DuplicateLink
    │   ├── SelfLink
    │   ├── SupersedeCycle
    │   ├── VersionConflict
    │   ├── NotDeleted
    │   ├── AlreadyDeleted
    │   ├── NotSensitive
    │   ├── AlreadyMerged           a concept that is taken for another one already
    │   ├── KeyRetired              a secret sealed under a key that was rotated away
    │   ├── StoreNotEmpty           nothing can be moved into it
    │   ├── StoreChanged            an unfinished move cannot go on from it
    │   ├── UserExists
    │   ├── IdempotencyKeyReused    with another request
    │   └── IncomparableResults     two runs that did not measure the same thing
    ├── StoreFailure                the store cannot do its work
    │   ├── StoreBusy
    │   ├── StoreReadOnly
    │   ├── StoreFull
    │   ├── StoreDamaged
    │   ├── StoreTooNew
    │   ├── StoreUnfinished         a move into it was interrupted
    │   ├── MoveNotVerified         what was moved is not what is there
    │   └── StoreUnavailable
    ├── VaultFailure                what is sensitive cannot be encrypted or decrypted
    │   ├── VaultKeyMissing
    │   ├── VaultKeyExposed         others may read the file with the key
    │   ├── VaultKeyUnavailable     the key cannot be fetched
    │   └── SealBroken              not what was sealed, or not for this
    ├── ModelFailure                a model does not answer, or not as it should
    │   ├── WorkFailure             in the background
    │   │   ├── EmbedderFailure
    │   │   └── ExtractorFailure
    │   └── RerankerFailure
    ├── AccessDenied                whoever asks may not
    │   ├── NotAuthenticated        no key, or one that is not good any more
    │   ├── NotAllowed
    │   └── Later                   not now
    │       ├── TooManyRequests
    │       └── QuotaUsedUp
    ├── ServerFailure               a server does not answer, or not as it should
    │   ├── ServerOverloaded
    │   ├── TimedOut
    │   ├── ServerUnreachable
    │   └── InvalidAnswer
    └── DownloadFailed

A surface maps *types* to exit codes and statuses, never the text of a message. Each error carries a
stable `code` for machines and a `hint` with the next step for people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar


def _code_of(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class RecollectError(Exception):
    """Something Recollect was asked to do could not be done."""

    code: ClassVar[str] = "recollect_error"
    hint: str = ""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.hint = hint or type(self).hint

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.code = _code_of(cls.__name__)

    @property
    def message(self) -> str:
        """What was wrong, in one sentence."""
        return str(self.args[0])


class InvalidInput(RecollectError):
    """The input cannot be accepted."""


class EmptyContent(InvalidInput):
    """A memory needs content: the text given is empty."""

    hint = "Say what is to be remembered, in a sentence or two."


class ContentTooLong(InvalidInput):
    """The content is longer than a memory may be."""

    hint = (
        "Split it by meaning into memories that each stand alone, "
        "or raise the `content_limit` setting."
    )


class InvalidText(InvalidInput):
    """The text holds characters that cannot be stored."""

    hint = "Send valid Unicode text (UTF-8) without NUL characters or lone surrogates."


class UnknownCategory(InvalidInput):
    """The category is not one of the configured ones."""


class InvalidTag(InvalidInput):
    """A tag cannot be accepted."""


class InvalidKeyword(InvalidInput):
    """A keyword cannot be accepted."""


class InvalidImportance(InvalidInput):
    """Importance is a number from 0 to 1."""

    hint = "Give a number from 0 (trivial) to 1 (vital); 0.5 is the default."


class InvalidTime(InvalidInput):
    """A time cannot be accepted."""

    hint = (
        "Use ISO 8601, such as 2026-11-15 or 2026-11-15T09:30:00+01:00 (UTC when no zone is given)."
    )


class InvalidProvenance(InvalidInput):
    """A provenance field cannot be accepted."""


class InvalidId(InvalidInput):
    """The text is not a memory id or the beginning of one."""

    hint = (
        "An id is 12 letters and digits, such as k7f29qmxt4hd; any unambiguous beginning will do."
    )


class InvalidQuery(InvalidInput):
    """The query cannot be accepted."""


class InvalidLink(InvalidInput):
    """The kind of link is not one of the closed set."""


class InvalidRecord(InvalidInput):
    """A record of the import cannot be read."""


class InvalidSetting(InvalidInput):
    """A setting has a value it cannot have."""

    hint = "Correct it where it comes from; docs/reference/settings.md describes every setting."


class InvalidData(InvalidInput):
    """An evaluation set or a result cannot be used as it is."""

    hint = "`recollect bench data validate DIR` lists everything that is wrong with a set."


class InvalidRetriever(InvalidInput):
    """There is no such retriever."""

    hint = "Give module:Class, a class with `retrieve(query, k) -> ids`, or the name of a baseline."


class TooFewQueries(InvalidInput):
    """There are too few queries to conclude anything."""

    hint = "Add queries: whatever so few of them show may be chance."


class MissingExtra(InvalidInput):
    """This needs an optional part of Recollect that is not installed."""

    hint = "Install it: pip install 'recollect[bench]'."


class SecretInClearField(InvalidInput):
    """What is kept in clear beside the content holds a secret."""

    hint = (
        "Nothing was stored. Put the secret into the content, which is encrypted, or leave it out."
    )


class InvalidVaultKey(InvalidInput):
    """What was given as the key of the vault is none."""

    hint = "A key is 32 random bytes in base64; `recollect secret key --create` makes one."


class InvalidUser(InvalidInput):
    """The text cannot be the name of a user."""

    hint = "A name is 1 to 64 letters, digits, dots, dashes, underscores or @."


class InvalidShare(InvalidInput):
    """This cannot be shared so."""

    hint = "Share a memory of your own, or a tag, with another user: to read or to write."


class InvalidKeyTerms(InvalidInput):
    """A key cannot have these terms."""

    hint = "`recollect key create --help` says what a key may have."


class InvalidRequest(InvalidInput):
    """The request cannot be accepted as it is."""

    hint = "/openapi.json of the server describes every field."
    #: Of each field at fault: its name, the kind of fault, and what is wrong.
    fields: Sequence[tuple[str, str, str]] = ()


class UnreadableRequest(InvalidInput):
    """The request cannot be read."""

    hint = "Send one JSON object, in UTF-8."


class WrongMediaType(InvalidInput):
    """The body of the request is of another kind than the server reads."""

    hint = "Send JSON, with `Content-Type: application/json`."


class MethodNotAllowed(InvalidInput):
    """The path is not asked with this method."""

    hint = "The `Allow` header of the answer names the methods."


class AddressTooLong(InvalidInput):
    """The address of the request is longer than the server reads."""

    hint = "Ask for less at once."


class HeadTooLong(InvalidInput):
    """The head of the request is longer than the server reads."""

    hint = "Send shorter headers."


class RequestTooLarge(InvalidInput):
    """The request is larger than the server takes."""

    hint = "Send less at once, or raise the `request_bytes` setting of the server."


class NotFound(RecollectError):
    """What was asked for is not here."""


class PathNotFound(NotFound):
    """The server has nothing at this path."""

    hint = "The verbs are under /api/v1; /openapi.json describes them."


class MemoryNotFound(NotFound):
    """No memory has this id in your scope."""

    hint = (
        "`recollect list` shows what is stored; `recollect list --state deleted` what was deleted."
    )


class LinkNotFound(NotFound):
    """There is no such link."""

    hint = "`recollect why ID` and `recollect get ID` show the links of a memory."


class ConceptNotFound(NotFound):
    """No memory of this scope mentions such a concept."""

    hint = "Look for its name with `recollect graph hubs --containing PART`."


class RelationNotFound(NotFound):
    """No relation of this scope has this number."""

    hint = "Look it up with `recollect graph neighbours CONCEPT`."


class ShareNotFound(NotFound):
    """Nothing of the kind is shared with this user."""

    hint = "`recollect share list` shows what you share, and what is shared with you."


class UserNotFound(NotFound):
    """Nobody has this name."""

    hint = "`recollect user list` shows everybody; `recollect user add NAME` adds somebody."


class KeyNotFound(NotFound):
    """There is no such key."""

    hint = "`recollect key list` shows every key by its id."


class FileMissing(NotFound):
    """The file does not exist."""

    hint = "Check the path; `-` reads standard input."


class Conflict(RecollectError):
    """The request contradicts what is stored."""


class AmbiguousId(Conflict):
    """More than one memory has an id that begins so."""

    hint = "Give one more letter of the id."


class IdTaken(Conflict):
    """A memory with this id exists already."""

    hint = "Leave the id out to get a fresh one."


class DuplicateContent(Conflict):
    """Another memory already says exactly this."""

    hint = "Keep one of the two: delete this one, or link them with `supersedes`."


class DuplicateLink(Conflict):
    """These two memories are linked so already."""

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

    hint = "`recollect restore ID` brings it back."


class NotSensitive(Conflict):
    """The memory is not sensitive: it holds no secret to get."""

    hint = "`recollect get ID` shows it; `recollect update ID --sensitive` makes it sensitive."


class AlreadyMerged(Conflict):
    """A concept is taken for another one already."""

    hint = "Undo that first with `recollect graph unmerge NAME`."


class KeyRetired(Conflict):
    """The key was rotated away, and nothing more is kept under it."""

    hint = "Repeat the command: it takes the present key."


class StoreNotEmpty(Conflict):
    """A store can only be moved into an empty one."""

    hint = "Name another file or another database; `recollect import` adds memories to a store."


class StoreChanged(Conflict):
    """The store was changed since an unfinished move from it began."""

    hint = (
        "Repeat the command with --restart: it throws away what was moved and begins anew. "
        "Let nobody write to the store meanwhile."
    )


class IncomparableResults(Conflict):
    """The two results did not measure the same queries."""

    hint = "Run both on the same data and the same split."


class StoreFailure(RecollectError):
    """The store cannot do its work."""


class StoreBusy(StoreFailure):
    """Other processes kept the store busy for too long."""

    hint = "Try again, or raise the `busy_timeout` setting."


class StoreReadOnly(StoreFailure):
    """The store cannot be written to."""

    hint = "Check the permissions of the file and of its folder, or choose another with --store."


class StoreFull(StoreFailure):
    """There is no room left to write; nothing was changed."""

    hint = "Free some disk space and repeat the command: what was acknowledged before is safe."


class StoreDamaged(StoreFailure):
    """The file is not a Recollect store, or it is damaged."""

    hint = (
        "Check the path; restore the file from a copy, or `recollect doctor` to see what is wrong."
    )


class StoreTooNew(StoreFailure):
    """The store was written by a newer version of Recollect."""

    hint = "Upgrade Recollect (`pip install --upgrade recollect`); the file was not touched."


class StoreUnfinished(StoreFailure):
    """A move into this store was interrupted; it is not whole yet."""

    hint = "Run `recollect migrate-store FROM TO` again: it goes on where it stopped."


class MoveNotVerified(StoreFailure):
    """What was moved is not what is there."""

    hint = (
        "The store that was moved from was not changed: go on using it. "
        "Repeat the command with --restart; if it fails again, this is a bug: please report it."
    )


class StoreUnavailable(StoreFailure):
    """The store cannot be opened."""

    hint = "Check that the folder exists and may be read and written."


class VaultFailure(RecollectError):
    """What is sensitive cannot be encrypted or decrypted."""

    hint = "`recollect doctor` says where the key is looked for, and which secrets need which key."


class VaultKeyMissing(VaultFailure):
    """The key is not here."""

    hint = (
        "Bring back the key file, or the setting that held the key; "
        "`recollect secret key` says where it is looked for. Everything else works without it."
    )


class VaultKeyExposed(VaultFailure):
    """Others may read the file with the key."""

    hint = (
        "Close it to them: `chmod 600 FILE`. "
        "If somebody may have read it, `recollect secret rotate` afterwards."
    )


class VaultKeyUnavailable(VaultFailure):
    """The key cannot be fetched from where it is kept."""


class SealBroken(VaultFailure):
    """What is stored is not what was sealed, or was sealed for another memory."""

    hint = "The file was damaged or changed by other means; restore it from a copy."


class ModelFailure(RecollectError):
    """A model does not answer, or not as it should."""

    hint = "Check the `llm_url`, `llm_model` and `llm_key` settings, and that the server is up."


class WorkFailure(ModelFailure):
    """A model could not do a piece of background work."""

    def __init__(
        self,
        message: str = "",
        *,
        hint: str = "",
        permanent: bool = False,
        retry_after: float | None = None,
        refused: Sequence[int] = (),
        untried: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.permanent = permanent  #: trying the same again is of no use
        self.retry_after = retry_after  #: seconds that the server asked for
        self.refused = tuple(refused)  #: positions of the texts at fault, where they are known
        self.untried = untried  #: nothing was asked of it, so this counts as no attempt


class EmbedderFailure(WorkFailure):
    """The embedder does not answer, or not as it should."""

    hint = "`recollect doctor` says how the embedder does; recall goes on by words meanwhile."


class ExtractorFailure(WorkFailure):
    """The extractor of the concept graph does not answer, or not as it should."""

    hint = "`recollect doctor` says how the extractor does; recall goes on without new edges."
    #: What other extractors had found in the same memories before this one failed.
    found: Sequence[Any] = ()


class RerankerFailure(ModelFailure):
    """The reranker does not answer, or not as it should."""

    hint = "Recall goes on in the fused order; check the `reranker` settings."


class DownloadFailed(RecollectError):
    """Something cannot be fetched from where it is published."""

    hint = "Check the connection; `--from` names another place."


class UserExists(Conflict):
    """There is a user of this name already."""

    hint = "Choose another name; `recollect user list` shows everybody."


class IdempotencyKeyReused(Conflict):
    """This idempotency key was used for another request."""

    hint = "Use a new key for every new memory, and the same key only to send it again."


class AccessDenied(RecollectError):
    """Whoever asks may not have this."""


class NotAuthenticated(AccessDenied):
    """There is no key, or it is not good any more."""

    hint = "Send `Authorization: Bearer KEY`; `recollect key create` makes a key."


class NotAllowed(AccessDenied):
    """This key, or this user, may not do that."""

    hint = "Ask the owner of the memory for the right, or use a key with more access."


class Later(AccessDenied):
    """It may be asked again after a while."""

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after  #: seconds


class TooManyRequests(Later):
    """The key has been used too often in the last minute."""

    hint = "Wait as long as `Retry-After` says."


class QuotaUsedUp(Later):
    """The key has been used for as many writes as it may be in a day."""

    hint = "Wait until tomorrow (UTC), or have the quota of the key raised."


class ServerFailure(RecollectError):
    """The server does not answer, or not as it should."""


class ServerOverloaded(ServerFailure):
    """The server has as much to do as it can take on."""

    hint = "Try again after as long as `Retry-After` says."

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after  #: seconds


class TimedOut(ServerFailure):
    """The answer took longer than the server waits."""

    hint = "What was asked for may still be done: look before you ask again."


class ServerUnreachable(ServerFailure):
    """The server cannot be reached."""

    hint = "Check that it runs (`recollect serve`) and that the address is right."


class InvalidAnswer(ServerFailure):
    """The server's answer cannot be read."""

    hint = "Check that the address is that of a Recollect server of the same version."
