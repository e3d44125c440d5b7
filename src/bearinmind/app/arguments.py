"""What the verbs of Python are given, checked by name and type before anything is done with it.

The forms are those of HTTP (`bearinmind.surfaces.verbs.requests`): a list is no single text, a flag
no word, a time may be a text. What a value means is checked where it is used.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any, TypeVar, get_args, get_type_hints

from bearinmind.errors import InvalidRequest
from bearinmind.learn.model import Message
from bearinmind.remember.pipeline import Changes, PurgePlan
from bearinmind.types import Memory, Provenance

Noun = TypeVar("Noun")
Check = Callable[[str, object], object]  #: the name and the value -> the value as it is used


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(name, value, "a text")
    return value


def _texts(name: str, value: object) -> list[str]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise _wrong(name, value, "a list of texts", "Put it into brackets, even if it is one.")
    return [_text(f"each of {name}", each) for each in value]


def _text_or_texts(name: str, value: object) -> str | list[str]:
    return value if isinstance(value, str) else _texts(name, value)


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(name, value, "True or False")
    return value


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


def _numbers(name: str, value: object) -> dict[str, float]:
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


def _place(name: str, value: object) -> object:
    if isinstance(value, str | tuple):
        return value
    return _whole(name, value)


def _each(noun: type[Noun]) -> Callable[[str, object], list[Noun]]:
    def check(name: str, value: object) -> list[Noun]:
        items = value if isinstance(value, Iterable) else [value]
        return [_one(noun)(f"each of {name}", item) for item in items]

    return check


def _one(noun: type[Noun]) -> Callable[[str, object], Noun]:
    def check(name: str, value: object) -> Noun:
        if not isinstance(value, noun):
            raise _wrong(name, value, f"a {noun.__name__}")
        return value

    return check


#: How each argument is checked, whatever verb it is given to.
CHECKS: dict[str, Check] = {
    **dict.fromkeys(("content", "text", "id", "source", "target", "thing", "tag"), _text),
    **dict.fromkeys(("category", "agent", "session", "project", "trust", "kind"), _text),
    **dict.fromkeys(("owner", "reader", "right", "sort_by", "group", "resolution"), _text),
    **dict.fromkeys(("query", "idempotency_key", "user", "key"), _text),
    **dict.fromkeys(("tags", "keywords", "categories", "states", "supersedes"), _texts),
    **dict.fromkeys(("expanded", "focus", "ids"), _texts),
    "other": _text_or_texts,
    **dict.fromkeys(("sensitive", "wait", "all", "newest_first", "always_valid", "dry_run"), _flag),
    "with_earlier": _flag,
    **dict.fromkeys(("limit", "pool", "budget_bytes", "before", "expected_version"), _whole),
    "depth": _whole,
    "importance": _number,
    **dict.fromkeys(("created_at", "created_from", "created_to", "as_of", "around"), _moment),
    **dict.fromkeys(("valid_from", "valid_to"), _moment),
    "after": _place,
    "boost": _function,
    **dict.fromkeys(("leg_weights", "decay_days"), _numbers),
    "messages": _each(Message),
    "memories": _each(Memory),
    "plan": _one(PurgePlan),
    "provenance": _one(Provenance),
}


def _wrong(name: str, value: object, expected: str, hint: str = "") -> InvalidRequest:
    shown = type(value).__name__
    message = f"{name} is of the type {shown}; it must be {expected}"
    return InvalidRequest(message, hint=hint or f"Give {expected}.")


def checked(verb: Callable[..., Any]) -> Callable[..., Any]:
    """The verb with its arguments checked; None is as good as nothing where that is allowed."""
    signature = inspect.signature(verb)
    more = [x.name for x in signature.parameters.values() if x.kind is x.VAR_KEYWORD]
    required = {x.name for x in signature.parameters.values() if x.default is x.empty}

    @functools.wraps(verb)
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401  those of the verb
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as exc:
            raise _unfit(verb.__name__, signature, exc) from None
        arguments = bound.arguments
        for name in more:
            fields = arguments.get(name, {})
            _refuse_unknown(verb.__name__, fields, _known_fields(verb))
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


def _refuse_unknown(verb: str, fields: Iterable[str], known: Sequence[str]) -> None:
    for name in fields:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"Did you mean {near[0]!r}?" if near else f"It takes {', '.join(known)}."
            raise InvalidRequest(f"`{verb}` has no {name!r}", hint=hint)


def _unfit(verb: str, signature: inspect.Signature, exc: TypeError) -> InvalidRequest:
    names = [name for name in signature.parameters if name != "self"]
    return InvalidRequest(f"`{verb}`: {exc}", hint=f"It takes {', '.join(names)}.")


def checks_arguments(kind: type[Noun]) -> type[Noun]:
    """Have every verb of a class check what it is given."""
    for name, verb in [*vars(kind).items()]:
        if inspect.isfunction(verb) and not name.startswith("_") and name != "close":
            setattr(kind, name, checked(verb))
    return kind
