"""From an HTTP request to what a verb is asked: path, query, headers and body become one value.

Everything is checked as JSON and strictly: `"5"` is no number in a body, and a parameter of the
query that ought to be one is read as one first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import pydantic_core
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from starlette.datastructures import QueryParams

from bearinmind.errors import InvalidRequest, UnreadableRequest, WrongMediaType
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.http.problems import invalid_fields
from bearinmind.surfaces.verbs.requests import Request
from bearinmind.surfaces.verbs.table import Verb

JSON = "application/json"

_IN_PATH = re.compile(r"{(\w+)}")
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
_NO_BODY = frozenset({"GET", "DELETE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """The parts of a request that say what is asked."""

    path: Mapping[str, str]
    query: QueryParams
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reader:
    """Reads what a verb is asked."""

    verb: Verb

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        """The fields that the path names."""
        return tuple(_IN_PATH.findall(self.verb.path))

    @cached_property
    def elsewhere(self) -> dict[str, FieldInfo]:
        """The fields that come in the body or the query."""
        known = self.verb.request.model_fields
        apart = {*self.in_path, *self.verb.headers.values()}
        return {name: info for name, info in known.items() if name not in apart}

    @property
    def has_body(self) -> bool:
        """Whether a request of this verb may have a body."""
        return self.verb.method not in _NO_BODY and bool(self.elsewhere)

    def __call__(self, arrived: Arrived, from_headers: Mapping[str, Any]) -> Request:
        """What is asked; the fields of headers are read already.

        Raises:
            UnreadableRequest, WrongMediaType: the body is not JSON.
            InvalidRequest: something in it is wrong.
        """
        if self.has_body:
            said = self._numbers(_object(arrived)) if arrived.body else {}
            self._refuse(arrived.query)
        else:
            said = self._from_query(arrived.query)
        for name in said.keys() & ({*self.in_path} | {*self.verb.headers.values()}):
            raise InvalidRequest(
                f"{name} is given by the path or a header", hint="Leave it out of the body."
            )
        values = {**said, **{name: arrived.path[name] for name in self.in_path}, **from_headers}
        try:
            # As JSON, so that words of a vocabulary and times may be texts, and nothing else may.
            return self.verb.request.model_validate_json(pydantic_core.to_json(values), strict=True)
        except ValidationError as exc:
            raise invalid_fields(exc) from None

    def _numbers(self, said: dict[str, Any]) -> dict[str, Any]:
        """Whole numbers as such: to JSON, 3.0 and 3 are the same."""
        return {
            name: int(value)
            if isinstance(value, float) and value.is_integer() and self._takes(name, int)
            else value
            for name, value in said.items()
        }

    def _takes(self, name: str, kind: type) -> bool:
        """Whether a field may be of this kind."""
        return kind in self._kinds.get(name, ())

    @cached_property
    def _kinds(self) -> dict[str, frozenset[object]]:
        return {name: _kinds(info.annotation) for name, info in self.elsewhere.items()}

    def _refuse(self, query: QueryParams) -> None:
        for name in query:
            raise InvalidRequest(
                f"{name!r} is no parameter of {self.verb.method} {self.verb.path}",
                hint="Say it in the body.",
            )

    def _from_query(self, query: QueryParams) -> dict[str, Any]:
        """The parameters by name; one that is repeated is a list where a list is wanted."""
        said: dict[str, Any] = {}
        for name in query:
            texts = query.getlist(name)
            if self._takes(name, list):
                said[name] = texts
            elif len(texts) > 1:
                raise InvalidRequest(f"{name!r} is given {len(texts)} times", hint="Give it once.")
            else:
                said[name] = self._value(name, texts[0])
        return said

    def _value(self, name: str, text: str) -> object:
        """A parameter as JSON has it; a text that should be a number or a yes and is none stays."""
        if text in ("true", "false") and self._takes(name, bool):
            return text == "true"
        if _WHOLE.fullmatch(text) and self._takes(name, int):
            return int(text)
        return text


def check_media(headers: Mapping[str, str], wanted: str, hint: str) -> None:
    """Make sure that a body is said to be of the kind that is wanted.

    Raises:
        WrongMediaType: it is not.
    """
    said = headers.get("content-type", "").partition(";")[0].strip()
    if said.casefold() != wanted:
        raise WrongMediaType(
            f"the body is said to be {masked(said)[:60] or 'of no kind'!r}, not {wanted}",
            hint=f"{hint}, with `Content-Type: {wanted}`.",
        )


def _object(arrived: Arrived) -> dict[str, Any]:
    """The object in a body."""
    check_media(arrived.headers, JSON, "Send JSON")
    try:
        found = pydantic_core.from_json(arrived.body)
    except ValueError as exc:
        raise UnreadableRequest(f"the body is not JSON: {exc}") from None
    if not isinstance(found, dict):
        raise InvalidRequest(
            f"the body is JSON, but a {type(found).__name__}", hint="Send one JSON object."
        )
    return found


def _kinds(annotation: object) -> frozenset[object]:
    """The kinds of values that an annotation admits; what is in a list is not looked at."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return frozenset().union(*map(_kinds, get_args(annotation)))
    if origin is Annotated:
        return _kinds(get_args(annotation)[0])
    return frozenset({origin or annotation})
