"""The store cannot do its work."""

from __future__ import annotations

from bearinmind.errors.base import MindError


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


class StoreDamaged(StoreFailure):
    """The file is not a Bear in Mind store, or it is damaged."""

    hint = (
        "Check the path; restore the file from a copy, or `bearinmind doctor` to see what is wrong."
    )


class StoreTooNew(StoreFailure):
    """The store was written by a newer version of Bear in Mind."""

    hint = "Upgrade Bear in Mind (`pip install --upgrade bearinmind`); the file was not touched."


class StoreUnfinished(StoreFailure):
    """A move into this store was interrupted; it is not whole yet."""

    hint = "Run `bearinmind migrate-store FROM TO` again: it goes on where it stopped."


class MoveNotVerified(StoreFailure):
    """What was moved is not what is there."""

    hint = (
        "The store that was moved from was not changed: go on using it. "
        "Repeat the command with --restart; if it fails again, this is a bug: please report it."
    )


class StoreUnavailable(StoreFailure):
    """The store cannot be opened."""

    hint = "Check that the folder exists and may be read and written."
