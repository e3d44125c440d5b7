from __future__ import annotations

import numpy as np
import pytest

from bearinmind.models.factory import EmbedderOptions, choose_embedder, remake_embedder
from bearinmind.models.local import HashEmbedder, LocalEmbedder, PairedEmbedder

TEXTS = ["Deploys happen on Tuesdays.", "Tove likes short answers."]


def test_the_cosine_of_a_pair_is_its_encoders_cosines_by_their_share() -> None:
    first, second = LocalEmbedder("minilm"), HashEmbedder()
    pair = PairedEmbedder(first, second, share=0.25)
    question = "When do we ship?"
    cosines = pair.embed_memories(TEXTS) @ pair.embed_query(question)
    expected = 0.25 * first.embed_memories(TEXTS) @ first.embed_query(question) + 0.75 * (
        second.embed_memories(TEXTS) @ second.embed_query(question)
    )
    assert cosines == pytest.approx(expected, abs=1e-6)


def test_its_vectors_have_length_one() -> None:
    pair = PairedEmbedder(HashEmbedder(), HashEmbedder(), share=0.15)
    rows = np.vstack([pair.embed_memories(TEXTS), pair.embed_query("When?")])
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1.0)
    assert rows.dtype == np.float32
    assert rows.shape[1] == pair.space.dimensions


def test_another_share_is_another_space() -> None:
    spaces = {
        PairedEmbedder(HashEmbedder(), HashEmbedder(), share=share).space.key
        for share in (0.15, 0.2)
    }
    assert len(spaces) == 2


def test_what_is_shipped_is_a_pair_that_can_be_made_again_from_its_space() -> None:
    shipped = choose_embedder("local", EmbedderOptions(text="tags+content"))
    assert shipped is not None
    assert shipped.space.dimensions == 768
    assert shipped.space.text == "tags+content"
    again = remake_embedder(shipped.space, "none", EmbedderOptions())
    assert again.space == shipped.space
    assert not again.leaves_machine


def test_a_paraphrase_is_nearer_than_another_matter() -> None:
    shipped = choose_embedder("local", EmbedderOptions())
    assert shipped is not None
    near, far = shipped.embed_memories(TEXTS) @ shipped.embed_query("On which day do we release?")
    assert near > far
