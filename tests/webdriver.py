"""A real Chromium, spoken to in the W3C WebDriver protocol; nothing but its driver is needed."""

from __future__ import annotations

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
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
_STARTED = "started successfully on port "
KEYS = {"tab": "\ue004", "right": "\ue014", "enter": "\ue007", "space": " "}


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
        self._ask("url", url="about:blank")
        self.console()
        self.requests()
        self._ask("url", url=page.as_uri())

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function body returns inside the page."""
        return self._ask("execute/sync", script=script, args=[*arguments])

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

    def _devtools(self, command: str, parameters: Mapping[str, Any]) -> None:
        self._ask("goog/cdp/execute", cmd=command, params=parameters)


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
            with httpx.Client(base_url=f"http://127.0.0.1:{_port(process)}", timeout=60) as client:
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
    }
    answer = client.post("/session", json={"capabilities": {"alwaysMatch": wanted}})
    assert answer.is_success, answer.text
    return str(answer.json()["value"]["sessionId"])
