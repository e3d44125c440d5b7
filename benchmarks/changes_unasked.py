"""What the hook before a prompt gives when the prompt is about a thing that has changed.

Every question about now is a prompt in a session of its own. It goes through the hook's own code to
a server that has the memories of that user, as it would from an agent.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from math import inf
from pathlib import Path
from time import monotonic

from bearinmind.app import Mind
from bearinmind.store.sqlite.store import SqliteStore
from bearinmind.surfaces.hooks.standalone import prompt
from bearinmind.surfaces.hooks.standalone.settings import HookSettings
from bearinmind_bench import corpus
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import ONLY_USER, EvaluationQuery, EvaluationSet
from bearinmind_bench.product import settings_for
from hooks import serving

DEADLINE = 5.0  # seconds: a slow machine is not what is measured
_TELLING = 50  # characters of a memory by which it is recognised in what a hook gives


def hooks(data: EvaluationSet, split: str, folder: Path) -> None:
    """Count what is given for the prompts of every user."""
    counted: Counter[str] = Counter()
    for user in data.users:
        queries = [q for q in data.of_split(split) if q.user == user and q.stale]
        if queries:
            own = folder / user
            own.mkdir()
            contents = _fill(own, data, user)
            counted.update(_outcomes(own, queries, contents))
    total = counted.total()
    print(f"{data.name}, {split}: {total} prompts about things that have changed")
    for outcome in ("current first", "stale above current", "stale alone", "nothing of it"):
        print(f"{outcome:28}{counted[outcome] / total:9.1%}")


def _fill(folder: Path, data: EvaluationSet, user: str) -> dict[str, str]:
    """A store of one user's memories, all background work done; the texts by their names."""
    records = tuple({**record, "user_id": ONLY_USER} for record in data.users[user])
    one = replace(data, corpus=records, queries=(), pairs=())
    embedders = EmbeddersOfRun()
    with closing(SqliteStore(folder / "memories.db")) as store:
        stored = corpus.fill(store, one, lambda _more: None)
        settings = settings_for(ONLY_USER, stored.bounds, {})
        Mind(store, settings, embedders=embedders.of(settings)).work.wait()
    embedders.close()
    return {record["id"]: record["content"] for record in records}


def _outcomes(
    folder: Path, queries: list[EvaluationQuery], contents: dict[str, str]
) -> Iterator[str]:
    with serving(folder) as url:
        config = folder / "config.json"
        config.write_text(json.dumps({"url": url, "deadline_ms": DEADLINE * 1_000}))
        for query in queries:
            payload = {"session_id": query.id, "cwd": str(folder), "prompt": query.text}
            answer, _note = prompt.answer(
                HookSettings(str(config)), payload, monotonic() + DEADLINE
            )
            text = answer["hookSpecificOutput"]["additionalContext"] if answer else ""
            yield _outcome(text, query, contents)


def _outcome(text: str, query: EvaluationQuery, contents: dict[str, str]) -> str:
    """What the hook gave for a prompt, by where the memories stand in its text."""
    current = min(_place(text, contents[id_]) for id_ in query.relevant)
    stale = min(_place(text, contents[id_]) for id_ in query.stale)
    if current == stale == inf:
        return "nothing of it"
    if current == inf:
        return "stale alone"
    return "current first" if current < stale else "stale above current"


def _place(text: str, content: str) -> float:
    place = text.find(content[:_TELLING])
    return inf if place < 0 else place
