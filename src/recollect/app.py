"""The wiring: from Settings to a Recollect. Construction and delegation only, no logic."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

from pydantic import SecretStr

from recollect import ids, requests
from recollect.capture import QueryLog
from recollect.config import Configuration, Settings, cache_folder
from recollect.embed import remote
from recollect.embed.choose import Options, remake
from recollect.embed.choose import choose as choose_embedder
from recollect.embed.embedders import ActiveSpace, Embedders
from recollect.errors import InvalidLink
from recollect.protocols import (
    AuditEntry,
    Embedder,
    Finding,
    Fusion,
    History,
    Leg,
    Page,
    Sealed,
    Statistics,
    Store,
)
from recollect.recall import history, lockout
from recollect.recall.adjust import Adjustments
from recollect.recall.dense import DenseLeg
from recollect.recall.explain import why_not
from recollect.recall.fusion import Calibrated, ConvexCombination, ReciprocalRank
from recollect.recall.lexical import LexicalLeg, LexicalWeights
from recollect.recall.parse import LARGEST_LIMIT, LARGEST_POOL, check_number
from recollect.recall.pipeline import Recall
from recollect.recall.rerank import Rerank
from recollect.recall.select import Selection
from recollect.remember.admit import Rules, check_moment
from recollect.remember.pipeline import Changes, PurgePlan, Remember
from recollect.remember.reveal import ROTATE, Reveal
from recollect.remember.secrets import masked
from recollect.remember.sensitive import Boundary
from recollect.requests import DraftFields, FilterFields, QueryFields
from recollect.rerank.choose import Address, OwnedReranker
from recollect.rerank.choose import choose as choose_reranker
from recollect.store.sqlite import SqliteStore
from recollect.trace import Recollection, WhyNot
from recollect.types import (
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Query,
    Scope,
    State,
    UserId,
    choose,
)
from recollect.vault.choose import choose as choose_keys
from recollect.vault.rotate import Rotated, rotate
from recollect.vault.seal import SealingVault
from recollect.vault.status import VaultStatus, examine
from recollect.work.background import Background
from recollect.work.done import WorkDone
from recollect.work.embed import KIND as EMBED
from recollect.work.loop import Progress, Worker
from recollect.work.status import WorkStatus

_WAIT = 5.0  # seconds that `store` waits for another attempt when it is to wait


def _now() -> datetime:
    return datetime.now(UTC)


def _legs(store: Store, active: ActiveSpace, settings: Settings) -> tuple[Leg, ...]:
    """The legs that are on."""
    every: tuple[Leg, ...] = (
        LexicalLeg(store, LexicalWeights(**settings.lexical)),
        *([DenseLeg(store, active.current)] if settings.embedder != "none" else ()),
    )
    return tuple(leg for leg in every if settings.leg_weights.get(leg.name, 1.0))


def _fusion(settings: Settings) -> Fusion:
    match settings.fusion:
        case "calibrated":
            return Calibrated(weights=settings.leg_weights)
        case "convex":
            return ConvexCombination(weights=settings.leg_weights)
        case "rrf":
            return ReciprocalRank(k=settings.rrf_k, weights=settings.leg_weights)


def embedders_of(settings: Settings) -> Embedders:
    """The embedders that settings allow; each is made when it is first asked for."""
    options = Options(
        url=settings.embedder_url,
        key=settings.embedder_key,
        provider_keys=settings.provider_keys,
        dimensions=settings.embedder_dimensions,
        timeout=settings.embedder_timeout,
        per_minute=settings.embedder_per_minute,
        cache=cache_folder() / "embeddings.db",
        text=settings.embedded_text,
    )
    return Embedders(
        lambda: choose_embedder(settings.embedder, options),
        lambda space: remake(space, settings.embedder, options),
    )


def _reranker(settings: Settings) -> OwnedReranker | None:
    return choose_reranker(
        settings.reranker,
        own=Address(url=settings.reranker_url, key=settings.reranker_key),
        llm=Address(url=settings.llm_url, key=settings.llm_key, model=settings.llm_model),
        provider_keys=settings.provider_keys,
    )


def _rerank(reranker: OwnedReranker | None, settings: Settings) -> Rerank | None:
    if reranker is None:
        return None
    return Rerank(
        reranker=reranker,
        depth=settings.rerank_depth,
        seconds=settings.rerank_seconds,
        weight=settings.rerank_weight,
    )


def _shown(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


def open_vault(settings: Settings, is_first_use: Callable[[], bool]) -> SealingVault:
    """The vault of these settings; its keys are read when something is first sealed or opened."""
    source = choose_keys(
        key=_shown(settings.vault_key),
        command=settings.vault_key_command,
        url=settings.vault_url,
        token=_shown(settings.vault_token),
        file=settings.vault_key_file,
    )
    return SealingVault(source, is_first_use=is_first_use)


class Recollect:
    """A memory: store what was learned, recall what matters.

    Ids may be given by any unambiguous beginning. Every verb raises a `RecollectError` with a code
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
        background: bool = False,
        borrow: bool = False,
    ) -> None:
        """Take a store into use.

        With `background`, a thread embeds what is stored here. With `borrow`, the vectors of
        queries come from the store's background worker if it runs: for a process that soon ends.
        """
        self.settings = settings = settings or Settings()
        self.scope = Scope(user=UserId(settings.user))
        self._store = store
        self._clock = clock
        self._capture = capture
        self._executor = ThreadPoolExecutor(thread_name_prefix="recollect-leg")
        self.socket_places = remote.places(settings.store.expanduser(), cache_folder())
        self._embedders = embedders or embedders_of(settings)
        self.active_space = ActiveSpace(
            store,
            self._embedders,
            off=settings.embedder == "none",
            borrow_at=self.socket_places if borrow else (),
        )
        self._background = Background(store, self._embedders, clock, automatic=background)
        self.vault = open_vault(settings, lambda: not store.sealed_under())
        self._reveal = Reveal(store=store, vault=self.vault, clock=clock)
        self._remember = Remember(
            store=store,
            rules=Rules(content_limit=settings.content_limit, categories=settings.categories),
            clock=clock,
            new_id=new_id,
            boundary=Boundary(vault=self.vault, detects=settings.detect_secrets),
            reveal=self._reveal,
        )
        self._reranker = _reranker(settings)
        self._recall = Recall(
            store=store,
            legs=_legs(store, self.active_space, settings),
            fusion=_fusion(settings),
            adjustments=Adjustments(
                importance=settings.importance_weight,
                exact=settings.exact_bonus,
                focus=settings.focus_bonus,
                decay_days=settings.decay_days,
                trust=settings.trust_factors,
            ),
            selection=Selection(
                least_confidence=settings.least_confidence,
                near_duplicates=settings.near_duplicates,
            ),
            executor=self._executor,
            rerank=_rerank(self._reranker, settings),
        )

    @classmethod
    def open(cls, store: Path | str | None = None, **settings: Any) -> Self:  # noqa: ANN401
        """Open the memories of a file, by default the one that the settings name.

        What is stored is embedded on a thread of this process, unless `worker` is off.
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
        path = settings.store.expanduser()
        store = SqliteStore(path, busy_timeout=settings.busy_timeout, create=create)
        capture = QueryLog.beside(path, settings.user) if settings.capture_queries else None
        return cls(store, settings, capture=capture, background=background, borrow=borrow)

    def close(self) -> None:
        """Release the file; what waits to be embedded stays in its queue."""
        self._background.close()
        self._executor.shutdown()
        self._embedders.close()
        if self._reranker:
            self._reranker.close()
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # ---- the write path ------------------------------------------------------------------------

    def store(
        self,
        content: str,
        *,
        supersedes: Iterable[str] = (),
        wait: bool = False,
        **fields: Unpack[DraftFields],
    ) -> Outcome:
        """Remember something: `Stored`, or `AlreadyKnown` when a live memory says the same.

        With `wait` it is embedded, as is all that waited before it, or that has failed.
        """
        replaced = [self.get(id_) for id_ in supersedes]
        draft = requests.draft(content, fields, self.settings)
        outcome = self._remember.add(self.scope, draft, replaced)
        self._background.nudge()
        if wait:
            self._background.finish(patience=_WAIT)
            self.active_space.look_again()
        return outcome

    def update(
        self,
        id: str,
        *,
        expected_version: int | None = None,
        **changes: Any,  # noqa: ANN401
    ) -> Memory:
        """Change a memory; the keywords are the fields of `Changes`."""
        memory = self.get(id)
        changed = self._remember.update(self.scope, memory, Changes(**changes), expected_version)
        self._background.nudge()
        return changed

    def delete(self, id: str) -> Memory:
        """Hide a memory from recall; it can be restored."""
        return self._remember.delete(self.scope, self.get(id))

    def restore(self, id: str) -> Memory:
        """Bring a deleted memory back."""
        restored = self._remember.restore(self.scope, self.get(id))
        self._background.nudge()
        return restored

    def plan_purge(self, ids: Iterable[str]) -> PurgePlan:
        """What purging these deleted memories would remove."""
        return self._remember.plan_purge(self.scope, [self.get(id_) for id_ in ids])

    def purge(self, plan: PurgePlan) -> bool:
        """Remove for good what a plan names; this cannot be undone.

        False when traces of the text may remain until another process has ended its reading.
        """
        return self._remember.purge(self.scope, plan)

    def link(self, source: str, kind: LinkKind | str, target: str) -> Link:
        """Link two memories, read "source KIND target"."""
        return self._remember.link(
            self.scope, self.get(source), choose(LinkKind, kind, InvalidLink), self.get(target)
        )

    def unlink(self, source: str, kind: LinkKind | str, target: str) -> Link:
        """End a link."""
        return self._remember.unlink(
            self.scope,
            self.get(source).id,
            choose(LinkKind, kind, InvalidLink),
            self.get(target).id,
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

    # ---- background work ----------------------------------------------------------------------

    def worker(self) -> Worker:
        """A worker for the whole store; as it begins, the configured embedder's space is filled."""
        return self._background.worker()

    def work(self, progress: Progress | None = None) -> WorkDone:
        """Do here and now what is due in the background."""
        done = self._background.once(progress)
        self.active_space.look_again()
        return done

    def wait_for_work(
        self, timeout: float | None = None, progress: Progress | None = None
    ) -> WorkStatus:
        """Help with the work until nothing waits, and say how it stands.

        What failed and is tried again in a minute or later is not waited for.
        """
        self._background.finish(progress, timeout=timeout)
        self.active_space.look_again()
        return self.work_status()

    def work_status(self) -> WorkStatus:
        """The vector spaces of the store and what is in its queue."""
        now = self._clock()
        return WorkStatus(
            spaces=self._store.spaces(),
            queue=self._store.work_counts(now),
            next_due=self._store.next_due(now),
        )

    def retry_dead(self) -> int:
        """Have what was given up tried again; how many jobs that is."""
        return self._store.revive(EMBED)

    def drop_retired(self) -> int:
        """Remove the embeddings of spaces that answer no more; how many there were."""
        dropped = self._store.drop_retired()
        self.active_space.look_again()
        return dropped

    def embedder(self) -> Embedder | None:
        """The configured embedder; None when semantic recall is off.

        Raises:
            RecollectError: it cannot be made.
        """
        return self._embedders.configured()

    # ---- what is sensitive ---------------------------------------------------------------------

    def secret_get(self, id: str, *, version: int | None = None, agent: str | None = None) -> str:
        """What a sensitive memory says; that it was asked for is written down."""
        memory = self.get(id)
        if version is not None:
            memory = history.version_of(self._store, self.scope, memory.id, version)
        return self._reveal(self.scope, memory, agent=agent)

    def sensitive(self) -> Sequence[Memory]:
        """The sensitive memories, newest first, with placeholders for what they say."""
        return self._store.sensitive(self.scope)

    def sealed(self, id: str) -> Sequence[Sealed]:
        """What the versions of a memory say, encrypted."""
        return self._store.sealed(self.scope, self.get(id).id)

    def secret_audit(self, limit: int = 100) -> Sequence[AuditEntry]:
        """Who asked for secrets, youngest first."""
        return self._store.audit(self.scope, check_number("limit", limit, LARGEST_POOL))

    def rotate_key(
        self,
        *,
        drop_old: bool = False,
        agent: str | None = None,
        advance: Callable[[int], None] = lambda _: None,
    ) -> Rotated:
        """Seal everything in the store under a new key; goes on where it was interrupted."""
        now = self._clock()
        done = rotate(self.vault, self._store, now, drop_old=drop_old, advance=advance)
        self._store.note(AuditEntry(now, self.scope.user, ROTATE, None, None, agent))
        return done

    def secrets_by_key(self) -> dict[str, int]:
        """By key id: how many secrets of the whole store it opens."""
        return self._store.sealed_under()

    def vault_status(self) -> VaultStatus:
        """Where the key is, whether it is there, and which secrets it opens."""
        return examine(self.vault, self._store.sealed_under())

    def scrub(self) -> bool:
        """Overwrite what text that became sensitive has left behind in the file's log.

        False when another process that is just reading keeps it from being so.
        """
        return self._store.scrub()

    # ---- the read path -------------------------------------------------------------------------

    def recall(self, text: str, **fields: Unpack[QueryFields]) -> Recollection:
        """The memories that matter for a text, best first, with the trace of how it found them."""
        answer = self._recall(self._query(text, fields))
        if self._capture:
            hits = [hit.memory.id for hit in answer.hits]
            self._capture.append(answer.query.text, self._clock(), hits)
        return answer

    def asked(self, text: str) -> str:
        """What a query asks, without the secrets in it: they go to no model, and into no file."""
        return masked(text) if self.settings.detect_secrets else text

    def why_not(self, text: str, id: str, **fields: Unpack[QueryFields]) -> WhyNot:
        """Why a memory is not in the answer to a query, and what would have let it in."""
        return why_not(
            self._recall,
            self._query(text, fields),
            self.get(id),
        )

    def get(self, id: str) -> Memory:
        """The present version of a memory, deleted or not."""
        return history.find(self._store, self.scope, id)

    def versions(self, id: str) -> Sequence[Memory]:
        """Every version of a memory, oldest first."""
        return self._store.versions(self.scope, self.get(id).id)

    def list(
        self,
        *,
        limit: int = 20,
        after: str | None = None,
        newest_first: bool = True,
        **fields: Unpack[FilterFields],
    ) -> Sequence[Memory]:
        """Memories by creation time; `after` continues behind that memory."""
        last = self.get(after) if after else None
        place = (last.created_at, last.id) if last else None
        page = Page(
            limit=check_number("limit", limit, LARGEST_POOL),
            after=place,
            newest_first=newest_first,
        )
        return self._store.browse(self._filter(fields), page)

    def links(self, id: str) -> Sequence[Link]:
        """The links that begin or end at a memory."""
        return self._store.links(self.scope, [self.get(id).id])

    def all_links(self) -> Iterator[Link]:
        """Every link ever made, removed ones too."""
        return self._store.all_links(self.scope)

    def states(self, memories: Sequence[Memory]) -> dict[MemoryId, State]:
        """Where each of these memories stands now."""
        return history.states(self._store, self.scope, memories, self._clock())

    def why(self, id: str) -> history.Why:
        """What led to a memory."""
        return history.why(self._store, self.scope, self.get(id))

    def timeline(
        self,
        around: str | datetime,
        *,
        before: int = 5,
        after: int = 5,
        **fields: Unpack[FilterFields],
    ) -> history.Timeline:
        """What was remembered before and after a memory or a moment."""
        anchor = self.get(around) if isinstance(around, str) else check_moment(around, "the moment")
        return history.timeline(
            self._store,
            self._filter(fields),
            anchor,
            before=check_number("before", before, LARGEST_LIMIT, least=0),
            after=check_number("after", after, LARGEST_LIMIT, least=0),
        )

    def stats(self) -> Statistics:
        """Counts of what is stored."""
        return self._store.statistics(self.scope, self._clock())

    def locked_out(self) -> dict[str, str]:
        """By leg or setting: which memories cannot be recalled because of it, whatever is asked."""
        active = self.work_status().active
        embedded = active.embedded if active else 0
        return lockout.warnings(self._recall, self.settings.limit, embedded)

    def check(self) -> Sequence[Finding]:
        """Look for damage."""
        return self._store.check()

    def _filter(self, fields: FilterFields) -> Filter:
        return requests.filter_of(fields, self.scope, self.settings, self._clock())

    def _query(self, text: str, fields: QueryFields) -> Query:
        if "expanded" in fields:
            fields = {**fields, "expanded": [*map(self.asked, fields["expanded"])]}
        return requests.query(self.asked(text), self._filter(fields), fields, self.settings)
