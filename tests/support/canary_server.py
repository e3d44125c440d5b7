"""A server with secrets in it, whoever asks it, and all that it ever said."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import psycopg

from bearinmind.surfaces.verbs.table import EVERY_VERB
from bearinmind.surfaces.verbs.verb import Verb
from support.canaries import DETECTED, Canary, Made, dumped
from support.http_server import Served

PLAIN = "qxzbyplain11"  #: not secret: whatever does not find this finds nothing
TAG = "harbour"
ROOT = "/api/v1"
LINES = {"Content-Type": "application/x-ndjson"}
VERBS = {verb.name: verb for verb in EVERY_VERB}
#: Those whose answers show a secret, each to whom it belongs.
TELLING = {
    *("secrets.reveal", "accounts.create_key", "accounts.renew_key", "accounts.renew_my_key"),
}


@dataclass
class House:
    """A server, whoever asks it, and all that it said."""

    server: Served
    client: httpx.Client
    store: str
    keys: dict[str, str]  #: by whose they are
    said: defaultdict[str, bytes] = field(default_factory=lambda: defaultdict(bytes))
    asked: set[str] = field(default_factory=set)  #: verbs that were answered
    make: Made = field(default_factory=Made)
    kept: dict[str, Canary] = field(default_factory=dict)  #: by the id of Ada's memory
    plain: str = ""  #: the id of one that says nothing secret

    def __post_init__(self) -> None:
        self.refused = [self.make(shape) for shape in DETECTED]
        self._turn = cycle(self.refused)

    def next(self) -> Canary:
        """A secret for a place where it cannot be kept."""
        return next(self._turn)

    def tokens(self) -> list[str]:
        """Secrets for where no spaces may be."""
        return [canary.text for canary in self.refused if not re.search(r"\s", canary.text)]

    def ask(
        self, who: str | None, method: str, path: str, *, quietly: bool = False, **more: Any
    ) -> httpx.Response:
        """What is answered; it is written down unless it may tell a secret."""
        headers = {"Authorization": f"Bearer {self.keys[who]}"} if who else {}
        headers |= more.pop("headers", {})
        answer = self.client.request(method, path, headers=headers, **more)
        if not (quietly and answer.is_success):
            told = f"{answer.headers}\n{answer.reason_phrase}\n".encode() + answer.content
            self.said[f"{method} {path[:40]} {answer.status_code}"] += told
        return answer

    def verb(self, name: str, /, who: str = "ada", **fields: Any) -> Any:
        """What a verb answers to whom it should answer."""
        verb = VERBS[name]
        path, rest = path_of(verb, fields)
        where = "json" if verb.method in ("POST", "PUT", "PATCH") and rest else "params"
        quietly = name in TELLING
        answer = self.ask(who, verb.method, path, quietly=quietly, **{where: rest})
        assert answer.is_success, answer.text
        self.asked.add(name)
        return answer.json()

    def secrets(self) -> dict[str, str]:
        """Every secret with the text that it stands in, keys included."""
        texts = {canary.secret: canary.text for canary in self.make.all}
        return texts | {secret_of(key): key for key in self.keys.values()}

    def places(self) -> dict[str, bytes]:
        """All that was said, written down or kept, in lower case."""
        in_file = "://" not in self.store
        database = dumped(Path(self.store)) if in_file else _rows(self.store)
        found = {**self.said, "database": database}
        for folder in (Path(os.environ["HOME"]), self.server.log.parent):  # the file is beside it
            found |= {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        return {name: content.lower() for name, content in found.items()}


def path_of(verb: Verb, fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The path of a verb, and what it leaves of the fields."""
    named = set(re.findall(r"{(\w+)}", verb.path))
    filled = verb.path.format(**{name: quote(str(fields[name]), safe="") for name in named})
    return ROOT + filled, {name: value for name, value in fields.items() if name not in named}


def secret_of(key: str) -> str:
    return key.rpartition("_")[2]


def _rows(url: str) -> bytes:
    """All rows of a database of Postgres."""
    with psycopg.connect(url) as connection:
        tables = connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables"
            " WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        texts = [
            str(row).encode() + b"".join(cell for cell in row if isinstance(cell, bytes))
            for (table,) in tables
            for row in connection.execute(f"SELECT * FROM {table}".encode())
        ]
    return b"\n".join(texts)
