"""How stores are named, and that no text made of a name has its password."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

import pydantic_core
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from bearinmind import errors
from bearinmind.config import Configuration, Settings, store_name
from bearinmind.store.factory import open_store
from bearinmind.text.addresses import (
    EmbeddedStore,
    StoreFile,
    StoreName,
    StoreServer,
    absolute,
    complete,
    fingerprint,
)

PASSWORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=6)
PLACE = "postgresql://ada@db.example:5432/memories"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("memories.db", StoreFile(Path("memories.db"))),
        ("/data/postgres", StoreFile(Path("/data/postgres"))),
        ("./postgres", StoreFile(Path("postgres"))),
        ("postgres", EmbeddedStore(None)),
        ("postgres:/data/pg", EmbeddedStore(Path("/data/pg"))),
        ("postgres:pg", EmbeddedStore(Path("pg"))),
    ],
)
def test_a_text_names_a_file_or_an_embedded_server(text: str, expected: StoreName) -> None:
    assert store_name(text) == expected
    assert store_name(complete(expected)) == absolute(expected)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgres://h", "postgresql://h"),
        ("postgresql:///db", "postgresql:///db"),
        ("postgresql://ada:pw@h:5432/db", "postgresql://ada@h:5432/db"),
        ("postgresql://ada:p:w@h/db?password=x&sslpassword=y", "postgresql://ada@h/db"),
        ("postgresql://ada@[::1]:5432/db", "postgresql://ada@[::1]:5432/db"),
        ("postgresql://%2Frun%2Fpg/db", "postgresql://%2Frun%2Fpg/db"),
        (
            "postgresql://ada:pw@a:1,b:2,c/db?target_session_attrs=read-write",
            "postgresql://ada@a:1,b:2,c/db?target_session_attrs=read-write",
        ),
    ],
)
def test_a_url_names_a_server_and_is_shown_without_its_password(url: str, shown: str) -> None:
    name = store_name(url)
    assert isinstance(name, StoreServer)
    assert (name.address, str(name)) == (url, shown)


@pytest.mark.parametrize(
    "text",
    [
        "mysql://ada:hunter2@h/db",
        "sqlite:///memories.db",
        "postgresql",
        "postgresql:/data",
        "postgres:",
        "host=h password=hunter2",
        "postgresql://ada:hunter2/x@h/db",
        "postgresql://ada:hunter2?x=y@h/db",
        "postgresql://ada:hunter2#@h/db",
        "postgresql://ada:hunter2%@h/db",
        "postgresql://ada:hunter2%00@h/db",
        "postgresql://ada:hunter2@h@i/db",
        "postgresql://ada:hunter2@h:port/db",
        "postgresql://ada@h/db?password=hunter2=",
        "postgresql://ada@h/db?hunter2",
        "postgresql://ada:hun ter2@h/db",
    ],
)
def test_what_names_no_store_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(errors.InvalidSetting) as refused:
        store_name(text)
    assert "hunter2" not in refused.value.message + refused.value.hint
    assert "postgres" in refused.value.hint


def test_the_home_of_the_user_may_be_left_to_be_filled_in() -> None:
    assert store_name("~/m.db") == StoreFile(Path.home() / "m.db")
    assert store_name("postgres:~/pg") == EmbeddedStore(Path.home() / "pg")
    with pytest.raises(errors.InvalidSetting, match="nobody-of-this-name"):
        store_name("~nobody-of-this-name/m.db")


def test_a_path_names_a_file_whatever_it_is_called() -> None:
    assert store_name(Path("postgres")) == StoreFile(Path("postgres"))


@given(PASSWORDS, PASSWORDS)
@example("hunter2!", "password")
def test_no_text_made_of_a_name_has_its_password(password: str, other: str) -> None:
    quoted = [quote(each, safe="") for each in (password, other)]
    url = f"postgresql://ada:{quoted[0]}@db.example:5432/memories?sslpassword={quoted[1]}"
    settings = Settings.model_validate({"store": url, "replica": url})
    said = [
        *(say(name) for say in (str, repr, ascii) for name in (settings.store, settings)),
        str(settings.model_dump()),
        settings.model_dump_json(),
        pydantic_core.to_json(settings.store).decode(),
        str(settings.beside),
    ]
    plain = Settings.model_validate({"store": PLACE, "replica": PLACE})
    for each in (password, other, *quoted):
        assume(each not in f"{plain!r}{plain.model_dump()}{plain.model_dump_json()}**********")
        assert not [text for text in said if each in text and each not in str(plain.beside)]
    assert str(settings.store) == PLACE
    assert settings.store == StoreServer.at(url)


def test_whoever_knows_another_password_finds_the_same_things_on_this_machine() -> None:
    names = [
        *map(store_name, (PLACE, PLACE.replace("ada@", "ada:a@"), PLACE.replace("ada@", "ada:b@")))
    ]
    assert len({*map(fingerprint, names)}) == 1
    assert fingerprint(store_name("postgresql://ada@db.example:5432/others")) != fingerprint(
        names[0]
    )


def test_a_name_can_be_made_to_hold_in_every_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute(store_name("m.db")) == StoreFile(tmp_path / "m.db")
    assert absolute(store_name("postgres:pg")) == EmbeddedStore(tmp_path / "pg")
    assert absolute(store_name("postgres")) == EmbeddedStore(None)
    assert absolute(store_name(PLACE)) == store_name(PLACE)


def test_settings_take_a_store_of_any_kind_from_every_source(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'store = "{PLACE}"\nreplica = "{PLACE}"\nreplica_staleness = 2\n')
    by_file = Configuration.load(environment={}, file=file).settings
    by_variable = Configuration.load(environment={"BEARINMIND_STORE": "postgres"}).settings
    by_option = Configuration.load({"store": "postgres:/pg"}, environment={}).settings
    assert by_file.store == by_file.replica == store_name(PLACE)
    assert by_variable.store == EmbeddedStore(None)
    assert by_option.store == EmbeddedStore(Path("/pg"))


def test_a_replica_is_a_server() -> None:
    for text in ("replica.db", "postgres"):
        with pytest.raises(errors.InvalidSetting):
            Configuration.load({"replica": text}, environment={})


def test_without_the_driver_the_extra_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(errors.MissingExtra) as missing:
        open_store(store_name(PLACE))
    assert "pip install 'bearinmind[postgres]'" in missing.value.hint


def test_an_embedded_server_is_not_installed_for_who_only_looks(tmp_path: Path) -> None:
    folder = tmp_path / "pg"
    with pytest.raises(errors.FileMissing, match="there is no store"):
        open_store(EmbeddedStore(folder), create=False)
    assert not folder.exists()
