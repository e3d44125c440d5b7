"""Nouns to JSON and back: one form for the command line, HTTP, MCP, the clients, export and sync.

Every frozen dataclass and every named tuple is an object with the names of its fields. A member of
a closed union (`Stored | AlreadyKnown`, the reasons of a trace) also says which one it is, under
`kind`. Times are ISO 8601 in UTC, bytes are base64, sets are sorted, words of a vocabulary and ids
are plain text. A field that must not leave is declared `field(metadata=NEVER_SENT)`; a property
that belongs to the noun's JSON is declared `@in_json` (both in `bearinmind.types`). What is not
known when a noun is read is ignored, so that an older release reads what a newer one writes.

This is the only module of the core that imports Pydantic, and it does so on first use.
"""

from __future__ import annotations

import base64
import collections.abc
import dataclasses
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import cache, reduce
from operator import or_
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    NamedTuple,
    TypeGuard,
    TypeVar,
    overload,
)

from bearinmind import errors
from bearinmind.errors import InvalidJson, MindError
from bearinmind.errors.flaws import shortened, wrong

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, TypeAdapter, ValidationError
    from pydantic_core import CoreSchema

Noun = TypeVar("Noun")
Data = dict[str, Any]

KIND = "kind"  #: by which the members of a union are told apart
_UNIONS = frozenset({typing.Union, types.UnionType})
#: By container: as what it is read, and by what it is made ready to be written.
_CONTAINERS: Mapping[Any, tuple[Any, Callable[[Any], object] | None]] = {
    tuple: (tuple, None),
    list: (list, None),
    dict: (dict, None),
    collections.abc.Mapping: (dict, dict),
    collections.abc.Sequence: (tuple, tuple),
    frozenset: (frozenset, sorted),
}
_MOST = 5  # flaws that an error names


def to_data(value: object, type_: object = None) -> Any:  # noqa: ANN401  whatever JSON can hold
    """A noun as JSON-ready data; a member of a union, or a list of nouns, needs its `type_`."""
    return adapter(type_ or type(value)).dump_python(value, mode="json", warnings=False)


def to_json(value: object, type_: object = None) -> bytes:
    """A noun as JSON in UTF-8; a member of a union, or a list of nouns, needs its `type_`."""
    return adapter(type_ or type(value)).dump_json(value, warnings=False)


@overload
def from_data(type_: type[Noun], data: object) -> Noun: ...


@overload
def from_data(type_: Any, data: object) -> Any: ...  # noqa: ANN401  a union is no type for mypy


def from_data(type_: Any, data: object) -> Any:
    """The noun that decoded JSON describes.

    Raises:
        InvalidJson: a field is missing, or has a value that it cannot have.
    """
    from pydantic import ValidationError  # noqa: PLC0415  on first use

    try:
        return adapter(type_).validate_python(data)
    except ValidationError as exc:
        raise _invalid(type_, exc) from exc


@overload
def from_json(type_: type[Noun], content: bytes | str) -> Noun: ...


@overload
def from_json(type_: Any, content: bytes | str) -> Any: ...  # noqa: ANN401  as above


def from_json(type_: Any, content: bytes | str) -> Any:
    """The noun that a JSON text describes.

    Raises:
        InvalidJson: it is no JSON, a field is missing, or one has a value that it cannot have.
    """
    from pydantic import ValidationError  # noqa: PLC0415  on first use

    try:
        return adapter(type_).validate_json(content)
    except ValidationError as exc:
        raise _invalid(type_, exc) from exc


def schema(type_: object) -> Data:
    """The JSON schema of a noun as it is written."""
    return adapter(type_).json_schema(mode="serialization")


@cache
def adapter(type_: Any) -> TypeAdapter[Any]:  # noqa: ANN401  a type, a union, a list of nouns
    """What reads and writes a type; made once."""
    from pydantic import TypeAdapter  # noqa: PLC0415  on first use

    return TypeAdapter(annotation(type_))


def kind_of(type_: type) -> str:
    """What a member of a union is called under `kind`: `AlreadyKnown` is `already_known`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type_.__name__).lower()


def annotation(hint: Any) -> Any:  # noqa: ANN401  annotations have no common type
    """A type as Pydantic is to see it, so that a model of a framework may hold nouns."""
    if is_noun(hint):
        return Annotated[hint, _NounSchema(hint, tag=None)]
    if hint is datetime:
        return _moment()
    if hint is bytes:
        return _base64()
    if isinstance(hint, type) and issubclass(hint, MindError):
        return Annotated[hint, _ErrorSchema()]
    origin = typing.get_origin(hint)
    if origin is Annotated:
        return Annotated[(annotation(hint.__origin__), *hint.__metadata__)]
    return hint if origin is None else _generic(hint, origin, typing.get_args(hint))


def _generic(hint: Any, origin: Any, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """A container of nouns, or a union of them."""
    if origin in _UNIONS:
        return _union(arguments)
    if origin not in _CONTAINERS:
        return hint
    held, write = _CONTAINERS[origin]
    items = tuple(each if each is ... else annotation(each) for each in arguments)
    known = held[(*items, ...) if origin is collections.abc.Sequence else items]
    if write is None:
        return known
    from pydantic import PlainSerializer  # noqa: PLC0415  on first use

    # A set is written as a list, in order.
    written: Any = list.__class_getitem__(items) if write is sorted else known
    return Annotated[known, PlainSerializer(write, return_type=written)]


def is_noun(hint: object) -> TypeGuard[type]:
    """Whether a type is a dataclass or a named tuple."""
    return isinstance(hint, type) and (
        dataclasses.is_dataclass(hint) or (issubclass(hint, tuple) and hasattr(hint, "_fields"))
    )


def _union(members: Iterable[Any]) -> Any:  # noqa: ANN401
    """A union whose nouns, where there are several, are told apart by their kind."""
    members = [*members]
    nouns = [each for each in members if is_noun(each)]
    if len(nouns) < 2:  # noqa: PLR2004  nothing to tell apart
        return reduce(or_, map(annotation, members))
    others = [annotation(each) for each in members if each not in nouns]
    return reduce(or_, others, Annotated[Any, _UnionSchema(tuple(nouns))])


class _Field(NamedTuple):
    """A field of a noun that takes part in its JSON."""

    name: str
    hint: Any
    default: Any  #: `dataclasses.MISSING` when there is none
    factory: Any


class _NounSchema:
    """Says how Pydantic reads and writes one noun."""

    def __init__(self, noun: type, tag: str | None) -> None:
        self._noun = noun
        self._tag = tag

    def __get_pydantic_core_schema__(self, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        if self._tag is None and dataclasses.is_dataclass(self._noun):
            return self._dataclass(handler)
        return self._object(handler)

    def _dataclass(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A dataclass is read from its attributes, without a call of ours."""
        from pydantic_core import core_schema as core  # noqa: PLC0415  on first use

        fields = [
            core.dataclass_field(each.name, _schema_of(each, handler), kw_only=True)
            for each in _fields(self._noun)
        ]
        sent = {each["name"] for each in fields}
        unsent = [each for each in dataclasses.fields(self._noun) if each.name not in sent]
        fields += [
            core.dataclass_field(
                each.name,
                _with_default(core.any_schema(), each.default, each.default_factory),
                init=False,
                serialization_exclude=True,
            )
            for each in unsent
        ]
        return core.dataclass_schema(
            self._noun,
            core.dataclass_args_schema(
                self._noun.__name__,
                fields,
                computed_fields=[
                    core.computed_field(name, handler.generate_schema(annotation(hint)))
                    for name, hint in _properties(self._noun)
                ],
            ),
            [each["name"] for each in fields],
            slots=True,
            frozen=True,
            post_init=hasattr(self._noun, "__post_init__"),
            ref=self._ref,
            metadata=self._words,
        )

    def _object(self, handler: GetCoreSchemaHandler) -> CoreSchema:
        """A named tuple, or a member of a union: an object that is made and taken apart by us."""
        from pydantic_core import core_schema as core  # noqa: PLC0415  on first use

        noun, tag = self._noun, self._tag
        described = [*_fields(noun)]
        names = [each.name for each in described]
        properties = [*_properties(noun)]
        known = core.literal_schema([tag])
        kind = {} if tag is None else {KIND: core.typed_dict_field(known, required=True)}
        if kind and KIND in names:
            raise TypeError(f"{noun.__name__} is in a union and has a field called {KIND!r}")
        read = kind | {
            each.name: core.typed_dict_field(
                _schema_of(each, handler), required=each.default is dataclasses.MISSING
            )
            for each in described
        }
        written = read | {
            name: core.typed_dict_field(handler.generate_schema(annotation(hint)))
            for name, hint in properties
        }
        shown = [*names, *(name for name, _ in properties)]

        def make(data: Data) -> object:
            data.pop(KIND, None) if tag else None
            return noun(**data)

        def parts(value: object) -> Data:
            data = {} if tag is None else {KIND: tag}
            return data | {name: getattr(value, name) for name in shown}

        return core.no_info_after_validator_function(
            make,
            core.typed_dict_schema(read, cls_name=noun.__name__),
            serialization=core.plain_serializer_function_ser_schema(
                parts,
                return_schema=core.typed_dict_schema(
                    written, cls_name=noun.__name__, metadata=self._words
                ),
            ),
            ref=self._ref,
            metadata=self._words,
        )

    @property
    def _ref(self) -> str:
        member = "" if self._tag is None else f"-{self._tag}"
        return f"{self._noun.__module__}.{self._noun.__qualname__}:{id(self._noun)}{member}"

    @property
    def _words(self) -> Data:
        doc = (self._noun.__doc__ or "").partition("\n")[0]
        return {"pydantic_js_updates": {"title": self._noun.__name__, "description": doc}}


class _UnionSchema:
    """Says how Pydantic reads and writes one of several nouns."""

    def __init__(self, nouns: tuple[type, ...]) -> None:
        self._nouns = nouns

    def __get_pydantic_core_schema__(self, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema as core  # noqa: PLC0415  on first use

        kinds = {noun: kind_of(noun) for noun in self._nouns}

        def kind(value: object) -> object:
            if isinstance(value, Mapping):
                return value.get(KIND)
            return kinds.get(type(value))

        choices = {
            tag: handler.generate_schema(Annotated[Any, _NounSchema(noun, tag)])
            for noun, tag in kinds.items()
        }
        return core.tagged_union_schema(choices, kind)


def _moment() -> Any:  # noqa: ANN401
    """A time with its zone, which is UTC from then on."""
    from pydantic import AfterValidator, AwareDatetime  # noqa: PLC0415  on first use

    return Annotated[AwareDatetime, AfterValidator(_in_utc)]


def _in_utc(time: datetime) -> datetime:
    try:
        return time if time.tzinfo is UTC else time.astimezone(UTC)
    except OverflowError:
        raise ValueError("in UTC it is not in the years 1 to 9999") from None


class _ErrorSchema:
    """Says how Pydantic reads and writes an error: its code, its message and its hint."""

    def __get_pydantic_core_schema__(self, _: object, __: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema as core  # noqa: PLC0415  on first use

        def make(data: Mapping[str, str]) -> MindError:
            known = error_of(data["code"]) or MindError  # which one of an unknown code is
            return known(data["message"], hint=data["hint"])

        text = core.typed_dict_field(core.str_schema(), required=True)
        parts = core.typed_dict_schema(dict.fromkeys(("code", "message", "hint"), text))
        return core.no_info_after_validator_function(
            make,
            parts,
            serialization=core.plain_serializer_function_ser_schema(
                lambda error: {"code": error.code, "message": error.message, "hint": error.hint},
                return_schema=parts,
            ),
        )


def _base64() -> Any:  # noqa: ANN401
    """Bytes, written as base64 wherever they stand: a configuration does not reach every place."""
    from pydantic import BeforeValidator, PlainSerializer  # noqa: PLC0415  on first use

    def read(value: object) -> object:
        if not isinstance(value, str):
            return value
        return base64.b64decode(value, altchars=b"-_", validate=True)

    def written(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).decode()

    return Annotated[bytes, BeforeValidator(read), PlainSerializer(written)]


def error_of(code: str) -> type[MindError] | None:
    """The error that a code names, if this release knows it."""
    return _errors_by_code().get(code)


@cache
def _errors_by_code() -> Mapping[str, type[MindError]]:
    known = [getattr(errors, name) for name in errors.__all__]
    return {each.code: each for each in known}


def _fields(noun: type) -> Iterable[_Field]:
    """The fields of a noun that take part in its JSON, in their order."""
    hints = typing.get_type_hints(noun, include_extras=True)
    missing = dataclasses.MISSING
    if dataclasses.is_dataclass(noun):
        for each in dataclasses.fields(noun):
            if each.metadata.get("sent", True):
                yield _Field(each.name, hints[each.name], each.default, each.default_factory)
        return
    defaults = noun._field_defaults  # type: ignore[attr-defined]
    for name in noun._fields:  # type: ignore[attr-defined]
        yield _Field(name, hints[name], defaults.get(name, missing), missing)


def _properties(noun: type) -> Iterable[tuple[str, Any]]:
    """The properties of a noun that belong to its JSON, with their types."""
    for base in noun.__mro__:
        for name, value in vars(base).items():
            if isinstance(value, property) and hasattr(value.fget, "in_json"):
                yield name, typing.get_type_hints(value.fget)["return"]


def _schema_of(field: _Field, handler: GetCoreSchemaHandler) -> CoreSchema:
    inner = handler.generate_schema(annotation(field.hint))
    return _with_default(inner, field.default, field.factory)


def _with_default(inner: CoreSchema, default: object, factory: object) -> CoreSchema:
    from pydantic_core import core_schema as core  # noqa: PLC0415  on first use

    if default is not dataclasses.MISSING:
        return core.with_default_schema(inner, default=default)
    if factory is not dataclasses.MISSING:
        return core.with_default_schema(inner, default_factory=factory)  # type: ignore[arg-type]
    return inner


def _invalid(type_: object, exc: ValidationError) -> InvalidJson:
    """What is wrong with which field, in one sentence."""
    name = type_.__name__ if isinstance(type_, type) else "value"
    flaws = exc.errors(include_url=False)
    told = "; ".join(
        f"{'.'.join(map(str, flaw['loc'])) or 'the whole'}: {wrong(flaw, shortened(flaw['input']))}"
        for flaw in flaws[:_MOST]
    )
    more = f"; and {len(flaws) - _MOST} more" if len(flaws) > _MOST else ""
    return InvalidJson(f"this is not a {name}: {told}{more}")
