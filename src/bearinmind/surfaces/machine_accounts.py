"""Users, keys and the audit as plain data for `--json`."""

from __future__ import annotations

import dataclasses
from typing import Any

from bearinmind.accounts.keys import NewKey
from bearinmind.protocols import AuditEntry, User
from bearinmind.types import Key

Data = dict[str, Any]


def user(value: User) -> Data:
    """A user."""
    return value._asdict()


def key(value: Key) -> Data:
    """A key, without anything of its secret."""
    data = dataclasses.asdict(value)
    del data["hash"]
    return data


def new_key(value: NewKey) -> Data:
    """A key that was just made, with its text."""
    return key(value.key) | {"text": value.text}


def entry(value: AuditEntry) -> Data:
    """What somebody did."""
    return value._asdict()
