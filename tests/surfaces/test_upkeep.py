from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.surfaces.cli import demo as example
from bearinmind.surfaces.cli import terminal

Run = Callable[..., Any]


def test_config_shows_every_setting_and_its_origin(
    run: Run, place: Path, at_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = at_home / "config" / "bearinmind" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('limit = 7\ncategories = ["facts", "recipes"]\n[decay_days]\nfacts = 30\n')
    monkeypatch.setenv("BEARINMIND_POOL", "70")

    human = run("config").out
    answer = run("config", "--json").json

    settings = {item["name"]: item for item in answer["settings"]}
    assert set(settings) == set(Settings.model_fields)
    assert settings["store"]["value"] == str(place)
    assert settings["store"]["origin"] == "option"
    assert (settings["pool"]["value"], settings["pool"]["origin"]) == (70, "environment")
    assert (settings["limit"]["value"], settings["limit"]["origin"]) == (7, f"file {file}")
    assert settings["user"]["origin"] == "default"
    assert all(item["description"] for item in settings.values())
    assert answer["file"] == {"path": str(file), "exists": True}
    assert "facts, recipes" in human
    assert "facts 30" in human
    assert f"Configuration file: {file}\n" in human


def test_config_names_the_file_it_looked_for(run: Run, at_home: Path) -> None:
    out = run("config").out

    assert f"{at_home / 'config' / 'bearinmind' / 'config.toml'} (not there)" in out


def test_a_setting_is_set_in_the_file_and_comments_stay(run: Run, at_home: Path) -> None:
    file = at_home / "config" / "bearinmind" / "config.toml"
    assert run("config", "set", "pool", "80").code == 0  # the file is made
    file.write_text("# mine\npool = 80 # deep\n")

    run("config", "set", "limit", "7")
    run("config", "set", "categories", "facts, recipes")
    run("config", "set", "lexical.b", "0.4")

    assert file.read_text().startswith("# mine\npool = 80 # deep\nlimit = 7\n")
    settings = {each["name"]: each for each in run("config", "--json").json["settings"]}
    assert (settings["pool"]["value"], settings["limit"]["value"]) == (80, 7)
    assert settings["categories"]["value"] == ["facts", "recipes"]
    assert settings["lexical"]["value"]["b"] == 0.4


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [("nope", "1", "there is no setting 'nope'"), ("pool", "many", "pool = 'many'")],
)
def test_a_setting_that_is_not_allowed_is_not_set(
    run: Run, at_home: Path, name: str, value: str, reason: str
) -> None:
    ran = run("config", "set", name, value)

    assert (ran.code, reason in ran.err) == (2, True)
    assert not (at_home / "config" / "bearinmind" / "config.toml").exists()


def test_a_set_setting_that_the_environment_overrides_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARINMIND_POOL", "60")

    assert "BEARINMIND_POOL of the environment" in run("config", "set", "pool", "80").err


def test_a_configuration_file_may_be_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("content_limit = 5")

    assert run("--config", file, "store", "longer").code == 2
    monkeypatch.setenv("BEARINMIND_CONFIG", str(file))
    assert run("store", "longer").code == 2
    assert run("config", "--json").json["file"]["path"] == str(file)


def test_doctor_finds_a_sound_store_sound(run: Run, remember: Run, place: Path) -> None:
    remember("Something.")

    human = run("doctor")
    answer = run("doctor", "--json").json

    assert human.code == 0
    assert "problem" not in human.out
    checks = {check["name"]: check for check in answer["checks"]}
    assert answer["good"] is True
    assert sqlite3.sqlite_version in checks["sqlite"]["detail"]
    assert "with FTS5" in checks["sqlite"]["detail"]
    assert str(place) in checks["store"]["detail"]
    assert checks["memories"]["detail"].startswith("1 live")
    assert "texts stay here" in checks["embedder"]["detail"]
    assert {"settings", "file", "index", "links", "versions"} <= set(checks)


@pytest.mark.parametrize("worker", ["auto", "off"])
def test_doctor_says_what_begins_the_work(
    run: Run, remember: Run, monkeypatch: pytest.MonkeyPatch, worker: str
) -> None:
    monkeypatch.setenv("BEARINMIND_EMBEDDER", "hash")
    remember("Something.")
    monkeypatch.setenv("BEARINMIND_WORKER", worker)

    checks = {check["name"]: check["detail"] for check in run("doctor", "--json").json["checks"]}

    begins = "none yet: `bearinmind work` begins"
    if worker == "auto":
        begins += ", as does the next `bearinmind store`"
    assert checks["embeddings"] == checks["extractor"] == begins


@pytest.mark.usefixtures("by_words")
def test_doctor_needs_no_store(run: Run, place: Path) -> None:
    human, machine = run("doctor"), run("doctor", "--json")

    assert human.code == machine.code == 0
    assert "is not there yet" in human.out
    assert not place.exists()


@pytest.mark.usefixtures("by_words")
def test_doctor_names_the_damage_and_the_remedy(run: Run, remember: Run, place: Path) -> None:
    remember("Something.")
    with closing(sqlite3.connect(place)) as connection:
        connection.execute("DELETE FROM indexed")
        connection.commit()

    human, machine = run("doctor"), run("doctor", "--json")

    assert human.code == machine.code == 5
    [bad] = [check for check in json.loads(machine.out)["checks"] if not check["good"]]
    assert bad["name"] == "index"
    assert "bearinmind export" in bad["remedy"]
    assert "bearinmind export" in human.out


def test_doctor_names_a_wrong_setting(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEARINMIND_LIMIT", "many")

    ran = run("doctor")

    assert ran.code == 5
    assert "limit = 'many' (from environment) is not allowed" in ran.out


def test_the_demo_shows_six_answers_in_a_hundred_columns_and_how_to_go_on(
    run: Run, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(terminal, "is_terminal", lambda: True)

    out = run("demo").out

    assert out.count("$ bearinmind recall") == 7
    assert "which comes with Bear in Mind" in " ".join(out.split())
    assert "resolved by" in out
    assert "replaces" in out
    assert "--as-of 40d" in out
    assert "remedy" in out
    assert "$ bearinmind store" in out
    assert max(map(len, out.splitlines())) <= 100
    assert not place.exists()


def test_the_demo_can_be_kept_and_finds_by_meaning(run: Run, tmp_path: Path) -> None:
    kept = tmp_path / "kept.db"

    answer = run("demo", "--keep", kept, "--json").json

    assert answer["memories"] >= 25
    assert len(answer["questions"]) == 6
    assert all(q.get("why_not") or q["hits"] for q in answer["questions"])
    [by_meaning] = [q for q in answer["questions"] if "provider" in q["query"]]
    [hit] = by_meaning["hits"]
    assert "40 requests per second" in hit["memory"]["content"]
    assert [*hit["placings"]] == ["dense"]
    stats = run("stats", "--json", store=kept).json
    assert stats["superseded"] == 2
    assert stats["embedded"] == answer["memories"]
    assert stats["embedded_by"] == answer["embedded_by"]


def test_the_demo_of_a_server_has_a_thing_that_changed_and_decisions_to_make(
    tmp_path: Path,
) -> None:
    now = datetime.now(UTC)
    settings = Settings(store=tmp_path / "memories.db", embedder="none", worker="off")
    with Mind.build(settings) as mind:
        example.fill(mind, now)
        example.add_changes(mind, now)
        asked = {(proposal.kind, proposal.origin) for proposal in mind.curation.proposals()}
        assert asked == {("outdate", "contradiction"), ("store", "learning")}
        [chain] = [x for x in mind.history("what CI runs on").chains if len(x) > 1][:1]
        assert ["Jenkins" in state.memory.content for state in chain] == [True, False]
        assert chain[0].until is not None
        assert len(mind.list(session="move of the CI")) == 2


def test_a_misspelt_variable_is_pointed_out(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEARINMIND_LIMITT", "3")

    assert "no setting for the variable BEARINMIND_LIMITT" in run("config").err
    doctor = run("doctor")
    assert doctor.code == 5
    assert "BEARINMIND_LIMITT is no setting" in doctor.out
