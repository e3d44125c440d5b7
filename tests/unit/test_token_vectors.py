"""What decides about token vectors: the scripts in benchmarks measure what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import listwise
import token_vectors
from token_forms import Form, KeptTokens, nearest

RNG = np.random.default_rng(7)


def rows(count: int, width: int = 8) -> Any:
    return RNG.normal(size=(count, width)).astype(np.float32)


def hit(*ids: str, score: float, lift: float = 1.0) -> dict[str, Any]:
    return {
        "ids": [*ids],
        "score": score,
        "lift": lift,
        "legs": {"lexical": [1, score, score, score]},
        "importance": 0.5,
        "probability": 0.5,
        "is_outdated": False,
        "length": 40,
        "words": ["kettl"],
        "nearest": {key: [0.5, 0.7] for key in token_vectors.TOLD},
    }


def question(*hits: dict[str, Any], relevant: str) -> token_vectors.Question:
    row = {"text": "Which kettle?", "hits": [*hits], "relevant": {relevant: 1}}
    return token_vectors.Question.of(row)


def test_bytes_tell_nearly_what_floats_tell() -> None:
    asked, memory = rows(4), rows(30)
    middle = memory.mean(axis=0)
    exact = Form("floats", middle, None, is_byte=False)
    small = Form("bytes", middle, None)

    by_floats = nearest(exact.reduced(asked), exact.kept(memory))
    by_bytes = nearest(small.reduced(asked), small.kept(memory))

    assert small.kept(memory).dtype == np.int8
    assert by_bytes == pytest.approx(by_floats, abs=0.01)


def test_what_is_kept_in_a_file_is_as_near_as_what_was_recorded(tmp_path: Path) -> None:
    form = Form("bytes", 0.0, np.linalg.qr(rows(8))[0][:, :4])
    kept = KeptTokens(tmp_path / "tokens.db", form)
    memories = {"a": rows(3), "b": rows(9)}
    asked = rows(5)
    sizes = [kept.add(id_, states) for id_, states in memories.items()]

    near = kept.near(["b", "a"], asked)

    kept.close()
    recorded = [nearest(form.reduced(asked), form.kept(memories[x])).mean() for x in ("b", "a")]
    assert near == pytest.approx(recorded, abs=1e-5)
    assert sizes == [3 * 4, 9 * 4]


def test_a_newer_state_stays_before_the_older_one_whatever_is_near() -> None:
    older = 0.9
    newer = older * token_vectors.BEFORE
    asked = question(
        hit("newer", score=newer, lift=newer / 0.4), hit("older", score=older), relevant="newer"
    )

    assert np.exp(asked.own) == pytest.approx([0.4, 0.9])
    assert asked.score(asked.own) == 1.0
    assert asked.score(asked.own + np.array([0.0, 5.0])) == 1.0


def test_the_choice_for_a_set_is_made_without_it() -> None:
    tried = {"0": {"a": [0.5], "b": [0.5], "c": [0.5]}, "1": {"a": [0.9], "b": [0.4], "c": [0.4]}}

    assert token_vectors.left_out(tried) == {"a": [0.5], "b": [0.4], "c": [0.4]}


def test_trees_learn_which_candidate_is_better() -> None:
    lists = []
    for _ in range(120):
        features = RNG.normal(size=(6, 3))
        gains = (features[:, 1] > 0.4).astype(float)
        start = np.arange(6.0)[::-1] / 10
        lists.append(listwise.List(features, gains, start, best=max(1.0, gains.sum())))
    trees = listwise.fit(lists[:80], 40)

    def first_is_good(scores: Any, each: listwise.List) -> bool:
        return bool(each.gains[int(np.argmax(scores))] == each.gains.max())

    before, after = [], []
    for each in lists[80:]:
        first, *_, last = listwise.scores(trees, each)
        before.append(first_is_good(first, each))
        after.append(first_is_good(last, each))
    assert np.mean(before) < 0.7
    assert np.mean(after) > 0.95
