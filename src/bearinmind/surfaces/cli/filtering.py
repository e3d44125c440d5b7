"""The options by which a command chooses memories, given to it as one value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from bearinmind.surfaces.cli import options

#: By the name of the option's parameter: its declaration, and the field that it fills.
_OPTIONS: dict[str, tuple[Any, str]] = {
    "category": (options.InCategories, "categories"),
    "tag": (options.WithTags, "tags"),
    "since": (options.Since, "since"),
    "until": (options.Until, "until"),
    "as_of": (options.AsOf, "as_of"),
    "session": (options.OfSession, "session"),
    "project": (options.OfProject, "project"),
    "agent": (options.OfAgent, "agent"),
}


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """A command that has every option of a filter, and takes them as its argument `meant`."""

    @functools.wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401  the options of any command
        chosen = {field: given.pop(name) for name, (_, field) in _OPTIONS.items()}
        command(**given, meant=options.filter_fields(**chosen))

    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "meant"
    ]
    shared = [
        inspect.Parameter(
            name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=declared
        )
        for name, (declared, _) in _OPTIONS.items()
    ]
    parameters = [*own[:-1], *shared, *own[-1:]]  # `--json` comes last, as everywhere
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del run.__wrapped__
    return run
