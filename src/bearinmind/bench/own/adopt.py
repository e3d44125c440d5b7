"""Writes settings into the configuration file, and leaves everything else in it as it was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from bearinmind.errors import InvalidSetting


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One setting in the file, before and after."""

    name: str
    before: Any  #: None when the file did not say
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """What was written."""

    file: Path
    backup: Path | None  #: the file as it was; None when there was none
    changes: tuple[Change, ...]


def adopt(file: Path, settings: Mapping[str, Any]) -> Adopted:
    """Set these settings in the file; it appears whole or stays as it was.

    Raises:
        InvalidSetting: the file cannot be read or written.
    """
    place = file.resolve()  # a link to a file elsewhere stays a link
    try:
        there = place.exists()
        document = tomlkit.parse(place.read_text(encoding="utf-8") if there else "")
        changes = []
        for name, value in settings.items():
            before = document.unwrap().get(name)
            _set(document, name, value)
            changes.append(Change(name=name, before=before, after=value))
        backup = file.with_name(f"{file.name}.bak") if there else None
        if backup:
            shutil.copyfile(place, backup)
            shutil.copymode(place, backup)
        _replace(place, tomlkit.dumps(document))
    except (OSError, UnicodeDecodeError, TOMLKitError) as exc:
        raise InvalidSetting(
            f"{str(file)!r} cannot be changed: {exc}",
            hint="Nothing was adopted; check the file, or set it there yourself.",
        ) from exc
    return Adopted(file=file, backup=backup, changes=tuple(changes))


def _set(document: MutableMapping[str, Any], name: str, value: object) -> None:
    """Set an entry; of a table only what differs, so that comments inside of it stay."""
    there = document.get(name)
    if not isinstance(value, Mapping) or not isinstance(there, MutableMapping):
        document[name] = value
        return
    for key in [key for key in there if key not in value]:
        del there[key]
    for key, entry in value.items():
        if there.get(key) != entry:
            there[key] = entry


def _replace(place: Path, text: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        if place.exists():
            shutil.copymode(place, part)
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)
