"""Text that somebody else may have written, so that it cannot be taken for anything but text."""

from __future__ import annotations

import re
from functools import cache

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
    while text != before:  # what is broken up may leave a marker behind
        before = text
        for pattern, instead in _patterns():
            text = pattern.sub(instead, text)
    return text


def visible(text: str) -> str:
    """A text without characters that nobody sees: controls, text direction, tags, joiners."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").translate(_LINE_ENDS)
    return text.translate({ord(c): None for c in {*text} - {*"\n\t"} if _is_hidden(c)})


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    """What is broken up, and how; made when it is needed, since a hook has no time for it."""
    return (
        # Two or more brackets in a row make no marker: neither ours nor <<SYS>>.
        (re.compile(r"<(?:\s*<)+"), "<"),
        (re.compile(r">(?:\s*>)+"), ">"),
        # Tokens by which chat templates say who speaks: <|im_start|>, [INST].
        (re.compile(r"<(?=\s*\|)"), "\u2039"),
        (re.compile(r"\|\s*>"), "| \u203a"),
        (re.compile(r"\[(\s*/?\s*INST\s*)\]", re.IGNORECASE), r"(\1)"),
        # </data>, <!-- -->, <system-reminder>, <start_of_turn>; but neither Vec<String> nor a < b.
        (re.compile(rf"<(?=\s*(?:[/!?]|{_ELEMENTS}))", re.IGNORECASE), "\u2039"),
        # A picture is fetched by whoever draws it, with all that its address says.
        (re.compile(r"!(?=\[)"), "! "),
    )


def _is_hidden(character: str) -> bool:
    """Whether a character is drawn as nothing, or changes how others are drawn."""
    from unicodedata import category  # noqa: PLC0415  as above

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
