from __future__ import annotations

from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.config import PREFIX, Configuration, Settings, default_file, with_setting
from bearinmind.remember.admit import BASE_CATEGORIES, CONTENT_LIMIT


def origins(configuration: Configuration) -> dict[str, str]:
    return {origin.name: origin.origin for origin in configuration.origins}


def test_without_any_source_every_setting_is_the_default() -> None:
    configuration = Configuration.load(environment={})
    assert configuration.settings == Settings()
    assert {*origins(configuration).values()} == {"default"}


def test_the_defaults_agree_with_the_rules() -> None:
    assert Settings().content_limit == CONTENT_LIMIT
    assert Settings().categories == BASE_CATEGORIES
    assert str(Settings().store).endswith("memories.db")


def test_every_setting_is_described() -> None:
    configuration = Configuration.load(environment={})
    assert {origin.name for origin in configuration.origins} == {*Settings.model_fields}
    assert all(origin.description.endswith(".") for origin in configuration.origins)


def test_an_option_beats_the_environment_beats_the_file_beats_the_default(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('user = "file"\nlimit = 3\npool = 30\n')
    configuration = Configuration.load(
        {"user": "option", "store": None},
        environment={"BEARINMIND_USER": "environment", "BEARINMIND_LIMIT": "4"},
        file=file,
    )
    settings = configuration.settings
    assert (settings.user, settings.limit, settings.pool) == ("option", 4, 30)
    told = origins(configuration)
    assert (told["user"], told["limit"]) == ("option", "environment")
    assert told["pool"] == f"file {file}"
    assert told["store"] == "default"


def test_the_environment_names_the_file(tmp_path: Path) -> None:
    file = tmp_path / "elsewhere.toml"
    file.write_text("limit = 7")
    configuration = Configuration.load(environment={"BEARINMIND_CONFIG": str(file)})
    assert configuration.settings.limit == 7


def test_the_default_file_is_read_when_it_is_there() -> None:
    assert Configuration.load(environment={}).settings.limit == 10
    default_file().parent.mkdir(parents=True)
    default_file().write_text('limit = 6\ndecay_days = { a = 30.0 }\ncategories = ["a", "b"]\n')
    settings = Configuration.load(environment={}).settings
    assert (settings.limit, settings.decay_days) == (6, {"a": 30.0})
    assert settings.categories == ("a", "b")


def test_lists_and_tables_come_from_the_environment_too() -> None:
    settings = Configuration.load(
        environment={
            "BEARINMIND_CATEGORIES": "facts, lab notes ,",
            "BEARINMIND_DECAY_DAYS": "{ facts = 30.0 }",
            "BEARINMIND_BUDGET_BYTES": "800",
        }
    ).settings
    assert settings.categories == ("facts", "lab notes")
    assert settings.decay_days == {"facts": 30.0}
    assert settings.budget_bytes == 800


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("limit", "0"),
        ("limit", "many"),
        ("pool", "10001"),
        ("content_limit", "-1"),
        ("importance_weight", "1.5"),
        ("near_duplicates", "2"),
        ("busy_timeout", "-1"),
        ("budget_bytes", "-1"),
        ("user", ""),
        ("categories", " , "),
        ("decay_days", "{ facts = 0 }"),
        ("decay_days", "{ facts = -1.5 }"),
        ("decay_days", "{ facts = nan }"),
    ],
)
def test_a_bad_value_is_refused_with_its_name_and_origin(name: str, value: str) -> None:
    with pytest.raises(errors.InvalidSetting) as caught:
        Configuration.load(environment={PREFIX + name.upper(): value})
    assert name in caught.value.message
    assert "environment" in caught.value.message


def test_decay_is_given_for_configured_categories_only() -> None:
    with pytest.raises(errors.InvalidSetting, match="dreams"):
        Configuration.load({"decay_days": {"dreams": 3.0}}, environment={})


def test_a_refusal_shows_the_value() -> None:
    with pytest.raises(errors.InvalidSetting, match=r"limit = 0 \(from option\)"):
        Configuration.load({"limit": 0}, environment={})


def test_a_refusal_names_the_key_of_a_table_and_says_what_is_allowed() -> None:
    with pytest.raises(errors.InvalidSetting) as caught:
        Configuration.load(environment={"BEARINMIND_DECAY_DAYS": "{facts=-1}"})
    said = "decay_days.facts = -1 (from environment) is not allowed: it must be above 0"
    assert caught.value.message == said
    assert "`bearinmind config` lists every setting." in caught.value.hint
    with pytest.raises(errors.InvalidSetting, match=r"categories = .* it must not be empty"):
        Configuration.load(environment={"BEARINMIND_CATEGORIES": ""})
    with pytest.raises(errors.InvalidSetting, match="the name of the store is empty"):
        Configuration.load(environment={"BEARINMIND_STORE": ""})


def test_a_setting_of_a_command_is_said_to_be_of_it(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidSetting, match=r"'limti' \(from the command\)"):
        with_setting(tmp_path / "config.toml", "limti", "3")


def test_an_unknown_setting_of_the_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("limti = 3")
    with pytest.raises(errors.InvalidSetting, match=r"'limti' \(from file "):
        Configuration.load(environment={}, file=file)


def test_a_file_that_was_named_must_be_there_and_readable(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    with pytest.raises(errors.InvalidSetting, match=r"none\.toml"):
        Configuration.load(environment={}, file=missing)
    with pytest.raises(errors.InvalidSetting):
        Configuration.load(environment={}, file=tmp_path)
    broken = tmp_path / "broken.toml"
    broken.write_text("limit = ")
    with pytest.raises(errors.InvalidSetting, match="not valid TOML"):
        Configuration.load(environment={}, file=broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(errors.InvalidSetting):
        Configuration.load(environment={}, file=broken)
    with pytest.raises(errors.InvalidSetting, match="BEARINMIND_DECAY_DAYS"):
        Configuration.load(environment={"BEARINMIND_DECAY_DAYS": "{"})


def test_opening_takes_settings_as_keywords(tmp_path: Path) -> None:
    with Mind.open(tmp_path / "new" / "folder" / "m.db", user="eve", limit=3) as memory:
        assert (memory.scope.user, memory.settings.limit) == ("eve", 3)
    assert (tmp_path / "new" / "folder" / "m.db").exists()


def test_opening_without_a_path_uses_the_users_data_folder() -> None:
    with Mind.open() as memory:
        memory.store("walrus")
        assert memory.settings.store == Settings().store
        assert Path(str(Settings().store)).exists()


PROVIDER = {"oauth_issuers": ["https://id.example.org"]}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"oauth_issuers": ["id.example.org"]}, "no https address"),
        ({"oauth_issuers": ["http://id.example.org"]}, "no https address"),
        ({"oauth_issuers": ["https://id.example.org?tenant=1"]}, "no https address"),
        ({"oidc_client_id": "bearinmind"}, "names no provider"),
        (PROVIDER | {"oidc_create": True}, "oidc_domains or oidc_groups"),
        (
            {"oauth_issuers": ["https://a.org", "https://b.org"], "oidc_claim": "sub"},
            "one provider",
        ),
    ],
)
def test_providers_that_could_let_the_wrong_people_in_are_refused(
    settings: dict[str, object], said: str
) -> None:
    with pytest.raises(errors.InvalidSetting, match=said):
        Configuration.load(settings, environment={})


def test_a_provider_comes_from_the_environment_too() -> None:
    environment = {
        "BEARINMIND_OAUTH_ISSUERS": "http://127.0.0.1:9000",
        "BEARINMIND_OIDC_CLIENT_SECRET": "tusk",
        "BEARINMIND_OIDC_DOMAINS": "Example.org",
        "BEARINMIND_OIDC_CREATE": "true",
    }
    settings = Configuration.load(environment=environment).settings
    assert settings.oauth_issuers == ("http://127.0.0.1:9000",)
    assert settings.oidc_domains == ("example.org",)
    assert settings.oidc_create
    assert "tusk" not in repr(settings)
