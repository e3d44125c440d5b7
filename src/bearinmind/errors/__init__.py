"""Every error that Bear in Mind raises on purpose.

    MindError
    ├── InvalidInput                the input cannot be accepted; nothing was changed
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
    │   ├── InvalidJson             JSON that does not describe what it should
    │   ├── InvalidRetriever
    │   ├── TooFewQueries
    │   ├── MissingExtra            an optional part of Bear in Mind is not installed
    │   ├── SecretInClearField      a secret in a tag, a keyword or the like
    │   ├── InvalidVaultKey
    │   ├── InvalidUser             a name that no user can have
    │   ├── InvalidShare            something that cannot be shared, or a wrong reader
    │   ├── InvalidKeyTerms         the expiry, limits or access of a key
    │   ├── InvalidChange           a change that a replica sent, or a server
    │   ├── InvalidAgentFile        a file of an agent's settings that is not what it should be
    │   ├── InvalidRequest          a body, a parameter or a header that cannot be accepted
    │   ├── UnreadableRequest       its body is not JSON, or it is not even HTTP
    │   ├── HeadTooLong             the headers of a request
    │   ├── WrongMediaType          a body that is not declared as JSON
    │   ├── MethodNotAllowed        the path has no such method
    │   ├── AddressTooLong          a path with its parameters
    │   └── RequestTooLarge
    ├── NotFound                    no such memory, link or file in this scope
    │   ├── PathNotFound            of a server
    │   ├── MemoryNotFound
    │   ├── LinkNotFound
    │   ├── NothingToResolve        no earlier memory that another may replace
    │   ├── ConceptNotFound
    │   ├── RelationNotFound
    │   ├── ShareNotFound
    │   ├── UserNotFound
    │   ├── KeyNotFound
    │   ├── ProposalNotFound
    │   ├── ConflictNotFound        between two replicas
    │   ├── PeerNotFound            nothing is synced with any server
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
    │   ├── ProposalDecided         applied, dismissed or undone already
    │   ├── PersonDecides           an agent may not: a person did, or stated the memory
    │   ├── CannotUndo              the result was changed since
    │   ├── WouldLoseFact           the last retrievable copy of what a memory says
    │   ├── FeedRestarted           the server has numbered its changes anew
    │   ├── OtherPeer               synced with another server already
    │   ├── IdempotencyKeyReused    with another request
    │   └── IncomparableResults     two runs that did not measure the same thing
    ├── StoreFailure                the store cannot do its work
    │   ├── StoreBusy
    │   ├── StoreReadOnly
    │   ├── StoreFull
    │   ├── StoreDamaged
    │   ├── StoreTooNew
    │   ├── StoreUnfinished         a move into it was interrupted
    │   ├── MoveNotVerified         the copy differs from the original
    │   └── StoreUnavailable
    ├── VaultFailure                a sensitive content cannot be encrypted or decrypted
    │   ├── VaultKeyMissing
    │   ├── VaultKeyExposed         other users may read the file with the key
    │   ├── VaultKeyUnavailable     the key cannot be fetched
    │   └── SealBroken              changed, or sealed for another memory
    ├── ModelFailure                a model does not answer, or not as it should
    │   ├── WorkFailure             in the background
    │   │   ├── EmbedderFailure
    │   │   └── ExtractorFailure
    │   └── RerankerFailure
    ├── AccessDenied                the caller may not do this
    │   ├── NotAuthenticated        no key, or one that is not valid
    │   ├── NotAllowed
    │   └── Later                   a limit is used up; try again later
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

# ruff: noqa: F401  every error is imported to be re-exported, see `__all__`

from __future__ import annotations

from bearinmind.errors.base import MindError
from bearinmind.errors.conflicts import (
    AlreadyDeleted,
    AlreadyMerged,
    AmbiguousId,
    CannotUndo,
    ConceptNotFound,
    Conflict,
    ConflictNotFound,
    DuplicateContent,
    DuplicateLink,
    FeedRestarted,
    FileMissing,
    IdempotencyKeyReused,
    IdTaken,
    IncomparableResults,
    KeyNotFound,
    KeyRetired,
    LinkNotFound,
    MemoryNotFound,
    NotDeleted,
    NotFound,
    NothingToResolve,
    NotSensitive,
    OtherPeer,
    PathNotFound,
    PeerNotFound,
    PersonDecides,
    ProposalDecided,
    ProposalNotFound,
    RelationNotFound,
    SelfLink,
    ShareNotFound,
    StoreChanged,
    StoreNotEmpty,
    SupersedeCycle,
    UserExists,
    UserNotFound,
    VersionConflict,
    WouldLoseFact,
)
from bearinmind.errors.failures import (
    AccessDenied,
    DownloadFailed,
    EmbedderFailure,
    ExtractorFailure,
    InvalidAnswer,
    Later,
    ModelFailure,
    MoveNotVerified,
    NotAllowed,
    NotAuthenticated,
    QuotaUsedUp,
    RerankerFailure,
    SealBroken,
    ServerFailure,
    ServerOverloaded,
    ServerUnreachable,
    StoreBusy,
    StoreDamaged,
    StoreFailure,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    StoreUnavailable,
    StoreUnfinished,
    TimedOut,
    TooManyRequests,
    VaultFailure,
    VaultKeyExposed,
    VaultKeyMissing,
    VaultKeyUnavailable,
    WorkFailure,
)
from bearinmind.errors.input import (
    AddressTooLong,
    ContentTooLong,
    EmptyContent,
    HeadTooLong,
    InvalidAgentFile,
    InvalidChange,
    InvalidData,
    InvalidId,
    InvalidImportance,
    InvalidInput,
    InvalidJson,
    InvalidKeyTerms,
    InvalidKeyword,
    InvalidLink,
    InvalidProvenance,
    InvalidQuery,
    InvalidRecord,
    InvalidRequest,
    InvalidRetriever,
    InvalidSetting,
    InvalidShare,
    InvalidTag,
    InvalidText,
    InvalidTime,
    InvalidUser,
    InvalidVaultKey,
    MethodNotAllowed,
    MissingExtra,
    RequestTooLarge,
    SecretInClearField,
    TooFewQueries,
    UnknownCategory,
    UnreadableRequest,
    WrongMediaType,
)

__all__ = [name for name, each in globals().items() if isinstance(each, type)]
