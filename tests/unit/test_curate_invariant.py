"""The last retrievable copy of a fact never disappears, whatever is done in whatever order."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.curate.differences import compare
from bearinmind.errors import MindError
from bearinmind.proposals import ProposalKind, ProposalState
from bearinmind.testing import FixedClock, TemporaryStore, counting_ids
from bearinmind.types import LinkKind, Memory, MemoryId, State

#: Near-duplicates and near-misses of each other: most pairs of them say the same, or nearly.
TEXTS = (
    "The staging database listens on port 5433.",
    "Staging DB listens on port 5433",
    "Note that the staging database listens on port 5433.",
    "The staging database listens on port 5433. It is small.",
    "The staging database listens on port 5432.",
    "The staging database does not listen on port 5433.",
    "Tokens expire at noon",
    "The token expires at noon",
    "Token expires at noon",
    "Token expires at noon, because it must",
)
ACTS = ("apply", "apply", "update", "undo", "dismiss", "delete", "restore", "store", "curate")
LIVES = 150


@contextmanager
def _opened() -> Iterator[Mind]:
    plain = Settings.model_validate({"embedder": "none", "extractor": "none"})
    with Mind(TemporaryStore(), plain, clock=FixedClock(), new_id=counting_ids()) as memory:
        yield memory


class _Life:
    """A store to which random things happen."""

    def __init__(self, memory: Mind) -> None:
        self.memory = memory
        # By proposal: what a user changed after it was applied. A user may say something else.
        self.touched: defaultdict[str, set[MemoryId]] = defaultdict(set)

    def act(self, name: str, number: int, text: str) -> None:
        with _refusals():
            match name:
                case "curate":
                    self.memory.curation.review(propose=True)
                case "store":
                    self.memory.store(text)
                case "apply" | "undo" | "dismiss":
                    self._decide(name, number)
                case _:
                    self._touch(name, number, text)

    def _decide(self, name: str, number: int) -> None:
        applied = name == "undo"
        found = self.memory.curation.proposals(
            [ProposalState.APPLIED if applied else ProposalState.OPEN]
        )
        if found:
            getattr(self.memory.curation, name)(found[number % len(found)].id)
            self.touched.pop(found[number % len(found)].id, None)

    def _touch(self, name: str, number: int, text: str) -> None:
        every = self._all()
        chosen = every[number % len(every)]
        changes = {"content": f"{text} Seen {number} times."} if name == "update" else {}
        getattr(self.memory, name)(chosen.id, **changes)
        for proposal in self.memory.curation.proposals([ProposalState.APPLIED]):
            self.touched[proposal.id].add(chosen.id)

    def _all(self) -> list[Memory]:
        return [*self.memory.list(limit=100, states=[*State])]

    def check(self, seed: int) -> None:
        """Each memory that curation hid is said by one that is live, unless a user changed it."""
        live = {memory.id: memory for memory in self.memory.list(limit=100)}
        for proposal in self.memory.curation.proposals([ProposalState.APPLIED]):
            for _, kind, target in proposal.undo.get("links", []):
                hidden = self.memory.get(target)
                above = {step.id for step in self.memory.why(target).superseded_by}
                if kind != LinkKind.SUPERSEDES or hidden.deleted_at or target in live:
                    continue
                if self.touched[proposal.id] & {target, *above}:
                    continue
                assert any(_says(each, hidden) for each in live.values()), (
                    f"seed {seed}: nothing says {hidden.content!r} any more"
                )


def _says(one: Memory, other: Memory) -> bool:
    comparison = compare(one.content, other.content)
    covers = one.category == other.category and {*other.tags} <= {*one.tags}
    return covers and comparison.is_same and comparison.more >= 0


@contextmanager
def _refusals() -> Iterator[None]:
    """What is refused is refused in words; that is allowed, and nothing else is."""
    with suppress(MindError):
        yield


def test_no_order_of_decisions_and_changes_hides_the_last_copy_of_a_fact() -> None:
    for seed in range(LIVES):
        luck = random.Random(f"memory {seed}")
        with _opened() as memory:
            life = _Life(memory)
            for content in luck.choices(TEXTS, k=6):
                memory.store(content, tags=["ops"] if luck.random() < 0.2 else [])
            memory.curation.review(propose=True)
            for _ in range(10):
                life.act(luck.choice(ACTS), luck.randrange(8), luck.choice(TEXTS))
                life.check(seed)


def test_applying_everything_leaves_every_fact_and_undoing_it_leaves_every_memory() -> None:
    with _opened() as memory:
        before = {memory.store(text).memory.id: text for text in TEXTS}
        memory.curation.review(propose=True)
        for proposal in memory.curation.proposals():
            if proposal.kind is not ProposalKind.REVIEW:
                with _refusals():
                    memory.curation.apply(proposal.id)
        live = memory.list(limit=100)
        assert len(live) < len(before)
        for text in TEXTS:
            assert any(compare(each.content, text).is_same for each in live)
        for proposal in memory.curation.proposals([ProposalState.APPLIED]):
            memory.curation.undo(proposal.id)
        assert {each.id: each.content for each in memory.list(limit=100)} == before
        assert all(link.removed_at for link in memory.transfer.links())
