"""Fetches public evaluation sets and converts them to the layout of an evaluation set.

Bear in Mind does not redistribute them: each comes from its publisher, under its own licence.
A converter takes the published files by name and gives the rows of `corpus` and of `queries`.
Queries are split into halves by the SHA-1 of their id, LoCoMo by conversation, so that the splits
are the same for everybody.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from bearinmind.errors import DownloadFailed, InvalidData, InvalidInput
from bearinmind_bench import evaluation

Row = dict[str, Any]
Rows = tuple[list[Row], list[Row]]  #: corpus and queries

#: LoCoMo's numbers for kinds of questions.
_LOCOMO_STRATA = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop"}
_LOCOMO_ADVERSARIAL = 5
_LOCOMO_DEV_CONVERSATIONS = 5
_CHANGED = "The publisher may have changed it; `--from` names another place."
_BROKEN_FILES = (zipfile.BadZipFile, zlib.error, EOFError, csv.Error)


def half(query_id: str) -> str:
    """Which half a query belongs to."""
    return (
        "test"
        if int(hashlib.sha1(query_id.encode(), usedforsecurity=False).hexdigest(), 16) % 2
        else "dev"
    )


def beir(files: Mapping[str, bytes]) -> Rows:
    """A set of the BEIR collection: a zip with corpus.jsonl, queries.jsonl and qrels/test.tsv."""
    (content,) = files.values()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = {name.partition("/")[2]: name for name in archive.namelist()}
        read = {
            wanted: archive.read(names[wanted]).decode()
            for wanted in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")
        }
    judged: dict[str, dict[str, int]] = {}
    for row in csv.DictReader(io.StringIO(read["qrels/test.tsv"]), delimiter="\t"):
        judged.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    corpus = [
        _passage(row["_id"], row.get("title", ""), row["text"])
        for row in _json_lines(read["corpus.jsonl"])
    ]
    queries = [
        _query(row["_id"], row["text"], "claim", judged[row["_id"]])
        for row in _json_lines(read["queries.jsonl"])
        if row["_id"] in judged
    ]
    return corpus, queries


def _json_lines(text: str) -> Iterator[Row]:
    # Not splitlines: JSON may hold the line separators of Unicode as they are.
    return (json.loads(line) for line in text.split("\n") if line.strip())


def two_wiki(files: Mapping[str, bytes]) -> Rows:
    """2WikiMultiHopQA as HippoRAG publishes it: passages by title, supporting facts by title."""
    passages = json.loads(files["2wikimultihopqa_corpus.json"])
    corpus = [
        _passage(str(number), row["title"], row["text"]) for number, row in enumerate(passages)
    ]
    numbers: dict[str, list[str]] = {}
    for number, row in enumerate(passages):
        numbers.setdefault(row["title"], []).append(str(number))
    queries = [
        _query(
            row["_id"],
            row["question"],
            row["type"],
            {id_: 1 for title, _ in row["supporting_facts"] for id_ in numbers.get(title, ())},
        )
        for row in json.loads(files["2wikimultihopqa.json"])
    ]
    return corpus, queries


def musique(files: Mapping[str, bytes]) -> Rows:
    """MuSiQue as HippoRAG publishes it: each question with its paragraphs, some supporting."""
    passages = json.loads(files["musique_corpus.json"])
    numbers = {(row["title"], row["text"]): str(n) for n, row in enumerate(passages)}
    corpus = [_passage(str(n), row["title"], row["text"]) for n, row in enumerate(passages)]
    queries = []
    for row in json.loads(files["musique.json"]):
        supporting = [p for p in row["paragraphs"] if p["is_supporting"]]
        keys = [(p["title"], p["paragraph_text"]) for p in supporting]
        grades = {numbers[key]: 1 for key in keys if key in numbers}
        queries.append(_query(row["id"], row["question"], row["id"][:4], grades))
    return corpus, queries


def locomo_turns(files: Mapping[str, bytes]) -> Rows:
    """LoCoMo's dialogue turns, one user for each conversation."""
    return _locomo(files, _turns)


def locomo_facts(files: Mapping[str, bytes]) -> Rows:
    """LoCoMo's extracted observations, one user for each conversation."""
    return _locomo(files, _observations)


def _locomo(files: Mapping[str, bytes], read: Any) -> Rows:  # noqa: ANN401  one of two below
    (content,) = files.values()
    corpus: list[Row] = []
    queries: list[Row] = []
    for place, sample in enumerate(json.loads(content)):
        user = str(sample["sample_id"])
        split = "dev" if place < _LOCOMO_DEV_CONVERSATIONS else "test"
        turns: dict[str, list[str]] = {}  # what was said where, by the turn's own id
        for text, when, turn_ids in read(sample):
            id_ = str(len(corpus))
            corpus.append({"id": id_, "content": text, "created_at": when, "user_id": user})
            for turn in turn_ids:
                turns.setdefault(turn, []).append(id_)
        for number, row in enumerate(sample["qa"]):
            query = _question(f"{user}-q{number}", row, turns)
            if query:
                queries.append(query | {"user_id": user, "split": split})
    return corpus, queries


def _question(id_: str, row: Row, turns: Mapping[str, list[str]]) -> Row | None:
    """A question with its evidence; None when none of the evidence is in the corpus."""
    if row["category"] == _LOCOMO_ADVERSARIAL:
        return _query(id_, row["question"], "adversarial", {})
    evidence = [turn for text in row.get("evidence", ()) for turn in re.split("[;, ]+", text)]
    grades = {memory_id: 1 for turn in evidence for memory_id in turns.get(turn, ())}
    return _query(id_, row["question"], _LOCOMO_STRATA[row["category"]], grades) if grades else None


def _sessions(sample: Row, pattern: str) -> Iterator[tuple[str, Any]]:
    """Each session's time and what a part of the sample says about it."""
    part = sample["observation"] if "observation" in pattern else sample["conversation"]
    for number in range(1, len(part) + 1):
        content = part.get(pattern.format(number))
        when = sample["conversation"].get(f"session_{number}_date_time")
        if content and when:
            yield datetime.strptime(when, "%I:%M %p on %d %B, %Y").isoformat(), content  # noqa: DTZ007


def _turns(sample: Row) -> Iterator[tuple[str, str, list[str]]]:
    for when, turns in _sessions(sample, "session_{}"):
        for turn in turns:
            yield f"{turn['speaker']}: {turn['text']}", when, [turn["dia_id"]]


def _observations(sample: Row) -> Iterator[tuple[str, str, list[str]]]:
    for when, by_speaker in _sessions(sample, "session_{}_observation"):
        for facts in by_speaker.values():
            for text, turn_ids in facts:
                yield text, when, [turn_ids] if isinstance(turn_ids, str) else [*turn_ids]


def _passage(id_: str, title: str, text: str) -> Row:
    return {"id": id_, "content": f"{title}\n{text}".strip(), "category": "facts"}


def _query(id_: str, text: str, stratum: str, grades: Mapping[str, int]) -> Row:
    return {
        "query_id": id_,
        "text": text,
        "stratum": stratum,
        "split": half(id_),
        "grades": dict(grades),
    }


def converted(convert: Any, files: Mapping[str, bytes]) -> Rows:  # noqa: ANN401  one of those above
    """The rows of a set.

    Raises:
        InvalidData: the files are not what was expected.
    """
    try:
        rows: Rows = convert(files)
    except (LookupError, ValueError, TypeError, AttributeError, *_BROKEN_FILES) as exc:
        raise InvalidData(
            f"what was fetched has another format than expected: {type(exc).__name__} {exc}",
            hint=_CHANGED,
        ) from exc
    if not all(rows):
        raise InvalidData("what was fetched holds no memories, or no queries", hint=_CHANGED)
    return rows


_TIMEOUT = httpx.Timeout(30.0, read=120.0)
_LARGEST = 1_000_000_000  # bytes; the largest set is a tenth of it
_HIPPORAG = "https://huggingface.co/datasets/osunlp/HippoRAG_2/resolve/main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a set comes from."""

    base: str
    files: tuple[str, ...]
    convert: Callable[[Mapping[str, bytes]], Rows]
    licence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A set that was made from what was fetched."""

    folder: str
    memories: int
    queries: int
    fingerprint: str
    licence: str


_LOCOMO = "https://raw.githubusercontent.com/snap-research/locomo/main/data"
_BEIR = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets"

SOURCES: dict[str, Source] = {
    "locomo-facts": Source(
        base=_LOCOMO,
        files=("locomo10.json",),
        convert=locomo_facts,
        licence="CC BY-NC 4.0",
    ),
    "locomo-turns": Source(
        base=_LOCOMO,
        files=("locomo10.json",),
        convert=locomo_turns,
        licence="CC BY-NC 4.0",
    ),
    "scifact": Source(
        base=_BEIR,
        files=("scifact.zip",),
        convert=beir,
        licence="CC BY 4.0 / ODC-By",
    ),
    "2wiki": Source(
        base=_HIPPORAG,
        files=("2wikimultihopqa_corpus.json", "2wikimultihopqa.json"),
        convert=two_wiki,
        licence="Apache-2.0 / CC BY-SA",
    ),
    "musique-hipporag": Source(
        base=_HIPPORAG,
        files=("musique_corpus.json", "musique.json"),
        convert=musique,
        licence="CC BY 4.0",
    ),
}


def source_of(name: str) -> Source:
    """Where a set comes from; `beir/NAME` is any set of the BEIR collection.

    Raises:
        InvalidInput: there is no such set.
    """
    if name in SOURCES:
        return SOURCES[name]
    collection, slash, member = name.partition("/")
    if collection == "beir" and slash and member.replace("-", "").isalnum():
        return Source(
            base=_BEIR,
            files=(f"{member}.zip",),
            convert=beir,
            licence="see the BEIR collection",
        )
    known = ", ".join(SOURCES)
    raise InvalidInput(
        f"there is no set {name!r}", hint=f"Use one of {known}, or beir/NAME such as beir/nfcorpus."
    )


def fetch(
    name: str, out: Path, base: str | None = None, progress: Callable[[int], None] = lambda _: None
) -> Fetched:
    """Make the folder of a set, whole or not at all; `progress` counts bytes.

    Raises:
        DownloadFailed: a file cannot be had.
        InvalidInput: there is no such set, or the folder exists.
        InvalidData: what was fetched has another format.
    """
    source = source_of(name)
    folder = out / name.replace("/", "-")
    if folder.exists():
        raise InvalidInput(f"{str(folder)!r} exists already", hint="Remove it, or choose --out.")
    place = (base or source.base).rstrip("/")
    files = {file: _download(f"{place}/{file}", progress) for file in source.files}
    corpus, queries = converted(source.convert, files)
    _write(folder, corpus, queries)
    made = evaluation.load(folder)
    return Fetched(
        folder=str(folder),
        memories=len(made.corpus),
        queries=len(made.queries),
        fingerprint=made.fingerprint,
        licence=source.licence,
    )


def _download(url: str, progress: Callable[[int], None]) -> bytes:
    content = bytearray()
    try:
        with httpx.stream("GET", url, timeout=_TIMEOUT, follow_redirects=True) as answer:
            answer.raise_for_status()
            for part in answer.iter_bytes():
                content += part
                progress(len(part))
                if len(content) > _LARGEST:
                    raise DownloadFailed(f"{url} has more than {_LARGEST:,} bytes")
    except (httpx.HTTPError, httpx.InvalidURL) as exc:
        raise DownloadFailed(f"{url} cannot be fetched: {exc}") from exc
    return bytes(content)


def _write(folder: Path, corpus: Sequence[Row], queries: Sequence[Row]) -> None:
    """The layout of a set, made beside its place and moved there when it is complete."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".fetching-"))
    except OSError as exc:
        raise DownloadFailed(f"{str(folder)!r} cannot be made: {exc.strerror}") from exc
    try:
        qrels = [{"query_id": q["query_id"], "grades": q["grades"]} for q in queries]
        for name, rows in {"corpus": corpus, "queries": queries, "qrels": qrels}.items():
            lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            (made / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
        made.chmod(0o755)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
