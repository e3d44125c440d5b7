"""A real OpenID provider, npm's `oidc-provider`, in a process of its own."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).parents[2]
PLACE = ROOT / ".cache/oidc-provider"
NODE = ROOT / ".cache/inspector/node_modules/.bin/node"
CLIENT, SECRET = "bearinmind", "a secret of this test: %&"

needs_provider = pytest.mark.skipif(
    not (PLACE / "made-from").exists() or not NODE.exists(),
    reason="scripts/need-inspector and scripts/need-oidc-provider could not reach the npm registry",
)


@dataclass
class OpenIdProvider:
    """A provider that runs; it signs everybody in at once, as the account that is set."""

    issuer: str
    process: subprocess.Popen[str]

    def set(self, **changes: Any) -> None:
        """Change what it does: account, claims, redirect, codeSeconds, refuse, idToken, rotate."""
        httpx.post(f"{self.issuer}/control", json=changes, trust_env=False).raise_for_status()

    def sign(self, **claims: Any) -> str:
        """A token with any claims, signed by its present key."""
        answer = httpx.post(f"{self.issuer}/sign", json={"claims": claims}, trust_env=False)
        token: str = answer.json()["token"]
        return token


@contextmanager
def provider_running() -> Iterator[OpenIdProvider]:
    """A provider on a free port of this machine."""
    program = Path(__file__).with_name("oidc_provider") / "provider.mjs"
    process = subprocess.Popen(
        # As a text: what it imports is looked for in the folder that it runs in.
        [NODE, "--input-type=module", "--eval", program.read_text("utf-8")],
        cwd=PLACE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    assert process.stdin
    try:
        issuer = process.stdout.readline().strip()
        assert issuer.startswith("http"), "the provider does not start"
        yield OpenIdProvider(issuer, process)
    finally:
        process.stdin.close()
        process.wait(60)
        process.stdout.close()
