"""A memory with all its verbs. Construction and delegation only, no logic."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, Unpack

from bearinmind import ids, requests
from bearinmind.app import companions, wiring
from bearinmind.app.accounts import AccountVerbs
from bearinmind.app.browsing import BrowsingVerbs
from bearinmind.app.curation import CurationVerbs
from bearinmind.app.graph import GraphVerbs
from bearinmind.app.learning import LearningVerbs
from bearinmind.app.secrets import SecretVerbs
from bearinmind.app.sharing import SharingVerbs
from bearinmind.app.syncing import SyncVerbs
from bearinmind.app.working import WorkVerbs
from bearinmind.capture import QueryLog
from bearinmind.config import Configuration, Settings, cache_folder
from bearinmind.embed import remote
from bearinmind.embed.embedders import ActiveSpace, Embedders
from bearinmind.errors import InvalidLink
from bearinmind.graph.configured import ConfiguredExtractor
from bearinmind.protocols import (
    Extractor,
    Finding,
    History,
    Sealed,
    Store,
    StoreFacts,
)
from bearinmind.recall import history, lockout, shared
from bearinmind.recall.explain import why_not
from bearinmind.remember.admit import Rules, check_user
from bearinmind.remember.pipeline import PurgePlan, Remember
from bearinmind.remember.reveal import Reveal
from bearinmind.remember.secrets import masked
from bearinmind.remember.sensitive import Boundary
from bearinmind.requests import DraftFields, QueryFields
from bearinmind.store_name import StoreName
from bearinmind.trace import Answer, WhyNot
from bearinmind.types import (
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Query,
    Scope,
    UserId,
    choose,
)
from bearinmind.work.background import Background

_WAIT = 5.0  # seconds that `store` waits for another attempt when it is to wait


def _now() -> datetime:
    return datetime.now(UTC)


class Mind(
    SharingVerbs,
    BrowsingVerbs,
    WorkVerbs,
    SecretVerbs,
    AccountVerbs,
    GraphVerbs,
    SyncVerbs,
    CurationVerbs,
    LearningVerbs,
):
    """A memory: store what was learned, recall what matters.

    Ids may be given by any unambiguous beginning. Every verb raises a `MindError` with a code
    and a hint when it cannot do what it was asked.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings | None = None,
        *,
        clock: Callable[[], datetime] = _now,
        new_id: Callable[[], MemoryId] = ids.new_id,
        capture: QueryLog | None = None,
        embedders: Embedders | None = None,
        extractor: Extractor | None = None,
        background: bool = False,
        borrow: bool = False,
    ) -> None:
        """Take a store into use.

        With `background`, a thread embeds what is stored here, and reads it for the graph. With
        `borrow`, the vectors of queries come from the store's background worker if it runs: for a
        process that soon ends.
        """
        self.settings = settings = settings or Settings()
        self.scope = Scope(user=UserId(settings.user))
        self._key = None
        self._companions: Sequence[companions.Companion] = ()
        self._is_lent = False
        self._store = store
        self._clock = clock
        self._capture = capture
        self._executor = ThreadPoolExecutor(thread_name_prefix="bearinmind-leg")
        self.socket_places = remote.places(settings.beside, cache_folder())
        self._embedders = embedders or wiring.embedders_of(settings)
        self.active_space = ActiveSpace(
            store,
            self._embedders,
            off=settings.embedder == "none",
            borrow_at=self.socket_places if borrow else (),
        )
        self._extractor = (
            ConfiguredExtractor(lambda: extractor) if extractor else wiring.extractor_of(settings)
        )
        handlers = wiring.handlers_of(store, self._embedders, self._extractor, clock)
        self._background = Background(store, handlers, clock, automatic=background)
        self.vault = wiring.open_vault(settings, lambda: not store.sealed_under())
        self._reveal = Reveal(store=store, vault=self.vault, clock=clock)
        self._remember = Remember(
            store=store,
            rules=Rules(content_limit=settings.content_limit, categories=settings.categories),
            clock=clock,
            new_id=new_id,
            boundary=Boundary(vault=self.vault, detects=settings.detect_secrets),
            reveal=self._reveal,
        )
        self._turn_reader = wiring.reader_of(settings)
        self._reranker = wiring.reranker_of(settings)
        self._recall = wiring.recall_of(
            settings, store.for_recall(), self.active_space, self._reranker, self._executor
        )

    @classmethod
    def open(
        cls,
        store: Path | str | StoreName | None = None,
        **settings: Any,  # noqa: ANN401
    ) -> Self:
        """Open the memories of a store, by default the one that the settings name.

        What is stored is embedded, and read for the graph, on a thread of this process, unless
        `worker` is off.
        """
        chosen = Configuration.load({"store": store, **settings}).settings
        return cls.build(chosen, background=chosen.worker == "auto")

    @classmethod
    def build(
        cls,
        settings: Settings,
        *,
        create: bool = True,
        background: bool = False,
        borrow: bool = False,
    ) -> Self:
        """Open the memories that these settings describe."""
        store = wiring.store_of(settings, create=create)
        beside, user = settings.beside, settings.user
        capture = QueryLog.beside(beside, user) if settings.capture_queries else None
        app = cls(store, settings, capture=capture, background=background, borrow=borrow)
        if background:
            app._companions = companions.begin(app)
        return app

    def for_user(self, user: str, key: str | None = None) -> Self:
        """The same memory as another user sees it, asked for by a key; cheap, and never closed.

        It works as long as this one is open. What that user asks is not captured.
        """
        name = self.scope.user if user == self.scope.user else check_user(user)
        reveal = replace(self._reveal, key=key)
        other = copy(self)
        vars(other).update(  # a copy of this object, before anybody else has it
            scope=Scope(user=name),
            settings=self.settings.model_copy(update={"user": name}),
            _key=key,
            _is_lent=True,
            _capture=None,
            _reveal=reveal,
            _remember=replace(self._remember, reveal=reveal),
        )
        return other

    def close(self) -> None:
        """Release the store; what waits to be done in the background stays in its queue."""
        if self._is_lent:
            return
        for companion in self._companions:
            companion.close()
        self._background.close()
        self._executor.shutdown()
        self._embedders.close()
        self._extractor.close()
        self._turn_reader.close()
        if self._reranker:
            self._reranker.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- the write path ------------------------------------------------------------------------

    def store(
        self,
        content: str,
        *,
        supersedes: Iterable[str] = (),
        wait: bool = False,
        idempotency_key: str | None = None,
        **fields: Unpack[DraftFields],
    ) -> Outcome:
        """Remember something: `Stored`, or `AlreadyKnown` when a live memory says the same.

        With `wait` it is embedded and read for the graph, as is all that waited before it, or that
        has failed. The same with the same `idempotency_key` again is kept once: the answer is what
        became of it, as it is now.
        """
        replaced = [self._own(id_) for id_ in supersedes]
        draft = requests.draft(content, fields, self.settings)
        outcome = self._remember.add(self.scope, draft, replaced, idempotency_key=idempotency_key)
        self._background.nudge()
        if wait:
            self._background.finish(patience=_WAIT)
            self.active_space.look_again()
        return outcome

    def plan_purge(self, ids: Iterable[str]) -> PurgePlan:
        """What purging these deleted memories would remove."""
        return self._remember.plan_purge(self.scope, [self._own(id_) for id_ in ids])

    def purge(self, plan: PurgePlan) -> bool:
        """Remove for good what a plan names; this cannot be undone.

        False when traces of the text may remain for a while: in a file until another process has
        ended its reading, on a server until that overwrites them.
        """
        return self._remember.purge(self.scope, plan)

    def link(self, source: str, kind: LinkKind | str, target: str) -> Link:
        """Link two memories, read "source KIND target"."""
        return self._remember.link(
            self.scope, self._own(source), choose(LinkKind, kind, InvalidLink), self._own(target)
        )

    def unlink(self, source: str, kind: LinkKind | str, target: str) -> Link:
        """End a link."""
        return self._remember.unlink(
            self.scope,
            self._own(source).id,
            choose(LinkKind, kind, InvalidLink),
            self._own(target).id,
        )

    def admit(
        self, versions: Sequence[Memory], sealed: Sequence[Sealed] = (), *, made_id: bool = False
    ) -> History:
        """A memory from elsewhere, with its secrets, held to the same rules as a new one.

        With `made_id` its id was made from what it says: a sensitive one gets another.
        """
        return self._remember.admit_history(self.scope, versions, sealed, made_id=made_id)

    def add_histories(
        self, histories: Sequence[History], siblings: Container[MemoryId] = ()
    ) -> Sequence[Outcome | None]:
        """Keep admitted memories in one transaction; None where an id is stored already."""
        outcomes = self._store.put_many(self.scope, histories, siblings)
        self._background.nudge()
        return outcomes

    def add_link(self, link: Link) -> None:
        """Keep a link from elsewhere, with its times."""
        self._remember.add_link(self.scope, link)

    # ---- the read path -------------------------------------------------------------------------

    def recall(self, text: str, **fields: Unpack[QueryFields]) -> Answer:
        """The memories that matter for a text, best first, with the trace of how it found them."""
        query = self._query(text, fields)
        answer = shared.recalled(self._recall, self._store, query)
        if self._capture:
            hits = [hit.memory.id for hit in answer.hits]
            self._capture.append(answer.query.text, self._clock(), hits)
        return answer

    def asked(self, text: str) -> str:
        """What a query asks, without the secrets in it: they go to no model, and into no file."""
        return masked(text) if self.settings.detect_secrets else text

    def why_not(self, text: str, id: str, **fields: Unpack[QueryFields]) -> WhyNot:
        """Why a memory is not in the answer to a query, and what would have let it in."""
        query = self._query(text, fields)
        sees = shared.seen_by(self._recall, self._store, query.filter)
        return why_not(sees, query, self.get(id))

    def versions(self, id: str) -> Sequence[Memory]:
        """Every version of a memory, oldest first."""
        return self._store.versions(self.scope, self._own(id).id)

    def links(self, id: str) -> Sequence[Link]:
        """The links that begin or end at a memory."""
        return self._store.links(self.scope, [self._own(id).id])

    def all_links(self) -> Iterator[Link]:
        """Every link ever made, removed ones too."""
        return self._store.all_links(self.scope)

    def why(self, id: str) -> history.Why:
        """What led to a memory."""
        return history.why(self._store, self.scope, self._own(id))

    def locked_out(self) -> dict[str, str]:
        """By leg or setting: which memories cannot be recalled because of it, whatever is asked."""
        active = self.work_status().active
        embedded = active.embedded if active else 0
        return lockout.warnings(self._recall, self.settings.limit, embedded)

    def store_facts(self) -> StoreFacts:
        """How large the store is, and on what it runs."""
        return self._store.facts()

    def check(self) -> Sequence[Finding]:
        """Look for damage."""
        return self._store.check()

    def _query(self, text: str, fields: QueryFields) -> Query:
        if "expanded" in fields:
            fields = {**fields, "expanded": [*map(self.asked, fields["expanded"])]}
        return requests.query(self.asked(text), self._filter(fields), fields, self.settings)
