"""Does what is recalled change answers? A reader answers from the first five memories alone.

The fixed reader chooses one sentence of them: the one that holds most of the question's words, rare
ones more, and of equals the one that stands higher. Its mark is the share of the answer's words in
that sentence; `in five` is the share in all five memories, which a perfect reader could use. Test
queries with a short answer; each part of recall is left out in turn, and `newest` recalls nothing.

`--choose model` asks the chat model of `llm_url`, `llm_model`, `llm_dialect` and `llm_key` as well,
and marks it by the F1 of words; `--choose price=IN/OUT`, per million tokens, adds the cost.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import arms
from bearinmind.config import Configuration, Settings
from bearinmind.models.chat import DIALECTS, ChatClient, Question, json_object
from bearinmind.text.analysis import ask, index
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import EvaluationQuery, EvaluationSet
from bearinmind_bench.product import Product
from questions import found

FIRST = 5
LONGEST = 8  # words of an answer
MOST = 300  # queries of a set
SHIPPED = "as shipped"
ARMS: Mapping[str, Mapping[str, Any]] = {
    SHIPPED: {},
    "without the graph": {"leg_weights": {"graph": 0.0}},
    "without meaning": {"leg_weights": {"dense": 0.0}},
    "without words": {"leg_weights": {"lexical": 0.0}},
    "without importance and time": {"importance_weight": 0.0, "time_bonus": 0.0},
}
NEWEST = "newest"
SYSTEM = (
    "Answer the question from these memories alone, in as few words as possible, as JSON: "
    '{"answer": "..."}. Where they do not say it, the answer is empty.'
)
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")


def measure(folder: Path, choice: Sequence[str]) -> found.Found:
    """What each way of recalling lets a reader answer."""
    answers = _answers(folder)
    with arms.filled(folder) as (data, stored):
        every = [q for q in data.of_split("test") if q.id in answers and q.relevant]
        queries = every[:: max(1, -(-len(every) // MOST))]
        texts = {record["id"]: record["content"] for record in data.corpus}
        embedders = EmbeddersOfRun(keep_queries=True)
        given: dict[str, list[list[str]]] = {NEWEST: [_newest(data, query) for query in queries]}
        for name, settings in ARMS.items():
            product = Product(stored, settings, embedders)
            product.embed()
            given[name] = [[texts[i] for i in product.ask(q).ranked[:FIRST]] for q in queries]
        embedders.close()
    gold = [answers[query.id] for query in queries]
    chosen = {
        name: [share(each, sentence(q.text, five)) for each, q, five in _rows(gold, queries, lists)]
        for name, lists in given.items()
    }
    whole = {
        name: [share(each, " ".join(five)) for each, five in zip(gold, lists, strict=True)]
        for name, lists in given.items()
    }
    result: found.Found = {"split": "test", "queries": len(queries)}
    for name, marks in (("sentence", chosen), ("in five", whole)):
        base = marks.pop(SHIPPED)
        result[name] = {
            SHIPPED: round(statistics.fmean(base), 4),
            "arms": found.compared(base, marks),
        }
    if "model" in choice:
        result["model"] = with_model(choice, queries, gold, given)
    return result


def _rows(
    gold: Sequence[str], queries: Sequence[EvaluationQuery], lists: Sequence[list[str]]
) -> list[tuple[str, EvaluationQuery, list[str]]]:
    return [*zip(gold, queries, lists, strict=True)]


def _answers(folder: Path) -> dict[str, str]:
    """The short answers of a set, by query."""
    packed = folder / "queries.jsonl.gz"
    plain = folder / "queries.jsonl"
    text = gzip.decompress(packed.read_bytes()) if packed.is_file() else plain.read_bytes()
    rows = [json.loads(line) for line in text.splitlines()]
    answers = {str(x["query_id"]): str(x.get("answer") or x.get("note") or "") for x in rows}
    return {id_: text for id_, text in answers.items() if 0 < len(terms_of(text)) <= LONGEST}


def _newest(data: EvaluationSet, query: EvaluationQuery) -> list[str]:
    records = data.users[query.user]
    latest = sorted(records, key=lambda each: str(each.get("created_at") or ""), reverse=True)
    return [record["content"] for record in latest[:FIRST]]


# ---- the fixed reader --------------------------------------------------------------------------


def terms_of(text: str) -> list[str]:
    """The terms of a text; its function words where it has nothing else."""
    read = index(text)
    return read.terms or read.function


def sentence(question: str, memories: Sequence[str]) -> str:
    """The sentence that the reader answers with."""
    sentences = [part for memory in memories for part in _SENTENCE.split(memory) if part.strip()]
    held = Counter(term for part in sentences for term in {*terms_of(part)})
    wanted = {term.term for term in ask(question).terms}

    def worth(place: int) -> tuple[float, int]:
        shared = wanted.intersection(terms_of(sentences[place]))
        return math.fsum(1 / held[term] for term in sorted(shared)), -place

    return sentences[max(range(len(sentences)), key=worth)] if sentences else ""


def share(answer: str, text: str) -> float:
    """The share of an answer's words that a text holds."""
    wanted = {*terms_of(answer)}
    return len(wanted.intersection(terms_of(text))) / len(wanted) if wanted else 0.0


def f1(answer: str, text: str) -> float:
    """The F1 of the words of an answer and of what was said."""
    wanted, said = Counter(terms_of(answer)), Counter(terms_of(text))
    common = (wanted & said).total()
    return 2 * common / (wanted.total() + said.total()) if common else 0.0


# ---- a chat model ------------------------------------------------------------------------------


def _said(text: str) -> str:
    """The answer in what a model wrote; nothing where it wrote something else."""
    try:
        return str(json_object(text)["answer"])
    except (ValueError, LookupError, TypeError):
        return ""


def with_model(
    choice: Sequence[str],
    queries: Sequence[EvaluationQuery],
    gold: Sequence[str],
    given: Mapping[str, Sequence[Sequence[str]]],
    settings: Settings | None = None,
) -> found.Found:
    """What a chat model answers from the same memories, and what it costs."""
    settings = settings or Configuration.load({}).settings
    if settings.llm_url is None or settings.llm_model is None:
        raise SystemExit("set llm_url and llm_model, such as BEARINMIND_LLM_URL in the environment")
    prices = next((x.removeprefix("price=") for x in choice if x.startswith("price=")), "0/0")
    price_in, price_out = (float(part) / 1e6 for part in prices.split("/"))
    client = ChatClient(
        DIALECTS[settings.llm_dialect],
        settings.llm_url,
        settings.llm_model,
        key=settings.llm_key,
    )
    spent = Counter[str]()
    marks: dict[str, list[float]] = {}
    for name, lists in given.items():
        marks[name] = []
        for answer, query, five in zip(gold, queries, lists, strict=True):
            text = json.dumps({"question": query.text, "memories": [*five]}, ensure_ascii=False)
            said = client.ask(Question(SYSTEM, text, "answer", SCHEMA, 200))
            spent["in"] += said.prompt_tokens or 0
            spent["out"] += said.answer_tokens or 0
            marks[name].append(f1(answer, _said(said.text)))
    client.close()
    base = marks.pop(SHIPPED)
    return {
        "model": settings.llm_model,
        "f1": {SHIPPED: round(statistics.fmean(base), 4), "arms": found.compared(base, marks)},
        "tokens": dict(spent),
        "cost": round(spent["in"] * price_in + spent["out"] * price_out, 4),
    }
