"""The product itself, exactly as shipped, as something that can be measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, Unpack

from bearinmind import config
from bearinmind.app import Mind, wiring
from bearinmind.app.requests import QueryFields
from bearinmind.config import Settings
from bearinmind.errors import InvalidSetting, ModelFailure
from bearinmind.outdates.verdicts import MARK, judgement_of, prevailing_of_pairs
from bearinmind.protocols import Following, Store
from bearinmind.recall.pipeline import Recall
from bearinmind.trace import Answer as RecallAnswer
from bearinmind.types import LinkKind, MemoryId, Scope, UserId
from bearinmind.work.status import KINDS, WorkStatus
from bearinmind_bench import audit, pairs
from bearinmind_bench.corpus import EmbeddersOfRun, StoredCorpus
from bearinmind_bench.evaluation import ONLY_USER, Answer, EvaluationQuery, Pair
from bearinmind_bench.metrics import DEPTH

#: Which legs go on from what those of a recall found.
FollowingOf = Callable[[Recall], tuple[Following, ...]]

_NOT_RECALL = "it does not change what is recalled"
#: Settings that no run can change, and why.
FIXED = {
    "store": "it says where memories are, not how they are recalled",
    "user": "the set says who asks",
    **dict.fromkeys(
        ("embedder_key", "provider_keys", "reranker_key"),
        "the manifest of a run shows its settings",
    ),
    "busy_timeout": "nobody else writes to the store of a run",
    **dict.fromkeys(
        ("store_connections", "replica", "replica_staleness"), "a run has a store of its own"
    ),
    **dict.fromkeys(("capture_queries", "judge_model"), _NOT_RECALL),
    **dict.fromkeys(("llm_url", "llm_model", "llm_key"), "a run asks no language model"),
}


class _Otherwise(Mind):
    """Bear in Mind, but with other legs that go on from what those of its recall found."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        following: FollowingOf,
        **options: Unpack[wiring.Options],
    ) -> None:
        super().__init__(store, settings, **options)
        recall = self._parts.recall
        self._open_parts = replace(self._parts, recall=replace(recall, following=following(recall)))


class Product:
    """Bear in Mind over a stored corpus, one instance for each user.

    With `following`, these legs go on from what the others found in place of those that the
    settings describe: to measure what is not shipped.
    """

    def __init__(
        self,
        corpus: StoredCorpus,
        overrides: Mapping[str, Any],
        embedders: EmbeddersOfRun,
        *,
        following: FollowingOf | None = None,
    ) -> None:
        self._corpus = corpus
        self._overrides = overrides
        self._embedders = embedders
        self._following = following
        self._users: dict[str, Mind] = {}
        self._faults: dict[str, set[str]] = {}  # by fault: the queries whose answers have it
        self.recipe: dict[str, str] = {}
        self.models: tuple[str, ...] = ()

    def embed(self) -> None:
        """Have every memory embedded, and read for the graph, as the settings say.

        Raises:
            ModelFailure: some of them were not.
        """
        memory = self._mind(ONLY_USER)
        embedder = memory.work.embedder()
        if embedder is not None:
            self.models = (f"{embedder.space.model} {embedder.space.revision}",)
        status = worked(memory)
        failed = [count for count in status.queue if count.jobs]
        if failed:
            raise ModelFailure(
                f"{sum(count.jobs for count in failed)} memories could not be embedded or read: "
                f"{failed[0].last_error}"
            )

    def ask(self, query: EvaluationQuery) -> Answer:
        """Recall, and say what each leg made of the memories that matter."""
        memory = self.mind_of(query.user)
        pool = max(memory.settings.pool, DEPTH)
        fields: QueryFields = {"limit": DEPTH, "pool": pool, "all": True}
        if query.as_of:
            fields["as_of"] = query.as_of
        began = perf_counter()
        answer = memory.recall(query.text, **fields)
        milliseconds = (perf_counter() - began) * 1e3
        for fault in audit.faults(answer, memory.settings):
            self._faults.setdefault(fault, set()).add(query.id)
        self.recipe = _recipe(answer)
        return self._answer(answer, query, milliseconds)

    def mind_of(self, user: str) -> Mind:
        """The memory of a user, as a run asks it."""
        return self._users.get(user) or self._open(user)

    def name_of(self, id: MemoryId) -> str:
        """The id that a memory has in the set."""
        return self._corpus.names[id]

    def marks(self, among: Iterable[Pair]) -> frozenset[pairs.Mark]:
        """Which memories of these pairs are known to outdate the other, the newer first."""
        ids = {name: id_ for id_, name in self._corpus.names.items()}
        marks = set()
        for pair in among:
            scope = Scope(user=UserId(pair.user))
            both = {ids[pair.newer], ids[pair.older]}
            links = self._corpus.store.links(scope, [ids[pair.newer]])
            between = [
                link
                for link in links
                if link.kind is LinkKind.OUTDATES and {link.source, link.target} == both
            ]
            for link in prevailing_of_pairs(between):
                if judgement_of(link).probability >= MARK:
                    marks.add((self._corpus.names[link.source], self._corpus.names[link.target]))
        return frozenset(marks)

    @property
    def faults(self) -> tuple[str, ...]:
        """The promises that were broken, each with how many answers broke it."""
        return tuple(f"{fault} ({len(ids)} answers)" for fault, ids in self._faults.items())

    @property
    def warnings(self) -> tuple[str, ...]:
        """What about the settings makes a leg useless."""
        memory = next(iter(self._users.values()), None)
        return tuple(memory.locked_out().values()) if memory else ()

    def _open(self, user: str) -> Mind:
        """The memory of a user, asked at the moment of its last memory where the set has times."""
        newest = self._corpus.newest.get(user)
        options: wiring.Options = {"clock": lambda: newest} if newest else {}
        self._users[user] = self._mind(user, **options)
        return self._users[user]

    def _mind(self, user: str, **options: Unpack[wiring.Options]) -> Mind:
        settings = settings_for(user, self._corpus.bounds, self._overrides)
        options["embedders"] = self._embedders.of(settings)
        if self._following:
            return _Otherwise(self._corpus.store, settings, self._following, **options)
        return Mind(self._corpus.store, settings, **options)

    def _answer(self, answer: RecallAnswer, query: EvaluationQuery, milliseconds: float) -> Answer:
        names = self._corpus.names
        ranked = tuple(names[memory.id] for memory in answer.displayed)[:DEPTH]
        wanted = {*ranked, *query.relevant}
        legs: dict[str, dict[str, int]] = {leg.leg: {} for leg in answer.trace.legs}
        for candidate in answer.trace.fused:
            name = names[candidate.id]
            if name in wanted:
                for leg, placing in candidate.placings.items():
                    legs[leg][name] = placing.rank
        return Answer(
            ranked=ranked,
            # A hit is folded away together with its earlier states.
            confidences=tuple(
                hit.probability for hit in answer.hits for _ in range(1 + len(hit.earlier))
            )[:DEPTH],
            verdict=answer.verdict,
            folded=frozenset(
                names[memory.id]
                for hit in answer.hits
                if hit.probability < answer.trace.floor
                for memory in (hit.memory, *(state.memory for state in hit.earlier))
            ),
            milliseconds=milliseconds,
            groups=tuple(
                frozenset(
                    names[memory.id]
                    for memory in (hit.memory, *(state.memory for state in hit.earlier))
                )
                for hit in answer.hits
                if hit.earlier
            ),
            legs=legs,
            leg_milliseconds={leg.leg: leg.milliseconds for leg in answer.trace.legs},
            degraded=answer.trace.degraded,
        )


def settings_for(user: str, bounds: Mapping[str, Any], overrides: Mapping[str, Any]) -> Settings:
    """The shipped defaults with what a run changes; nothing of the machine's own configuration.

    Raises:
        InvalidSetting: a value is not allowed, or a run cannot change that setting.
    """
    fixed = FIXED.keys() & overrides.keys()
    if fixed:
        raise InvalidSetting(
            f"a run cannot change {min(fixed)!r}: {FIXED[min(fixed)]}",
            hint="Change what decides about the ranking.",
        )
    return config.checked({"user": user, **bounds, **overrides})


def _recipe(answer: RecallAnswer) -> dict[str, str]:
    trace = answer.trace
    rerank = f"{trace.rerank.model}, {trace.rerank.recipe}" if trace.rerank else ""
    return {
        "legs": ", ".join(leg.leg for leg in trace.legs),
        "fusion": trace.fusion,
        "adjustments": trace.adjustments,
        **({"rerank": rerank} if rerank else {}),
        "selection": trace.selection,
    }


def worked(mind: Mind) -> WorkStatus:
    """Have every memory embedded, then every one read, then compared.

    A worker takes turns between these. What a memory is compared with would then depend on how many
    are embedded by that time, and so on the speed of the machine.
    """
    for kind in KINDS:
        mind.work.worker(kind).finish()
    return mind.work.wait()
