"""Makes src/bearinmind/graph/common_words.txt: words that are hardly ever names.

    python benchmarks/research/common_words.py FILE.jsonl.gz ... > common_words.txt

Counted are words inside sentences, after another word in lower case: at the beginning of a sentence
every word has a capital. A word is common that is written small often and large hardly ever. Forms
that `graph/rules.py` takes for one of another word are left out. The list was made of the passages
(`t`) of 21 public sets of questions.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import textwrap
from collections import Counter

from bearinmind.graph.rules import bases
from bearinmind.text.analysis import FUNCTION_WORDS

SEEN = 50  # times in lower case
CAPITALS = 0.05  # of those, at most, with a capital
SHORTEST = 3
#: Of software and of work, where the texts at hand are about other things.
ADDED = """
    alert agenda backend backup benchmark branch build cluster commit compliment config container
    cron dashboard database debug default deadline deploy deployment driving endpoint frontend
    hotfix inbox invoice joint latency linter login logs lunch mailbox merge migration namespace
    outage parking password patch pipeline plugin printer queue refactor release repo retro rollback
    rota router runbook runner schema scratch script server spring sprint staff staging standup
    summer ticket timeout token upgrade upload vacation webhook website wiki winter workshop yoga
"""
_TOKEN = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|[^\sA-Za-z]")


def main(paths: list[str]) -> None:
    """Print the words of these files."""
    small: Counter[str] = Counter()
    large: Counter[str] = Counter()
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                _count(json.loads(line).get("t") or "", small, large)
    known = {
        word
        for word, count in small.items()
        if count >= SEEN and len(word) >= SHORTEST and large[word] <= CAPITALS * count
    } - FUNCTION_WORDS
    known |= {*ADDED.split()}
    words = [word for word in sorted(known) if "'" not in word and not bases(word) & known]
    print(textwrap.fill(" ".join(words), 100))


def _count(text: str, small: Counter[str], large: Counter[str]) -> None:
    before = ""
    for match in _TOKEN.finditer(text):
        word = match.group()
        if word[0].isalpha() and before[:1].isalpha() and before[:1].islower():
            (small if word.islower() else large)[word.lower()] += 1
        before = word


if __name__ == "__main__":
    main(sys.argv[1:])
