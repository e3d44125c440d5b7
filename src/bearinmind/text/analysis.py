"""Lexical analysis: how text becomes the terms that are indexed and asked for.

One analysis serves every store and both the write and the read path, so that a term means the same
everywhere. It does four things (docs/adr/0004 has the measurements):

* English words are reduced to their Snowball stem, so that "painted" finds "painting".
* Identifiers are indexed whole and in parts: `parseConfig`, `auth-middleware`, `E11000`, paths,
  hostnames, versions, hashes. The whole is spelled without separators, so that `parseConfig`,
  `parse_config` and `parse-config` find each other.
* Function words are kept apart from the others: they are asked for only when a query has no other.
* Scripts without spaces (Chinese, Japanese, Thai, ...) become overlapping pairs of characters.

Every term is free of ASCII punctuation and spaces, so a store may keep terms as a line of text
separated by spaces.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import Stemmer

from bearinmind.types import Memory

#: Written into every index; a store whose index was made by another version is re-indexed.
ANALYSIS_VERSION = 1

LONGEST_TERM = 64  # a longer run (base64, minified code) is cut: its beginning identifies it
MOST_BEGINNINGS = 700  # of a number such as 1.2.3: more than fit into a memory of 1,400 characters
SMALLEST_PART = 2  # single letters of an identifier match everywhere and say nothing
MOST_ALNUM_PARTS = 3  # `sha256` and `E11000` have parts; a hash with ten changes has none worth it
HASH_LENGTH = 12  # hexadecimal runs this long are hashes ...
HASH_PREFIXES = (7, 8, 12)  # ... and are quoted by these beginnings (git's short forms)
STEMS_CACHED = 100_000  # about 10 MB; a memory's words repeat, and stemming is half of indexing
LINE_LENGTH = 80  # characters of a text that is shown on one line
NUMBER_JOINT = "\u00b7"  # 3.11 must not become 311

#: English words that carry grammar and no topic.
FUNCTION_WORDS = frozenset(  # as a text, so that it can be read
    """
    a about after also am an and any are as at be been being but by can could did do does doing
    for from had has have having he her hers him his how i if in into is it its me my of on or
    our ours over she should so some such than that the their theirs them then there these they
    this those to too up was we were what when where which while who whom whose why will with
    would you your yours
    """.split()  # noqa: SIM905
)

# Characters of scripts that are written without spaces between words.
_UNSPACED = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
)
# A run of letters and digits, with the marks that hold an identifier together.
# Failing that, one symbol (arrows, mathematics, emoji).
_CHUNK = re.compile(
    r"[^\W_]+(?:['\u2019._/\\:@&=~+#-]+[^\W_]+)*(?:\+\+|#)?"
    r"|[\u203c-\u2bff\u3200-\u33ff\U0001f000-\U0001faff]"
)
# One ASCII word in one case, or one number: most of any text, and in need of no more analysis.
_plain = re.compile(r"[A-Za-z][a-z]*|[A-Z]+|[0-9]+").fullmatch
_SEGMENT = re.compile(r"[/\\:@&=~]+")
_PIECE = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ALNUM = re.compile(r"\d+|[^\W\d_]+")
_POSSESSIVE = re.compile(r"['\u2019][sS]$")
_APOSTROPHE = re.compile(r"['\u2019]")
_HEX = re.compile(rf"[0-9a-f]{{{HASH_LENGTH},}}")
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_SUFFIX = str.maketrans("+#", "\uff0b\uff03")  # ASCII marks would end a term; C++ and C# are names

# What stands in the place of a sensitive content, as `bearinmind.remember.secrets` writes it.
_PLACEHOLDER = re.compile(r"\[sensitive: (?P<kinds>[^;\]]+);")

_local = threading.local()


#: A longer term, and the leaves that it implies.
Whole = tuple[str, tuple[str, ...]]


class Spelling(NamedTuple):
    """A word or identifier as it was written, folded."""

    leaves: tuple[str, ...]  #: what it says: a plain word, or the parts of an identifier
    wholes: tuple[Whole, ...] = ()


class Indexed(NamedTuple):
    """The terms of a text that is to be found."""

    terms: list[str]  #: in the order of the text
    function: list[str]  #: its function words, each once


class Entry(NamedTuple):
    """What the index holds about a memory: lines of terms, each term between two spaces."""

    content: str
    keywords: str
    tags: str
    category: str
    function: str
    length: int  #: how many terms there are


class Term(NamedTuple):
    """A term of a query and the spelling it had there."""

    term: str
    surface: str


class Asked(NamedTuple):
    """What a query asks for."""

    terms: tuple[Term, ...]  #: distinct, wholes and parts alike
    atoms: tuple[str, ...]  #: plain words and parts of identifiers, in order: the query's meaning
    wholes: Mapping[str, frozenset[str]]  #: an identifier's whole implies these atoms


def fold(text: str) -> str:
    """Text without the differences that readers ignore: case, accents, compatibility forms."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).casefold()
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def one_line(content: str, length: int = LINE_LENGTH) -> str:
    """The beginning of a text, on one line."""
    text = " ".join(content.split())
    return text if len(text) <= length else text[: length - 1].rstrip() + "\u2026"


def fingerprint(content: str) -> bytes:
    """The same for texts that differ in nothing but white space."""
    return hashlib.sha256(" ".join(content.split()).encode()).digest()[:16]


def entry(memory: Memory) -> Entry:
    """The index entry of a memory; of a sensitive one the kinds of its secrets, not its text."""
    text = memory.content
    if memory.sensitive:
        placeholder = _PLACEHOLDER.match(text)
        text = placeholder["kinds"] if placeholder else ""
    content = index(text)
    keywords = _label_terms(memory.keywords)
    tags = _label_terms(memory.tags)
    category = _label_terms((memory.category,))
    return Entry(
        content=_line(content.terms),
        keywords=_line(keywords),
        tags=_line(tags),
        category=_line(category),
        function=_line(content.function),
        length=len(content.terms) + len(keywords) + len(tags),
    )


@lru_cache(maxsize=4_096)
def _label_terms(labels: tuple[str, ...]) -> tuple[str, ...]:
    """The terms of tags and the like, which are the same for many memories."""
    return tuple(index(" ".join(labels)).terms)


def _line(terms: Sequence[str]) -> str:
    """Terms as a line in which every one has a space of its own on either side."""
    return f" {'  '.join(terms)} " if terms else ""


def index(text: str) -> Indexed:
    """The terms under which a text is indexed."""
    surfaces: list[str] = []
    for chunk in _CHUNK.findall(text):
        if _plain(chunk):  # most of any text; spelled out here because indexing is a hot loop
            surfaces.append(chunk[:LONGEST_TERM].lower())
            continue
        for leaves, wholes in _compound(chunk):
            surfaces.extend([whole for whole, _ in wholes])
            surfaces.extend(leaves)
    topical = [surface for surface in surfaces if surface not in FUNCTION_WORDS]
    function = [surface for surface in dict.fromkeys(surfaces) if surface in FUNCTION_WORDS]
    return Indexed(_stem(topical), _stem(function))


def ask(text: str) -> Asked:
    """The terms that a query asks for: its function words only when it has nothing else."""
    spellings = [*_spellings(text)]
    topical = [x for x in spellings if not FUNCTION_WORDS.issuperset(x.leaves)] or spellings
    surfaces: dict[str, str] = {}  # term -> the first spelling it had
    atoms: list[str] = []
    wholes: dict[str, frozenset[str]] = {}
    spelled = [s for leaves, longer in topical for s in (*(whole for whole, _ in longer), *leaves)]
    stems = dict(zip(spelled, _stem(spelled), strict=True))
    for spelling in spelled:
        surfaces.setdefault(stems[spelling], spelling)
    for leaves, longer in topical:
        atoms.extend([stems[leaf] for leaf in leaves])
        for whole, implied in longer:
            wholes[stems[whole]] = frozenset(stems[leaf] for leaf in implied)
    return Asked(tuple(Term(*pair) for pair in surfaces.items()), tuple(atoms), wholes)


def _stem(spellings: list[str]) -> list[str]:
    """The Snowball stems; a stemmer is not safe to share between threads."""
    try:
        stemmer = _local.stemmer
    except AttributeError:
        stemmer = _local.stemmer = Stemmer.Stemmer("english", STEMS_CACHED)
    stems: list[str] = stemmer.stemWords(spellings)
    return stems


def _spellings(text: str) -> Iterator[Spelling]:
    """The words and identifiers of a text, folded, in order."""
    for chunk in _CHUNK.findall(text):
        if _plain(chunk):
            yield Spelling((chunk[:LONGEST_TERM].lower(),))
        else:
            yield from _compound(chunk)


def _compound(chunk: str) -> Iterator[Spelling]:
    """The spellings of anything that is not a plain ASCII word."""
    chunk = _APOSTROPHE.sub("", _POSSESSIVE.sub("", chunk))
    if _UNSPACED_RUN.search(chunk):
        for run in _UNSPACED_RUN.findall(chunk):
            spelled = _spell(run)
            pairs = [spelled[i : i + 2] for i in range(len(spelled) - 1)] or [spelled]
            yield from (Spelling((pair,)) for pair in pairs if pair)
        yield from _spellings(_UNSPACED_RUN.sub(" ", chunk))
        return
    segments = [*filter(None, map(_identifier, _SEGMENT.split(chunk)))]
    if len(segments) == 1:
        yield segments[0]
    elif segments:
        # A path or address is found whole, by each of its segments, and by their parts.
        leaves = tuple(leaf for segment in segments for leaf in segment.leaves)
        whole = "".join(map(_spell, _PIECE.findall(chunk)))[:LONGEST_TERM]
        inner = tuple(whole for segment in segments for whole in segment.wholes)
        yield Spelling(leaves, ((whole, leaves), *inner))


def _identifier(segment: str) -> Spelling | None:
    """One identifier with its parts; a plain word has none."""
    pieces = _PIECE.findall(segment) or [segment]
    if len(pieces) > 1 and all(map(str.isdecimal, pieces)):
        # A version, date or address made of numbers: found whole and by its beginnings.
        last = min(len(pieces), MOST_BEGINNINGS)
        beginnings = (NUMBER_JOINT.join(pieces[:n]) for n in range(2, last))
        number = NUMBER_JOINT.join(pieces)[:LONGEST_TERM]
        return Spelling((number,), tuple((each, ()) for each in beginnings))
    suffix = segment[len(segment.rstrip("+#")) :].translate(_SUFFIX)
    whole = "".join(map(_spell, pieces))[:LONGEST_TERM] + suffix
    if _HEX.fullmatch(whole) and not whole.isdigit():
        return Spelling((whole,), tuple((whole[:length], ()) for length in HASH_PREFIXES))
    parts = [_spell(part)[:LONGEST_TERM] for piece in pieces for part in _split(piece)]
    if len(parts) == 1:
        return Spelling((whole,)) if whole else None
    leaves = tuple(part for part in parts if len(part) >= SMALLEST_PART)
    if len(leaves) < len(parts):
        return Spelling((whole, *leaves))  # its parts alone do not say what it says
    return Spelling(leaves, ((whole, leaves),))


def _split(piece: str) -> Iterator[str]:
    """The parts of a run of letters and digits: camelCase humps, then letters apart from digits."""
    for hump in _CAMEL.split(piece):
        runs = _ALNUM.findall(hump)
        yield from runs if 1 < len(runs) <= MOST_ALNUM_PARTS else [hump]


def _spell(text: str) -> str:
    """Folded text without what would end a term: some characters fold to "(1)" or "a/c"."""
    folded = fold(text)
    if folded.isascii() and folded.isalnum():
        return folded
    return "".join(c for c in folded if c.isalnum() or (c > "~" and c.isprintable()))
