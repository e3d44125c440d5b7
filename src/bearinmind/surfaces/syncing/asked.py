"""What a replica asks of a server: rows of the same shape as those of every verb.

They are no verbs of a memory, and stand in no table of them: only replicas ask for this.
"""

from __future__ import annotations

from bearinmind.app import Mind
from bearinmind.surfaces.syncing import reading, telling
from bearinmind.surfaces.syncing.wire import (
    PullAnswer,
    PullRequest,
    PushAnswer,
    PushRequest,
    SharedAnswer,
    SharedMemoriesAnswer,
    SharedMemoriesRequest,
    SharedRequest,
)
from bearinmind.surfaces.verbs.admin_table import EVERY_VERB
from bearinmind.surfaces.verbs.table import Verb
from bearinmind.types import Access

PATH = "/sync/changes"
SHARED_PATH = "/sync/shared"


def _pull(app: Mind, asked: PullRequest) -> PullAnswer:
    found = app.sync.server().pull(asked.epoch, asked.after, asked.limit, asked.space)
    return telling.page(found, app.scope.user)


def _push(app: Mind, asked: PushRequest) -> PushAnswer:
    user = app.scope.user
    operations = [reading.operation(each, user) for each in asked.operations]
    return telling.verdicts(app.sync.server().push(asked.epoch, operations), user)


def _shared(app: Mind, asked: SharedRequest) -> SharedAnswer:
    found = app.sync.server().shared(asked.mark, asked.after, asked.limit)
    return telling.shared(found, app.scope.user)


def _shared_memories(app: Mind, asked: SharedMemoriesRequest) -> SharedMemoriesAnswer:
    owner, ids = reading.shared_with_ids(asked)
    found = app.sync.server().shared_memories(owner, ids, asked.space)
    return telling.shared_memories(found, owner, app.scope.user)


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
SHARED = Verb(
    name="sync_shared",
    says="What others share with you, by owner and id: which version, and what you may do with it.",
    request=SharedRequest,
    answer=SharedAnswer,
    run=_shared,
    access=Access.READ,
    method="GET",
    path=SHARED_PATH,
    tool=None,
    command="sync",
)
SHARED_MEMORIES = Verb(
    name="sync_shared_memories",
    says="What memories of another owner say, as far as they are shared with you.",
    request=SharedMemoriesRequest,
    answer=SharedMemoriesAnswer,
    run=_shared_memories,
    access=Access.READ,
    method="POST",
    path=SHARED_PATH,
    tool=None,
    command="sync",
)
SYNC_VERBS = (PULL, PUSH, SHARED, SHARED_MEMORIES)
#: Everything that a server is asked for.
SERVED = (*EVERY_VERB, *SYNC_VERBS)
