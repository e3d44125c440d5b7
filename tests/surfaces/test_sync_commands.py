"""`bearinmind sync`: two machines and a server, each with a file of its own."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.http_server import Serving, serving

Run = Callable[..., Any]

pytestmark = pytest.mark.usefixtures("by_words")


def named(value: Any) -> Any:
    """What the subject of a change or a conflict is called."""
    return json.loads(value["subject"]["name"])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db") as running:
        running.key("ada")
        yield running


@pytest.fixture(autouse=True)
def state(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(at_home / "state"))
    return at_home / "state"


class Machine:
    """The command line on a file of its own, as Ada."""

    def __init__(self, run: Run, store: Path) -> None:
        self._run = run
        self.store = store

    def __call__(self, *args: object, **options: Any) -> Any:
        return self._run("--user", "ada", *args, store=self.store, **options)

    def stored(self, content: str, *options: object) -> str:
        return str(self("store", content, *options, "--json").json["memory"]["id"])

    def contents(self) -> set[str]:
        return {each["content"] for each in self("list", "--json").json["memories"]}


@pytest.fixture
def laptop(run: Run, tmp_path: Path) -> Machine:
    return Machine(run, tmp_path / "laptop.db")


@pytest.fixture
def desktop(run: Run, tmp_path: Path) -> Machine:
    return Machine(run, tmp_path / "desktop.db")


@pytest.fixture
def connected(server: Serving, laptop: Machine, desktop: Machine) -> None:
    for machine in (laptop, desktop):
        done = machine("sync", "connect", server.url, "--key-file", "-", stdin=server.key("ada"))
        assert done.code == 0, done.err


# ---- in step -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("connected")
def test_what_is_stored_on_one_machine_is_on_the_other(laptop: Machine, desktop: Machine) -> None:
    walrus = laptop.stored("the walrus eats fish", "--tag", "sea")
    desktop.stored("the seal eats squid")

    sent = laptop("sync")
    got = desktop("sync", "now", "--json").json
    laptop("sync")

    assert sent.out == "Got 0 changes, sent 1.\n"
    assert (got["pulled"], got["pushed"], got["pull_error"], got["push_error"]) == (
        1,
        1,
        None,
        None,
    )
    assert (
        laptop.contents() == desktop.contents() == {"the walrus eats fish", "the seal eats squid"}
    )
    assert desktop("get", walrus, "--json").json["tags"] == ["sea"]


@pytest.mark.usefixtures("connected")
def test_a_secret_arrives_sealed_and_opens_with_the_key_of_its_owner(
    server: Serving, laptop: Machine, desktop: Machine
) -> None:
    id_ = laptop.stored("the safe opens with 7391", "--sensitive", "--tag", "safe")
    laptop("sync")
    desktop("sync")

    assert desktop("secret", "get", id_).out == "the safe opens with 7391\n"  # the same key file
    served = Path(str(server.bearinmind.settings.store))
    stored = b"".join(path.read_bytes() for path in served.parent.glob("served.db*"))
    assert b"7391" not in stored
    assert server.bearinmind.for_user("ada").get(id_).sensitive


@pytest.mark.usefixtures("connected")
def test_status_says_what_waits_and_why(laptop: Machine) -> None:
    assert laptop("sync", "status", "--json").json["pending"] == {}
    walrus = laptop.stored("the walrus eats fish")
    before = laptop("sync", "status")
    laptop("sync")
    laptop("update", walrus, "the walrus eats squid")
    after = laptop("sync", "status", "--json").json

    assert f"memory {walrus}  not sent yet" in before.out
    assert "1 memory" in before.out
    assert (after["pending"], after["refused"], after["conflicts"]) == ({"memory": 1}, 0, 0)
    [listed] = after["listed"]
    assert (named(listed), listed["reason"]) == ([walrus], "changed since it was sent")


def test_what_a_server_refuses_stays_and_its_reason_is_told(
    tmp_path: Path, laptop: Machine
) -> None:
    with serving(tmp_path / "served.db", content_limit=20) as server:
        laptop("sync", "connect", server.url, "--key-file", "-", stdin=server.key("ada"))
        laptop.stored("short")
        long = laptop.stored("the walrus eats far more fish than the server takes")
        done = laptop("sync")
        status = laptop("sync", "status", "--json").json
        doctor = laptop("doctor")

    assert done.code == 0
    assert "sent 1." in done.out
    assert "Not synced: 1 change. `bearinmind sync status` says why." in done.out
    [listed] = status["listed"]
    assert named(listed) == [long]
    assert "20" in listed["reason"]
    assert doctor.code == 5
    assert "refused: 1" in doctor.out


def test_files_stay_in_step_through_a_server_on_postgres(
    migrated_database: Callable[[], str], laptop: Machine, desktop: Machine
) -> None:
    with serving(migrated_database()) as server:
        for machine in (laptop, desktop):
            machine("sync", "connect", server.url, "--key-file", "-", stdin=server.key("ada"))
        walrus = laptop.stored("the walrus eats fish", "--tag", "sea")
        seal = laptop.stored("the seal eats squid")
        safe = laptop.stored("the safe opens with 7391", "--sensitive")
        laptop("link", walrus, "supersedes", seal)
        laptop("update", walrus, "the walrus eats crabs")
        sent = laptop("sync", "--json").json
        got = desktop("sync", "--json").json
        whole = [each("get", walrus, "--json").json for each in (laptop, desktop)]

    assert (sent["pushed"], sent["push_error"]) == (4, None)
    assert (got["pulled"], got["pull_error"]) == (4, None)
    assert whole[0] == whole[1]
    assert [each["content"] for each in whole[1]["earlier"]] == ["the walrus eats fish"]
    assert [link["target"] for link in whole[1]["links"]] == [seal]
    assert desktop("secret", "get", safe).out == "the safe opens with 7391\n"


# ---- conflicts ---------------------------------------------------------------------------------


@pytest.fixture
def contradicted(connected: None, laptop: Machine, desktop: Machine) -> str:
    """A memory that both machines changed."""
    walrus = laptop.stored("the walrus eats fish")
    laptop("sync")
    desktop("sync")
    laptop("update", walrus, "the walrus eats squid")
    desktop("update", walrus, "the walrus eats crabs")
    laptop("sync")
    assert "1 conflict: both versions are kept." in desktop("sync").out
    return walrus


def test_a_conflict_is_listed_with_both_versions(contradicted: str, desktop: Machine) -> None:
    shown = desktop("sync", "conflicts").out
    [conflict] = desktop("sync", "conflicts", "--json").json["conflicts"]

    assert "the walrus eats squid" in shown
    assert "the walrus eats crabs" in shown
    about = conflict["conflict"]
    assert (about["number"], about["kind"], named(about)) == (1, "edited", [contradicted])
    assert "content" in about["detail"]
    assert conflict["served"]["content"] == "the walrus eats crabs"
    assert conflict["other"]["content"] == "the walrus eats squid"


@pytest.mark.parametrize(
    ("keep", "content"),
    [("served", "the walrus eats crabs"), ("other", "the walrus eats squid")],
)
def test_a_conflict_is_resolved_on_both_machines(
    contradicted: str, laptop: Machine, desktop: Machine, keep: str, content: str
) -> None:
    done = desktop("sync", "resolve", 1, "--keep", keep)
    desktop("sync")
    laptop("sync")

    assert done.code == 0
    for machine in (laptop, desktop):
        assert machine("get", contradicted, "--json").json["content"] == content
    assert desktop("sync", "conflicts").out == "There are no conflicts.\n"
    again = desktop("sync", "resolve", 1, "--json")
    assert (again.code, again.error["code"]) == (3, "conflict_not_found")


# ---- a server that is away ---------------------------------------------------------------------


def test_a_server_that_is_away_costs_nothing_but_time(tmp_path: Path, laptop: Machine) -> None:
    with serving(tmp_path / "served.db") as server:
        laptop("sync", "connect", server.url, "--key-file", "-", stdin=server.key("ada"))
        port = server.url.rpartition(":")[2]
    laptop.stored("the walrus eats fish")

    failed = laptop("sync", "--json")
    status = laptop("sync", "status", "--json").json
    assert failed.code == 7
    assert '"server_unreachable"' in failed.err
    assert status["pending"] == {"memory": 1}
    assert "cannot be reached" in status["peer"]["pull_error"]

    with serving(tmp_path / "served.db", server_port=port) as server:
        done = laptop("sync", "--json").json
        assert (done["pushed"], done["pull_error"], done["push_error"]) == (1, None, None)
        assert server.bearinmind.for_user("ada").stats().live == 1
    peer = laptop("sync", "status", "--json").json["peer"]
    assert (peer["pull_error"], peer["push_error"]) == (None, None)


# ---- connecting --------------------------------------------------------------------------------


def test_the_key_is_kept_where_only_its_owner_reads_it(
    server: Serving, laptop: Machine, state: Path, tmp_path: Path
) -> None:
    key = server.key("ada")
    (tmp_path / "ada.key").write_text(f"{key}\n")
    done = laptop("sync", "connect", f"{server.url}/", "--key-file", tmp_path / "ada.key")
    laptop.stored("the walrus eats fish")
    laptop("sync")

    assert done.out.startswith(f"Connected to {server.url} as ada.\n")
    [kept] = state.rglob("*.key")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kept.read_text().strip() == key
    told = "".join(
        machine.out + machine.err
        for machine in (done, laptop("sync", "status"), laptop("config"), laptop("doctor"))
    )
    assert key not in told
    files = [path for path in tmp_path.glob("laptop.db*") if path.is_file()]
    assert not any(key.encode() in path.read_bytes() for path in files)


def test_the_key_may_come_from_a_setting_and_is_not_kept_then(
    server: Serving, laptop: Machine, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BEARINMIND_SYNC_KEY", server.key("ada"))
    assert laptop("sync", "connect", server.url).code == 0
    assert laptop("sync").code == 0
    assert [*state.rglob("*.key")] == []

    monkeypatch.delenv("BEARINMIND_SYNC_KEY")
    assert not laptop("sync", "status", "--json").json["has_key"]
    assert (laptop("sync", "--json").code, laptop("sync").code) == (6, 6)
    assert "no key" in laptop("doctor").out


def test_a_server_that_knows_us_by_another_name_is_not_connected(
    server: Serving, run: Run, laptop: Machine
) -> None:
    done = run("sync", "connect", server.url, "--key-file", "-", "--json", stdin=server.key("ada"))

    assert done.code == 2
    assert "'ada'" in done.error["message"]
    assert "'local'" in done.error["message"]
    assert "bearinmind export - | bearinmind --user ada import -" in done.error["hint"]
    assert run("sync", "status", "--json").error["code"] == "peer_not_found"


def test_a_key_that_may_only_read_is_not_connected(server: Serving, laptop: Machine) -> None:
    key = server.key("ada", "read")
    done = laptop("sync", "connect", server.url, "--key-file", "-", "--json", stdin=key)

    assert (done.code, done.error["code"]) == (6, "not_allowed")
    assert laptop("sync", "--json").error["code"] == "peer_not_found"


def test_a_key_is_not_sent_in_clear_over_a_network(laptop: Machine) -> None:
    done = laptop(
        "sync", "connect", "http://192.0.2.7:8377", "--key-file", "-", "--json", stdin="k"
    )

    assert (done.code, done.error["code"]) == (2, "invalid_setting")
    assert "192.0.2.7" in done.error["message"]
    assert "--insecure" in done.error["hint"]


def test_memories_have_one_server(server: Serving, laptop: Machine, tmp_path: Path) -> None:
    laptop("sync", "connect", server.url, "--key-file", "-", stdin=server.key("ada"))
    with serving(tmp_path / "another.db") as another:
        done = laptop(
            "sync", "connect", another.url, "--key-file", "-", "--json", stdin=another.key("ada")
        )
    assert (done.code, done.error["code"]) == (4, "other_peer")
    again = laptop("sync", "connect", server.url, "--key-file", "-", stdin=server.key("ada"))
    assert again.code == 0


def test_who_disconnects_keeps_the_memories_and_loses_the_key(
    server: Serving, laptop: Machine, state: Path
) -> None:
    laptop("sync", "connect", server.url, "--key-file", "-", stdin=server.key("ada"))
    laptop.stored("the walrus eats fish")
    laptop("sync")
    laptop.stored("the seal eats squid")
    done = laptop("sync", "disconnect")

    assert f"Disconnected from {server.url}." in done.out
    assert "It never got 1 change made here." in done.out
    assert [*state.rglob("*.key")] == []
    assert len(laptop.contents()) == 2
    assert laptop("sync").code == 3
    assert server.bearinmind.for_user("ada").stats().live == 1


def test_a_server_that_was_restored_numbers_its_changes_anew_for_every_user(
    server: Serving, laptop: Machine, run: Run, tmp_path: Path
) -> None:
    laptop("sync", "connect", server.url, "--key-file", "-", stdin=server.key("ada"))
    laptop.stored("the walrus eats fish")
    laptop("sync")
    before = server.bearinmind.for_user("ada").sync.server().pull("", 0, 1).epoch
    done = run("sync", "renumber", "--json", store=tmp_path / "served.db")

    assert (done.code, "ada" in done.json["users"]) == (0, True)
    assert server.bearinmind.for_user("ada").sync.server().pull("", 0, 1).epoch != before
    assert laptop("sync").code == 0
    assert server.bearinmind.for_user("ada").stats().live == 1


def test_an_option_before_a_command_is_not_lost(laptop: Machine) -> None:
    done = laptop("sync", "--json", "status")
    assert (done.code, "after `status`" in done.err) == (2, True)


def test_an_empty_key_is_told(laptop: Machine) -> None:
    done = laptop("sync", "connect", "http://127.0.0.1:9", "--key-file", "-", "--json", stdin="\n")
    assert (done.code, "no key in standard input" in done.error["message"]) == (2, True)


def test_nothing_is_synced_before_it_is_connected(laptop: Machine) -> None:
    for command in ("now", "status", "conflicts", "disconnect", "watch"):
        done = laptop("sync", command, "--json")
        assert done.code == 3, command
        assert "sync connect" in done.err, command
