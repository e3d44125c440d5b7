"""Relations in a dependency parse: who does what to whom, both of them names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bearinmind.concepts import Mention

_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "attr", "oprd"})
_PRONOUNS = frozenset({"he", "she", "it", "they"})

#: A word of a parse. spaCy is optional, and its types with it.
Token = Any


def parsed_relations(
    doc: Any,  # noqa: ANN401
    holding: Mapping[int, Mention],
    subject: Mention | None,
) -> Iterator[tuple[Mention, str, Mention]]:
    """Source, type and target of what the verbs of a text say.

    Args:
        doc: the parse.
        holding: the name that a word is part of, by the word's place.
        subject: what a pronoun stands for.
    """
    for sentence in doc.sents:
        if sentence.text.rstrip().endswith("?"):
            continue
        root = sentence.root
        sources = _sources(root, holding, subject)
        for verb in (root, *_joined(root, "VERB")):
            own = _sources(verb, holding, subject)
            if _is_stated(verb):
                yield from _said(verb, own or sources, holding)


def _said(
    verb: Token, sources: list[Mention], holding: Mapping[int, Mention]
) -> Iterator[tuple[Mention, str, Mention]]:
    for source in sources:
        for type_, target in _targets(verb, holding):
            if source.name != target.name:
                yield source, type_, target


def _is_stated(verb: Token) -> bool:
    """Neither denied, nor wished for, nor on a condition."""
    if verb.pos_ not in {"VERB", "AUX"} or verb.tag_ == "VB":
        return False
    around = [*verb.children, *(word for word in verb.head.children if verb.dep_ == "conj")]
    return not any(
        word.dep_ == "neg"
        or word.tag_ == "MD"
        or word.lower_ in {"never", "nearly", "almost", "once", "formerly", "previously"}
        or (word.dep_ == "advcl" and any(each.lower_ == "if" for each in word.children))
        for word in around
    )


def _sources(verb: Token, holding: Mapping[int, Mention], subject: Mention | None) -> list[Mention]:
    found: list[Mention] = []
    for word in verb.children:
        if word.dep_ not in _SUBJECTS:
            continue
        if word.lower_ in _PRONOUNS:
            found += [subject] if subject else []
        else:
            found += _names([word, *_joined(word)], holding)
    return found


def _targets(verb: Token, holding: Mapping[int, Mention]) -> Iterator[tuple[str, Mention]]:
    said = _spelled(verb)
    for word in verb.children:
        if word.dep_ in _OBJECTS:
            yield from ((said, name) for name in _names([word, *_joined(word)], holding))
        elif word.dep_ in {"prep", "agent"}:
            for target in word.children:
                if target.dep_ == "pobj":
                    for name in _names([target, *_joined(target)], holding):
                        yield f"{said} {word.lower_}", name


def _spelled(verb: Token) -> str:
    passive = any(word.dep_ in {"nsubjpass", "auxpass"} for word in verb.children)
    return f"was {verb.lower_}" if passive else verb.lower_


def _names(words: list[Token], holding: Mapping[int, Mention]) -> list[Mention]:
    return [holding[word.i] for word in words if word.i in holding]


def _joined(word: Token, pos: str | None = None) -> Iterator[Token]:
    """What is joined to a word by "and"."""
    for each in word.children:
        if each.dep_ == "conj" and pos in {None, each.pos_}:
            yield each
            yield from _joined(each, pos)
