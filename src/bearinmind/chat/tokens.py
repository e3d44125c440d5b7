"""How many tokens a text is, without asking whoever counts them. Pure."""

from __future__ import annotations

import re

_BYTES_PER_TOKEN = 4  # of English words
_BYTES_PER_RARE_TOKEN = 2  # of digits, marks and other scripts, which are cut into smaller pieces
_RARE = re.compile(r"[^a-zA-Z ]+")


def tokens_of(text: str) -> int:
    """About how many tokens a text is, rather too many than too few."""
    rare = sum(len(run.encode(errors="replace")) for run in _RARE.findall(text))
    common = len(text.encode(errors="replace")) - rare
    return -(-common // _BYTES_PER_TOKEN) - (-rare // _BYTES_PER_RARE_TOKEN)
