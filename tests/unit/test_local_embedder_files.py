"""What is wrong with the files of an encoder is said, with the next step; nothing else breaks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import bearinmind_encoder
import pytest

from bearinmind.errors import EmbedderFailure
from bearinmind.models.local import LocalEmbedder

AGAIN = "pip install --force-reinstall bearinmind-encoder"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of an encoder that may be damaged."""
    return shutil.copytree(bearinmind_encoder.folder("minilm"), tmp_path / "copy")


def change_card(folder: Path, **said: Any) -> None:
    card = json.loads((folder / "encoder.json").read_bytes()) | said
    (folder / "encoder.json").write_text(json.dumps(card), encoding="utf-8")


def test_a_name_that_no_encoder_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(EmbedderFailure, match="there is no encoder 'minilim'") as raised:
        LocalEmbedder("minilim")
    assert "e5-small, minilm" in raised.value.hint
    assert not raised.value.permanent


def test_a_name_is_never_taken_for_a_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder.parent)
    with pytest.raises(EmbedderFailure, match="there is no encoder 'copy'"):
        LocalEmbedder("copy")
    assert LocalEmbedder("./copy").space == LocalEmbedder(Path("copy")).space


def test_a_folder_without_a_card_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderFailure, match=r"there is no encoder in '.*nowhere'") as raised:
        LocalEmbedder(tmp_path / "nowhere")
    assert "encoder.json" in raised.value.hint


@pytest.mark.parametrize("content", ["", "{", '{"name": 1}', "[]", "\xff"])
def test_a_card_that_cannot_be_read_is_named(content: str, folder: Path) -> None:
    (folder / "encoder.json").write_text(content, encoding="latin-1")
    with pytest.raises(EmbedderFailure, match=r"encoder.json' is not the card of an enc") as raised:
        LocalEmbedder(folder)
    assert AGAIN in raised.value.hint


@pytest.mark.parametrize("said", [{"dimensions": 0}, {"max_tokens": "many"}, {"extra": 1}])
def test_a_card_with_an_impossible_value_is_refused(said: dict[str, Any], folder: Path) -> None:
    change_card(folder, **said)
    with pytest.raises(EmbedderFailure, match="is not the card of an encoder"):
        LocalEmbedder(folder)


def test_a_card_that_does_not_name_the_graph_is_refused(folder: Path) -> None:
    change_card(folder, files={})
    with pytest.raises(EmbedderFailure, match=r"names no model.onnx"):
        LocalEmbedder(folder)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_that_was_cut_short_is_noticed_before_it_is_loaded(name: str, folder: Path) -> None:
    with (folder / name).open("r+b") as file:
        file.truncate(1_000)
    with pytest.raises(EmbedderFailure, match=rf"{name}' is damaged: 1,000 bytes inst") as raised:
        LocalEmbedder(folder).embed_query("anything")
    assert AGAIN in raised.value.hint


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_file_with_other_bytes_cannot_be_loaded_and_that_is_said(name: str, folder: Path) -> None:
    size = (folder / name).stat().st_size
    (folder / name).write_bytes(b"\xff" * size)
    with pytest.raises(EmbedderFailure, match="cannot be loaded") as raised:
        LocalEmbedder(folder).embed_query("anything")
    assert AGAIN in raised.value.hint
    assert "\n" not in raised.value.message


def test_a_damaged_encoder_works_again_once_it_was_mended(folder: Path) -> None:
    (folder / "tokenizer.json").rename(folder / "away")
    embedder = LocalEmbedder(folder)
    with pytest.raises(EmbedderFailure, match=r"tokenizer.json' is damaged"):
        embedder.embed_query("anything")
    (folder / "away").rename(folder / "tokenizer.json")
    assert embedder.embed_query("anything").shape == (384,)
