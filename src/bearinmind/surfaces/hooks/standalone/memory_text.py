"""Memories as text for a model. Others may have written them, so they must read as data only."""

from __future__ import annotations

import json
import re
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

BEGIN = "<<<DATA"  #: opens the text of a memory that is data
END = "<<<END OF DATA>>>"  #: closes it
BAR = "|"  #: begins every line of it

# Elements by which models and their hosts tell who speaks, or what is to be done.
_ELEMENTS = (
    "system|assistant|user|human|developer|instruction|memor|data|context|document|prompt|message|"
    "function|invoke|parameter|tool|antml|result|output|thinking|reminder|script|style|iframe|img|"
    "svg|object|embed|link|meta|start_of|end_of|s>|bos>|eos>"
)
# What the patterns below leave as it is: every one of them needs another character.
_HARMLESS = {chr(code) for code in range(32, 127)} - {*"<>|[]!"} | {"\n", "\t"}


def fence(text: str, facts: str) -> str:
    """A text between two markers, of which the first has facts; it cannot leave them."""
    lines = "\n".join(f"{BAR} {line}".rstrip() for line in neutral(text).split("\n"))
    return f"{BEGIN} {facts}>>>\n{lines}\n{END}"


def quoted(text: str) -> str:
    """A short text in one line, in quotes that it cannot close."""
    return f'"{one_line(neutral(text)).replace(chr(34), chr(39))}"'


def one_line(text: str) -> str:
    """A text without line ends."""
    return " ".join(text.split())


def neutral(text: str) -> str:
    """A text that reads the same and cannot be taken for anything but text."""
    if not {*text} - _HARMLESS:
        return text
    # Look-alikes first: a full-width "<" is a "<" to a model as well.
    text = visible(text).translate(_ALIKE)
    before = ""
    while text != before:  # a replacement may leave another marker
        before = text
        for pattern, instead in _patterns():
            text = pattern.sub(instead, text)
        for pattern, instead in _words():
            text = _replaced(pattern, instead, text)
    return text


def _replaced(pattern: re.Pattern[str], instead: str, text: str) -> str:
    """A text in which a sign is replaced wherever it stands before a word, however that is spelled.

    To a model, a Cyrillic or a full-width letter is the Latin one that looks like it.
    """
    places = [match.start() for match in pattern.finditer(_folded(text))]
    for place in places:  # one sign for one: the places stay what they are
        text = f"{text[:place]}{instead}{text[place + 1 :]}"
    return text


def _folded(text: str) -> str:
    """A text of the same length with Latin letters for all that look like them."""
    if text.isascii():
        return text
    return "".join(map(_fold, text))


def _fold(character: str) -> str:
    from unicodedata import normalize  # noqa: PLC0415  a hook has no time for it

    if character.isascii():
        return character
    plain = normalize("NFKD", character)[:1] or character
    return _LETTERS.get(plain, plain)


def visible(text: str) -> str:
    """A text without characters that nobody sees: controls, text direction, tags, joiners."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_LINE_ENDS)
    return text.translate({ord(c): None for c in {*text} - {*"\n\t"} if _is_hidden(c)})


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """What is replaced, and by what; compiled when needed, since a hook has no time for it."""
    return (
        # Two or more brackets in a row make no marker: neither ours nor <<SYS>>.
        (re.compile(r"<(?:\s*<)+"), "<"),
        (re.compile(r">(?:\s*>)+"), ">"),
        # Tokens by which chat templates say who speaks: <|im_start|>, [INST].
        (re.compile(r"<(?=\s*\|)"), "\u2039"),
        (re.compile(r"\|\s*>"), "| \u203a"),
        # A client that draws a picture fetches it, with all that its address says.
        (re.compile(r"!(?=\[)"), "! "),
    )


@cache
def _words() -> tuple[tuple[re.Pattern[str], str], ...]:
    """A sign before a word by which somebody is told who speaks, and what it is replaced by."""
    return (
        (re.compile(r"\[(?=\s*/?\s*INST\s*\])", re.IGNORECASE), "("),
        # </data>, <!-- -->, <system-reminder>, <start_of_turn>; but neither Vec<String> nor a < b.
        (re.compile(rf"<(?=\s*(?:[/!?]|{_ELEMENTS}))", re.IGNORECASE), "\u2039"),
    )


def _is_hidden(character: str) -> bool:
    """Whether a character is drawn as nothing, or changes how others are drawn."""
    from unicodedata import category  # noqa: PLC0415  for the same reason

    code = ord(character)
    return category(character) in {"Cc", "Cf", "Cs", "Co"} or any(
        first <= code <= last for first, last in _UNDRAWN
    )


_LINE_ENDS = dict.fromkeys(map(ord, "\v\f\x1c\x1d\x1e\x85\u2028\u2029"), "\n")
# Drawn as nothing, though Unicode counts them among letters and marks.
_UNDRAWN = (
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),  # Khmer inherent vowels
    (0x180B, 0x180F),  # Mongolian variation selectors
    (0x3164, 0x3164),
    (0xFDD0, 0xFDEF),  # no characters at all
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFFA0, 0xFFA0),
    (0xE0000, 0xE0FFF),  # tags and more variation selectors
)
# Letters that look like Latin ones, and are not folded into them by Unicode itself.
_LETTERS = {
    alike: plain
    for plain, others in {
        "a": "\u0430\u03b1\u0251",
        "b": "\u0184\u042c\u0412\u0392",
        "c": "\u0441\u03f2\u1d04",
        "d": "\u0501\u0257",
        "e": "\u0435\u04bd\u212e\u0415\u0395",
        "f": "\u03dd\u0192",
        "g": "\u0261\u050d",
        "h": "\u04bb\u041d\u0397",
        "i": "\u0456\u0131\u03b9\u0406\u0399\u04cf",
        "j": "\u0458\u03f3\u0408",
        "k": "\u043a\u03ba\u041a\u039a",
        "l": "\u04c0\u01c0\u2113",
        "m": "\u043c\u041c\u039c\u028d",
        "n": "\u0578\u043f\u039d\u03b7",
        "o": "\u043e\u03bf\u0585\u041e\u039f\u06f0",
        "p": "\u0440\u03c1\u0420\u03a1",
        "q": "\u051b\u0566",
        "r": "\u0433\u1d26\u0280",
        "s": "\u0455\u0405\ua731",
        "t": "\u0442\u03c4\u0422\u03a4",
        "u": "\u057d\u03c5\u1d1c",
        "v": "\u03bd\u0475\u1d20",
        "w": "\u051d\u0461\u1d21",
        "x": "\u0445\u03c7\u0425\u03a7",
        "y": "\u0443\u04af\u03b3\u0423\u03a5",
        "z": "\u1d22\u0396",
    }.items()
    for alike in others
}
# Signs that are taken for those of markup.
_ALIKE = {
    ord(alike): plain
    for plain, others in {
        "<": "\uff1c\ufe64\u3008\u27e8\u2329\u276e\u1438\u02c2",
        ">": "\uff1e\ufe65\u3009\u27e9\u232a\u276f\u1433\u02c3",
        "|": "\uff5c\u2223\u01c0\u2758",
        "[": "\uff3b\u27e6\ufe47",
        "]": "\uff3d\u27e7\ufe48",
    }.items()
    for alike in others
}


_FACTS = ("category", "project", "agent", "source", "trust")
_LONGEST_FACT = 80  # characters
_LONGEST_WORDS = 24  # as many words tell a memory from others
_SHORTEST_WORD = 5  # letters
_MOST_STATES = 3  # earlier ones
_LONGEST_STATE = 200  # characters of an earlier state


def output(event: str, memories: Iterable[dict[str, Any]], intro: str) -> dict[str, Any]:
    """The answer of a hook that puts memories before the model."""
    text = "\n\n".join(
        [intro, *(fence(_with_states(each), " ".join(_facts(each))) for each in memories)]
    )
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def encoded(answer: dict[str, Any]) -> bytes:
    """The answer of a hook as bytes."""
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")


def fitting(
    memories: Iterable[dict[str, Any]],
    *,
    event: str,
    intro: str,
    most: int,
    limit: int,
    known: Iterable[str] = (),
) -> list[dict[str, Any]]:
    """The first memories that fit whole: one that is too big is left out, smaller ones may fit.

    An outdated one is left out unless what outdates it comes before it.
    """
    chosen: list[dict[str, Any]] = []
    for memory in memories:
        if len(chosen) == most:
            break
        ids = {each["id"] for each in chosen}
        is_there = key(memory) in map(key, chosen)
        if is_there or outdated_by(memory) not in {"", *ids, *known}:
            continue
        longer = [*chosen, memory]
        if len(encoded(output(event, longer, intro))) <= limit:
            chosen = longer
    return chosen


def key(memory: dict[str, Any]) -> str:
    """What a session knows a memory by: two owners may hold one id."""
    owner = memory.get("owner")
    return f"{owner}:{memory['id']}" if memory.get("is_data") and owner else str(memory["id"])


def outdated_by(answer: dict[str, Any]) -> str:
    """The id of the memory that outdates one; empty when none does."""
    outdated = answer.get("outdated")
    return str(outdated.get("by") or "") if isinstance(outdated, dict) else ""


def _with_states(memory: dict[str, Any]) -> str:
    """What a memory says, and below it the earlier states of the same thing."""
    lines = [memory["content"]]
    for state in memory.get("earlier") or ():
        for earlier in usable([state["memory"]], {}):
            until, text = state["outdated"]["until"][:10], one_line(earlier["content"])
            lines.append(f"until {until}: {text[:_LONGEST_STATE]}")
    return "\n".join(lines[: 1 + _MOST_STATES])


def _facts(memory: dict[str, Any]) -> Iterator[str]:
    """Where a memory is from. Text that others may have written is quoted."""
    yield f"id={memory['id']}"
    yield f"date={one_line(neutral(memory['created_at'][:10]))}"
    if outdated_by(memory):
        yield f"outdated_by={quoted(outdated_by(memory))}"
    if memory.get("is_data") and isinstance(memory.get("owner"), str):
        yield f"owner={quoted(memory['owner'][:_LONGEST_FACT])}"
    origin = memory.get("provenance")
    facts = {**memory, **origin} if isinstance(origin, dict) else memory
    for name in _FACTS:
        value = facts.get(name)
        if isinstance(value, str) and value:
            short = value[:_LONGEST_FACT]
            plain = short.isascii() and short.isalnum()
            yield f"{name}={short if plain else quoted(short)}"


def usable(memories: Iterable[Any], answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The memories of an answer that can be given to a model, each marked whether it is data.

    A sensitive memory cannot: its text is sealed.
    """
    as_data = answer.get("as_data")
    for memory in memories:
        if not isinstance(memory, dict) or memory.get("sensitive"):
            continue
        texts = [memory.get(name) for name in ("id", "content", "created_at")]
        if not all(isinstance(text, str) and text for text in texts):
            continue
        if memory["id"].isascii() and memory["id"].replace("-", "").isalnum():
            is_data = {"is_data": memory["id"] in as_data} if isinstance(as_data, list) else {}
            yield {**memory, **is_data}


def distinctive_words(memory: dict[str, Any], prompt: str) -> list[str]:
    """Words of a memory that a prompt has not: an agent that says them later has used it."""
    new = words(memory["content"]) - words(prompt)
    return sorted(new, key=lambda word: (-len(word), word))[:_LONGEST_WORDS]


def words(text: str) -> set[str]:
    """The long words of a text."""
    spaced = "".join(each if each.isalnum() else " " for each in text.lower())
    return {word for word in spaced.split() if len(word) >= _SHORTEST_WORD}
