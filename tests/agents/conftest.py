"""What a test with a real agent needs: a home, a model of a script, a server of Bear in Mind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.clis import Claude, Gemini, Home
from agents.model_server import ModelServer, modelling
from support.http_server import Serving, serving


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with modelling() as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, model: ModelServer) -> Home:
    made = Home(
        home=tmp_path / "home",
        project=tmp_path / "acme",
        store=tmp_path / "memories.db",
        model=model,
    )
    made.home.mkdir()
    (made.project / ".git").mkdir(parents=True)
    return made


@pytest.fixture
def server(home: Home) -> Iterator[Serving]:
    """A server of the same store, for the hooks to ask."""
    with serving(home.store) as running:
        yield running


@pytest.fixture
def claude(home: Home, server: Serving) -> Claude:
    """Claude Code, in a home in which the hooks are installed by our command."""
    home.bearinmind("hooks", "install", "--yes", "--url", server.url)
    # More time than an agent gives: these tests are about what is said, on a busy machine.
    home.hooks.configure(deadline_ms=4_500)
    return Claude(home)


@pytest.fixture
def gemini(home: Home) -> Gemini:
    """Gemini CLI, whose user has chosen to bring a key of their own."""
    settings = home.home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}))
    return Gemini(home)
