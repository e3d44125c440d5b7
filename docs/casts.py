# ruff: noqa: INP001  a script beside the docs
"""Draws the terminal pictures of a page: an animated SVG for each console block after an image.

    python docs/casts.py PAGE...

A picture is drawn from the text of the page and from nothing else, so that a test can tell whether
it is current. It needs no script and no font of another server; where motion is not wanted, or not
known, everything is shown at once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from textwrap import wrap

COLUMNS = 100
CHARACTER, LINE, MARGIN, BAR = 8.4, 20, 20, 34  # pixels
TYPED_PER_S = 40.0  # characters of a command
PAUSE_S = 0.6  # before an answer, and after it

_SHOWN = re.compile(
    r"!\[[^\]]*\]\((pictures/[\w-]+\.svg)\).*?^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
_STYLE = """\
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; \
fill: #d7d2c8; white-space: pre }
.command { fill: #fff; font-weight: 600 }
.prompt { fill: #c9935a }
.detail { fill: #9d968a }
@media (prefers-reduced-motion: no-preference) {
.typed { animation: type 1s backwards }
.answer { animation: appear .1s backwards }
}
@keyframes type { from { clip-path: inset(0 100% 0 0) } to { clip-path: inset(0 0 0 0) } }
@keyframes appear { from { opacity: 0 } }"""


def casts(page: Path) -> Iterator[tuple[Path, str]]:
    """The pictures of a page, each with what it should be."""
    for name, text in _SHOWN.findall(page.read_text("utf-8")):
        yield page.parent / name, drawing(text)


def drawing(console: str) -> str:
    """An SVG of what was typed and answered."""
    lines: list[str] = []
    height, moment = BAR, PAUSE_S
    for line in console.splitlines():
        is_command = line.startswith("$ ")
        for part in wrap(line, COLUMNS, subsequent_indent="  ", drop_whitespace=False) or [""]:
            height += LINE
            if is_command:
                seconds = len(part) / TYPED_PER_S
                lines.append(_command(part, height, moment, seconds))
                moment += seconds
            else:
                lines.append(_answer(part, height, moment))
        moment += PAUSE_S if is_command else 0.05
    width = round(COLUMNS * CHARACTER + 2 * MARGIN)
    dots = "".join(
        f'<circle cx="{MARGIN + 18 * n}" cy="18" r="6" fill="{colour}"/>'
        for n, colour in enumerate(("#d0685c", "#d9a441", "#7ba05b"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + MARGIN}">\n'
        f"<style>\n{_STYLE}\n</style>\n"
        f'<rect width="100%" height="100%" rx="8" fill="#2b2622"/>\n{dots}\n'
        + "\n".join(filter(None, lines))
        + "\n</svg>\n"
    )


def _command(text: str, y: int, begins: float, seconds: float) -> str:
    timing = f"animation-delay:{begins:.2f}s;animation-duration:{seconds:.2f}s;"
    timing += f"animation-timing-function:steps({len(text)})"
    shown = escape(text)
    if text.startswith("$ "):
        shown = f'<tspan class="prompt">$</tspan>{shown[1:]}'
    return f'<text class="command typed" x="{MARGIN}" y="{y}" style="{timing}">{shown}</text>'


def _answer(text: str, y: int, begins: float) -> str:
    if not text.strip():
        return ""
    kind = "answer detail" if text.startswith("   ") else "answer"
    delay = f'style="animation-delay:{begins:.2f}s"'
    return f'<text class="{kind}" x="{MARGIN}" y="{y}" {delay}>{escape(text)}</text>'


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:]):
        for picture, made in casts(page):
            picture.parent.mkdir(exist_ok=True)
            picture.write_text(made, "utf-8")
