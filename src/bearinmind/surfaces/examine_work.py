"""What `doctor` looks at in the background: the embedder, the embeddings, the work that waits."""

from __future__ import annotations

from collections.abc import Iterator

from bearinmind.app import Mind, embedders_of
from bearinmind.config import Settings
from bearinmind.errors import EmbedderFailure, MindError
from bearinmind.protocols import Embedder, KnownSpace
from bearinmind.surfaces import examine_graph
from bearinmind.surfaces.checks import Check
from bearinmind.work.post import Post
from bearinmind.work.status import WorkStatus

_TRIED = "A memory is worth keeping."
_UNWELL = (
    "Check the `embedder` settings with `bearinmind config`, and that its server or its files can "
    "be reached; recall goes on by words meanwhile."
)


def embedder(settings: Settings) -> Check:
    """Whether the configured embedder works: it embeds a sentence of ours."""
    name = settings.embedder
    made = embedders_of(settings)
    try:
        found = made.configured()
        if found is None:
            return Check(name="embedder", good=True, detail="none: recall goes by words alone")
        found.embed_query(_TRIED)
        return Check(name="embedder", good=True, detail=f"{name}: {_described(found)}")
    except MindError as exc:
        # Elsewhere its hint sends people here.
        remedy = _UNWELL if exc.hint == EmbedderFailure.hint else exc.hint
        return Check(name="embedder", good=False, detail=f"{name}: {exc.message}", remedy=remedy)
    finally:
        made.close()


def work(app: Mind) -> Iterator[Check]:
    """How far the embeddings and the graph are, and whether somebody works on them."""
    status = app.work.status()
    yield from _embeddings(app, status)
    yield examine_graph.graph(app, status)
    if status.active or status.extractor:
        yield _background(app, status, Post.of(app.settings.beside))


def _embeddings(app: Mind, status: WorkStatus) -> Iterator[Check]:
    off = app.settings.embedder == "none"
    if status.meaning_off and not off:
        reason, remedy, _ = status.meaning_off
        detail = f"the store cannot keep any: {reason}"
        yield Check(name="embeddings", good=False, detail=detail, remedy=remedy)
    elif status.active and not off:
        yield _answering(app, status, status.active)
    elif status.active:
        detail = f"not asked: {_named(status.active)} is kept for when `embedder` is set again"
        yield Check(name="embeddings", good=True, detail=detail)
    elif not off:
        detail = "none yet: `bearinmind work` begins, as does the next `bearinmind store`"
        yield Check(name="embeddings", good=True, detail=detail)


def _described(found: Embedder) -> str:
    space = found.space
    place = "texts are sent to its server" if found.leaves_machine else "texts stay here"
    return f"{space.model}, {space.dimensions} dimensions, space {space.key}; {place}"


def _answering(app: Mind, status: WorkStatus, active: KnownSpace) -> Check:
    detail = f"{_named(active)} answers"
    if status.filling is not None:
        detail += f" until all is embedded by {_named(status.filling)}"
    elif not _is_configured(app, active):
        return Check(
            name="embeddings",
            good=False,
            detail=f"{detail}, which is not what is configured now",
            remedy="`bearinmind reembed` embeds every memory with the configured embedder.",
        )
    return Check(name="embeddings", good=True, detail=detail)


def _is_configured(app: Mind, known: KnownSpace) -> bool:
    """Whether a space is that of the configured embedder; one that fails has a check of its own."""
    try:
        found = app.work.embedder()
    except MindError:
        return True
    return found is not None and found.space == known.space


def _named(known: KnownSpace) -> str:
    waiting = f", {known.waiting:,} to do" if known.waiting else ""
    return f"{known.space.model} (space {known.space.key}, {known.embedded:,} embedded{waiting})"


def _background(app: Mind, status: WorkStatus, post: Post) -> Check:
    at_work = post.is_taken
    complaints = post.complaints()
    if status.waiting and not at_work and (complaints or status.last_error):
        return Check(
            name="background",
            good=False,
            detail=f"{_waiting(status)}: {(status.last_error or complaints)[-200:]}",
            remedy="`bearinmind work` tries them now and says what is wrong.",
        )
    worker = "a worker is running" if at_work else f"no worker is running ({app.settings.worker})"
    remedy = "`bearinmind work` does them." if status.waiting and not at_work else ""
    detail = f"{_waiting(status)}, {worker}"
    return Check(name="background", good=True, detail=detail, remedy=remedy)


def _waiting(status: WorkStatus) -> str:
    counts = {"to embed": status.to_embed, "to read for the graph": status.to_read}
    told = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    return f"{status.waiting:,} jobs wait{f' ({told})' if told else ''}"
