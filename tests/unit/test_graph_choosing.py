"""From the `extractor` setting to an extractor, and several that read as one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bearinmind.concepts import Alias, ConceptName, Extraction, Kind, Mention, Role, Statement
from bearinmind.errors import ExtractorFailure, InvalidSetting
from bearinmind.graph.extractors import (
    LONGEST_KEY,
    CombinedExtractor,
    choose_extractor,
    union,
)
from bearinmind.graph.rules import Rules
from bearinmind.models.token_budget import ModelOptions
from bearinmind.types import Memory

MakeMemory = Callable[..., Memory]


def mention(name: str, role: Role = Role.NAME, kind: Kind = Kind.NAME) -> Mention:
    return Mention(ConceptName(name), role, kind, name)


class Reader:
    """An extractor that finds one name in every memory."""

    leaves_machine = False

    def __init__(self, key: str, found: Mention, batch: int = 10) -> None:
        self.key = key
        self.found = found
        self.batch = batch
        self.asked: list[int] = []
        self.closed = False

    def __call__(self, memories: Sequence[Memory]) -> list[Extraction]:
        self.asked.append(len(memories))
        return [Extraction(mentions=(self.found,)) for _ in memories]

    def close(self) -> None:
        self.closed = True


def options(tmp_path: Path, url: str | None = None, model: str | None = None) -> ModelOptions:
    return ModelOptions(url=url, model=model, cache=tmp_path / "answers.db", daily_tokens=1_000)


def test_rules_need_nothing_and_none_is_none(tmp_path: Path) -> None:
    assert isinstance(choose_extractor("rules", options(tmp_path)), Rules)
    assert choose_extractor("none", options(tmp_path)) is None


def test_a_model_reads_together_with_the_rules(tmp_path: Path) -> None:
    llm = options(tmp_path, url="http://localhost:9/v1", model="small")
    extractor = choose_extractor("llm", llm)

    assert isinstance(extractor, CombinedExtractor)
    assert isinstance(extractor.parts[0], Rules)
    assert extractor.key.startswith(f"{Rules.key}+")
    extractor.close()


@pytest.mark.parametrize("setting", ["llm_url", "llm_model"])
def test_a_model_without_its_address_or_name_is_refused(tmp_path: Path, setting: str) -> None:
    given = {"llm_url": ("url", "http://localhost:9/v1"), "llm_model": ("model", "small")}
    [(name, value)] = [each for key, each in given.items() if key != setting]
    with pytest.raises(InvalidSetting, match=setting):
        choose_extractor("llm", options(tmp_path, **{name: value}))


def test_choosing_rules_imports_neither_spacy_nor_http() -> None:
    code = (
        "import sys; from bearinmind.graph.extractors import choose_extractor; "
        "choose_extractor('rules', None); print({'httpx', 'spacy', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# ---- together ----------------------------------------------------------------------------------


def test_each_memory_gets_what_any_extractor_found_in_it(make: MakeMemory) -> None:
    first, second = Reader("one", mention("redis")), Reader("two", mention("turin"), batch=3)
    both = CombinedExtractor(first, second)

    found = both([make("a"), make("b")])
    assert [{each.name for each in one.mentions} for one in found] == [{"redis", "turin"}] * 2
    assert both.batch == 3
    assert both.key == "one+two"
    both.close()
    assert first.closed
    assert second.closed


def test_a_key_is_never_too_long_and_tells_extractors_apart() -> None:
    long = [
        CombinedExtractor(Reader("x" * 50, mention("a")), Reader(end * 50, mention("a")))
        for end in "yz"
    ]
    assert all(len(each.key) <= LONGEST_KEY for each in long)
    assert long[0].key != long[1].key


def test_texts_leave_the_machine_when_one_of_them_sends_them() -> None:
    near, far = Reader("near", mention("a")), Reader("far", mention("b"))
    assert not CombinedExtractor(near, far).leaves_machine
    far.leaves_machine = True
    assert CombinedExtractor(near, far).leaves_machine


def test_what_fails_fails_before_the_dearer_one_is_asked(make: MakeMemory) -> None:
    class Broken(Reader):
        def __call__(self, memories: Sequence[Memory]) -> list[Extraction]:  # noqa: ARG002
            raise ExtractorFailure("no model")

    dear = Reader("dear", mention("a"))
    with pytest.raises(ExtractorFailure):
        CombinedExtractor(Broken("broken", mention("a")), dear)([make("a")])
    assert dear.asked == []


def test_a_subject_is_not_also_named_and_the_telling_kind_is_kept() -> None:
    rules = Extraction(mentions=(mention("ilse", Role.SUBJECT), mention("turin")))
    seen = (mention("ilse", kind=Kind.PERSON), mention("turin", kind=Kind.PLACE))
    both = union([rules, Extraction(mentions=seen)])
    assert [(each.name, each.role, each.kind) for each in both.mentions] == [
        ("ilse", Role.SUBJECT, Kind.PERSON),
        ("turin", Role.NAME, Kind.PLACE),
    ]


def test_a_relation_found_twice_is_kept_once_as_sure_as_the_surest() -> None:
    source, target = mention("ilse"), mention("turin")
    said = [Statement(source, "lives in", target, weight) for weight in (0.4, 0.9, 0.6)]
    alias = Alias(ConceptName("ci"), ConceptName("continuous integration"), "said so")
    both = union([Extraction(statements=(each,), aliases=(alias,)) for each in said])
    assert [each.weight for each in both.statements] == [0.9]
    assert both.aliases == (alias,)
