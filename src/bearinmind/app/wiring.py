"""From Settings to the parts of a Bear in Mind. Construction only, no logic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from datetime import datetime
from functools import partial

from pydantic import SecretStr

from bearinmind.concepts import Mention, Merge
from bearinmind.config import Settings, cache_folder
from bearinmind.embed.choose import Options, remake
from bearinmind.embed.choose import choose as choose_embedder
from bearinmind.embed.embedders import ActiveSpace, Embedders
from bearinmind.graph.configured import ConfiguredExtractor
from bearinmind.learn.configured import ConfiguredReader, ModelOptions
from bearinmind.protocols import Extractor, Following, Fusion, Leg, Store
from bearinmind.recall.adjust import Adjustments
from bearinmind.recall.dense import DenseLeg
from bearinmind.recall.fusion import Calibrated, ConvexCombination, ReciprocalRank
from bearinmind.recall.graph import GraphLeg, Spread
from bearinmind.recall.lexical import LexicalLeg, LexicalWeights
from bearinmind.recall.pipeline import Recall
from bearinmind.recall.rerank import Rerank
from bearinmind.recall.select import Selection
from bearinmind.rerank.choose import Address, OwnedReranker
from bearinmind.rerank.choose import choose as choose_reranker
from bearinmind.store.factory import Access, open_store
from bearinmind.types import Scope
from bearinmind.vault.choose import choose as choose_keys
from bearinmind.vault.seal import SealingVault
from bearinmind.work import embed, extract
from bearinmind.work.loop import Handler


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
    """The legs that are on."""
    every: tuple[Leg, ...] = (
        LexicalLeg(store, LexicalWeights(**settings.lexical)),
        *([DenseLeg(store, active.current)] if settings.embedder != "none" else ()),
    )
    return tuple(leg for leg in every if settings.leg_weights.get(leg.name, 1.0))


def _following(store: Store, settings: Settings) -> tuple[Following, ...]:
    """The legs that go on from what the others found, those of them that are on."""
    every: tuple[Following, ...] = (GraphLeg(store, Spread.of(settings.graph)),)
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


def extractor_of(settings: Settings) -> ConfiguredExtractor:
    """The extractor that settings name; it is made when it is first asked for."""

    def choose() -> Extractor | None:
        from bearinmind.graph.choose import LlmOptions, choose_extractor  # noqa: PLC0415  (slow)

        llm = LlmOptions(
            url=settings.llm_url,
            key=settings.llm_key,
            model=settings.llm_model,
            dialect=settings.llm_dialect,
            cache=cache_folder(),
            daily_tokens=settings.llm_daily_tokens,
        )
        return choose_extractor(settings.extractor, llm)

    return ConfiguredExtractor(choose)


def reader_of(settings: Settings) -> ConfiguredReader:
    """The model that reads turns, if one is to; it is made when it is first asked for."""

    def options() -> ModelOptions | None:
        if settings.learn != "model":
            return None
        own = settings.learn_url is not None  # a key goes to no server but its own
        return ModelOptions(
            url=settings.learn_url if own else settings.llm_url,
            key=settings.learn_key if own else settings.llm_key,
            model=settings.learn_model or settings.llm_model,
            dialect=settings.learn_dialect if own else settings.llm_dialect,
            cache=cache_folder(),
            daily_tokens=settings.learn_daily_tokens,
        )

    return ConfiguredReader(options)


def handlers_of(
    store: Store,
    embedders: Embedders,
    extractor: ConfiguredExtractor,
    clock: Callable[[], datetime],
) -> dict[str, Handler]:
    """Who does each kind of background work."""

    def certain(new: Sequence[Mention], scope: Scope) -> Sequence[Merge]:
        from bearinmind.graph.canonical import Canonicaliser  # noqa: PLC0415  (only workers)

        return Canonicaliser().certain(new, partial(store.concepts, scope), clock())

    return {
        embed.KIND: embed.Embedding(store=store, embedders=embedders, clock=clock),
        extract.KIND: extract.Extracting(
            store=store, extractor=extractor, clock=clock, certain=certain
        ),
    }


def reranker_of(settings: Settings) -> OwnedReranker | None:
    """The reranker that settings name, if any."""
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


def recall_of(
    settings: Settings,
    store: Store,
    active: ActiveSpace,
    reranker: OwnedReranker | None,
    executor: Executor,
) -> Recall:
    """The read path that settings describe."""
    return Recall(
        store=store,
        legs=_legs(store, active, settings),
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
        executor=executor,
        rerank=_rerank(reranker, settings),
        following=_following(store, settings),
    )
