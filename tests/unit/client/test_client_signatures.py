"""What a client can be given, and that each has the verbs of a memory in this process."""

from __future__ import annotations

import inspect
import logging
from typing import Any

import pytest

from bearinmind import AsyncClient, Client, Mind, connect, errors
from bearinmind.surfaces.verbs.table import EVERY_VERB
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
    [{"key": "clé"}, {"key": "a\nb"}, {"timeout": 0}, {"retries": -1}, {"patience": float("nan")}],
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


#: By verb: arguments that a memory in this process takes, and a server does not.
ONLY_HERE = {
    "secret_get": {"agent"},  # whoever asks a server is known by the key
    "audit_log": {"everybody"},  # a key with admin access is for everybody's
}
#: By verb: the other way round.
ONLY_THERE: dict[str, set[str]] = {}


@pytest.mark.parametrize("verb", [verb.name for verb in EVERY_VERB])
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_verb_takes_the_arguments_of_a_memory_in_this_process(kind: Any, verb: str) -> None:
    here = inspect.signature(getattr(Mind, verb)).parameters
    there = inspect.signature(getattr(kind, verb)).parameters

    assert {*here} - {*there} == ONLY_HERE.get(verb, set())
    assert {*there} - {*here} == ONLY_THERE.get(verb, set())
    for name in {*here} & {*there} - {"self"}:
        assert here[name].default == there[name].default, name
        assert here[name].kind == there[name].kind, name


def test_both_clients_have_the_same_verbs() -> None:
    plain = {name for name in vars(Client) if name[0] != "_"} - {"close"}
    awaited = {name for name in vars(AsyncClient) if name[0] != "_"} - {"aclose"}

    assert plain == awaited
