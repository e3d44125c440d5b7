"""Adds Bear in Mind to an agent, removes it again, and writes the plugin."""

from __future__ import annotations

import importlib.metadata
import json
import random
import shlex
import shutil
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bearinmind.app import Mind
from bearinmind.config import Settings, state_folder
from bearinmind.errors import FileMissing, InvalidSetting
from bearinmind.store.new_file import refuse_existing
from bearinmind.surfaces.hooks.agent_files import (
    Change,
    Record,
    has_hooks,
    json_object,
    write_private,
)
from bearinmind.surfaces.hooks.agents import (
    HOOK,
    NAME,
    SCRIPT,
    AgentFile,
    Client,
    Commands,
    Scope,
    files,
    hook_settings,
)
from bearinmind.text.addresses import StoreFile, absolute, is_loopback, split_url
from bearinmind.types import Access

_LABEL = "hooks"  # of the key that they use
_KEPT_PORTS = range(10_000, 20_000)


def folder() -> Path:
    """The folder of the hooks: their configuration, their log, their backups."""
    return state_folder() / "hooks"


@dataclass(frozen=True, kw_only=True)
class Installer:
    """Plans and makes the changes of one agent, whose hooks use one server."""

    settings: Settings
    client: Client = Client.CLAUDE
    scope: Scope = Scope.USER
    project: Path = Path()
    url: str | None = None  #: of a server; None: a server of the store on this machine
    key_file: Path | None = None
    config: Path | None = None  #: the configuration file that was named

    def __post_init__(self) -> None:
        if self.url is not None:
            _check_url(self.url, has_key=self.key_file is not None)
        if self._key is not None and not self._key.is_file():
            raise InvalidSetting(
                f"--key-file {str(self._key)!r} is not there",
                hint="`bearinmind key create USER > FILE` makes one.",
            )

    @property
    def _key(self) -> Path | None:
        return self.key_file and self.key_file.absolute()

    @property
    def _record(self) -> Record:
        return Record(folder())

    @property
    def _within(self) -> Path:
        """The folder outside which nothing may be changed."""
        return Path.home() if self.scope is Scope.USER else self.project

    @property
    def config_file(self) -> Path:
        """The configuration of the hooks."""
        return folder() / "config.json"

    def installing(self) -> Sequence[Change]:
        """The changes that add it."""
        return [self._record.install(each, self._within) for each in self._files()]

    def uninstalling(self) -> Sequence[Change]:
        """The changes that remove it."""
        return [self._record.uninstall(each, self._within) for each in self._files()]

    def install(self, changes: Sequence[Change]) -> list[Path]:
        """Make the changes; the paths of the copies of the files before."""
        if self.client is Client.CLAUDE:
            write_private(self.config_file, json.dumps(self._configuration(), indent=1) + "\n")
        return self._apply(changes, installing=True)

    def uninstall(self, changes: Sequence[Change]) -> list[Path]:
        """Make the changes; the paths of the copies of the files before."""
        backups = self._apply(changes, installing=False)
        if not any(map(has_hooks, self._record.files())):
            for name in ("config.json", "key"):
                (folder() / name).unlink(missing_ok=True)
        return backups

    def _apply(self, changes: Sequence[Change], *, installing: bool) -> list[Path]:
        backups = [
            self._record.apply(change, installing=installing)
            for change in changes
            if change.changes
        ]
        return [backup for backup in backups if backup is not None]

    @property
    def mcp_command(self) -> str:
        """The command that starts the MCP server."""
        mcp = self._commands.mcp
        return shlex.join([mcp["command"], *mcp["args"]])

    def _files(self) -> Sequence[AgentFile]:
        return files(self.client, self.scope, self.project.absolute(), self._commands)

    @property
    def _commands(self) -> Commands:
        return Commands(
            config=self.config_file,
            options=self._options,
            server=self.url,
            key_file=self._key,
        )

    @property
    def _options(self) -> tuple[str, ...]:
        """The options for the store and the user; one with a password is left to the settings."""
        settings = self.settings
        options: list[str] = []
        if isinstance(settings.store, StoreFile):
            options += ["--store", str(absolute(settings.store))]
        if settings.user != Settings.model_fields["user"].default:
            options += ["--user", settings.user]
        if self.config is not None:
            options += ["--config", str(self.config.absolute())]
        return tuple(options)

    def _configuration(self) -> dict[str, Any]:
        """The configuration of the hooks; what a user has added to it stays."""
        known = json_object(self.config_file)
        if self.url is not None:
            own: dict[str, Any] = {"url": self.url.rstrip("/"), "serve": [], "store": None}
        else:
            address = split_url(known["url"]) if known.get("serve") and known.get("url") else None
            port = address.port if address and address.port else _free_port()
            own = {
                "url": f"http://127.0.0.1:{port}",
                "serve": self._commands.serve(port),
                "store": str(self.settings.beside.absolute()),
            }
        key = self._key or (None if self.url else self._own_key())
        return known | own | {"key_file": str(key) if key else None}

    def _own_key(self) -> Path | None:
        """A key for the server of the store on this machine, if it requires one."""
        file = folder() / "key"
        settings = self.settings
        try:
            with Mind.build(settings, create=False) as mind:
                is_auto = settings.auth == "auto"
                required = settings.auth == "on" or (is_auto and bool(mind.accounts.users()))
                if required and not file.is_file():
                    new = mind.accounts.create_key(settings.user, access=Access.WRITE, label=_LABEL)
                    write_private(file, new.text + "\n")
        except FileMissing:
            return None
        return file if required else None


def _check_url(url: str, *, has_key: bool) -> None:
    address = split_url(url)
    if address is None or address.username or address.query or address.fragment:
        raise InvalidSetting(
            f"--url {url.rpartition('@')[2]!r} is not the address of a server",
            hint="Give one such as https://memory.example.org, and the key in a file.",
        )
    if has_key and address.scheme == "http" and not is_loopback(address.hostname or ""):
        raise InvalidSetting(
            f"--url {url!r} would have the key sent in clear",
            hint="Use https, or a server on this machine.",
        )


def _free_port() -> int:
    """A free port, if possible one that the system does not use for outgoing connections."""
    for port in (*random.sample(_KEPT_PORTS, 20), 0):
        with suppress(OSError), socket.socket() as free:
            free.bind(("127.0.0.1", port))
            return int(free.getsockname()[1])
    raise InvalidSetting("no port is free on this machine", hint="Name a server with --url.")


_PAGES = Path(__file__).parent / "plugin_pages"
_STANDALONE = "standalone"
_DESCRIPTION = "A persistent memory: recalled before each prompt, learned after each turn."


def write(folder: Path) -> list[Path]:
    """Write the plugin into a new folder; the names of its files."""
    if not folder.is_dir() or any(folder.iterdir()):
        refuse_existing(folder, hint="Name a folder that is not there, or is empty.")
    shutil.copytree(_PAGES, folder, dirs_exist_ok=True)
    only_modules = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HOOK.parent / _STANDALONE, folder / "hooks" / _STANDALONE, ignore=only_modules)
    shutil.copyfile(HOOK, folder / "hooks" / SCRIPT)
    for name, content in _documents().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _documents() -> dict[str, dict[str, Any]]:
    """The JSON files of the plugin, by name."""
    about = {"name": NAME, "description": _DESCRIPTION}
    return {
        ".claude-plugin/plugin.json": {
            **about,
            "version": importlib.metadata.version("bearinmind"),
            "author": {"name": "Bear in Mind"},
            "license": "Apache-2.0",
            "keywords": ["memory", "recall", "mcp"],
        },
        # With this file the folder is a marketplace of one plugin, from which it can be installed.
        ".claude-plugin/marketplace.json": {
            **about,
            "owner": {"name": "Bear in Mind"},
            "plugins": [{**about, "source": "./"}],
        },
        ".mcp.json": {"mcpServers": {NAME: {"command": "bearinmind", "args": ["mcp"]}}},
        "hooks/hooks.json": hook_settings(_command),
    }


def _command(event: str) -> str:
    """The shell command that runs on an event, wherever the plugin was installed."""
    return f'python3 -I -S "${{CLAUDE_PLUGIN_ROOT}}/hooks/{SCRIPT}" {event}'
