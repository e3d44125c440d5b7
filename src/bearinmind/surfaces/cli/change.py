"""The commands that change what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.errors import EmptyContent, InvalidInput, MindError
from bearinmind.recall.history import Whose
from bearinmind.remember.admit import check_time
from bearinmind.remember.pipeline import PurgePlan
from bearinmind.remember.update import Deleted
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.main import tell
from bearinmind.surfaces.cli.memories import link_text
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import (
    ID,
    NOTICE,
    QUIET,
    Session,
    day,
    grid,
    group,
    many,
    memory_count,
    safe,
    styled,
)
from bearinmind.surfaces.lines import STANDARD, is_piped, read_text
from bearinmind.surfaces.times import day_in_words
from bearinmind.text.analysis import one_line
from bearinmind.types import LinkKind, Memory, MemoryId, Outcome, Resolution, State, Stored, Trust

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_PAGE = 1_000


@options.taking(described=options.described, origin=options.origin)
def store(
    run: Session,
    *,
    content: str | None = options.CONTENT,
    file: Path | None = options.FILE,
    described: dict[str, Any],
    created_at: str | None = option("--created-at", "When it was learned, if not just now."),
    origin: dict[str, Any],
    supersedes: list[str] | None = option(
        "--supersedes", "A memory that it replaces; repeatable.", metavar="ID"
    ),
    sensitive: bool = flag(
        "--sensitive", "Encrypt it; it is found by its tags and keywords alone."
    ),
    wait: bool = options.WAIT,
) -> None:
    """Remember something."""
    learned = options.without_none({"created_at": check_time(created_at, "--created-at")})
    fields = {**described, **learned, **origin}
    text = _text(content, file, or_piped=True)
    if text is None:
        raise EmptyContent("no content was given", hint=_HOW_TO_GIVE)
    with run.open() as mind:
        outcome = mind.store(text, supersedes=supersedes or (), sensitive=sensitive, **fields)
        _note_sealing(run, mind, outcome.memory, flagged=sensitive)
        if wait:
            run.wait_for_work(mind)
        stored = isinstance(outcome, Stored)
        if stored and not wait:
            run.start_worker()
        if not stored and {*fields} - {"trust"}:
            run.note(
                f"Its other fields stay: `bearinmind update {outcome.memory.id}` changes them."
            )
        word = "stored" if stored else "already known"
        run.reply(  # while the store is open: what the memory may replace is looked for now
            {
                "outcome": word.replace(" ", "_"),
                "memory": outcome.memory,
                "may_replace": tuple(outcome.may_replace),
            },
            lambda: [_outcome_line(word.capitalize(), outcome.memory), *offers(outcome)],
        )


def offers(outcome: Outcome) -> Iterator[Text]:
    """The earlier memories that a stored one may replace, and how to say so.

    A memory that was stored before in the session is named: it is not the one just stored.
    """
    for newer, memory in ((each.newer, each.memory) for each in outcome.may_replace):
        may = "May replace" if newer == outcome.memory.id else f"{newer} may replace"
        line = styled(f"{may}, stored {day_in_words(memory.created_at)}: ", NOTICE)
        yield line.append(f"{one_line(safe(memory.content))}  ", "default").append(memory.id, ID)
    if outcome.may_replace:
        first, *others = outcome.may_replace
        which, it = (f" --other {first.memory.id}", "the first") if others else ("", "it")
        command = f"`bearinmind resolve {first.newer} newer{which}`"
        yield styled(f"{command} settles {it}; or `older`, `both`, `merge`.", QUIET)


@options.taking(described=options.described, origin=options.origin)
def update(
    run: Session,
    *,
    id: str = options.ID,
    content: str | None = options.CONTENT,
    file: Path | None = options.FILE,
    described: dict[str, Any],
    no_tags: bool = flag("--no-tags", "Take all tags away."),
    no_keywords: bool = flag("--no-keywords", "Take all keywords away."),
    always_valid: bool = flag("--always-valid", "Take the valid-from / valid-to span away."),
    origin: dict[str, Any],
    sensitive: bool | None = option(
        "--sensitive/--not-sensitive",
        "Encrypt it with all its versions, or make it an ordinary memory.",
    ),
    expected_version: int | None = option(
        "--expected-version", "Refuse if it has another version by now."
    ),
) -> None:
    """Change a memory; the version before stays readable."""
    text = _text(content, file, or_piped=False)
    given = {"content": text, "sensitive": sensitive, "always_valid": always_valid or None}
    changes = {**described, **options.without_none(given)}
    for word, none in {"tag": no_tags, "keyword": no_keywords}.items():
        if none and changes.get(f"{word}s"):
            raise InvalidInput(
                f"--{word} and --no-{word}s contradict each other", hint="Give one of the two."
            )
        changes |= {f"{word}s": ()} if none else {}
    if not changes and not origin:
        raise InvalidInput(
            "no change was given", hint="Give new content or one of `bearinmind update --help`."
        )
    _update(run, id, changes, origin, expected_version)


def _update(
    run: Session,
    id_: str,
    changes: dict[str, Any],
    origin: dict[str, Any],
    expected_version: int | None,
) -> None:
    """Change a memory, and say what was encrypted with it."""
    with run.existing() as mind:
        before = mind.get(id_)
        if origin:
            changes["provenance"] = replace(before.provenance, **origin)
            # The rest of the provenance was read: nobody may change it in between.
            expected_version = before.version if expected_version is None else expected_version
        plain = _plain_versions(mind, before)
        memory = mind.update(id_, expected_version=expected_version, **changes)
        concealed = plain - _plain_versions(mind, before)
        if memory.sensitive and not before.sensitive:
            _note_sealing(run, mind, memory, flagged=bool(changes.get("sensitive")))
        _note_concealed(run, mind, concealed)
    word = "Updated" if memory.version > before.version else "Unchanged"
    if memory.version > before.version:
        run.start_worker()
    run.reply({"outcome": word.lower(), "memory": memory}, lambda: [_outcome_line(word, memory)])


def _plain_versions(mind: Mind, memory: Memory) -> int:
    """How many versions of a memory are not sensitive; another's are not seen, and never sealed."""
    if memory.owner != mind.scope.user:
        return 0
    return sum(not version.sensitive for version in mind.versions(memory.id))


def delete(
    run: Session,
    ids: list[str] = options.IDS,
    with_earlier: bool = flag(
        "--with-earlier", "Delete what they superseded, too, which would be live again otherwise."
    ),
) -> None:
    """Hide memories from recall; they can be restored."""
    with run.existing() as mind:
        verb = partial(mind.delete, with_earlier=with_earlier)
        for memory in _each(run, mind.get, ids, verb, "Deleted"):
            if isinstance(memory, Deleted) and memory.live_again:
                free = ", ".join(memory.live_again)
                run.note(f"note: live again, which {memory.id} superseded: {free}")
            if isinstance(memory, Deleted) and memory.deleted_too:
                run.note(f"note: deleted with {memory.id}: {', '.join(memory.deleted_too)}")


def restore(run: Session, ids: list[str] = options.IDS) -> None:
    """Bring deleted memories back."""
    with run.existing() as mind:
        _each(run, mind.restorable, ids, mind.restore, "Restored")
    run.start_worker()


def purge(
    run: Session,
    ids: list[str] | None = argument("ID", "Ids of deleted memories.", None),
    all_deleted: bool = flag("--all-deleted", "All memories that are deleted."),
    yes: bool = flag("--yes", "Do not ask."),
    dry_run: bool = flag("--dry-run", "Only show the plan."),
) -> None:
    """Remove deleted memories for good."""
    if bool(ids) == all_deleted:
        raise InvalidInput("say which memories: ids, or --all-deleted", hint="Give one of the two.")
    with run.existing() as mind:
        plan = mind.plan_purge(ids or _deleted(mind))
        wanted = not dry_run and bool(plan.memories)
        purged = wanted and run.agreed([_plan_table(plan)], "Remove them for good?", yes=yes)
        if purged and not mind.purge(plan):
            run.note_traces()
    run.reply(
        {"purged": purged, **codec.to_data(plan)},
        lambda: _purge_lines(plan, purged=purged, dry_run=dry_run),
    )


def link(
    run: Session,
    source: str = argument("SOURCE", "The id of the memory that the link begins at."),
    kind: LinkKind = argument("KIND", f"One of {', '.join(LinkKind)}."),
    target: str = argument("TARGET", "The id of the memory that the link ends at."),
    remove: bool = flag("--remove", "End the link instead."),
) -> None:
    """Link two memories, read "SOURCE KIND TARGET"."""
    with run.existing() as mind:
        done = mind.unlink(source, kind, target) if remove else mind.link(source, kind, target)
    word = "unlinked" if remove else "linked"
    run.reply(
        {"outcome": word, "link": done}, lambda: [styled(f"{word.capitalize()} ") + link_text(done)]
    )


def resolve(
    run: Session,
    id: str = options.ID,
    resolution: Resolution = argument("WORD", f"One of {', '.join(Resolution)}."),
    other: list[str] | None = option(
        "--other", "Beside this memory; repeatable. Else all it may replace.", metavar="ID"
    ),
    trust: Trust = option("--trust", "Who decides: `user` is a person.", Trust.USER),
) -> None:
    """Decide which of two memories holds now."""
    with run.existing() as mind:
        resolved = mind.resolve(id, resolution, other or (), trust=trust)
    run.reply(resolved, lambda: map(link_text, resolved.links))


# ---- what they share ---------------------------------------------------------------------------

_HOW_TO_GIVE = "Give it as an argument, with --file, or pipe it in."


def _text(content: str | None, file: Path | None, *, or_piped: bool) -> str | None:
    """The text of a memory from the argument, a file or standard input; None if none was given."""
    if content is not None and file is not None:
        raise InvalidInput("the content was given twice", hint="Give it once, or use --file.")
    if file is not None:
        return read_text(str(file))
    if content == STANDARD or (content is None and or_piped and is_piped()):
        return read_text(STANDARD)
    return content


def _note_sealing(run: Session, mind: Mind, memory: Memory, *, flagged: bool) -> None:
    """Say that a memory was encrypted without being asked to be, and that a key was made."""
    if not memory.sensitive:
        return
    if not flagged:
        run.note(
            "A secret was found, so the memory is encrypted: its category, tags, keywords and the "
            "kind of secret still find it. "
            f"`bearinmind update {memory.id} --not-sensitive` undoes it."
        )
    run.note_new_key(mind.secrets.vault)


def _note_concealed(run: Session, mind: Mind, concealed: int) -> None:
    """Say how many earlier versions were encrypted too."""
    if concealed > 0:
        overwritten = mind.secrets.scrub()
        rest = "; the text is overwritten in the file" if overwritten else ""
        run.note(f"{many(concealed, 'earlier version')} of it encrypted too{rest}.")
        if not overwritten:
            run.note_traces()


def _outcome_line(word: str, memory: Memory) -> Text:
    """What was done with a memory."""
    line = styled(f"{word} ").append(memory.id, style=ID)
    return line.append("  ").append(one_line(safe(memory.content)), style=QUIET)


def _each(
    run: Session,
    find: Callable[[str], Memory],
    ids: Sequence[str],
    verb: Callable[[str], Memory],
    word: str,
) -> list[Memory]:
    """Do something to each memory; all ids are known to exist before the first is touched."""
    done: list[Memory] = []
    failed: list[MindError] = []
    known = {(memory.owner, memory.id): text for text in ids if (memory := find(text))}
    for id_ in known.values():
        try:
            done.append(verb(id_))
        except MindError as exc:
            failed.append(exc)
    if done:
        run.reply({"memories": done}, lambda: [_outcome_line(word, memory) for memory in done])
    for error in failed[1:]:
        tell(error, as_json=run.as_json)
    if failed:
        raise failed[0]
    return done


def _deleted(mind: Mind) -> list[MemoryId]:
    ids: list[MemoryId] = []
    while page := mind.list(
        limit=_PAGE, after=ids[-1] if ids else None, states=[State.DELETED], owner=Whose.ME
    ):
        ids += [memory.id for memory in page]
    return ids


def _purge_lines(plan: PurgePlan, *, purged: bool, dry_run: bool) -> list[RenderableType]:
    if not plan.memories:
        return [styled("Nothing is deleted, so there is nothing to purge.")]
    if dry_run:
        return [_plan_table(plan)]
    count = memory_count(len(plan.memories))
    return [styled(f"Purged {count}." if purged else "Nothing was purged.")]


_PLANNED = 20  # memories of a purge that are named


def _plan_table(value: PurgePlan) -> RenderableType:
    table = grid("-", "-", "")
    for memory in value.memories[:_PLANNED]:
        deleted = "" if memory.deleted_at is None else f"deleted {day(memory.deleted_at)}"
        table.add_row(
            styled(memory.id, ID), styled(deleted, QUIET), styled(one_line(memory.content))
        )
    more = len(value.memories) - _PLANNED
    memories = memory_count(len(value.memories))
    total = f"{memories}, {many(value.versions, 'version')}, {many(value.links, 'link')}"
    rest = [styled(f"and {more:,} more", QUIET)] if more > 0 else []
    return group(table, *rest, styled(f"To be removed for good: {total}.", NOTICE))
