"""The extractor without a model: names, identifiers, hosts, tags, keywords, subjects, aliases.

It is precise before it is complete. A wrong edge floods a ranking with neighbours that nobody asked
for; a missing one costs one path of several. `subjects` matters most: a memory that names a thing
leads to the memories that are *about* it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files

from bearinmind.concepts import Alias, ConceptName, Extraction, Kind, Mention, Role
from bearinmind.graph.marked_names import MARK, mark
from bearinmind.graph.patterns import statements
from bearinmind.text.analysis import FUNCTION_WORDS, fold
from bearinmind.text.names import LONGEST_NAME, Word, folded, name_of, words
from bearinmind.types import Memory

LONGEST_SHORT = 6  # letters of an abbreviation

_BEFORE = re.compile(
    rf"((?:[^\W_][\w&'\u2019-]*[ -]){{1,{LONGEST_SHORT + 2}}}[^\W_][\w'\u2019-]*) "
    rf"\(([A-Z][A-Za-z0-9]{{1,{LONGEST_SHORT - 1}}})\)"
)
_AFTER = re.compile(
    rf"\b([A-Z][A-Za-z0-9]{{1,{LONGEST_SHORT - 1}}}) (?:\(|is short for |stands for |short for )"
    r"((?:[^\W_][\w&'\u2019-]*[ -])+[^\W_][\w'\u2019-]*)"
)
_LONG_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_KNOWN_AS = re.compile(
    rf"({MARK}),? (?:\(?(?:also|better|formerly)? ?known as|\(?a\.?k\.?a\.?|alias) ({MARK})"
)


#: Changes when the rules find something else: what was read before is then read again.
VERSION = 2
BATCH = 200

LONGEST_TITLE = 100  # characters; a longer first line is text
LONGEST_LABEL = 6  # words before a colon; more are half a sentence
LONGEST_SHORT_LABEL = 3  # of them, when not all are names
_LABEL = re.compile(r"([^:.\n]{2,60}):\s")
_BRACKET = re.compile(r"\s*\([^)]*\)\s*$")
_DATE = re.compile(
    r"(?:(?:january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d+(?:st|nd|rd|th)?)\s?)+"
)
_JOINTS = frozenset({"of", "the", "and", "de", "von", "van", "der", "la", "du", "da", "&"})
_SENTENCE_END = re.compile(r"[.!?:;\n\u2022\"\u201c(]\s*$|^\s*$|\n\s*[-*]\s*$|[^\w]\s*['\u2018]$")
_HOST = re.compile(r"(?:[a-z0-9-]+\.)+[a-z]{2,}|(?:\d{1,3}\.){3}\d{1,3}", re.IGNORECASE)
_IDENTIFIER = re.compile(r"\d|[._/]|[a-z][A-Z]|-\w*[A-Z\d]|[A-Z]{2,}")
#: Words that begin a sentence in capitals more often than they are a name. Others are left to how
#: seldom they are: a word that many memories hold leads nowhere.
_OPENERS = FUNCTION_WORDS | frozenset(
    """
    all although another any anyone anything because before both currently do don't each either
    every everything few first for here if instead last lesson many may might more most much must
    neither never new next no nobody none nor not nothing now often old one only originally other
    please put same second several since someone something sometimes still that then there though
    three today tomorrow two under unless until use usually very whenever wherever while without
    yes yesterday yet january february march april may june july august
    september october november december monday tuesday wednesday thursday friday saturday sunday
    """.split()  # noqa: SIM905
)
#: What begins a sentence and asks for something: "Ask Wei Zhang" names Wei Zhang.
_COMMANDS = frozenset(
    """
    add ask asked book booked bring call called check compare do drop email find fix gave get give
    install invite keep let look lost mail make meet met message move moved phone ping prefer put
    read remember remind ring run saw see send sent set show start stop take tell thank thanks
    took try turn update use visit visited went write wrote
    """.split()  # noqa: SIM905
)
#: Words before a noun that say which one of many, and make no name of it.
_WHICH = frozenset(
    """
    bad best better big bigger both certain cheap clean correct current different double empty
    entire extra fast few final first former fresh full good great half high huge large last late
    latest left less little local long low main many minor more most much near new newest next
    nice old older only open other own past possible present previous proper public quick rather
    real right same second separate several shared short similar simple single slow small special
    specific such third two usual various whole working worst wrong
    """.split()  # noqa: SIM905
)
_ARTICLES = frozenset({"the", "our", "my", "a", "an", "this"})
_PRONOUNS = frozenset({"i", "he", "she", "we", "you", "they", "it", "mr", "mrs", "ms", "dr"})
_ENDINGS = {"s": "", "es": "", "ies": "y", "ed": "", "d": "", "ing": "", "er": "", "ly": ""}
_NUMBER = re.compile(r"\d+(?:[.,-]\d+)?(?: (?:eur|euros|gb|kb|mb|tb|kg|km|kr|cm|mm|ms|min|h))?")
_QUOTED = re.compile(r"`([^\s`]{2,40})`")


class Rules:
    """Satisfies `bearinmind.protocols.Extractor`."""

    leaves_machine = False
    batch = BATCH
    key = f"rules-{VERSION}"

    def __call__(self, memories: Sequence[Memory]) -> list[Extraction]:
        """What each of these memories mentions and states, in their order."""
        return [read(memory) for memory in memories]

    def close(self) -> None:
        """There is nothing to release."""


def read(memory: Memory) -> Extraction:
    """What a memory mentions and states."""
    content = memory.content
    about = [_mention(text, Role.SUBJECT, _topic(text)) for text in subjects(content)]
    named = [_mention(text, Role.NAME) for text in names(content)]
    named += [_mention(text, Role.NAME, Kind.TOPIC) for text in things(content)]
    tags = [_mention(tag, Role.TAG, Kind.TOPIC) for tag in memory.tags]
    keywords = [_mention(keyword, Role.KEYWORD, Kind.TOPIC) for keyword in memory.keywords]
    mentions = _distinct([*about, *named, *tags, *keywords])
    aliases, added = stated_aliases(content, mentions)
    # The last but one of several subjects is the title without its bracket.
    subject = about[min(1, len(about) - 1)] if about else None
    return Extraction(
        mentions=tuple(_distinct([*mentions, *added])),
        statements=tuple(statements(content, subject, mentions)),
        aliases=aliases,
    )


def subjects(content: str) -> list[str]:
    """What a text is about, as it spells it: its title, its label, or the name it begins with."""
    title = _title(content)
    if not title:
        leading = _leading_name(content)
        return [leading] if leading else _leading_things(content)
    bare = _BRACKET.sub("", title)
    place = bare.split(", ")[0]
    return [*dict.fromkeys(text for text in (title, bare, place) if text)]


def names(content: str) -> Iterator[str]:
    """The proper names and identifiers of a text, as it spells them."""
    spelled = words(content)
    at = 0
    while at < len(spelled):
        if not _begins_name(spelled[at]):
            at += 1
            continue
        end = _end_of_name(content, spelled, at)
        run = spelled[at:end]
        if _opens_sentence(content, run[0]) and (
            _is_opener(content, run[0])
            or (len(run) == 1 and _is_common(content, spelled, run[0]))
            or (len(run) > 1 and folded(run[0].surface) in _COMMANDS)
        ):
            run = run[1:]
        for part in map(_without_joints, _people(run)):
            first = folded(part[0].surface).split("'")[0] if part else ""
            is_pronoun = len(part) == 1 and first in _PRONOUNS  # "I" is no name of its own
            if part and len(part) <= LONGEST_NAME and not is_pronoun:
                yield content[part[0].start : part[-1].end]
        at = max(end, at + 1)
    for quoted in _QUOTED.finditer(content):
        yield quoted[1]


def things(content: str) -> Iterator[str]:
    """What a text calls by what it is for: "search service", "garden shed"."""
    spelled = words(content)
    for at in range(1, len(spelled)):
        before, one = spelled[at - 1], spelled[at]
        if (
            one.surface.islower()
            and one.surface.removesuffix("s") in _listed("thing_words.txt")
            and content[before.end : one.start] == " "
            and _may_specify(before)
            and (at == 1 or _is_small(spelled[at - 2]) or _opens_sentence(content, before))
        ):
            yield content[before.start : one.end]


def _leading_things(content: str) -> list[str]:
    """What a text begins with that is no name: "Gauge recordings" and "Gauge"."""
    spelled = words(content[: 2 * LONGEST_TITLE])
    if spelled and folded(spelled[0].surface) in _ARTICLES:
        spelled = spelled[1:]
    if not spelled or not _may_specify(spelled[0]):
        return []
    first, *more = spelled
    name = folded(first.surface)
    if name in _OPENERS or name in _COMMANDS or name.endswith(("ed", "ly")):
        return []
    second = next(iter(more), first)
    fits = second.surface.islower() and _may_specify(second) and _adjoin(content, first, second)
    begins = not content[: first.start].strip()  # "The search service" is not about searching
    return [
        *([content[first.start : second.end]] if fits else []),
        *([first.surface] if begins else []),
    ]


def _may_specify(word: Word) -> bool:
    return len(word.surface) > 2 and not word.surface[0].isdigit() and not _is_small(word)  # noqa: PLR2004


def _is_small(word: Word) -> bool:
    return folded(word.surface) in FUNCTION_WORDS or folded(word.surface) in _WHICH


def _title(content: str) -> str:
    """The first line, if it is one of its own, or the label before a colon."""
    head, separator, _ = content.partition("\n")
    if separator and 0 < len(head) <= LONGEST_TITLE and not head.endswith((".", "!", "?", ":")):
        return head.strip()
    label = _LABEL.match(content)
    return label[1] if label and _is_label(label[1]) else ""


def _is_label(text: str) -> bool:
    """Whether words before a colon name something: a few, or no more than names and numbers."""
    inner = _BRACKET.sub("", text).split()
    if len(inner) <= LONGEST_SHORT_LABEL:
        return True
    return len(inner) <= LONGEST_LABEL and all(
        word[0].isupper() or word[0].isdigit() or folded(word) in _JOINTS for word in inner
    )


def _leading_name(content: str) -> str:
    """The name that a text begins with: capitals, or one word that should have had one."""
    spelled = words(content[: 2 * LONGEST_TITLE])
    if spelled and _is_opener(content, spelled[0]):
        spelled = spelled[1:]
    if not spelled:
        return ""
    first = spelled[0]
    if not _begins_name(first):
        # "sluice aborts without a key": who writes sentences would have written "Sluice".
        begins = not content[: first.start].strip() and not is_common_word(folded(first.surface))
        return first.surface if begins else ""
    run = _without_joints(spelled[: _end_of_name(content, spelled, 0)])
    if len(run) == 1 and _is_common(content, spelled, run[0]):
        return ""
    if len(run) > 1 and folded(run[0].surface) in _COMMANDS:
        run = run[1:]
    return content[run[0].start : run[-1].end] if run else ""


def _begins_name(word: Word) -> bool:
    surface = word.surface
    return surface[0].isupper() or (len(surface) > 2 and bool(_IDENTIFIER.search(surface)))  # noqa: PLR2004


def _end_of_name(content: str, spelled: Sequence[Word], start: int) -> int:
    """The place after a run of capitalised words, with the small words between them."""
    end = start + 1
    while end < len(spelled) and _adjoin(content, spelled[end - 1], spelled[end]):
        surface = spelled[end].surface
        follows = end + 1 < len(spelled) and spelled[end + 1].surface[0].isupper()
        if not (surface[0].isupper() or surface[0].isdigit()) and not (
            folded(surface) in _JOINTS and follows
        ):
            break
        end += 1
    return end


def _adjoin(content: str, one: Word, next_one: Word) -> bool:
    """Whether nothing but a space parts two words, or the stop of an initial: "Edwin L. Marin"."""
    gap = content[one.end : next_one.start]
    if len(one.surface) == 1 and one.surface.isupper():
        gap = gap.removeprefix(".")
    return gap.isspace() and "\n" not in gap


def _people(run: Sequence[Word]) -> list[list[Word]]:
    """A run in two where "and" joins two names of as many words: that is hardly one name."""
    for place, word in enumerate(run):
        several = place > 1 and len(run) - place > 2  # noqa: PLR2004
        if word.surface == "and" and (several or (place == 1 and len(run) == 3)):  # noqa: PLR2004
            return [[*run[:place]], *_people(run[place + 1 :])]
    return [[*run]]


def _without_joints(run: Sequence[Word]) -> Sequence[Word]:
    """A run of words without the small words at its end."""
    while run and folded(run[-1].surface) in _JOINTS:
        run = run[:-1]
    return run


def _is_opener(content: str, word: Word) -> bool:
    """Whether a word in capitals opens a sentence rather than a name; "I. V. Sasi" is a name."""
    return folded(word.surface) in _OPENERS and content[word.end : word.end + 1] != "."


def _opens_sentence(content: str, word: Word) -> bool:
    return bool(_SENTENCE_END.search(content[max(0, word.start - 4) : word.start]))


def _is_common(content: str, spelled: Sequence[Word], word: Word) -> bool:
    """Whether a word that opens a sentence is an ordinary one: "Deploys", but not "Deploy's"."""
    surface = word.surface
    return (
        surface.isalpha()
        and surface[1:].islower()
        and is_common_word(surface.lower())
        and not any(x.surface == surface and not _opens_sentence(content, x) for x in spelled)
    )


def is_common_word(word: str) -> bool:
    """Whether a word in lower case is hardly ever a name, or a form of one that is not."""
    known = _listed("common_words.txt")
    return word in known or not known.isdisjoint(bases(word))


def bases(word: str) -> set[str]:
    """What a word may be a form of: "deploys" and "deployed" of "deploy"."""
    return {
        f"{word.removesuffix(ending)}{instead}{more}"
        for ending, instead in _ENDINGS.items()
        for more in ("", "e")
        if word.endswith(ending) and len(word) > len(ending) + 2
    }


@cache
def _listed(name: str) -> frozenset[str]:
    """The words of a file beside this one.

    `common_words.txt` has those that texts write small (benchmarks/research/common_words.py made
    it), `thing_words.txt` nouns that make a thing of the word before them: "the search service".
    """
    return frozenset((files(__package__) / name).read_text("utf-8").split())


def _mention(text: str, role: Role, kind: Kind | None = None) -> Mention:
    return Mention(name_of(text), role, kind or kind_of(text), text)


def _topic(text: str) -> Kind | None:
    """The kind of a subject that is no name: "Gauge recordings", "Deploys"; None for others."""
    is_thing = " " in text and text.rsplit(maxsplit=1)[-1].islower()
    return Kind.TOPIC if is_thing or is_common_word(text.lower()) else None


def kind_of(text: str) -> Kind:
    """What a name spells by its looks alone."""
    if " " in text:
        return Kind.NAME
    if _HOST.fullmatch(text):
        return Kind.HOST
    return Kind.IDENTIFIER if _IDENTIFIER.search(text) else Kind.NAME


def _distinct(mentions: Iterable[Mention]) -> list[Mention]:
    """Each name once in each role; one that is the subject is not also merely named."""
    about = {mention.name for mention in mentions if mention.role is Role.SUBJECT}
    kept: dict[tuple[ConceptName, Role], Mention] = {}
    for mention in mentions:
        merely = mention.role is Role.NAME and mention.name in about
        is_amount = _DATE.fullmatch(mention.name) or _NUMBER.fullmatch(mention.name)
        if mention.name and not merely and not is_amount:
            kept.setdefault((mention.name, mention.role), mention)
    return [*kept.values()]


def stated_aliases(
    content: str, mentions: Sequence[Mention]
) -> tuple[tuple[Alias, ...], tuple[Mention, ...]]:
    """The names that a text itself says are the same, and those of them that are new."""
    known = {mention.name for mention in mentions}
    aliases: dict[Alias, None] = {}
    added: dict[str, Mention] = {}
    for short, long in _abbreviations(content):
        alias = Alias(name_of(short), name_of(long), "its abbreviation, as a memory says")
        aliases[alias] = None
        for label, kind in ((short, Kind.NAME), (long, Kind.TOPIC)):
            name = name_of(label)
            if name not in known:
                added[name] = Mention(name, Role.NAME, kind, label)
    marked = mark(content, None, mentions)
    for match in _KNOWN_AS.finditer(marked.text):
        of, name = (marked.mentions[int(group[1:-1])].name for group in match.groups())
        if name != of:
            aliases[Alias(name, of, "also known as, as a memory says")] = None
    return (*aliases,), (*added.values(),)


def _abbreviations(content: str) -> Iterator[tuple[str, str]]:
    """Short and long forms, where the letters of one are the initials of the other."""
    for match in _BEFORE.finditer(content):
        starts = [word.start() for word in _LONG_WORD.finditer(match[1])]
        endings = (match[1][start:] for start in reversed(starts))
        long = next((text for text in endings if _fits(text, match[2])), "")
        if long:
            yield match[2], long
    for match in _AFTER.finditer(content):
        beginnings = (match[2][: word.end()] for word in _LONG_WORD.finditer(match[2]))
        long = next((text for text in beginnings if _fits(text, match[1])), "")
        if long:
            yield match[1], long


def _fits(text: str, short: str) -> bool:
    words = [fold(word) for word in re.findall(r"[^\W_]+", text)]
    if len(words) < 2 or words[0] in FUNCTION_WORDS:  # noqa: PLR2004
        return False
    if fold(short) in FUNCTION_WORDS:  # WHO, IT and US are on every other line
        return False
    content_words = [word for word in words if word not in FUNCTION_WORDS]
    return fold(short) in {"".join(word[0] for word in some) for some in (words, content_words)}
