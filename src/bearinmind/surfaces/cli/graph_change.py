"""The commands that build and change the concept graph, or propose to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind.concepts import ConceptName, Merge, Relation
from bearinmind.graph.contradictions import Contradiction
from bearinmind.surfaces.cli.memories import Labels, relation_words, statement
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.read import graph_data
from bearinmind.surfaces.cli.terminal import (
    NOTICE,
    STRONG,
    Session,
    counting,
    day,
    grid,
    many,
    parts,
    styled,
)
from bearinmind.surfaces.cli.work import (
    NO_STORE,
    built,
    end,
    interruptible,
    reading_plan,
    work_data,
)
from bearinmind.surfaces.lines import numbered, opened
from bearinmind.work.status import EXTRACT

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bearinmind.graph.importer import GraphImported


def build(
    run: Session,
    dry_run: bool = flag("--dry-run", "Only say what it would take; nothing is sent."),
    again: bool = flag("--again", "Read every memory again, also those that were read before."),
) -> None:
    """Read for the graph what is not read yet, here and now.

    The background worker also does it. With an LLM, `--dry-run` says what it would cost.

    Example: bearinmind graph build --dry-run
    """
    with run.existing_store(NO_STORE) as mind:
        if dry_run:
            plan = mind.work.extraction_plan(again=again)
            run.reply(dataclasses.asdict(plan), lambda: reading_plan(plan))
            return
        mind.work.required_extractor()  # raises where there is none, before anything begins
        if again:
            mind.work.extract_again()
        worker = mind.work.worker(EXTRACT)
        done = interruptible(mind, worker, "reading for the graph", worker.finish, EXTRACT)
        left, counts = mind.work.status().of_kind(EXTRACT), mind.graph.counts()
    run.reply(
        {**work_data(done, left), "graph": graph_data(left, counts)},
        lambda: built(done, left, counts),
    )
    end(run, worker, done, "`bearinmind graph build` goes on from here.")


ConceptText = Annotated[
    str, typer.Argument(metavar="CONCEPT", help="A concept, by its name in any case.")
]
RelationNumber = Annotated[
    int, typer.Argument(metavar="NUMBER", min=1, help="The number of a relation.")
]


def contradictions(run: Session) -> None:
    """Show relations that cannot both hold.

    Each comes with what would settle it; nothing is changed.

    Example: bearinmind graph contradictions
    """
    with run.reading({"contradictions": []}) as mind:
        pairs = mind.graph.contradictions()
        labels = mind.graph.labels(ends(_disputed(pairs)))
    run.reply({"contradictions": pairs}, lambda: [_contradiction_table(pairs, labels)])


def resolve(run: Session, number: RelationNumber) -> None:
    """Settle a contradiction as it is proposed.

    What was believed before stays readable with `--as-of`.

    Example: bearinmind graph resolve 17
    """
    with run.existing_store() as mind:
        settled = mind.graph.resolve(number)
        labels = mind.graph.labels(ends(_disputed([settled])))
    done = f"Done for relation {settled.older.number}, {relation_words(settled.older, labels)}"
    run.say(settled, f"{done}: {settled.proposal}.")


def retract(run: Session, number: RelationNumber) -> None:
    """Stop believing a relation.

    It stays readable with `--as-of`.

    Example: bearinmind graph retract 17
    """
    with run.existing_store() as mind:
        mind.graph.retract(number)
    run.say({"retracted": number}, f"Relation {number} is retracted.")


def merge(
    run: Session,
    alias: str = argument("ALIAS", "The name that means another concept."),
    into: str = argument("CONCEPT", "The concept that it means."),
    reason: str = option(
        "--reason", "The reason, shown with the merge.", "said on the command line"
    ),
) -> None:
    """Take two concepts for one; `unmerge` undoes it whole.

    Example: bearinmind graph merge Postgres PostgreSQL
    """
    with run.existing_store() as mind:
        merged = mind.graph.merge(alias, into, reason=reason)
    run.say(merged, f"{merged.alias} now means {merged.into}.")


def unmerge(
    run: Session,
    alias: str = argument("ALIAS", "A name that means another concept."),
) -> None:
    """Take an alias for a concept of its own again.

    Example: bearinmind graph unmerge Postgres
    """
    with run.existing_store() as mind:
        name = mind.graph.unmerge(alias)
    run.say({"unmerged": name}, f"{name} is a concept of its own again.")


def merges(
    run: Session,
    every: bool = flag("--all", "Also those that were undone."),
    likely: bool = flag("--likely", "Instead: concepts that may be one, to be judged."),
    near: bool = flag("--near", "With --likely: also by what their names mean."),
) -> None:
    """Show which concepts are taken for one, or may be.

    Example: bearinmind graph merges --likely
    """
    with run.reading({"merges": []}) as mind:
        proposed = likely or near
        merges_ = (
            mind.graph.likely_merges(near=near) if proposed else mind.graph.merges(undone=every)
        )
    run.reply({"merges": merges_}, lambda: [_merge_table(merges_, likely=proposed)])


def import_triples(
    run: Session,
    file: str = argument("FILE", "JSON Lines of triples or relations; `-` is stdin."),
) -> None:
    """Add relations that were found elsewhere.

    A line is {"memory": ID, "triples": [[source, type, target], ...]} or
    {"source": ..., "type": ..., "target": ..., "valid_from": ..., "evidence": [ID, ...]}.

    Example: bearinmind graph import triples.jsonl
    """
    with (
        opened(file) as stream,
        run.existing_store() as mind,
        counting("importing", unit="lines") as advance,
    ):
        done = mind.graph.import_lines(numbered(stream), advance=advance)
    run.say(done, _summary(done))
    run.end_import(done.problems, done.bad)


def ends(relations: Iterable[Relation]) -> set[ConceptName]:
    """The concepts that some relations join."""
    return {end for relation in relations for end in (relation.source, relation.target)}


def _disputed(pairs: Iterable[Contradiction]) -> Iterator[Relation]:
    for each in pairs:
        yield from (each.older, each.newer)


def _summary(done: GraphImported) -> str:
    pieces = [
        f"{many(done.relations, 'relation')} and {many(done.mentions, 'mention')} added",
        f"{many(done.unusable, 'unusable triple or entity', 'unusable triples or entities')} left"
        if done.unusable
        else "",
        f"{many(done.bad, 'bad line')} skipped" if done.bad else "",
    ]
    return ", ".join(piece for piece in pieces if piece)


# ---- relations and merges ----------------------------------------------------------------------
def _contradiction_table(values: Sequence[Contradiction], labels: Labels) -> RenderableType:
    if not values:
        return styled("No two relations contradict each other.")
    table = grid(">", "")
    for value in values:
        for relation in (value.older, value.newer):
            table.add_row(styled(str(relation.number), STRONG), statement(relation, labels))
        settle = f"{value.proposal}: bearinmind graph resolve {value.older.number}"
        table.add_row("", styled(f"{value.older.number} is the older; {settle}", NOTICE))
    return table


def _merge_table(values: Sequence[Merge], *, likely: bool = False) -> RenderableType:
    if not values:
        return styled(
            "No two concepts look like one." if likely else "No concept is merged into another."
        )
    table = grid("-", "-", "")
    for value in values:
        undone = f"undone {day(value.undone_at)}" if value.undone_at else ""
        table.add_row(
            styled(value.alias),
            styled(f"→ {value.into}"),
            parts(
                "" if likely else day(value.merged_at), value.reason, f"{value.score:.2f}", undone
            ),
        )
    return table
