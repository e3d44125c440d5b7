"""A real Chromium, spoken to in the W3C WebDriver protocol; nothing but its driver is needed."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-gpu-rasterization",
    "--disable-software-rasterizer",
    "--disable-extensions",
    "--disable-site-isolation-trials",
    "--process-per-site",
    "--disable-features=SpareRendererForSitePerProcess,BackForwardCache,Translate,OptimizationHints",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
_STARTED = "started successfully on port "
_PATIENCE = 120  # seconds that something may take to appear: a busy machine takes its time
KEYS = {
    "tab": "\ue004",
    "enter": "\ue007",
    "escape": "\ue00c",
    "up": "\ue013",
    "right": "\ue014",
    "down": "\ue015",
    "space": " ",
}

#: The texts of a page that are shown with too little contrast.
FAINT = """
const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
const luminance = (colour) => channels(colour).slice(0, 3).map((value) => value / 255)
  .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
  .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if ((channels(colour)[3] ?? 1) === 1) return colour;
  }
  return getComputedStyle(document.body).backgroundColor;
};
const faint = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.getClientRects().length) continue;
  if (element.closest('script, style, title, desc')) continue;
  const style = getComputedStyle(element);
  const colour = element.closest('svg') ? style.fill : style.color;
  const [dark, bright] = [luminance(colour), luminance(ground(element))].sort((a, b) => a - b);
  if ((bright + 0.05) / (dark + 0.05) < 4.5) faint.push(walker.currentNode.data.trim());
}
return faint;
"""


class Browser:
    """One tab."""

    def __init__(self, client: httpx.Client, session: str) -> None:
        self._client = client
        self._session = session

    def _ask(self, path: str, **body: Any) -> Any:
        answer = self._client.post(f"/session/{self._session}/{path}", json=body)
        assert answer.is_success, answer.text
        return answer.json()["value"]

    def open(self, page: Path) -> None:
        """Shows a file; what was logged about earlier pages is forgotten."""
        self.visit(page.as_uri())

    def visit(self, address: str) -> None:
        """Shows what is at an address, likewise."""
        self._ask("url", url="about:blank")
        self.console()
        self.requests()
        self._ask("url", url=address)

    def back(self) -> None:
        """The page before this one, once it is there; a script would end with the page it is in."""
        self._ask("back")

    def forward(self) -> None:
        """The page after this one, likewise."""
        self._ask("forward")

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function body returns inside the page."""
        return self._ask("execute/sync", script=script, args=[*arguments])

    def wait(self, script: str, *arguments: Any) -> Any:
        """What a function body returns as soon as that is something."""
        looking = f"""
            const given = [...arguments];
            const done = given.pop();
            const find = function () {{ {script} }};
            const look = () => {{
              const found = find(...given);
              if (found) done(found); else setTimeout(look, 10);
            }};
            look();"""
        return self._ask("execute/async", script=looking, args=[*arguments])

    def press(self, *keys: str) -> None:
        """Keys as if typed by hand, wherever the focus is."""
        strokes = [
            {"type": kind, "value": KEYS.get(key, key)}
            for key in keys
            for kind in ("keyDown", "keyUp")
        ]
        self._ask("actions", actions=[{"type": "key", "id": "keys", "actions": strokes}])

    def resize(self, width: int, height: int = 900) -> None:
        """The size of the screen, whatever a window may be."""
        self._devtools(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )

    def prefer(self, theme: str) -> None:
        """Light or dark."""
        feature = {"name": "prefers-color-scheme", "value": theme}
        self._devtools("Emulation.setEmulatedMedia", {"features": [feature]})

    def forget_cookies(self) -> None:
        """No server knows this browser any more."""
        self._devtools("Network.clearBrowserCookies", {})

    def set_cookies(self, value: str) -> None:
        """Gives every cookie of the shown page another value."""
        for cookie in self._devtools("Network.getCookies", {})["cookies"]:
            kept = {name: cookie[name] for name in ("name", "path", "httpOnly", "sameSite")}
            url = self.run("return origin")
            self._devtools("Network.setCookie", {**kept, "url": url, "value": value})

    def picture(self) -> bytes:
        """The visible part of the page as a PNG."""
        answer = self._client.get(f"/session/{self._session}/screenshot")
        assert answer.is_success, answer.text
        return base64.b64decode(answer.json()["value"])

    def printed(self) -> str:
        """The page as a PDF in base64."""
        return str(self._ask("print"))

    def console(self) -> list[str]:
        """What the page logged since the last time."""
        return [
            f"{entry['level']}: {entry['message']}" for entry in self._ask("se/log", type="browser")
        ]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the last time."""
        events = [
            json.loads(e["message"])["message"] for e in self._ask("se/log", type="performance")
        ]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def _devtools(self, command: str, parameters: Mapping[str, Any]) -> Any:
        return self._ask("goog/cdp/execute", cmd=command, params=parameters)


@contextmanager
def browser(home: Path) -> Iterator[Browser]:
    """A browser that knows nobody and is gone afterwards."""
    binary = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if not binary or not driver:
        pytest.fail("these tests need Chromium and chromedriver: scripts/need-chromium gets them")
    environment = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin"}
    with subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, text=True, env=environment, cwd=home
    ) as process:
        try:
            with httpx.Client(
                base_url=f"http://127.0.0.1:{_port(process)}", timeout=2 * _PATIENCE
            ) as client:
                session = _start(client, binary, home)
                yield Browser(client, session)
                client.delete(f"/session/{session}")
        finally:
            process.terminate()


def _port(process: subprocess.Popen[str]) -> int:
    assert process.stdout
    for line in process.stdout:
        if _STARTED in line:
            return int(line.partition(_STARTED)[2].rstrip(".\n"))
    raise AssertionError("chromedriver did not start")


def _start(client: httpx.Client, binary: str, home: Path) -> str:
    options = {"binary": binary, "args": [*_FLAGS, f"--user-data-dir={home / 'profile'}"]}
    wanted = {
        "browserName": "chrome",
        "goog:chromeOptions": options,
        "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        "timeouts": {"script": _PATIENCE * 1_000},
    }
    answer = client.post("/session", json={"capabilities": {"alwaysMatch": wanted}})
    assert answer.is_success, answer.text
    return str(answer.json()["value"]["sessionId"])
