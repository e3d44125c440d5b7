"""Writes src/api.ts: the types and the methods of every verb, from the OpenAPI of the server."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import MindError
from bearinmind.models.server_calls import LASTING, TURNED_AWAY
from bearinmind.surfaces.http import app
from bearinmind.surfaces.verbs.table import EVERY_VERB
from bearinmind.surfaces.verbs.verb import Verb
from bearinmind.testing import TemporaryStore
from bearinmind.types import Access

FILE = Path(__file__).parent / "src/api.ts"

_REPEATABLE = ("GET", "PUT", "DELETE")  # and what only reads, though it is a POST
_PLAIN = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}
#: By header: the field of the request that it is made of, with its type.
_HEADERS = {
    "Idempotency-Key": ("idempotency_key", "string"),
    "If-Match": ("expected_version", "number"),
}
_HEADING = """\
// Made by generate.py from the OpenAPI of the server: `make typescript` makes it again.
"""


def generated() -> str:
    """The text of src/api.ts."""
    with Mind(TemporaryStore(), Settings()) as mind:
        document = app.build(mind, mind.settings).openapi()
    schemas = document["components"]["schemas"]
    operations = [Operation(verb, document) for verb in EVERY_VERB]
    parts = [
        _HEADING,
        *(_declared(name, schemas[name]) for name in _reached(operations, schemas)),
        *(operation.request_type() for operation in operations),
        _table(operations),
        _codes("LASTING", "Errors that last until somebody sees to it.", LASTING),
        _codes("TURNED_AWAY", "Errors by which a server turns a call away.", TURNED_AWAY),
        _class(operations),
    ]
    return "\n".join(parts)


class Operation:
    """A verb as OpenAPI describes it."""

    def __init__(self, verb: Verb, document: Mapping[str, Any]) -> None:
        self.verb = verb
        described = document["paths"][f"/api/v1{verb.path}"][verb.method.lower()]
        self.parameters: list[dict[str, Any]] = described.get("parameters", [])
        body = described.get("requestBody", {}).get("content", {}).get("application/json", {})
        self.body: dict[str, Any] | None = body.get("schema")
        good = described["responses"][str(int(verb.status))]
        self.answer: dict[str, Any] = good["content"]["application/json"]["schema"]

    @property
    def method(self) -> str:
        """The name of its method: `why_not` is `whyNot`."""
        return _camel(self.verb.name.rpartition(".")[2])

    @property
    def type_name(self) -> str:
        """The name of the type of its request."""
        return "".join(part.capitalize() for part in re.split(r"[._]", self.verb.name)) + "Call"

    @property
    def is_optional(self) -> bool:
        """Whether it can be called without a request."""
        required = any(each.get("required") for each in self.parameters)
        return not required and (
            self.body is None or self.verb.example is None or not _required(self)
        )

    def fields(self) -> Iterator[str]:
        """The fields of its request beside those of its body."""
        for each in self.parameters:
            name = each["name"]
            if each["in"] == "header":
                if name in _HEADERS:
                    yield _field(
                        _HEADERS[name][0], _HEADERS[name][1], each.get("description"), False
                    )
            else:
                yield _field(name, _type(each["schema"]), each.get("description"), each["required"])

    def request_type(self) -> str:
        """The declaration of the type of its request."""
        own = "\n".join(self.fields())
        inner = f"{{\n{own}\n}}" if own else "{}"
        whole = f"{_type(self.body)} & {inner}" if self.body and own else _type(self.body or {})
        if not self.body:
            whole = inner if own else "Record<string, never>"
        return f"/** {self.verb.says} */\nexport type {self.type_name} = {whole};\n"

    def row(self) -> str:
        """Where the fields of its request go."""
        placed = defaultdict(list)
        for each in self.parameters:
            placed[each["in"]].append(each["name"])
        headers = {name: _HEADERS[name][0] for name in placed["header"] if name in _HEADERS}
        verb = self.verb
        repeatable = verb.access is Access.READ or verb.method in _REPEATABLE
        row: dict[str, Any] = {"method": verb.method, "path": verb.path, "query": placed["query"]}
        row |= {"headers": headers, "repeatable": repeatable}
        return f"  {json.dumps(verb.name)}: {json.dumps(row)},"

    def declaration(self, indent: str, call: str) -> str:
        """Its method."""
        given = f"request: {self.type_name}" + (" = {}" if self.is_optional else "")
        return (
            f"{indent}/** {self.verb.says} */\n"
            f"{indent}{self.method}({given}): Promise<{_type(self.answer)}> {{\n"
            f"{indent}  return {call}({json.dumps(self.verb.name)}, request);\n{indent}}}"
        )


def _required(operation: Operation) -> bool:
    return any(
        info.is_required()
        for name, info in operation.verb.request.model_fields.items()
        if name not in operation.verb.headers.values()
    )


def _table(operations: list[Operation]) -> str:
    rows = "\n".join(operation.row() for operation in operations)
    return (
        "/** How each verb is asked for over HTTP. */\n"
        f"export const OPERATIONS: Record<string, Operation> = {{\n{rows}\n}};\n\n"
        "export interface Operation {\n  method: string;\n  path: string;\n  query: string[];\n"
        "  headers: Record<string, string>;\n  repeatable: boolean;\n}\n"
    )


def _codes(name: str, says: str, kinds: tuple[type[MindError], ...]) -> str:
    every = [each for _, each in inspect.getmembers(errors, inspect.isclass)]
    codes = sorted({each.code for each in every if issubclass(each, kinds)})
    return f"/** {says} */\nexport const {name}: readonly string[] = {json.dumps(codes)};\n"


def _class(operations: list[Operation]) -> str:
    """The class with a method for each verb, and a group for each group of verbs."""
    groups: dict[str, list[Operation]] = defaultdict(list)
    for operation in operations:
        groups[operation.verb.name.rpartition(".")[0]].append(operation)
    lines = [
        "/** A method for every verb; `call` asks the server. */",
        "export abstract class Verbs {",
        "  protected abstract call<Answer>(name: string, request: object): Promise<Answer>;",
        *(each.declaration("  ", "this.call") for each in groups.pop("")),
    ]
    for group, members in groups.items():
        lines.append(f"  /** The verbs of {group}. */\n  get {group}() {{")
        lines.append("    const call = <Answer>(name: string, request: object): Promise<Answer> =>")
        lines.append("      this.call<Answer>(name, request);\n    return {")
        lines += [f"{each.declaration('      ', 'call')}," for each in members]
        lines.append("    };\n  }")
    return "\n".join([*lines, "}", ""])


# ---- schemas -------------------------------------------------------------------------------------


def _reached(operations: list[Operation], schemas: Mapping[str, Any]) -> list[str]:
    """The names of the schemas that the operations need."""
    waiting = [part for each in operations for part in (each.body, each.answer, each.parameters)]
    names: set[str] = set()
    while waiting:
        new = {*re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(waiting.pop()))} - names
        names |= new
        waiting += [schemas[name] for name in new]
    return sorted(names)


def _declared(name: str, schema: Mapping[str, Any]) -> str:
    says = schema.get("description")
    heading = f"/** {' '.join(says.split())} */\n" if says else ""
    if schema.get("type") == "object" and "properties" in schema:
        required = schema.get("required", ())
        fields = [
            _field(field, _type(each), each.get("description"), field in required)
            for field, each in schema["properties"].items()
        ]
        return f"{heading}export interface {_name(name)} {{\n" + "\n".join(fields) + "\n}\n"
    return f"{heading}export type {_name(name)} = {_type(schema)};\n"


def _field(name: str, type_: str, says: str | None, required: bool) -> str:
    heading = f"  /** {' '.join(says.split())} */\n" if says else ""
    return f"{heading}  {name}{'' if required else '?'}: {type_};"


def _type(schema: Mapping[str, Any]) -> str:  # noqa: PLR0911  one for each form of a schema
    """A schema as a type of TypeScript."""
    if "$ref" in schema:
        return _name(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    for choice, joint in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if choice in schema:
            return joint.join(dict.fromkeys(map(_type, schema[choice])))
    kind = schema.get("type")
    if kind == "array":
        if "prefixItems" in schema:
            return f"[{', '.join(map(_type, schema['prefixItems']))}]"
        return f"({_type(schema.get('items', {}))})[]"
    if kind == "object":
        inner = schema.get("additionalProperties")
        return f"Record<string, {_type(inner) if isinstance(inner, dict) else 'unknown'}>"
    return "null" if kind == "null" else _PLAIN.get(str(kind), "unknown")


def _name(name: str) -> str:
    return re.sub(r"\W", "", name)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


if __name__ == "__main__":
    text = generated()
    if "--check" in sys.argv:
        sys.exit(0 if FILE.read_text(encoding="utf-8") == text else f"{FILE} is not current")
    FILE.write_text(text, encoding="utf-8")
