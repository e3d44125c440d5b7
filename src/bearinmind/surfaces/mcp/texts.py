"""Answers as text for a model: memories as `for_agents` renders them, all else in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from bearinmind.errors import MindError
from bearinmind.remember.secrets import masked
from bearinmind.surfaces import for_agents
from bearinmind.surfaces.client import nouns
from bearinmind.surfaces.verbs import answers as a
from bearinmind.types import Hit, Memory, MemoryId, Pointer, UserId

_NOTHING = "No memory was found."
_STATES = ("live", "superseded", "expired", "deleted")
# As whom memories are rendered: whoever answered has said which of them are data, and who asks is
# not always known here.
_ME = UserId("")


def of_answer(answer: a.Answer) -> str:
    """What a verb answered."""
    return next(say(answer) for kind, say in _SAYING.items() if isinstance(answer, kind))


def of_memories(memories: Iterable[a.MemoryAnswer]) -> str:
    """Memories under each other."""
    return for_agents.rendered(map(_hit, map(_memory, memories)), _ME) or _NOTHING


def content_of(answer: a.MemoryAnswer) -> str:
    """What a memory says, between markers when it is data."""
    return for_agents.fenced(_memory(answer), _ME)


def word(text: str) -> str:
    """A tag, which may be another user's: on one line, and nothing but text."""
    return for_agents.one_line(for_agents.neutral(text))


def of_error(error: MindError) -> str:
    """Why something could not be done, and what to do next."""
    said = f"error: {masked(error.message)}"
    return f"{said}\nhint: {error.hint}" if error.hint else said


# ---- by kind of answer -----------------------------------------------------------------------


def _recalled(answer: a.RecallAnswer) -> str:
    hits = [
        _hit(_memory(hit.memory), map(_memory, hit.attached), map(_pointer, hit.pointers))
        for hit in answer.hits
    ]
    missing = [f"missing from this answer: {said}" for said in answer.degraded]
    return "\n\n".join([for_agents.rendered(hits, _ME) or _NOTHING, *missing])


def _listed(answer: a.ListAnswer) -> str:
    more = f"\n\nmore with after={answer.next}" if answer.next else ""
    return of_memories(answer.memories) + more


def _whole(answer: a.WholeAnswer) -> str:
    earlier = [f"version {each.version} said:\n{content_of(each)}" for each in answer.earlier]
    links = [f"{each.source} {each.kind} {each.target}" for each in answer.links]
    return "\n\n".join([of_memories([answer]), *earlier, *links])


def _stored(answer: a.StoreAnswer) -> str:
    known = "Already known" if answer.outcome == "already_known" else "Stored"
    sealed = ", encrypted because it is sensitive" if answer.memory.sensitive else ""
    return f"{known}: {answer.memory.id}{sealed}"


def _changed(answer: a.MemoryAnswer) -> str:
    done = "Deleted" if answer.deleted_at else "Changed"
    return f"{done}: {answer.id}, now version {answer.version}"


def _linked(answer: a.LinkAnswer) -> str:
    return f"Linked: {answer.source} {answer.kind} {answer.target}"


def _explained(answer: a.WhyAnswer) -> str:
    led = [f"{step.link.source} {step.link.kind} {step.link.target}" for step in answer.steps]
    newer = [f"superseded by {each.id}" for each in answer.superseded_by]
    memories = [answer.memory, *(step.memory for step in answer.steps), *answer.superseded_by]
    return "\n\n".join([of_memories(memories), *led, *newer])


def _around(answer: a.TimelineAnswer) -> str:
    anchor = [answer.anchor] if answer.anchor else []
    return of_memories([*answer.before, *anchor, *answer.after])


def _counted(answer: a.CountAnswer) -> str:
    counts = {state: getattr(answer, state) for state in _STATES}
    lines = [", ".join(f"{count:,} {state}" for state, count in counts.items() if count)]
    lines += [", ".join(f"{count:,} {name}" for name, count in answer.categories.items())]
    lines += [f"{answer.shared:,} shared by others"] if answer.shared else []
    return "\n".join(filter(None, lines)) or "Nothing is stored yet."


def _secret(answer: a.SecretAnswer) -> str:
    return answer.content


def _share(answer: a.ShareAnswer) -> str:
    what = f"memory {answer.memory}" if answer.memory else f"tag {word(answer.tag or '')}"
    ended = "no longer shared" if answer.ended_at else f"shared to {answer.right}"
    return f"{what} of {answer.owner}: {ended} with {answer.reader}"


def _shares(answer: a.SharesAnswer) -> str:
    return "\n".join(map(_share, answer.shares)) or "Nothing is shared."


_SAYING: dict[type[a.Answer], Callable[[Any], str]] = {  # a whole memory is a memory too
    a.RecallAnswer: _recalled,
    a.ListAnswer: _listed,
    a.WholeAnswer: _whole,
    a.StoreAnswer: _stored,
    a.MemoryAnswer: _changed,
    a.LinkAnswer: _linked,
    a.WhyAnswer: _explained,
    a.TimelineAnswer: _around,
    a.CountAnswer: _counted,
    a.SecretAnswer: _secret,
    a.ShareAnswer: _share,
    a.SharesAnswer: _shares,
}


# ---- as `for_agents` wants them --------------------------------------------------------------


def _memory(answer: a.MemoryAnswer) -> Memory:
    memory = nouns.memory(answer)
    return memory if answer.is_data else replace(memory, owner=_ME)


def _pointer(answer: a.PointerAnswer) -> Pointer:
    return Pointer(
        id=MemoryId(answer.id), kind=answer.kind, outgoing=answer.outgoing, line=answer.line
    )


def _hit(memory: Memory, attached: Iterable[Memory] = (), pointers: Iterable[Pointer] = ()) -> Hit:
    return Hit(
        memory=memory,
        rank=1,
        score=0.0,
        placings={},
        factors={},
        attached=tuple(attached),
        pointers=tuple(pointers),
    )
