"""The method of `Mind`, or of one of its groups, behind each row of the verb table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bearinmind import Mind
from bearinmind.app.accounts import Accounts
from bearinmind.app.curation import Curation
from bearinmind.app.secrets import Secrets

_IN_GROUPS: dict[str, Callable[..., Any]] = {
    "secret_get": Secrets.reveal,
    "proposals": Curation.proposals,
    "proposal": Curation.proposal,
    "apply_proposal": Curation.apply,
    "dismiss_proposal": Curation.dismiss,
    "undo_proposal": Curation.undo,
    "users": Accounts.users,
    "add_user": Accounts.add_user,
    "disable_user": Accounts.disable_user,
    "enable_user": Accounts.enable_user,
    "keys": Accounts.keys,
    "create_key": Accounts.create_key,
    "renew_key": Accounts.renew_key,
    "revoke_key": Accounts.revoke_key,
    "audit_log": Accounts.audit,
}


def method_of(verb: str) -> Callable[..., Any]:
    """The method that a memory in this process has for a verb."""
    method: Callable[..., Any] = _IN_GROUPS.get(verb) or getattr(Mind, verb)
    return method
