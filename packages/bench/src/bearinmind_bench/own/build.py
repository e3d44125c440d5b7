"""Makes an evaluation set from a store: its live memories, and questions from every source."""

from __future__ import annotations

import importlib.metadata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from bearinmind.app import Mind
from bearinmind.errors import InvalidData
from bearinmind.recall.query_log import QueryLog
from bearinmind.types import Memory, MemoryId
from bearinmind_bench.own import chat, judgements, questions, sources
from bearinmind_bench.own.folder import About, Folder, Made
from bearinmind_bench.own.sources import Draw, Holdings, Question, Source, Yielded

SPLITS = ("dev", "test")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How to make a set."""

    seed: int
    most: int  #: questions of one source
    llm_model: str | None = None  #: whose questions to use; None takes all that were ever written


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What a store offers, before anything is written."""

    holdings: Holdings
    draw: Draw
    links: Yielded

    @property
    def kept(self) -> tuple[Memory, ...]:
        """The memories of the corpus."""
        return tuple(m for m in self.holdings.live if m.id not in self.links.left_out)


def gather(app: Mind, recipe: Recipe) -> Gathered:
    """Read a store.

    Raises:
        InvalidData: it has no memories.
    """
    held = sources.holdings_of(app)
    if not held.live:
        raise InvalidData(
            f"{app.settings.user!r} has no live memories to be asked about",
            hint="Store some, or name another store or user before the command.",
        )
    draw = Draw(seed=recipe.seed, most=recipe.most)
    return Gathered(holdings=held, draw=draw, links=sources.links(held, draw))


def estimate(gathered: Gathered, folder: Folder, model: str, calls: int) -> questions.Estimate:
    """What it takes to have a model write questions."""
    cache = questions.Cache(folder.written(), model)
    return questions.estimate(gathered.kept, cache, gathered.draw, calls)


def write_questions(
    gathered: Gathered, folder: Folder, model: chat.Chat, progress: Callable[[int], None]
) -> None:
    """Have a model write the questions that are missing.

    Raises:
        ModelFailure: it does not answer, or not as it should.
    """
    folder.make()
    cache = questions.Cache(folder.written(), model.model)
    questions.write(gathered.kept, cache, gathered.draw, model, folder.add, progress)


def build(app: Mind, gathered: Gathered, folder: Folder, recipe: Recipe) -> About:
    """Write the set; judgements, comparisons and questions of an older one stay.

    Raises:
        InvalidData: the folder holds something else or cannot be written.
    """
    folder.make()
    kept = {memory.id: memory for memory in gathered.kept}
    cache = questions.Cache(folder.written(), recipe.llm_model)
    log = QueryLog.beside(app.settings.beside, app.settings.user)
    yielded = [
        sources.keywords(gathered.kept, gathered.draw),
        gathered.links,
        sources.history(gathered.holdings, kept, gathered.draw),
        questions.collect(
            gathered.kept, cache, gathered.draw, lacking="no model was asked; --llm does that"
        ),
        sources.captured(log.read(), gathered.draw),
    ]
    chosen, made = _distinct(yielded, kept)
    by_model = [cache.get(kept[q.relevant[0]]) for q in chosen if q.source is Source.LLM]
    about = About(
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        bearinmind=importlib.metadata.version("bearinmind"),
        user=app.settings.user,
        seed=recipe.seed,
        memories=len(kept),
        left_out=len(gathered.links.left_out),
        sensitive=gathered.holdings.sensitive,
        generators=tuple(sorted({row.model for row in by_model if row})),
        sources=made,
    )
    held_out = {id_: words for given in yielded for id_, words in given.held_out.items()}
    folder.write_about(about)
    folder.write("corpus", (_record(m, held_out.get(m.id, frozenset())) for m in kept.values()))
    folder.write("queries", (_row(q, recipe.seed, kept) for q in chosen))
    folder.write("qrels", ())
    judgements.settle(folder)
    return about


def _distinct(
    yielded: Iterable[Yielded], kept: Mapping[MemoryId, Memory]
) -> tuple[list[Question], tuple[Made, ...]]:
    """Every question once, and what became of each source."""
    chosen: dict[str, Question] = {}
    made = []
    for given in yielded:
        rejected = Counter(given.rejected)
        for question in given.questions:
            key = sources.canonical(question.text)
            known = chosen.get(key)
            if any(sources.repeats(question, kept[id_]) for id_ in question.relevant):
                rejected["uses the memory's own words"] += 1  # no source may let this happen
            elif known is None:
                chosen[key] = question
            elif known.source is question.source:
                chosen[key] = replace(known, relevant=(*known.relevant, *question.relevant))
            else:
                rejected[f"asked already by {known.source}"] += 1
        count = sum(question.source is given.source for question in chosen.values())
        made.append(
            Made(
                source=given.source,
                queries=count,
                rejected=dict(sorted(rejected.items())),
                why_none="" if count else _why_none(given, rejected),
            )
        )
    return [*chosen.values()], tuple(made)


def _why_none(given: Yielded, rejected: Counter[str]) -> str:
    if not rejected.total():
        return given.lacking
    reasons = "; ".join(f"{count}: {reason}" for reason, count in sorted(rejected.items()))
    return f"all were rejected ({reasons})"


def _record(memory: Memory, held_out: frozenset[str]) -> dict[str, Any]:
    """A memory as it stands in the corpus."""
    return {
        "id": memory.id,
        "content": memory.content,
        "category": memory.category,
        "tags": [*memory.tags],
        "expanded_keywords": [word for word in memory.keywords if word not in held_out],
        "importance": memory.importance,
        "created_at": memory.created_at.isoformat(),
    }


def _row(question: Question, seed: int, kept: Mapping[MemoryId, Memory]) -> dict[str, Any]:
    """A question as it stands among the queries."""
    # Half and half; all questions for the same memory are on the same side.
    key = min(question.relevant, default=sources.canonical(question.text))
    row: dict[str, Any] = {
        "query_id": question.id,
        "text": question.text,
        "stratum": question.source,
        "split": SPLITS[sources.chance(seed, key)[0] % len(SPLITS)],
    }
    if question.relevant:
        row["relevant_ids"] = [*question.relevant]
    hits = [id_ for id_ in question.hits if id_ in kept]
    return row | ({"hits": hits} if hits else {})
