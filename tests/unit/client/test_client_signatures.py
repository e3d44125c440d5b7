"""What a client can be given, and that each has the verbs of a memory in this process."""

from __future__ import annotations

import dataclasses
import inspect
import logging
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from bearinmind import AsyncClient, Client, Mind, connect, errors
from bearinmind.surfaces.verbs.table import EVERY_VERB
from bearinmind.surfaces.verbs.verb import MadeOfResult, Verb
from support.clients import ID, KEY, MEMORIES, WHOLE
from support.faulty_server import FaultyServer, says


def test_the_key_is_in_no_repr_no_log_and_no_error(
    server: FaultyServer, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.always = says(f"you sent {KEY}", 403)

    with pytest.raises(errors.NotAllowed) as caught:
        client.get(ID)
    told = f"{client!r} {caught.value!r} {caught.value.hint} {caplog.text}"
    assert KEY not in told
    assert server.url in repr(client)
    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8377",
        "ftp://localhost",
        "http://",
        "http://local host",
        "http://localhost:port",
        "http://ada:hunter2@localhost",
        "http://localhost?key=hunter2",
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_address_that_is_none_is_refused_without_its_password(kind: Any, url: str) -> None:
    with pytest.raises(errors.InvalidSetting) as caught:
        kind(url)
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    "options",
    [
        {"key": "clé"},
        {"key": "a\nb"},
        {"timeout": 0},
        {"retries": -1},
        {"retries": "x"},
        {"patience": float("nan")},
    ],
)
def test_what_a_client_cannot_use_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidSetting):
        Client("http://localhost", **options)


def test_a_client_of_the_server_that_the_settings_name(
    server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["GET", f"{MEMORIES}/{ID}"] = WHOLE
    with pytest.raises(errors.InvalidSetting, match="no server is named"):
        connect()
    monkeypatch.setenv("BEARINMIND_SERVER", server.url)
    monkeypatch.setenv("BEARINMIND_SERVER_KEY", KEY)

    with connect(retries=0) as client:
        client.get(ID)
    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.fixture(scope="module")
def mind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mind]:
    store: Path = tmp_path_factory.mktemp("here") / "memories.db"
    with Mind.open(store, embedder="none", worker="off") as opened:
        yield opened


#: By verb: arguments that a memory in this process takes, and a server does not.
ONLY_HERE = {
    "recall": {"boost"},  # a function cannot be sent
    "why_not": {"boost"},
    "learn": {"said_at", "inbox"},  # for the import of conversations, which runs beside the store
    "secrets.reveal": {"agent"},  # the key says who asks
    "accounts.audit": {"everybody"},  # a key with admin access is for everybody's
}


@pytest.mark.parametrize("verb", [verb.name for verb in EVERY_VERB])
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_verb_takes_the_arguments_of_a_memory_in_this_process(
    kind: Any, verb: str, mind: Mind
) -> None:
    here = inspect.signature(attrgetter(verb)(mind)).parameters
    there = inspect.signature(attrgetter(verb)(kind("http://localhost"))).parameters

    assert [*there] == [name for name in here if name not in ONLY_HERE.get(verb, ())]
    for name in there:
        assert here[name].default == there[name].default, name
        assert here[name].kind == there[name].kind, name


@pytest.mark.parametrize(
    "verb", [each for each in EVERY_VERB if not each.function], ids=lambda v: v.name
)
def test_a_row_without_a_function_describes_the_method_of_mind(verb: Verb, mind: Mind) -> None:
    method = attrgetter(verb.name)(mind)
    signature = inspect.signature(method)

    called = {verb.request.called.get(field, field) for field in verb.request.model_fields} - {""}
    assert signature.bind(**dict.fromkeys(called))
    returned = signature.return_annotation
    if not (isinstance(verb.gives, type) and issubclass(verb.gives, MadeOfResult)):
        assert getattr(inspect.getmodule(method), returned) == verb.gives
    elif "of" in vars(verb.gives):
        [_, result, *_] = inspect.signature(verb.gives.of).parameters.values()
        assert result.annotation == returned.rpartition(".")[2]
    else:
        [only] = dataclasses.fields(verb.gives)
        assert (
            f"tuple[{returned[len('Sequence[') : -1]}, ...]".replace("requests.", "") == only.type
        )


def test_both_clients_have_the_same_verbs() -> None:
    plain = {name for name in dir(Client) if name[0] != "_"} - {"close"}
    awaited = {name for name in dir(AsyncClient) if name[0] != "_"} - {"aclose"}

    assert plain == awaited
