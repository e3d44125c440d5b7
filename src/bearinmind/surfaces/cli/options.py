"""The options that commands share, each declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_type_hints

import typer

from bearinmind.app.requests import DraftFields, FilterFields, ListFields
from bearinmind.config import Configuration, Settings
from bearinmind.errors import InvalidQuery, MindError
from bearinmind.recall.pipeline import LARGEST_POOL
from bearinmind.remember.admit import check_past, check_time
from bearinmind.types import State, Trust


def complete_category(ctx: typer.Context, incomplete: str) -> list[str]:
    """The configured categories that begin so."""
    options = ctx.find_root().params
    try:
        settings = Configuration.load(file=options.get("config")).settings
    except MindError:
        settings = Settings()
    return [name for name in settings.categories if name.startswith(incomplete)]


def argument(metavar: str, says: str, default: object = ..., **more: Any) -> Any:  # noqa: ANN401  likewise
    """An argument of a command; without a default it has to be given."""
    return typer.Argument(default, metavar=metavar, help=says, **more)


def option(name: str, says: str, default: object = None, **more: Any) -> Any:  # noqa: ANN401  likewise
    """An option of a command."""
    return typer.Option(default, name, help=says, **more)


def flag(name: str, says: str) -> Any:  # noqa: ANN401  likewise
    """An option that is given or not."""
    return typer.Option(False, name, help=says)


def most(what: str, largest: int = LARGEST_POOL) -> Any:  # noqa: ANN401  as Typer types it
    """The option that says how many of something are shown."""
    return typer.Option("--limit", min=1, max=largest, help=f"Most {what} to show.")


# ---- for every command -------------------------------------------------------------------------

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Id = Annotated[
    str, typer.Argument(metavar="ID", help="The id of a memory, or any unambiguous beginning.")
]
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Ids, or any unambiguous beginnings.")]

# ---- what is known about a memory --------------------------------------------------------------

Content = Annotated[
    str | None, typer.Argument(metavar="CONTENT", help="The text; `-` reads standard input.")
]
File = Annotated[Path | None, typer.Option("--file", help="Read the text from a file.")]
Category = Annotated[
    str | None,
    typer.Option("--category", help="What kind of memory it is.", autocompletion=complete_category),
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="A tag; repeat it or separate by commas.")
]
Keywords = Annotated[
    list[str] | None,
    typer.Option("--keyword", help="Another word to find it by; repeat or separate by commas."),
]
Importance = Annotated[
    float | None, typer.Option("--importance", help="From 0 (trivial) to 1 (vital).")
]
ValidFrom = Annotated[str | None, typer.Option("--valid-from", help="It holds from this time on.")]
ValidTo = Annotated[str | None, typer.Option("--valid-to", help="It holds until this time.")]
Agent = Annotated[str | None, typer.Option("--agent", help="The agent it comes from.")]
SessionName = Annotated[str | None, typer.Option("--session", help="The session it comes from.")]
Project = Annotated[str | None, typer.Option("--project", help="The project it belongs to.")]
Source = Annotated[str | None, typer.Option("--source", help="Where it was read.")]
TrustClass = Annotated[
    Trust | None, typer.Option("--trust", help="How far its text may be relied on.")
]
Wait = Annotated[
    bool, typer.Option("--wait", help="End only when it is embedded and read, not just stored.")
]

# ---- which memories to look at ------------------------------------------------------------------

InCategories = Annotated[
    list[str] | None,
    typer.Option(
        "--category", help="Only of this category; repeatable.", autocompletion=complete_category
    ),
]
WithTags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only with this tag; repeatable, all must match.")
]
Since = Annotated[
    str | None, typer.Option("--since", help="Only made since this time: 2026-11-15, 12h, 3d, 2w.")
]
Until = Annotated[str | None, typer.Option("--until", help="Only made before this time.")]
AsOf = Annotated[
    str | None, typer.Option("--as-of", help="What was known then: 2026-11-15, 3d, yesterday.")
]
OfSession = Annotated[str | None, typer.Option("--session", help="Only of this session.")]
OfProject = Annotated[str | None, typer.Option("--project", help="Only of this project.")]
OfAgent = Annotated[str | None, typer.Option("--agent", help="Only of this agent.")]
OfOwner = Annotated[
    str | None,
    typer.Option("--owner", help="Only of `me`, of `others`, or of this user, who shares them."),
]
InStates = Annotated[
    list[State] | None, typer.Option("--state", help="Only in this state; repeatable.")
]
ListLimit = Annotated[int, most("memories")]
EntryLimit = Annotated[int, most("entries")]


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


def draft_fields(
    *,
    tags: list[str] | None,
    keywords: list[str] | None,
    created_at: str | None,
    valid_from: str | None,
    valid_to: str | None,
    **others: object,
) -> DraftFields:
    """The fields of a new memory; options that were not used are left out."""
    fields = others | {
        "tags": words(tags),
        "keywords": words(keywords),
        "created_at": check_time(created_at, "--created-at"),
        "valid_from": check_time(valid_from, "--valid-from"),
        "valid_to": check_time(valid_to, "--valid-to"),
    }
    return cast("DraftFields", without_none(fields))


def moment(fields: FilterFields, name: Literal["as_of", "created_from"]) -> datetime | None:
    """A moment of some fields, as `filter_fields` made it."""
    value = fields.get(name)
    return value if isinstance(value, datetime) else None


def filter_fields(
    *,
    categories: list[str] | None = None,
    tags: list[str] | None = None,
    since: str | None = None,
    until: str | None = None,
    as_of: str | None = None,
    states: list[State] | None = None,
    **others: object,
) -> FilterFields:
    """The fields of a filter; options that were not used are left out."""
    fields = others | {"categories": words(categories), "tags": words(tags)}
    given = (
        ("created_from", "--since", since),
        ("created_to", "--until", until),
        ("as_of", "--as-of", as_of),
    )
    now = datetime.now(UTC)
    fields |= {
        name: check_past(text, option, now) for name, option, text in given if text is not None
    }
    return cast("FilterFields", without_none(fields | {"states": states or None}))


def list_fields(**values: Any) -> ListFields:  # noqa: ANN401  as `filter_fields` has them
    """Which memories are to be listed; also of which owner."""
    return cast("ListFields", filter_fields(**values))


def without_none(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


# ---- the options of a filter as one value -------------------------------------------------------

#: By the name of the option's parameter: its declaration, and the field that it fills.
_OPTIONS: dict[str, tuple[Any, str]] = {
    "category": (InCategories, "categories"),
    "tag": (WithTags, "tags"),
    "since": (Since, "since"),
    "until": (Until, "until"),
    "as_of": (AsOf, "as_of"),
    "session": (OfSession, "session"),
    "project": (OfProject, "project"),
    "agent": (OfAgent, "agent"),
}


def with_filters(command: Callable[..., None]) -> Callable[..., None]:
    """A command that has every option of a filter, and takes them as its argument `filters`."""

    @functools.wraps(command)
    def run(**values: Any) -> None:  # noqa: ANN401  the options of any command
        chosen = {field: values.pop(name) for name, (_, field) in _OPTIONS.items()}
        command(**values, filters=filter_fields(**chosen))

    sign(run, command, {"filters"}, {name: option for name, (option, _) in _OPTIONS.items()})
    return run


def sign(
    function: Callable[..., None],
    command: Callable[..., None],
    without: Container[str],
    more: Mapping[str, Any],
) -> None:
    """Have Typer see the parameters of a command, without some, and these options besides."""
    hints = get_type_hints(command, include_extras=True)
    only = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        parameter.replace(kind=only, annotation=hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name not in without
    ]
    parameters += [
        inspect.Parameter(name, only, default=None, annotation=declared)
        for name, declared in more.items()
    ]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del function.__wrapped__  # type: ignore[attr-defined]
