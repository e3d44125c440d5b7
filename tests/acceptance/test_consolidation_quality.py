"""Consolidation on planted near-duplicates and near-misses, through the whole product."""

from __future__ import annotations

import pytest

import curation
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.curate.differences import compare_read, key, read
from bearinmind.proposals import ProposalKind
from bearinmind.testing import TemporaryStore


def test_the_planted_set_is_large_and_split_in_halves() -> None:
    pairs = curation.load()
    same = [pair for pair in pairs if not pair.differs_in]
    assert len(same) >= 150
    assert len(pairs) - len(same) >= 200
    assert {pair.split for pair in pairs} == {"dev", "test"}


@pytest.mark.parametrize("split", ["dev", "test"])
def test_no_near_miss_is_merged_and_a_share_of_the_near_duplicates_is(split: str) -> None:
    pairs = curation.load()
    counted = curation.count(pairs, dict.fromkeys(pairs, 1.0), split, None)
    assert (counted.wrong, counted.precision) == (0, 1.0)
    assert counted.merged / counted.same > 0.4


def test_a_store_of_all_planted_texts_is_consolidated_without_losing_one_of_them() -> None:
    pairs = curation.load()
    apart = {frozenset({pair.one, pair.other}) for pair in pairs if pair.differs_in}
    plain = Settings.model_validate({"embedder": "none", "extractor": "none"})
    with Mind(TemporaryStore(), plain) as memory:
        texts = {text for pair in pairs for text in (pair.one, pair.other)}
        for text in sorted(texts):
            memory.store(text)
        for proposal in memory.curation.review(propose=True).proposals:
            if proposal.kind is ProposalKind.SUPERSEDE:
                kept, gone = (memory.get(id_).content for id_ in proposal.memories)
                assert frozenset({kept, gone}) not in apart
                memory.curation.apply(proposal.id)
        live = {each.content: read(each.content) for each in memory.list(limit=1_000)}
        assert len(live) < len(texts)
        for hidden in map(read, texts - live.keys()):
            near = [said for said in live.values() if key(said) == key(hidden)]
            assert any(compare_read(said, hidden).is_same for said in near)
