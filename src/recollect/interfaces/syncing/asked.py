"""What a replica asks of a server: rows of the same shape as those of every verb.

They are no verbs of a memory, and stand in no table of them: only replicas ask for this.
"""

from __future__ import annotations

from recollect.app import Recollect
from recollect.interfaces.syncing import reading, telling
from recollect.interfaces.syncing.wire import PullAnswer, PullRequest, PushAnswer, PushRequest
from recollect.interfaces.verbs.admin_table import EVERY_VERB
from recollect.interfaces.verbs.table import Verb
from recollect.types import Access

PATH = "/sync/changes"


def _pull(app: Recollect, asked: PullRequest) -> PullAnswer:
    found = app.sync_server().pull(asked.epoch, asked.after, asked.limit, asked.space)
    return telling.page(found, app.scope.user)


def _push(app: Recollect, asked: PushRequest) -> PushAnswer:
    user = app.scope.user
    operations = [reading.operation(each, user) for each in asked.operations]
    return telling.verdicts(app.sync_server().push(asked.epoch, operations), user)


PULL = Verb(
    name="sync_pull",
    says="The changes that a replica has not seen yet.",
    request=PullRequest,
    answer=PullAnswer,
    run=_pull,
    access=Access.READ,
    method="GET",
    path=PATH,
    tool=None,
    command="sync",
)
PUSH = Verb(
    name="sync_push",
    says="Take the changes of a replica. Sent twice, each happens once: it is taken only while "
    "its thing has the number `base`, and has another one then.",
    request=PushRequest,
    answer=PushAnswer,
    run=_push,
    access=Access.WRITE,
    method="POST",
    path=PATH,
    tool=None,
    command="sync",
)
SYNC_VERBS = (PULL, PUSH)
#: Everything that a server is asked for.
SERVED = (*EVERY_VERB, *SYNC_VERBS)
