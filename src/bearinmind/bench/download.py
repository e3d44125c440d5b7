"""Fetches public evaluation sets for users who have the internet.

Bear in Mind does not redistribute them: each comes from its publisher, under its own licence.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from bearinmind.bench import converters, evaluation
from bearinmind.errors import DownloadFailed, InvalidInput

_TIMEOUT = httpx.Timeout(30.0, read=120.0)
_LARGEST = 1_000_000_000  # bytes; the largest set is a tenth of it
_HIPPORAG = "https://huggingface.co/datasets/osunlp/HippoRAG_2/resolve/main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a set comes from."""

    base: str
    files: tuple[str, ...]
    convert: Callable[[Mapping[str, bytes]], converters.Rows]
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
        convert=converters.locomo_facts,
        licence="CC BY-NC 4.0",
    ),
    "locomo-turns": Source(
        base=_LOCOMO,
        files=("locomo10.json",),
        convert=converters.locomo_turns,
        licence="CC BY-NC 4.0",
    ),
    "scifact": Source(
        base=_BEIR,
        files=("scifact.zip",),
        convert=converters.beir,
        licence="CC BY 4.0 / ODC-By",
    ),
    "2wiki": Source(
        base=_HIPPORAG,
        files=("2wikimultihopqa_corpus.json", "2wikimultihopqa.json"),
        convert=converters.two_wiki,
        licence="Apache-2.0 / CC BY-SA",
    ),
    "musique-hipporag": Source(
        base=_HIPPORAG,
        files=("musique_corpus.json", "musique.json"),
        convert=converters.musique,
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
            convert=converters.beir,
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
    corpus, queries = converters.converted(source.convert, files)
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


def _write(
    folder: Path, corpus: Sequence[converters.Row], queries: Sequence[converters.Row]
) -> None:
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
