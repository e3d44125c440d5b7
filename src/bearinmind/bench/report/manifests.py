"""Everything that is needed to run it again, folded."""

from __future__ import annotations

from collections.abc import Iterator

from bearinmind.bench.report.elements import Element, tag
from bearinmind.bench.report.figures import section
from bearinmind.bench.report.runs import Material, Run, as_text, chip
from bearinmind.bench.results import Manifest


def manifests_section(material: Material) -> Element:
    """The manifest of each run in full."""
    return section(
        "manifests",
        "Manifests",
        "Code, data, versions, seeds and settings: what it takes to measure the same again.",
        *(_manifest(run) for run in material.runs),
    )


def flat(manifest: Manifest) -> dict[str, str]:
    """Every field of a manifest as text; parts of a field have its name in front of theirs."""
    return dict(_fields(manifest))


def _fields(manifest: Manifest) -> Iterator[tuple[str, str]]:
    for name, field in manifest.model_dump().items():
        if isinstance(field, dict):
            yield from ((f"{name}.{part}", as_text(each)) for part, each in field.items())
        elif isinstance(field, list | tuple):
            yield name, "\n".join(map(str, field))
        else:
            yield name, "" if field is None else as_text(field)


def _manifest(run: Run) -> Element:
    rows = (
        tag("div", tag("dt", name), tag("dd", text or "none"))
        for name, text in flat(run.result.manifest).items()
    )
    return tag("details", tag("summary", chip(run, 80)), tag("dl", *rows, class_="manifest"))
