"""From settings to the parts of an open memory. Construction only, no logic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from pydantic import SecretStr

from bearinmind.app.states import States
from bearinmind.concepts import Mention, Merge
from bearinmind.config import Settings, cache_folder
from bearinmind.errors import InvalidQuery
from bearinmind.graph.extractors import ConfiguredExtractor
from bearinmind.learn.chat_reader import ConfiguredReader, TurnReader
from bearinmind.models import encoder_socket, factory, forks
from bearinmind.models.embedders import ActiveSpace, Embedders
from bearinmind.models.token_budget import ModelOptions
from bearinmind.outdates.verdicts import Finder, Offers
from bearinmind.protocols import Extractor, Fusion, Leg, Store
from bearinmind.recall.dense import DenseLeg
from bearinmind.recall.graph_leg import GraphLeg, Spread
from bearinmind.recall.lexical import LexicalLeg, LexicalWeights
from bearinmind.recall.pipeline import Recall
from bearinmind.recall.query_log import QueryLog
from bearinmind.recall.rerank import Rerank
from bearinmind.recall.scores import Adjustments, Calibrated, ConvexCombination, ReciprocalRank
from bearinmind.recall.selection import Selection
from bearinmind.remember.admit import Rules
from bearinmind.remember.pipeline import Remember
from bearinmind.remember.secrets import Boundary, Reveal
from bearinmind.store.factory import Access, open_store
from bearinmind.types import Link, Memory, MemoryId, Query, Scope, UserId, new_id
from bearinmind.vault.keys import choose as choose_keys
from bearinmind.vault.seal import SealingVault
from bearinmind.work.handlers import Comparing, Embedding, Extracting
from bearinmind.work.status import COMPARE, EMBED, EXTRACT
from bearinmind.work.worker import Background, Handler

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from bearinmind.app.accounts import Accounts
    from bearinmind.app.curation import Curation
    from bearinmind.app.graph import Graph
    from bearinmind.app.mind import Mind
    from bearinmind.app.secrets import Secrets
    from bearinmind.app.server import Server
    from bearinmind.app.sync import Sync, Transfer
    from bearinmind.app.work import Work
    from bearinmind.work.rounds import Rounds

Group = TypeVar("Group", bound="DataclassInstance")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the verbs of one user are made of. All users of an open memory share most of it."""

    settings: Settings
    scope: Scope
    key: str | None = None  #: the id of the key with which the user came, for the audit
    store: Store
    clock: Callable[[], datetime]
    capture: QueryLog | None
    embedders: Embedders
    active_space: ActiveSpace
    socket_places: Sequence[Path]  #: where a background worker lends its embedder
    extractors: ConfiguredExtractor
    background: Background
    nudge: Callable[[], None]  #: tells the thread of this process, if it has one, of a new job
    vault: SealingVault
    remember: Remember
    turn_reader: ConfiguredReader
    reranker: factory.OwnedReranker | None
    executor: Executor
    recall: Recall
    offers: Offers
    states: States
    closed: Event = field(default_factory=Event)  #: set for all users at once

    def group(self, kind: type[Group]) -> Group:
        """A group of verbs, which names the parts that it needs as its fields."""
        return kind(**{each.name: getattr(self, each.name) for each in fields(kind)})

    def recall_with_weights(self, query: Query) -> Recall:
        """The read path with the weights that a query gives its legs and its decay."""
        weights = {**self.settings.leg_weights, **query.leg_weights}
        decay = {**self.settings.decay_days, **query.decay_days}
        changed = self.settings.model_copy(update={"leg_weights": weights, "decay_days": decay})
        store = self.store.for_recall()
        if not _legs(store, self.active_space, changed):
            raise InvalidQuery(
                "leg_weights leaves neither words nor meaning to look by",
                hint="Leave the lexical leg or the dense leg on.",
            )
        return recall_of(changed, store, self.active_space, self.reranker, self.executor)

    def for_user(self, user: UserId, key: str | None) -> Parts:
        """The parts for another user, whose queries are not captured."""
        scope = Scope(user=user)
        remember = replace(self.remember, reveal=replace(self.remember.reveal, key=key))
        offers = replace(self.offers, scope=scope)
        return replace(
            self,
            settings=self.settings.model_copy(update={"user": user}),
            scope=scope,
            key=key,
            capture=None,
            remember=remember,
            offers=offers,
            states=replace(self.states, scope=scope, remember=remember, offers=offers),
        )

    def close(self) -> None:
        """Release everything; queued work stays in the store."""
        self.closed.set()
        self.background.close()
        self.executor.shutdown()
        self.embedders.close()
        self.extractors.close()
        self.turn_reader.close()
        if self.reranker:
            self.reranker.close()
        self.store.close()


class Options(TypedDict, total=False):
    """What tests and measurements replace, and what depends on the kind of process."""

    clock: Callable[[], datetime]
    new_id: Callable[[], MemoryId]
    capture: QueryLog | None
    embedders: Embedders
    extractor: Extractor
    background: bool  #: a thread embeds what is stored, and extracts concepts from it
    by_person: bool  #: whoever stores says as a person what that supersedes
    borrow: bool  #: query vectors come from the background worker, if one runs: for short processes


def parts_of(store: Store, settings: Settings, **options: Unpack[Options]) -> Parts:
    """The parts over a store, for the user of the settings."""
    clock = options.get("clock", lambda: datetime.now(UTC))
    executor = forks.Threads(None, "bearinmind-leg")
    places = encoder_socket.places(settings.beside, cache_folder())
    embedders = options.get("embedders") or embedders_of(settings)
    active = ActiveSpace(
        store,
        embedders,
        off=settings.embedder == "none",
        sockets=places if options.get("borrow") else (),
    )
    fixed = options.get("extractor")
    extractor = ConfiguredExtractor(lambda: fixed) if fixed else extractor_of(settings)
    background = Background(store, handlers_of(store, embedders, extractor, clock), clock)
    vault = open_vault(settings, lambda: not store.sealed_under())
    reranker = reranker_of(settings)
    scope = Scope(user=UserId(settings.user))
    remember = Remember(
        store=store,
        rules=Rules(content_limit=settings.content_limit, categories=settings.categories),
        clock=clock,
        new_id=options.get("new_id", new_id),
        by_person=options.get("by_person", False),
        boundary=Boundary(vault=vault, detects=settings.detect_secrets),
        reveal=Reveal(store=store, vault=vault, clock=clock),
    )
    recall = recall_of(settings, store.for_recall(), active, reranker, executor)
    offers = Offers(store, scope, clock)
    return Parts(
        settings=settings,
        scope=scope,
        store=store,
        clock=clock,
        capture=options.get("capture"),
        embedders=embedders,
        active_space=active,
        socket_places=places,
        extractors=extractor,
        background=background,
        nudge=background.nudge if options.get("background") else lambda: None,
        vault=vault,
        remember=remember,
        turn_reader=reader_of(settings),
        reranker=reranker,
        executor=executor,
        recall=recall,
        offers=offers,
        states=States(
            store=store,
            scope=scope,
            clock=clock,
            remember=remember,
            recall=recall,
            offers=offers,
        ),
    )


def store_of(settings: Settings, *, create: bool) -> Store:
    """The store that settings name."""
    access = Access(
        busy_timeout=settings.busy_timeout,
        connections=settings.store_connections,
        replica=settings.replica,
        replica_staleness=settings.replica_staleness,
    )
    return open_store(settings.store, access, create=create)


def _legs(store: Store, active: ActiveSpace, settings: Settings) -> tuple[Leg, ...]:
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
    """The embedders that settings allow; each is made when it is first used."""
    options = factory.EmbedderOptions(
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
        lambda: factory.choose_embedder(settings.embedder, options),
        lambda space: factory.remake_embedder(space, settings.embedder, options),
    )


def extractor_of(settings: Settings) -> ConfiguredExtractor:
    """The extractor that settings name; it is made when it is first used."""

    def choose() -> Extractor | None:
        from bearinmind.graph.extractors import choose_extractor  # noqa: PLC0415  (slow)

        return choose_extractor(settings.extractor, llm_options(settings))

    return ConfiguredExtractor(choose)


def llm_options(settings: Settings) -> ModelOptions:
    """The chat model of the `llm_` settings."""
    return ModelOptions(
        url=settings.llm_url,
        key=settings.llm_key,
        model=settings.llm_model,
        dialect=settings.llm_dialect,
        cache=cache_folder(),
        daily_tokens=settings.llm_daily_tokens,
    )


def reader_of(settings: Settings) -> ConfiguredReader:
    """The chat model that reads turns, if settings name one; it is made when it is first used."""

    def make() -> TurnReader | None:
        if settings.learn != "model":
            return None
        own = settings.learn_url is not None  # a key is sent to its own server only
        options = ModelOptions(
            setting="learn",
            url=settings.learn_url if own else settings.llm_url,
            key=settings.learn_key if own else settings.llm_key,
            model=settings.learn_model or settings.llm_model,
            dialect=settings.learn_dialect if own else settings.llm_dialect,
            cache=cache_folder(),
            daily_tokens=settings.learn_daily_tokens,
        )
        return TurnReader(options)

    return ConfiguredReader(make)


def handlers_of(
    store: Store,
    embedders: Embedders,
    extractor: ConfiguredExtractor,
    clock: Callable[[], datetime],
) -> dict[str, Handler]:
    """The handler of each kind of background work."""

    def certain(new: Sequence[Mention], scope: Scope) -> Sequence[Merge]:
        from bearinmind.graph import canonical  # noqa: PLC0415  (only workers)

        return canonical.certain(new, partial(store.concepts, scope), clock())

    def compare(scope: Scope, memory: Memory) -> tuple[Sequence[Link], Sequence[Link]]:
        read = factory.pair_reader(embedders.configured())
        return Finder(store, read).links(scope, memory, clock())

    return {
        EMBED: Embedding(store=store, embedders=embedders, clock=clock),
        EXTRACT: Extracting(store=store, extractor=extractor, clock=clock, certain=certain),
        COMPARE: Comparing(
            store=store,
            compare=compare,
            clock=clock,
            embeds=lambda: embedders.configured() is not None,
        ),
    }


def reranker_of(settings: Settings) -> factory.OwnedReranker | None:
    """The reranker that settings name, if any."""
    return factory.choose_reranker(
        settings.reranker,
        own=factory.RerankerAddress(url=settings.reranker_url, key=settings.reranker_key),
        llm=factory.RerankerAddress(
            url=settings.llm_url, key=settings.llm_key, model=settings.llm_model
        ),
        provider_keys=settings.provider_keys,
    )


def _text(secret: SecretStr | None) -> str | None:
    return secret.get_secret_value() if secret else None


def open_vault(settings: Settings, is_first_use: Callable[[], bool]) -> SealingVault:
    """The vault of these settings; its keys are read at the first use."""
    source = choose_keys(
        key=_text(settings.vault_key),
        command=settings.vault_key_command,
        url=settings.vault_url,
        token=_text(settings.vault_token),
        file=settings.vault_key_file,
    )
    return SealingVault(source, is_first_use=is_first_use)


def recall_of(
    settings: Settings,
    store: Store,
    active: ActiveSpace,
    reranker: factory.OwnedReranker | None,
    executor: Executor,
) -> Recall:
    """The read path that settings describe."""
    graph = GraphLeg(store, Spread.of(settings.graph))
    reads = settings.second_look == "on" and settings.embedder != "none"
    rerank = None
    if reranker is not None:
        rerank = Rerank(
            reranker=reranker,
            depth=settings.rerank_depth,
            seconds=settings.rerank_seconds,
            weight=settings.rerank_weight,
        )
    return Recall(
        store=store,
        legs=_legs(store, active, settings),
        fusion=_fusion(settings),
        adjustments=Adjustments(
            importance=settings.importance_weight,
            exact=settings.exact_bonus,
            focus=settings.focus_bonus,
            time=settings.time_bonus,
            decay_days=settings.decay_days,
            trust=settings.trust_factors,
        ),
        selection=Selection(near_duplicates=settings.near_duplicates),
        executor=executor,
        rerank=rerank,
        following=(graph,) if settings.leg_weights.get(graph.name, 1.0) else (),
        pair_reader=active.pair_reader if reads else lambda: None,
    )


def start_rounds(mind: Mind) -> Sequence[Rounds[Mind]]:
    """Start what runs beside a memory that stays open: sync and curation, where they are on."""
    from bearinmind.app.curation import curation_rounds  # noqa: PLC0415  not for one recall
    from bearinmind.app.sync import sync_rounds  # noqa: PLC0415  likewise

    rounds = [sync] if (sync := sync_rounds(mind)) else []
    if mind.settings.curate != "off":
        rounds.append(curation_rounds(mind, mind.settings.curate_hours * 3600))
    return rounds


# ---- the groups of verbs -------------------------------------------------------------------------


class VerbGroups:
    """What has groups of verbs over its parts; each is loaded when it is first used."""

    @property
    def _parts(self) -> Parts:
        raise NotImplementedError

    @property
    def graph(self) -> Graph:
        """The concepts that the memories mention, and their relations."""
        from bearinmind.app.graph import Graph  # noqa: PLC0415

        return self._parts.group(Graph)

    @property
    def sync(self) -> Sync:
        """The same memories on other machines."""
        from bearinmind.app.sync import Sync  # noqa: PLC0415

        return self._parts.group(Sync)

    @property
    def transfer(self) -> Transfer:
        """The import and export of memories."""
        from bearinmind.app.sync import Transfer  # noqa: PLC0415

        return self._parts.group(Transfer)

    @property
    def curation(self) -> Curation:
        """Proposals to change memories, and the decisions about them."""
        from bearinmind.app.curation import Curation  # noqa: PLC0415

        return self._parts.group(Curation)

    @property
    def accounts(self) -> Accounts:
        """Users, their keys, and the audit."""
        from bearinmind.app.accounts import Accounts  # noqa: PLC0415

        return self._parts.group(Accounts)

    @property
    def secrets(self) -> Secrets:
        """Sensitive memories, and the key that seals them."""
        from bearinmind.app.secrets import Secrets  # noqa: PLC0415

        return self._parts.group(Secrets)

    @property
    def work(self) -> Work:
        """Background work: embedding memories, and extracting concepts from them."""
        from bearinmind.app.work import Work  # noqa: PLC0415

        return self._parts.group(Work)

    @property
    def server(self) -> Server:
        """What a server counts, and what those who look after it want to know."""
        from bearinmind.app.server import Server  # noqa: PLC0415

        return self._parts.group(Server)
