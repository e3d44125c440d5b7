"""Memories that arrive one by one, what is offered for each, and an agent that settles it.

An offer is right when it names the state that the new memory follows upon. It comes *at once* with
the acknowledgement, or *later*: what the background work has left to be decided about the memory.
A store is unrelated when the memory is the newer one of no labelled pair: then nothing is offered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from bearinmind.app import Mind
from bearinmind.outdates.verdicts import OFFER, is_decided, judgement_of, prevailing_of_pairs
from bearinmind.store.sqlite.store import SqliteStore
from bearinmind.types import LinkKind, MemoryId, Resolution, Stored
from bearinmind_bench import corpus
from bearinmind_bench.corpus import EmbeddersOfRun, StoredCorpus
from bearinmind_bench.evaluation import EvaluationSet, Pair, Record, user_of
from bearinmind_bench.pairs import measure
from bearinmind_bench.product import Product, settings_for
from bearinmind_bench.results import Ingest
from bearinmind_bench.runner import row_of

MOST = 3  # memories that are offered for one


@dataclass(slots=True)
class Offered:
    """The earlier memories that were offered for one memory, by the names of the set."""

    at_once: list[str] = field(default_factory=list)
    later: list[str] = field(default_factory=list)

    @property
    def either(self) -> set[str]:
        """Both together."""
        return {*self.at_once, *self.later}


#: Settles with a word what holds of a memory and an earlier one.
Answering = Callable[[Mind, MemoryId, MemoryId, Resolution], None]


class OneByOne:
    """Stores the memories of a set in the order of time, and does the background work after each.

    With `answer`, every offer is answered truthfully before the next memory arrives.
    """

    def __init__(self, store: SqliteStore, data: EvaluationSet, embedders: EmbeddersOfRun) -> None:
        self.data = data
        self.offered: dict[str, Offered] = {}
        self._store = store
        self._bounds = corpus.lift_bounds(data).settings
        self._embedders = embedders
        self._names: dict[MemoryId, str] = {}
        self._users: dict[str, Mind] = {}

    def store_all(self, answer: Answering | None = None) -> StoredCorpus:
        """Store every memory; what an answer decides counts for those that arrive later."""
        truth = Truth(self.data.pairs)
        for record in sorted(self.data.corpus, key=lambda record: str(record["created_at"])):
            mind = self._of(user_of(record))
            for newer, older in self._offers(mind, record):
                if answer:
                    word = truth.of(self._names[newer], self._names[older])
                    answer(mind, newer, older, word)
        return StoredCorpus(
            store=self._store,
            bounds=self._bounds,
            adaptations=(),
            names=self._names,
            newest=corpus.newest_of(self.data),
            ingest=Ingest(seconds=0, memories_per_second=0, merged=0, refused=0),
        )

    def _offers(self, mind: Mind, record: Record) -> Iterator[tuple[MemoryId, MemoryId]]:
        """Store one memory; the offers that come with it and after it, the newer one first."""
        stored = _stored(mind, record)
        if not isinstance(stored, Stored):  # it says the same as an earlier one
            return
        self._names[stored.memory.id] = record["id"]
        offered = self.offered[record["id"]] = Offered()
        for offer in stored.may_replace:
            # What the background work has found since is offered with the next answer.
            of = self.offered[self._names[offer.newer]]
            listed = of.at_once if offer.newer == stored.memory.id else of.later
            listed.append(self._names[offer.memory.id])
            yield offer.newer, offer.memory.id
        mind.work.wait()
        for older in self._undecided(mind, stored.memory.id):
            if self._names[older] not in offered.either:
                offered.later.append(self._names[older])
                yield stored.memory.id, older

    def _undecided(self, mind: Mind, id_: MemoryId) -> list[MemoryId]:
        """What the background work took a memory to outdate perhaps, the likeliest first."""
        links = [
            link
            for link in prevailing_of_pairs(mind.links(id_))
            if link.kind is LinkKind.OUTDATES and link.source == id_ and not is_decided(link)
        ]
        likely = [link for link in links if judgement_of(link).probability >= OFFER]
        likely.sort(key=lambda link: -judgement_of(link).probability)
        return [link.target for link in likely[:MOST]]

    def _of(self, user: str) -> Mind:
        if user not in self._users:
            settings = settings_for(user, self._bounds, {})
            embedders = self._embedders.of(settings)
            self._users[user] = Mind(self._store, settings, embedders=embedders)
        return self._users[user]


def _stored(mind: Mind, record: Record) -> object:
    memory = corpus.memory_of(record, MemoryId(""), Counter())
    return mind.store(
        memory.content,
        category=memory.category,
        tags=memory.tags,
        keywords=memory.keywords,
        importance=memory.importance,
        created_at=memory.created_at,
    )


class Truth:
    """What is true of two memories, by the labelled pairs."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        self._older: dict[str, set[str]] = {}
        for pair in pairs:
            if pair.outdates:
                self._older.setdefault(pair.newer, set()).add(pair.older)

    def of(self, newer: str, older: str) -> Resolution:
        """The word that settles it: pairs are of neighbouring states, and chains are followed."""
        if self._outdates(newer, older):
            return Resolution.NEWER
        return Resolution.OLDER if self._outdates(older, newer) else Resolution.BOTH

    def _outdates(self, newer: str, older: str) -> bool:
        return any(
            each == older or self._outdates(each, older) for each in self._older.get(newer, ())
        )


# ---- what is offered ----------------------------------------------------------------------------


def offers(data: EvaluationSet, split: str, folder: Path) -> None:
    """Whether the right memory is offered for a change, and nothing for what is unrelated."""
    with closing(SqliteStore(folder / "memories.db")) as store:
        embedders = EmbeddersOfRun()
        arriving = OneByOne(store, data, embedders)
        arriving.store_all()
        embedders.close()
    show_offers(data, split, arriving.offered)


def show_offers(data: EvaluationSet, split: str, offered: dict[str, Offered]) -> None:
    """Print the shares of the changes and of the other memories of a split."""
    pairs = [pair for pair in data.pairs_of(split) if pair.newer in offered]
    changes = [pair for pair in pairs if pair.outdates]
    print(f"{data.name}, {split}: the right memory is offered")
    print(f"{'':28}{'':>6}  at once    later   either")
    _offered("changes", changes, offered)
    _offered("  announced", [pair for pair in changes if pair.announced], offered)
    _offered("  silent", [pair for pair in changes if not pair.announced], offered)
    for shape in sorted({pair.shape for pair in changes}):
        _offered(f"  {shape}", [pair for pair in changes if pair.shape == shape], offered)
    print("\nthe other memory is offered, though both hold")
    _offered("near-misses", [pair for pair in pairs if not pair.outdates], offered)
    names = unrelated(data, split)
    empty = [sum(not each(offered[name]) for name in names) / len(names) for each in _COLUMNS]
    print("\nnothing is offered")
    print(f"{'unrelated stores':28}{len(names):6}" + "".join(f"{x:9.1%}" for x in empty))


_COLUMNS: tuple[Callable[[Offered], Iterable[str]], ...] = (
    lambda offered: offered.at_once[:MOST],
    lambda offered: offered.later[:MOST],
    lambda offered: offered.either,
)


def _offered(name: str, pairs: Sequence[Pair], offered: dict[str, Offered]) -> None:
    if pairs:
        shares = [
            sum(pair.older in {*each(offered[pair.newer])} for pair in pairs) / len(pairs)
            for each in _COLUMNS
        ]
        print(f"{name:28}{len(pairs):6}" + "".join(f"{x:9.1%}" for x in shares))


def unrelated(data: EvaluationSet, split: str) -> list[str]:
    """The memories of a split that are the newer one of no pair: first states, and the rest.

    A memory that no pair and no question mentions is in every split.
    """
    splits: dict[str, str | None] = {}
    for query in data.queries:
        splits |= dict.fromkeys((*query.grades, *query.stale), query.split)
    for pair in data.pairs:
        splits |= {pair.newer: pair.split, pair.older: pair.split}
    newer = {pair.newer for pair in data.pairs}
    names = [record["id"] for record in data.corpus]
    return [name for name in names if name not in newer and splits.get(name, split) == split]


# ---- an agent that answers ----------------------------------------------------------------------


def agent(data: EvaluationSet, split: str, folder: Path) -> None:
    """What is stale first once every offer has been answered truthfully."""
    answered: Counter[str] = Counter()

    def answer(mind: Mind, newer: MemoryId, older: MemoryId, word: Resolution) -> None:
        answered[word] += 1
        mind.resolve(newer, word, older)

    with closing(SqliteStore(folder / "memories.db")) as store:
        embedders = EmbeddersOfRun()
        arriving = OneByOne(store, data, embedders)
        stored = arriving.store_all(answer)
        print(f"answered: {', '.join(f'{n} {word}' for word, n in answered.items()) or 'nothing'}")
        product = Product(stored, {}, embedders)
        product.embed()
        _show_answers(data, split, product, arriving.offered)
        embedders.close()


def _show_answers(
    data: EvaluationSet, split: str, product: Product, offered: dict[str, Offered]
) -> None:
    queries = data.of_split(split)
    answers = [product.ask(query) for query in queries]
    rows = [
        row_of(query, answer, data.top_grade)
        for query, answer in zip(queries, answers, strict=True)
    ]
    about_now = [row for row in rows if row.stale]
    changes = [pair for pair in data.pairs_of(split) if pair.outdates]
    settled = [
        row for row in about_now if _is_offered({*row.relevant, *row.stale}, changes, offered)
    ]
    print(f"{'questions about now':28}{'':>6}  stale above  stale without")
    for name, some in (("all", about_now), ("all their changes offered", settled)):
        above, without = (
            sum(row.metrics[metric] for row in some) / (len(some) or 1)
            for metric in ("stale_above_current", "stale_without_current@5")
        )
        print(f"  {name:26}{len(some):6}{above:13.1%}{without:15.1%}")
    groups = [group for answer in answers for group in answer.groups]
    pairs = data.pairs_of(split)
    wrong = measure(pairs, product.marks(pairs), groups).wrongly_outdated
    print(f"{'wrongly outdated':28}{wrong.pairs:6}{wrong.share:13.1%}")


def _is_offered(ids: set[str], changes: Iterable[Pair], offered: dict[str, Offered]) -> bool:
    """Whether every change among these memories was offered."""
    among = [pair for pair in changes if {pair.newer, pair.older} <= ids]
    return bool(among) and all(
        pair.older in offered.get(pair.newer, Offered()).either for pair in among
    )
