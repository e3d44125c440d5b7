"""Every error that Bear in Mind raises on purpose.

    MindError
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
    │   ├── InvalidJson             JSON that does not describe what it should
    │   ├── InvalidRetriever
    │   ├── TooFewQueries
    │   ├── MissingExtra            an optional part of Bear in Mind is not installed
    │   ├── SecretInClearField      a secret in a tag, a keyword or the like
    │   ├── InvalidVaultKey
    │   ├── InvalidUser             a name that no user can have
    │   ├── InvalidShare            what cannot be shared, or with whom
    │   ├── InvalidKeyTerms         how long, how often or for what a key is to be good
    │   ├── InvalidChange           a change that a replica sent, or a server
    │   ├── InvalidAgentFile        a file of an agent's settings that is not what it should be
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
    │   ├── CannotUndo              what was done was changed since
    │   ├── WouldLoseFact           the last retrievable copy of what a memory says
    │   ├── FeedRestarted           the numbers of a replica are of another time
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

from bearinmind.errors.base import (
    MindError,
)
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
    NotSensitive,
    OtherPeer,
    PathNotFound,
    PeerNotFound,
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

__all__ = [
    "AccessDenied",
    "AddressTooLong",
    "AlreadyDeleted",
    "AlreadyMerged",
    "AmbiguousId",
    "CannotUndo",
    "ConceptNotFound",
    "Conflict",
    "ConflictNotFound",
    "ContentTooLong",
    "DownloadFailed",
    "DuplicateContent",
    "DuplicateLink",
    "EmbedderFailure",
    "EmptyContent",
    "ExtractorFailure",
    "FeedRestarted",
    "FileMissing",
    "HeadTooLong",
    "IdTaken",
    "IdempotencyKeyReused",
    "IncomparableResults",
    "InvalidAgentFile",
    "InvalidAnswer",
    "InvalidChange",
    "InvalidData",
    "InvalidId",
    "InvalidImportance",
    "InvalidInput",
    "InvalidJson",
    "InvalidKeyTerms",
    "InvalidKeyword",
    "InvalidLink",
    "InvalidProvenance",
    "InvalidQuery",
    "InvalidRecord",
    "InvalidRequest",
    "InvalidRetriever",
    "InvalidSetting",
    "InvalidShare",
    "InvalidTag",
    "InvalidText",
    "InvalidTime",
    "InvalidUser",
    "InvalidVaultKey",
    "KeyNotFound",
    "KeyRetired",
    "Later",
    "LinkNotFound",
    "MemoryNotFound",
    "MethodNotAllowed",
    "MindError",
    "MissingExtra",
    "ModelFailure",
    "MoveNotVerified",
    "NotAllowed",
    "NotAuthenticated",
    "NotDeleted",
    "NotFound",
    "NotSensitive",
    "OtherPeer",
    "PathNotFound",
    "PeerNotFound",
    "ProposalDecided",
    "ProposalNotFound",
    "QuotaUsedUp",
    "RelationNotFound",
    "RequestTooLarge",
    "RerankerFailure",
    "SealBroken",
    "SecretInClearField",
    "SelfLink",
    "ServerFailure",
    "ServerOverloaded",
    "ServerUnreachable",
    "ShareNotFound",
    "StoreBusy",
    "StoreChanged",
    "StoreDamaged",
    "StoreFailure",
    "StoreFull",
    "StoreNotEmpty",
    "StoreReadOnly",
    "StoreTooNew",
    "StoreUnavailable",
    "StoreUnfinished",
    "SupersedeCycle",
    "TimedOut",
    "TooFewQueries",
    "TooManyRequests",
    "UnknownCategory",
    "UnreadableRequest",
    "UserExists",
    "UserNotFound",
    "VaultFailure",
    "VaultKeyExposed",
    "VaultKeyMissing",
    "VaultKeyUnavailable",
    "VersionConflict",
    "WorkFailure",
    "WouldLoseFact",
    "WrongMediaType",
]
