"""Recall on the page: the answer first, why, why not, filters, and what was known then."""

from __future__ import annotations

from pathlib import Path

from support.browser import Browser
from support.http_server import serving
from support.page_views import (
    LEGS,
    VIEWS,
    Filled,
    at,
    click,
    go,
    items,
    pick,
    sees,
    show,
    text,
    texts,
    write,
)

ABSENT = "\u2013"  # where a way of finding has not found a memory
FIRST = "main .answer > .cards > .card:first-child"


def test_the_answer_comes_first_and_says_why_and_how_it_was_ranked(
    tab: Browser, filled: Filled
) -> None:
    answer = filled.ask("POST", "/recall", query="when do deploys run", trace=True)
    show(tab, filled, VIEWS["recall"])
    assert items(tab)[0] == answer["hits"][0]["memory"]["id"] == filled.ids["new"]
    assert text(tab, f"{FIRST} .content") == "Deploys run on Fridays at noon."
    assert texts(tab, f"{FIRST} .tag") == ["deploys"]
    assert texts(tab, f"{FIRST} time") == ["3 days ago"]
    assert sorted(items(tab)) == sorted(
        hit["memory"]["id"] for hit in (*answer["hits"], *answer["weak"])
    )
    # A replaced memory gives its place to what replaced it.
    assert filled.ids["old"] not in items(tab)
    sees(tab, "Before: Deploys run on Thursdays.", FIRST)

    click(tab, answer_words(answer["hits"][0]["probability"]), FIRST)
    why = text(tab, f"{FIRST} .why")
    assert "It shares words with your question" in why
    assert f"a probability of {answer['hits'][0]['probability']:.0%}" in why

    assert tab.run("return document.querySelector('.picture')") is None
    tab.run("document.querySelector('.answer-line input').click()")
    tab.wait("return document.querySelector('.picture svg .hit')")
    drawn = "return [...document.querySelectorAll('svg .hit')].map(e => e.ariaLabel)"
    for hit, label in zip(answer["hits"], tab.run(drawn), strict=True):
        ranks = [hit["placings"].get(leg["leg"]) for leg in answer["trace"]["legs"]]
        for word, place in zip(("words", "meaning", "connections"), ranks, strict=False):
            assert f"{word} {place['rank'] if place else ABSENT}" in label


def answer_words(probability: float) -> str:
    """The words that stand for a probability, under which the reasons are."""
    words = {0.8: "Very likely", 0.5: "Likely", 0.2: "Perhaps"}
    return next((word for least, word in words.items() if probability >= least), "Unlikely")


def test_a_question_that_nothing_answers_says_so_and_folds_the_guesses_away(
    tab: Browser, filled: Filled
) -> None:
    show(tab, filled, VIEWS["nothing"])
    assert "Nothing relevant is stored" in text(tab)
    sees(tab, "Nothing relevant is stored", "#status")
    open_cards = (
        "return [...document.querySelectorAll('main .card')].some(e => e.checkVisibility())"
    )
    assert tab.run(open_cards) is False
    show(tab, filled, at("recall", q="deploys", category="people"))
    sees(tab, "The filters keep out")
    click(tab, "Show without filters")
    tab.wait("return document.querySelector('.card')")


def test_an_outdated_memory_is_marked_with_what_replaced_it(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("recall", q="what runs our builds"))
    assert items(tab)[0] == filled.ids["actions"]
    assert "Jenkins runs our builds." in text(tab, f"{FIRST} .earlier")
    assert "Until" in text(tab, f"{FIRST} .earlier")
    go(tab, filled.server, f"/#/memory/{filled.ids['jenkins']}")
    sees(tab, "Now: GitHub Actions runs our builds.", ".replaced")
    assert "outdated" in texts(tab, "main .mark")


def test_the_whole_page_turns_to_what_was_known_then(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("recall", q="what runs our builds"))
    tab.press("t")
    tab.wait("return document.querySelector('.as-of input[type=range]')")
    slide = """
    const slider = document.querySelector('.as-of input[type=range]');
    slider.value = arguments[0];
    slider.dispatchEvent(new Event('input', {bubbles: true}));"""
    tab.run(slide, 500)  # a hundred days ago: the store began two hundred days ago
    sees(tab, "You see what was known on", ".as-of")
    sees(tab, "as of", "main")
    tab.wait(
        "return document.querySelector('main [data-item]')?.dataset.item === arguments[0]",
        filled.ids["jenkins"],
    )
    assert filled.ids["actions"] not in items(tab)
    assert "Until" not in text(tab, FIRST)
    # It stays while the reader goes about: lists, single memories, and after a reload.
    go(tab, filled.server, at("memories"))
    assert items(tab) == [filled.ids["jenkins"]]
    assert tab.run("return document.querySelectorAll('.select').length") == 0
    go(tab, filled.server, at("graph"))
    assert texts(tab, ".things bdi") == ["Jenkins"]
    # What is no longer true was true then, and nothing can be changed there.
    go(tab, filled.server, f"/#/memory/{filled.ids['jenkins']}")
    assert "Jenkins runs our builds." in text(tab, "h1")
    assert texts(tab, "main .mark, main .replaced, [aria-label='Change it']") == []
    go(tab, filled.server, at("inbox"))
    sees(tab, "This is what waits now", "main .notice")
    assert texts(tab, ".decisions button, .new") == []
    go(tab, filled.server, f"/#/memory/{filled.ids['actions']}")
    assert "Not known yet" in text(tab)
    click(tab, "Back to now")
    sees(tab, "GitHub Actions runs our builds.", "main")


def test_why_not_is_asked_by_searching_and_answered_in_sentences(
    tab: Browser, filled: Filled
) -> None:
    expected = filled.ask("POST", "/why-not", query="deploys", limit=1, id=filled.ids["cause"])
    show(tab, filled, at("recall", q="deploys", limit=1))
    pick(tab, ".missing [role=combobox]", "meetings", "Thursdays are for meetings.")
    tab.wait("return document.querySelector('.why-not')")
    shown = text(tab, ".why-not")
    assert expected["reason"][1:].rstrip(".") in shown
    assert expected["remedy"][1:].rstrip(".") in shown
    click(tab, "Where each way of finding has it")
    assert len(texts(tab, ".why-not tbody tr")) == len(expected["positions"])

    go(tab, filled.server, f"/#/memory/{filled.ids['new']}")
    write(tab, "main form [name=q]", "fridays")
    tab.press("enter")
    sees(tab, "It was recalled, at rank 1", ".why-not")


def test_it_answers_while_one_types_and_remembers_the_questions(
    tab: Browser, filled: Filled
) -> None:
    show(tab, filled, "/")
    entries = tab.run("return history.length")
    write(tab, "#query", "thursdays ")
    tab.wait("return location.hash === '#/recall?q=thursdays'")
    tab.press(*"meetings")  # what was typed is not written over by the answer
    tab.wait("return location.hash === '#/recall?q=thursdays+meetings'")
    tab.wait("return document.querySelector('.answer')")
    assert tab.run("return document.activeElement.id") == "query"
    assert tab.run("return history.length") == entries  # typing fills no history
    tab.press("enter")
    go(tab, filled.server, "/")
    assert "thursdays meetings" in texts(tab, "[aria-label='Recent questions'] .chip")
    click(tab, "Forget them")
    tab.wait("return localStorage.getItem('bearinmind.recent') === null")


def test_filters_say_what_they_do_and_can_be_taken_away(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("recall", q="deploys meetings"))
    click(tab, "Filters")
    choose = """
    const select = document.querySelector('.filters select');
    select.value = 'decisions';
    select.dispatchEvent(new Event('change', {bubbles: true}));"""
    tab.run(choose)
    tab.wait("return location.hash.includes('category=decisions')")
    sees(tab, "only in decisions", "[aria-label='Filters in use']")
    tab.wait(
        "return [...document.querySelectorAll('main [data-item]')].map(e => e.dataset.item)"
        ".join() === arguments[0]",
        filled.ids["cause"],
    )
    click(tab, "only in decisions")
    tab.wait("return !location.hash.includes('category')")


def test_an_answer_from_which_something_is_missing_says_so(tab: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db", **LEGS) as server:
        server.bearinmind.store("This one is ready.")
        server.bearinmind.work.run()
        server.bearinmind.store("That one is not embedded yet.")
        degraded = server.bearinmind.recall("embedded").trace.degraded
        assert degraded
        go(tab, server, at("recall", q="embedded"))
        for missing in degraded:
            assert missing in text(tab, ".notice")


def test_a_memory_of_another_names_its_owner_and_is_marked(tab: Browser, filled: Filled) -> None:
    show(tab, filled, at("recall", q="refunds finance"))
    assert text(tab, f"{FIRST} .content") == "Refunds need finance."
    assert "from bob" in text(tab, FIRST)
    assert texts(tab, f"{FIRST} .mark") == ["unverified"]
    assert filled.ids["alone"] not in items(tab)
