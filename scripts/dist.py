"""Builds everything that is published, twice, and compares.

    python scripts/dist.py [FOLDER]

Into FOLDER (`dist`): `python` with wheels and sdists, `npm` with the TypeScript client, a bill of
materials (CycloneDX) of what `pip install bearinmind` brings, and SHA256SUMS. The tools are those
of requirements/dist.lock, in an environment that is made for this and thrown away. Needs Python
3.11 or newer, git, and npm for the client; nothing of the development environment.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

ROOT = Path(__file__).parents[1]
PACKAGES = (".", "packages/adapters", "packages/bench")
CLIENT = "packages/typescript"
ENCODER = "packages/encoder"  # is made from published weights first
PAGE = ROOT / "src/bearinmind/surfaces/page"
PAGE_LOCK = PAGE / "static/vendor/lock.json"  # written by scripts/vendor-page
ENCODER_EPOCH = "1577836800"  # its files change with the weights, not with our commits


class Dist:
    """Builds with the tools of an environment that is made for this."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._python = scratch / "tools/bin/python"
        self._uv = scratch / "tools/bin/uv"
        self._epoch = run("git", "log", "-1", "--format=%ct", folder=ROOT).strip()

    def install_tools(self) -> None:
        """Make the environment of the tools."""
        venv.create(self._scratch / "tools", with_pip=True)
        pip = [self._python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run(*pip, "--require-hashes", "--no-compile", "-r", ROOT / "requirements/dist.lock")

    def build_all(self, into: Path) -> None:
        """Build every package from a fresh copy of the sources."""
        sources = copy_sources(self._scratch / f"sources of {into.name}")
        with_models = sources / "encoder with models"
        make = "import sys; from pathlib import Path; from build import build_package; "
        make += "build_package(*map(Path, sys.argv[1:]))"
        downloads = self._scratch / "downloads"  # each is compared with its published hash
        shutil.rmtree(downloads, ignore_errors=True)
        run(self._python, "-c", make, with_models, downloads, folder=sources / ENCODER)
        self._build(with_models, into / "python", epoch=ENCODER_EPOCH)
        for package in (*PACKAGES, CLIENT):
            shutil.copy(ROOT / "LICENSE", sources / package)
        for package in PACKAGES:
            self._build(sources / package, into / "python", epoch=self._epoch)
        if shutil.which("npm"):
            pack_client(sources / CLIENT, into / "npm")

    def _build(self, package: Path, into: Path, *, epoch: str) -> None:
        # First the sdist, then the wheel from it: so the sdist has all that a wheel needs.
        build = [self._python, "-m", "build", "--no-isolation", "--outdir", into, package]
        run(*build, environment={"SOURCE_DATE_EPOCH": epoch})

    def check(self, made: Path) -> None:
        """Fail if an index would refuse a file.

        Raises:
            SystemExit: it would; the complaint is printed.
        """
        run(self._python, "-m", "twine", "check", "--strict", *sorted(made.glob("python/*")))

    def list_materials(self, made: Path) -> None:
        """Write the bill of materials: what the wheel brings and holds, installed and looked at."""
        product = self._scratch / "product"
        run(self._uv, "venv", "--quiet", "--python", sys.executable, product)
        install = [self._uv, "pip", "install", "--quiet", "--python", product / "bin/python"]
        # The versions that were tested. They have hashes; what was just built has none.
        tested = ["--constraint", ROOT / "requirements/dev.lock", "--no-verify-hashes"]
        run(*install, *tested, "--find-links", made / "python", "bearinmind")
        version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
        bill = made / f"bearinmind-{version}.cdx.json"
        run(
            *(self._python, "-m", "cyclonedx_py", "environment", product / "bin/python"),
            *("--pyproject", ROOT / "pyproject.toml", "--mc-type", "application"),
            *("--output-reproducible", "--output-format", "JSON"),
            *("--output-file", bill),
            folder=self._scratch,  # what it would find in ours is not what is installed
        )
        materials = with_page_libraries(json.loads(bill.read_text("utf-8")))
        bill.write_text(json.dumps(materials, indent=2) + "\n", "utf-8")


def with_page_libraries(materials: dict[str, Any]) -> dict[str, Any]:
    """A bill of materials with the JavaScript in the wheel: of the page, and Swagger UI."""
    served = {path.name for path in PAGE.rglob("*")}
    rows = [
        row
        for row in json.loads(PAGE_LOCK.read_text("utf-8"))
        if served & {*row["files"]}  # the tests have one of their own
    ]
    libraries = [
        {
            "type": "library",
            "bom-ref": f"{row['name']}@{row['version']}",
            "name": row["name"],
            "version": row["version"],
            "purl": f"pkg:npm/{quote(row['name'])}@{row['version']}",
            "licenses": [{"license": {"id": row["licence"], "acknowledgement": "declared"}}],
            "hashes": [{"alg": "SHA-256", "content": row["package_sha256"]}],
        }
        for row in rows
    ]
    names = [library["bom-ref"] for library in libraries]
    root = materials["metadata"]["component"]["bom-ref"]
    for entry in materials["dependencies"]:
        if entry["ref"] == root:
            entry["dependsOn"] = sorted([*entry["dependsOn"], *names])
    materials["components"] += libraries
    materials["dependencies"] += [{"ref": name} for name in names]
    return materials


def copy_sources(place: Path) -> Path:
    """Copy what git knows, or would be told of: no build output comes along."""
    listed = run("git", "ls-files", "-z", "-co", "--exclude-standard", folder=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place / name)
    return place


def pack_client(package: Path, into: Path) -> None:
    """Build and pack the TypeScript client."""
    into.mkdir(parents=True)
    run("npm", "ci", "--silent", "--no-audit", "--no-fund", folder=package)
    run("npm", "run", "--silent", "build", folder=package)
    run("npm", "pack", "--silent", "--pack-destination", into, folder=package)


def run(
    *command: object, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """What a command prints.

    Raises:
        SystemExit: it failed; what it said is printed.
    """
    words = [str(word) for word in command]
    done = subprocess.run(  # noqa: S603  no word of it comes from outside
        words,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"bearinmind: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout


def digests(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file, by its path."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def main(folder: Path) -> None:
    """Build twice, compare, check, list.

    Raises:
        SystemExit: something failed, or the two builds differ.
    """
    with tempfile.TemporaryDirectory(prefix="bearinmind-dist-") as name:
        scratch = Path(name)
        dist = Dist(scratch)
        said("the tools", dist.install_tools)
        first, second = scratch / "first", scratch / "second"
        said("everything", lambda: dist.build_all(first))
        said("everything again", lambda: dist.build_all(second))
        made, again = digests(first), digests(second)
        if different := [name for name in {*made, *again} if made.get(name) != again.get(name)]:
            raise SystemExit(f"bearinmind: two builds differ: {', '.join(sorted(different))}")
        said("twine check", lambda: dist.check(first))
        said("the bill of materials", lambda: dist.list_materials(first))
        sums = "".join(f"{digest}  {path}\n" for path, digest in digests(first).items())
        (first / "SHA256SUMS").write_text(sums, "utf-8")
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(first, folder)
    print(sums, end="")
    if not (folder / "npm").exists():
        print("bearinmind: there is no npm here: the TypeScript client is not in it")


def said(what: str, do: Callable[[], None]) -> None:
    """Do something and say how long it took."""
    began = time.monotonic()
    do()
    print(f"bearinmind: {what}: {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or ["dist"]).absolute())
