"""Builds the documentation as a site into .cache/site, from the pages of the repository.

    python scripts/site.py

Strict: a link or an anchor that leads nowhere is an error. MkDocs and its theme are those of
requirements/site.lock, in an environment of their own under .cache; once that is there, nothing is
asked of the network, neither here nor by who reads the site.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements/site.lock"
TOOLS = ROOT / ".cache/site-tools"
PAGES = ROOT / ".cache/site-pages"
SITE = ROOT / ".cache/site"

_COG = re.compile(r"<!-- \[\[\[(?:cog.*?\]\]\]|end\]\]\]) -->\n?", re.DOTALL)
_LINK = re.compile(r"""(?:\]\(|src=")(?!\w+:)([^)"#\s]+)""")


def pages() -> Iterator[Path]:
    """Every page, as a path in the repository."""
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/**/*.md", "packages/*/*.md"):
        yield from (path.relative_to(ROOT) for path in sorted(ROOT.glob(pattern)))


def copy_pages() -> None:
    """Copy the pages without what generates them, and the files that they link to."""
    shutil.rmtree(PAGES, ignore_errors=True)
    for page in pages():
        text = _COG.sub("", (ROOT / page).read_text("utf-8"))
        (PAGES / page).parent.mkdir(parents=True, exist_ok=True)
        (PAGES / page).write_text(text, "utf-8")
        for link in _LINK.findall(text):
            linked = (ROOT / page).parent.joinpath(link).resolve()
            if linked.is_file() and linked.suffix != ".md":
                copy = PAGES / linked.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(linked, copy)


def navigation() -> list[object]:
    """What leads to every page: a tab for each kind, the index of each first."""

    def those(folder: str, *first: str) -> list[str]:
        found = [page.as_posix() for page in pages() if page.is_relative_to(folder)]
        places = {f"{folder}/{name}.md": place for place, name in enumerate(("README", *first))}
        return sorted(found, key=lambda page: (places.get(page, len(places)), page))

    tutorials = those("docs/tutorial", "tour", "first-steps")
    rest = ["docs/glossary.md", "CHANGELOG.md", "CONTRIBUTING.md"]
    return [
        {"Start": ["README.md", *tutorials]},
        {"How to": those("docs/howto")},
        {"Reference": those("docs/reference")},
        {"Explanation": those("docs/explanation")},
        {"Decisions": those("docs/adr")},
        {"Project": [*rest, *those("packages"), *those("benchmarks")]},
    ]


def install_tools() -> None:
    """Make the environment of the tools, unless it has what the lock says."""
    made_from = TOOLS / "made-from"
    if made_from.exists() and made_from.read_bytes() == LOCK.read_bytes():
        return
    venv.create(TOOLS, with_pip=True, clear=True)
    pip = [str(TOOLS / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
    install = [*pip, "--require-hashes", "-r", str(LOCK)]
    subprocess.run(install, check=True)  # noqa: S603  our own lock
    shutil.copyfile(LOCK, made_from)


def main() -> int:
    """Build the site and say where it is."""
    install_tools()
    copy_pages()
    added = {"docs_dir": PAGES.name, "site_dir": SITE.name, "nav": navigation()}
    settings = ROOT / ".cache/mkdocs.yml"
    settings.write_text(json.dumps({"INHERIT": "../mkdocs.yml", **added}), "utf-8")
    build = [str(TOOLS / "bin/mkdocs"), "build", "--strict", "--config-file", str(settings)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # ADR 0052 knows it
    done = subprocess.run(  # noqa: S603  likewise
        build, env=quiet, capture_output=True, text=True, check=False
    )
    print(done.stderr if done.returncode else f"bearinmind: the site is made: {SITE}/index.html")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
