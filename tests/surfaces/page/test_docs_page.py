"""The description of the API at /docs: from vendored files, which ask nobody else."""

from __future__ import annotations

import gzip
from pathlib import Path

import httpx
from hatchling.builders.wheel import WheelBuilder

from bearinmind.surfaces.verbs.table import EVERY_VERB
from support.browser import Browser
from support.page_views import Filled

ROOT = Path(__file__).parents[3]
FOLDER = "bearinmind/surfaces/page/docs/"


def test_every_verb_is_described_and_nobody_else_is_asked(tab: Browser, filled: Filled) -> None:
    tab.visit(f"{filled.server.url}/docs")
    tab.wait("return document.querySelectorAll('.opblock').length > 10")
    described = tab.run(
        "return [...document.querySelectorAll('.opblock-summary-description')]"
        ".map((each) => each.textContent)"
    )
    assert {verb.says for verb in EVERY_VERB} <= {*described}
    tab.run("document.querySelector('#operations-memory-store .opblock-summary-control').click()")
    tab.wait("return document.querySelector('.opblock-body')")
    assert tab.console() == []
    asked = [each for each in tab.requests() if not each.startswith("data:")]
    assert f"{filled.server.url}/openapi.json" in asked
    assert [each for each in asked if not each.startswith(f"{filled.server.url}/")] == []


def test_no_script_but_those_of_the_server_runs(filled: Filled) -> None:
    page = httpx.get(f"{filled.server.url}/docs")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in page.text
    described = httpx.get(f"{filled.server.url}/openapi.json").json()["paths"]
    assert not [path for path in described if path.startswith("/docs")]


def test_a_packed_file_is_the_same_for_every_client(filled: Filled) -> None:
    address = f"{filled.server.url}/docs/swagger-ui-bundle.js"
    packed = httpx.get(address, headers={"Accept-Encoding": "gzip"})
    plain = httpx.get(address, headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    on_disk = (ROOT / "src" / FOLDER / "swagger-ui-bundle.js.gz").read_bytes()
    assert gzip.decompress(on_disk) == plain.content


def test_the_wheel_has_the_files_and_their_licences() -> None:
    wheel = WheelBuilder(str(ROOT)).recurse_included_files()
    paths = [each.distribution_path.replace("\\", "/") for each in wheel]
    packed = {path.removeprefix(FOLDER) for path in paths if path.startswith(FOLDER)}
    assert packed == {each.name for each in (ROOT / "src" / FOLDER).iterdir()}
    assert {"swagger-ui-dist.LICENSE.txt", "NOTICE.txt"} <= packed
