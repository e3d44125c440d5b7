"""The options that commands share, each declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, cast, get_type_hints

import typer

from bearinmind.app.requests import FilterFields
from bearinmind.config import Configuration, Settings
from bearinmind.errors import InvalidQuery, MindError
from bearinmind.recall.pipeline import LARGEST_POOL
from bearinmind.remember.admit import check_past, check_time
from bearinmind.types import Trust


def argument(metavar: str, says: str, default: object = ..., **more: Any) -> Any:  # noqa: ANN401  as Typer types it
    """An argument of a command; without a default it has to be given."""
    return typer.Argument(default, metavar=metavar, help=says, **more)


def option(name: str, says: str, default: object = None, **more: Any) -> Any:  # noqa: ANN401  likewise
    """An option of a command."""
    return typer.Option(default, name, help=says, **more)


def flag(name: str, says: str) -> Any:  # noqa: ANN401  likewise
    """An option that is given or not."""
    return typer.Option(False, name, help=says)


def most(what: str, default: int = 20, largest: int = LARGEST_POOL) -> Any:  # noqa: ANN401  likewise
    """The option that says how many of something are shown."""
    return option("--limit", f"Most {what} to show.", default, min=1, max=largest)


def complete_category(ctx: typer.Context, incomplete: str) -> list[str]:
    """The configured categories that begin so."""
    options = ctx.find_root().params
    try:
        settings = Configuration.load(file=options.get("config")).settings
    except MindError:
        settings = Settings()
    return [name for name in settings.categories if name.startswith(incomplete)]


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
ID = argument("ID", "The id of a memory, or any unambiguous beginning.")
IDS = argument("ID", "Ids, or any unambiguous beginnings.")
CONTENT = argument("CONTENT", "The text; `-` reads standard input.", None)
FILE = option("--file", "Read the text from a file.")
AGENT = option("--agent", "The agent it comes from.")
SESSION = option("--session", "The session it comes from.")
PROJECT = option("--project", "The project it belongs to.")
WAIT = flag("--wait", "End only when it is embedded and read, not just stored.")
OF_SESSION = option("--session", "Only of this session.")
OF_OWNER = option("--owner", "Only of `me`, of `others`, or of this user, who shares them.")
IN_STATES = option("--state", "Only in this state; repeatable.")


# ---- options that are one value to a command -----------------------------------------------------


def described(
    category: str | None = option(
        "--category", "What kind of memory it is.", autocompletion=complete_category
    ),
    tag: list[str] | None = option("--tag", "A tag; repeat it or separate by commas."),
    keyword: list[str] | None = option(
        "--keyword", "Another word to find it by; repeat or separate by commas."
    ),
    importance: float | None = option("--importance", "From 0 (trivial) to 1 (vital)."),
    valid_from: str | None = option("--valid-from", "It holds from this time on."),
    valid_to: str | None = option("--valid-to", "It holds until this time."),
) -> dict[str, Any]:
    """What is known about a memory; options that were not used are left out."""
    fields = {
        "category": category,
        "tags": words(tag),
        "keywords": words(keyword),
        "importance": importance,
        "valid_from": check_time(valid_from, "--valid-from"),
        "valid_to": check_time(valid_to, "--valid-to"),
    }
    return without_none(fields)


def origin(
    agent: str | None = AGENT,
    session: str | None = SESSION,
    project: str | None = PROJECT,
    source: str | None = option("--source", "Where it was read."),
    trust: Trust | None = option("--trust", "How far its text may be relied on."),
) -> dict[str, Any]:
    """Where a memory comes from; options that were not used are left out."""
    named = {"agent": agent, "session": session, "project": project}
    return without_none(named | {"source": source, "trust": trust})


def filters(
    category: list[str] | None = option(
        "--category", "Only of this category; repeatable.", autocompletion=complete_category
    ),
    tag: list[str] | None = option("--tag", "Only with this tag; repeatable, all must match."),
    since: str | None = option("--since", "Only made since this time: 2026-11-15, 12h, 3d, 2w."),
    until: str | None = option("--until", "Only made before this time."),
    as_of: str | None = option("--as-of", "What was known then: 2026-11-15, 3d, yesterday."),
    session: str | None = OF_SESSION,
    project: str | None = option("--project", "Only of this project."),
    agent: str | None = option("--agent", "Only of this agent."),
) -> FilterFields:
    """Which memories are meant; options that were not used are left out."""
    now = datetime.now(UTC)
    times = (
        ("created_from", "--since", since),
        ("created_to", "--until", until),
        ("as_of", "--as-of", as_of),
    )
    fields = {
        "categories": words(category),
        "tags": words(tag),
        **{name: check_past(text, option, now) for name, option, text in times if text is not None},
        "session": session,
        "project": project,
        "agent": agent,
    }
    return cast("FilterFields", without_none(fields))


def taking(
    **groups: Callable[..., Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command that has the options of each group in place of the argument of that name.

    The argument is what the function of the group makes of them.
    """

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        places = {name: parameters_of(group) for name, group in groups.items()}

        @functools.wraps(command)
        def run(**values: Any) -> None:  # noqa: ANN401  the options of any command
            made = {
                name: group(**{each.name: values.pop(each.name) for each in places[name]})
                for name, group in groups.items()
            }
            command(**values, **made)

        sign(run, parameters_of(command, places))
        return run

    return decorated


def parameters_of(
    command: Callable[..., Any], instead: Mapping[str, Sequence[inspect.Parameter]] = {}
) -> list[inspect.Parameter]:
    """The parameters of a command as Typer is to see them, with others in the place of some."""
    hints = get_type_hints(command, include_extras=True)
    only = inspect.Parameter.KEYWORD_ONLY
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        own = [parameter.replace(kind=only, annotation=hints[name])]
        parameters += instead.get(name, own)
    return parameters


def sign(function: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> None:
    """Have Typer see these parameters of a function."""
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del function.__wrapped__  # type: ignore[attr-defined]


# ---- from options to the fields of a verb ------------------------------------------------------


def words(values: Iterable[str] | None) -> list[str] | None:
    """Words that were repeated or separated by commas; None when none were given."""
    if not values:
        return None
    return [word for value in values for part in value.split(",") if (word := part.strip())]


def numbers(option: str, texts: Iterable[str] | None, example: str) -> dict[str, float] | None:
    """Numbers by name, from texts such as the example; None when there are none."""
    if not texts:
        return None
    found = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise InvalidQuery(
                f"{option} {text!r} sets nothing", hint=f"Write NAME=NUMBER, such as {example}."
            ) from None
    return found


def without_none(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}
