"""Users, keys and the audit on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bearinmind.accounts.keys import Authenticator, Bearer
from bearinmind.errors import NotAuthenticated
from bearinmind.protocols import TrafficCount, TrafficKind
from bearinmind.store.sqlite import SqliteStore
from bearinmind.types import UserId

Run = Callable[..., Any]
KEY = re.compile(r"bim_[a-z0-9]{12}_[A-Za-z0-9]{43}")

pytestmark = pytest.mark.usefixtures("by_words")


@pytest.fixture
def lets_in(place: Path) -> Callable[[str], bool]:
    """Whether a server on the store would let the bearer of a key in just now."""

    def is_let_in(text: str) -> bool:
        store = SqliteStore(place, create=False)
        try:
            Authenticator(store, clock=lambda: datetime.now(UTC)).identify(f"Bearer {text}")
        except NotAuthenticated:
            return False
        finally:
            store.close()
        return True

    return is_let_in


@pytest.fixture
def ada(run: Run) -> str:
    assert run("user", "add", "ada").code == 0
    return "ada"


# ---- users -------------------------------------------------------------------------------------


def test_users_are_added_listed_disabled_and_enabled(run: Run) -> None:
    assert run("user", "add", "ada").out == "Added the user ada.\n"
    assert run("user", "add", "bea@example.org", "--json").json["name"] == "bea@example.org"
    assert [user["name"] for user in run("user", "list", "--json").json["users"]] == [
        "ada",
        "bea@example.org",
    ]
    assert run("user", "disable", "ada").code == 0
    assert "disabled" in run("user", "list").out.splitlines()[0]
    assert run("user", "enable", "ada", "--json").json["disabled_at"] is None
    assert "disabled" not in run("user", "list").out


def test_before_there_is_a_store_nobody_is_known_and_none_is_made(run: Run, place: Path) -> None:
    assert run("user", "list", "--json").json == {"users": []}
    assert run("key", "list", "--json").json == {"keys": []}
    assert run("audit", "--json").json == {"entries": []}
    for command in (("user", "disable", "ada"), ("key", "create"), ("key", "revoke", "k")):
        assert run(*command).code == 3
    assert not place.exists()


@pytest.mark.parametrize("name", ["", "a b", "../x", "\u00e4da", "a" * 65, "a/b"])
def test_a_name_that_cannot_be_is_refused(run: Run, name: str) -> None:
    error = run("user", "add", name, "--json").error
    assert error["code"] == "invalid_user"


def test_a_name_is_given_once(run: Run, ada: str) -> None:
    ran = run("user", "add", ada, "--json")
    assert (ran.code, ran.error["code"]) == (4, "user_exists")


# ---- keys --------------------------------------------------------------------------------------


def test_a_key_is_alone_on_standard_output_and_lets_its_user_in(
    run: Run, ada: str, lets_in: Callable[[str], bool]
) -> None:
    ran = run("key", "create", ada, "--label", "laptop")
    assert KEY.fullmatch(ran.out.strip())
    assert not KEY.search(ran.err)
    assert "It cannot be shown again" in ran.err
    assert lets_in(ran.out.strip())


def test_a_key_is_shown_once_and_kept_nowhere(run: Run, ada: str, place: Path) -> None:
    made = run("key", "create", ada, "--json").json
    bearer = Bearer.read(made["text"])
    assert bearer
    for command in (("key", "list"), ("audit", "--everybody"), ("user", "list")):
        for form in ((), ("--json",)):
            assert bearer.secret not in run(*command, *form).out
    run("key", "revoke", bearer.id)
    for file in place.parent.glob("memories.db*"):
        assert bearer.secret.encode() not in file.read_bytes()


def test_a_narrow_terminal_does_not_break_a_key(
    run: Run, ada: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert KEY.fullmatch(run("key", "create", ada).out.strip())


def test_a_key_has_the_terms_that_were_asked_for(run: Run, ada: str) -> None:
    terms = ("--access", "read", "--label", "phone", "--per-minute", "60", "--per-day", "100")
    made = run("key", "create", ada, *terms, "--expires", "90d", "--json").json
    [listed] = run("key", "list", ada, "--json").json["keys"]
    assert listed == made["key"]
    assert "hash" not in listed
    assert (listed["access"], listed["label"]) == ("read", "phone")
    assert (listed["per_minute"], listed["per_day"]) == (60, 100)
    expires = datetime.fromisoformat(listed["expires_at"])
    assert expires - datetime.fromisoformat(listed["created_at"]) == pytest.approx(
        timedelta(days=90), abs=timedelta(minutes=5)
    )
    shown = run("key", "list").out
    for part in (listed["id"], "ada", "read", "phone", "60 a minute", "100 writes a day", "until"):
        assert part in shown


def test_a_key_is_for_whoever_runs_the_command_when_nobody_is_named(run: Run) -> None:
    assert run("key", "create", "--json").code == 3
    run("user", "add", "local")
    assert run("key", "create", "--json").json["key"]["user"] == "local"


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        (("--expires", "2001-01-01"), "invalid_key_terms"),
        (("--expires", "tomorrow"), "invalid_time"),
        (("--expires", "999999999w"), "invalid_time"),
        (("--label", "x" * 101), "invalid_key_terms"),
        (("--label", "a\x07b"), "invalid_text"),
    ],
)
def test_terms_that_cannot_be_make_no_key(
    run: Run, ada: str, terms: tuple[str, ...], code: str
) -> None:
    ran = run("key", "create", ada, *terms, "--json")
    assert (ran.code, ran.error["code"]) == (2, code)
    assert run("key", "list", "--json").json == {"keys": []}


def test_a_rotated_key_is_good_until_the_overlap_ends(
    run: Run, ada: str, lets_in: Callable[[str], bool]
) -> None:
    old = run("key", "create", ada, "--label", "laptop", "--json").json
    new = run("key", "rotate", old["key"]["id"], "--overlap", "2h", "--json").json
    assert (new["key"]["label"], new["key"]["user"], new["key"]["access"]) == (
        "laptop",
        "ada",
        "write",
    )
    assert lets_in(old["text"])
    assert lets_in(new["text"])
    assert f"ends {datetime.now(UTC):%Y}" in run("key", "list").out
    last = run("key", "rotate", new["key"]["id"], "--overlap", "0m").out.strip()
    assert not lets_in(new["text"])
    assert lets_in(last)


@pytest.mark.parametrize("overlap", ["soon", "31d", "-1h", "999999999w"])
def test_an_overlap_that_cannot_be_changes_nothing(run: Run, ada: str, overlap: str) -> None:
    old = run("key", "create", ada, "--json").json
    assert run("key", "rotate", old["key"]["id"], f"--overlap={overlap}").code == 2
    [listed] = run("key", "list", "--json").json["keys"]
    assert listed["revoked_at"] is None


def test_a_revoked_key_opens_nothing(run: Run, ada: str, lets_in: Callable[[str], bool]) -> None:
    made = run("key", "create", ada, "--json").json
    id_ = made["key"]["id"]
    assert run("key", "revoke", id_).out == f"The key {id_} is revoked.\n"
    assert not lets_in(made["text"])
    assert "revoked" in run("key", "list").out
    assert run("key", "rotate", made["key"]["id"]).code == 2


def test_the_keys_of_a_disabled_user_open_nothing(
    run: Run, ada: str, lets_in: Callable[[str], bool]
) -> None:
    text = run("key", "create", ada).out.strip()
    run("user", "disable", ada)
    assert not lets_in(text)
    run("user", "enable", ada)
    assert lets_in(text)


def test_a_whole_key_is_taken_for_its_id_and_never_printed(run: Run, ada: str) -> None:
    made = run("key", "create", ada, "--json").json
    assert run("key", "revoke", made["text"], "--json").json["id"] == made["key"]["id"]
    unknown = Bearer.new()
    for form in ((), ("--json",)):
        ran = run("key", "revoke", unknown.text, *form)
        assert ran.code == 3
        assert unknown.secret not in ran.out + ran.err
    ran = run("key", "revoke", unknown.text[:-1])  # one letter was lost on the way
    assert unknown.secret[:20] not in ran.out + ran.err


# ---- the audit ---------------------------------------------------------------------------------


def test_the_audit_says_what_was_done_to_whom_and_by_whom(run: Run, ada: str) -> None:
    made = run("key", "create", ada, "--json").json
    new = run("key", "rotate", made["key"]["id"], "--json").json
    run("key", "revoke", new["key"]["id"])
    run("user", "disable", ada)
    entries = run("--user", ada, "audit", "--json").json["entries"]
    assert [(entry["action"], entry["detail"]) for entry in entries] == [
        ("disable user", None),
        ("revoke key", new["key"]["id"]),
        ("renew key", f"{made['key']['id']} by {new['key']['id']}"),
        ("create key", f"{made['key']['id']} write"),
        ("add user", None),
    ]
    assert {(entry["owner"], entry["agent"]) for entry in entries} == {("ada", "local")}
    assert run("audit", "--json").json == {"entries": []}  # nothing was done to this one
    assert run("audit", "--everybody", "--limit", "2", "--json").json["entries"] == entries[:2]
    shown = run("audit", "--everybody").out
    assert f"{made['key']['id']} write" in shown
    assert "by local" in shown


def test_the_audit_of_secrets_has_nothing_else(
    run: Run, remember: Callable[..., str], ada: str
) -> None:
    id_ = remember("the wifi password is kelp9salt")
    run("secret", "get", id_)
    run("user", "add", "local")
    actions = [entry["action"] for entry in run("secret", "audit", "--json").json["entries"]]
    assert actions == ["get"]
    actions = [entry["action"] for entry in run("audit", "--json").json["entries"]]
    assert actions == ["add user", "get"]


# ---- our keys among memories -------------------------------------------------------------------


def test_a_memory_that_holds_one_of_our_keys_is_sealed(run: Run, ada: str) -> None:
    text = run("key", "create", ada).out.strip()
    ran = run("store", f"The phone uses {text} now.")
    assert "A secret was found" in ran.err
    assert text not in ran.out + ran.err + run("list", "--json").out


def test_what_a_server_was_asked_is_shown_for_one_user_and_for_everybody(
    run: Run, place: Path
) -> None:
    run("user", "add", "ada")
    assert "No server has counted anything yet" in run("traffic").out
    now = datetime.now(UTC)
    store = SqliteStore(place)
    for user, number in ((UserId("local"), 1_200), (UserId("ada"), 34)):
        store.count_traffic([TrafficCount(user, TrafficKind.RECALLS, now, number)], now)
    store.close()
    assert "1,200" in run("traffic").out
    [mine] = run("traffic", "--step", "minute", "--json").json["points"]
    [all_] = run("traffic", "--everybody", "--json").json["points"]
    assert (mine["recalls"], all_["recalls"], all_["errors"]) == (1_200, 1_234, 0)
