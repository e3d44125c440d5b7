"""The files of the page: which are served, how large they are, and where they come from."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from hatchling.builders.wheel import WheelBuilder

from support.browser import Browser
from support.page_views import VIEWS, Filled, address, enter, go

ROOT = Path(__file__).parents[3]
FOLDER = "bearinmind/surfaces/page/static/"
STATIC = ROOT / "src" / FOLDER
LICENCES = {
    "axe-core": ROOT / "tests/support/vendor",
    "swagger-ui-dist": STATIC.parent / "docs",
}
IN_ALL = 800_000  # bytes as gzip, of everything that the page can load
AT_FIRST = 150_000  # bytes as gzip, of what the first view loads
SERVED = {".js", ".css", ".html", ".svg"}


def packed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes()))


def test_the_libraries_are_those_of_the_lock_file_with_their_licences() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "scripts/vendor-page", "--check"], check=False, capture_output=True
    )
    assert checked.returncode == 0, checked.stderr
    for row in json.loads((STATIC / "vendor/lock.json").read_text(encoding="utf-8")):
        assert row["licence"] in {"MIT", "ISC", "Apache-2.0", "MPL-2.0"}
        assert len(row["package_sha256"]) == 64
        folder = LICENCES.get(row["name"], STATIC / "vendor")
        name = row["name"].removeprefix("@").replace("/", "-")
        assert (folder / f"{name}.LICENSE.txt").stat().st_size > 500


def test_no_more_is_sent_than_a_slow_line_bears(tab: Browser, filled: Filled) -> None:
    every = [path for path in STATIC.rglob("*") if path.suffix in SERVED]
    assert sum(map(packed, every)) < IN_ALL

    enter(tab, filled.server)
    go(tab, filled.server, "/")
    root = f"{filled.server.url}/page/"
    asked = {each.removeprefix(root) for each in tab.requests() if each.startswith(root)}
    assert "views/recall.js" in asked
    assert sum(packed(STATIC / name) for name in {*asked, "index.html"}) < AT_FIRST
    # The graph and the charts are loaded when their view is opened.
    assert not asked & {"vendor/cytoscape.js", "vendor/uplot.js"}


def test_the_wheel_has_every_file_and_the_page_uses_all_of_them(
    tab: Browser, filled: Filled
) -> None:
    wheel = WheelBuilder(str(ROOT)).recurse_included_files()
    paths = [each.distribution_path.replace("\\", "/") for each in wheel]
    built = {path.removeprefix(FOLDER) for path in paths if path.startswith(FOLDER)}
    files = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    assert built == files

    source = "".join(path.read_text(encoding="utf-8") for path in STATIC.rglob("*.js"))
    source += (STATIC / "index.html").read_text(encoding="utf-8")
    names = {Path(file).name for file in files if Path(file).suffix in SERVED} - {"index.html"}
    assert [name for name in names if f"/{name}" not in source] == []

    enter(tab, filled.server)
    for view in VIEWS:
        go(tab, filled.server, address(filled, view))
        refused = view == "no memory"  # Chromium logs an answer that is an error
        assert [each for each in tab.console() if not refused] == [], view
        # Chromium draws parts of its own fields from addresses that hold the picture.
        asked = [each for each in tab.requests() if not each.startswith("data:")]
        assert asked
        assert [each for each in asked if not each.startswith(f"{filled.server.url}/")] == []


def test_the_page_itself_needs_no_key_and_is_asked_about_again(filled: Filled) -> None:
    opened = httpx.get(filled.server.url)
    assert opened.status_code == 200
    assert opened.headers["content-type"] == "text/html; charset=utf-8"
    known = {"If-None-Match": opened.headers["etag"]}
    assert httpx.get(filled.server.url, headers=known).status_code == 304
    described = httpx.get(f"{filled.server.url}/openapi.json").json()["paths"]
    assert not {"/", "/page/app.js"} & {*described}
    plain = httpx.get(f"{filled.server.url}/page/app.js", headers={"Accept-Encoding": "identity"})
    assert plain.content == httpx.get(f"{filled.server.url}/page/app.js").content
    assert "content-encoding" not in plain.headers


@pytest.mark.parametrize(
    "name", ["..%2ffiles.py", "../files.py", "nothing.js", "", "vendor/lock.json", "views"]
)
def test_nothing_but_the_files_of_the_page_is_given(filled: Filled, name: str) -> None:
    assert httpx.get(f"{filled.server.url}/page/{name}").status_code == 404
