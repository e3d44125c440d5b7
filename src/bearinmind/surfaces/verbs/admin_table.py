"""What whoever runs a server asks of it: rows of the same shape as those of every verb."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus

from bearinmind.surfaces.verbs import admin
from bearinmind.surfaces.verbs.requests import Nothing
from bearinmind.surfaces.verbs.table import VERBS, Verb
from bearinmind.types import Access

# None of them is a tool: an agent with a key that could make keys would be one too many.
_row = partial(Verb, access=Access.ADMIN, tool=None)

ADMIN_VERBS: tuple[Verb, ...] = (
    _row(
        name="users",
        says="Everybody whom the server knows.",
        request=Nothing,
        answer=admin.UsersAnswer,
        run=admin.users,
        method="GET",
        path="/users",
        command="user list",
    ),
    _row(
        name="add_user",
        says="Make somebody known.",
        request=admin.UserRequest,
        answer=admin.UserAnswer,
        run=admin.add_user,
        method="POST",
        path="/users",
        command="user add",
        status=HTTPStatus.CREATED,
    ),
    _row(
        name="disable_user",
        says="Let a user in no more; their memories and keys stay.",
        request=admin.UserRequest,
        answer=admin.UserAnswer,
        run=admin.disable_user,
        method="POST",
        path="/users/{name}/disable",
        command="user disable",
    ),
    _row(
        name="enable_user",
        says="Let a user in again.",
        request=admin.UserRequest,
        answer=admin.UserAnswer,
        run=admin.enable_user,
        method="POST",
        path="/users/{name}/enable",
        command="user enable",
    ),
    _row(
        name="keys",
        says="The keys of a user, or of everybody.",
        request=admin.KeysRequest,
        answer=admin.KeysAnswer,
        run=admin.keys,
        method="GET",
        path="/keys",
        command="key list",
    ),
    _row(
        name="create_key",
        says="Make a key; its text is seen only in this answer.",
        request=admin.CreateKeyRequest,
        answer=admin.NewKeyAnswer,
        run=admin.create_key,
        method="POST",
        path="/keys",
        command="key create",
        status=HTTPStatus.CREATED,
    ),
    _row(
        name="renew_key",
        says="Make a key with the terms of another one, which stays good for a while.",
        request=admin.RenewKeyRequest,
        answer=admin.NewKeyAnswer,
        run=admin.renew_key,
        method="POST",
        path="/keys/{id}/renew",
        command="key rotate",
        status=HTTPStatus.CREATED,
    ),
    _row(
        name="revoke_key",
        says="Take a key for none from now on.",
        request=admin.KeyRequest,
        answer=admin.KeyAnswer,
        run=admin.revoke_key,
        method="DELETE",
        path="/keys/{id}",
        command="key revoke",
    ),
    _row(
        name="audit_log",
        says="What was done that is to be accounted for, youngest first.",
        request=admin.AuditRequest,
        answer=admin.AuditAnswer,
        run=admin.audit_log,
        method="GET",
        path="/audit",
        command="audit",
    ),
)

#: All that a server is asked over HTTP.
EVERY_VERB: tuple[Verb, ...] = VERBS + ADMIN_VERBS
