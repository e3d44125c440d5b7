"""The commands that change the concept graph, or propose to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind.app import Mind
from bearinmind.concepts import ConceptName, Relation
from bearinmind.errors import FileMissing
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.session import Session

if TYPE_CHECKING:
    from bearinmind.graph.contradictions import Contradiction
    from bearinmind.graph.importer import GraphImported

ConceptText = Annotated[
    str, typer.Argument(metavar="CONCEPT", help="A concept, by its name in any case.")
]
RelationNumber = Annotated[
    int, typer.Argument(metavar="NUMBER", min=1, help="The number of a relation.")
]

_SHOWN = 20  # bad lines that are named to a person
_SOME_BAD = 2  # the exit code of invalid input


def contradictions(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Show relations that cannot both hold.

    Each comes with what would settle it; nothing is changed.

    Example: bearinmind graph contradictions
    """
    run = Session.of(ctx, as_json=as_json)
    app_or_none = run.find()
    if app_or_none is None:
        run.reply_empty({"contradictions": []})
        return
    with app_or_none as memories:
        found = memories.graph.contradictions()
        labels = memories.graph.labels(ends(_disputed(found)))
    run.reply(
        {"contradictions": [lazy.machine_graph.contradiction(each) for each in found]},
        lambda: [lazy.render_graph.contradictions(found, labels)],
    )


def resolve(ctx: typer.Context, number: RelationNumber, as_json: options.Json = False) -> None:
    """Settle a contradiction as it is proposed.

    What was believed before stays readable with `--as-of`.

    Example: bearinmind graph resolve 17
    """
    run = Session.of(ctx, as_json=as_json)
    with _store(run) as memories:
        settled = memories.graph.resolve(number)
        labels = memories.graph.labels(ends(_disputed([settled])))
    run.reply(
        lazy.machine_graph.contradiction(settled),
        lambda: [lazy.render_graph.settled(settled, labels)],
    )


def retract(ctx: typer.Context, number: RelationNumber, as_json: options.Json = False) -> None:
    """Stop believing a relation.

    It stays readable with `--as-of`.

    Example: bearinmind graph retract 17
    """
    run = Session.of(ctx, as_json=as_json)
    with _store(run) as memories:
        memories.graph.retract(number)
    run.say({"retracted": number}, f"Relation {number} is believed no more.")


def merge(
    ctx: typer.Context,
    alias: Annotated[
        str, typer.Argument(metavar="ALIAS", help="The name that means another concept.")
    ],
    into: Annotated[str, typer.Argument(metavar="CONCEPT", help="The concept that it means.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, for whoever reads it later.")] = (
        "said on the command line"
    ),
    as_json: options.Json = False,
) -> None:
    """Take two concepts for one; `unmerge` undoes it whole.

    Example: bearinmind graph merge Postgres PostgreSQL
    """
    run = Session.of(ctx, as_json=as_json)
    with _store(run) as memories:
        merged = memories.graph.merge(alias, into, reason=reason)
    run.say(dataclasses.asdict(merged), f"{merged.alias} now means {merged.into}.")


def unmerge(
    ctx: typer.Context,
    alias: Annotated[
        str, typer.Argument(metavar="ALIAS", help="A name that means another concept.")
    ],
    as_json: options.Json = False,
) -> None:
    """Take an alias for a concept of its own again.

    Example: bearinmind graph unmerge Postgres
    """
    run = Session.of(ctx, as_json=as_json)
    with _store(run) as memories:
        name = memories.graph.unmerge(alias)
    run.say({"unmerged": name}, f"{name} is a concept of its own again.")


def merges(
    ctx: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Also those that were undone.")] = False,
    likely: Annotated[
        bool, typer.Option("--likely", help="Instead: concepts that may be one, to be judged.")
    ] = False,
    near: Annotated[
        bool, typer.Option("--near", help="With --likely: also by what their names mean.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show which concepts are taken for one, or may be.

    Example: bearinmind graph merges --likely
    """
    run = Session.of(ctx, as_json=as_json)
    app_or_none = run.find()
    if app_or_none is None:
        run.reply_empty({"merges": []})
        return
    with app_or_none as memories:
        looking = likely or near
        found = (
            memories.graph.likely_merges(near=near)
            if looking
            else memories.graph.merges(undone=every)
        )
    run.reply(
        {"merges": [dataclasses.asdict(each) for each in found]},
        lambda: [lazy.render_graph.merges(found, likely=looking)],
    )


def import_triples(
    ctx: typer.Context,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="JSON Lines of triples or relations; `-` is stdin."),
    ],
    as_json: options.Json = False,
) -> None:
    """Add relations that were found elsewhere.

    A line is {"memory": ID, "triples": [[source, type, target], ...]} or
    {"source": ..., "type": ..., "target": ..., "valid_from": ..., "evidence": [ID, ...]}.

    Example: bearinmind graph import triples.jsonl
    """
    run = Session.of(ctx, as_json=as_json)
    with (
        lazy.lines.opened(file) as stream,
        _store(run) as memories,
        lazy.progress.counting("importing", unit="lines") as advance,
    ):
        done = memories.graph.import_lines(lazy.lines.numbered(stream), advance=advance)
    run.reply(dataclasses.asdict(done), lambda: [lazy.render.data(_summary(done))])
    if not as_json:
        for line in _problem_lines(done):
            run.note(line)
    if done.bad:
        raise typer.Exit(_SOME_BAD)


def ends(relations: Iterable[Relation]) -> set[ConceptName]:
    """The concepts that some relations join."""
    return {end for relation in relations for end in (relation.source, relation.target)}


def _disputed(found: Iterable[Contradiction]) -> Iterator[Relation]:
    for each in found:
        yield from (each.older, each.newer)


def _store(run: Session) -> Mind:
    found = run.find()
    if found is None:
        raise FileMissing(
            f"there is no store at {str(run.place)!r}", hint="Check --store; nothing was changed."
        )
    return found


def _summary(done: GraphImported) -> str:
    many = lazy.render.many
    parts = [
        f"{many(done.relations, 'relation')} and {many(done.mentions, 'mention')} added",
        f"{many(done.unusable, 'unusable triple or entity', 'unusable triples or entities')} left"
        if done.unusable
        else "",
        f"{many(done.bad, 'bad line')} skipped" if done.bad else "",
    ]
    return ", ".join(part for part in parts if part)


def _problem_lines(done: GraphImported) -> Iterable[str]:
    for problem in done.problems[:_SHOWN]:
        yield f"line {problem.line}: {problem.code}: {problem.message}"
    if done.bad > _SHOWN:
        yield f"and {done.bad - _SHOWN:,} more; --json lists all of them"
