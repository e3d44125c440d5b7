from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bearinmind.text import analysis

SEPARATORS = {*string.whitespace, *string.punctuation}


def asked(text: str) -> set[str]:
    return {term.term for term in analysis.ask(text).terms}


def indexed(text: str) -> set[str]:
    found = analysis.index(text)
    return {*found.terms, *found.function}


def finds(query: str, text: str) -> bool:
    """Whether a text is found by something of a query."""
    return bool(asked(query) & indexed(text))


def finds_whole(query: str, text: str) -> bool:
    """Whether a text holds every term of a query."""
    return asked(query) <= indexed(text)


@given(st.text())
@example("\ud800 half a character")
@example("\x00\x1f\x7f")
@example("\ufdfa \u2474 \u33c2 \u2100 \u203c \u037a \uff9e \u20d0 \u0e33")
@example("'\u2019.-_/\\:@&=~+#")
def test_any_text_at_all_is_analysed(text: str) -> None:
    found, wanted = analysis.index(text), analysis.ask(text)
    terms = [*found.terms, *found.function, *wanted.atoms, *asked(text), *wanted.wholes]
    for term in terms:
        assert term, "an empty term"
        assert not {*term} & SEPARATORS, term
        assert '"' not in term


@pytest.mark.parametrize("run", ["a" * 1_000, "aB" * 500, "0f" * 500, "9" * 1_000, "a/" * 500])
def test_a_run_longer_than_any_word_is_cut(run: str) -> None:
    assert finds_whole(run, f"before {run} after")
    assert max(map(len, indexed(run))) <= analysis.LONGEST_TERM


@given(st.integers(0, 0x10FFFF))
def test_no_character_breaks_a_term(code: int) -> None:
    for term in indexed(f"x {chr(code)} y{chr(code)}z"):
        assert term
        assert not {*term} & SEPARATORS


@given(st.text())
def test_atoms_and_wholes_are_among_the_terms_asked_for(text: str) -> None:
    wanted = analysis.ask(text)
    terms = asked(text)
    assert {*wanted.atoms} <= terms
    assert {*wanted.wholes} <= terms
    assert all(implied <= {*wanted.atoms} for implied in wanted.wholes.values())
    assert len(wanted.terms) == len(terms)


@given(st.lists(st.from_regex(r"[A-Za-z][a-z]{1,12}", fullmatch=True), min_size=1, max_size=8))
def test_a_text_is_found_by_each_of_its_own_words(words: list[str]) -> None:
    text = " ".join(words)
    for word in words:
        assert finds_whole(word, text)


@given(st.text(min_size=1))
def test_a_text_is_found_by_itself(text: str) -> None:
    wanted = asked(text)
    assert wanted <= indexed(text)
    assert bool(wanted) == bool(indexed(text))


@given(st.text())
def test_analysis_is_repeatable(text: str) -> None:
    assert analysis.index(text) == analysis.index(text)
    assert analysis.ask(text) == analysis.ask(text)


@pytest.mark.parametrize(
    "identifier",
    [
        "parseConfig",
        "parse_config",
        "auth-middleware",
        "E11000",
        "/etc/nginx/nginx.conf",
        "db-01.eu.example.com:5432",
        "3.11.7",
        "2026-11-15",
        "192.168.0.1",
        "C++",
        "C#",
        "F#",
        "user@example.com",
        "HTTPServer2",
        "a1b2c3d4e5f60718293a4b5c6d7e8f9001122334",
        "café",
        "東京",
    ],
)
def test_an_identifier_is_found_by_itself_in_a_sentence(identifier: str) -> None:
    text = f"We saw {identifier}, and then it was gone."
    assert finds_whole(identifier, text)
    assert finds_whole(f"what about {identifier}?", text + " what about")


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("config", "parseConfig"),
        ("parse", "parse_config"),
        ("middleware", "auth-middleware"),
        ("11000", "E11000"),
        ("nginx", "/etc/nginx/nginx.conf"),
        ("nginx.conf", "/etc/nginx/nginx.conf"),
        ("etc", "/etc/nginx/nginx.conf"),
        ("example", "db-01.eu.example.com:5432"),
        ("5432", "db-01.eu.example.com:5432"),
        ("3.11", "3.11.7"),
        ("2026-11", "2026-11-15"),
        ("server", "HTTPServer2"),
        ("alice", "alice@example.com"),
        ("sha", "sha256"),
    ],
)
def test_an_identifier_is_found_by_its_parts(part: str, whole: str) -> None:
    assert finds_whole(part, f"see {whole} for that")


@pytest.mark.parametrize("query", ["parseConfig", "parse_config", "parse-config", "parse.config"])
@pytest.mark.parametrize("text", ["parseConfig", "parse_config", "parse-config", "ParseConfig"])
def test_the_spellings_of_an_identifier_find_each_other(query: str, text: str) -> None:
    assert finds_whole(query, f"call {text} first")


@pytest.mark.parametrize("length", [7, 8, 12, 40])
def test_a_git_hash_is_found_by_its_short_forms(length: int) -> None:
    whole = "8f3a91c0b2d4e5f60718293a4b5c6d7e8f900112"
    assert finds(whole[:length], f"fixed in {whole}")


@pytest.mark.parametrize("length", [7, 8, 12])
def test_a_short_hash_is_found_by_the_whole(length: int) -> None:
    whole = "8f3a91c0b2d4e5f60718293a4b5c6d7e8f900112"
    assert finds(whole, f"fixed in {whole[:length]} yesterday")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("3.11", "version 311"),
        ("3.11.7", "3.12.7"),
        ("C++", "vitamin C"),
        ("C#", "C++"),
        ("C", "C++"),
        ("E11000", "E11001"),
        ("painting", "pain"),
    ],
)
def test_what_differs_is_told_apart(query: str, text: str) -> None:
    assert not finds_whole(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("painted", "painting"),
        ("deploys", "deployed"),
        ("CAFE", "café"),
        ("naive", "naïve"),
        ("strasse", "Straße"),
        ("\ufb01le", "file"),
        ("wide", "\uff57\uff49\uff44\uff45"),
        ("Alice", "Alice's"),
        ("Ross", "Ross's"),
        ("Jonas", "Jonas\u2019s"),
        ("Alice", "Alice\u2019s"),
        ("dont", "don't"),
        ("don't", "don\u2019t"),
        ("İstanbul", "istanbul"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ],
)
def test_differences_that_readers_ignore_are_ignored(query: str, text: str) -> None:
    assert finds_whole(query, text)
    assert finds_whole(text, query)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("東京", "私は東京に住んでいます"),
        ("住んで", "私は東京に住んでいます"),
        ("数据库", "我们的数据库很慢"),
        ("ภาษา", "ภาษาไทย"),
        ("한국어", "한국어 문서"),
        ("Пушкин", "пушкин писал"),
    ],
)
def test_other_scripts_are_found_by_what_they_hold(query: str, text: str) -> None:
    assert finds_whole(query, text)


def test_mixed_scripts_are_found_by_either_part() -> None:
    assert finds_whole("iPhone", "iPhone用のケース")
    assert finds_whole("ケース", "iPhone用のケース")


def test_function_words_are_asked_for_only_when_there_is_nothing_else() -> None:
    assert asked("what is the walrus") == {"walrus"}
    assert asked("what is it") == {"what", "is", "it"}


def test_function_words_are_kept_apart_and_once() -> None:
    found = analysis.index("the walrus and the seal and the otter")
    assert found.terms == ["walrus", "seal", "otter"]
    assert found.function == ["the", "and"]


def test_a_term_remembers_how_the_query_spelled_it() -> None:
    assert analysis.ask("Painted paintings") == analysis.Asked(
        terms=(analysis.Term("paint", "painted"),), atoms=("paint", "paint"), wholes={}
    )


def test_an_identifier_implies_its_parts() -> None:
    wanted = analysis.ask("parseConfig")
    assert wanted.wholes == {"parseconfig": frozenset({"pars", "config"})}
    assert wanted.atoms == ("pars", "config")


@given(st.text(), st.lists(st.sampled_from([" ", "\n", "\t", "  "]), min_size=1))
def test_a_fingerprint_ignores_white_space_only(text: str, spaces: list[str]) -> None:
    safe = text.encode("utf-8", "ignore").decode()
    respaced = spaces[0].join(safe.split())
    assert analysis.fingerprint(safe) == analysis.fingerprint(respaced)
    assert analysis.fingerprint(safe + "x") != analysis.fingerprint(safe)


@given(st.text())
def test_folding_is_stable(text: str) -> None:
    once = analysis.fold(text)
    assert analysis.fold(once) == once
