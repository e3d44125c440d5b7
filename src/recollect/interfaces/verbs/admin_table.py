"""What whoever runs a server asks of it: rows of the same shape as those of every verb."""

from __future__ import annotations

from http import HTTPStatus

from recollect.interfaces.verbs import admin
from recollect.interfaces.verbs.requests import Nothing
from recollect.interfaces.verbs.table import VERBS, Verb
from recollect.types import Access

# None of them is a tool: an agent with a key that could make keys would be one too many.
ADMIN_VERBS: tuple[Verb, ...] = (
    Verb(
        name="users",
        says="Everybody whom the server knows.",
        request=Nothing,
        answer=admin.UsersAnswer,
        run=admin.users,
        access=Access.ADMIN,
        method="GET",
        path="/users",
        tool=None,
        command="user list",
    ),
    Verb(
        name="add_user",
        says="Make somebody known.",
        request=admin.UserRequest,
        answer=admin.UserAnswer,
        run=admin.add_user,
        access=Access.ADMIN,
        method="POST",
        path="/users",
        tool=None,
        command="user add",
        status=HTTPStatus.CREATED,
    ),
    Verb(
        name="disable_user",
        says="Let a user in no more; their memories and keys stay.",
        request=admin.UserRequest,
        answer=admin.UserAnswer,
        run=admin.disable_user,
        access=Access.ADMIN,
        method="POST",
        path="/users/{name}/disable",
        tool=None,
        command="user disable",
    ),
    Verb(
        name="enable_user",
        says="Let a user in again.",
        request=admin.UserRequest,
        answer=admin.UserAnswer,
        run=admin.enable_user,
        access=Access.ADMIN,
        method="POST",
        path="/users/{name}/enable",
        tool=None,
        command="user enable",
    ),
    Verb(
        name="keys",
        says="The keys of a user, or of everybody.",
        request=admin.KeysRequest,
        answer=admin.KeysAnswer,
        run=admin.keys,
        access=Access.ADMIN,
        method="GET",
        path="/keys",
        tool=None,
        command="key list",
    ),
    Verb(
        name="create_key",
        says="Make a key; its text is seen only in this answer.",
        request=admin.CreateKeyRequest,
        answer=admin.NewKeyAnswer,
        run=admin.create_key,
        access=Access.ADMIN,
        method="POST",
        path="/keys",
        tool=None,
        command="key create",
        status=HTTPStatus.CREATED,
    ),
    Verb(
        name="renew_key",
        says="Make a key with the terms of another one, which stays good for a while.",
        request=admin.RenewKeyRequest,
        answer=admin.NewKeyAnswer,
        run=admin.renew_key,
        access=Access.ADMIN,
        method="POST",
        path="/keys/{id}/renew",
        tool=None,
        command="key rotate",
        status=HTTPStatus.CREATED,
    ),
    Verb(
        name="revoke_key",
        says="Take a key for none from now on.",
        request=admin.KeyRequest,
        answer=admin.KeyAnswer,
        run=admin.revoke_key,
        access=Access.ADMIN,
        method="DELETE",
        path="/keys/{id}",
        tool=None,
        command="key revoke",
    ),
    Verb(
        name="audit_log",
        says="What was done that is to be accounted for, youngest first.",
        request=admin.AuditRequest,
        answer=admin.AuditAnswer,
        run=admin.audit_log,
        access=Access.ADMIN,
        method="GET",
        path="/audit",
        tool=None,
        command="audit",
    ),
)

#: All that a server is asked over HTTP.
EVERY_VERB: tuple[Verb, ...] = VERBS + ADMIN_VERBS
