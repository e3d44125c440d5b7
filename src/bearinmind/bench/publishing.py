"""Writes what was measured into the files of conditions, for whoever publishes new figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tomlkit

from bearinmind.bench.conditions import Checked, files
from bearinmind.bench.metrics import HEADLINE
from bearinmind.errors import InvalidData

#: The figures of a row; whatever else was measured is in the results.
PUBLISHED = ("queries", "recall@5", "recall@10", HEADLINE, "mrr")
_DIGITS = 4


def update(paths: Iterable[Path], checked: Sequence[Checked]) -> None:
    """Replace the expected figures, fingerprints and verdicts; comments and order are kept.

    Raises:
        InvalidData: a file cannot be written.
    """
    measured = {row.condition.name: row for row in checked if row.result}
    for path in paths:
        for file in files(path):
            try:
                document = tomlkit.parse(file.read_text(encoding="utf-8"))
                _update(document, measured)
                file.write_text(tomlkit.dumps(document), encoding="utf-8")
            except OSError as exc:
                raise InvalidData(f"{str(file)!r} cannot be written: {exc.strerror}") from exc


def _update(document: Mapping[str, Any], measured: Mapping[str, Checked]) -> None:
    for table in document.get("condition", []):
        row = measured.get(str(table["name"]))
        if row is None or row.result is None:
            continue
        table["fingerprint"] = row.result.manifest.fingerprint
        if row.compared:
            table["verdict"] = str(row.compared.verdict)
        expected = tomlkit.inline_table()
        overall = row.result.overall
        for name in PUBLISHED:
            if name in overall:
                expected[name] = round(overall[name], _DIGITS)
        table["expected"] = expected
