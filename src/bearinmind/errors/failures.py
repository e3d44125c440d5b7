"""Errors of access, models, servers, stores and the vault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bearinmind.errors.base import MindError


class AccessDenied(MindError):
    """The caller may not do this."""


class NotAuthenticated(AccessDenied):
    """There is no key, or it is not valid."""

    hint = "Send `Authorization: Bearer KEY`; `bearinmind key create` makes a key."


class NotAllowed(AccessDenied):
    """This key, or this user, may not do that."""

    hint = "Ask the owner of the memory for the right, or use a key with more access."
    needs: str | None = None  #: the access that is wanted, where that would help


class Later(AccessDenied):
    """A limit is reached; the request may be repeated later."""

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after  #: seconds


class TooManyRequests(Later):
    """The key has been used too often in the last minute."""

    hint = "Wait as long as `Retry-After` says."


class QuotaUsedUp(Later):
    """The key has used up its writes of this day."""

    hint = "Wait until tomorrow (UTC), or have the quota of the key raised."


class ModelFailure(MindError):
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
        self.untried = untried  #: the model was not called, so this counts as no attempt


class EmbedderFailure(WorkFailure):
    """The embedder does not answer, or not as it should."""

    hint = "`bearinmind doctor` says how the embedder does; recall goes on by words meanwhile."


class ExtractorFailure(WorkFailure):
    """The extractor of the concept graph does not answer, or not as it should."""

    hint = "`bearinmind doctor` says how the extractor does; recall goes on without new edges."
    #: What other extractors had found in the same memories before this one failed.
    found: Sequence[Any] = ()


class RerankerFailure(ModelFailure):
    """The reranker does not answer, or not as it should."""

    hint = "Recall goes on in the fused order; check the `reranker` settings."


class ServerFailure(MindError):
    """The server does not answer, or not as it should."""


class ServerOverloaded(ServerFailure):
    """The server is overloaded."""

    hint = "Try again after as long as `Retry-After` says."

    def __init__(self, message: str = "", *, hint: str = "", retry_after: float = 1.0) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after  #: seconds


class TimedOut(ServerFailure):
    """The answer took longer than the server allows."""

    hint = "The request may still be carried out: check before you repeat it."


class ServerUnreachable(ServerFailure):
    """The server cannot be reached."""

    hint = "Check that it runs (`bearinmind serve`) and that the address is right."


class InvalidAnswer(ServerFailure):
    """The server's answer cannot be read."""

    hint = "Check that the address is that of a Bear in Mind server of the same version."


class ProviderFailure(ServerFailure):
    """The OpenID provider does not answer, or not as it should."""

    hint = "Try again later; keys and links of this server work without it."


class DownloadFailed(MindError):
    """Something cannot be fetched from where it is published."""

    hint = "Check the connection; `--from` names another place."


class StoreFailure(MindError):
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


class StoreReplaced(StoreFailure):
    """A file of the store was removed or replaced while it was open: nothing more is written."""

    hint = (
        "Stop every process that uses the store, and start again. What was stored just before may "
        "be missing: store it again. Never move or delete a store, its -wal or its -shm in use."
    )


class StoreDamaged(StoreFailure):
    """The file is not a Bear in Mind store, or it is damaged."""

    hint = (
        "Check the path; restore the file from a copy, or `bearinmind doctor` to see what is wrong."
    )


class BackupDamaged(StoreFailure):
    """A backup is damaged, or only a part of one."""

    hint = "Take another backup; `bearinmind backup --verify FILE` says whether one is whole."


class BackupEncrypted(StoreFailure):
    """A backup is encrypted, and what would open it was not given."""

    hint = "Give the file with the private key of a recipient: --identity FILE."


class StoreTooNew(StoreFailure):
    """The store was written by a newer version of Bear in Mind."""

    hint = "Upgrade Bear in Mind (`pip install --upgrade bearinmind`); the file was not touched."


class StoreUnfinished(StoreFailure):
    """A move into this store was interrupted; it is not whole yet."""

    hint = "Run `bearinmind migrate-store FROM TO` again: it goes on where it stopped."


class MoveNotVerified(StoreFailure):
    """The moved store differs from the original."""

    hint = (
        "The store that was moved from was not changed: go on using it. "
        "Repeat the command with --restart; if it fails again, this is a bug: please report it."
    )


class StoreUnavailable(StoreFailure):
    """The store cannot be opened."""

    hint = "Check that the folder exists and may be read and written."


class VaultFailure(MindError):
    """A sensitive content cannot be encrypted or decrypted."""

    hint = "`bearinmind doctor` says where the key is looked for, and which secrets need which key."


class VaultKeyMissing(VaultFailure):
    """The key is not here."""

    hint = (
        "Bring back the key file, or the setting that held the key; "
        "`bearinmind secret key` says where it is looked for. Everything else works without it."
    )


class VaultKeyExposed(VaultFailure):
    """Other users may read the file with the key."""

    hint = (
        "Make it private: `chmod 600 FILE`. "
        "If somebody may have read it, `bearinmind secret rotate` afterwards."
    )


class VaultKeyUnavailable(VaultFailure):
    """The key cannot be fetched from where it is kept."""


class SealBroken(VaultFailure):
    """The sealed content was changed, or was sealed for another memory."""

    hint = "The file was damaged or changed by other means; restore it from a copy."
