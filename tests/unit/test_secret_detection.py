"""What counts as a secret: a labelled set, real memories that hold none, and what is given away."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.remember import secrets
from bearinmind.remember.secret_values import Kind
from bearinmind.types import Draft, Provenance
from bearinmind.vault.keys import Keyring
from bearinmind.vault.seal import SealingVault

ROOT = Path(__file__).parents[2]
LABELLED = Path(__file__).parent / "labelled"
TOKEN = "ghp_Zk3Q1wXn5Rj7Yc9Vb2Lt4Mf6Hs0GdUaEiOq8"  # noqa: S105  made up


class NoKey:
    """No key: none is needed to find a secret."""

    where = "nowhere"

    def load(self) -> Keyring | None:
        return None


BOUNDARY = secrets.Boundary(vault=SealingVault(NoKey(), is_first_use=lambda: False))


def labelled(name: str) -> list[str]:
    lines = (LABELLED / name).read_text(encoding="utf-8").splitlines()
    return [line.replace("\\n", "\n") for line in lines if not line.startswith("#")]


PRESENT = [line.split("\t", 1) for line in labelled("secrets_present.txt")]
ABSENT = labelled("secrets_absent.txt")


@pytest.mark.parametrize(("kind", "text"), PRESENT)
def test_a_secret_is_found_and_its_kind_is_told(kind: str, text: str) -> None:
    assert Kind(kind) in BOUNDARY.kinds(text)


@pytest.mark.parametrize("text", ABSENT)
def test_what_only_speaks_of_secrets_holds_none(text: str) -> None:
    assert secrets.find(text) == []


def test_the_labelled_set_is_large_enough_to_mean_something() -> None:
    assert len(PRESENT) >= 120
    assert len(ABSENT) >= 200
    assert {kind for kind, _ in PRESENT} == {*Kind}


def test_no_memory_of_the_agent_store_is_taken_for_a_secret() -> None:
    lines = (ROOT / "benchmarks/data/agent-store/corpus.jsonl").read_text(encoding="utf-8")
    memories = [json.loads(line)["content"] for line in lines.splitlines()]
    assert len(memories) == 1_184
    assert [text for text in memories if secrets.find(text)] == []


def test_public_texts_hold_no_secret() -> None:
    files = sorted((ROOT.parent / "shared/data").glob("*/corpus.jsonl.gz"))
    if not files:
        pytest.skip("the public evaluation data is not here")
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            some = [json.loads(line)["content"] for n, line in enumerate(lines) if n % 10 == 0]
        assert [text for text in some if secrets.find(text)] == []


def test_a_find_says_where_and_of_which_kind_and_never_what() -> None:
    text = f"CI pushes with {TOKEN} every night"
    [spot] = secrets.find(text)
    assert text[spot.start : spot.end] == TOKEN
    assert TOKEN[4:12] not in repr(spot)


def test_every_secret_is_masked_and_nothing_else() -> None:
    text = f"use {TOKEN} or log in with password 'kelp9salt', please"
    assert secrets.masked(text) == "use [GitHub token] or log in with password '[password]', please"
    assert secrets.masked("where is the blue bowl?") == "where is the blue bowl?"


def test_secrets_that_overlap_are_told_once() -> None:
    [spot] = secrets.find(f"the API key is {TOKEN}")
    assert spot.end - spot.start == len(TOKEN)


@pytest.mark.parametrize(
    ("field", "draft"),
    [
        ("a tag", Draft(content="a", tags=("ok", TOKEN))),
        ("a keyword", Draft(content="a", keywords=("password: kelp9salt",))),
        ("the category", Draft(content="a", category=TOKEN)),
        ("agent", Draft(content="a", provenance=Provenance(agent=TOKEN))),
        ("session", Draft(content="a", provenance=Provenance(session=TOKEN))),
        ("project", Draft(content="a", provenance=Provenance(project=TOKEN))),
        (
            "source",
            Draft(content="a", provenance=Provenance(source="postgres://app:kelp9salt@db/orders")),
        ),
    ],
)
def test_a_secret_in_a_field_kept_in_clear_is_refused_without_being_told(
    field: str, draft: Draft
) -> None:
    with pytest.raises(errors.SecretInClearField, match=field) as caught:
        BOUNDARY.refuse_in_clear_fields(draft)
    said = f"{caught.value.message} {caught.value.hint} {caught.value!r}"
    assert TOKEN not in said
    assert "kelp9salt" not in said


def test_ordinary_fields_are_accepted() -> None:
    origin = Provenance(agent="claude", source="https://example.net/a?b=c", session="2026-11-15")
    BOUNDARY.refuse_in_clear_fields(Draft(content="a", tags=("password",), provenance=origin))


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "pass", "password", "password:", "key=", "://", "a" * 5_000]
)
def test_odd_texts_hold_no_secret(text: str) -> None:
    assert secrets.find(text) == []


@pytest.mark.parametrize(
    "piece",
    [
        *("password for ", " ", "login: ", "token ", "://a:", "mysql ", "aws ", "pin ", "x1"),
        *("\u5bc6\u7801\u662f", "\u30d1\u30b9\u30ef\u30fc\u30c9\u306f", "password=x"),
    ],
)
def test_the_time_to_read_a_text_grows_with_its_length_and_not_faster(piece: str) -> None:
    def seconds(characters: int) -> float:
        text = ("password for " + piece * characters)[:characters]
        times = []
        for _ in range(5):
            start = time.process_time()
            secrets.find(text)
            times.append(time.process_time() - start)
        return min(times)

    seconds(100)  # loads the patterns
    assert seconds(16_000) < 40 * max(seconds(2_000), 0.0005)  # 8 times the text; 64 if squared


def test_of_a_secret_that_is_longer_than_any_memory_nothing_is_left_in_clear() -> None:
    value = "aB3$" * 2_000
    assert secrets.masked(f"the password is {value} and no other") == (
        "the password is [password] and no other"
    )


@pytest.mark.parametrize("field", ["content", "tags"])
def test_what_is_much_too_long_is_refused_before_secrets_are_looked_for(
    memory: Mind, field: str
) -> None:
    kept = memory.store("a walrus").memory
    text = "\u5bc6\u7801\u662f" * 100_000
    huge = replace(kept, content=text) if field == "content" else replace(kept, tags=(text,))

    def seconds(action: Callable[[], object]) -> float:
        began = time.process_time()
        action()
        return time.process_time() - began

    def admitted() -> None:
        with pytest.raises(errors.InvalidInput, match="characters"):
            memory.transfer.admit([huge], made_id=True)

    secrets.find(text[:100])  # loads the patterns
    assert seconds(admitted) < seconds(lambda: secrets.find(text[:30_000]))


def test_most_labelled_secrets_are_found_and_few_innocent_texts_are_taken_for_one() -> None:
    """The half of `benchmarks/data/secrets` that no rule was written by."""
    lines = (Path(__file__).parents[2] / "benchmarks/data/secrets/labelled.jsonl").read_text()
    rows = [row for row in map(json.loads, lines.splitlines()) if row["split"] == "report"]
    found = [bool(secrets.find(row["text"])) for row in rows if row["secret"]]
    alarms = [bool(secrets.find(row["text"])) for row in rows if not row["secret"]]
    assert sum(found) >= 0.9 * len(found)
    assert sum(alarms) <= 0.02 * len(alarms)
    told = {
        row["kind"] for row in rows if row["kind"].startswith("told-") and secrets.find(row["text"])
    }
    assert len(told) >= 15
