"""Commands that are loaded and made when they are named: who recalls does not wait for `sync`."""

from __future__ import annotations

import importlib
import importlib.metadata
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from typing import Annotated, Any, ClassVar, TypeVar

import typer.core
import typer.main

from bearinmind.errors import MissingExtra
from bearinmind.surfaces.cli.guard import guarded

#: The place of a command that another package plugs in.
PLUGIN = ""

Made = TypeVar("Made")


class MadeOnUse(MutableMapping[str, Made]):
    """Values in the order of their names, of which each is made when it is first asked for."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Made]) -> None:
        self._names = dict.fromkeys(names)
        self._make = make
        self._made: dict[str, Made] = {}

    def __getitem__(self, name: str) -> Made:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __setitem__(self, name: str, value: Made) -> None:
        self._names[name] = None
        self._made[name] = value

    def __delitem__(self, name: str) -> None:
        del self._names[name]
        self._made.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names  # the inherited one makes the value to find out


class GroupOnDemand(typer.core.TyperGroup):
    """A group whose commands are made when they are run, or shown with their help."""

    #: Where each command is: `module.function`, or `module.app` where it is a group itself.
    places: ClassVar[Mapping[str, str]]

    def __init__(self, **given: Any) -> None:  # noqa: ANN401  Typer's own, passed on
        super().__init__(**given)
        self.commands = MadeOnUse(
            self.places, lambda name: _group_of(name, self.places[name]).commands[name]
        )

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002  names need no context
        """The names in their order; the inherited one makes every command to tell them."""
        return [*self.commands]


def _group_of(name: str, place: str) -> typer.core.TyperGroup:
    """A group with this one command, by which Typer makes it as it makes all."""
    module, _, what = place.partition(".")
    if place == PLUGIN:
        found = _plugged_in(name)
    else:
        found = getattr(importlib.import_module(f"bearinmind.surfaces.cli.{module}"), what)
    alone = typer.Typer(rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name, context_settings={"ignore_unknown_options": place == PLUGIN})(
            guarded(found)
        )
    return typer.main.get_group(alone)


def _plugged_in(name: str) -> Any:  # noqa: ANN401  whatever the package offers
    """What a package of its own offers under this name, or a command that says how to get it."""
    for point in importlib.metadata.entry_points(group="bearinmind.commands", name=name):
        return point.load()

    def refuse(rest: Annotated[list[str] | None, typer.Argument(hidden=True)] = None) -> None:
        del rest
        raise MissingExtra(
            f"`bearinmind {name}` needs the package bearinmind-{name}",
            hint=f"Install it: pip install 'bearinmind[{name}]'.",
        )

    refuse.__doc__ = f"Not installed: pip install 'bearinmind[{name}]'."
    return refuse
