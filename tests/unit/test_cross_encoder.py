"""The cross-encoder, on real ONNX graphs whose scores can be told by hand."""

from __future__ import annotations

import math
import random
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from bearinmind.errors import RerankerFailure
from bearinmind.models import cross_encoder
from bearinmind.models.cross_encoder import CrossEncoder
from bearinmind.protocols import Passage
from bearinmind.types import MemoryId
from support.cross_encoders import WORDS, broken_numbers, length, padding, save, shared_words, wide

PATIENT = 60.0  # seconds that no test needs
TEXTS = ("the seal sleeps", "the walrus sings of fish", "a walrus")


def passages(texts: Sequence[str]) -> list[Passage]:
    return [Passage(MemoryId(str(n)), text) for n, text in enumerate(texts)]


def score(
    folder: Path, texts: Sequence[str] = TEXTS, query: str = "the walrus sings"
) -> list[float]:
    return CrossEncoder(folder)(query, passages(texts), PATIENT)


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_a_pair_is_read_as_one_and_scored_from_0_to_1(tmp_path: Path) -> None:
    folder = save(tmp_path / "small", shared_words())

    scores = score(folder)

    assert scores == pytest.approx([sigmoid(2), sigmoid(4), sigmoid(2)])  # one is the separator
    assert CrossEncoder(folder).name == "cross-encoder:small"


def test_two_numbers_for_a_pair_are_no_and_yes(tmp_path: Path) -> None:
    assert score(save(tmp_path, wide(2))) == pytest.approx(score(save(tmp_path / "one", wide(1))))


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RerankerFailure, match="the model gives 3 numbers for a pair"):
        score(save(tmp_path, wide(3)))


def test_a_model_is_found_where_hubs_put_it(tmp_path: Path) -> None:
    assert score(save(tmp_path, shared_words(), place="onnx/model.onnx"))


def test_a_model_without_token_types_is_not_given_any(tmp_path: Path) -> None:
    folder = save(tmp_path, length(), inputs=("input_ids", "attention_mask"))

    assert score(folder, ["a walrus", "fish"], "the seal") == pytest.approx(
        [sigmoid(7 - 32), sigmoid(6 - 32)]
    )


def test_texts_of_any_length_have_the_same_score_alone_and_among_others(tmp_path: Path) -> None:
    folder = save(tmp_path, shared_words())
    chance = random.Random(7)
    texts = [" ".join(chance.choices(WORDS, k=chance.randint(0, 90))) for _ in range(40)]

    together = score(folder, texts)

    assert together == pytest.approx([score(folder, [text])[0] for text in texts])
    assert len({*together}) > 5


@pytest.mark.parametrize(("positions", "tokens"), [(34, 32), (18, 16), (None, 512), (5_000, 512)])
def test_a_pair_is_read_as_far_as_the_model_can(
    tmp_path: Path, positions: int | None, tokens: int
) -> None:
    """The file of the tokenizer says 16, which is some training run's and not the model's."""
    config = {} if positions is None else {"max_position_embeddings": positions}
    folder = save(tmp_path, length(), inputs=("input_ids", "attention_mask"), config=config)

    assert score(folder, ["walrus " * 10_000]) == pytest.approx([sigmoid(tokens - 32)])
    assert score(folder, ["walrus"], "seal " * 10_000) == pytest.approx([sigmoid(tokens - 32)])


@pytest.mark.parametrize("config", [{"pad_token_id": 3}, {}])
def test_short_pairs_are_filled_up_with_the_models_own_padding(
    tmp_path: Path, config: dict[str, int]
) -> None:
    folder = save(tmp_path, padding(), inputs=("input_ids", "attention_mask"), config=config)

    assert score(folder, ["walrus", "walrus " * 40]) == [0.5, 0.5]


# ---- when it goes wrong --------------------------------------------------------------------------


def test_numbers_that_are_none_are_given_as_they_are(tmp_path: Path) -> None:
    """The stage refuses them, whoever gives them."""
    assert all(map(math.isnan, score(save(tmp_path, broken_numbers()))))


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("model.onnx", "there is no model.onnx or onnx/model.onnx in"),
        ("tokenizer.json", "there is no tokenizer.json in"),
    ],
)
def test_what_is_missing_from_the_folder_is_named(tmp_path: Path, missing: str, told: str) -> None:
    (save(tmp_path, shared_words()) / missing).unlink()

    with pytest.raises(RerankerFailure) as caught:
        score(tmp_path)

    assert told in caught.value.message
    assert str(tmp_path) in caught.value.message


@pytest.mark.parametrize("damaged", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_damaged_file_is_a_failure_and_no_crash(tmp_path: Path, damaged: str) -> None:
    folder = save(tmp_path, shared_words(), config={"pad_token_id": 3})
    (folder / damaged).write_bytes(b"\x00not what it was")

    with pytest.raises(RerankerFailure, match="cannot score: "):
        score(folder)


def test_a_graph_that_wants_something_else_is_a_failure(tmp_path: Path) -> None:
    folder = save(tmp_path, length(), inputs=("attention_mask", "pixel_values"))

    with pytest.raises(RerankerFailure, match=r"cannot score: .*pixel_values"):
        score(folder)


def test_when_the_time_is_up_it_stops_and_says_how_far_it_came(tmp_path: Path) -> None:
    reranker = CrossEncoder(save(tmp_path, shared_words()))
    with pytest.raises(RerankerFailure, match=r"read 0 of 3 memories in 0 s"):
        reranker("walrus", passages(TEXTS), 0.0)

    with cross_encoder._RUNTIME, pytest.raises(RerankerFailure, match=r"read 0 of 3 memories"):
        reranker("walrus", passages(TEXTS), 0.02)

    assert reranker("walrus", passages(TEXTS), PATIENT)


def test_the_time_is_looked_at_between_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = CrossEncoder(save(tmp_path, shared_words()))
    texts = ["walrus " * 200] * 12
    ticks = iter([0.0, 0.0, 0.1, 9.0])
    clock = SimpleNamespace(monotonic=lambda: next(ticks))
    monkeypatch.setattr("bearinmind.models.cross_encoder.time", clock)
    monkeypatch.setattr("bearinmind.models.cross_encoder.most_threads", lambda: 2)

    with pytest.raises(RerankerFailure, match=r"read 8 of 12 memories in 1 s"):
        reranker("walrus", passages(texts), 1.0)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_texts_of_all_lengths_are_shared_out_to_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    folder = save(tmp_path, length())
    texts = ["walrus " * words for words in (3, 1, 40, 7, 90, 2, 5)]
    alone = [score(folder, [text], "the seal")[0] for text in texts]
    monkeypatch.setattr("bearinmind.models.cross_encoder.most_threads", lambda: threads)

    assert score(folder, texts, "the seal") == alone


def test_what_fails_in_another_thread_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bearinmind.models.cross_encoder.most_threads", lambda: 2)

    def run(batch: list[int]) -> list[float]:
        if threading.current_thread() is not threading.main_thread():
            failed.set()
            raise ValueError(batch)
        assert failed.wait(PATIENT)
        return [1.0]

    failed = threading.Event()
    with pytest.raises(ValueError, match=r"\[\d\]"):
        cross_encoder._side_by_side(run, [[0], [1], [2]])


def test_a_thread_reads_alone_once_the_process_gives_it_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bearinmind.models.cross_encoder.most_threads", lambda: 2)
    ended = ThreadPoolExecutor()
    ended.shutdown()
    monkeypatch.setattr("bearinmind.models.cross_encoder._BESIDE", ended)

    def run(batch: list[int]) -> list[float]:
        return [*map(float, batch)]

    assert cross_encoder._side_by_side(run, [[0], [1], [2]]) == [[0], [1], [2]]


def test_many_threads_get_their_own_scores(tmp_path: Path) -> None:
    reranker = CrossEncoder(save(tmp_path, shared_words()))
    answers: dict[str, list[float]] = {}

    def ask(word: str) -> None:
        answers[word] = reranker(word, passages(WORDS), PATIENT)

    threads = [threading.Thread(target=ask, args=(word,)) for word in WORDS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for word, scores in answers.items():
        assert scores.index(max(scores)) == WORDS.index(word)


def test_a_process_ends_well_in_the_middle_of_a_batch(tmp_path: Path) -> None:
    save(tmp_path, shared_words())
    code = f"""
import threading, time
from pathlib import Path
from bearinmind.protocols import Passage
from bearinmind.models import cross_encoder, forks
reranker = cross_encoder.CrossEncoder(Path({str(tmp_path)!r}))
reranker("walrus", [Passage("a", "walrus")], 60)
def work():
    while True:
        reranker("walrus", [Passage("a", "walrus " * 500)] * 2, 60)
threading.Thread(target=work, daemon=True).start()
while not forks.native_calls._running:
    time.sleep(0.001)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
