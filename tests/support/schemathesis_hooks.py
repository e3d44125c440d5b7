"""What schemathesis needs to know about this server; loaded by it, by SCHEMATHESIS_HOOKS."""

from __future__ import annotations

import json
from typing import Any

import schemathesis
from schemathesis.core.failures import Failure
from schemathesis.generation import GenerationMode


@schemathesis.serializer("application/x-ndjson")
def lines(ctx: schemathesis.SerializationContext, value: Any) -> bytes:
    """What is to be imported: texts are lines already."""
    return (
        value.encode("utf-8", "replace") if isinstance(value, str) else json.dumps(value).encode()
    )


@schemathesis.check
def what_the_schema_allows_is_read(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    """What the schema allows may be refused for what it means, and never for how it is said."""
    positive = case.meta is not None and case.meta.generation.mode is GenerationMode.POSITIVE
    if not positive or response.status_code not in (400, 415, 422):
        return
    told = response.json()
    if told["code"] == "invalid_request" and "`after`" not in told["detail"]:
        raise Failure(
            operation=case.operation.label,
            title="Refused for how it is said",
            message=told["detail"],
        )
