"""The plugin for Claude Code, written out: hooks, commands, a skill and the MCP server."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
from pathlib import Path
from typing import Any

from bearinmind.errors import InvalidAgentFile
from bearinmind.surfaces.hooks.clients import NAME, hook_settings
from bearinmind.surfaces.hooks.commands import HOOK, SCRIPT

_PAGES = Path(__file__).parent / "plugin_pages"
_STANDALONE = "standalone"
_DESCRIPTION = "A persistent memory: recalled before each prompt, learned after each turn."


def write(folder: Path) -> list[Path]:
    """Write the plugin into a new folder; the files, by their names in it.

    Raises:
        InvalidAgentFile: there is something already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidAgentFile(
            f"{str(folder)!r} is there already", hint="Name a folder that is not, or is empty."
        )
    shutil.copytree(_PAGES, folder, dirs_exist_ok=True)
    hooks = folder / "hooks"
    (hooks / _STANDALONE).mkdir(parents=True)
    shutil.copyfile(HOOK, hooks / SCRIPT)
    for module in sorted((HOOK.parent / _STANDALONE).glob("*.py")):
        shutil.copyfile(module, hooks / _STANDALONE / module.name)
    for name, content in _documents().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _documents() -> dict[str, dict[str, Any]]:
    """Everything in JSON, by the name of its file."""
    about = {"name": NAME, "description": _DESCRIPTION}
    return {
        ".claude-plugin/plugin.json": {
            **about,
            "version": importlib.metadata.version("bearinmind"),
            "author": {"name": "Bear in Mind"},
            "license": "Apache-2.0",
            "keywords": ["memory", "recall", "mcp"],
        },
        # A folder that is offered as a marketplace of one plugin can be installed from.
        ".claude-plugin/marketplace.json": {
            **about,
            "owner": {"name": "Bear in Mind"},
            "plugins": [{**about, "source": "./"}],
        },
        ".mcp.json": {"mcpServers": {NAME: {"command": "bearinmind", "args": ["mcp"]}}},
        "hooks/hooks.json": hook_settings(_command),
    }


def _command(event: str) -> str:
    """What runs on an event, wherever the plugin was installed."""
    return f'python3 -I -S "${{CLAUDE_PLUGIN_ROOT}}/hooks/{SCRIPT}" {event}'
