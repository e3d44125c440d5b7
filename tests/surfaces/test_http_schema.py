"""The OpenAPI says what is true: schemathesis asks everything that it allows, and what it does not.

`make bench-server` asks more than twice as much.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bearinmind.surfaces.http.routes import Parts
from bearinmind.surfaces.verbs.table import EVERY_VERB
from bearinmind.surfaces.verbs.verb import Verb
from support.http_server import serving
from support.schemathesis_run import run_schemathesis


@pytest.mark.long(seconds=25)
def test_a_server_answers_as_its_openapi_says(tmp_path: Path) -> None:
    # It tries hundreds of keys that are not good, and is not to be told to wait.
    with serving(
        tmp_path / "served.db", request_bytes=100_000, key_failures_per_minute=10_000
    ) as server:
        server.key("ada")
        done = run_schemathesis(server, tmp_path, examples=3)

    assert done.passed, done.told
    assert done.cases > 1_000


def test_the_openapi_is_the_same_with_and_without_a_key(tmp_path: Path) -> None:
    with serving(tmp_path / "served.db") as server:
        server.key("ada")
        first, second = (
            client.get("/openapi.json").text for client in (server.client(), server.client("ada"))
        )
    assert first == second
    operations = {
        operation["operationId"]: operation
        for path in json.loads(first)["paths"].values()
        for operation in path.values()
    }
    for verb in EVERY_VERB:
        operation = operations[verb.operation]
        assert operation["summary"] == verb.says
        assert {"200", "201"} & {*operation["responses"]}
        assert operation["security"]


@pytest.mark.parametrize("verb", EVERY_VERB, ids=lambda verb: verb.name)
def test_every_body_has_an_example_that_its_verb_takes(verb: Verb) -> None:
    parts = Parts(verb)
    assert (verb.example is not None) == parts.has_body
    if verb.example is not None:
        parts.model.model_validate_json(json.dumps(verb.example), strict=True)
