"""The keyword arguments of the verbs, and the nouns made of them: defaults filled in, checked."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from typing import Any, TypedDict, TypeVar, get_args, get_type_hints

from bearinmind import errors
from bearinmind.config import LEGS, Settings
from bearinmind.learn.model import Message
from bearinmind.recall.history import Whose
from bearinmind.remember.admit import (
    check_category,
    check_origin,
    check_past,
    check_tags,
    check_time,
    check_user,
    is_time,
)
from bearinmind.remember.pipeline import Changes, PurgePlan
from bearinmind.types import (
    Draft,
    Filter,
    Group,
    Memory,
    MemoryId,
    Outcome,
    Provenance,
    Query,
    Scope,
    SortBy,
    State,
    Trust,
    UserId,
    choose,
)

Boost = Callable[[Memory], float]  #: a caller's own factor of the score of a memory
Place = tuple[datetime, MemoryId]  #: in a list of memories: behind it the list continues
PROPOSALS = 100  #: that are listed unless more are wanted
MOST_PROPOSALS = 10_000  #: that are listed at once


_SPAN_FIELDS = ("valid_from", "valid_to")


class DraftFields(TypedDict, total=False):
    """The fields of a new memory besides its content."""

    category: str
    tags: Iterable[str]
    keywords: Iterable[str]
    importance: float
    sensitive: bool
    created_at: datetime | str | None  #: text in ISO 8601, as for every time
    valid_from: datetime | str | None
    valid_to: datetime | str | None
    agent: str | None
    session: str | None
    project: str | None
    source: str | None
    trust: str


class FilterFields(TypedDict, total=False):
    """Which memories a verb is about."""

    categories: Iterable[str]  #: any of these
    tags: Iterable[str]  #: all of these
    created_from: datetime | str | None
    created_to: datetime | str | None
    session: str | None
    project: str | None
    agent: str | None
    as_of: datetime | str | None
    states: Iterable[str]


class ListFields(FilterFields, total=False):
    """Which memories are listed, and whose."""

    owner: str | None  #: `me`, `others`, or the name of a user who shares; else all visible ones


class QueryFields(FilterFields, total=False):
    """How a query is answered."""

    expanded: Iterable[str]
    focus: Iterable[str]
    limit: int
    pool: int
    sort_by: str
    budget_bytes: int | None
    group: str
    min_probability: float | None  #: of a hit, in place of the usual floor
    all: bool
    leg_weights: Mapping[str, float]  #: by leg, in place of the setting's: 0 turns it off
    decay_days: Mapping[str, float]  #: by category: after how many days a score is down to 1/e


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStored:
    """A draft that was refused, and why."""

    code: str  #: of the error
    message: str
    hint: str


def store_each(
    store: Callable[..., Outcome], drafts: Iterable[Mapping[str, Any]], key: str | None
) -> Sequence[Outcome | NotStored]:
    """What became of each draft, in their order; a refused one does not stop the others."""
    outcomes: list[Outcome | NotStored] = []
    for place, fields in enumerate(drafts):
        own_key = None if key is None else f"{key}:{place}"
        try:
            outcomes.append(store(**fields, idempotency_key=own_key))
        except (errors.InvalidInput, errors.Conflict, errors.NotFound) as exc:
            outcomes.append(NotStored(code=exc.code, message=exc.message, hint=exc.hint))
    return outcomes


def draft(content: str, fields: DraftFields, settings: Settings) -> Draft:
    """The draft of a new memory."""
    return Draft(
        content=content,
        category=fields.get("category", settings.categories[0]),
        tags=tuple(fields.get("tags", ())),
        keywords=tuple(fields.get("keywords", ())),
        importance=fields.get("importance", 0.5),
        sensitive=fields.get("sensitive", False),
        created_at=check_time(fields.get("created_at"), "created_at"),
        valid_from=check_time(fields.get("valid_from"), "valid_from"),
        valid_to=check_time(fields.get("valid_to"), "valid_to"),
        provenance=Provenance(
            agent=fields.get("agent"),
            session=fields.get("session"),
            project=fields.get("project"),
            source=fields.get("source"),
            trust=choose(Trust, fields.get("trust", Trust.AGENT), errors.InvalidProvenance),
        ),
    )


def changes(fields: Mapping[str, Any]) -> Changes:
    """The changes of an update."""
    trust = fields.get("trust")
    values = {
        **fields,
        **{name: check_time(fields[name], name) for name in _SPAN_FIELDS if name in fields},
        **{name: tuple(fields[name]) for name in ("tags", "keywords") if name in fields},
        "trust": None if trust is None else choose(Trust, trust, errors.InvalidProvenance),
    }
    return Changes(**values)


def filter_of(fields: FilterFields, scope: Scope, settings: Settings, now: datetime) -> Filter:
    """The filter that these fields describe."""
    if not fields:  # as for most recalls
        return Filter(scope=scope, now=now)
    as_of = check_past(fields.get("as_of"), "as_of", now)
    created_from = check_past(fields.get("created_from"), "the beginning", now)
    created_to = check_past(fields.get("created_to"), "the end", now)
    if created_from and created_to and created_from >= created_to:
        raise errors.InvalidQuery(
            f"the time range ends ({created_to.isoformat()}) "
            f"before it begins ({created_from.isoformat()})",
            hint="Swap the two times.",
        )
    states = [*fields.get("states", ())] or [State.LIVE]
    return Filter(
        scope=scope,
        now=as_of or now,
        as_of=as_of,
        categories=frozenset(
            check_category(name, settings.categories) for name in fields.get("categories", ())
        ),
        tags=frozenset(check_tags(fields.get("tags", ()))),
        created_from=created_from,
        created_to=created_to,
        session=check_origin(fields.get("session"), "session"),
        project=check_origin(fields.get("project"), "project"),
        agent=check_origin(fields.get("agent"), "agent"),
        states=frozenset(choose(State, state, errors.InvalidQuery) for state in states),
    )


def anchor(
    around: datetime | str, now: datetime, find: Callable[[str], Memory]
) -> Memory | datetime:
    """What a timeline goes around: a moment, or a memory."""
    if isinstance(around, str) and not is_time(around):
        return find(around)
    return check_past(around, "the moment", now) or now


def place(
    after: str | Place | None, find: Callable[[str], Memory], *, by_importance: bool
) -> Place | None:
    """The place in a list behind which a page begins, by the id of a memory or as it is."""
    if after is not None and by_importance:
        raise errors.InvalidQuery(
            "a list by importance has one page, and nothing is behind `after`",
            hint="Leave `after` out, and raise `limit`.",
        )
    if isinstance(after, str):
        last = find(after)
        return last.created_at, last.id
    return after


def owner(fields: ListFields) -> Whose | UserId | None:
    """Whose memories are listed; None for all visible ones.

    `me` and `others` come before names. The answer does not tell whether a user of a name exists.
    """
    name = fields.get("owner")
    if name is None:
        return None
    return Whose(name) if name in {*Whose} else check_user(name)


def query(text: str, filter: Filter, fields: QueryFields, settings: Settings) -> Query:
    """The query of a recall."""
    return Query(
        text=text,
        filter=filter,
        expanded=tuple(fields.get("expanded", ())),
        focus=check_tags(fields["focus"]) if "focus" in fields else (),
        limit=fields.get("limit", settings.limit),
        pool=fields.get("pool", settings.pool),
        sort_by=choose(SortBy, fields.get("sort_by", SortBy.RELEVANCE), errors.InvalidQuery),
        budget_bytes=fields.get("budget_bytes", settings.budget_bytes),
        group=choose(Group, fields.get("group", Group.STATES), errors.InvalidQuery),
        min_probability=_probability(fields.get("min_probability")),
        all=fields.get("all", False),
        leg_weights=_numbers("leg_weights", fields.get("leg_weights", {}), LEGS, least=0.0),
        decay_days=_numbers("decay_days", fields.get("decay_days", {}), settings.categories),
    )


def _numbers(
    name: str, given: Mapping[str, float], known: Sequence[str], least: float | None = None
) -> Mapping[str, float]:
    """Numbers by name, each of a known thing, above 0 or at least `least`."""
    bound = "above 0" if least is None else f"{least:g} or more"
    for thing, value in given.items():
        if thing not in known:
            raise errors.InvalidQuery(
                f"{name} names {thing!r}, which is not one of {', '.join(known)}",
                hint=f"Name some of {', '.join(known)}.",
            )
        if not math.isfinite(value) or value < (least or 0.0) or (least is None and not value):
            raise errors.InvalidQuery(
                f"{name}.{thing} is {value!r}; it must be {bound}", hint=f"Give a number {bound}."
            )
    return given


def _probability(value: float | None) -> float | None:
    if value is not None and not 0 <= value <= 1:
        raise errors.InvalidQuery(
            f"min_probability {value!r} is not between 0 and 1", hint="Give 0.5 for half."
        )
    return value


# ---- the arguments of verbs ----------------------------------------------------------------------


Noun = TypeVar("Noun")
Check = Callable[[str, object], object]  #: the name and the value -> the value as it is used


def _one(noun: type[Noun], expected: str = "") -> Callable[[str, object], Noun]:
    def check(name: str, value: object) -> Noun:
        if not isinstance(value, noun):
            raise _wrong(name, value, expected or f"a {noun.__name__}")
        return value

    return check


_text = _one(str, "a text")
_flag = _one(bool, "True or False")


def _texts(name: str, value: object) -> list[str]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise _wrong(name, value, "a list of texts", "Put it into brackets, even if it is one.")
    return [_text(f"each of {name}", each) for each in value]


def _whole(name: str, value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise _wrong(name, value, "a whole number")
    return value


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, value, "a number")
    return value


def _numbers_by_name(name: str, value: object) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise _wrong(name, value, "a dictionary of numbers", 'Give such as {"graph": 0}.')
    return {_text(f"a name in {name}", key): _number(f"{name}.{key}", value[key]) for key in value}


def _function(name: str, value: object) -> object:
    if not callable(value):
        raise _wrong(name, value, "a function", "Give a function of a memory to a number.")
    return value


def _moment(name: str, value: object) -> datetime | str:
    if not isinstance(value, datetime | str):
        raise _wrong(name, value, "a time", "Give a datetime, or a text in ISO 8601.")
    return value


def _each(noun: type[Noun]) -> Callable[[str, object], list[Noun]]:
    def check(name: str, value: object) -> list[Noun]:
        items = value if isinstance(value, Iterable) else [value]
        return [_one(noun)(f"each of {name}", item) for item in items]

    return check


#: How each argument is checked, whatever verb it is given to.
CHECKS: dict[str, Check] = {
    **dict.fromkeys(("content", "text", "id", "source", "target", "thing", "tag"), _text),
    **dict.fromkeys(("category", "agent", "session", "project", "trust", "kind"), _text),
    **dict.fromkeys(("owner", "reader", "right", "sort_by", "group", "resolution"), _text),
    **dict.fromkeys(("query", "idempotency_key", "user", "key"), _text),
    **dict.fromkeys(("tags", "keywords", "categories", "states", "supersedes"), _texts),
    **dict.fromkeys(("expanded", "focus", "ids"), _texts),
    "other": lambda name, value: value if isinstance(value, str) else _texts(name, value),
    **dict.fromkeys(("sensitive", "wait", "all", "newest_first", "always_valid", "dry_run"), _flag),
    "with_earlier": _flag,
    **dict.fromkeys(("limit", "pool", "budget_bytes", "before", "expected_version"), _whole),
    "depth": _whole,
    "importance": _number,
    **dict.fromkeys(("created_at", "created_from", "created_to", "as_of", "around"), _moment),
    **dict.fromkeys(("valid_from", "valid_to"), _moment),
    "after": lambda name, it: it if isinstance(it, str | tuple) else _whole(name, it),
    "boost": _function,
    **dict.fromkeys(("leg_weights", "decay_days"), _numbers_by_name),
    "messages": _each(Message),
    "memories": _each(Memory),
    "plan": _one(PurgePlan),
    "provenance": _one(Provenance),
}


def _wrong(name: str, value: object, expected: str, hint: str = "") -> errors.InvalidRequest:
    shown = type(value).__name__
    message = f"{name} is of the type {shown}; it must be {expected}"
    return errors.InvalidRequest(message, hint=hint or f"Give {expected}.")


def checked(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb with its arguments checked; None is as good as nothing where that is allowed."""
    signature = inspect.signature(verb)
    takes = functools.partial(_takes, verb, signature)
    more = [x.name for x in signature.parameters.values() if x.kind is x.VAR_KEYWORD]
    required = {x.name for x in signature.parameters.values() if x.default is x.empty}

    @functools.wraps(verb)
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  those of the verb
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as exc:
            hint = f"It takes {', '.join(takes())}."
            raise errors.InvalidRequest(f"`{verb.__name__}`: {exc}", hint=hint) from None
        arguments = bound.arguments
        for name in more:
            fields = arguments.get(name, {})
            _refuse_unknown(verb.__name__, fields, _known_fields(verb), takes)
            given = {key: value for key, value in fields.items() if value is not None}
            arguments[name] = {key: _check(key, value) for key, value in given.items()}
        for name, value in [*arguments.items()]:
            if name not in more and (value is not None or name in required):
                arguments[name] = _check(name, value)
        return verb(*bound.args, **bound.kwargs)

    return call


def _check(name: str, value: object) -> object:
    return CHECKS[name](name, value) if name in CHECKS else value


@functools.cache
def _known_fields(verb: Callable[..., Any]) -> Sequence[str]:
    """The keywords that a verb takes beside its named arguments."""
    hints = get_type_hints(verb)
    [fields] = [get_args(hint) for name, hint in hints.items() if name in ("fields", "changes")]
    return [*fields[0].__annotations__] if fields else [*Changes.__dataclass_fields__]


def _takes(verb: Callable[..., Any], signature: inspect.Signature) -> Sequence[str]:
    """Everything that a verb takes, by name."""
    named = [x for x in signature.parameters.values() if x.name != "self"]
    own = [x.name for x in named if x.kind is not x.VAR_KEYWORD]
    return own if len(own) == len(named) else [*own, *_known_fields(verb)]


def _refuse_unknown(
    verb: str, fields: Iterable[str], known: Sequence[str], takes: Callable[[], Sequence[str]]
) -> None:
    for name in fields:
        if name not in known:
            near = get_close_matches(name, takes(), 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"It takes {', '.join(takes())}."
            raise errors.InvalidRequest(f"`{verb}` has no {name!r}", hint=hint)


def checks_arguments(kind: type[Noun]) -> type[Noun]:
    """Have every verb of a class check what it is given."""
    for name, verb in [*vars(kind).items()]:
        if inspect.isfunction(verb) and not name.startswith("_") and name != "close":
            setattr(kind, name, checked(verb))
    return kind
