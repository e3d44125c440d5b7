"""The URL of a Postgres server is completed, and what is said of it names no password."""

from __future__ import annotations

import pytest
from psycopg.conninfo import conninfo_to_dict

from bearinmind.errors import InvalidSetting
from bearinmind.store.postgres.connection_pool import Connections, complete_url, place_of


def test_what_a_url_says_itself_holds() -> None:
    said = conninfo_to_dict(
        complete_url("postgresql://h/d?connect_timeout=77&application_name=mine")
    )
    assert (said["connect_timeout"], said["application_name"]) == ("77", "mine")
    assert said["keepalives_idle"] == "5"
    assert "target_session_attrs" not in said


def test_of_several_servers_the_one_that_leads_is_meant() -> None:
    said = conninfo_to_dict(complete_url("postgresql://one,two:5433/d"))
    assert said["target_session_attrs"] == "read-write"
    told = "postgresql://one,two/d?target_session_attrs=any"
    assert conninfo_to_dict(complete_url(told))["target_session_attrs"] == "any"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://ana:secret@one:5433,two:5434/memories", "one:5433, two:5434"),
        ("postgresql://ana:secret@/memories?host=one,two&port=5433", "one:5433, two:5433"),
        ("postgresql://ana:secret@one/memories", "one"),
        ("postgresql://ana:secret@/memories?host=/run/pg&port=5433", "/run/pg"),
        ("postgresql:///memories", "localhost"),
    ],
)
def test_a_place_has_neither_user_nor_password(url: str, place: str) -> None:
    assert place_of(url) == f"the database 'memories' at {place}"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ana:sec%zzret@host/d",
        "postgresql://ana:secret@ho st:port/d",
        "postgresql:/ana:secret@host/d",
        "postgresql://ana:secret@host:port/d?nonsense=1",
        "host=h password='secret",
        "ana:secret@host",
    ],
)
def test_a_wrong_url_is_refused_without_a_word_of_it(url: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        Connections(url, most=1, patience=1)
    said = f"{caught.value.message} {caught.value.hint}"
    assert "no URL of a Postgres server" in said
    assert "sec" not in said
    assert caught.value.__cause__ is None
